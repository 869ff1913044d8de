"""Inputs that the fuzzers kept (`tools/fuzz.py`): bugs found, and inputs with the most coverage."""

from __future__ import annotations

import random

import pytest

from support.fuzz_targets import CORPUS, TARGETS, mutate

FILES = sorted(path.relative_to(CORPUS).as_posix() for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.oracle) if name.startswith("mjcf/") else name for name in FILES],
)
def test_input_kept(name: str) -> None:
    target = name.partition("/")[0]
    if target == "mjcf":
        pytest.importorskip("mujoco")
    TARGETS[target]((CORPUS / name).read_bytes())


def test_every_target_has_inputs() -> None:
    assert {name.partition("/")[0] for name in FILES} == set(TARGETS)


@pytest.mark.parametrize("target", ["urdf", "sdf", "json"])
def test_what_the_fuzzer_makes_of_them(target: str) -> None:
    """Without coverage guidance, so it runs without `atheris` too."""
    rng = random.Random(1)
    inputs = [(CORPUS / name).read_bytes() for name in FILES if name.startswith(target)]
    for seed in range(30):
        TARGETS[target](mutate(target, rng.choice(inputs), seed))
