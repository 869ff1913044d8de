"""Constrained forward dynamics against `pin.constraintDynamics`: points and frames held, some of them twice.

Pinocchio gives each constraint's force on its first joint, at the first placement, in that placement's axes
and linear part first. Ours act on frame B, at the shared point, in its axes and torque first. Frame B is the
one on the second joint, so one is minus the other with its halves exchanged; but World always has frame A,
so if World is the second joint, both act on the first. With redundant equations multipliers are not unique,
but their effect is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import mbt
from support.constraints import conditioning
from support.public_robots import FOLDER
from support.urdf_writer import to_urdf, urdf_model

pin = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")

pytestmark = pytest.mark.oracle

Array = np.ndarray
BALL, WELD = pin.ContactType.CONTACT_3D, pin.ContactType.CONTACT_6D


def name_of(kinds: Sequence[Any]) -> str:
    return "+".join(kind.name for kind in kinds)


# Joint 0 is World.
End = tuple[int, Any]


def close(model: Any, q: Array, kind: Any, first: End, other_joint: int) -> Any:
    """Return a constraint between two joints that holds at q."""
    data = model.createData()
    pin.forwardKinematics(model, data, q)
    joint, X = first
    there = data.oMi[other_joint].inverse() * data.oMi[joint] * X
    return pin.RigidConstraintModel(kind, model, joint, X, other_joint, there, pin.ReferenceFrame.LOCAL)


def again(model: Any, constraint: Any, kind: Any) -> Any:
    """Return another constraint of this kind in the same place."""
    c = constraint
    ends = c.joint1_id, c.joint1_placement, c.joint2_id, c.joint2_placement
    return pin.RigidConstraintModel(kind, model, *ends, pin.ReferenceFrame.LOCAL)


@dataclass
class Case:
    """A model with its constraints, positions at which they hold, and what our tree of it computes."""

    model: Any
    constraints: Sequence[Any]
    q: Array

    def __post_init__(self) -> None:
        # It is not part of Pinocchio's dynamics.
        self.model.damping[:] = 0.0
        self.tree = mbt.interop.from_pinocchio(self.model, constraints=self.constraints)
        self.coordinates = mbt.interop.PinocchioCoordinates(self.tree, self.model)
        self.context = self.tree.create_default_context()
        self.context.q = self.coordinates.q_from_pinocchio(self.q)
        np.testing.assert_allclose(self.tree.calc_constraint_errors(self.context), 0.0, atol=1e-12)
        self.J = self.tree.calc_constraint_jacobian(self.context)

    def move(self, rng: np.random.Generator) -> Array:
        """Set random velocities that obey the constraints, and return generalized forces."""
        v = rng.normal(size=self.tree.num_velocities)
        self.context.v = v - np.linalg.pinv(self.J, rcond=1e-9) @ (self.J @ v)
        return rng.normal(size=self.tree.num_velocities)

    def by_pinocchio(self, tau: Array) -> tuple[Array, Array]:
        """Return accelerations and multipliers in the coordinates of the tree."""
        context, coordinates, model = self.context, self.coordinates, self.model
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for constraint in self.constraints:
            models.append(constraint)
            datas.append(constraint.createData())
        data = model.createData()
        pin.initConstraintDynamics(model, data, models, datas)
        v = coordinates.v_to_pinocchio(context.q, context.v)
        generalized = coordinates.tau_to_pinocchio(context.q, tau)
        settings = pin.ProximalSettings(1e-13, 1e-9, 50)
        a = pin.constraintDynamics(model, data, self.q, v, generalized, models, datas, settings)
        forces = []
        for constraint, its in zip(self.constraints, datas, strict=True):
            F, sign = its.contact_force, 1.0 if constraint.joint2_id == 0 else -1.0
            forces += [sign * F.angular, sign * F.linear] if constraint.type == WELD else [sign * F.linear]
        return coordinates.vdot_from_pinocchio(self.q, v, a), np.concatenate(forces)

    def check(self, seed: int) -> None:
        """Compare accelerations and multipliers of one state in motion."""
        tau = self.move(np.random.default_rng(seed))
        vdot, multipliers = self.tree.calc_constrained_forward_dynamics(self.context, tau)
        desired, theirs = self.by_pinocchio(tau)
        assert_near(vdot, desired)
        assert_near(self.J.T @ multipliers, self.J.T @ theirs)
        if conditioning(self.tree, self.context) > 1e-2:
            assert_near(multipliers, theirs)
        # The constraints make a difference.
        free = self.tree.create_default_context()
        free.q, free.v = self.context.q, self.context.v
        for constraint in self.tree.constraints:
            constraint.set_enabled_in(free, False)
        assert np.abs(self.tree.calc_forward_dynamics(free, tau) - vdot).max() > 1e-3


def assert_near(actual: Array, desired: Array, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(actual, desired, rtol=0.0, atol=tolerance * max(1.0, np.abs(desired).max()))


def random_case(seed: int, kinds: Sequence[Any], repeated: Sequence[Any] = ()) -> Case:
    """A free tree with constraints between random joints; the last one is repeated as each of these kinds."""
    rng = np.random.default_rng(seed)
    pin.seed(seed)
    urdf = to_urdf(urdf_model(seed, 12, ("revolute", "revolute", "prismatic"), base="floating"))
    model = pin.buildModelFromXML(urdf, pin.JointModelFreeFlyer())
    q = pin.integrate(model, pin.neutral(model), rng.uniform(-1.0, 1.0, model.nv))
    constraints = []
    for i, kind in enumerate(kinds):
        # The first from World to a body, the others between bodies.
        pair = (0, rng.integers(1, model.njoints)) if not i else rng.choice(model.njoints, 2, replace=False)
        first, second = (int(joint) for joint in rng.permutation(pair))
        constraints.append(close(model, q, kind, (first, pin.SE3.Random()), second))
    constraints += [again(model, constraints[-1], kind) for kind in repeated]
    return Case(model, constraints, q)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kinds", [(BALL,), (WELD,), (BALL, BALL), (WELD, BALL), (BALL, WELD)], ids=name_of)
def test_random_trees(seed: int, kinds: tuple[Any, ...]) -> None:
    random_case(seed, kinds).check(seed)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("kinds", "repeated"),
    [((WELD,), (WELD,)), ((WELD,), (BALL,)), ((BALL,), (WELD,)), ((BALL, WELD), (WELD, BALL))],
    ids=name_of,
)
def test_what_is_said_twice(seed: int, kinds: tuple[Any, ...], repeated: tuple[Any, ...]) -> None:
    case = random_case(seed, kinds, repeated)
    assert conditioning(case.tree, case.context) < 1e-12
    case.check(seed)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("kinds", [(BALL,), (WELD,), (BALL, BALL)], ids=name_of)
def test_impulses(kinds: tuple[Any, ...], share: float) -> None:
    """Against `pin.impulseDynamics`, with the Jacobian in Pinocchio's velocities."""
    case = random_case(1, kinds)
    context, coordinates = case.context, case.coordinates
    assert conditioning(case.tree, context) > 1e-2
    context.v = np.random.default_rng(1).normal(size=case.tree.num_velocities)
    v = coordinates.v_to_pinocchio(context.q, context.v)
    ours_to_theirs = np.stack(
        [coordinates.v_to_pinocchio(context.q, unit) for unit in np.eye(len(context.v))], axis=1
    )
    J = case.J @ np.linalg.inv(ours_to_theirs)
    data = case.model.createData()
    after = pin.impulseDynamics(case.model, data, case.q, v, J, share, 0.0)
    v1, impulses = case.tree.calc_impulse_dynamics(context, share)
    assert_near(coordinates.v_to_pinocchio(context.q, v1), after)
    assert_near(impulses, data.impulse_c)


