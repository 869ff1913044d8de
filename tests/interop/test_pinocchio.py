"""Models of Pinocchio as trees, against Pinocchio."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt

pin = pytest.importorskip("pinocchio", reason="needs the `oracle` extra")

pytestmark = pytest.mark.oracle

TOLERANCE = 1e-10
TILTED = np.array([0.6, -0.48, 0.64])


def unbounded(axis: np.ndarray) -> Any:
    """Return such a joint, made from URDF: Pinocchio's Python API takes no axis for this type."""
    text = (
        '<robot name="r"><link name="w"/><link name="l"/><joint name="j" type="continuous"><parent link="w"/>'
        f'<child link="l"/><axis xyz="{" ".join(map(str, axis))}"/></joint></robot>'
    )
    return pin.buildModelFromXML(text).joints[1]


def composite() -> Any:
    joint = pin.JointModelComposite(pin.JointModelRX(), pin.SE3.Random())
    for part in (pin.JointModelPY(), pin.JointModelRUBZ(), pin.JointModelSpherical()):
        joint.addJoint(part, pin.SE3.Random())
    return joint


JOINTS: dict[str, Callable[[], Any]] = {
    "RX": pin.JointModelRX,
    "RY": pin.JointModelRY,
    "RZ": pin.JointModelRZ,
    "RevoluteUnaligned": lambda: pin.JointModelRevoluteUnaligned(TILTED),
    "RUBX": pin.JointModelRUBX,
    "RUBY": pin.JointModelRUBY,
    "RUBZ": pin.JointModelRUBZ,
    "RevoluteUnboundedUnaligned": lambda: unbounded(TILTED),
    "PX": pin.JointModelPX,
    "PY": pin.JointModelPY,
    "PZ": pin.JointModelPZ,
    "PrismaticUnaligned": lambda: pin.JointModelPrismaticUnaligned(TILTED),
    "HX": lambda: pin.JointModelHX(0.3),
    "HY": lambda: pin.JointModelHY(-0.2),
    "HZ": lambda: pin.JointModelHZ(0.1),
    "HelicalUnaligned": lambda: pin.JointModelHelicalUnaligned(TILTED, 0.3),
    "FreeFlyer": pin.JointModelFreeFlyer,
    "Spherical": pin.JointModelSpherical,
    "SphericalZYX": pin.JointModelSphericalZYX,
    "Planar": pin.JointModelPlanar,
    "Translation": pin.JointModelTranslation,
    "Universal": lambda: pin.JointModelUniversal(TILTED, np.array([0.8, 0.0, -0.6])),
    "Composite": composite,
}


def add_joint(model: Any, parent: int, joint: Any, name: str) -> int:
    i: int = model.addJoint(parent, joint, pin.SE3.Random(), name)
    model.appendBodyToJoint(i, pin.Inertia.Random(), pin.SE3.Identity())
    return i


def chain(*names: str, seed: int = 1) -> Any:
    """Return a chain of one joint of each type and a last one, with named frames."""
    pin.seed(seed)
    model = pin.Model()
    parent = 0
    for k, name in enumerate((*names, "RY")):
        parent = add_joint(model, parent, JOINTS[name](), f"j{k}")
        if k % 2 == 0:
            model.addBodyFrame(f"body{k}", parent, pin.SE3.Identity(), 0)
    model.addFrame(pin.Frame("tip", parent, 0, pin.SE3.Random(), pin.FrameType.OP_FRAME))
    model.addFrame(pin.Frame("wall", 0, 0, pin.SE3.Random(), pin.FrameType.OP_FRAME))
    return model


def assert_close(mine: Any, wanted: Any) -> None:
    mine, wanted = np.asarray(mine), np.asarray(wanted)
    assert mine.shape == wanted.shape
    assert np.abs(mine - wanted).max() <= TOLERANCE * (1.0 + np.abs(wanted).max())


def random_state(model: Any, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    q = pin.integrate(model, pin.neutral(model), rng.normal(size=model.nv))
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)


