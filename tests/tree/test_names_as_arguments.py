"""Names in place of frames and bodies, and messages about a name where an index is expected."""

from __future__ import annotations

import numpy as np
import pytest

import mbt

F = mbt.functional


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return mbt.load_model(mbt.models.model_path("mbt_arm"))


@pytest.fixture(scope="module")
def pair() -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    tree.add_force_element(mbt.UniformGravityFieldElement())
    for name in ("left", "right"):
        instance = tree.add_model_instance(name)
        tree.add_body(mbt.RigidBody("hand", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1), instance))
    tree.finalize()
    return tree


@pytest.mark.parametrize(
    "function",
    [F.frame_pose, F.frame_jacobian, F.operational_space_inverse_inertia],
)
def test_names_of_frames(arm: mbt.MultibodyTree, function: object) -> None:
    q = arm.random_positions(rng=1)
    for frame in arm.frames:
        wanted = function(arm, q, frame)  # type: ignore[operator]
        np.testing.assert_array_equal(function(arm, q, frame.name), wanted)  # type: ignore[operator]
    qs = np.stack([q, -q])
    wanted = function(arm, qs, arm.bodies[-1])  # type: ignore[operator]
    np.testing.assert_array_equal(function(arm, qs, arm.bodies[-1].name), wanted)  # type: ignore[operator]


def test_names_in_methods_and_other_scalars(arm: mbt.MultibodyTree) -> None:
    q, v = arm.random_positions(rng=2), np.linspace(-1.0, 1.0, 6)
    tool = arm.get_frame_by_name("tool")
    J = F.frame_jacobian(arm, q, "tool", expressed_in="tool")
    np.testing.assert_array_equal(J, F.frame_jacobian(arm, q, tool, expressed_in=tool))
    rate = F.frame_jacobian_rate(arm, q, v, "tool")
    np.testing.assert_array_equal(rate, F.frame_jacobian_rate(arm, q, v, tool))
    context = arm.create_default_context()
    context.q = q
    np.testing.assert_array_equal(
        arm.calc_relative_transform(context, "world", "tool"), tool.calc_pose_in_world(context)
    )
    twin = arm.to_autodiff()
    np.testing.assert_allclose(F.frame_pose(twin, q, "tool").value, F.frame_pose(arm, q, tool), atol=1e-15)
    inertia = arm.calc_spatial_inertia(context, "world", ["tool", arm.bodies[1]])
    wanted = arm.calc_spatial_inertia(context, "world", [arm.get_body_by_name("tool"), arm.bodies[1]])
    np.testing.assert_array_equal(inertia.as_matrix6(), wanted.as_matrix6())


def test_unknown_and_ambiguous_names(arm: mbt.MultibodyTree, pair: mbt.MultibodyTree) -> None:
    with pytest.raises(mbt.UnknownNameError, match=r"^frame: there is no frame named 'tol'.*'tool'"):
        F.frame_pose(arm, arm.default_positions, "tol")
    with pytest.raises(mbt.UnknownNameError, match=r"^expressed_in: .*'tool'"):
        F.frame_jacobian(arm, arm.default_positions, "tool", expressed_in="tol")
    q = pair.default_positions
    with pytest.raises(mbt.ArgumentValueError, match=r"^frame: 2 .*'left::hand' or 'right::hand'$"):
        F.frame_pose(pair, q, "hand")
    q[4] = 3.0
    assert F.frame_pose(pair, q, "left::hand")[0, 3] == 3.0
    assert F.frame_pose(pair, q, "right::hand")[0, 3] == 0.0


def test_indices_name_the_look_up_by_name(arm: mbt.MultibodyTree) -> None:
    for method in ("body", "frame", "joint", "joint_actuator", "constraint", "model_instance"):
        with pytest.raises(mbt.ArgumentTypeError, match=rf"tree\.get_{method}_by_name\('x'\)"):
            getattr(arm, f"get_{method}")("x")


def test_names_in_calls_of_hosts(arm: mbt.MultibodyTree) -> None:
    from mbt.interop.host_calls import find_call

    tool, body = arm.get_frame_by_name("tool"), arm.get_body_by_name("tool")
    call = find_call(arm, "frame_pose", {"frame": "tool"}, ["tool"])
    assert call is find_call(arm, "frame_pose", {"frame": tool}, [body])
    assert call.operand_shapes == [(6,), ()]
    with pytest.raises(mbt.UnknownNameError, match=r"^frame: .*'tool'"):
        find_call(arm, "frame_pose", {"frame": "tol"})
    with pytest.raises(mbt.ArgumentValueError, match="parameters: expected each element once"):
        find_call(arm, "frame_pose", {"frame": tool}, ["tool", body])


