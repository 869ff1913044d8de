"""Each joint type: its coordinates, defaults, limits and damping, and those of its mobilizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.math import make_pose, rpy_to_matrix

M = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.2, 0.3)
PATH = mbt.PiecewiseConstantCurvatureTrajectory([0, 1, 3], [0, 0.5], [1, 0, 0], [0, 0, 1])
STADIUM = mbt.PiecewiseConstantCurvatureTrajectory(
    np.cumsum([0, 1, np.pi, 1, np.pi]), [0, 1, 0, 1], [1, 0, 0], [0, 0, 1], is_periodic=True
)
Z = [0, 0, 1]

# Joint, arguments, mobilizer, its arguments, type name, suffixes, can rotate, can translate.
TYPES: dict[str, tuple[Any, tuple[Any, ...], Any, tuple[Any, ...], str, str, bool, bool]] = {
    "weld": (mbt.WeldJoint, (), mbt.WeldMobilizer, (), "", "", False, False),
    "revolute": (mbt.RevoluteJoint, (Z,), mbt.RevoluteMobilizer, (Z,), "q", "w", True, False),
    "prismatic": (mbt.PrismaticJoint, (Z,), mbt.PrismaticMobilizer, (Z,), "x", "v", False, True),
    "screw": (mbt.ScrewJoint, (Z, 0.5), mbt.ScrewMobilizer, (Z, 0.5), "q", "w", True, True),
    "universal": (mbt.UniversalJoint, (), mbt.UniversalMobilizer, (), "qx qy", "wx wy", True, False),
    "ball_rpy": (mbt.BallRpyJoint, (), mbt.RpyBallMobilizer, (), "qx qy qz", "wx wy wz", True, False),
    "planar": (mbt.PlanarJoint, (), mbt.PlanarMobilizer, (), "x y qz", "vx vy wz", True, True),
    "rpy_floating": (
        mbt.RpyFloatingJoint,
        (),
        mbt.RpyFloatingMobilizer,
        (),
        "qx qy qz x y z",
        "wx wy wz vx vy vz",
        True,
        True,
    ),
    "quaternion_floating": (
        mbt.QuaternionFloatingJoint,
        (),
        mbt.QuaternionFloatingMobilizer,
        (),
        "qw qx qy qz x y z",
        "wx wy wz vx vy vz",
        True,
        True,
    ),
    "quaternion_ball": (
        mbt.QuaternionBallJoint,
        (),
        mbt.QuaternionBallMobilizer,
        (),
        "qw qx qy qz",
        "wx wy wz",
        True,
        False,
    ),
    "cylindrical": (mbt.CylindricalJoint, (Z,), mbt.CylindricalMobilizer, (Z,), "q x", "w v", True, True),
    "curvilinear": (mbt.CurvilinearJoint, (PATH,), mbt.CurvilinearMobilizer, (PATH,), "q", "v", True, True),
}
every_type = pytest.mark.parametrize("name", TYPES)


def make(joint_type: Any, *args: Any, **kwargs: Any) -> tuple[Any, mbt.Context]:
    """A joint between World and a body, declared from World or, with `reverse`, to it; and a Context."""
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", M))
    ends = (tree.world_body, None, body, None)
    if kwargs.pop("reverse", False):
        ends = (body, None, tree.world_body, None)
    before = kwargs.pop("before", None)
    joint = tree.add_joint(joint_type, "joint", *ends, *args, **kwargs)
    if before is not None:
        before(joint)
    tree.finalize()
    return joint, tree.create_default_context()


@every_type
def test_what_a_type_is(name: str) -> None:
    joint_type, args, mobilizer_type, mobilizer_args, positions, velocities, rotates, moves = TYPES[name]
    joint, _ = make(joint_type, *args)
    assert joint.type_name == name
    assert type(joint.mobilizer) is mobilizer_type
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", M))
    alone = tree.add_mobilizer(mobilizer_type, tree.world_frame, body.body_frame, *mobilizer_args)
    tree.finalize()
    assert alone.joint is None
    for element in (joint, joint.mobilizer, alone):
        assert element.position_suffixes == tuple(positions.split())
        assert element.velocity_suffixes == tuple(velocities.split())
        assert element.num_positions == len(positions.split())
        assert element.num_velocities == len(velocities.split())
        assert (element.can_rotate, element.can_translate) == (rotates, moves)
    np.testing.assert_array_equal(
        joint.mobilizer.calc_across_mobilizer_transform(joint.parent_tree.create_default_context()),
        alone.calc_across_mobilizer_transform(tree.create_default_context()),
    )
    assert alone.has_six_dofs == (alone.num_velocities == 6)
    assert alone.has_quaternion_dofs == name.startswith("quaternion")


@every_type
def test_zero_and_default_configurations(name: str) -> None:
    joint_type, args, *_ = TYPES[name]
    joint, context = make(joint_type, *args)
    identity = np.eye(4)
    np.testing.assert_array_equal(joint.get_pose(context), identity)
    np.testing.assert_array_equal(joint.default_pose, identity)
    rng = np.random.default_rng(1)
    q = rng.uniform(0.1, 0.9, joint.num_positions)
    joint.set_positions(context, q).set_velocities(context, rng.normal(size=joint.num_velocities))
    joint.mobilizer.set_zero_state(context)
    np.testing.assert_array_equal(joint.get_pose(context), identity)
    assert not joint.get_velocities(context).any()

    joint, context = make(joint_type, *args, before=lambda j: j.set_default_positions(q), reverse=True)
    np.testing.assert_array_equal(joint.get_positions(context), q)
    np.testing.assert_allclose(joint.get_pose(context), joint.default_pose, atol=1e-15)
    q_FM, p_FM = joint.default_pose_pair
    np.testing.assert_allclose(make_pose(p_FM, quaternion=q_FM), joint.default_pose, atol=1e-15)


@every_type
@pytest.mark.parametrize("reverse", [False, True])
def test_topology(name: str, reverse: bool) -> None:
    joint_type, args, *_ = TYPES[name]
    joint, _ = make(joint_type, *args, reverse=reverse)
    topology = joint.mobilizer.topology
    assert joint.mobilizer.is_reversed == reverse
    assert (topology.index, topology.inboard_body, topology.outboard_body, topology.body_node) == (0, 0, 1, 1)
    assert (topology.inboard_frame, topology.outboard_frame) == (0, 1)
    assert (topology.num_positions, topology.positions_start) == (joint.num_positions, 0)
    assert (topology.num_velocities, topology.velocities_start) == (joint.num_velocities, 0)


@every_type
@pytest.mark.parametrize("reverse", [False, True])
def test_locks(name: str, reverse: bool) -> None:
    joint_type, args, *_ = TYPES[name]
    joint, context = make(joint_type, *args, reverse=reverse)
    body = joint.parent_tree.get_body_by_name("body")
    elements = (joint, joint.mobilizer, body)
    joint.set_velocities(context, np.ones(joint.num_velocities))
    for owner in elements:
        assert not any(e.is_locked(context) for e in elements)
        assert owner.lock(context) is owner
        assert all(e.is_locked(context) == (joint.num_velocities > 0) for e in elements)
        assert not joint.get_velocities(context).any()
        if joint.num_velocities:
            with pytest.raises(mbt.ArgumentValueError, match=r"joint 'joint' is locked.*unlock"):
                joint.set_velocities(context, np.ones(joint.num_velocities))
        tau = np.arange(1.0, 1.0 + joint.num_velocities)
        assert not joint.parent_tree.calc_forward_dynamics(context, tau).any()
        assert owner.unlock(context) is owner
        assert not joint.is_locked(context)
        assert joint.parent_tree.calc_forward_dynamics(context, tau).all()


def test_world_has_no_lock() -> None:
    joint, context = make(mbt.UniversalJoint)
    world = joint.parent_tree.world_body
    for call in (world.lock, world.unlock, world.is_locked):
        with pytest.raises(mbt.ArgumentValueError, match="no mobilizer moves body 'world'"):
            call(context)
    _, foreign = make(mbt.UniversalJoint)
    for call in (joint.lock, joint.unlock, joint.is_locked, joint.mobilizer.lock):
        with pytest.raises(mbt.ContextMismatchError):
            call(foreign)


# --- Constructors -----------------------------------------------------------------------------------------


@every_type
def test_errors_name_the_class(name: str) -> None:
    joint_type, args, mobilizer_type, mobilizer_args, *_ = TYPES[name]
    tree = mbt.MultibodyTree()
    F, B = tree.world_frame, tree.add_body(mbt.RigidBody("body", M)).body_frame
    calls: list[tuple[type, Callable[[], object]]] = [
        (joint_type, lambda: joint_type("j", F)),
        (joint_type, lambda: joint_type("j", F, B, *args, colour="red")),
        (mobilizer_type, lambda: mobilizer_type(F)),
        (mobilizer_type, lambda: mobilizer_type(F, B, *mobilizer_args, colour="red")),
    ]
    if args:
        calls += [
            (joint_type, lambda: joint_type("j", F, B)),
            (mobilizer_type, lambda: mobilizer_type(F, B)),
            (
                joint_type,
                lambda: tree.add_joint(joint_type, "j", tree.world_body, None, tree.bodies[1], None),
            ),
        ]
    for what, call in calls:
        with pytest.raises(mbt.ArgumentTypeError, match=rf"^{what.__name__}: expected {what.__name__}\("):
            call()


def test_bad_constants() -> None:
    tree = mbt.MultibodyTree()
    F, B = tree.world_frame, tree.add_body(mbt.RigidBody("body", M)).body_frame
    bad: list[tuple[Callable[[], object], type[Exception], str]] = [
        (
            lambda: mbt.ScrewJoint("j", F, B, Z, np.inf),
            mbt.ArgumentValueError,
            "joint 'j': screw_pitch: .*inf",
        ),
        (lambda: mbt.ScrewMobilizer(F, B, Z, np.nan), mbt.ArgumentValueError, "ScrewMobilizer: screw_pitch"),
        (lambda: mbt.ScrewMobilizer(F, B, [0, 0, 2], 1), mbt.ArgumentValueError, "axis_F: expected a unit"),
        (
            lambda: mbt.CylindricalJoint("j", F, B, [0, 0, 0]),
            mbt.ArgumentValueError,
            "axis: expected a nonzero",
        ),
        (lambda: mbt.CylindricalJoint("j", F, B, Z, 0.1), mbt.ShapeError, r"damping: expected shape \(2,\)"),
        (lambda: mbt.PlanarJoint("j", F, B, [1, 2]), mbt.ShapeError, r"damping: expected shape \(3,\)"),
        (lambda: mbt.UniversalJoint("j", F, B, -1), mbt.ArgumentValueError, "damping: expected numbers >= 0"),
        (lambda: mbt.RpyFloatingJoint("j", F, B, 0, -1), mbt.ArgumentValueError, "damping: expected numbers"),
        (lambda: mbt.CurvilinearJoint("j", F, B, [0, 1]), mbt.ArgumentTypeError, "expected a PiecewiseConst"),  # type: ignore[arg-type]
        (lambda: mbt.BallRpyJoint("j", F, F), mbt.TopologyError, "to itself"),
    ]
    for call, error, message in bad:
        with pytest.raises(error, match=message):
            call()


# --- Accessors --------------------------------------------------------------------------------------------


def test_screw() -> None:
    joint, context = make(mbt.ScrewJoint, [0, 0, 2], 0.5, damping=0.3)
    assert (joint.screw_axis.tolist(), joint.screw_pitch, joint.default_damping) == ([0, 0, 1], 0.5, 0.3)
    joint.set_translation(context, 0.25).set_translational_velocity(context, 1.0)
    assert joint.get_rotation(context) == pytest.approx(np.pi, rel=1e-15)
    assert joint.get_angular_velocity(context) == pytest.approx(4 * np.pi, rel=1e-15)
    joint.mobilizer.set_rotation(context, 4 * np.pi).set_angular_velocity(context, 2 * np.pi)
    assert joint.get_translation(context) == pytest.approx(1.0, rel=1e-15)
    assert joint.get_translational_velocity(context) == pytest.approx(0.5, rel=1e-15)
    np.testing.assert_allclose(joint.get_pose(context), make_pose([0, 0, 1]), atol=1e-15)
    assert joint.set_damping(context, 0.7).get_damping(context) == 0.7
    joint, context = make(
        mbt.ScrewJoint, Z, -0.5, before=lambda j: j.set_default_translation(0.5), reverse=True
    )
    assert joint.default_rotation == pytest.approx(-2 * np.pi)
    assert joint.default_translation == joint.get_translation(context) == pytest.approx(0.5)
    assert joint.mobilizer.screw_axis.tolist() == [0, 0, -1]
    assert joint.screw_axis.tolist() == [0, 0, 1]
    hinge, context = make(mbt.ScrewJoint, Z, 0.0)
    for call in (hinge.set_translation, hinge.set_translational_velocity):
        with pytest.raises(mbt.ArgumentValueError, match="the screw pitch is zero"):
            call(context, 1.0)


def test_universal() -> None:
    joint, context = make(mbt.UniversalJoint, 0.2)
    assert joint.set_angles(context, [0.1, 0.2]).set_angular_rates(context, [3, 4]) is joint
    assert joint.mobilizer.get_angles(context).tolist() == [0.1, 0.2]
    assert joint.get_angular_rates(context).tolist() == [3, 4]
    assert joint.default_damping_vector.tolist() == [0.2, 0.2]
    assert joint.set_damping(context, 0.5).get_damping_vector(context).tolist() == [0.5, 0.5]
    R = rpy_to_matrix([0.1, 0, 0]) @ rpy_to_matrix([0, 0.2, 0])
    np.testing.assert_allclose(joint.get_pose(context)[:3, :3], R, atol=1e-16)
    joint, context = make(mbt.UniversalJoint, before=lambda j: j.set_default_angles([1, 2]))
    assert joint.default_angles.tolist() == joint.get_angles(context).tolist() == [1, 2]


@pytest.mark.parametrize("joint_type", [mbt.BallRpyJoint, mbt.RpyFloatingJoint])
def test_roll_pitch_yaw(joint_type: Any) -> None:
    joint, context = make(joint_type)
    angles = [0.1, -0.2, 0.3]
    assert joint.set_angles(context, angles).set_angular_velocity(context, [1, 2, 3]) is joint
    assert joint.mobilizer.get_angles(context).tolist() == angles
    assert joint.get_angular_velocity(context).tolist() == [1, 2, 3]
    np.testing.assert_allclose(joint.get_pose(context)[:3, :3], rpy_to_matrix(angles), atol=1e-16)
    assert joint.get_spatial_velocity(context)[:3].tolist() == [1, 2, 3]
    R = rpy_to_matrix([-3, 1.5, 2])
    np.testing.assert_allclose(
        joint.set_orientation(context, R).get_angles(context), [-3, 1.5, 2], atol=1e-13
    )
    joint, context = make(joint_type, before=lambda j: j.set_default_angles(angles))
    assert joint.default_angles.tolist() == joint.get_angles(context).tolist() == angles


@pytest.mark.parametrize("joint_type", [mbt.QuaternionBallJoint, mbt.QuaternionFloatingJoint])
def test_quaternion(joint_type: Any) -> None:
    joint, context = make(joint_type)
    assert joint.set_quaternion(context, [2, 0, 0, 2]).get_quaternion(context).tolist() == [2, 0, 0, 2]
    assert joint.mobilizer.set_angular_velocity(context, [1, 2, 3]) is joint.mobilizer
    assert joint.get_angular_velocity(context).tolist() == [1, 2, 3]
    R = rpy_to_matrix([0, 0, np.pi / 2])
    np.testing.assert_allclose(joint.get_pose(context)[:3, :3], R, atol=1e-15)
    quaternion = joint.set_orientation(context, R).get_quaternion(context)
    np.testing.assert_allclose(quaternion, [np.sqrt(0.5), 0, 0, np.sqrt(0.5)], rtol=1e-15)
    joint, context = make(joint_type, before=lambda j: j.set_default_quaternion([0, 3, 0, 0]))
    assert joint.default_quaternion.tolist() == joint.get_quaternion(context).tolist() == [0, 3, 0, 0]
    with pytest.raises(mbt.ArgumentValueError, match="a quaternion that is not zero"):
        make(joint_type, before=lambda j: j.set_default_quaternion([0, 0, 0, 0]))
    with pytest.raises(mbt.SingularityError, match="quaternion of joint 'joint'"):
        joint.set_quaternion(context, np.zeros(4))


@pytest.mark.parametrize("joint_type", [mbt.RpyFloatingJoint, mbt.QuaternionFloatingJoint])
@pytest.mark.parametrize("reverse", [False, True])
def test_free_motion(joint_type: Any, reverse: bool) -> None:
    X = make_pose([1, 2, 3], rpy=[0.1, -0.2, 0.3])
    q_FM, p_FM = mbt.math.matrix_to_quaternion(X[:3, :3]), X[:3, 3]
    joint, context = make(joint_type, 0.1, 0.2, reverse=reverse)
    assert (joint.default_angular_damping, joint.default_translational_damping) == (0.1, 0.2)
    for call in (
        lambda: joint.set_pose(context, X),
        lambda: joint.mobilizer.set_pose(context, X),
        lambda: joint.set_pose_pair(context, 2 * q_FM, p_FM),
        lambda: joint.set_orientation(context, X[:3, :3]).set_translation(context, p_FM),
    ):
        joint.mobilizer.set_zero_configuration(context)
        call()
        np.testing.assert_allclose(joint.get_pose(context), X, atol=1e-15)
    assert joint.get_translation(context).tolist() == [1, 2, 3]
    V = [1, 2, 3, 4, 5, 6]
    assert joint.set_spatial_velocity(context, V).get_velocities(context).tolist() == V
    np.testing.assert_allclose(joint.get_spatial_velocity(context), V, rtol=1e-14)
    joint.set_translational_velocity(context, [7, 8, 9])
    assert joint.mobilizer.get_translational_velocity(context).tolist() == [7, 8, 9]
    for before in (
        lambda j: j.set_default_pose(X),
        lambda j: j.set_default_pose_pair(q_FM, p_FM),
    ):
        joint, context = make(joint_type, before=before, reverse=reverse)
        np.testing.assert_allclose(joint.default_pose, X, atol=1e-15)
        np.testing.assert_allclose(joint.get_pose(context), X, atol=1e-15)
    joint, _ = make(joint_type, before=lambda j: j.set_default_translation([3, 2, 1]))
    assert joint.default_translation.tolist() == [3, 2, 1]


def test_planar() -> None:
    joint, context = make(mbt.PlanarJoint, [0.1, 0.2, 0.3])
    assert joint.set_pose(context, [1, 2], 0.5).set_translational_velocity(context, [3, 4]) is joint
    joint.mobilizer.set_angular_velocity(context, 5)
    assert joint.get_translation(context).tolist() == [1, 2]
    assert (joint.get_rotation(context), joint.get_angular_velocity(context)) == (0.5, 5.0)
    assert joint.mobilizer.get_translational_velocity(context).tolist() == [3, 4]
    np.testing.assert_allclose(joint.get_pose(context), make_pose([1, 2, 0], rpy=[0, 0, 0.5]), atol=1e-16)
    assert joint.set_rotation(context, 0.1).set_translation(context, [7, 8]).get_positions(
        context
    ).tolist() == [
        7,
        8,
        0.1,
    ]
    joint, context = make(mbt.PlanarJoint, before=lambda j: j.set_default_pose([1, 2], 3))
    assert (joint.default_translation.tolist(), joint.default_rotation) == ([1, 2], 3.0)
    joint, context = make(
        mbt.PlanarJoint, before=lambda j: j.set_default_rotation(0.5).set_default_translation([4, 5])
    )
    assert joint.get_positions(context).tolist() == [4, 5, 0.5]


def test_cylindrical() -> None:
    joint, context = make(mbt.CylindricalJoint, [0, 0, 3], [0.1, 0.2], reverse=True)
    joint.set_angle(context, 0.5).set_translation(context, 0.25)
    joint.mobilizer.set_angular_rate(context, 1.5).set_translation_rate(context, 2.5)
    assert (joint.get_angle(context), joint.get_translation(context)) == (0.5, 0.25)
    assert (joint.get_angular_rate(context), joint.get_translation_rate(context)) == (1.5, 2.5)
    assert (joint.axis.tolist(), joint.mobilizer.axis.tolist()) == ([0, 0, 1], [0, 0, -1])
    assert joint.get_damping_vector(context).tolist() == [0.1, 0.2]
    np.testing.assert_allclose(joint.get_pose(context), make_pose([0, 0, 0.25], rpy=[0, 0, 0.5]), atol=1e-15)
    joint, context = make(
        mbt.CylindricalJoint, Z, before=lambda j: j.set_default_angle(1).set_default_translation(2)
    )
    assert (joint.default_angle, joint.default_translation) == (1.0, 2.0)
    assert joint.get_positions(context).tolist() == [1, 2]


def test_curvilinear() -> None:
    joint, context = make(mbt.CurvilinearJoint, PATH, 0.4)
    assert joint.set_distance(context, 1.5).set_tangential_velocity(context, 2.0) is joint
    assert (joint.mobilizer.get_distance(context), joint.get_tangential_velocity(context)) == (1.5, 2.0)
    assert joint.curvilinear_path is joint.mobilizer.curvilinear_path is PATH
    assert (joint.position_lower_limit, joint.position_upper_limit, joint.default_damping) == (0.0, 3.0, 0.4)
    joint, context = make(mbt.CurvilinearJoint, STADIUM, before=lambda j: j.set_default_distance(2))
    assert (joint.position_lower_limit, joint.position_upper_limit) == (-np.inf, np.inf)
    assert joint.default_distance == joint.get_distance(context) == 2.0


def test_limits_of_one_dof() -> None:
    joint, _ = make(
        mbt.ScrewJoint,
        Z,
        0.1,
        before=lambda j: (
            j.set_position_limits([-1], [2]).set_velocity_limits([-3], [4]).set_acceleration_limits([-5], [6])
        ),
    )
    assert (joint.position_lower_limit, joint.position_upper_limit) == (-1, 2)
    assert (joint.velocity_lower_limit, joint.velocity_upper_limit) == (-3, 4)
    assert (joint.acceleration_lower_limit, joint.acceleration_upper_limit) == (-5, 6)


# --- Mobilizer level: arguments ---------------------------------------------------------------------------

# Method, its argument, and the sizes of argument and result.
CALLS: dict[str, tuple[str, Callable[[Any], int], Callable[[Any], int] | None]] = {
    "calc_across_mobilizer_spatial_velocity": ("v", lambda m: m.num_velocities, None),
    "calc_across_mobilizer_spatial_acceleration": ("vdot", lambda m: m.num_velocities, None),
    "project_spatial_force": ("F_Mo_F", lambda m: 6, lambda m: m.num_velocities),
    "map_velocity_to_qdot": ("v", lambda m: m.num_velocities, lambda m: m.num_positions),
    "map_qdot_to_velocity": ("qdot", lambda m: m.num_positions, lambda m: m.num_velocities),
    "map_acceleration_to_qddot": ("vdot", lambda m: m.num_velocities, lambda m: m.num_positions),
    "map_qddot_to_acceleration": ("qddot", lambda m: m.num_positions, lambda m: m.num_velocities),
}
NO_ARGUMENT = (
    "calc_across_mobilizer_transform",
    "calc_hinge_matrix",
    "calc_n_matrix",
    "calc_nplus_matrix",
    "calc_n_dot_matrix",
    "calc_nplus_dot_matrix",
)


@every_type
@pytest.mark.parametrize("method", CALLS)
def test_arguments(name: str, method: str) -> None:
    joint_type, args, *_ = TYPES[name]
    joint, context = make(joint_type, *args)
    mobilizer = joint.mobilizer
    call = getattr(mobilizer, method)
    argument, size, out_size = CALLS[method]
    x = np.linspace(0.2, 0.9, size(mobilizer))
    result = call(context, x.tolist())
    with pytest.raises(mbt.ShapeError, match=rf"{argument}: expected shape \({size(mobilizer)},\)"):
        call(context, np.ones(size(mobilizer) + 1))
    with pytest.raises(mbt.ArgumentTypeError, match=argument):
        call(context, "fast")
    if out_size is not None:
        out = np.full(out_size(mobilizer), 7.0)
        with pytest.raises(mbt.MbtError):
            call(context, np.ones(size(mobilizer) + 1), out=out)
        assert (out == 7.0).all()
        assert call(context, x, out=out) is out
        np.testing.assert_array_equal(out, result)
        with pytest.raises(mbt.ShapeError, match="out: expected shape"):
            call(context, x, out=np.zeros(9))
        if size(mobilizer) == out_size(mobilizer):
            np.testing.assert_array_equal(call(context, x, out=x), result)


@pytest.mark.parametrize("method", [*CALLS, *NO_ARGUMENT])
def test_contexts(method: str) -> None:
    joint, _ = make(mbt.PlanarJoint)
    _, foreign = make(mbt.PlanarJoint)
    args = () if method in NO_ARGUMENT else (np.ones(CALLS[method][1](joint.mobilizer)),)
    call = getattr(joint.mobilizer, method)
    with pytest.raises(mbt.ContextMismatchError, match="got one of another tree"):
        call(foreign, *args)
    with pytest.raises(mbt.ArgumentTypeError, match="expected a Context"):
        call(None, *args)
    unowned = mbt.PlanarMobilizer(mbt.MultibodyTree().world_frame, joint.child_body.body_frame)
    with pytest.raises(mbt.MbtError):
        getattr(unowned, method)(foreign, *args)


@pytest.mark.parametrize("joint_type", [mbt.BallRpyJoint, mbt.RpyFloatingJoint])
@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, np.pi / 2 + 5e-4, 2.5 * np.pi])
def test_gimbal_lock(joint_type: Any, pitch: float) -> None:
    """Maps from v are refused; poses, velocities, N+ and dynamics work."""
    joint, context = make(joint_type)
    tree, mobilizer, nv, nq = joint.parent_tree, joint.mobilizer, joint.num_velocities, joint.num_positions
    joint.set_angles(context, [0.1, pitch, 0.2]).set_angular_velocity(context, [1, 2, 3])
    for call in (
        lambda: mobilizer.map_velocity_to_qdot(context, np.ones(nv)),
        lambda: mobilizer.map_acceleration_to_qddot(context, np.ones(nv)),
        lambda: mobilizer.map_qddot_to_acceleration(context, np.ones(nq)),
        lambda: mobilizer.calc_n_matrix(context),
        lambda: mobilizer.calc_n_dot_matrix(context),
        lambda: mobilizer.calc_nplus_dot_matrix(context),
        lambda: tree.map_velocity_to_qdot(context, np.ones(nv)),
        lambda: tree.map_acceleration_to_qddot(context, np.ones(nv)),
        lambda: tree.map_qddot_to_acceleration(context, np.ones(nq)),
        lambda: tree.make_velocity_to_qdot_map(context),
    ):
        with pytest.raises(mbt.SingularityError, match=r"joint 'joint' is at gimbal lock, its pitch q\[1\]"):
            call()
    assert np.isfinite(mobilizer.map_qdot_to_velocity(context, np.ones(nq))).all()
    np.testing.assert_array_equal(
        mobilizer.map_qdot_to_velocity(context, np.ones(nq)), tree.map_qdot_to_velocity(context, np.ones(nq))
    )
    assert np.isfinite(mobilizer.calc_nplus_matrix(context)).all()
    np.testing.assert_allclose(joint.get_pose(context)[:3, :3], rpy_to_matrix([0.1, pitch, 0.2]), atol=1e-15)
    tau = np.ones(nv)
    vdot = tree.calc_forward_dynamics(context, tau)
    np.testing.assert_allclose(tree.calc_inverse_dynamics(context, vdot), tau, rtol=1e-12)
    joint.set_angles(context, [0.1, np.pi / 2 + 2e-3, 0.2])
    assert np.isfinite(tree.map_velocity_to_qdot(context, np.ones(nv))).all()
