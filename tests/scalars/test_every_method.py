"""Every public method of every element, in every scalar; new methods are found, and must be tried."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest

import mbt
from mbt.autodiff import AutoDiffArray
from support.description import Array
from support.force_element_types import make_everything
from support.joint_types import random_state

# These describe the tree, set the defaults of all Contexts, or are for finalize().
NOT_OF_A_CONTEXT = ("do_", "declare_", "set_default", "get_default", "get_fixed", "get_mutable")
OF_THE_TREE = {
    "set_parent_tree",
    "set_acceleration_limits",
    "set_position_limits",
    "set_velocity_limits",
    "set_effort_limit",
    "is_enabled",
    "set_enabled",
    "add_visual",
    "add_collision",
}


@cache
def tree_of(scalar: str) -> mbt.MultibodyTree:
    if scalar != "double":
        return tree_of("double").clone_to_scalar(scalar)
    tree = make_everything().edit()
    joint = next(joint for joint in tree.joints if joint.num_velocities == 1)
    tree.add_joint_actuator("servo", joint, rotor_inertia=0.01, stiffness=3.0, damping=0.5)
    tree.finalize()
    return tree


def elements(tree: mbt.MultibodyTree) -> list[Any]:
    kinds = (
        tree.bodies,
        tree.frames,
        tree.joints,
        tree.mobilizers,
        tree.force_elements,
        tree.joint_actuators,
    )
    return [element for kind in kinds for element in kind]


def methods() -> list[tuple[int, str]]:
    """Return each method, once per class that defines it, with an element that has it."""
    found: dict[tuple[type, str], int] = {}
    for i, element in enumerate(elements(tree_of("double"))):
        cls = type(element)
        if not cls.__module__.startswith("mbt.") or getattr(element, "is_world", False):
            continue
        if isinstance(element, mbt.Frame) and element.is_body_frame:
            continue
        if isinstance(element, (mbt.WeldJoint, mbt.WeldMobilizer)):
            continue
        for name in dir(cls):
            is_public = not name.startswith(("_", *NOT_OF_A_CONTEXT)) and name not in OF_THE_TREE
            if is_public and inspect.isfunction(inspect.getattr_static(cls, name)):
                if name in ("set_stiffness", "set_damping") and not getattr(element, "is_servo", True):
                    continue  # A plain motor refuses them.
                owner = next(base for base in cls.__mro__ if name in vars(base))
                # Joints differ in their shared methods.
                key = (cls if isinstance(element, (mbt.Joint, mbt.Mobilizer)) else owner, name)
                found.setdefault(key, i)
    return [(i, name) for (_, name), i in found.items()]


METHODS = methods()
# Methods that change a Context.
WRITES = ("set_", "lock", "unlock")
POSE = mbt.math.make_pose([0.1, -0.2, 0.3], rpy=[0.2, 0.3, -0.4])


def _size(kind: str) -> Callable[[Any], Array]:
    def make(element: Any) -> Array:
        count = getattr(element, "num_positions" if kind == "q" else "num_velocities")
        return np.linspace(0.2, 0.5, count) if count else np.zeros(0)

    return make


def _like(getter: str, offset: float = 0.125) -> Callable[[Any], Any]:
    return lambda element: getattr(element, getter)(tree_of("double").create_default_context()) + offset


def _whole(kind: str) -> Callable[[Any], Array]:
    return lambda element: np.linspace(0.1, 0.9, getattr(tree_of("double"), f"num_{kind}"))


def _frame(index: int) -> Callable[[Any], mbt.Frame]:
    return lambda element: tree_of("double").frames[index]


# Values by the name of the argument; arguments of other setters come from their getters.
ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    "A_WB_array": lambda e: np.linspace(0, 1, 6 * tree_of("double").num_bodies).reshape(-1, 6),
    "vdot_array": _whole("velocities"),
    "tau_array": _whole("velocities"),
    "v_array": _whole("velocities"),
    "q_array": _whole("positions"),
    "u": _whole("actuators"),
    "u_actuator": lambda e: np.array([0.5]),
    "q": _size("q"),
    "qdot": _size("q"),
    "qddot": _size("q"),
    "v": _size("v"),
    "vdot": _size("v"),
    "angle": lambda e: 0.25,
    "angular_rate": lambda e: 0.5,
    "velocity": lambda e: np.array([0.5, -0.25]),
    "X_FQ": lambda e: POSE,
    "X_FM": lambda e: POSE,
    "X_PF": lambda e: POSE,
    "R_FQ": lambda e: POSE[:3, :3],
    "R_FM": lambda e: POSE[:3, :3],
    "q_FM": lambda e: np.array([0.8, 0.2, -0.4, 0.4]),
    "p_FM": lambda e: np.array([0.1, 0.2, 0.3])[
        : len(e.get_translation(tree_of("double").create_default_context()))
    ],
    "theta": lambda e: 0.25,
    "V_FM": lambda e: np.linspace(0.1, 0.6, 6),
    "F_Mo_F": lambda e: np.linspace(0.1, 0.6, 6),
    "F_Bo_W": lambda e: np.linspace(0.1, 0.6, 6),
    "F_Bp_E": lambda e: np.linspace(0.1, 0.6, 6),
    "p_BP_E": lambda e: np.array([0.1, 0.2, 0.3]),
    "frame_M": _frame(3),
    "frame_E": _frame(4),
    "other_frame": _frame(5),
    "measured_in_frame": _frame(6),
    "expressed_in_frame": _frame(7),
    "joint_dof": lambda e: 0,
    "joint_tau": lambda e: 0.5,
    "model_instance": lambda e: 1,
    "is_enabled": lambda e: False,
    "damping": lambda e: 1.5 if isinstance(e, mbt.JointActuator) else _like("get_damping_vector")(e),
    "stiffness": lambda e: 2.5,
    "rotor_inertia": lambda e: 0.002,
    "gear_ratio": lambda e: 15.0,
    "M_BBo_B": lambda e: mbt.SpatialInertia.solid_box_with_mass(2.0, 0.3, 0.4, 0.5),
    "com": lambda e: np.array([0.01, 0.02, 0.03]),
    "config": lambda e: mbt.DoorHingeConfig(spring_constant=2.5),
    "coulomb_friction": lambda e: 0.25,
    "static_friction": lambda e: 0.25,
}


def arguments(name: str, element: Any, tree: mbt.MultibodyTree, context: Any) -> dict[str, Any]:
    """Return arguments for a method of an element; for an element of any scalar the same numbers."""
    original = tree_of("double").get_variant(element)
    result: dict[str, Any] = {}
    for parameter in inspect.signature(getattr(element, name)).parameters.values():
        if parameter.name == "context":
            result["context"] = context
        elif parameter.name == "forces":
            result["forces"] = mbt.MultibodyForces(tree, context.batch_shape)
        elif parameter.name in ("pc", "vc"):
            result[parameter.name] = None
        elif parameter.name == "frame_body_poses":
            result[parameter.name] = tree.eval_frame_body_poses(context)
        elif parameter.default is parameter.empty:
            getter = f"get_{name[4:]}"
            is_set = name.startswith("set_") and hasattr(original, getter)
            if is_set and (parameter.name not in ARGUMENTS or getter == "get_damping"):
                value = _like(getter)(original)
            else:
                value = ARGUMENTS[parameter.name](original)
            if parameter.name == "u" or parameter.name.endswith("_array"):
                # These may be read or written in part.
                value = tree._numbers.as_float_array(value, "array").copy()
            result[parameter.name] = tree.get_variant(value) if isinstance(value, mbt.Frame) else value
    return result


def run(scalar: str, i: int, name: str, q: Any, v: Any) -> list[Any]:
    """Call a method in a new Context, and return its results and everything that it may have changed."""
    context = tree_of(scalar).create_default_context()
    context.q, context.v = q, v
    return call(scalar, i, name, context)


def call(scalar: str, i: int, name: str, context: Any) -> list[Any]:
    tree = tree_of(scalar)
    element = elements(tree)[i]
    return call_with(element, name, arguments(name, element, tree, context), context)


def call_with(element: Any, name: str, given: dict[str, Any], context: Any) -> list[Any]:
    """Call a method, and return its results and everything that it may have changed."""
    tree = element.parent_tree
    result = getattr(element, name)(**given)
    results = parts(result)
    if "forces" in given:
        results += [given["forces"].body_forces, given["forces"].generalized_forces]
    if "u" in given:
        results.append(given["u"])
    results += [context.q, context.v]
    for section in (
        "gravity",
        "mass",
        "com",
        "unit_inertia",
        "massless_inertia",
        "frame_pose",
        "damping",
        "rotor_inertia",
    ):
        results.append(
            context._get_parameter(section, min(1, tree.num_bodies) if section != "gravity" else 0)
        )
    return results


def parts(result: Any) -> list[Any]:
    if result is None or isinstance(result, mbt.tree.MultibodyElement):
        return []
    if isinstance(result, tuple):
        return [part for entry in result for part in parts(entry)]
    if is_dataclass(result):
        return [getattr(result, field.name) for field in fields(result)]
    if isinstance(result, mbt.SpatialInertia):
        return [result.mass, result.com, result.unit_inertia.as_matrix()]
    return [result]


@cache
def state() -> tuple[Array, Array]:
    """Return the state, to be read only."""
    context = random_state(tree_of("double"), np.random.default_rng(2))
    q, v = np.array(context.q), np.array(context.v)
    q.flags.writeable = v.flags.writeable = False
    return q, v


def names(case: tuple[int, str]) -> str:
    return f"{type(elements(tree_of('double'))[case[0]]).__name__}.{case[1]}"


@pytest.mark.parametrize("case", METHODS, ids=names)
def test_values_and_derivatives(case: tuple[int, str]) -> None:
    i, name = case
    q, v = state()
    wanted = run("double", i, name, q, v)
    rng = np.random.default_rng(3)
    q_dot, v_dot = rng.normal(size=q.shape), rng.normal(size=v.shape)
    got = run("autodiff", i, name, AutoDiffArray(q, q_dot[:, None]), AutoDiffArray(v, v_dot[:, None]))
    h = 1e-5
    plus, minus = (run("double", i, name, q + s * q_dot, v + s * v_dot) for s in (h, -h))
    for a, b, c, d in zip(got, wanted, plus, minus, strict=True):
        if isinstance(b, (bool, np.bool_)):
            assert a == b
            continue
        scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
        assert isinstance(a, AutoDiffArray), type(a)
        np.testing.assert_allclose(a.value, b, rtol=0, atol=1e-10 * scale)
        if a.num_derivatives:
            rate = (np.asarray(c) - np.asarray(d)) / (2 * h)
            scale = max(scale, float(np.max(np.abs(rate), initial=0.0)))
            np.testing.assert_allclose(a.derivatives[..., 0], rate, rtol=0, atol=2e-7 * scale)


@cache
def context_of_many_digits() -> Any:
    context: Any = tree_of("mpmath").create_default_context()
    q, v = state()
    context.q, context.v = [mpmath.mpf(x) for x in q], [mpmath.mpf(x) for x in v]
    return context


@pytest.mark.parametrize("case", METHODS, ids=names)
def test_many_digits(case: tuple[int, str]) -> None:
    i, name = case
    q, v = state()
    wanted = run("double", i, name, q, v)
    context = context_of_many_digits()
    if name.startswith(WRITES):
        context = context.clone()
    got = call("mpmath", i, name, context)
    for a, b in zip(got, wanted, strict=True):
        if isinstance(b, (bool, np.bool_)):
            assert a == b
            continue
        entries = np.ravel(np.asarray(a, dtype=object))
        assert all(isinstance(entry, (mpmath.mpf, float)) for entry in entries), entries[:3]
        scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
        np.testing.assert_allclose([float(x) for x in entries], np.ravel(b), rtol=0, atol=1e-10 * scale)


def test_all_were_found() -> None:
    assert len(METHODS) > 400
    tried = {name for _, name in METHODS}
    assert {"calc_hinge_torque", "set_config", "calc_friction", "set_pose_pair", "get_mass"} <= tried
