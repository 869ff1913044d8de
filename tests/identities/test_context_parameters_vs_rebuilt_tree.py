"""A parameter set in a Context acts like that value in a new tree; other Contexts are not affected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import mbt
from support.build import build_tree
from support.case import get_case
from support.description import JOINT_SIZES, Array, Model
from support.quantities import QUANTITIES, assert_close
from support.random_trees import random_body, random_pose
from support.reference import Reference
from support.subject import Subject

MODEL = "every_joint"
Setter = Callable[[mbt.MultibodyTree, mbt.Context, Model], Model]


def _set_inertia(tree: mbt.MultibodyTree, context: mbt.Context, model: Model) -> Model:
    new = random_body(np.random.default_rng(1), model.bodies[4].name)
    inertia = mbt.SpatialInertia.make_from_central_inertia(new.mass, new.com, new.I_BBcm_B)
    tree.get_body_by_name(new.name).set_spatial_inertia_in_body_frame(context, inertia)
    return replace(model, bodies=(*model.bodies[:4], new, *model.bodies[5:]))


def _set_massless_inertia(tree: mbt.MultibodyTree, context: mbt.Context, model: Model) -> Model:
    body = model.bodies[4]
    inertia = mbt.SpatialInertia.make_from_central_inertia(0.0, np.zeros(3), body.I_BBcm_B)
    tree.get_body_by_name(body.name).set_spatial_inertia_in_body_frame(context, inertia)
    new = replace(body, mass=0.0, com=np.zeros(3))
    return replace(model, bodies=(*model.bodies[:4], new, *model.bodies[5:]))


def _set_gravity(tree: mbt.MultibodyTree, context: mbt.Context, model: Model) -> Model:
    g = np.array([1.0, -2.0, 3.0])
    (gravity,) = tree.force_elements
    assert isinstance(gravity, mbt.UniformGravityFieldElement)
    gravity.set_gravity_vector(context, g)
    return replace(model, gravity=g)


def _set_damping(tree: mbt.MultibodyTree, context: mbt.Context, model: Model) -> Model:
    i = next(i for i, joint in enumerate(model.joints) if joint.num_velocities == 1)
    tree.get_joint_by_name(model.joints[i].name).set_damping_vector(context, [3.5])
    joint = replace(model.joints[i], damping=(3.5,))
    return replace(model, joints=(*model.joints[:i], joint, *model.joints[i + 1 :]))


def _set_rotor(tree: mbt.MultibodyTree, context: mbt.Context, model: Model) -> Model:
    actuator = replace(model.actuators[0], rotor_inertia=0.03, gear_ratio=7.0)
    element = tree.get_joint_actuator_by_name(actuator.name)
    element.set_rotor_inertia(context, 0.03)
    element.set_gear_ratio(context, 7.0)
    return replace(model, actuators=(actuator, *model.actuators[1:]))


def _set_pose(frame: mbt.Frame, context: mbt.Context, X: Array) -> None:
    assert isinstance(frame, mbt.FixedOffsetFrame)
    frame.set_pose_in_parent_frame(context, X)


def _set_frame(tree: mbt.MultibodyTree, context: mbt.Context, model: Model) -> Model:
    X = random_pose(np.random.default_rng(2))
    _set_pose(tree.get_frame_by_name("wrist"), context, X)
    frames = tuple(replace(f, X_PF=X) if f.name == "wrist" else f for f in model.frames)
    return replace(model, frames=frames)


def _joint_frame_setter(kind: str, reverse: bool) -> Setter:
    """The frames that joints make for themselves are parameters too, also those of welds."""

    def set_joint_frame(tree: mbt.MultibodyTree, context: mbt.Context, model: Model) -> Model:
        X_PF, X_BM = (random_pose(np.random.default_rng(k)) for k in (3, 4))
        directions = {joint.name: is_reversed for joint, is_reversed in Reference(model).outward}
        i = next(i for i, j in enumerate(model.joints) if j.kind == kind and directions[j.name] == reverse)
        joint = tree.get_joint_by_name(model.joints[i].name)
        _set_pose(joint.frame_on_parent, context, X_PF)
        _set_pose(joint.frame_on_child, context, X_BM)
        changed = replace(model.joints[i], X_PF=X_PF, X_BM=X_BM)
        return replace(model, joints=(*model.joints[:i], changed, *model.joints[i + 1 :]))

    set_joint_frame.__name__ = f"{'reversed_' if reverse else ''}{kind}"
    return set_joint_frame


SETTERS = (
    _set_inertia,
    _set_massless_inertia,
    _set_gravity,
    _set_damping,
    _set_rotor,
    _set_frame,
    *(_joint_frame_setter(kind, reverse) for kind in JOINT_SIZES for reverse in (False, True)),
)


@pytest.mark.parametrize("setter", SETTERS)
def test_parameter(setter: Setter) -> None:
    case, state = get_case(MODEL), get_case(MODEL).state()
    subject, untouched = case.subject(), case.subject()
    before = {name: x.compute(untouched, state) for name, x in QUANTITIES.items()}
    # Fill the caches first: setting a parameter must invalidate them.
    for quantity in QUANTITIES.values():
        quantity.compute(subject, state)
    changed = setter(case.tree, subject.context, case.model)
    rebuilt = Subject(build_tree(changed))
    scale = {name: x.scale(case.reference, state) for name, x in QUANTITIES.items()}
    for name, quantity in QUANTITIES.items():
        # The new value may be larger than the old one's terms: by 100 at most (rotor inertia, gravity).
        assert_close(
            quantity.compute(subject, state), quantity.compute(rebuilt, state), 100 * scale[name], name
        )
        np.testing.assert_array_equal(quantity.compute(untouched, state), before[name], name)
    # The frames at the tip follow.
    for name in ("wrist", "tool"):
        ours = case.tree.calc_relative_transform(
            subject.at(state.q), case.tree.world_frame, case.tree.get_frame_by_name(name)
        )
        theirs = rebuilt.tree.calc_relative_transform(
            rebuilt.at(state.q), rebuilt.tree.world_frame, rebuilt.tree.get_frame_by_name(name)
        )
        assert_close(ours, theirs, scale["poses"], name)


@pytest.mark.parametrize("setter", SETTERS)
def test_every_setter_changes_something(setter: Setter) -> None:
    """The test above would also pass if neither a setter nor a rebuilt model had any effect."""
    case, state = get_case(MODEL), get_case(MODEL).state()
    subject, untouched = case.subject(), case.subject()
    setter(case.tree, subject.context, case.model)
    tool = case.tree.get_frame_by_name("tool")
    same = np.array_equal(
        subject.forward_dynamics(state.q, state.v, state.tau),
        untouched.forward_dynamics(state.q, state.v, state.tau),
    ) and np.array_equal(
        case.tree.calc_relative_transform(subject.at(state.q), case.tree.world_frame, tool),
        case.tree.calc_relative_transform(untouched.at(state.q), case.tree.world_frame, tool),
    )
    assert not same


def test_default_context_again() -> None:
    """`set_default_context` resets parameters, state and inputs."""
    case, state = get_case(MODEL), get_case(MODEL).state()
    context = case.context(state)
    for setter in SETTERS:
        setter(case.tree, context, case.model)
    context.time = 3.0
    context.actuation = np.ones(case.tree.num_actuators)
    case.tree.set_default_context(context)
    fresh = case.tree.create_default_context()
    np.testing.assert_array_equal(context.q, fresh.q)
    np.testing.assert_array_equal(context.v, fresh.v)
    np.testing.assert_array_equal(context.actuation, fresh.actuation)
    assert context.time == fresh.time
    context.v = fresh.v = state.v
    np.testing.assert_array_equal(
        case.tree.calc_forward_dynamics(context), case.tree.calc_forward_dynamics(fresh)
    )