def mass_matrix(model: Any, data: Any, q: Any) -> Any:
    """From inverse dynamics: Pinocchio's `crba` is right only for joints in depth-first order."""
    rest = np.zeros(model.nv)
    gravity = pin.rnea(model, data, q, rest, rest)
    M = np.array([pin.rnea(model, data, q, rest, unit) - gravity for unit in np.eye(model.nv)])
    return M.T


def assert_same_dynamics(tree: mbt.MultibodyTree, model: Any, *, depth_first: bool = True) -> None:
    rng, data = np.random.default_rng(7), model.createData()
    coordinates = mbt.interop.PinocchioCoordinates(tree, model)
    for _ in range(2):
        q, v, a = random_state(model, rng)
        context = tree.create_default_context()
        context.q, context.v = coordinates.q_from_pinocchio(q), coordinates.v_from_pinocchio(q, v)
        T = coordinates.v_from_pinocchio(np.tile(q, (model.nv, 1)), np.eye(model.nv)).T
        M = T.T @ tree.calc_mass_matrix(context) @ T
        assert_close(M, mass_matrix(model, data, q))
        if depth_first:
            assert_close(np.triu(M), np.triu(pin.crba(model, data, q)))
        gravity = coordinates.tau_to_pinocchio(context.q, -tree.calc_gravity_generalized_forces(context))
        assert_close(gravity, pin.computeGeneralizedGravity(model, data, q))
        # With an acceleration, this also checks the maps of accelerations.
        vdot = coordinates.vdot_from_pinocchio(q, v, a)
        tau = tree.calc_inverse_dynamics(context, vdot)
        tau -= tree.calc_gravity_generalized_forces(context)
        assert_close(coordinates.tau_to_pinocchio(context.q, tau), pin.rnea(model, data, q, v, a))
        # Convert there and back.
        assert_close(coordinates.q_to_pinocchio(context.q), q)
        assert_close(coordinates.v_to_pinocchio(context.q, context.v), v)
        assert_close(coordinates.vdot_to_pinocchio(context.q, context.v, vdot), a)
        pin.framesForwardKinematics(model, data, q)
        for i in range(1, model.njoints):
            name = next(
                (
                    frame.name
                    for frame in model.frames
                    if frame.parentJoint == i and frame.type == pin.FrameType.BODY
                ),
                model.names[i],
            )
            body = tree.get_body_by_name(name)
            assert_close(body.eval_pose_in_world(context), data.oMi[i].homogeneous)
        for k, frame in enumerate(model.frames):
            if frame.type == pin.FrameType.OP_FRAME:
                own = tree.get_frame_by_name(frame.name)
                X_WF = own.body.eval_pose_in_world(context) @ own.eval_pose_in_body_frame(context)
                assert_close(X_WF, data.oMf[k].homogeneous)


@pytest.mark.parametrize("name", JOINTS)
def test_same_dynamics_of_each_joint(name: str) -> None:
    model = chain(name)
    assert_same_dynamics(mbt.interop.from_pinocchio(model), model)
    model = chain("RZ", name, seed=2)
    assert_same_dynamics(mbt.interop.from_pinocchio(model), model)


def test_same_dynamics_of_all_joints() -> None:
    model = chain(*JOINTS)
    # Branches, added after joints that come later in depth-first order.
    pin.seed(3)
    for parent in (3, 1, 10):
        add_joint(model, parent, pin.JointModelRX(), f"branch{parent}")
    assert_same_dynamics(mbt.interop.from_pinocchio(model), model, depth_first=False)


def mimicking() -> Any:
    model = chain("RX", "PY", "RUBZ")
    for k, (master, scaling) in enumerate(((1, -2.0), (2, 0.5), (1, 3.0))):
        joint = pin.JointModelMimic(model.joints[master], scaling, 0.3)
        add_joint(model, model.njoints - 1, joint, f"mimic{k}")
    return model


