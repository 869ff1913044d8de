"""MJCF where MuJoCo is not installed."""

from __future__ import annotations

import sys

import pytest

import mbt


def test_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(mbt.ParseError, match=r'not installed\n.*pip install "mbt\[mjcf\]"'):
        mbt.load_model("<mujoco><worldbody/></mujoco>")


def test_what_is_not_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(mbt.ArgumentTypeError, match=r"expected a mujoco\.MjModel or mujoco\.MjSpec, got str"):
        mbt.interop.from_mujoco("robot.xml")
