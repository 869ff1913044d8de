"""Kinematics of a Context in arrays of its scalar type, under the names of the caches of doubles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.api.tree_kinematics import FrameBodyPoseCache
from mbt._core.engines.caches import (
    AccelerationKinematicsCache,
    PositionKinematicsCache,
    VelocityKinematicsCache,
)
from mbt._core.engines.context import ContextCore
from mbt._core.quantities.names import Quantity
from mbt.math.leading_axes import fold, join, transpose

if TYPE_CHECKING:
    from mbt.scalars.cached_context import CachedContext

__all__ = [
    "ScalarAccelerationKinematics",
    "ScalarFramePoses",
    "ScalarPositionKinematics",
    "ScalarVelocityKinematics",
]


class ScalarPositionKinematics(PositionKinematicsCache):
    """Kinematics that depend on positions only; see `PositionKinematicsCache`."""

    _parts: dict[str, Any]
    serials: tuple[Any, ...] = ()
    _inputs: tuple[Any, ...]

    @classmethod
    def of(cls, context: CachedContext) -> ScalarPositionKinematics:
        """Return those of the current values of a Context."""
        return cls(context.tree._compiled)._compute(context)  # type: ignore[arg-type]

    def _compute(self, context: CachedContext) -> ScalarPositionKinematics:
        if context.batch_shape:
            # The other parts take five times as much memory.
            self._parts = {"X_WB": context._numbers.frozen(context._evaluate(Quantity.BODY_POSES))}
        else:
            self._parts = {}
            self._take_parts(context.tree, context._numbers, context._evaluate(Quantity.POSITION_KINEMATICS))
        self.serials = context._position_serials()
        # Rarely used quantities are computed on demand from these inputs, which never change.
        self._inputs = (context.tree, context._numbers, context.q, context._parameters)
        return self

    def _take_parts(self, tree: Any, numbers: Any, flat: Any) -> None:
        nb, nv = tree.num_bodies, tree.num_velocities
        names = ("X_FM", "X_PB", "X_WB")
        parts = {
            name: fold(flat[..., 16 * nb * i : 16 * nb * (i + 1)], nb, 4, 4) for i, name in enumerate(names)
        }
        parts["H_FM"] = fold(flat[..., 48 * nb : 48 * nb + 6 * nv], nv, 6)
        parts["H_PB_W"] = fold(flat[..., 48 * nb + 6 * nv :], nv, 6)
        for name, part in parts.items():
            self._parts.setdefault(name, numbers.frozen(part))

    def _part(self, name: str) -> Any:
        if name not in self._parts:
            tree, numbers, _, _ = self._inputs
            self._take_parts(tree, numbers, self._evaluate(Quantity.POSITION_KINEMATICS))
        return self._parts[name]

    @property
    def X_WB(self) -> Any:
        """Pose of each body in World, (num_bodies, 4, 4)."""
        return self._parts["X_WB"]

    @property
    def X_PB(self) -> Any:
        """Pose of each body in its parent body, (num_bodies, 4, 4)."""
        return self._part("X_PB")

    @property
    def X_FM(self) -> Any:
        """Pose of each body's outboard frame in its inboard frame, (num_bodies, 4, 4)."""
        return self._part("X_FM")

    @property
    def X_BF(self) -> Any:
        """Pose of each frame in its body, (num_frames, 4, 4)."""
        if "X_BF" not in self._parts:
            self._parts["X_BF"] = self._inputs[1].frozen(self._evaluate(Quantity.FRAME_POSES))
        return self._parts["X_BF"]

    @property
    def H_FM(self) -> Any:
        """Motion axes, of M in F, (num_velocities, 6)."""
        return self._part("H_FM")

    @property
    def H_PB_W(self) -> Any:
        """Motion axes, of B in P, in World, (num_velocities, 6)."""
        return self._part("H_PB_W")

    @property
    def com_W(self) -> Any:
        """Position of each body's centre of mass from its origin, in World, (num_bodies, 3) [m]."""
        nb = self._num_bodies()
        return self._later("com_W", Quantity.SPATIAL_INERTIAS, slice(0, 3 * nb), (nb, 3))

    @property
    def M_Bo_W(self) -> Any:
        """Spatial inertia of each body about its origin, in World, (num_bodies, 6, 6)."""
        nb = self._num_bodies()
        return self._later("M_Bo_W", Quantity.SPATIAL_INERTIAS, slice(3 * nb, None), (nb, 6, 6))

    def _num_bodies(self) -> int:
        return int(self.X_WB.shape[-3])

    def _later(self, name: str, quantity: Quantity, part: slice, shape: tuple[int, ...]) -> Any:
        if name not in self._parts:
            flat = self._evaluate(quantity)
            self._parts[name] = self._inputs[1].frozen(fold(flat[..., part], *shape).copy())
        return self._parts[name]

    def _evaluate(self, quantity: Quantity) -> Any:
        """Return a quantity at the positions of this cache, without its Context, which may hold the cache."""
        tree, numbers, q, parameters = self._inputs
        engine = numbers.make_engine(tree._compiled)
        v = numbers.frozen(numbers.zeros((tree.num_velocities,)))
        for name, array in (("q", q), ("v", v), ("parameters", parameters)):
            numbers.set_engine(engine, name, array)
        return engine.evaluate(ContextCore(tree), quantity, ())


