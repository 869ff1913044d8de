"""Who may talk to a viewer: its own pages, by names of this machine or names that the user allows."""

from __future__ import annotations

import pytest

import mbt
from mbt.viewer.visitors import Visitors

PORT = 8080


class Headers:
    """The headers of a request."""

    def __init__(self, host: str | None, *origins: str) -> None:
        self._values = {"Host": [] if host is None else host.split(" "), "Origin": list(origins)}

    def get_all(self, name: str) -> list[str]:
        return self._values[name]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MBT_VIEWER_HOSTS", raising=False)


@pytest.mark.parametrize(
    ("host", "origins"),
    [
        ("127.0.0.1:8080", []),
        ("localhost:8080", []),
        ("LOCALHOST:8080", []),
        ("[::1]:8080", []),
        ("127.0.0.1:8080", ["http://127.0.0.1:8080"]),
        ("127.0.0.1:8080", ["http://localhost:8080"]),
        ("localhost:8080", ["http://127.0.0.1:8080"]),
        # Through a tunnel to another port of this machine.
        ("localhost:9000", ["http://localhost:9000"]),
        ("localhost", ["http://localhost"]),
        ("localhost", ["https://localhost"]),
    ],
)
def test_own_pages_may(host: str, origins: list[str]) -> None:
    assert Visitors().refuse(Headers(host, *origins), PORT) is None


@pytest.mark.parametrize(
    ("host", "origins", "match"),
    [
        (None, [], "under the name none"),
        ("", [], "under the name"),
        ("evil.example:8080", [], "under the name 'evil.example:8080'"),
        ("localhost.evil.example:8080", [], "under the name"),
        ("127.0.0.1.evil.example", [], "under the name"),
        ("evil.example@127.0.0.1:8080", [], "under the name"),
        ("127.0.0.1:8080 evil.example", [], "under the name"),
        ("127.0.0.1:x", [], "under the name"),
        ("[::1", [], "under the name"),
        ("127.0.0.1:8080", ["https://evil.example"], "to the page 'https://evil.example'"),
        ("127.0.0.1:8080", ["http://evil.example:8080"], "to the page"),
        ("127.0.0.1:8080", ["http://localhost:3000"], "to the page"),
        ("127.0.0.1:8080", ["http://localhost"], "to the page"),
        ("127.0.0.1:8080", ["null"], "to the page 'null'"),
        ("127.0.0.1:8080", [""], "to the page"),
        ("127.0.0.1:8080", ["file://"], "to the page"),
        ("127.0.0.1:8080", ["file://127.0.0.1:8080"], "to the page"),
        ("127.0.0.1:8080", ["http://evil.example/127.0.0.1:8080"], "to the page"),
        ("127.0.0.1:8080", ["http://evil.example#://127.0.0.1:8080"], "to the page"),
        ("127.0.0.1:8080", ["http://127.0.0.1:8080", "https://evil.example"], "to the page"),
    ],
)
def test_others_may_not(host: str | None, origins: list[str], match: str) -> None:
    reason = Visitors(["hub.example.org"]).refuse(Headers(host, *origins), PORT)
    assert reason is not None
    assert match in reason
    assert "allowed_hosts=[...]" in reason


@pytest.mark.parametrize("by", ["argument", "environment"])
def test_names_that_are_allowed(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["Hub.example.org", "10.0.0.5", "[fe80::1]"]
    if by == "environment":
        monkeypatch.setenv("MBT_VIEWER_HOSTS", ", ".join(names) + ",")
    visitors = Visitors(names if by == "argument" else ())
    # A proxy passes on the name that the browser used, or its own.
    for host in ("hub.example.org", "hub.example.org:443", "127.0.0.1:8080", "10.0.0.5:8080", "[fe80::1]"):
        assert visitors.refuse(Headers(host, "https://hub.example.org"), PORT) is None
        assert visitors.refuse(Headers(host), PORT) is None
        assert visitors.refuse(Headers(host, "https://other.example.org"), PORT) is not None


def test_names_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for names in ("hub.example.org", 3, None):
        with pytest.raises(mbt.ArgumentTypeError, match="allowed_hosts: expected a sequence of host names"):
            Visitors(names)  # type: ignore[arg-type]
    with pytest.raises(mbt.ArgumentTypeError, match="allowed_hosts: expected host names, got int"):
        Visitors([3])  # type: ignore[list-item]
    for name in ("https://hub.example.org", "hub.example.org:443", "a/b", "", "*", "*.example.org", "a b"):
        with pytest.raises(mbt.ArgumentValueError, match="allowed_hosts: expected a host name"):
            Visitors([name])
    monkeypatch.setenv("MBT_VIEWER_HOSTS", "http://a")
    with pytest.raises(mbt.ArgumentValueError, match="MBT_VIEWER_HOSTS: expected a host name"):
        Visitors()
