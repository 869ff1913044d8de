"""URDF that `save_model` writes is the same model to Pinocchio and to Drake."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from support.build import build_tree
from support.random_trees import random_model

pytestmark = pytest.mark.oracle

Array = np.ndarray[Any, Any]


def make_tree(seed: int) -> mbt.MultibodyTree:
    """Joints in both directions, on World, with offset frames on both sides."""
    tree = build_tree(random_model(seed, 9, kinds=("revolute", "prismatic", "weld")), finalize=False)
    for joint in tree.joints:
        if joint.num_velocities:
            joint.set_position_limits([-3], [3])
    tree.finalize()
    return tree


def state(tree: mbt.MultibodyTree) -> dict[str, float]:
    rng = np.random.default_rng(5)
    return {joint.name: float(rng.normal()) for joint in tree.joints if joint.num_velocities}


def mass_matrix(tree: mbt.MultibodyTree, q: dict[str, float]) -> tuple[Array, dict[str, int]]:
    context = tree.create_default_context()
    places = {joint.name: int(joint.velocity_start) for joint in tree.joints if joint.num_velocities}
    context.q = [q[name] for name in sorted(places, key=places.__getitem__)]
    return tree.calc_mass_matrix(context), places


def check_same(tree: mbt.MultibodyTree, q: dict[str, float], M: Array, places: dict[str, int]) -> None:
    expected, own = mass_matrix(tree, q)
    order = [places[name] for name in sorted(own, key=own.__getitem__)]
    np.testing.assert_allclose(M[np.ix_(order, order)], expected, rtol=0, atol=1e-12 * abs(expected).max())


@pytest.mark.filterwarnings("ignore::mbt.ModelWarning")
@pytest.mark.parametrize("seed", range(4))
def test_pinocchio(seed: int) -> None:
    pin = pytest.importorskip("pinocchio")
    tree = make_tree(seed)
    # It does not add the rotors of transmissions.
    tree = tree.edit()
    for actuator in tree.joint_actuators:
        actuator.set_default_rotor_inertia(0.0)
    tree.finalize()
    model = pin.buildModelFromXML(mbt.save_model(tree, format="urdf"))
    places = {name: model.idx_vs[i] for i, name in enumerate(model.names) if i}
    assert set(places) == set(state(tree))
    q = np.zeros(model.nq)
    for name, value in state(tree).items():
        q[model.idx_qs[model.getJointId(name)]] = value
    M = np.triu(pin.crba(model, model.createData(), q))
    check_same(tree, state(tree), M + np.triu(M, 1).T, places)
    index = model.getJointId(next(iter(places)))
    assert model.lowerPositionLimit[model.idx_qs[index]] == -3.0
    assert model.effortLimit[model.idx_vs[index]] == 1.7976931348623157e308


@pytest.mark.filterwarnings("ignore::mbt.ModelWarning")
@pytest.mark.parametrize("seed", range(4))
def test_drake(seed: int) -> None:
    pytest.importorskip("pydrake")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    tree = make_tree(seed)
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(mbt.save_model(tree, format="urdf"), "urdf")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    places, q = {}, plant.GetPositions(context)
    for name, value in state(tree).items():
        joint = plant.GetJointByName(name)
        places[name] = joint.velocity_start()
        q[joint.position_start()] = value
    plant.SetPositions(context, q)
    assert plant.num_velocities() == tree.num_velocities
    check_same(tree, state(tree), plant.CalcMassMatrix(context), places)
    assert plant.num_actuators() == tree.num_actuators


EVERY_KIND = {
    "revolute": lambda: (mbt.RevoluteJoint, [0, 0.6, 0.8]),
    "prismatic": lambda: (mbt.PrismaticJoint, [0, 0.6, 0.8]),
    "screw": lambda: (mbt.ScrewJoint, [0, 0.6, 0.8], 0.3),
    "planar": lambda: (mbt.PlanarJoint, [0.1, 0.2, 0.3]),
    "universal": lambda: (mbt.UniversalJoint, 0.1),
    "ball": lambda: (mbt.BallRpyJoint, 0.1),
    "curvilinear": lambda: (
        mbt.CurvilinearJoint,
        mbt.PiecewiseConstantCurvatureTrajectory([0, 1, 3], [0.3, 0], [0, 0, 1], [1, 0, 0], [1, 2, 3]),
    ),
    "floating": lambda: (mbt.QuaternionFloatingJoint,),
}


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_drake_reads_every_kind(kind: str) -> None:
    """Same coordinates, same poses of bodies."""
    pytest.importorskip("pydrake")
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    joint_type, *arguments = EVERY_KIND[kind]()
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.2, 0.3)
    body = tree.add_body(mbt.RigidBody("body", inertia))
    X_PF = None if kind == "floating" else mbt.math.make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3])
    tree.add_joint(joint_type, "joint", tree.world_body, X_PF, body, None, *arguments)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(mbt.save_model(tree, format="urdf", strict=True), "urdf")
    plant.Finalize()
    q = np.linspace(0.3, 0.8, tree.num_positions)
    if kind == "floating":
        q[:4] /= np.linalg.norm(q[:4])
    context, other = tree.create_default_context(), plant.CreateDefaultContext()
    context.q = q
    plant.SetPositions(other, q)
    X_WB = plant.EvalBodyPoseInWorld(other, plant.GetBodyByName("body")).GetAsMatrix4()
    np.testing.assert_allclose(X_WB, tree.eval_position_kinematics(context).X_WB[1], atol=1e-12)
    np.testing.assert_allclose(plant.CalcMassMatrix(other), tree.calc_mass_matrix(context), atol=1e-12)
