"""MJCF where MuJoCo is not installed."""

from __future__ import annotations

import sys
import types

import pytest

import mbt


def test_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(mbt.ParseError, match=r'not installed\n.*pip install "multibodytree\[mjcf\]"'):
        mbt.load_model("<mujoco><worldbody/></mujoco>")


def test_the_message_names_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    older = types.ModuleType("mujoco")
    older.__version__ = "3.10.1"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mujoco", older)
    with pytest.raises(mbt.ParseError, match=r"needs mujoco 4 or later, but 3\.10\.1 is installed"):
        mbt.load_model("<mujoco><worldbody/></mujoco>")


def test_what_is_not_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(mbt.ArgumentTypeError, match=r"expected a mujoco\.MjModel or mujoco\.MjSpec, got str"):
        mbt.interop.from_mujoco("robot.xml")
