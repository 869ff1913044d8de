"""Elements read from a Context and write into it, in arrays with derivatives and in symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp  # type: ignore[import-untyped]

import mbt
from mbt.autodiff import AutoDiffArray, initialize
from support.declaring_elements import Spring, Telescope
from support.force_element_types import make_everything
from support.joint_types import random_state

TREE = make_everything()
AD = TREE.to_autodiff()
SYM = TREE.to_symbolic()
X = sp.Symbol("x")


def joint_of(tree: mbt.MultibodyTree, cls: type) -> Any:
    return next(joint for joint in tree.joints if type(joint) is cls)


# Class of joint -> pairs of getter and setter, with the shape of their values.
COORDINATES: dict[type, list[tuple[str, str, tuple[int, ...]]]] = {
    mbt.RevoluteJoint: [("get_angle", "set_angle", ()), ("get_angular_rate", "set_angular_rate", ())],
    mbt.PrismaticJoint: [("get_translation", "set_translation", ())],
    mbt.ScrewJoint: [
        ("get_rotation", "set_rotation", ()),
        ("get_translation", "set_translation", ()),
        ("get_translational_velocity", "set_translational_velocity", ()),
    ],
    mbt.UniversalJoint: [
        ("get_angles", "set_angles", (2,)),
        ("get_angular_rates", "set_angular_rates", (2,)),
    ],
    mbt.BallRpyJoint: [
        ("get_angles", "set_angles", (3,)),
        ("get_angular_velocity", "set_angular_velocity", (3,)),
    ],
    mbt.QuaternionBallJoint: [("get_quaternion", "set_quaternion", (4,))],
    mbt.PlanarJoint: [
        ("get_translation", "set_translation", (2,)),
        ("get_rotation", "set_rotation", ()),
        ("get_angular_velocity", "set_angular_velocity", ()),
    ],
    mbt.CylindricalJoint: [
        ("get_angle", "set_angle", ()),
        ("get_translation", "set_translation", ()),
        ("get_translation_rate", "set_translation_rate", ()),
    ],
    mbt.CurvilinearJoint: [("get_distance", "set_distance", ())],
    mbt.RpyFloatingJoint: [("get_translation", "set_translation", (3,)), ("get_angles", "set_angles", (3,))],
    mbt.QuaternionFloatingJoint: [
        ("get_translation", "set_translation", (3,)),
        ("get_quaternion", "set_quaternion", (4,)),
    ],
}
CASES = [(cls, *case) for cls, cases in COORDINATES.items() for case in cases]


@pytest.mark.parametrize(("cls", "getter", "setter", "shape"), CASES)
def test_coordinates_of_joints(cls: type, getter: str, setter: str, shape: tuple[int, ...]) -> None:
    value = np.linspace(0.2, 0.7, 4)[: shape[0] if shape else 1].reshape(shape)
    context = AD.create_default_context()
    joint = joint_of(AD, cls)
    getattr(joint, setter)(context, initialize(value))
    got = getattr(joint, getter)(context)
    assert isinstance(got, AutoDiffArray)
    np.testing.assert_allclose(got.value, value, rtol=1e-14)
    np.testing.assert_allclose(got.derivatives, np.eye(value.size).reshape(*shape, -1), rtol=1e-14, atol=0)
    context = SYM.create_default_context()
    joint = joint_of(SYM, cls)
    symbols = np.array([sp.Symbol(f"s{i}") for i in range(value.size)], dtype=object).reshape(shape)
    getattr(joint, setter)(context, symbols if shape else symbols.item())
    difference = np.asarray(getattr(joint, getter)(context), dtype=object) - symbols
    assert all(abs(sp.N(entry.coeff(s))) < 1e-14 for entry in np.ravel(difference) for s in np.ravel(symbols))
    # A tree of doubles accepts neither.
    double = TREE.create_default_context()
    for foreign in (initialize(value), symbols if shape else symbols.item()):
        with pytest.raises(mbt.ArgumentTypeError):
            getattr(joint_of(TREE, cls), setter)(double, foreign)


@pytest.mark.parametrize("cls", list(COORDINATES))
def test_poses_of_joints(cls: type) -> None:
    """The joint's own getters agree with the poses of frames."""
    state = random_state(TREE, np.random.default_rng(2))
    context = AD.create_default_context()
    context.q, context.v = initialize(state.q, state.v)
    for joint in (joint for joint in AD.joints if type(joint) is cls):
        own = TREE.get_variant(joint)
        X_FM = joint.get_pose(context)
        np.testing.assert_allclose(X_FM.value, own.get_pose(state), atol=1e-12)
        relative = joint.frame_on_child.calc_pose(context, joint.frame_on_parent)
        np.testing.assert_allclose(X_FM.derivatives, relative.derivatives, atol=1e-11)
        V_FM = joint.get_spatial_velocity(context)
        np.testing.assert_allclose(V_FM.value, own.get_spatial_velocity(state), atol=1e-12)
        F = joint.frame_on_parent
        V = joint.frame_on_child.calc_spatial_velocity(context, F, F)
        np.testing.assert_allclose(V_FM.derivatives, V.derivatives, atol=1e-10)
        quaternion, _ = joint.get_pose_pair(context)
        wanted = own.get_pose_pair(state)[0]
        sign = np.sign(quaternion.value @ wanted)
        np.testing.assert_allclose(sign * quaternion.value, wanted, atol=1e-12)


