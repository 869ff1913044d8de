"""A user's program, for type checkers: `mypy --strict` accepts it, and it runs."""

from typing import Any

import numpy as np
import numpy.typing as npt
from typing_extensions import assert_type

import mbt
from mbt import functional

FloatArray = npt.NDArray[np.float64]


def build() -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia(mass=1.0, p_PScm_E=[0, 0, -0.5], G_SP_E=np.diag([0.34, 0.34, 0.01]))
    rod = assert_type(tree.add_body(mbt.RigidBody("rod", inertia)), mbt.RigidBody)
    hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, rod, None, axis=[0, 1, 0])
    assert_type(hinge, mbt.RevoluteJoint)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def one_state(tree: mbt.MultibodyTree) -> float:
    context = assert_type(tree.create_default_context(), mbt.Context)
    context.q, context.v = [0.3], [1.0]
    assert_type(tree.calc_forward_dynamics(context), FloatArray)
    assert_type(tree.eval_position_kinematics(context), mbt.PositionKinematicsCache)
    assert_type(tree.calc_energy_report(context), mbt.EnergyReport)
    return tree.calc_kinetic_energy(context) + tree.calc_potential_energy(context)


def many_states(tree: mbt.MultibodyTree) -> FloatArray:
    batch = assert_type(tree.create_default_context(5), mbt.BatchContext)
    batch.v = np.ones((5, 1))
    assert_type(tree.calc_mass_matrix(batch), FloatArray)
    assert_type(tree.bodies[1].get_mass(batch), FloatArray)
    assert_type(tree.bodies[1].get_mass(tree.create_default_context()), float)
    assert_type(tree.calc_total_mass(batch), FloatArray)
    return tree.calc_kinetic_energy(batch) + tree.calc_potential_energy(batch)


def moving(tree: mbt.MultibodyTree) -> float:
    context = tree.create_default_context()
    path = assert_type(mbt.simulate(tree, context, 0.1, control=lambda time, q, v: -0.1 * v), mbt.Trajectory)
    assert_type(path.q, FloatArray)
    assert_type(path.energy.total, FloatArray)
    assert_type(path[::2], mbt.Trajectory)
    return float(path[-1].time + path.energy_drift[-1])


def other_numbers(tree: mbt.MultibodyTree) -> Any:
    twin = tree.to_autodiff()
    context = twin.create_default_context()
    context.q = mbt.autodiff.initialize([0.1])
    assert_type(twin.calc_inverse_dynamics(context, [1.0]), Any)
    print(twin.calc_inverse_dynamics(context, [1.0]).value, twin.calc_mass_matrix(context).derivatives)
    symbols = tree.to_symbolic()
    print(symbols.calc_mass_matrix(symbols.create_default_context()).tolist())
    return assert_type(twin.calc_kinetic_energy(context), Any)


def changed(tree: mbt.MultibodyTree) -> int:
    work = assert_type(tree.edit(), mbt.MultibodyTree)
    hinge = work.remove(work.get_joint_by_name("hinge"))
    tip = work.add_frame(mbt.FixedOffsetFrame("tip", work.bodies[1], np.eye(4)))
    ball = mbt.BallRpyJoint("ball", hinge.frame_on_parent, hinge.frame_on_child)
    assert_type(work.rename(work.add_joint(ball), "pivot"), mbt.BallRpyJoint)
    load = work.add_body(mbt.RigidBody("load", mbt.SpatialInertia.point_mass(1.0, [0, 0, 0])))
    work.add_joint(mbt.WeldJoint, "grasp", tip, None, load, None)
    work.finalize()
    positions = {"pivot": [0.1, 0.2, 0.3]}
    return assert_type(mbt.lock_joints(work, positions), mbt.MultibodyTree).num_positions


def arrays(tree: mbt.MultibodyTree, q: npt.ArrayLike) -> FloatArray:
    assert_type(tree.finalize_report, mbt.FinalizeReport)
    v = np.zeros(tree.num_velocities)
    return assert_type(functional.inverse_dynamics(tree, q, v, [0.0]), FloatArray)
