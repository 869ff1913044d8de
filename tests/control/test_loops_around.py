"""Controllers in simulations, environments of Gymnasium, and between ROS messages."""

import numpy as np
import pytest

import mbt
from control.standing_robots import make_hopper
from mbt import functional
from mbt.interop import ros

daqp = pytest.importorskip("daqp")


def make_arm():
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    controller = mbt.TaskSpaceController(tree, dt=4e-3)
    controller.add_position(tree.bodies[-1], stiffness=100, damping=20)
    controller.add_posture(stiffness=10, damping=6, weight=1e-3)
    return tree, controller


def test_a_simulation_follows_references_over_time_on_soft_ground():
    tree, contacts, q = make_hopper()
    ground = tree.edit()
    foot = ground.get_body_by_name(contacts[0].frame)
    ground.add_force_element(
        mbt.PointContact(foot, contacts[0].p_FC, stiffness=5e4, dissipation=1.0, static_friction=0.9)
    )
    ground.finalize()
    controller = mbt.TaskSpaceController(tree, contacts, dt=4e-3)
    controller.add_position("trunk", axes="xz", stiffness=200, damping=28)
    start = functional.frame_pose(tree, q, "trunk")[[0, 2], 3]

    def references(t):
        down = 0.02 * (1.0 - np.cos(8.0 * t)), 0.16 * np.sin(8.0 * t), 1.28 * np.cos(8.0 * t)
        return [
            tuple(value + np.array([0.0, -one]) for value, one in zip((start, 0.0, 0.0), down, strict=True))
        ]

    controller.references = references
    context = ground.create_default_context()
    context.q = q
    motion = mbt.simulate(ground, context, 0.8, dt=4e-3, method="implicit", control=controller)
    height = functional.frame_pose(tree, motion.q, "trunk")[:, 2, 3]
    wanted = start[1] - 0.02 * (1.0 - np.cos(8.0 * motion.time))
    assert np.ptp(wanted) > 0.035
    assert np.abs(height - wanted)[50:].max() < 4e-3


def test_without_references_a_simulation_says_so():
    tree, controller = make_arm()
    with pytest.raises(mbt.ArgumentValueError, match=r"references: set controller\.references"):
        mbt.simulate(tree, tree.create_default_context(), 0.01, control=controller)


@pytest.mark.engine
def test_environments_of_gymnasium_take_goals_as_actions():
    pytest.importorskip("gymnasium")
    from gymnasium.spaces import Box

    from mbt.interop.gymnasium import VectorEnv

    tree, controller = make_arm()

    def control(context, actions):
        return controller.solve(context.q, context.v, [actions, None]).tau

    def reward(context, actions):
        found = functional.frame_pose(tree, context.q, tree.bodies[-1])[:, :3, 3]
        return -np.linalg.norm(found - actions, axis=1)

    start = tree.create_default_context()
    start.q = np.full(6, 0.3)
    envs = VectorEnv(
        start, 3, reward=reward, control=control, dt=0.01, action_space=Box(-1.0, 1.0, (3,), np.float64)
    )
    envs.reset(seed=0)
    goals = functional.frame_pose(tree, np.full(6, 0.3), tree.bodies[-1])[:3, 3] - 0.05 * np.eye(3)
    first = envs.step(goals)[1]
    for _ in range(70):
        last = envs.step(goals)[1]
    assert np.all(first < -0.045)
    assert np.all(last > -0.01)


def test_joint_states_of_ros_go_in_and_come_out():
    tree, controller = make_arm()
    q, v = np.full(6, 0.3), np.linspace(-0.1, 0.1, 6)
    message = ros.make_joint_state(tree, q, v)
    result = controller.solve(*ros.read_joint_state(tree, message)[:2], [[0.4, 0.1, 0.5], None])
    command = ros.make_joint_state(tree, q, v, result.tau)
    _, _, tau = ros.read_joint_state(tree, command)
    np.testing.assert_array_equal(tau, result.tau)
    assert abs(tau).max() > 1.0
