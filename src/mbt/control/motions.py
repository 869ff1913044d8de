"""Quantities of a state that the program needs, with default parameters or those of a Context."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt import functional
from mbt.math import skew

if TYPE_CHECKING:
    from mbt.context import Context
    from mbt.tree.frame import Frame
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["GivenMotion", "Motion", "MotionInContext"]


class Motion:
    """A state of a tree with default parameters, of doubles or of traced numbers."""

    def __init__(self, tree: MultibodyTree, q: Any, v: Any) -> None:
        self.tree, self.q, self.v = tree, q, v

    def mass_matrix(self) -> Any:
        """Return M, shape (nv, nv)."""
        return functional.mass_matrix(self.tree, self.q)

    def bias_forces(self) -> Any:
        """Return the generalized forces for zero accelerations, with all force elements acting."""
        return functional.inverse_dynamics(self.tree, self.q, self.v, np.zeros(self.tree.num_velocities))

    def frame_pose(self, frame: Frame) -> Any:
        """Return X_WF."""
        return functional.frame_pose(self.tree, self.q, frame)

    def frame_jacobian(self, frame: Frame) -> Any:
        """Return the spatial Jacobian of the frame's origin in World axes, shape (6, nv)."""
        return functional.frame_jacobian(self.tree, self.q, frame)

    def frame_bias(self, frame: Frame) -> Any:
        """Return the spatial acceleration of the frame's origin at vdot = 0."""
        return functional.frame_bias_acceleration(self.tree, self.q, self.v, frame)

    def center_of_mass(self) -> Any:
        """Return the centre of mass in World."""
        return functional.center_of_mass(self.tree, self.q)

    def center_jacobian(self) -> Any:
        """Return the Jacobian of the centre of mass, shape (3, nv)."""
        return functional.center_of_mass_jacobian(self.tree, self.q)

    def center_bias(self) -> Any:
        """Return the acceleration of the centre of mass at vdot = 0."""
        mass = float(sum(body.default_mass for body in self.tree.bodies[1:]))
        return self.momentum_bias()[3:] / mass

    def momentum_matrix(self) -> Any:
        """Return the matrix A of the momentum ``A v`` about the centre of mass, shape (6, nv)."""
        return functional.centroidal_momentum_matrix(self.tree, self.q)

    def momentum_bias(self) -> Any:
        """Return the rate of this momentum at vdot = 0."""
        return functional.centroidal_momentum_bias(self.tree, self.q, self.v)

    def constraint_jacobian(self) -> Any:
        """Return G, shape (num_constraint_equations, nv)."""
        return functional.constraint_jacobian(self.tree, self.q)

    def constraint_bias(self) -> Any:
        """Return ``Gdot v``."""
        return functional.constraint_bias(self.tree, self.q, self.v)

    def point(self, frame: Frame, p_FP_W: Any) -> tuple[Any, Any]:
        """Return the Jacobian of a frame moved to a point, (6, nv), and its acceleration at vdot = 0."""
        J, bias, shift = self.frame_jacobian(frame), self.frame_bias(frame), skew(p_FP_W)
        w = J[:3] @ self.v
        at_point = np.concatenate([J[:3], J[3:] - shift @ J[:3]])
        centripetal = skew(w) @ (skew(w) @ p_FP_W)
        return at_point, np.concatenate([bias[:3], bias[3:] - shift @ bias[:3] + centripetal])


class MotionInContext(Motion):
    """States of doubles with the parameters of a Context; all quantities have its leading axes."""

    def __init__(self, context: Context, q: Any, v: Any) -> None:
        super().__init__(context.tree, q, v)
        self._context = context.clone()
        self._context.q, self._context.v = q, v

    def mass_matrix(self) -> Any:
        """See `Motion`."""
        return self.tree.calc_mass_matrix(self._context)

    def bias_forces(self) -> Any:
        """See `Motion`."""
        zero = np.zeros_like(self._context.v)
        return self.tree.calc_inverse_dynamics(self._context, zero, include_force_elements=True)

    def frame_pose(self, frame: Frame) -> Any:
        """See `Motion`."""
        return frame.calc_pose_in_world(self._context)

    def frame_jacobian(self, frame: Frame) -> Any:
        """See `Motion`."""
        return self.tree.calc_jacobian_spatial_velocity(self._context, "v", *self._of_origin(frame))

    def frame_bias(self, frame: Frame) -> Any:
        """See `Motion`."""
        return self.tree.calc_bias_spatial_acceleration(self._context, "v", *self._of_origin(frame))

    def _of_origin(self, frame: Frame) -> tuple[Any, ...]:
        return frame, np.zeros(3), self.tree.world_frame, self.tree.world_frame

    def center_of_mass(self) -> Any:
        """See `Motion`."""
        return self.tree.calc_center_of_mass_position_in_world(self._context)

    def center_jacobian(self) -> Any:
        """See `Motion`."""
        return self.momentum_matrix()[..., 3:, :] / self._total_mass()[..., None, None]

    def center_bias(self) -> Any:
        """See `Motion`."""
        return self.momentum_bias()[..., 3:] / self._total_mass()[..., None]

    def _total_mass(self) -> Any:
        return np.asarray(self.tree.calc_total_mass(self._context))

    def momentum_matrix(self) -> Any:
        """See `Motion`."""
        return self.tree.calc_centroidal_momentum_matrix(self._context)

    def momentum_bias(self) -> Any:
        """See `Motion`."""
        zero = np.zeros_like(self._context.v)
        forces = np.empty((*zero.shape[:-1], self.tree.num_bodies, 6))
        self.tree.calc_inverse_dynamics(self._context, zero, F_BMo_W_array=forces)
        torque, force = forces[..., 0, :3], forces[..., 0, 3:]  # on World, about its origin
        return np.concatenate([torque - np.cross(self.center_of_mass(), force), force], axis=-1)

    def constraint_jacobian(self) -> Any:
        """See `Motion`."""
        return self.tree.calc_constraint_jacobian(self._context)

    def constraint_bias(self) -> Any:
        """See `Motion`."""
        return self.tree.calc_constraint_bias(self._context)


class GivenMotion(Motion):
    """A state with given quantities, by name and frame; a `source`, if any, computes missing ones."""

    def __init__(
        self, tree: MultibodyTree, q: Any, v: Any, given: dict[Any, Any], source: Any = None
    ) -> None:
        super().__init__(tree, q, v)
        self._given, self._source = given, source

    def _get(self, name: str, *frames: Any) -> Any:
        key = (name, *frames)
        if self._source is not None and key not in self._given:
            self._given[key] = getattr(self._source, name)(*frames)
        return self._given[key]


def _getter(name: str) -> Callable[..., Any]:
    def get(self: GivenMotion, *frames: Any) -> Any:
        return self._get(name, *frames)

    return get


for _name in vars(Motion):
    if not _name.startswith("_") and _name != "point":
        setattr(GivenMotion, _name, _getter(_name))
