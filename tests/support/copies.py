"""Ways to copy, and objects to copy."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

import mbt
from support.build import build_tree
from support.random_trees import every_joint

Copier = Callable[[Any], Any]


def by_pickle(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


COPIERS = {
    "deepcopy": copy.deepcopy,
    "pickle": by_pickle,
    "old pickle": lambda thing: pickle.loads(pickle.dumps(thing, protocol=0)),
    "Python pickle": lambda thing: pickle._loads(pickle._dumps(thing)),  # type: ignore[attr-defined]
}


def model(*, finalize: bool = True) -> mbt.MultibodyTree:
    return build_tree(every_joint(20), finalize=finalize)


def all_elements(tree: mbt.MultibodyTree) -> list[mbt.MultibodyElement]:
    return [
        *tree.bodies,
        *tree.frames,
        *tree.joints,
        *tree.mobilizers,
        *tree.force_elements,
        *tree.joint_actuators,
    ]


def some_state(tree: mbt.MultibodyTree, seed: int = 5) -> mbt.Context:
    rng = np.random.default_rng(seed)
    context = tree.create_default_context()
    context.q = rng.normal(size=tree.num_positions)
    context.v = rng.normal(size=tree.num_velocities)
    context.time = 1.5
    context.actuation = rng.normal(size=tree.num_actuators)
    context.applied_forces.body_forces = rng.normal(size=(tree.num_bodies, 6))
    context.applied_forces.generalized_forces = rng.normal(size=tree.num_velocities)
    return context
