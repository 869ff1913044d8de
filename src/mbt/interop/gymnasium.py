"""Environments of Gymnasium: actions drive a Context of many states in parallel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.context import Context
from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    MissingPackageError,
    ShapeError,
    quote,
    shape_error,
)
from mbt.interop.actions import Actions
from mbt.math.arrays import as_bool, as_count, as_float_array, as_positive, describe_type
from mbt.motion.default_method import choose_method
from mbt.scalars.batch_context import BatchContext
from mbt.scalars.repeated_context import repeat_context
from mbt.scalars.samples import put_samples, spread_declared, take_samples

try:
    import gymnasium
    from gymnasium.error import ClosedEnvironmentError, ResetNeeded
    from gymnasium.spaces import Box
    from gymnasium.vector import AutoresetMode
    from gymnasium.vector.utils import batch_space
except ImportError as error:
    raise MissingPackageError(
        "mbt.interop.gymnasium needs Gymnasium 1.1 or newer, which is not installed: "
        f"pip install 'multibodytree[gymnasium]' ({error})"
    ) from error

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.instance_state import IndexArray

__all__ = ["Env", "VectorEnv"]


class VectorEnv(gymnasium.vector.VectorEnv):  # type: ignore[misc]
    """Environments of one model, each with its state and parameters, which move in one compiled call.

    The functions of a task receive the Context of all environments, ``envs.context``, after the step, and
    compute with its arrays (n, ...). By default actions are the efforts of motors and the targets of servos:
    positions, or velocities where a servo has no stiffness.

    An environment whose state is not finite after a step keeps the state before it, and its episode ends:
    it is terminated, and marked in ``infos["failed"]``.

    Parameters
    ----------
    context : Context
        The state in which episodes start, with parameters and applied forces: a batch ``(n,)``, one state for
        each environment, or a single state for `num_envs` of them. It is copied.
    num_envs : int, optional
        The number of environments.
    reward : callable
        ``reward(context, actions) -> (n,)``, or a number.
    terminated : callable, optional
        ``terminated(context) -> (n,)`` of bool: whether an episode has ended. By default, none ends.
    reset : callable, optional
        ``reset(context, rng, samples)`` changes the Context in which `samples` start, which has the batch
        shape ``samples.shape``: states, and parameters for domain randomization. `rng` is a ``numpy.random.
        Generator``, seeded by ``envs.reset(seed=)``.
    observe : callable, optional
        ``observe(context) -> (n, ...)``. By default, observations are ``[q, v]``.
    control : callable, optional
        ``control(context, actions) -> (n, num_velocities)``: generalized forces of the next steps [N m, N],
        which are clipped to the effort limits of the joints. It may set ``context.servo_positions``: servos
        also act. Needs `action_space`.
    observation_space, action_space : gymnasium.spaces.Space, optional
        The spaces of one environment; that of observations is a ``Box``.
    dt : float, optional
        Length of a step [s].
    steps : int, optional
        Number of steps per action.
    method : {"semi_implicit_euler", "rk4", "implicit"}, optional
        The integration method, see `mbt.functional.rollout`; by default that of `mbt.simulate`.
    contacts : ShapeContact, optional
        Shapes that touch, with ``method="implicit"``.
    max_episode_steps : int, optional
        An episode is truncated after this many actions.
    normalized_actions : bool, optional
        Whether actions are from -1 to 1: fractions of the effort limits of motors, and for servos the way
        from the lower to the upper limit of the position, or of the velocity, of the joint.
    autoreset_mode : gymnasium.vector.AutoresetMode, optional
        When the next episode of an environment begins: with its next action, which is ignored; in the step
        that ends one (then ``infos["final_obs"]`` has the last observation); or on
        ``envs.reset(options={"reset_mask": ...})``.

    Attributes
    ----------
    context : BatchContext
        The current states of all environments.

    Raises
    ------
    ShapeError, ArgumentTypeError, ArgumentValueError
        When an argument, or the result of a function of the task, has the wrong type, shape or value.

    Examples
    --------
    >>> import mbt
    >>> from mbt.interop.gymnasium import VectorEnv
    >>> from mbt.models import model_path
    >>> tree = mbt.load_model(model_path("mbt_arm"), actuators="all")
    >>> def reward(context, actions):
    ...     return -(context.q**2).sum(-1)
    >>> def reset(context, rng, samples):
    ...     context.q = rng.uniform(-1, 1, context.q.shape)
    ...     tree.bodies[-1].set_mass(context, rng.uniform(0.5, 1.5, samples.shape))
    >>> envs = VectorEnv(tree.create_default_context(), 8, reward=reward, reset=reset, max_episode_steps=200)
    >>> observations, _ = envs.reset(seed=0)
    >>> observations, rewards, terminated, truncated, infos = envs.step(envs.action_space.sample())
    >>> observations.shape, rewards.shape
    ((8, 12), (8,))
    """

    def __init__(
        self,
        context: Context,
        num_envs: int | None = None,
        *,
        reward: Callable[[Any, Any], Any],
        terminated: Callable[[Any], Any] | None = None,
        reset: Callable[[Any, np.random.Generator, IndexArray], None] | None = None,
        observe: Callable[[Any], Any] | None = None,
        control: Callable[[Any, Any], Any] | None = None,
        observation_space: Any = None,
        action_space: Any = None,
        dt: float = 0.01,
        steps: int = 1,
        method: str | None = None,
        contacts: Any = None,
        max_episode_steps: int | None = None,
        normalized_actions: bool = False,
        autoreset_mode: Any = AutoresetMode.NEXT_STEP,
    ) -> None:
        self._start = _as_batch(context, num_envs)
        self.context = _as_batch(self._start, None)
        self._tree = tree = context.tree
        (self.num_envs,) = self._start.batch_shape
        self._reward = _as_function(reward, "reward")
        self._terminated = None if terminated is None else _as_function(terminated, "terminated")
        self._reset = None if reset is None else _as_function(reset, "reset")
        self._observe = _observe_state if observe is None else _as_function(observe, "observe")
        self._control = None if control is None else _as_function(control, "control")
        self._steps = as_count(steps, "steps")
        self._dt = as_positive(dt, "dt")
        if method is None:
            method = choose_method(self._start, joint_limits=True, contacts=contacts)
        self._how: dict[str, Any] = {"method": method, "contacts": contacts}
        self._most = None if max_episode_steps is None else as_count(max_episode_steps, "max_episode_steps")
        if not isinstance(autoreset_mode, AutoresetMode):
            raise ArgumentValueError(
                f"autoreset_mode: expected one of gymnasium.vector.AutoresetMode, got {quote(autoreset_mode)}"
            )
        self._mode = autoreset_mode
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}

        self._actions = Actions(tree)
        self._tau_limits = tree.effort_lower_limits, tree.effort_upper_limits
        is_normalized = as_bool(normalized_actions, "normalized_actions")
        self.single_action_space = self._make_action_space(action_space, is_normalized)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.single_observation_space = self._make_observation_space(observation_space)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

        n, nq, nv = self.num_envs, tree.num_positions, tree.num_velocities
        # States before and after the steps of an action.
        self._path = np.empty((n, 2, nq)), np.empty((n, 2, nv))
        self._elapsed = np.zeros(n, dtype=np.int64)
        self._is_over = np.zeros(n, dtype=np.bool_)
        self._has_begun = False
        # Arguments that rollouts reject raise an error here.
        tree.rollout(self.context, np.empty((n, 0, nv)), self._dt, **self._how)

    def _make_action_space(self, space: Any, is_normalized: bool) -> Any:
        if self._control is not None:
            if not isinstance(space, gymnasium.Space):
                raise ArgumentTypeError(
                    f"action_space: expected the space of the actions of control, got {describe_type(space)}"
                )
            return space
        if space is not None:
            raise ArgumentValueError(
                "action_space: without control, actions are efforts of motors and targets of servos"
            )
        if not self._tree.num_actuators:
            drivable = any(j.num_velocities == 1 and j.effort_limit != 0.0 for j in self._tree.joints)
            raise ArgumentValueError(
                "context: expected a tree with actuators, got one without: give control and action_space"
                + (', or load it with actuators="all"' if drivable else "")
            )
        low, high = self._actions.limits(is_normalized)
        return Box(low.astype(np.float32), high.astype(np.float32))

    def _make_observation_space(self, space: Any) -> Any:
        seen = as_float_array(self._observe(self.context), "the result of observe")
        if seen.shape[:1] != (self.num_envs,):
            raise shape_error("the result of observe", (self.num_envs, ...), seen.shape)
        if space is None:
            return Box(-np.inf, np.inf, seen.shape[1:], np.float64)
        if not isinstance(space, Box):
            raise ArgumentTypeError(f"observation_space: expected a Box, got {describe_type(space)}")
        if space.shape != seen.shape[1:]:
            raise shape_error("observation_space", seen.shape[1:], space.shape)
        return space

    # Methods that Gymnasium calls.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode in every environment, or in those selected by a mask.

        Parameters
        ----------
        seed : int, optional
            The seed of the random numbers that the task's `reset` receives.
        options : dict, optional
            ``{"reset_mask": ...}``, bool, (n,): which environments begin an episode.

        Returns
        -------
        observations : ndarray, shape (n, ...)
            The observations of all environments.
        infos : dict
            Empty.
        """
        self._check_open("reset")
        mask = np.ones(self.num_envs, dtype=np.bool_)
        if options is not None and "reset_mask" in options:
            mask = _as_flags(options["reset_mask"], 'options["reset_mask"]', self.num_envs)
            if not self._has_begun and not mask.all():
                raise ResetNeeded("reset() of some environments before a reset() of all")
        super().reset(seed=seed)
        self._begin(mask)
        self._has_begun = True
        return self._look(), {}

    def step(self, actions: Any) -> tuple[Any, FloatArray, Any, Any, dict[str, Any]]:
        """Apply an action to each environment for `steps` steps of `dt`.

        Parameters
        ----------
        actions : array_like
            Actions of the shape of ``envs.action_space``. Efforts beyond the limits are clipped.

        Returns
        -------
        observations : ndarray, shape (n, ...)
            Observations after the steps, or at the start of a new episode.
        rewards : ndarray, shape (n,)
            Zero where an ignored action begins an episode.
        terminated, truncated : ndarray of bool, shape (n,)
            Whether an episode has ended, or has been cut off.
        infos : dict
            ``"failed"``, if a state was not finite; ``"final_obs"``, if an episode ended in this step and the
            next one has begun in it; and, as usual in Gymnasium, their masks ``"_failed"`` and
            ``"_final_obs"``.
        """
        self._check_open("step")
        if not self._has_begun:
            raise ResetNeeded("step() before reset()")
        context, shape = self.context, (self.num_envs,)
        actions, tau = self._take(actions)
        failed = self._move(tau)
        rewards = as_float_array(self._reward(context, actions), "the result of reward")
        if rewards.shape not in ((), shape):
            raise shape_error("the result of reward", shape, rewards.shape)
        rewards = rewards.copy() if rewards.shape else np.full(shape, rewards)
        terminated = failed.copy()
        if self._terminated is not None:
            terminated |= _as_flags(self._terminated(context), "the result of terminated", self.num_envs)
        self._elapsed += 1
        truncated = np.zeros(shape, dtype=np.bool_) if self._most is None else self._elapsed >= self._most
        if self._mode is AutoresetMode.NEXT_STEP and self._is_over.any():
            begins = self._is_over
            self._begin(begins)
            rewards[begins] = 0.0
            for flags in (failed, terminated, truncated):
                flags[begins] = False
        self._is_over = terminated | truncated
        infos: dict[str, Any] = {"failed": failed, "_failed": failed.copy()} if failed.any() else {}
        observations = self._look()
        if self._mode is AutoresetMode.SAME_STEP and self._is_over.any():
            ends = self._is_over
            last = np.full(shape, None, dtype=object)
            for i in np.flatnonzero(ends):
                last[i] = observations[i].copy()
            infos |= {"final_obs": last, "_final_obs": ends, "final_info": {}, "_final_info": ends.copy()}
            self._begin(ends)
            self._is_over = np.zeros(shape, dtype=np.bool_)
            observations = self._look()
        return observations, rewards, terminated, truncated, infos

    # Implementation.

    def _check_open(self, what: str) -> None:
        if self.closed:
            raise ClosedEnvironmentError(f"{what}() after close()")

    def _begin(self, mask: Any) -> None:
        """Begin episodes in the environments of a mask."""
        samples = np.flatnonzero(mask)
        if not samples.size:
            return
        part = take_samples(self._start, samples)
        if self._reset is not None:
            self._reset(part, self.np_random, samples)
        put_samples(self.context, samples, part)
        self._elapsed[samples] = 0

    def _take(self, actions: Any) -> tuple[Any, FloatArray]:
        """Return actions as the functions of the task receive them, and generalized forces."""
        shape = self.action_space.shape
        if self._control is None:
            actions = as_float_array(actions, "actions", shape)
            tau = self._actions.apply(self.context, actions)
        else:
            if shape is not None:
                actions = np.asarray(actions)
                if actions.shape != shape:
                    raise shape_error("actions", shape, actions.shape)
            tau = self._control(self.context, actions)
            tau = as_float_array(tau, "the result of control", (self.num_envs, self._tree.num_velocities))
        return actions, np.clip(tau, *self._tau_limits)

    def _move(self, tau: FloatArray) -> Any:
        """Make the steps of an action; return which environments have no finite state after them."""
        context, count = self.context, self._steps
        forces = tau[:, np.newaxis]
        if count > 1:
            forces = np.broadcast_to(forces, (self.num_envs, count, tau.shape[-1]))
        self._tree.rollout(context, forces, self._dt, **self._how, every=count, out=self._path)
        q, v = (path[:, 1] for path in self._path)
        failed: Any = np.zeros(self.num_envs, dtype=np.bool_)
        # If the sum is finite, so are all its terms.
        if not np.isfinite(q.sum() + v.sum()):
            failed = ~(np.isfinite(q).all(-1) & np.isfinite(v).all(-1))
            q[failed], v[failed] = context.q[failed], context.v[failed]
        context.q, context.v = q, v
        context.time = context.time + count * self._dt
        return failed

    def _look(self) -> Any:
        """Return a new array of the observations of all environments."""
        space = self.observation_space
        seen = as_float_array(self._observe(self.context), "the result of observe", space.shape)
        return np.array(seen, space.dtype)


