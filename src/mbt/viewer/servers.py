"""Quiet servers of viser, reachable only from this machine, that answer only to their own pages."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral
from typing import Any

from mbt.errors import ArgumentTypeError, ArgumentValueError
from mbt.viewer.packages import require
from mbt.viewer.visitors import Visitors

__all__ = ["address_of", "start_server", "stop_server"]

_HOST = "127.0.0.1"

_starting = threading.Lock()


def start_server(port: int, what: str, title: str, allowed_hosts: Sequence[str] = ()) -> Any:
    """Return a server at a port that only this machine can reach.

    Parameters
    ----------
    port : int
        The port; 0 lets the system choose one.
    what : str
        The feature that needs the server.
    title : str
        Title of its page.
    allowed_hosts : sequence of str
        Host names that a browser may use, in addition to those of this machine.

    Raises
    ------
    MissingPackageError
        When viser is not installed.
    ArgumentTypeError, ArgumentValueError
        When the port or a host name is invalid.
    """
    if not isinstance(port, Integral):
        raise ArgumentTypeError(
            f"port: expected an int, got {type(port).__name__}; mbt.view(tree) and viewer.add(tree) show a "
            "model"
        )
    if not 0 <= port <= 65535:
        raise ArgumentValueError(f"port: expected 0 to 65535, got {port}")
    visitors = Visitors(allowed_hosts)
    viser = require("viser", what)
    with _quiet(), _guarded(visitors):
        server = viser.ViserServer(host=_HOST, port=port, label=title, verbose=False)
    # The share button would make the page public, through a third-party server.
    server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
    # Next to the picture, not over it.
    server.gui.main_panel.dock_right()
    return server


def address_of(server: Any) -> str:
    """Return the address that a browser opens."""
    return f"http://{_HOST}:{server.get_port()}"


def stop_server(server: Any) -> None:
    """Close a server and the connections to it."""
    with _quiet():
        server.stop()


@contextmanager
def _guarded(visitors: Visitors) -> Iterator[None]:
    """Make the viser server that starts meanwhile check each request: by itself it answers to anybody."""
    module = require("websockets.asyncio.server", "viser")
    with _starting:
        serve = module.serve

        def serve_visitors(handler: Any, *arguments: Any, process_request: Any = None, **options: Any) -> Any:
            if not handler.__module__.startswith("viser."):  # Other code is starting a server just now.
                return serve(handler, *arguments, process_request=process_request, **options)

            def answer(connection: Any, request: Any) -> Any:
                reason = visitors.refuse(request.headers, connection.local_address[1])
                if reason is not None:
                    return connection.respond(403, reason)
                return None if process_request is None else process_request(connection, request)

            return serve(handler, *arguments, process_request=answer, **options)

        module.serve = serve_visitors
        try:
            yield
        finally:
            module.serve = serve


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep viser from printing, which it always does, through rich."""
    console = require("rich", "viser").get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