class ScalarVelocityKinematics(VelocityKinematicsCache):
    """Kinematics that depend on positions and velocities; see `VelocityKinematicsCache`."""

    _parts: dict[str, Any]
    serials: tuple[Any, ...] = ()

    @classmethod
    def of(cls, context: CachedContext) -> ScalarVelocityKinematics:
        """Return those of the current values of a Context."""
        return cls(context.tree._compiled)._compute(context)  # type: ignore[arg-type]

    def _compute(self, context: CachedContext) -> ScalarVelocityKinematics:
        parts = context._evaluate(Quantity.VELOCITY_KINEMATICS)
        self._parts = {
            name: context._numbers.frozen(parts[..., i, :, :].copy())
            for i, name in enumerate(("V_PB_W", "V_PB", "V_WB"))
        }
        self.serials = context._velocity_serials()
        self._tree = context.tree
        return self

    @property
    def V_WB(self) -> Any:
        """Spatial velocity of each body in World, (num_bodies, 6) [rad/s, m/s]."""
        return self._parts["V_WB"]

    @property
    def V_PB(self) -> Any:
        """Spatial velocity of each body in its parent body, expressed in the parent, (num_bodies, 6)."""
        return self._parts["V_PB"]

    @property
    def V_PB_W(self) -> Any:
        """Spatial velocity of each body in its parent body, expressed in World, (num_bodies, 6)."""
        return self._parts["V_PB_W"]


class ScalarAccelerationKinematics(AccelerationKinematicsCache):
    """Accelerations; see `AccelerationKinematicsCache`."""

    def __init__(self, context: CachedContext, A_WB: Any, vdot: Any) -> None:
        self._A_WB = context._numbers.frozen(A_WB)
        self._vdot = context._numbers.frozen(vdot)
        self.tree = context.tree
        # A Context returns it: nobody else computes into it.
        self.is_of_context = False

    def _take(self, other: ScalarAccelerationKinematics) -> ScalarAccelerationKinematics:
        """Take the arrays of another object; arrays returned earlier stay with their holders."""
        self._A_WB, self._vdot = other._A_WB, other._vdot
        return self

    @property
    def A_WB(self) -> Any:
        """Spatial acceleration of each body in World, (num_bodies, 6) [rad/s^2, m/s^2]."""
        return self._A_WB

    @property
    def vdot(self) -> Any:
        """The generalized accelerations of `A_WB`, (num_velocities,)."""
        return self._vdot

    def __repr__(self) -> str:
        """Show the sizes."""
        bodies, velocities = self.A_WB.shape[-2], self.vdot.shape[-1]
        return f"<AccelerationKinematicsCache: {bodies} bodies, {velocities} velocities>"


class ScalarFramePoses(FrameBodyPoseCache):
    """Poses of all frames in their bodies; see `FrameBodyPoseCache`."""

    def __init__(self, context: CachedContext) -> None:
        # Does not call the base class, which holds poses of doubles.
        numbers = context._numbers
        tree = context.tree
        X_BF = context._evaluate(Quantity.FRAME_POSES)
        R_FB = transpose(X_BF[..., :3, :3])
        p_FB = -(R_FB @ X_BF[..., :3, 3:])
        self._tree = tree
        self._X_BF = numbers.frozen(X_BF)
        self._inverse = numbers.frozen(join([join([R_FB, p_FB]), X_BF[..., 3:, :]], -2))
        self._is_identity = np.array(
            [numbers.is_identity(X_BF[..., i, :, :]) for i in range(tree.num_frames)], dtype=bool
        )

    def is_of(self, tree: Any) -> bool:
        """Return whether the poses belong to the frames of a tree."""
        return tree is self._tree

    @property
    def X_BF(self) -> Any:
        """Pose of each frame in its body, (num_frames, 4, 4)."""
        return self._X_BF

    @property
    def X_FB(self) -> Any:
        """Pose of each frame's body in the frame, (num_frames, 4, 4)."""
        return self._inverse

    @property
    def is_X_BF_identity(self) -> Any:
        """Whether each frame coincides exactly with that of its body, (num_frames,)."""
        return self._is_identity
