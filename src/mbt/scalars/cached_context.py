"""Caches of kinematics in Contexts other than those of one state of doubles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.context.checks import check_forces, forces_of, raise_foreign_cache, raise_stale_cache
from mbt.context.context import Context
from mbt.errors import ShapeError
from mbt.scalars.caches import (
    ScalarAccelerationKinematics,
    ScalarFramePoses,
    ScalarPositionKinematics,
    ScalarVelocityKinematics,
)

if TYPE_CHECKING:
    from mbt.scalars.scalar_arrays import ScalarArrays

__all__ = ["CachedContext"]


class CachedContext(Context):
    """A Context with kinematics and forces in arrays of its scalar type."""

    __slots__ = ("_cached",)

    if TYPE_CHECKING:
        _cached: dict[str, tuple[Any, Any]]
        _parameters: Any
        _scalars: ScalarArrays

        @property
        def _numbers(self) -> ScalarArrays: ...

    def _position_of(self, pc: Any = None) -> Any:
        """Return position kinematics of the current values: `pc`, if they belong to it."""
        if pc is None:
            return self._cache(
                "position", self._position_serials(), lambda: ScalarPositionKinematics.of(self)
            )
        if isinstance(pc, ScalarPositionKinematics) and pc.serials == self._position_serials():
            return pc
        is_of_another_tree = isinstance(pc, ScalarPositionKinematics) and pc._inputs[0] is not self.tree
        raise_stale_cache("pc", pc, "PositionKinematicsCache", is_of_another_tree)

    def _velocity_of(self, vc: Any = None) -> Any:
        if vc is None:
            return self._cache(
                "velocity", self._velocity_serials(), lambda: ScalarVelocityKinematics.of(self)
            )
        if isinstance(vc, ScalarVelocityKinematics) and vc.serials == self._velocity_serials():
            return vc
        is_of_another_tree = isinstance(vc, ScalarVelocityKinematics) and vc._tree is not self.tree
        raise_stale_cache("vc", vc, "VelocityKinematicsCache", is_of_another_tree)

    def _calc_position_kinematics(self, pc: Any) -> Any:
        """Compute position kinematics, into a cache if one is given."""
        if pc is None:
            return ScalarPositionKinematics.of(self)
        if not isinstance(pc, ScalarPositionKinematics) or pc._inputs[0] is not self.tree:
            raise_foreign_cache("pc", pc, "PositionKinematicsCache")
        return pc._compute(self)

    def _calc_velocity_kinematics(self, pc: Any, vc: Any) -> Any:
        self._position_of(pc)
        if vc is None:
            return ScalarVelocityKinematics.of(self)
        if not isinstance(vc, ScalarVelocityKinematics) or vc._tree is not self.tree:
            raise_foreign_cache("vc", vc, "VelocityKinematicsCache")
        return vc._compute(self)

    def _calc_acceleration_kinematics(self, known_vdot: Any, pc: Any, vc: Any, ac: Any) -> Any:
        if ac is not None and (
            not isinstance(ac, ScalarAccelerationKinematics) or ac.tree is not self.tree or ac.is_of_context
        ):
            raise_foreign_cache("ac", ac, "AccelerationKinematicsCache")
        vdot = self._scalars.as_float_array(known_vdot, "known_vdot", (self.tree.num_velocities,)).copy()
        if self.batch_shape:
            vdot = np.array(np.broadcast_to(vdot, (*self.batch_shape, self.tree.num_velocities)))
        A_WB = self.tree.calc_spatial_accelerations_from_vdot(self, vdot, pc=pc, vc=vc)
        fresh = ScalarAccelerationKinematics(self, A_WB, vdot)
        return fresh if ac is None else ac._take(fresh)

    def _make_accelerations(self, A_WB: Any, vdot: Any) -> ScalarAccelerationKinematics:
        """Return new accelerations, which nobody else computes into."""
        accelerations = ScalarAccelerationKinematics(self, A_WB, vdot)
        accelerations.is_of_context = True
        return accelerations

    def _eval_frame_body_poses(self) -> ScalarFramePoses:
        poses: ScalarFramePoses = self._cache(
            "frames", self._position_serials()[1:], lambda: ScalarFramePoses(self)
        )
        return poses

    # Cached results, with the serial numbers of the values that they were computed from.

    def _cache(self, name: str, serials: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """Return the result cached at these serial numbers, or compute it."""
        known = self._get_cached(name, serials)
        if known is None:
            known = compute()
            self._keep_cached(name, serials, known)
        return known

    def _get_cached(self, name: str, serials: tuple[Any, ...]) -> Any:
        """Return the result cached at these serial numbers, or None."""
        known = self._cached.get(name)
        # Somebody may have recomputed it in place for another state.
        if known is None or known[0] != serials or getattr(known[1], "serials", serials) != serials:
            return None
        return known[1]

    def _keep_cached(self, name: str, serials: tuple[Any, ...], value: Any) -> None:
        self._cached[name] = (serials, value)

    def _position_serials(self) -> tuple[Any, ...]:
        _, q, _, parameters, _, _ = self._serials
        return (q, parameters)

    def _velocity_serials(self) -> tuple[Any, ...]:
        _, q, v, parameters, _, _ = self._serials
        return (q, v, parameters)

    # Forces passed as arguments.

    def _forces_of(self, forces: Any, name: str) -> tuple[Any, Any]:
        """Return both arrays of forces on this tree, with the leading axes of this Context."""
        check_forces(self.tree, forces, name, self.batch_shape)
        return forces.body_forces, forces.generalized_forces

    def _external(self, forces: Any, name: str) -> tuple[Any, Any]:
        """Return both arrays of forces on this tree whose leading axes broadcast to those of this Context."""
        F, tau = forces_of(self.tree, forces, name, single=False)
        if forces.batch_shape == self.batch_shape:
            return F, tau
        try:
            return (
                np.broadcast_to(F, self.batch_shape + F.shape[-2:]),
                np.broadcast_to(tau, self.batch_shape + tau.shape[-1:]),
            )
        except ValueError:
            raise ShapeError(
                f"{name}: expected batch shape {self.batch_shape}, got {forces.batch_shape}"
            ) from None
