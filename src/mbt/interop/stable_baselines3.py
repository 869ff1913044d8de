"""Environments of mbt for the algorithms of Stable-Baselines3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError
from mbt.interop.gymnasium import VectorEnv
from mbt.math.arrays import describe_type

try:
    from gymnasium.vector import AutoresetMode
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise MissingPackageError(
        f"mbt.interop.stable_baselines3 needs Stable-Baselines3: pip install stable-baselines3 ({error})"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["as_sb3"]


def as_sb3(envs: VectorEnv) -> Any:
    """Return a ``stable_baselines3.common.vec_env.VecEnv`` that moves the environments of a `VectorEnv`.

    Stable-Baselines3 expects the next episode to begin in the step that ends one: make the environments with
    ``autoreset_mode=AutoresetMode.SAME_STEP``. Its ``seed`` makes one seed for each environment; the
    first seeds the random generator that all environments share.

    Parameters
    ----------
    envs : VectorEnv
        The environments. They are not copied.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When `envs` is not a `VectorEnv`, or has another `autoreset_mode`.

    Examples
    --------
    >>> import mbt
    >>> from gymnasium.vector import AutoresetMode
    >>> from mbt.interop.gymnasium import VectorEnv
    >>> from mbt.interop.stable_baselines3 import as_sb3
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"), actuators="all")
    >>> def reward(context, actions):
    ...     return -(context.q**2).sum(-1)
    >>> envs = VectorEnv(tree.create_default_context(), 8, reward=reward, max_episode_steps=200,
    ...                  normalized_actions=True, autoreset_mode=AutoresetMode.SAME_STEP)
    >>> as_sb3(envs).reset().shape  # PPO("MlpPolicy", as_sb3(envs)).learn(100_000)
    (8, 12)
    """
    if not isinstance(envs, VectorEnv):
        raise ArgumentTypeError(
            f"envs: expected a VectorEnv of mbt.interop.gymnasium, got {describe_type(envs)}"
        )
    mode = envs.metadata["autoreset_mode"]
    if mode is not AutoresetMode.SAME_STEP:
        raise ArgumentValueError(
            f"envs: expected environments with autoreset_mode=AutoresetMode.SAME_STEP, got {mode}"
        )
    return _VecEnv(envs)


class _VecEnv(VecEnv):  # type: ignore[misc]
    """The interface that Stable-Baselines3 calls."""

    def __init__(self, envs: VectorEnv) -> None:
        self.envs = envs
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> Any:
        observations, _ = self.envs.reset(seed=self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: Any) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        observations, rewards, terminated, truncated, infos = self.envs.step(self._actions)
        dones = terminated | truncated
        told: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(dones):
            told[i]["terminal_observation"] = infos["final_obs"][i]
            told[i]["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        for i in np.flatnonzero(infos.get("failed", False)):
            told[i]["failed"] = True
        return observations, rewards.astype(np.float32), dones, told

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.envs, attr_name)] * len(self._numbers(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        self._check_all(indices, "set_attr")
        setattr(self.envs, attr_name, value)

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        self._check_all(indices, "env_method")
        return [getattr(self.envs, method_name)(*args, **kwargs)] * self.num_envs

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * len(self._numbers(indices))

    def _numbers(self, indices: Any) -> Sequence[int]:
        numbers: Sequence[int] = self._get_indices(indices)
        return numbers

    def _check_all(self, indices: Any, what: str) -> None:
        if len(self._numbers(indices)) != self.num_envs:
            raise ArgumentValueError(f"{what}: all environments are one object, so that indices must be None")