def test_a_floating_base_in_another_order_is_doubted() -> None:
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("base", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.finalize()
    context = tree.create_default_context()
    context.q = [0.8, 0.6, 0, 0, 0.3, 0.2, 5.0]
    context.validate()
    for order in ([0.3, 0.2, 5.0, 0.8, 0.6, 0, 0], [0.3, 0.2, 0.5, 0.6, 0, 0, 0.8]):
        context.q = order
        with pytest.raises(mbt.ArgumentValueError, match=r"MuJoCo .*mbt uses \(qw, qx, qy, qz, x, y, z\)"):
            context.validate()
    batch = tree.create_default_context(batch_shape=(2,))
    batch.q = [[1, 0, 0, 0, 0, 0, 0], order]
    with pytest.raises(mbt.ArgumentValueError, match=r"q\[1\]: the quaternion of"):
        batch.validate()


def test_a_trajectory_has_its_own_plot(arm: mbt.MultibodyTree) -> None:
    trajectory = mbt.simulate(arm, arm.create_default_context(), 0.01, dt=0.005)
    with pytest.raises(mbt.ArgumentTypeError, match=r"got a Trajectory: its own plot\(\)"):
        mbt.plot(arm, trajectory)  # type: ignore[arg-type]


def test_names_of_model_instances(pair: mbt.MultibodyTree) -> None:
    context, left = pair.create_default_context(), pair.get_model_instance_by_name("left")
    q = np.array([1.0, 0, 0, 0, 2.0, 3.0, 4.0])
    pair.set_positions(context, "left", q)
    np.testing.assert_array_equal(pair.get_positions(context, left), q)
    np.testing.assert_array_equal(pair.get_positions(context, "left"), q)
    np.testing.assert_array_equal(pair.get_positions(context, "right")[4:], 0.0)
    assert pair.get_body_by_name("hand", "left") is pair.get_body_by_name("left::hand")
    assert pair.has_frame_named("hand", "right")
    assert pair.get_num_bodies("right") == 1
    assert pair.get_position_names("left") == pair.get_position_names(left)
    com = pair.calc_center_of_mass_position_in_world(context, "left")
    np.testing.assert_allclose(com, [2.0, 3.0, 4.0])
    com = pair.calc_center_of_mass_position_in_world(context, ["left", "right"])
    np.testing.assert_allclose(com, [1.0, 1.5, 2.0])
    gravity = pair.gravity_field
    gravity.set_enabled_in(context, "left", False)
    assert [gravity.is_enabled_in(context, i) for i in ("left", "right")] == [False, True]
    np.testing.assert_array_equal(pair.calc_gravity_generalized_forces(context)[:6], 0.0)


def test_unknown_names_of_model_instances(pair: mbt.MultibodyTree) -> None:
    context = pair.create_default_context()
    for call in (
        lambda: pair.get_positions(context, "lft"),
        lambda: pair.set_positions(context, "lft", np.ones(7)),
        lambda: pair.set_velocities(context, "lft", np.ones(6)),
        lambda: pair.get_body_by_name("hand", "lft"),
        lambda: pair.gravity_field.set_enabled_in(context, "lft", False),
        lambda: pair.calc_total_mass(context, ["left", "lft"]),
        lambda: pair.edit().rename_model_instance("lft", "arm"),
    ):
        with pytest.raises(mbt.UnknownNameError, match=r"model_instances?: .*Did you mean 'left'"):
            call()
    np.testing.assert_array_equal(context.q, pair.default_positions)
    with pytest.raises(mbt.ArgumentTypeError, match=r"get_model_instance_by_name\('left'\)"):
        mbt.RigidBody("thumb", mbt.SpatialInertia.zero(), "left")  # type: ignore[call-overload]


def test_names_of_model_instances_elsewhere(pair: mbt.MultibodyTree) -> None:
    from mbt.interop import ros

    work = pair.edit()
    work.rename_model_instance("left", "first")
    assert work.has_model_instance_named("first")
    tree = mbt.MultibodyTree()
    for name in ("left", "right"):
        body = mbt.RigidBody("rod", mbt.SpatialInertia.zero(), tree.add_model_instance(name))
        tree.add_body(body)
        tree.add_joint(mbt.PrismaticJoint, "slide", "world", None, f"{name}::rod", None, [0, 0, 1])
    with pytest.raises(mbt.UnknownNameError, match=r"^joint 'pin': child: .*'left::rod'"):
        tree.add_joint(mbt.RevoluteJoint, "pin", "world", None, "lft::rod", None, [0, 0, 1])
    with pytest.raises(mbt.ArgumentValueError, match=r"parent: .*'left::rod' or 'right::rod'"):
        tree.add_joint(mbt.RevoluteJoint, "pin", "rod", None, "world", None, [0, 0, 1])
    tree.finalize()
    assert [joint.child_body.scoped_name for joint in tree.joints] == ["left::rod", "right::rod"]
    message = {"name": ["slide"], "position": [0.5]}
    np.testing.assert_array_equal(ros.read_joint_state(tree, message, model_instance="right").q, [0.0, 0.5])
    with pytest.raises(mbt.UnknownNameError, match=r"model_instance: .*'right'"):
        ros.read_joint_state(tree, message, model_instance="rigt")


def test_constructors_that_know_no_tree_name_the_look_up() -> None:
    rod = mbt.RigidBody("rod", mbt.SpatialInertia.zero())
    for call, cure in (
        (lambda: mbt.RevoluteJoint("j", "rod", rod.body_frame, [0, 0, 1]), r"get_frame_by_name\('rod'\)"),
        (lambda: mbt.RevoluteJoint("j", rod, rod.body_frame, [0, 0, 1]), r"its frame is body\.body_frame"),
        (lambda: mbt.BallConstraint("c", "rod", rod), r"get_body_by_name\('rod'\)"),
        (lambda: mbt.FixedOffsetFrame("f", "rod"), r"get_body_by_name\('rod'\)"),
        (lambda: mbt.LinearSpringDamper("rod", [0] * 3, rod, [0] * 3, 1, 1, 1), r"get_body_by_name\('rod'\)"),
        (lambda: mbt.JointActuator("a", "pin"), r"get_joint_by_name\('pin'\)"),
    ):
        with pytest.raises(mbt.ArgumentTypeError, match=cure):
            call()


def test_a_tree_knows_the_joint_that_an_actuator_drives() -> None:
    tree = mbt.load_model(mbt.models.model_path("mbt_arm")).edit()
    elbow = tree.get_joint_by_name("elbow")
    assert tree.add_joint_actuator("first", "elbow", 3.0).joint is elbow
    assert tree.add_joint_actuator("second", joint="elbow", effort_limit=3.0).joint is elbow
    with pytest.raises(mbt.UnknownNameError, match=r"joint actuator 'third': joint: .*elbow"):
        tree.add_joint_actuator("third", "elbwo")
    assert "third" not in {actuator.name for actuator in tree.joint_actuators}
    with pytest.raises(mbt.ArgumentTypeError, match=r"missing .* 'joint'"):
        tree.add_joint_actuator("fourth")


def test_efforts_of_actuators_in_place_of_generalized_forces() -> None:
    """One number per actuator is refused wherever one per velocity is expected."""
    tree = mbt.MultibodyTree()
    ball = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    base, arm = (tree.add_body(mbt.RigidBody(name, ball)) for name in ("base", "arm"))
    pin = tree.add_joint(mbt.RevoluteJoint, "pin", base, None, arm, None, [0, 0, 1])
    tree.add_joint_actuator(mbt.JointActuator("motor", pin))
    tree.finalize()
    context, batch = tree.create_default_context(), tree.create_default_context(batch_shape=(2,))
    q, v, u = tree.default_positions, np.zeros(7), np.ones(1)
    forces = mbt.MultibodyForces(tree)
    twin = tree.to_autodiff()

    def write() -> None:
        forces.generalized_forces = u

    for call in (
        lambda: F.forward_dynamics(tree, q, v, u),
        lambda: F.forward_dynamics(tree, q, v, [u, u]),
        lambda: F.forward_dynamics_derivatives(tree, q, v, u),
        lambda: F.forward_dynamics(twin, q, v, u),
        lambda: F.step(tree, q, v, u, 0.01),
        lambda: F.rollout(tree, q, v, [u, u], 0.01),
        lambda: tree.calc_forward_dynamics(context, u),
        lambda: tree.calc_forward_dynamics(batch, [u, u]),
        lambda: mbt.simulate(tree, context, 0.01, dt=0.005, control=u),
        lambda: mbt.simulate(tree, context, 0.01, dt=0.005, control=[u, u]),
        lambda: mbt.simulate(tree, context, 0.01, dt=0.005, control=lambda *state: u),
        write,
    ):
        with pytest.raises(mbt.ShapeError, match=r"expected shape .*7.* tau = tree\.actuation_matrix @ u"):
            call()
    vdot = F.forward_dynamics(tree, q, v, tree.actuation_matrix @ u)
    assert abs(vdot[6]) > 1.0
    with pytest.raises(mbt.ShapeError) as caught:
        F.forward_dynamics(tree, q[:3], v, v)
    assert "actuation" not in str(caught.value)


def test_what_other_libraries_call_it(arm: mbt.MultibodyTree) -> None:
    for name, here in F._ELSEWHERE.items():
        assert here in F.__all__
        with pytest.raises(AttributeError, match=f"'{name}'; it is called '{here}' here"):
            getattr(F, name)
        with pytest.raises(AttributeError, match=rf"mbt\.functional\.{here}$"):
            getattr(mbt, name)
    with pytest.raises(AttributeError, match=r"mbt\.functional\.mass_matrix$"):
        _ = mbt.mass_matrix
    with pytest.raises(AttributeError, match=r"mbt\.load_model reads all formats"):
        _ = mbt.load_urdf


def test_a_context_in_place_of_its_arrays(arm: mbt.MultibodyTree) -> None:
    context, q = arm.create_default_context(), arm.default_positions
    with pytest.raises(mbt.ArgumentTypeError, match=r"^q: .*got Context: its q are, pass \.q"):
        F.mass_matrix(arm, context)
    with pytest.raises(mbt.ArgumentTypeError, match=r"^v: .*got Context: its v are, pass \.v"):
        F.bias_term(arm, q, context)
    with pytest.raises(mbt.ArgumentTypeError, match=r"external_forces: .* mbt\.MultibodyForces\(tree\)"):
        F.inverse_dynamics(arm, q, q, q, external_forces=np.zeros(6))  # type: ignore[call-overload]
