"""A controller in loops of others: simulations in implicit steps, environments, ROS messages, processes."""

import pickle

import numpy as np
import pytest

import mbt
from control.standing_robots import make_hopper
from mbt import functional
from mbt.interop import ros

daqp = pytest.importorskip("daqp")


def standing():
    tree, contacts, q = make_hopper()
    controller = mbt.TaskSpaceController(tree, contacts, dt=5e-3)
    controller.add_position("trunk", axes="xz", stiffness=100, damping=20)
    controller.add_posture(q, stiffness=30, damping=11, weight=1e-3)
    place = functional.frame_pose(tree, q, "trunk")[[0, 2], 3]
    controller.references = [place, None]
    return tree, contacts, controller, q, place


def test_a_simulation_in_implicit_steps_calls_the_controller():
    tree, contacts, controller, q, place = standing()
    ground = tree.edit()
    foot = ground.get_frame_by_name(contacts[0].frame)
    ground.add_force_element(
        mbt.PointContact(foot, contacts[0].p_FC, stiffness=1e5, dissipation=1.0, static_friction=0.9)
    )
    ground.finalize()
    context = ground.create_default_context()
    context.q = q
    controller = pickle.loads(pickle.dumps(controller))  # its references are part of it
    motion = mbt.simulate(ground, context, 0.3, dt=5e-3, method="implicit", control=controller)
    trunk = functional.frame_pose(ground, motion.q, "trunk")[:, [0, 2], 3]
    np.testing.assert_allclose(trunk, np.broadcast_to(place, trunk.shape), atol=2e-3)


def test_environments_of_gymnasium_have_goals_for_actions():
    pytest.importorskip("gymnasium")
    from mbt.interop.gymnasium import VectorEnv

    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    tool = tree.bodies[-1]
    controller = mbt.TaskSpaceController(tree, dt=0.01)
    controller.add_position(tool, stiffness=100, damping=20)
    controller.add_posture(stiffness=10, damping=6, weight=1e-3)
    start = tree.create_default_context()
    start.q = np.full(6, 0.3)
    goal = functional.frame_pose(tree, start.q, tool)[:3, 3] + [[0.0, 0.0, -0.05], [-0.05, 0.0, -0.02]]
    import gymnasium

    envs = VectorEnv(
        start,
        2,
        reward=lambda context, actions: np.zeros(2),
        control=lambda context, actions: controller.solve(context.q, context.v, [actions, None]).tau,
        action_space=gymnasium.spaces.Box(-2.0, 2.0, (3,), np.float64),
        dt=0.01,
        steps=1,
    )
    envs.reset(seed=0)
    for _ in range(120):
        observations, *_ = envs.step(goal)
    reached = functional.frame_pose(tree, observations[:, :6], tool)[:, :3, 3]
    np.testing.assert_allclose(reached, goal, atol=5e-3)
    envs.close()


def test_messages_of_ros_go_in_and_out():
    tree, _, controller, q, place = standing()
    v = np.array([0.01, -0.02, 0.03, 0.04])
    message = ros.make_joint_state(tree, q, v)
    result = controller.solve(*ros.read_joint_state(tree, message)[:2], [place, None])
    command = ros.make_joint_state(tree, q, v, result.tau)
    efforts = dict(zip(command["name"], command["effort"], strict=True))
    assert efforts["leg1"] == result.tau[3] != 0.0