def test_joints_that_mimic() -> None:
    model = mimicking()
    tree = mbt.interop.from_pinocchio(model)
    assert_same_dynamics(tree, model)
    coordinates = mbt.interop.PinocchioCoordinates(tree, model)
    couplers = [
        (c.name, c.joint0.name, c.joint1.name, c.default_gear_ratio, c.default_offset)
        for c in tree.constraints
        if isinstance(c, mbt.CouplerConstraint)
    ]
    assert couplers == [
        ("mimic0", "mimic0", "j0", -2.0, 0.3),
        ("mimic1", "mimic1", "j1", 0.5, 0.3),
        ("mimic2", "mimic2", "j0", 3.0, 0.3),
    ]
    q = coordinates.q_from_pinocchio(random_state(model, np.random.default_rng(1))[0])
    positions = {joint.name: q[joint.position_start] for joint in tree.joints}
    assert positions["mimic0"] == -2.0 * positions["j0"] + 0.3


def test_armatures_and_limits() -> None:
    model = chain("RX", "FreeFlyer", "PZ")
    model.armature = np.array([0.5, 0, 0, 0, 0, 0, 0, 2.0, 0.0])
    model.upperPositionLimit = np.full(model.nq, 1.5)
    model.lowerPositionLimit = np.full(model.nq, -0.5)
    model.effortLimit = np.full(model.nv, 20.0)
    model.velocityLimit = np.full(model.nv, 3.0)
    tree = mbt.interop.from_pinocchio(model)
    assert_same_dynamics(tree, model)
    assert [motor.name for motor in tree.joint_actuators] == ["j0_armature", "j2_armature"]
    joint = tree.get_joint_by_name("j0")
    assert joint.position_lower_limits == -0.5
    assert joint.position_upper_limits == 1.5
    assert (joint.velocity_upper_limits, joint.effort_limit) == (3.0, 20.0)
    driven = mbt.interop.from_pinocchio(model, actuators="all")
    assert_same_dynamics(driven, model)
    assert [(m.name, m.effort_limit) for m in driven.joint_actuators] == [("j0", 20), ("j2", 20), ("j3", 20)]


def test_armatures_of_several_degrees_of_freedom() -> None:
    """Of rotations, where all axes share one value, and of the rotation of a planar joint."""
    model = chain("FreeFlyer", "Spherical", "Planar", "Translation", "Universal")
    armature = np.zeros(model.nv)
    armature[3:6], armature[6:9], armature[11] = 0.4, 0.2, 0.3
    armature[12:] = np.linspace(0.1, 0.6, model.nv - 12)
    model.armature = armature
    tree = mbt.interop.from_pinocchio(model)
    assert_same_dynamics(tree, model)
    names = {motor.name for motor in tree.joint_actuators}
    assert {"j0_armature_wz", "j1_armature_wx", "j2_armature_wz"} <= names
    assert "j0_armature_vx" not in names


@pytest.mark.parametrize(
    ("joint", "dof", "message"),
    [
        ("FreeFlyer", 1, "joint 'j0' has a translational armature in the axes of its child"),
        ("FreeFlyer", 4, "joint 'j0' has an armature that is not the same about all axes"),
        ("Spherical", 0, "joint 'j0' has an armature that is not the same about all axes"),
        ("Planar", 0, "joint 'j0' has a translational armature in the axes of its child"),
    ],
)
def test_an_armature_that_turns_with_the_child_is_told(joint: str, dof: int, message: str) -> None:
    model = chain(joint)
    armature = np.zeros(model.nv)
    armature[dof] = 0.1
    model.armature = armature
    with pytest.warns(mbt.ModelWarning, match=message):
        tree = mbt.interop.from_pinocchio(model)
    assert not tree.joint_actuators