def test_a_weld_twice_bears_half_each_time() -> None:
    once, twice = random_case(0, (WELD,)), random_case(0, (WELD,), (WELD,))
    tau = once.move(np.random.default_rng(0))
    twice.context.v = once.context.v
    one, both = (case.tree.calc_constrained_forward_dynamics(case.context, tau)[1] for case in (once, twice))
    assert_near(both, np.tile(one / 2.0, 2))


ROBOTS = {
    "talos": ("talos_data/robots/talos_reduced.urdf", ("left_sole_link", "right_sole_link"), WELD),
    "icub": ("icub_description/robots/icub.urdf", ("l_sole", "r_sole"), WELD),
    "solo12": ("solo_description/robots/solo12.urdf", ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT"), BALL),
    "anymal": (
        "anymal_b_simple_description/robots/anymal.urdf",
        ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT"),
        BALL,
    ),
}


@pytest.mark.parametrize("is_twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("name", ROBOTS)
def test_feet_held(name: str, is_twice: bool) -> None:
    """A robot whose feet are fixed, or fixed and held again by ball constraints."""
    path, feet, kind = ROBOTS[name]
    model = pin.buildModelFromUrdf(str(FOLDER / path), pin.JointModelFreeFlyer())
    rng = np.random.default_rng(6)
    q = pin.integrate(model, pin.neutral(model), rng.uniform(-0.7, 0.7, model.nv))
    constraints = []
    for foot in feet:
        frame = model.frames[model.getFrameId(foot)]
        constraints.append(close(model, q, kind, (frame.parentJoint, frame.placement), 0))
    assert sum(6 if constraint.type == WELD else 3 for constraint in constraints) == 12
    if is_twice:
        constraints += [again(model, constraint, BALL) for constraint in constraints]
    case = Case(model, constraints, q)
    assert (conditioning(case.tree, case.context) > 1e-2) is not is_twice
    for seed in range(3):
        case.check(seed)
