"""Servers of viser on this machine alone, quiet ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mbt.errors import ArgumentValueError
from mbt.viewer.packages import require

__all__ = ["address_of", "start_server", "stop_server"]

_HOST = "127.0.0.1"


def start_server(port: int, what: str, title: str) -> Any:
    """Return a server at a port that nobody but this machine reaches; at 0 the system chooses one.

    Raises
    ------
    MissingPackageError
        When viser is not installed; `what` is what it is for.
    ArgumentValueError
        When there is no such port.
    """
    if not 0 <= port <= 65535:
        raise ArgumentValueError(f"port: expected 0 to 65535, got {port}")
    viser = require("viser", what)
    with _quiet():
        server = viser.ViserServer(host=_HOST, port=port, label=title, verbose=False)
    # The button would let anyone in, through a machine of others.
    server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
    # Beside the picture, not over it.
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
def _quiet() -> Iterator[None]:
    """Keep viser from printing: it does so through rich, wanted or not."""
    console = require("rich", "viser").get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
