"""Pinocchio and Drake against the tree and against the reference, on URDF made from random models."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Literal

import numpy as np
import pytest

import mbt
from support.build import layout_of
from support.description import Model
from support.quantities import QUANTITIES, Source, assert_same_quantity, random_state
from support.reference import Reference
from support.subject import Subject
from support.urdf_writer import to_urdf, urdf_model

pytestmark = pytest.mark.oracle

ARM = ("revolute", "revolute", "prismatic", "weld")
# Seed, number of bodies, joint types.
MODELS: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "one_body": (1, 1, ARM),
    "five_bodies": (2, 5, ARM),
    "twelve_bodies": (3, 12, ARM),
    "thirty_bodies": (4, 30, ARM),
    # Drake does not read floating joints between links.
    "free_inside": (5, 10, ("revolute", "prismatic", "weld", "floating")),
}
# Library -> (module with its peer, class, models).
PEERS = {
    "pinocchio": ("support.pinocchio_peer", "PinocchioPeer", list(MODELS)),
    "pydrake": ("support.drake_peer", "DrakePeer", list(MODELS)[:-1]),
}
COMBINATIONS = [(library, name) for library, (_, _, names) in PEERS.items() for name in names]


@cache
def _urdf(name: str, base: str) -> tuple[Model, str]:
    seed, num_bodies, kinds = MODELS[name]
    model = urdf_model(seed, num_bodies, kinds, base=base, actuated=0.5)
    # Every other revolute joint is of the type that Pinocchio describes by a cosine and a sine.
    revolute = [joint.name for joint in model.joints if joint.kind == "revolute"]
    return model, to_urdf(model, frozenset(revolute[::2]))


@cache
def _sources(library: str, name: str, base: Literal["fixed", "floating"]) -> tuple[Source, Source, Reference]:
    pytest.importorskip(library, reason="needs the `oracle` extra")
    module, peer, _ = PEERS[library]
    model, urdf = _urdf(name, base)
    tree = mbt.load_model(urdf, base=base)
    layout = layout_of(tree)
    other = getattr(importlib.import_module(module), peer)(urdf, model, layout)
    return Subject(tree), other, Reference(model, layout)


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize(("library", "name"), COMBINATIONS)
def test_same(library: str, name: str, base: Literal["fixed", "floating"], quantity: str) -> None:
    subject, other, reference = _sources(library, name, base)
    for k in range(2):
        state = random_state(reference, np.random.default_rng(k))
        assert_same_quantity(quantity, subject, other, reference, state)
        assert_same_quantity(quantity, reference, other, reference, state)
