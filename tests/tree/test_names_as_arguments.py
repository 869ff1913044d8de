"""Names in place of frames and bodies, and what messages say of a name where an index is wanted."""

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
    with pytest.raises(mbt.UnknownNameError, match=r"^frame: There is no frame named 'tol'.*'tool'"):
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
        with pytest.raises(mbt.ArgumentValueError, match=r"MuJoCo .*mbt has \(qw, qx, qy, qz, x, y, z\)"):
            context.validate()
    batch = tree.create_default_context(batch_shape=(2,))
    batch.q = [[1, 0, 0, 0, 0, 0, 0], order]
    with pytest.raises(mbt.ArgumentValueError, match=r"q\[1\]: the quaternion of"):
        batch.validate()


def test_a_trajectory_has_its_own_plot(arm: mbt.MultibodyTree) -> None:
    trajectory = mbt.simulate(arm, arm.create_default_context(), 0.01, dt=0.005)
    with pytest.raises(mbt.ArgumentTypeError, match=r"got a Trajectory: its own plot\(\)"):
        mbt.plot(arm, trajectory)  # type: ignore[arg-type]