class Env(gymnasium.Env):  # type: ignore[misc]
    """A single environment, for use without a batch.

    Parameters
    ----------
    context : Context
        The single state in which each episode starts.
    **options
        Those of `VectorEnv` except `num_envs` and `autoreset_mode`. The functions of the task receive and
        return arrays of one environment, (1, ...).

    Attributes
    ----------
    envs : VectorEnv
        The environment as a batch of one.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, context: Context, **options: Any) -> None:
        self.envs = VectorEnv(context, 1, autoreset_mode=AutoresetMode.DISABLED, **options)
        self.action_space = self.envs.single_action_space
        self.observation_space = self.envs.single_observation_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; see `VectorEnv.reset`."""
        super().reset(seed=seed)
        self.envs.np_random = self.np_random
        observations, _ = self.envs.reset()
        return observations[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Apply an action to the environment; see `VectorEnv.step`."""
        space = self.action_space
        actions = np.asarray(action)[np.newaxis] if space.shape is not None else (action,)
        observations, rewards, terminated, truncated, infos = self.envs.step(actions)
        info = {"failed": True} if infos else {}
        return observations[0], float(rewards[0]), bool(terminated[0]), bool(truncated[0]), info

    def close(self) -> None:
        """Close the environment."""
        self.envs.close()


def _as_batch(context: Any, num_envs: int | None) -> BatchContext:
    """Return a copy of a Context as a batch with one axis."""
    if not isinstance(context, Context) or context.tree.scalar_type.name != "double":
        raise ArgumentTypeError(f"context: expected a Context of doubles, got {describe_type(context)}")
    count = None if num_envs is None else as_count(num_envs, "num_envs")
    if not context.batch_shape:
        repeated = repeat_context(context, count or 1)
        spread_declared(repeated)
        return repeated
    if not isinstance(context, BatchContext) or len(context.batch_shape) != 1 or not context.batch_shape[0]:
        raise ShapeError(f"context: expected one state, or a batch (n,) of them, got {context.batch_shape}")
    if count not in (None, *context.batch_shape):
        raise ShapeError(f"num_envs: expected {context.batch_shape[0]} as in the context, got {count}")
    return BatchContext._of_state(context.tree, context._get_state())


def _as_function(function: Any, name: str) -> Callable[..., Any]:
    if not callable(function):
        raise ArgumentTypeError(f"{name}: expected a function, got {describe_type(function)}")
    taken: Callable[..., Any] = function
    return taken


def _as_flags(value: object, name: str, count: int) -> Any:
    flags = np.asarray(value)
    if flags.dtype != np.bool_:
        raise ArgumentTypeError(f"{name}: expected an array of bool, got {flags.dtype}")
    if flags.shape != (count,):
        raise shape_error(name, (count,), flags.shape)
    return flags


def _observe_state(context: Context) -> FloatArray:
    return np.concatenate([context.q, context.v], axis=-1)