@pytest.mark.parametrize("cls", [mbt.QuaternionFloatingJoint, mbt.RpyFloatingJoint])
def test_poses_are_set(cls: type) -> None:
    rng = np.random.default_rng(0)
    joint, context = joint_of(AD, cls), AD.create_default_context()
    X_FM = AutoDiffArray(mbt.math.make_pose([1, 2, 3], rpy=[0.3, -0.4, 0.5]), rng.normal(size=(4, 4, 2)))
    w = rng.normal(size=(2, 3))
    for i in range(2):
        X_FM.derivatives[:3, :3, i] = X_FM.value[:3, :3] @ np.cross(np.eye(3), -w[i])
        X_FM.derivatives[3, :, i] = 0.0
    got = joint.set_pose(context, X_FM).get_pose(context)
    np.testing.assert_allclose(got.value, X_FM.value, atol=1e-14)
    np.testing.assert_allclose(got.derivatives, X_FM.derivatives, atol=1e-13)


def pairs(tree: mbt.MultibodyTree) -> list[tuple[Any, str, str, Any]]:
    """Element, getter and setter of a parameter, and a value for it."""
    found: list[tuple[Any, str, str, Any]] = [(tree.bodies[1], "get_mass", "set_mass", 2.5)]
    for element in (*tree.joints, *tree.force_elements):
        for setter in (
            name for name in dir(type(element)) if name.startswith("set_") and "default" not in name
        ):
            getter = "get_" + setter[4:]
            if not hasattr(element, getter) or setter in ("set_positions", "set_velocities", "set_config"):
                continue
            if isinstance(element, mbt.Joint) and "damping" not in setter:
                continue
            value = getattr(element, getter)(tree.create_default_context())
            found.append((element, getter, setter, np.asarray(value, dtype=float) + 0.5))
    frame = next(frame for frame in tree.frames if isinstance(frame, mbt.FixedOffsetFrame))
    found.append(
        (frame, "get_pose_in_parent_frame", "set_pose_in_parent_frame", mbt.math.make_pose([1, 2, 3]))
    )
    return found


@pytest.mark.parametrize("case", pairs(TREE), ids=lambda case: f"{case[0]._label}.{case[2]}")
def test_parameters(case: tuple[Any, str, str, Any]) -> None:
    original, getter, setter, value = case
    value = np.asarray(value, dtype=float)
    element, context = AD.get_variant(original), AD.create_default_context()
    variable = initialize(value)
    getattr(element, setter)(context, variable)
    got = getattr(element, getter)(context)
    assert isinstance(got, AutoDiffArray)
    np.testing.assert_array_equal(got.value, value)
    np.testing.assert_array_equal(got.derivatives, variable.derivatives)
    with pytest.raises(mbt.ArgumentTypeError):
        getattr(original, setter)(TREE.create_default_context(), variable)
    element, context = SYM.get_variant(original), SYM.create_default_context()
    getattr(element, setter)(context, value + X if value.ndim else float(value) + X)
    entries = np.ravel(np.asarray(getattr(element, getter)(context), dtype=object))
    assert all(X in sp.sympify(entry).free_symbols for entry in entries)


def test_impossible_values_are_refused() -> None:
    context = AD.create_default_context()
    for mass in (initialize(-1.0), initialize(np.nan), initialize([1.0])):
        with pytest.raises((mbt.ArgumentValueError, mbt.ShapeError)):
            AD.bodies[1].set_mass(context, mass)
    joint = joint_of(AD, mbt.QuaternionBallJoint)
    with pytest.raises(mbt.SingularityError):
        joint.set_quaternion(context, initialize(np.zeros(4)))
    with pytest.raises(mbt.ShapeError):
        context.q = initialize([0.0])
    context.q = initialize(context.q.value)
    context.v = initialize(np.ones(AD.num_velocities))
    with pytest.raises(mbt.ShapeError, match="derivatives"):
        AD.calc_bias_term(context)
    context.v = np.zeros(AD.num_velocities)
    assert AD.calc_bias_term(context).num_derivatives == AD.num_positions


@pytest.mark.parametrize("tree", [AD, SYM], ids=["autodiff", "sympy"])
def test_no_argument_is_refused(tree: mbt.MultibodyTree) -> None:
    context = tree.create_default_context()
    with pytest.raises(mbt.ArgumentTypeError, match="known_vdot"):
        tree.calc_inverse_dynamics(context, None)  # type: ignore[arg-type]


