"""Environments for Stable-Baselines3: its algorithms get what the environments of Gymnasium return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt.errors import ArgumentTypeError, ArgumentValueError

pytestmark = pytest.mark.engine
gymnasium: Any = pytest.importorskip("gymnasium", reason="needs the extra `gymnasium`")
vec_env: Any = pytest.importorskip("stable_baselines3.common.vec_env")
interop: Any = pytest.importorskip("mbt.interop.stable_baselines3")

AutoresetMode = gymnasium.vector.AutoresetMode


def make_envs(**options: Any) -> Any:
    """Arms that fall: episodes end after four actions, or earlier for arms that move fast."""
    from mbt.interop.gymnasium import VectorEnv

    tree = mbt.load_model(mbt.models.model_path("mbt_arm"), actuators="all")

    def reset(context: Any, rng: np.random.Generator, samples: Any) -> None:
        context.q = rng.uniform(-1.0, 1.0, context.q.shape)

    task = {
        "reward": lambda context, actions: -(context.q**2).sum(-1),
        "terminated": lambda context: abs(context.v).max(-1) > 12.0,
        "reset": reset,
        "max_episode_steps": 4,
        "steps": 2,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }
    return VectorEnv(tree.create_default_context(), 6, **{**task, **options})


def test_steps_are_those_of_the_environments() -> None:
    envs, adapted = make_envs(), interop.as_sb3(make_envs())
    assert isinstance(adapted, vec_env.VecEnv)
    assert adapted.seed(3)[:2] == [3, 4]
    np.testing.assert_array_equal(adapted.reset(), envs.reset(seed=3)[0])
    ended = {True: 0, False: 0}
    for actions in 100.0 * np.random.default_rng(1).normal(size=(12, *envs.action_space.shape)):
        expected, rewards, terminated, truncated, infos = envs.step(actions)
        seen, given, dones, told = adapted.step(actions)
        np.testing.assert_array_equal(seen, expected)
        np.testing.assert_array_equal(given, rewards.astype(np.float32))
        np.testing.assert_array_equal(dones, terminated | truncated)
        for i, info in enumerate(told):
            assert bool(info) == dones[i]
            if dones[i]:
                np.testing.assert_array_equal(info["terminal_observation"], infos["final_obs"][i])
                assert info["TimeLimit.truncated"] == (truncated[i] and not terminated[i])
                ended[info["TimeLimit.truncated"]] += 1
    assert ended[True] > 0
    assert ended[False] > 0


def test_an_algorithm_learns_with_them() -> None:
    """The result does not matter: two updates of PPO, through the wrapper that counts episodes."""
    from stable_baselines3 import PPO

    envs = vec_env.VecMonitor(interop.as_sb3(make_envs(normalized_actions=True)))
    model = PPO("MlpPolicy", envs, n_steps=8, batch_size=24, n_epochs=1, seed=0, device="cpu")
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(2 * 8 * 6)
    assert len(model.ep_info_buffer) > 6
    assert any((p != old).any() for p, old in zip(model.policy.parameters(), before, strict=True))


def test_attributes_are_those_of_all_environments() -> None:
    adapted = interop.as_sb3(make_envs())
    assert adapted.get_attr("num_envs", indices=[0, 1]) == [6, 6]
    assert adapted.env_is_wrapped(gymnasium.Wrapper) == [False] * 6
    assert not adapted.has_attr("no_such_thing")
    adapted.set_attr("spec", None)
    with pytest.raises(ArgumentValueError, match="all environments are one object"):
        adapted.set_attr("spec", None, indices=0)
    with pytest.raises(ArgumentValueError, match="all environments are one object"):
        adapted.env_method("close", indices=[1])
    assert adapted.env_method("close") == [None] * 6


def test_what_is_refused() -> None:
    with pytest.raises(
        ArgumentTypeError, match=r"envs: expected a VectorEnv of mbt\.interop\.gymnasium, got"
    ):
        interop.as_sb3(None)
    with pytest.raises(ArgumentValueError, match=r"autoreset_mode=AutoresetMode\.SAME_STEP, got"):
        interop.as_sb3(make_envs(autoreset_mode=AutoresetMode.NEXT_STEP))