def test_a_model_of_urdf() -> None:
    path = mbt.models.model_path("mbt_arm")
    model = pin.buildModelFromUrdf(str(path))
    tree, own = mbt.interop.from_pinocchio(model), mbt.load_model(path)
    assert_same_dynamics(tree, model)
    assert [j.name for j in tree.joints] == [j.name for j in own.joints if j.num_velocities]
    context, wanted = tree.create_default_context(), own.create_default_context()
    context.q = wanted.q = np.linspace(-1, 1, tree.num_positions)
    # Pinocchio leaves rotors out.
    bodies = np.ones((tree.num_velocities, tree.num_velocities)) - np.eye(tree.num_velocities)
    assert_close(bodies * tree.calc_mass_matrix(context), bodies * own.calc_mass_matrix(wanted))
    for joint in tree.joints:
        damping = own.get_joint_by_name(joint.name).default_damping_vector
        np.testing.assert_array_equal(joint.default_damping_vector, damping)


def test_reference_configurations_are_named_positions() -> None:
    model = mimicking()
    q = random_state(model, np.random.default_rng(4))[0]
    model.referenceConfigurations["half"] = q
    tree = mbt.interop.from_pinocchio(model)
    named = tree.parse_reports[0].named_positions["half"]
    expected = mbt.interop.PinocchioCoordinates(tree, model).q_from_pinocchio(q)
    np.testing.assert_allclose(tree.q_from_dict(named), expected, atol=1e-15)


def test_batches() -> None:
    model = chain("FreeFlyer", "Planar", "Spherical", "RUBX")
    tree = mbt.interop.from_pinocchio(model)
    coordinates = mbt.interop.PinocchioCoordinates(tree, model)
    rng = np.random.default_rng(5)
    q, v, a = (np.array(column) for column in zip(*(random_state(model, rng) for _ in range(4)), strict=True))
    vdot = coordinates.vdot_from_pinocchio(q, v, a)
    for k in range(4):
        assert_close(vdot[k], coordinates.vdot_from_pinocchio(q[k], v[k], a[k]))
    own_q, own_v = coordinates.q_from_pinocchio(q), coordinates.v_from_pinocchio(q, v)
    assert_close(coordinates.vdot_to_pinocchio(own_q, own_v, vdot), a)
    assert_close(coordinates.tau_to_pinocchio(own_q, coordinates.tau_from_pinocchio(q, v)), v)


def test_gravity_and_base() -> None:
    model = chain("RX")
    model.gravity = pin.Motion(np.array([0, 1.0, -3.0, 0, 0, 0]))
    assert_same_dynamics(mbt.interop.from_pinocchio(model), model)
    assert not mbt.interop.from_pinocchio(model, gravity=None).force_elements
    X = mbt.math.make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3])
    tree = mbt.interop.from_pinocchio(model, base_pose=X, model_name="mine")
    assert tree.get_model_instance_by_name("mine")
    moved = tree.get_body_by_name("body0").eval_pose_in_world(tree.create_default_context())
    assert_close(moved, X @ model.jointPlacements[1].homogeneous)


def test_what_has_no_counterpart() -> None:
    model = chain("RX")
    add_joint(model, 1, pin.JointModelEllipsoid(0.1, 0.2, 0.3), "hip")
    with pytest.raises(
        mbt.ArgumentValueError, match="model: joint 'hip' is a JointModelEllipsoid, which has no"
    ):
        mbt.interop.from_pinocchio(model)
    for taken, joint in (("hip", pin.JointModelRX()), ("hip_x", pin.JointModelTranslation())):
        model = chain("RX")
        add_joint(model, 2, pin.JointModelRX(), taken)
        add_joint(model, 3, joint, "hip")
        with pytest.raises(mbt.ArgumentValueError, match=f"joints 3 and 4 would both be called '{taken}'"):
            mbt.interop.from_pinocchio(model)
    with pytest.raises(mbt.ArgumentTypeError, match=r"expected a pinocchio\.Model, got str"):
        mbt.interop.from_pinocchio("robot.urdf")
    tree = mbt.interop.from_pinocchio(chain("RX"))
    with pytest.raises(mbt.ArgumentValueError, match="joint 'j0' is prismatic, but in the tree revolute"):
        mbt.interop.PinocchioCoordinates(tree, chain("PX"))
