"""Environments of Gymnasium: its own checks, its own batches, and rollouts identical to those of mbt."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import mbt
from mbt import functional
from support.live_memory import COUNTS, bytes_a_call

pytestmark = pytest.mark.engine
gymnasium: Any = pytest.importorskip("gymnasium", reason="needs the extra `gymnasium`")
env_checker: Any = pytest.importorskip("gymnasium.utils.env_checker")
interop: Any = pytest.importorskip("mbt.interop.gymnasium")

AutoresetMode = gymnasium.vector.AutoresetMode
MODES = list(AutoresetMode)
Array = np.ndarray[Any, Any]
# Pose of a frame whose y axis points up.
TO_XZ = mbt.math.make_pose(rpy=(np.pi / 2, 0.0, 0.0))


def make_cart_pole(effort_limit: float = 10.0) -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    cart = tree.add_body(mbt.RigidBody("cart", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.3, 0.2, 0.1)))
    rod = mbt.SpatialInertia.make_from_central_inertia(0.1, [0, 0, 0.5], np.diag([8e-3, 8e-3, 1e-5]))
    pole = tree.add_body(mbt.RigidBody("pole", rod))
    slider = tree.add_joint(
        mbt.PrismaticJoint, "slider", tree.world_body, None, cart, None, axis=[1, 0, 0], damping=0.1
    )
    tree.add_joint(mbt.RevoluteJoint, "hinge", cart, None, pole, None, axis=[0, 1, 0])
    tree.add_joint_actuator("motor", slider, effort_limit=effort_limit)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def make_hopper() -> mbt.MultibodyTree:
    """A free trunk on one leg, with a foot on the ground."""
    tree = mbt.MultibodyTree()
    trunk = tree.add_body(mbt.RigidBody("trunk", mbt.SpatialInertia.solid_box_with_mass(4.0, 0.3, 0.2, 0.1)))
    leg = tree.add_body(mbt.RigidBody("leg", mbt.SpatialInertia(0.5, [0, 0, -0.1], np.eye(3) * 0.02)))
    hip = tree.add_joint(mbt.RevoluteJoint, "hip", trunk, None, leg, None, axis=[0, 1, 0], damping=0.05)
    tree.add_joint_actuator("hip", hip, effort_limit=5.0)
    tree.add_force_element(
        mbt.PointContact(leg, [0, 0, -0.2], stiffness=5e3, dissipation=1.0, static_friction=0.7)
    )
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


TREES = {"cart_pole": make_cart_pole, "hopper": make_hopper}
every_tree = pytest.mark.parametrize("name", TREES)
every_mode = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)


def reward(context: Any, actions: Any) -> Any:
    return -(context.v**2).sum(-1) - 0.01 * np.asarray(actions).reshape(len(context.q), -1).sum(-1)


def zero_reward(context: Any, actions: Any) -> float:
    return 0.0


def leans(context: Any) -> Any:
    return abs(context.q[:, 1]) > 0.1


def shake(context: Any, rng: np.random.Generator, samples: Array) -> None:
    """Start each episode in a random state."""
    assert context.batch_shape == samples.shape
    context.v = 0.3 * rng.normal(size=context.v.shape)


def make_envs(tree: mbt.MultibodyTree, num_envs: int = 4, **options: Any) -> Any:
    return interop.VectorEnv(tree.create_default_context(), num_envs, **{"reward": reward, **options})


def sample_actions(envs: Any, count: int) -> Iterator[Any]:
    envs.action_space.seed(5)
    return (envs.action_space.sample() for _ in range(count))


# Gymnasium's own checks -----------------------------------------------------------------------------------


def make_checked_env() -> Any:
    box = gymnasium.spaces.Box(-100.0, 100.0, (4,), np.float64)
    return interop.Env(
        make_cart_pole().create_default_context(), reward=reward, reset=shake, terminated=leans,
        observation_space=box, normalized_actions=True, max_episode_steps=50,
    )  # fmt: skip


def make_checked_envs(num_envs: int) -> Any:
    return make_envs(make_cart_pole(), num_envs, reset=shake, terminated=leans)


@pytest.fixture
def registered() -> Iterator[str]:
    name = "mbt/CartPole-v0"
    gymnasium.register(name, entry_point=make_checked_env, vector_entry_point=make_checked_envs)
    yield name
    del gymnasium.registry[name]


def test_the_checker_finds_nothing(registered: str) -> None:
    """Warnings count as errors."""
    env = gymnasium.make(registered)
    env_checker.check_env(env.unwrapped)
    env.close()


def test_batches_are_made_by_name(registered: str) -> None:
    envs = gymnasium.make_vec(registered, num_envs=3, vectorization_mode="vector_entry_point")
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    observations, _ = envs.reset(seed=1)
    assert observations in envs.observation_space
    ends = 0
    for actions in sample_actions(envs, 60):
        observations, _, terminated, truncated, infos = envs.step(actions)
        ends += (terminated | truncated).sum()
        assert observations in envs.observation_space
        if "episode" in infos:
            assert (infos["episode"]["l"][infos["_episode"]] > 0).all()
    assert ends
    envs.close()


@every_mode
@every_tree
def test_it_goes_as_with_separate_environments_in_a_batch_of_gymnasium(name: str, mode: Any) -> None:
    """Rewards, ends, infos and observations in all modes: identical, but for rounding of implicit steps."""
    tree = TREES[name]()
    start = tree.create_default_context(5)
    rng = np.random.default_rng(0)
    start.v = 0.2 * rng.normal(size=start.v.shape)
    tree.bodies[-1].set_mass(start, rng.uniform(0.1, 0.3, 5))
    how = {"method": "semi_implicit_euler", "dt": 0.005, "steps": 3}
    options = {"reward": reward, "terminated": leans, "max_episode_steps": 17, **how}
    envs = interop.VectorEnv(start, autoreset_mode=mode, **options)
    makers = [partial(interop.Env, start._sample((i,)), **options) for i in range(5)]
    others = gymnasium.vector.SyncVectorEnv(makers, autoreset_mode=mode)
    assert envs.single_observation_space == others.single_observation_space
    assert envs.observation_space == others.observation_space
    assert envs.action_space == others.action_space
    assert_same(envs.reset(seed=0), others.reset(seed=0))
    ends = 0
    for actions in sample_actions(envs, 60):
        results, wanted = envs.step(actions), others.step(actions)
        assert_same(results, wanted)
        over = results[2] | results[3]
        ends += over.sum()
        if mode is AutoresetMode.DISABLED and over.any():
            mask = {"reset_mask": over}
            assert_same(envs.reset(options=mask), others.reset(options={"reset_mask": over}))
    assert ends > 5


def assert_same(results: Any, wanted: Any) -> None:
    assert env_checker.data_equivalence(results, wanted, exact=True), (results, wanted)


def test_arrays_are_not_used_again() -> None:
    envs = make_envs(make_cart_pole(), max_episode_steps=3, autoreset_mode=AutoresetMode.SAME_STEP)
    seen = [envs.reset()]
    kept = copy.deepcopy(seen)
    for actions in sample_actions(envs, 8):
        seen.append(envs.step(actions))
        kept.append(copy.deepcopy(seen[-1]))
    assert_same(tuple(seen), tuple(kept))


# Checks against mbt ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
@every_tree
def test_an_episode_is_a_rollout(name: str, method: str) -> None:
    tree = TREES[name]()
    envs = make_envs(tree, 9, reset=shake, dt=2e-3, steps=4, method=method)
    observations, _ = envs.reset(seed=2)
    path, taus = [observations], []
    for actions in sample_actions(envs, 25):
        path.append(envs.step(actions)[0])
        taus += [actions.astype(float) @ tree.actuation_matrix.T] * 4
    nq = tree.num_positions
    tau = np.stack(taus, axis=1)
    q, v = functional.rollout(tree, path[0][:, :nq], path[0][:, nq:], tau, 2e-3, method=method, every=4)
    np.testing.assert_array_equal(np.stack(path, axis=1), np.concatenate([q, v], axis=-1))
    np.testing.assert_allclose(envs.context.time, 25 * 4 * 2e-3, rtol=1e-12)


def make_sledge() -> tuple[mbt.MultibodyTree, mbt.ShapeContact]:
    """Return a box on a floor that a motor pushes to and fro."""
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.2, 0.2, 0.1)
    box = tree.add_body(mbt.RigidBody("box", inertia)).add_collision(mbt.Shape("box", (0.2, 0.2, 0.1)))
    planar = tree.add_joint(mbt.PlanarJoint, "planar", tree.world_body, TO_XZ, box, TO_XZ)
    tree.add_joint_actuator("push", planar, 20.0, dof=0)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    scene = mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane", name="floor")])
    return tree, mbt.ShapeContact(scene, friction=0.5)


def start_above(context: Any, rng: np.random.Generator, samples: Array) -> None:
    context.q = np.stack(
        [np.zeros(samples.size), rng.uniform(0.05, 0.1, samples.size), np.zeros(samples.size)], -1
    )


def test_shapes_touch() -> None:
    tree, contacts = make_sledge()
    envs = make_envs(tree, 5, reset=start_above, dt=5e-3, steps=4, contacts=contacts)
    observations, _ = envs.reset(seed=2)
    path, taus = [observations], []
    for actions in sample_actions(envs, 25):
        path.append(envs.step(actions)[0])
        taus += [actions.astype(float) @ tree.actuation_matrix.T] * 4
    tau, options = np.stack(taus, axis=1), {"method": "implicit", "contacts": contacts}
    q, v = functional.rollout(tree, path[0][:, :3], path[0][:, 3:], tau, 5e-3, every=4, **options)
    np.testing.assert_array_equal(np.stack(path, axis=1), np.concatenate([q, v], axis=-1))
    # It lies on the floor, where friction holds it against forces below 4.9 N.
    envs.reset()
    pushes = np.array([[-8.0], [-4.0], [0.0], [4.0], [8.0]])
    for _ in range(50):
        observations = envs.step(pushes)[0]
    np.testing.assert_allclose(observations[:, 1], 0.05, atol=1e-3)
    np.testing.assert_allclose(observations[1:4, 3], 0.0, atol=1e-4)
    np.testing.assert_array_equal(np.sign(observations[[0, 4], 3]), [-1, 1])
    with pytest.raises(mbt.ArgumentValueError, match="needs method='implicit'"):
        make_envs(tree, 5, method="rk4", contacts=contacts)


def randomize(context: Any, rng: np.random.Generator, samples: Array) -> None:
    """Start with other masses, damping, friction, gravity and applied forces."""
    shake(context, rng, samples)
    tree, n = context.tree, samples.size
    tree.bodies[-1].set_mass(context, rng.uniform(0.2, 2.0, n))
    tree.joints[0].set_damping(context, rng.uniform(0.0, 2.0, n))
    gravity = next(x for x in tree.force_elements if isinstance(x, mbt.UniformGravityFieldElement))
    gravity.set_gravity_vector(context, rng.uniform(-12.0, -8.0, (n, 1)) * [0, 0, 1])
    for element in tree.force_elements:
        if isinstance(element, mbt.PointContact):
            element.set_friction(context, rng.uniform(0.3, 1.0, n))
    context.applied_forces.generalized_forces = rng.normal(size=(n, tree.num_velocities))
    context.actuation = rng.normal(size=(n, 1))


@every_tree
def test_each_episode_has_its_parameters_and_no_other_is_touched(name: str) -> None:
    """Compare with a Context of all environments that gets the same settings whenever an episode begins."""
    tree, n = TREES[name](), 7
    begun: list[tuple[Array, Any]] = []

    def reset(context: Any, rng: np.random.Generator, samples: Array) -> None:
        randomize(context, rng, samples)
        begun.append((samples, context.clone()))

    envs = make_envs(tree, n, reset=reset, dt=1e-3, steps=2)
    observations, _ = envs.reset(seed=4)
    masks = [np.arange(n) % k == 0 for k in (2, 3, 5)]
    singles = [begun[0][1]._sample((i,)) for i in range(n)]
    for k, actions in enumerate(sample_actions(envs, 60)):
        if k % 20 == 10:
            observations, _ = envs.reset(options={"reset_mask": masks[k // 20]})
            samples, part = begun[-1]
            np.testing.assert_array_equal(samples, np.flatnonzero(masks[k // 20]))
            for j, i in enumerate(samples):
                singles[i] = part._sample((j,))
        before, observations = observations, envs.step(actions)[0]
        tau = actions.astype(float) @ tree.actuation_matrix.T
        for i, single in enumerate(singles):
            single.q, single.v = np.split(before[i], [tree.num_positions])
            q, v = tree.rollout(single, np.tile(tau[i], (2, 1)), 1e-3, method="implicit")
            np.testing.assert_allclose(observations[i], np.concatenate([q[-1], v[-1]]), rtol=1e-9, atol=1e-9)
    assert len(begun) == 4


def test_parameters_do_not_pile_up() -> None:
    """Every episode starts from the Context that was passed."""
    tree = make_cart_pole()

    def double(context: Any, rng: Any, samples: Array) -> None:
        body = tree.bodies[-1]
        body.set_mass(context, 2.0 * body.get_mass(context))

    envs = make_envs(tree, reset=double)
    for _ in range(3):
        envs.reset()
        np.testing.assert_array_equal(tree.bodies[-1].get_mass(envs.context), np.full(4, 0.2))


def test_what_elements_declared_starts_anew() -> None:
    class Wind(mbt.ForceElement):
        """A force on a cart, as large as its parameter."""

        def do_declare_force_element_parameters(self) -> None:
            self.strength = self.declare_numeric_parameter([1.0])

        def do_declare_discrete_state(self) -> None:
            self.gusts = self.declare_discrete_state(1.0)

        def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
            force = context.get_numeric_parameter(self.strength) * context.get_discrete_state(self.gusts)
            forces.generalized_forces[..., 0] += force[..., 0]

    tree = make_cart_pole().edit()
    wind = tree.add_force_element(Wind())
    tree.finalize()

    def reset(context: Any, rng: Any, samples: Array) -> None:
        context.set_numeric_parameter(wind.strength, rng.uniform(0.5, 1.0, (samples.size, 1)))
        context.set_discrete_state(wind.gusts, rng.uniform(0.5, 1.0, (samples.size, 1)))

    envs = make_envs(tree, 3, reset=reset)
    envs.reset(seed=0)

    def values() -> Array:
        context = envs.context
        strength = context.get_numeric_parameter(wind.strength)
        return np.concatenate([strength, context.get_discrete_state(wind.gusts)], axis=1)

    first = values()
    envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert (first != values()).tolist() == [[False, False], [True, True], [False, False]]
    observations = envs.step(np.zeros((3, 1)))[0]
    assert (observations[:, 2] > 0.0).all()
    np.testing.assert_allclose(envs.context.time, 0.01)


def test_a_mask_of_none() -> None:
    envs = make_envs(make_cart_pole(), reset=shake)
    before, _ = envs.reset(seed=0)
    after, _ = envs.reset(options={"reset_mask": np.zeros(4, dtype=bool)})
    np.testing.assert_array_equal(before, after)


def test_the_context_that_was_given_stays() -> None:
    tree = make_cart_pole()
    context = tree.create_default_context(4)
    envs = interop.VectorEnv(context, reward=reward, reset=randomize)
    envs.reset(seed=0)
    envs.step(np.ones((4, 1)))
    assert not context.q.any()
    np.testing.assert_array_equal(tree.bodies[-1].get_mass(context), np.full(4, 0.1))
    context.q = [1.0, 1.0]
    assert not make_envs(tree).reset()[0].any()


def test_an_environment_does_not_depend_on_the_others() -> None:
    tree = make_hopper()
    starts = 0.2 * np.random.default_rng(0).normal(size=(11, tree.num_velocities))

    def reset(context: Any, rng: Any, samples: Array, first: int) -> None:
        context.v = starts[first + samples]

    all_of_them, some = (
        make_envs(tree, n, reset=partial(reset, first=first), dt=1e-3) for n, first in ((11, 0), (3, 5))
    )
    np.testing.assert_array_equal(all_of_them.reset()[0][5:8], some.reset()[0])
    for actions in sample_actions(all_of_them, 20):
        np.testing.assert_array_equal(all_of_them.step(actions)[0][5:8], some.step(actions[5:8])[0])


def test_the_seed_is_all_that_counts() -> None:
    tree = make_cart_pole()
    envs = [make_envs(tree, reset=randomize, max_episode_steps=4) for _ in range(2)]
    paths = []
    for env, seed in ((envs[0], 3), (envs[1], 3), (envs[0], 3), (envs[0], 4)):
        paths.append([env.reset(seed=seed), *map(env.step, sample_actions(env, 12))])
    assert_same(paths[0], paths[1])
    assert_same(paths[0], paths[2])
    assert not env_checker.data_equivalence(paths[0], paths[3])


# Actions --------------------------------------------------------------------------------------------------


def test_efforts_are_clipped() -> None:
    envs = [make_envs(make_cart_pole()) for _ in range(2)]
    for env in envs:
        env.reset()
    beyond = np.array([[30.0], [-30.0], [10.0], [5.0]])
    np.testing.assert_array_equal(envs[0].step(beyond)[0], envs[1].step(np.clip(beyond, -10.0, 10.0))[0])


def test_motors_of_one_joint_add_up() -> None:
    tree = make_cart_pole().edit()
    tree.add_joint_actuator("second", tree.get_joint_by_name("slider"), effort_limit=10.0)
    tree.finalize()
    both, alone = make_envs(tree), make_envs(make_cart_pole())
    for env in (both, alone):
        env.reset()
    x = np.array([[3.0, -1.0], [-2.0, 4.0], [0.0, 5.0], [1.0, 1.0]])
    np.testing.assert_array_equal(both.step(x)[0], alone.step(x.sum(axis=1, keepdims=True))[0])


def test_actions_may_be_shares_of_the_limits() -> None:
    tree = make_cart_pole()
    shares, efforts = make_envs(tree, normalized_actions=True), make_envs(tree)
    np.testing.assert_array_equal(shares.single_action_space.high, [1.0])
    np.testing.assert_array_equal(efforts.single_action_space.high, [10.0])
    x = np.array([[0.5], [-0.25], [1.0], [3.0]])
    for env in (shares, efforts):
        env.reset()
    np.testing.assert_array_equal(shares.step(x)[0], efforts.step(10.0 * x)[0])


def test_control_makes_forces_of_actions_of_any_kind() -> None:
    tree = make_cart_pole()

    def push(context: Any, actions: Array) -> Array:
        tau = np.zeros(context.v.shape)
        tau[:, 0] = np.where(actions == 1, 10.0, -30.0)  # beyond the effort limit
        return tau

    envs = make_envs(tree, control=push, action_space=gymnasium.spaces.Discrete(2))
    others = make_envs(tree)
    for env in (envs, others):
        env.reset()
    actions = np.array([1, 0, 0, 1])
    assert actions in envs.action_space
    desired = others.step(np.where(actions == 1, 10.0, -10.0)[:, None])
    np.testing.assert_array_equal(envs.step(actions)[0], desired[0])
    one = interop.Env(
        tree.create_default_context(), reward=zero_reward, control=push,
        action_space=gymnasium.spaces.Discrete(2),
    )  # fmt: skip
    one.reset()
    np.testing.assert_allclose(one.step(1)[0], desired[0][0], rtol=1e-13)


def test_observations_of_ones_own() -> None:
    tree = make_hopper()
    foot = tree.get_body_by_name("leg").body_frame

    def observe(context: Any) -> Any:
        return tree.calc_points_positions(context, foot, [0, 0, -0.2], tree.world_frame)

    envs = make_envs(tree, observe=observe)
    assert envs.single_observation_space.shape == (3,)
    box = gymnasium.spaces.Box(-10, 10, (3,), np.float32)
    narrow = make_envs(tree, observe=observe, observation_space=box)
    for env in (envs, narrow):
        observations, _ = env.reset()
        assert observations in env.observation_space
        assert observations.dtype == env.observation_space.dtype
        np.testing.assert_allclose(observations, np.tile([0, 0, -0.2], (4, 1)), atol=1e-7)


# Invalid states -------------------------------------------------------------------------------------------


@every_mode
def test_an_environment_that_runs_away_ends_where_it_was(mode: Any) -> None:
    limitless = make_cart_pole(effort_limit=np.inf)
    envs = make_envs(limitless, autoreset_mode=mode, reset=shake)
    before, _ = envs.reset(seed=0)
    actions = np.array([[1.0], [np.inf], [np.nan], [-1.0]])
    observations, _, terminated, truncated, infos = envs.step(actions)
    bad = [False, True, True, False]
    assert terminated.tolist() == infos["failed"].tolist() == infos["_failed"].tolist() == bad
    assert not truncated.any()
    last = observations
    if mode is AutoresetMode.SAME_STEP:
        assert infos["_final_obs"].tolist() == bad
        last = np.where(
            np.array(bad)[:, None], np.stack([before[0], *infos["final_obs"][1:3], before[3]]), 0.0
        )
    np.testing.assert_array_equal(last[1:3], before[1:3])
    assert np.isfinite(observations).all()
    for _ in range(3):
        observations, _, _, _, infos = envs.step(np.zeros((4, 1)))
        assert np.isfinite(observations).all()
        assert not infos
    one = interop.Env(limitless.create_default_context(), reward=zero_reward)
    start, _ = one.reset()
    observation, _, over, _, info = one.step([np.inf])
    np.testing.assert_array_equal(observation, start)
    assert over
    assert info == {"failed": True}


# Invalid arguments ----------------------------------------------------------------------------------------


def no_number(*_: Any) -> str:
    return "x"


BAD_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"reward": None}, mbt.ArgumentTypeError, "reward: expected a function, got None"),
    ({"reset": 3}, mbt.ArgumentTypeError, "reset: expected a function"),
    ({"terminated": 3}, mbt.ArgumentTypeError, "terminated: expected a function"),
    ({"observe": 3}, mbt.ArgumentTypeError, "observe: expected a function"),
    ({"control": 3}, mbt.ArgumentTypeError, "control: expected a function"),
    ({"control": no_number}, mbt.ArgumentTypeError, "action_space: expected the space"),
    ({"action_space": 3}, mbt.ArgumentValueError, "action_space: without control"),
    ({"observation_space": 3}, mbt.ArgumentTypeError, "observation_space: expected a Box"),
    ({"observation_space": gymnasium.spaces.Box(0, 1, (3,))}, mbt.ShapeError, "observation_space"),
    ({"observe": no_number}, mbt.ArgumentTypeError, "the result of observe"),
    ({"observe": lambda context: np.zeros(3)}, mbt.ShapeError, "the result of observe"),
    ({"dt": 0.0}, mbt.ArgumentValueError, "dt"),
    ({"dt": np.nan}, mbt.ArgumentValueError, "dt"),
    ({"steps": 0}, mbt.ArgumentValueError, "steps: expected an integer >= 1, got 0"),
    ({"steps": 1.5}, mbt.ArgumentTypeError, "steps"),
    ({"method": "euler"}, mbt.ArgumentValueError, "method"),
    ({"contacts": 3}, mbt.ArgumentTypeError, "contacts: expected"),
    ({"contacts": make_sledge()[1], "method": "implicit"}, mbt.ArgumentValueError, "of this tree"),
    ({"max_episode_steps": 0}, mbt.ArgumentValueError, "max_episode_steps"),
    ({"normalized_actions": 1}, mbt.ArgumentTypeError, "normalized_actions"),
    ({"autoreset_mode": "never"}, mbt.ArgumentValueError, "autoreset_mode"),
    ({"num_envs": 0}, mbt.ArgumentValueError, "num_envs"),
]


def in_words(value: Any) -> str:
    """Return the id of a parameter: the `str` of a function would contain an address."""
    return ", ".join(value) if isinstance(value, dict) else getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("options", "error", "text"), BAD_OPTIONS, ids=in_words)
def test_options_that_are_refused(options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make_envs(make_cart_pole(), **options)


def test_contexts_that_are_refused() -> None:
    tree = make_cart_pole()
    for context, error in (
        (tree, mbt.ArgumentTypeError),
        (tree.to_autodiff().create_default_context(), mbt.ArgumentTypeError),
        (tree.create_default_context((2, 3)), mbt.ShapeError),
        (tree.create_default_context(0), mbt.ShapeError),
    ):
        with pytest.raises(error, match="context: expected"):
            interop.VectorEnv(context, reward=reward)
    with pytest.raises(mbt.ShapeError, match="num_envs: expected 3"):
        interop.VectorEnv(tree.create_default_context(3), 4, reward=reward)
    idle = tree.edit()
    idle.remove(idle.joint_actuators[0])
    idle.finalize()
    with pytest.raises(mbt.ArgumentValueError, match=r'expected a tree with actuators.* actuators="all"'):
        make_envs(idle)
    stone = mbt.MultibodyTree()
    stone.add_body(mbt.RigidBody("stone", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    stone.finalize()
    with pytest.raises(mbt.ArgumentValueError, match=r"give control and action_space$"):
        make_envs(stone)
    with pytest.raises(mbt.ArgumentValueError, match="effort limits of all"):
        make_envs(make_cart_pole(effort_limit=np.inf), normalized_actions=True)


def test_actions_that_are_refused_change_nothing() -> None:
    envs = make_envs(make_cart_pole(), reset=shake)
    before, _ = envs.reset(seed=0)
    for actions, error in ((np.zeros(4), mbt.ShapeError), ("x", mbt.ArgumentTypeError), (None, TypeError)):
        with pytest.raises(error, match="actions"):
            envs.step(actions)
    np.testing.assert_array_equal(envs.context.q, before[:, :2])
    mask = {"reset_mask": [1, 0, 0, 0]}
    for options, wrong in ((mask, mbt.ArgumentTypeError), ({"reset_mask": [True]}, mbt.ShapeError)):
        with pytest.raises(wrong, match="reset_mask"):
            envs.reset(options=options)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"reward": no_number}, mbt.ArgumentTypeError, "the result of reward"),
        ({"reward": lambda context, actions: np.zeros(3)}, mbt.ShapeError, "the result of reward"),
        ({"terminated": lambda context: np.zeros(4)}, mbt.ArgumentTypeError, "the result of terminated"),
        ({"terminated": lambda context: np.zeros(3, bool)}, mbt.ShapeError, "the result of terminated"),
    ],
)
def test_results_of_the_task_that_are_refused(
    options: dict[str, Any], error: type[Exception], text: str
) -> None:
    envs = make_envs(make_cart_pole(), **options)
    envs.reset()
    with pytest.raises(error, match=text):
        envs.step(np.zeros((4, 1)))


def test_forces_of_control_that_are_refused() -> None:
    space = gymnasium.spaces.Box(-1, 1, (3,))
    envs = make_envs(make_cart_pole(), control=lambda context, actions: np.zeros(3), action_space=space)
    envs.reset()
    with pytest.raises(mbt.ShapeError, match="the result of control"):
        envs.step(np.zeros((4, 3)))
    with pytest.raises(mbt.ShapeError, match="actions"):
        envs.step(np.zeros((4, 2)))


def test_what_gymnasium_itself_refuses() -> None:
    envs = make_envs(make_cart_pole())
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros((4, 1)))
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.reset(options={"reset_mask": np.array([True, False, False, False])})
    with pytest.raises(gymnasium.error.Error):
        envs.reset(seed=-1)
    envs.reset()
    envs.close()
    envs.close()
    for call in (envs.reset, lambda: envs.step(np.zeros((4, 1)))):
        with pytest.raises(gymnasium.error.ClosedEnvironmentError):
            call()


# Copies, memory -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_goes_on_alike(duplicate: Callable[[Any], Any]) -> None:
    envs = make_envs(make_cart_pole(), reset=randomize, terminated=leans)
    envs.reset(seed=6)
    for actions in sample_actions(envs, 5):
        envs.step(actions)
    twin = duplicate(envs)
    for actions in sample_actions(envs, 30):
        assert_same(envs.step(actions), twin.step(actions))
    tree, contacts = make_sledge()
    touching = make_envs(tree, 2, reset=start_above, method="implicit", contacts=contacts)
    touching.reset(seed=6)
    twin = duplicate(touching)
    for actions in sample_actions(touching, 10):
        assert_same(touching.step(actions), twin.step(actions))


@pytest.mark.exhaustive
@pytest.mark.skipif(not COUNTS, reason="needs glibc, which reports allocated memory")
def test_memory_stays_over_many_steps() -> None:
    """Episodes keep starting while memory is measured."""
    envs = make_envs(make_cart_pole(), 16, reset=randomize, terminated=leans, max_episode_steps=20)
    envs.reset(seed=0)
    actions = itertools.cycle(list(sample_actions(envs, 50)))
    # The smallest block of the C library has 32 bytes, and a Python object counts as 16.
    assert bytes_a_call(lambda: envs.step(next(actions)), 3000) < 12


def no_reward(context: Any, actions: Any) -> float:
    return 0.0


def make_servo_arm(*, with_limits: bool = True) -> mbt.MultibodyTree:
    """A position servo, a motor, and a velocity servo, in series."""
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.thin_rod_with_mass(1.0, 0.5, [0, 0, 1]).shift([0, 0, 0.25])
    limits = (-0.5, 1.5) if with_limits else (-np.inf, np.inf)
    parent, joints = tree.world_body, []
    for name in ("shoulder", "elbow", "wrist"):
        link = tree.add_body(mbt.RigidBody(name, inertia))
        X_PF = mbt.math.make_pose(p=[0, 0, -0.5])
        joint = tree.add_joint(mbt.RevoluteJoint, name, parent, X_PF, link, None, [0, 1, 0], *limits)
        joints.append(joint.set_velocity_limits([-3.0], [2.0]))
        parent = link
    tree.add_joint_actuator("shoulder", joints[0], 40.0, stiffness=60.0, damping=3.0)
    tree.add_joint_actuator("elbow", joints[1], 5.0)
    tree.add_joint_actuator("wrist", joints[2], 9.0, damping=0.5)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def test_actions_are_targets_of_servos() -> None:
    tree = make_servo_arm()
    envs = interop.VectorEnv(tree.create_default_context(), 3, reward=no_reward, dt=0.002, steps=5)
    np.testing.assert_allclose(envs.single_action_space.low, [-0.5, -5.0, -3.0])
    np.testing.assert_allclose(envs.single_action_space.high, [1.5, 5.0, 2.0])
    observations, _ = envs.reset(seed=0)
    actions = np.array([[0.4, 1.0, 0.5], [-0.2, -2.0, 1.0], [9.0, 9.0, 9.0]])
    observations, *_ = envs.step(actions)
    context = tree.create_default_context((3,))
    taken = np.minimum(actions, [1.5, 5.0, 2.0])
    context.servo_positions = context.servo_velocities = taken
    context.servo_velocities = taken * [0.0, 0.0, 1.0]
    tau = np.zeros((3, 5, 3))
    tau[..., 1] = taken[:, np.newaxis, 1]
    q, v = tree.rollout(context, tau, 0.002, method="implicit")
    np.testing.assert_array_equal(observations, np.concatenate([q[:, -1], v[:, -1]], axis=-1))
    # An episode starts with the targets of the Context.
    envs.reset()
    np.testing.assert_array_equal(envs.context.servo_positions, np.zeros((3, 3)))


def test_normalized_actions_of_servos() -> None:
    tree = make_servo_arm()
    envs = interop.VectorEnv(tree.create_default_context(), 2, reward=no_reward, normalized_actions=True)
    assert (envs.single_action_space.low == -1.0).all()
    envs.reset(seed=0)
    envs.step([[-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(envs.context.servo_positions[:, 0], [-0.5, 0.5])
    np.testing.assert_allclose(envs.context.servo_velocities[:, 2], [2.0, -0.5])
    endless = make_servo_arm(with_limits=False).create_default_context()
    with pytest.raises(
        mbt.ArgumentValueError, match="normalized_actions: expected effort limits of all motors and"
    ):
        interop.VectorEnv(endless, 2, reward=no_reward, normalized_actions=True)


def test_a_control_may_set_the_targets_of_servos() -> None:
    tree = make_servo_arm()

    def control(context: Any, actions: Array) -> Array:
        context.servo_positions = actions
        return np.zeros((2, 3))

    space = gymnasium.spaces.Box(-1.0, 1.0, (3,))
    envs = interop.VectorEnv(
        tree.create_default_context(), 2, reward=no_reward, control=control, action_space=space
    )
    envs.reset(seed=0)
    actions = np.array([[0.3, 0.0, 0.0], [-0.3, 0.0, 0.0]])
    observations, *_ = envs.step(actions)
    # Mirror images: both servos pull equally.
    assert observations[0, 0] > 0.001
    np.testing.assert_allclose(observations[0], -observations[1], rtol=1e-12)
