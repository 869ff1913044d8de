"""Batches of states of a tree with everything, and every call that reads a Context."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

import mbt
import scalars.test_every_method as every
from mbt.context.energy_report import EnergyReport
from support.calls import METHODS, SCALARS
from support.description import Array
from support.force_element_types import make_everything
from support.joint_types import random_state

__all__ = [
    "CALLS",
    "arrays_of",
    "make_batch",
    "sample_of",
    "tree_of",
    "tree_without_dofs",
    "tree_without_users",
]

Shape = tuple[int, ...]


def tree_of() -> mbt.MultibodyTree:
    """A tree with all joints and force elements, some of them written in Python."""
    return every.tree_of("double")


@cache
def tree_without_users() -> mbt.MultibodyTree:
    return make_everything(user_written=False)


@cache
def tree_without_dofs() -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    block = tree.add_body(mbt.RigidBody("block", mbt.SpatialInertia.solid_box_with_mass(2.0, 1, 2, 3)))
    tree.add_joint(mbt.WeldJoint, "weld", tree.world_body, mbt.math.make_pose([1, 2, 3]), block, None)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


@cache
def world_alone() -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    tree.finalize()
    return tree


@cache
def _states(tree: mbt.MultibodyTree) -> tuple[Array, ...]:
    rng = np.random.default_rng(5)
    states = [random_state(tree, rng) for _ in range(17)]
    inputs = rng.normal(size=(len(states), tree.num_actuators))
    return np.array([c.q for c in states]), np.array([c.v for c in states]), inputs


def make_batch(tree: mbt.MultibodyTree, shape: Shape) -> Any:
    """The first of 17 states, as many as the shape holds."""
    count = int(np.prod(shape))
    context = tree.create_default_context(shape)
    q, v, u = (array[:count].reshape(*shape, -1) if array.size and count else None for array in _states(tree))
    if q is not None:
        context.q = q
    if v is not None:
        context.v = v
    if u is not None:
        context.actuation = u
    return context


def sample_of(context: Any, i: Shape) -> mbt.Context:
    """A Context of one state with the q, v and inputs of one sample."""
    single = context.tree.create_default_context()
    for name in ("q", "v", "actuation", "time"):
        setattr(single, name, np.array(getattr(context, name)[i]))
    return single


def arrays_of(result: Any) -> list[Any]:
    """All arrays of a result."""
    if isinstance(result, (list, tuple)):
        return [array for entry in result for array in arrays_of(entry)]
    if isinstance(result, EnergyReport):
        names = (
            "kinetic_energy",
            "potential_energy",
            "conservative_power",
            "non_conservative_power",
            "balance",
        )
        entries = [getattr(one, name) for one in (result, *result.entries) for name in names[:4]]
        return [*entries, result.balance]
    if is_dataclass(result) and not isinstance(result, type):
        return [getattr(result, field.name) for field in fields(result)]
    if isinstance(result, mbt.MultibodyForces):
        return [result.body_forces, result.generalized_forces]
    return every.parts(result)


Function = Callable[[Any], Any]


@cache
def CALLS(tree: mbt.MultibodyTree) -> dict[str, Function]:
    """Functions of a Context that do not change it."""
    calls: dict[str, Function] = {}
    for name, call in {**METHODS, **SCALARS}.items():
        calls[name] = lambda c, call=call: call.run(tree, c, *call.values(tree))
    caches = {
        "eval_position_kinematics": ("X_WB", "X_PB", "X_FM", "X_BF", "H_FM", "H_PB_W", "com_W", "M_Bo_W"),
        "eval_velocity_kinematics": ("V_WB", "V_PB", "V_PB_W"),
        "eval_acceleration_kinematics": ("A_WB", "vdot"),
        "eval_frame_body_poses": ("X_BF", "X_FB"),
    }
    for method, names in caches.items():
        for name in names:
            calls[f"{method}.{name}"] = lambda c, m=method, n=name: getattr(getattr(tree, m)(c), n)
    for name in ("get_inertial_parameters", "get_positions_and_velocities", "calc_energy_report"):
        calls[name] = lambda c, name=name: getattr(tree, name)(c)
    ones = np.ones(tree.num_velocities)
    bodies = [body.index for body in tree.bodies[1:4]]
    calls["calc_inverse_dynamics with elements"] = lambda c: tree.calc_inverse_dynamics(
        c, ones, include_force_elements=True
    )
    calls["calc_force_elements_contribution"] = lambda c: tree.calc_force_elements_contribution(
        c, mbt.MultibodyForces(tree, c.batch_shape)
    )
    calls["calc_spatial_inertia"] = lambda c: tree.calc_spatial_inertia(c, tree.frames[-1], bodies)
    calls["mass of nothing"] = lambda c: tree.calc_spatial_inertia(c, tree.world_frame, [])
    if tree is tree_of():
        calls |= _calls_of_elements(tree)
    return calls


def _calls_of_elements(tree: mbt.MultibodyTree) -> dict[str, Function]:
    elements = every.elements(tree)

    def make(i: int, name: str) -> Function:
        def call(context: Any) -> list[Any]:
            given = every.arguments(name, elements[i], tree, context)
            if "velocity" in given:
                # A velocity for each sample would need the axes of the batch.
                given["velocity"] = 0.5
            results = arrays_of(getattr(elements[i], name)(**given))
            return results + (arrays_of(given["forces"]) if "forces" in given else [])

        return call

    return {
        f"{type(elements[i]).__name__}.{name}": make(i, name)
        for i, name in every.METHODS
        # Functions of whole arrays take no Context.
        if not name.startswith(every.WRITES) and not name.endswith(("_array", "_actuation_vector"))
    }
