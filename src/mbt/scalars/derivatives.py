"""Partial derivatives of the dynamics of a tree of any scalar, along each degree of freedom."""

from __future__ import annotations

from typing import Any

from mbt._core.variants import Quantity
from mbt.errors import ArgumentTypeError, ShapeError
from mbt.math.leading_axes import flatten
from mbt.scalars.identification import ScalarIdentification

__all__ = ["ScalarDerivatives"]


class ScalarDerivatives(ScalarIdentification):
    """Each method is that of `MultibodyTree` in arrays of the scalar: with derivatives, second ones."""

    __slots__ = ()

    def calc_inverse_dynamics_derivatives(
        self,
        c: Any,
        known_vdot: Any,
        external_forces: Any = None,
        *,
        include_force_elements: bool = False,
        out: Any = None,
    ) -> Any:
        vdot = self._numbers.as_float_array(known_vdot, "known_vdot", (self.tree.num_velocities,))
        F = None
        if external_forces is not None:
            F, _ = self._external(c, external_forces, "external_forces")
        if include_force_elements:
            if not self.tree._user_force_elements:
                return self._derivatives(c, Quantity.INVERSE_DYNAMICS_DERIVATIVES, vdot, F, out)
            by_q, by_v = c._differentiate_user_forces()
            dq, dv, M = self._derivatives(c, Quantity.INVERSE_DYNAMICS_DERIVATIVES, vdot, F)
            return self._write_all(out, (dq - by_q, dv - by_v, M))
        return self._derivatives(c, Quantity.MOTION_FORCES_DERIVATIVES, vdot, F, out)

    def calc_forward_dynamics_derivatives(
        self, c: Any, tau_applied: Any = None, external_forces: Any = None, *, out: Any = None
    ) -> Any:
        numbers = self._numbers
        tau = numbers.zeros((self.tree.num_velocities,))
        if tau_applied is not None:
            tau = numbers.as_float_array(tau_applied, "tau_applied", (self.tree.num_velocities,))
        pairs = [] if external_forces is None else [self._external(c, external_forces, "external_forces")]
        if c._has_applied_forces:
            pairs.append(self._forces_of(c, c.applied_forces, "context.applied_forces"))
        F, tau_forces = self._sum_of_forces(pairs)
        if F is not None:
            tau = tau + tau_forces
        if c._has_actuation:
            dofs = [actuator.joint.velocity_start for actuator in self.tree.joint_actuators]
            tau = numbers.add_at(tau, dofs, c.actuation)
        if not self.tree._user_force_elements:
            return self._derivatives(c, Quantity.FORWARD_DYNAMICS_DERIVATIVES, tau, F, out)
        # They act as forces on dofs that change with q and v: dvdot += M^-1 dtau.
        by_q, by_v = c._differentiate_user_forces()
        tau = tau + self._calc_user_generalized_forces(c)
        dq, dv, M_inverse = self._derivatives(c, Quantity.FORWARD_DYNAMICS_DERIVATIVES, tau, F)
        return self._write_all(out, (dq + M_inverse @ by_q, dv + M_inverse @ by_v, M_inverse))

    def _derivatives(
        self, c: Any, quantity: Quantity, x: Any, F: Any, out: Any = None
    ) -> tuple[Any, Any, Any]:
        nv = self.tree.num_velocities
        if F is not None:
            x = self._numbers.concatenate([x, flatten(F, 2)])
        outs = (None,) * 3 if out is None else _three(out)
        dq, dv, dx = c._parts(outs, (nv, nv), quantity, x, -1 if F is None else 1)
        return dq, dv, dx

    def _calc_user_generalized_forces(self, c: Any, elements: Any = None) -> Any:
        F, tau = self._sum_of_forces(self._user_forces(c, elements))
        return self._generalized(c, F, tau)

    def _write_all(self, out: Any, results: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        if out is None:
            return results
        named = (f"out[{i}]" for i in range(3))
        first, second, third = self._numbers.write_all(*zip(_three(out), results, named, strict=True))
        return first, second, third


def _three(out: Any) -> tuple[Any, Any, Any]:
    """Return what three results are written into."""
    if not isinstance(out, tuple):
        raise ArgumentTypeError(f"out: expected a tuple of 3 arrays, got {type(out).__name__}")
    if len(out) != 3:
        raise ShapeError(f"out: expected a tuple of 3 arrays, got {len(out)}")
    first, second, third = out
    return first, second, third
