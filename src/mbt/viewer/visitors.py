"""Who may talk to the server of a viewer: pages of the server itself, asked for by names of this machine.

A browser lets any page open a WebSocket to this machine, and tells in the header ``Origin`` which page it is.
A page of somebody else whose name is made to lead to this machine has that name in ``Host``.
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
    """Tells those who may from those who may not.

    Parameters
    ----------
    allowed_hosts : sequence of str
        Names of hosts besides those of this machine, without a port. The environment variable
        ``MBT_VIEWER_HOSTS`` has more, with commas between.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When it is not a sequence of names.
    """

    def __init__(self, allowed_hosts: Sequence[str] = ()) -> None:
        if isinstance(allowed_hosts, str) or not isinstance(allowed_hosts, Sequence):
            got = type(allowed_hosts).__name__
            raise ArgumentTypeError(f"allowed_hosts: expected a sequence of names of hosts, got {got}")
        listed = filter(None, map(str.strip, os.environ.get(_VARIABLE, "").split(",")))
        self._allowed = frozenset(
            [_as_host(name, "allowed_hosts") for name in allowed_hosts]
            + [_as_host(name, _VARIABLE) for name in listed]
        )

    def refuse(self, headers: Any, port: int) -> str | None:
        """Return why a request is refused, or None when it is not.

        Parameters
        ----------
        headers : Headers
            Of the request, with ``get_all``.
        port : int
            That of the server.
        """
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        host, _ = _split(f"http://{hosts[0]}") if len(hosts) == 1 else (None, None)
        if host is None or host not in _LOCAL | self._allowed:
            return self._say("under the name", hosts)
        # None has what is no browser.
        if not origins:
            return None
        origin, origin_port = _split(origins[0]) if len(origins) == 1 else (None, None)
        is_page_of_server = origin in _LOCAL and origin_port == port
        # Through a tunnel, to another port here.
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
        raise ArgumentTypeError(f"{where}: expected names of hosts, got {type(name).__name__}")
    host, _ = _split(f"http://{name}")
    if host is None or host != name.strip("[]").lower() or not _is_plain(host):
        raise ArgumentValueError(
            f"{where}: expected a name of a host, as 'hub.example.org', got {quote(name)}"
        )
    return host


def _is_plain(host: str) -> bool:
    """Tell names that a browser may send from patterns, which would match nothing."""
    return all(character.isalnum() or character in "-._:%" for character in host)


def _split(address: str) -> tuple[str | None, int | None]:
    """Return host and port of an address ``http://host:port``; no host where it is another one."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None, None
    if parts.scheme not in _PORTS or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        return None, None
    return parts.hostname, _PORTS[parts.scheme] if port is None else port
