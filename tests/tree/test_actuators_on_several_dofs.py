"""Actuators on one of several degrees of freedom of a joint, and the inertia of their rotors there."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.build import build_tree
from support.random_trees import every_kind, one_joint

KINDS = ("planar", "ball_rpy", "quaternion_ball", "universal", "cylindrical", "floating", "rpy_floating")
Array = np.ndarray[Any, np.dtype[np.float64]]


def with_rotors(tree: mbt.MultibodyTree) -> tuple[mbt.MultibodyTree, Array]:
    """A copy with an actuator on each degree of freedom, and the inertia that their rotors add."""
    rng = np.random.default_rng(3)
    work = tree.edit()
    for joint in work.joints:
        for dof in range(joint.num_velocities):
            work.add_joint_actuator(
                f"{joint.name}_{dof}", joint, rotor_inertia=rng.uniform(0.1, 1.0), gear_ratio=-2.0, dof=dof
            )
    work.finalize()
    rotors = np.zeros(work.num_velocities)
    for actuator in work.joint_actuators:
        rotors[actuator.velocity_start] += actuator.default_reflected_inertia
    assert (rotors > 0.0).all()
    return work, rotors


def trees() -> dict[str, mbt.MultibodyTree]:
    result = {"every kind": build_tree(every_kind(5))}
    for kind in KINDS:
        for is_reversed in (False, True):
            result[f"{kind} {is_reversed}"] = build_tree(one_joint(kind, is_reversed=is_reversed))
    return result


TREES = trees()


@pytest.mark.parametrize("lead", [(), (9,)], ids=str)
@pytest.mark.parametrize("name", TREES)
def test_rotors_are_on_the_diagonal(name: str, lead: tuple[int, ...]) -> None:
    plain = TREES[name]
    tree, rotors = with_rotors(plain)
    rng = np.random.default_rng(4)
    q = np.broadcast_to(tree.random_positions(rng), (*lead, tree.num_positions))
    v, vdot = rng.normal(size=(2, *lead, tree.num_velocities))
    added = np.diag(rotors - diagonal_of_rotors(plain))
    M = functional.mass_matrix(tree, q)
    np.testing.assert_allclose(M, functional.mass_matrix(plain, q) + added, rtol=1e-12, atol=1e-12)
    tau = functional.inverse_dynamics(tree, q, v, vdot)
    without = functional.inverse_dynamics(plain, q, v, vdot)
    np.testing.assert_allclose(tau, without + vdot @ added, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(functional.forward_dynamics(tree, q, v, tau), vdot, rtol=1e-8, atol=1e-8)
    by_q, by_v, inverse = functional.forward_dynamics_derivatives(tree, q, v, tau)
    np.testing.assert_allclose(inverse @ M, np.broadcast_to(np.eye(len(rotors)), M.shape), atol=1e-9)
    tau_by_q, tau_by_v, _ = functional.inverse_dynamics_derivatives(tree, q, v, vdot)
    np.testing.assert_allclose(M @ by_q, -tau_by_q, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(M @ by_v, -tau_by_v, rtol=1e-7, atol=1e-7)
    context, other = tree.create_default_context(lead), plain.create_default_context(lead)
    for c in (context, other):
        c.q, c.v = q, v
    energy = tree.calc_kinetic_energy(context) - plain.calc_kinetic_energy(other)
    np.testing.assert_allclose(energy, (v @ added * v).sum(axis=-1) / 2.0, rtol=1e-9, atol=1e-9)


def diagonal_of_rotors(tree: mbt.MultibodyTree) -> Array:
    rotors = np.zeros(tree.num_velocities)
    for actuator in tree.joint_actuators:
        rotors[actuator.velocity_start] += actuator.default_reflected_inertia
    return rotors


def test_actuation_acts_there() -> None:
    tree, _ = with_rotors(TREES["every kind"])
    B = tree.actuation_matrix
    assert (B.sum(axis=0) == 1.0).all()
    context = tree.create_default_context()
    rng = np.random.default_rng(5)
    context.q, u = tree.random_positions(rng), rng.normal(size=tree.num_actuators)
    wanted = tree.calc_forward_dynamics(context, B @ u)
    paths = tree.rollout(context, np.broadcast_to(B @ u, (3, tree.num_velocities)), 1e-3)
    context.actuation = u
    np.testing.assert_allclose(tree.calc_forward_dynamics(context), wanted, rtol=1e-12, atol=1e-12)
    for path, with_actuation in zip(
        paths, tree.rollout(context, np.zeros((3, tree.num_velocities)), 1e-3), strict=True
    ):
        np.testing.assert_allclose(path, with_actuation, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        tree.calc_reaction_forces(context), tree.calc_reaction_forces(context.clone()), atol=0
    )


def test_scalars() -> None:
    tree, _ = with_rotors(TREES["every kind"])
    context = tree.create_default_context()
    rng = np.random.default_rng(6)
    context.q, context.v = tree.random_positions(rng), rng.normal(size=tree.num_velocities)
    twin = tree.to_autodiff()
    dual = twin.create_default_context()
    dual.q, dual.v = context.q, context.v
    dual_vdot = twin.calc_forward_dynamics(dual)
    np.testing.assert_allclose(dual_vdot.value, tree.calc_forward_dynamics(context), rtol=1e-9, atol=1e-9)
    motor = next(a for a in twin.joint_actuators if a.dof == 2)
    motor.set_rotor_inertia(dual, mbt.autodiff.initialize(np.array([0.3]))[0])
    rate = mbt.autodiff.derivatives(twin.calc_mass_matrix(dual), 1)[..., 0]
    wanted = np.zeros_like(rate)
    wanted[motor.velocity_start, motor.velocity_start] = 4.0
    np.testing.assert_allclose(rate, wanted, atol=1e-12)


def test_copies_and_files() -> None:
    tree, rotors = with_rotors(TREES["every kind"])
    text = mbt.save_model(tree, format="json")
    again = mbt.load_model(text)
    assert mbt.save_model(again, format="json") == text
    for copy in (again, tree.clone(), pickle.loads(pickle.dumps(tree)), tree.edit()):
        if not copy.is_finalized:
            copy.finalize()
        assert [a.dof for a in copy.joint_actuators] == [a.dof for a in tree.joint_actuators]
        np.testing.assert_array_equal(diagonal_of_rotors(copy), rotors)
    with pytest.warns(mbt.ModelWarning, match="its joint has several degrees of freedom"):
        mbt.save_model(tree, format="urdf")


def test_reports() -> None:
    tree, _ = with_rotors(TREES["floating False"])
    assert not tree.finalize_report.unactuated_velocities
    context = tree.create_default_context()
    context.v = np.arange(1.0, 7.0)
    report = tree.calc_energy_report(context)
    total = sum(entry.kinetic_energy for entry in report.entries)
    assert total == pytest.approx(tree.calc_kinetic_energy(context))
    motor = tree.joint_actuators[4]
    assert (motor.dof, motor.velocity_start, motor.index) == (4, 4, 4)
    assert "dof=4" in repr(motor)
    assert "vy" in motor._repr_html_()


def test_a_rotor_moves_what_has_no_mass() -> None:
    """Rotors on all degrees of freedom are enough; a joint that lacks one is reported."""
    for dofs, is_singular in (((0, 1, 2), False), ((0, 2), True)):
        tree = mbt.MultibodyTree()
        ghost = tree.add_body(mbt.RigidBody("ghost", mbt.SpatialInertia.zero()))
        ball = tree.add_joint(mbt.QuaternionBallJoint, "ball", tree.world_body, None, ghost, None)
        for dof in dofs:
            tree.add_joint_actuator(f"m{dof}", ball, rotor_inertia=0.5, dof=dof)
        tree.finalize()
        assert bool(tree.finalize_report.massless_branches) == is_singular
        if not is_singular:
            vdot = functional.forward_dynamics(tree, [1.0, 0, 0, 0], np.zeros(3), np.ones(3))
            np.testing.assert_allclose(vdot, 2.0)


@pytest.mark.parametrize(
    ("dof", "error", "message"),
    [
        (None, mbt.ArgumentValueError, r"has 3: say which one, as in dof=2$"),
        (3, mbt.ElementIndexError, "dof"),
        (-1, mbt.ElementIndexError, "dof"),
        (1.0, mbt.ArgumentTypeError, "dof"),
        (True, mbt.ArgumentTypeError, "dof"),
    ],
)
def test_no_such_degree_of_freedom(dof: Any, error: type[Exception], message: str) -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    ball = tree.add_joint(mbt.BallRpyJoint, "ball", tree.world_body, None, body, None)
    with pytest.raises(error, match=message):
        tree.add_joint_actuator("motor", ball, dof=dof)
    assert not tree.joint_actuators


def test_a_reflected_inertia_that_overflows_is_refused() -> None:
    def make(**keywords: float) -> tuple[mbt.MultibodyTree, mbt.JointActuator]:
        tree = mbt.MultibodyTree()
        link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 0, 1])
        return tree, tree.add_joint_actuator("motor", hinge, **keywords)

    message = (
        r"joint actuator 'motor': expected rotor_inertia \* gear_ratio\*\*2 to be finite, but it overflows"
    )
    # With zero rotor inertia, the infinite square gives NaN.
    for ratio, inertia in ((1e160, 0.0), (1e160, 1e-9), (-1e10, 1e300)):
        with pytest.raises(mbt.ArgumentValueError, match=message):
            make(gear_ratio=ratio, rotor_inertia=inertia)
    tree, motor = make(gear_ratio=1e150, rotor_inertia=1e-290)
    for change in (
        lambda: motor.set_default_gear_ratio(1e160),
        lambda: motor.set_default_rotor_inertia(1e100),
    ):
        with pytest.raises(mbt.ArgumentValueError, match=message):
            change()
    assert motor.default_reflected_inertia == pytest.approx(1e10)
    tree.finalize()
    context, batch = tree.create_default_context(), tree.create_default_context(3)
    for refused in (
        lambda: motor.set_gear_ratio(context, 1e160),
        lambda: motor.set_gear_ratio(batch, [1.0, 1e200, 2.0]),
        lambda: motor.set_rotor_inertia(batch, [1.0, 2.0, 1e10]),
    ):
        with pytest.raises(mbt.ArgumentValueError, match=message):
            refused()
    assert motor.calc_reflected_inertia(context) == pytest.approx(1e10)
    motor.set_gear_ratio(batch, [1.0, 2.0, 3.0])
    for scalar in ("autodiff", "casadi"):
        if scalar == "casadi":
            pytest.importorskip("casadi", reason="needs the extra `casadi`: pip install '.[casadi]'")
        twin = tree.clone_to_scalar(scalar)
        twin.get_joint_actuator_by_name("motor").set_gear_ratio(twin.create_default_context(), 2.0)
