"""Warnings of MuJoCo are passed on; those about looks come after those about the motion."""

from types import SimpleNamespace
from typing import Any

from mbt.parsing.mjcf_warnings import warnings_of_mujoco
from mbt.parsing.report import ParseReport


def test_looks_rank_below_the_motion() -> None:
    state: dict[str, Any] = {"warn": None}
    mujoco = SimpleNamespace(
        get_mju_user_warning=lambda: state["warn"],
        set_mju_user_warning=lambda function: state.update(warn=function),
    )
    report = ParseReport("file.xml", "model")
    with warnings_of_mujoco(mujoco, report):
        state["warn"]("material 'red' has no texture")
        state["warn"]("inertia of body 'arm' was balanced")
    assert state["warn"] is None
    lines = report.summarize_warnings().splitlines()[1:]
    assert lines == [
        "  MuJoCo says: inertia of body 'arm' was balanced",
        "  MuJoCo says: material 'red' has no texture",
    ]