def test_singularities_are_refused() -> None:
    context = AD.create_default_context()
    joint = joint_of(AD, mbt.BallRpyJoint)
    joint.set_angles(context, [0.1, np.pi / 2, 0.2])
    with pytest.raises(mbt.SingularityError, match="gimbal"):
        AD.map_velocity_to_qdot(context, context.v)
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, body, None, axis=[1, 0, 0])
    tree.finalize()
    ad = tree.to_autodiff()
    with pytest.raises(mbt.SingularityError, match="slide"):
        ad.calc_forward_dynamics(ad.create_default_context())


def test_elements_of_users() -> None:
    """Force elements and frames with declared parameters, discrete state and cache entries."""
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.3)))
    joint = tree.add_joint(mbt.RevoluteJoint, "joint", tree.world_body, None, body, None, axis=[0, 0, 1])
    spring = tree.add_force_element(Spring(joint))
    telescope = tree.add_frame(Telescope("telescope", body))
    tree.finalize()
    ad = tree.to_autodiff()
    spring_ad, telescope_ad = ad.get_variant(spring), ad.get_variant(telescope)
    context = ad.create_default_context()
    q, stiffness, place, setpoint = initialize([0.7], [3.0, 0.5], [0.5, 0.3], [0.25])
    context.q = q
    context.set_numeric_parameter(spring_ad.stiffness, stiffness)
    context.set_discrete_state(spring_ad.setpoint, setpoint)
    tau = ad.calc_force_elements_contribution(context, mbt.MultibodyForces(ad)).generalized_forces[0]
    # -k (q - offset - setpoint)
    np.testing.assert_allclose(tau.value, -3.0 * (0.7 - 0.5 - 0.25))
    np.testing.assert_allclose(tau.derivatives, [-3.0, 0.05, 3.0, 0.0, 0.0, 3.0], atol=1e-14)
    context.set_numeric_parameter(telescope_ad.place, place)
    p = telescope_ad.calc_pose_in_world(context)[:3, 3]
    np.testing.assert_allclose(p.value, [0.5 * np.cos(0.7), 0.5 * np.sin(0.7), 0.0])
    np.testing.assert_allclose(p.derivatives[:, 0], [-0.5 * np.sin(0.7), 0.5 * np.cos(0.7), 0.0])
    np.testing.assert_allclose(p.derivatives[:, 3], [np.cos(0.7), np.sin(0.7), 0.0])


def test_second_seeds_do_not_see_the_first() -> None:
    context = AD.create_default_context()
    q = TREE.create_default_context().q
    context.q = initialize(q)
    first = AD.calc_mass_matrix(context)
    context.q = AutoDiffArray(q, np.ones((q.size, 2)))
    second = AD.calc_mass_matrix(context)
    np.testing.assert_allclose(second.derivatives[..., 0], first.derivatives.sum(-1), atol=1e-12)
    context.q = q
    assert AD.calc_mass_matrix(context).num_derivatives == 0
    wanted = TREE.calc_mass_matrix(TREE.create_default_context())
    np.testing.assert_allclose(AD.calc_mass_matrix(context).value, wanted, atol=1e-11)


def test_energy_report() -> None:
    context = AD.create_default_context()
    state = random_state(TREE, np.random.default_rng(1))
    context.q, context.v = initialize(state.q, state.v)
    report = AD.calc_energy_report(context)
    assert "body" in str(report)
    wanted = AD.calc_kinetic_energy(context)
    np.testing.assert_allclose(report.kinetic_energy.derivatives, wanted.derivatives, atol=1e-10)
    assert abs(report.balance.value) < 1e-8
    np.testing.assert_allclose(report.balance.derivatives, 0.0, atol=1e-5)


def test_inertial_parameters_are_seeded() -> None:
    """Regressors are the derivatives with respect to the parameters that they multiply."""
    state = random_state(TREE, np.random.default_rng(3))
    context = AD.create_default_context()
    context.q, context.v = state.q, state.v
    pi = initialize(TREE.get_inertial_parameters())
    AD.set_inertial_parameters(context, pi)
    got = AD.get_inertial_parameters(context)
    np.testing.assert_allclose(got.derivatives, np.eye(pi.size), atol=1e-11)
    vdot = np.linspace(-1.0, 1.0, AD.num_velocities)
    tau = AD.calc_inverse_dynamics(context, vdot) - AD.calc_gravity_generalized_forces(context)
    Y = TREE.calc_inverse_dynamics_regressor(state, vdot)
    np.testing.assert_allclose(tau.derivatives, Y, atol=1e-9 * np.abs(Y).max())
    with pytest.raises(mbt.InvalidInertiaError):
        AD.set_inertial_parameters(context, -pi)


def test_base_parameters_are_those_of_doubles() -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.3)))
    tree.add_joint(mbt.RevoluteJoint, "joint", tree.world_body, None, body, None, axis=[0, 0, 1])
    tree.finalize()
    ad, sym = tree.to_autodiff(), tree.to_symbolic()
    assert str(ad.calc_base_parameters(ad.create_default_context())) == str(tree.calc_base_parameters())
    with pytest.raises(mbt.ArgumentTypeError, match="rank"):
        sym.calc_base_parameters(sym.create_default_context())
