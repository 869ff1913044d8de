"""Checks requests to the server of a viewer: only its own pages, under names of this machine, are allowed.

A browser lets any page open a WebSocket to this machine, and names the page in the header ``Origin``. If a
foreign name is made to resolve to this machine (DNS rebinding), the header ``Host`` has that name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote

__all__ = ["Visitors"]

_LOCAL = frozenset(("127.0.0.1", "localhost", "::1"))
_VARIABLE = "MBT_VIEWER_HOSTS"
_PORTS = {"http": 80, "https": 443}


class Visitors:
    """Decides which requests are allowed.

    Parameters
    ----------
    allowed_hosts : sequence of str
        Host names, without a port, in addition to those of this machine. The environment variable
        ``MBT_VIEWER_HOSTS`` adds more, separated by commas.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When it is not a sequence of names.
    """

    def __init__(self, allowed_hosts: Sequence[str] = ()) -> None:
        if isinstance(allowed_hosts, str) or not isinstance(allowed_hosts, Sequence):
            got = type(allowed_hosts).__name__
            raise ArgumentTypeError(f"allowed_hosts: expected a sequence of host names, got {got}")
        listed = filter(None, map(str.strip, os.environ.get(_VARIABLE, "").split(",")))
        self._allowed = frozenset(
            [_as_host(name, "allowed_hosts") for name in allowed_hosts]
            + [_as_host(name, _VARIABLE) for name in listed]
        )

    def refuse(self, headers: Any, port: int) -> str | None:
        """Return why a request is refused, or None if it is allowed.

        Parameters
        ----------
        headers : Headers
            Headers of the request, with a method ``get_all``.
        port : int
            The port of the server.
        """
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        host, _ = _split(f"http://{hosts[0]}") if len(hosts) == 1 else (None, None)
        if host is None or host not in _LOCAL | self._allowed:
            return self._say("under the name", hosts)
        # Clients other than browsers send no origin.
        if not origins:
            return None
        origin, origin_port = _split(origins[0]) if len(origins) == 1 else (None, None)
        is_page_of_server = origin in _LOCAL and origin_port == port
        # A tunnel may lead to another port here.
        is_same = origins[0].partition("://")[2].lower() == hosts[0].lower() and origin is not None
        if len(origins) == 1 and (is_page_of_server or is_same or origin in self._allowed):
            return None
        return self._say("to the page", origins)

    @staticmethod
    def _say(what: str, values: Sequence[str]) -> str:
        got = ", ".join(quote(value) for value in values) or "none"
        return (
            f"This viewer of mbt does not answer {what} {got}. To reach it through a proxy, name the host: "
            f"mbt.view(..., allowed_hosts=[...]), or the environment variable {_VARIABLE}.\n"
        )


def _as_host(name: object, where: str) -> str:
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{where}: expected host names, got {type(name).__name__}")
    host, _ = _split(f"http://{name}")
    if host is None or host != name.strip("[]").lower() or not _is_plain(host):
        raise ArgumentValueError(
            f"{where}: expected a host name such as 'hub.example.org', got {quote(name)}"
        )
    return host


def _is_plain(host: str) -> bool:
    """Return whether a name is one that a browser may send, not a pattern, which would match nothing."""
    return all(character.isalnum() or character in "-._:%" for character in host)


def _split(address: str) -> tuple[str | None, int | None]:
    """Return host and port of an address ``http://host:port``; None for the host of any other address."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None, None
    if parts.scheme not in _PORTS or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return None, None
    return parts.hostname, _PORTS[parts.scheme] if port is None else port
