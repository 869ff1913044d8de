"""Controllers used elsewhere: simulations in implicit steps, environments, ROS messages, processes."""

import copy
import os
import pickle
import threading

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
    controller = pickle.loads(pickle.dumps(controller))  # its references are pickled with it
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


class Interrupted:
    """A goal whose conversion calls a function."""

    def __init__(self, goal, call):
        self.goal, self.call = goal, call

    def __array__(self, dtype=None, copy=None):
        self.call()
        return self.goal


def test_a_second_thread_is_refused():
    _, _, controller, q, place = standing()
    v, errors = np.zeros(4), []

    def solve():
        try:
            controller.solve(q, v, [place, None])
        except mbt.ConcurrentUseError as error:
            errors.append(error)

    def meanwhile():
        thread = threading.Thread(target=solve)
        thread.start()
        thread.join()

    result = controller.solve(q, v, [Interrupted(place, meanwhile), None])
    assert len(errors) == 1
    solve()
    assert len(errors) == 1  # it is unlocked again, even after an error
    with pytest.raises(mbt.ShapeError):
        controller.solve(q, v[1:], [place, None])
    again = controller.solve(q, v, [place, None])
    np.testing.assert_allclose(result.tau, again.tau, rtol=1e-12)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork")  # a process with threads: of Python, and of JAX if loaded
def test_a_child_forked_within_a_tick_has_a_free_controller():
    _, _, controller, q, place = standing()

    def fork():
        child = os.fork()
        if child == 0:
            try:
                controller.solve(q, np.zeros(4), [place, None])
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    controller.solve(q, np.zeros(4), [Interrupted(place, fork), None])


def test_a_copy_is_a_controller_of_its_own():
    _, _, controller, q, place = standing()
    expected = controller.solve(q, np.zeros(4), [place, None])
    other = copy.copy(controller)
    other.lift(0)
    other.add_posture(q, stiffness=1.0, damping=1.0, weight=1e-3)
    assert (controller.num_tasks, other.num_tasks) == (2, 3)
    lifted = other.solve(q, np.zeros(4), [place, None, None])
    again = controller.solve(q, np.zeros(4), [place, None])
    np.testing.assert_allclose(again.tau, expected.tau, rtol=1e-9, atol=1e-9)
    assert not lifted.contact_forces.any()
    assert again.contact_forces.any()
