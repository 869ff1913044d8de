"""Dynamics of a tree of any scalar: inverse and forward, with accelerations and reactions."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt._core.variants import Quantity
from mbt.context.checks import body_node_index, check_forces, forces_of
from mbt.errors import ShapeError
from mbt.math.leading_axes import cut, entry_of, flatten, fold, join
from mbt.scalars.caches import ScalarAccelerationKinematics
from mbt.scalars.hints import hinting_at_functions
from mbt.scalars.kinematics import (
    ScalarKinematics,
    acceleration_of_point,
    relative_acceleration,
    velocity_of_point,
)

__all__ = ["ScalarDynamics"]

# Plain numbers: those of an enumeration take longer to look up than a small computation.
_MOTION_FORCES = int(Quantity.MOTION_FORCES)
_INVERSE_DYNAMICS = int(Quantity.INVERSE_DYNAMICS)
_FORWARD_DYNAMICS = int(Quantity.FORWARD_DYNAMICS)
_MASS_MATRIX = int(Quantity.MASS_MATRIX)
_MASS_MATRIX_INVERSE = int(Quantity.MASS_MATRIX_INVERSE)
_CORIOLIS_MATRIX = int(Quantity.CORIOLIS_MATRIX)
_GRAVITY_GENERALIZED_FORCES = int(Quantity.GRAVITY_GENERALIZED_FORCES)


class ScalarDynamics(ScalarKinematics):
    """What moves the bodies; each method is that of `MultibodyTree` in arrays of the scalar."""

    __slots__ = ()

    def _user_forces(self, c: Any, elements: Any = None) -> list[tuple[Any, Any]]:
        """Return the forces of the elements written by users, all or some: none or one pair of arrays."""
        if elements is None:
            elements = self.tree._user_force_elements
        if not elements:
            return []
        pc, vc = self.eval_position_kinematics(c), self.eval_velocity_kinematics(c)
        forces = c._new_forces()
        with hinting_at_functions(self.tree.scalar_type), c._exclusive():
            for element in elements:
                element.calc_and_add_force_contribution(c, pc, vc, forces)
        return [(forces.body_forces, forces.generalized_forces)]

    def _forces_of(self, c: Any, forces: Any, name: str) -> tuple[Any, Any]:
        """Return both arrays of forces on this tree, with the leading axes of a Context."""
        check_forces(self.tree, forces, name, c.batch_shape)
        return forces.body_forces, forces.generalized_forces

    def _external(self, c: Any, forces: Any, name: str) -> tuple[Any, Any]:
        """Return both arrays of forces on this tree whose leading axes broadcast to those of a Context."""
        F, tau = forces_of(self.tree, forces, name, single=False)
        if forces.batch_shape == c.batch_shape:
            return F, tau
        try:
            F = np.broadcast_to(F, c.batch_shape + F.shape[-2:])
            return F, np.broadcast_to(tau, c.batch_shape + tau.shape[-1:])
        except ValueError:
            raise ShapeError(
                f"{name}: expected batch shape {c.batch_shape}, got {forces.batch_shape}"
            ) from None

    def _sum_of_forces(self, pairs: list[tuple[Any, Any]]) -> tuple[Any, Any]:
        """Return the sum of body forces and of generalized forces, both None where there are none."""
        if not pairs:
            return None, None
        F, tau = pairs[0][0].copy(), pairs[0][1].copy()
        for more_F, more_tau in pairs[1:]:
            F, tau = self._numbers.add(F, more_F), self._numbers.add(tau, more_tau)
        return F, tau

    def _generalized(self, c: Any, F: Any, tau: Any) -> Any:
        """``tau + sum of J' F``."""
        return tau + c._evaluate(Quantity.GENERALIZED_FORCES, flatten(F, 2))

    def calc_inverse_dynamics(
        self,
        c: Any,
        known_vdot: Any,
        external_forces: Any = None,
        *,
        pc: Any = None,
        vc: Any = None,
        include_force_elements: bool = False,
        A_WB_array: Any = None,
        F_BMo_W_array: Any = None,
        out: Any = None,
    ) -> Any:
        if (
            external_forces is None
            and A_WB_array is None
            and F_BMo_W_array is None
            and pc is None
            and vc is None
            and not (include_force_elements and self.tree._user_force_elements)
        ):
            quantity = _INVERSE_DYNAMICS if include_force_elements else _MOTION_FORCES
            return c._run(quantity, known_vdot, "known_vdot", out=out)
        numbers = self._numbers
        if pc is not None:
            self._position_of(c, pc)
        if vc is not None:
            self._velocity_of(c, vc)
        vdot = numbers.as_float_array(known_vdot, "known_vdot", (self.tree.num_velocities,))
        with_elements = bool(include_force_elements)
        pairs = [] if external_forces is None else [self._external(c, external_forces, "external_forces")]
        if with_elements:
            pairs += self._user_forces(c)
        tau = c._evaluate(Quantity.INVERSE_DYNAMICS if with_elements else Quantity.MOTION_FORCES, vdot)
        F, tau_applied = self._sum_of_forces(pairs)
        if F is not None:
            tau = tau - self._generalized(c, F, tau_applied)
        A_WB = F_BMo_W = None
        if A_WB_array is not None:
            A_WB = fold(c._evaluate(Quantity.ACCELERATION_KINEMATICS, vdot), self.tree.num_bodies, 6)
        if F_BMo_W_array is not None:
            if with_elements:
                F_elements, _ = self._element_forces(c)
                F = F_elements if F is None else numbers.add(F_elements, F)
            F_BMo_W = self._forces_through_mobilizers(c, vdot, F)
        targets = ((A_WB_array, A_WB, "A_WB_array"), (F_BMo_W_array, F_BMo_W, "F_BMo_W_array"))
        return numbers.write_all(*targets, (out, tau, "out"))[2]

    def _forces_through_mobilizers(self, c: Any, vdot: Any, F: Any) -> Any:
        if F is None:
            F = self._numbers.zeros((self.tree.num_bodies, 6))
        x = self._numbers.concatenate([vdot, flatten(F, 2)])
        return fold(c._evaluate(Quantity.REACTION_FORCES, x), self.tree.num_bodies, 6)

    def _element_forces(self, c: Any) -> tuple[Any, Any]:
        """Return the forces of gravity, damping and all elements of the compiled core."""
        return self._split_forces(c._evaluate(Quantity.ELEMENT_FORCES))

    def _split_forces(self, flat: Any) -> tuple[Any, Any]:
        """Body forces and generalized forces out of one array."""
        split = 6 * self.tree.num_bodies
        return fold(flat[..., :split], self.tree.num_bodies, 6), flat[..., split:]

    def calc_bias_term(self, c: Any, *, out: Any = None) -> Any:
        zeros = np.zeros(self.tree.num_velocities)
        return c._run(_MOTION_FORCES, zeros, "zeros", out=out)

    def calc_gravity_generalized_forces(self, c: Any, *, out: Any = None) -> Any:
        return c._run(_GRAVITY_GENERALIZED_FORCES, out=out)

    def calc_mass_matrix(self, c: Any, *, out: Any = None) -> Any:
        return c._run(_MASS_MATRIX, square=True, out=out)

    def calc_mass_matrix_inverse(self, c: Any, *, out: Any = None) -> Any:
        return c._run(_MASS_MATRIX_INVERSE, square=True, out=out)

    def calc_coriolis_matrix(self, c: Any, *, out: Any = None) -> Any:
        return c._run(_CORIOLIS_MATRIX, square=True, out=out)

    def calc_mass_matrix_via_inverse_dynamics(self, c: Any, *, out: Any = None) -> Any:
        c = c.clone()
        nv = self.tree.num_velocities
        c.v = self._numbers.zeros((nv,))
        if nv == 0:
            return self._numbers.write(
                out, self._numbers.zeros((*c.batch_shape, 0, 0), *c._count_like()), "out"
            )
        columns = [c._evaluate(Quantity.MOTION_FORCES, self._numbers.take_numbers(row)) for row in np.eye(nv)]
        return self._numbers.write(out, np.stack(columns, -1), "out")

    def calc_forward_dynamics(
        self, c: Any, tau_applied: Any = None, external_forces: Any = None, *, out: Any = None
    ) -> Any:
        if external_forces is None and not (
            c._has_actuation or c._has_applied_forces or self.tree._user_force_elements
        ):
            tau = np.zeros(self.tree.num_velocities) if tau_applied is None else tau_applied
            return c._run(_FORWARD_DYNAMICS, tau, "tau_applied", out=out)
        numbers = self._numbers
        if tau_applied is None:
            tau = numbers.zeros((self.tree.num_velocities,))
        else:
            tau = numbers.as_float_array(tau_applied, "tau_applied", (self.tree.num_velocities,))
        pairs = [] if external_forces is None else [self._external(c, external_forces, "external_forces")]
        return self._solve_forward_dynamics(c, tau, pairs + self._applied(c) + self._user_forces(c), out)

    def _applied(self, c: Any) -> list[tuple[Any, Any]]:
        """Return the applied forces of a Context: none or one pair of arrays."""
        if not c._has_applied_forces:
            return []
        return [self._forces_of(c, c.applied_forces, "context.applied_forces")]

    def _solve_forward_dynamics(self, c: Any, tau: Any, pairs: list[tuple[Any, Any]], out: Any = None) -> Any:
        """Return the accelerations under force elements, actuation, and pairs of other forces."""
        F, tau_forces = self._sum_of_forces(pairs)
        if F is not None:
            tau = tau + self._generalized(c, F, tau_forces)
        if c._has_actuation:
            dofs = [actuator.joint.velocity_start for actuator in self.tree.joint_actuators]
            tau = self._numbers.add_at(tau, dofs, c.actuation)
        return c._result(out, (self.tree.num_velocities,), Quantity.FORWARD_DYNAMICS, tau)

    def calc_force_elements_contribution(self, c: Any, forces: Any, *, pc: Any = None, vc: Any = None) -> Any:
        self._forces_of(c, forces, "forces")
        if pc is not None:
            self._position_of(c, pc)
        if vc is not None:
            self._velocity_of(c, vc)
        pairs = [self._element_forces(c), *self._user_forces(c)]
        forces.body_forces, forces.generalized_forces = self._sum_of_forces(pairs)
        return forces

    # Accelerations by forward dynamics.

    def eval_acceleration_kinematics(self, c: Any) -> Any:
        return self._accelerations(c, self._user_forces(c))

    def _accelerations(self, c: Any, user: list[tuple[Any, Any]]) -> ScalarAccelerationKinematics:
        """Return the accelerations under all forces, those of `_user_forces` among them."""
        applied = self._applied(c)

        def compute() -> ScalarAccelerationKinematics:
            zeros = self._numbers.zeros((self.tree.num_velocities,))
            vdot = self._solve_forward_dynamics(c, zeros, applied + user)
            return ScalarAccelerationKinematics(c, self.calc_spatial_accelerations_from_vdot(c, vdot), vdot)

        # Applied forces may be written in place; and nobody but elements of users knows what these read.
        ac = compute() if applied or user else c._cache("acceleration", c._serials, compute)
        ac.is_of_context = True
        return ac

    def eval_body_spatial_acceleration_in_world(self, c: Any, body: Any) -> Any:
        return self.eval_acceleration_kinematics(c).A_WB[..., body_node_index(self.tree, body), :]

    def _calc_frame_acceleration(
        self, c: Any, frame_F: Any, frame_M: Any, frame_E: Any, name_M: str, name_E: str
    ) -> Any:
        f = self._frame(frame_F, "frame_F")
        a, e = self._frame(frame_M, name_M), self._frame(frame_E, name_E)
        A_WB = self.eval_acceleration_kinematics(c).A_WB
        p = self._p_WoFo(c, f)
        return self._express(c, e, self._acceleration_of(c, A_WB, self._node_of(f), self._node_of(a), p))

    def _acceleration_of(self, c: Any, A_WB: Any, node: int, measured_in: int, p_WoP: Any) -> Any:
        """Acceleration of a point of a body as measured in another one, expressed in World."""
        pc, vc = self.eval_position_kinematics(c), self.eval_velocity_kinematics(c)
        V_WP = velocity_of_point(pc, vc, node, p_WoP)
        A_WP = acceleration_of_point(pc, vc, A_WB, node, p_WoP)
        return relative_acceleration(pc, vc, A_WB, measured_in, p_WoP, V_WP, A_WP)

    def calc_reaction_forces(self, c: Any, *, out: Any = None) -> Any:
        # Once: accelerations and reactions are those of the same forces.
        user = self._user_forces(c)
        vdot = self._accelerations(c, user).vdot
        pairs = [self._element_forces(c), *user, *self._applied(c)]
        F_BMo_W = self._forces_through_mobilizers(c, vdot, self._sum_of_forces(pairs)[0])
        rows = [self._reaction(c, joint, F_BMo_W) for joint in self.tree.joints]
        reactions = np.stack(rows, -2) if rows else self._numbers.zeros((*c.batch_shape, 0, 6))
        return self._numbers.write(out, reactions, "out")

    def _reaction(self, c: Any, joint: Any, F_BMo_W: Any) -> Any:
        """Return the force on the child of a joint at Jc, in Jc."""
        frame = joint.frame_on_child
        mobilizer = joint.mobilizer
        node = mobilizer.outboard_body._node_index
        torque, force = cut(F_BMo_W[..., node, :], 3)
        p_JcMo = self._p_WoFo(c, mobilizer.outboard_frame._index) - self._p_WoFo(c, frame._index)
        F_Jc = self._express(c, frame._index, join([torque + np.cross(p_JcMo, force), force]))
        return F_Jc if frame.body._node_index == node else -F_Jc

    # One force element, for the methods of elements.

    def _calc_force_element(self, c: Any, index: int, what: str, pc: Any = None, vc: Any = None) -> Any:
        self._position_of(c, pc)
        if what != "potential_energy":
            self._velocity_of(c, vc)
        return entry_of(c._evaluate(_ELEMENT[what], None, index), 0)

    def _add_force_element(self, c: Any, index: int, pc: Any, vc: Any, forces: Any) -> None:
        self._position_of(c, pc)
        self._velocity_of(c, vc)
        self._forces_of(c, forces, "forces")
        forces._add_arrays(*self._split_forces(c._evaluate(Quantity.ELEMENT_FORCE, None, index)))

    def _add_gravity(self, c: Any, pc: Any, forces: Any) -> None:
        self._position_of(c, pc)
        self._forces_of(c, forces, "forces")
        forces._add_arrays(fold(c._evaluate(Quantity.GRAVITY_FORCES), self.tree.num_bodies, 6))

    def _calc_gravity(self, c: Any, what: str, pc: Any = None, vc: Any = None) -> Any:
        self._position_of(c, pc)
        if what == "potential_energy":
            return entry_of(c._evaluate(Quantity.GRAVITY_POTENTIAL_ENERGY), 0)
        self._velocity_of(c, vc)
        return entry_of(c._evaluate(Quantity.GRAVITY_POWER), 0)


_ELEMENT = {
    "potential_energy": Quantity.ELEMENT_POTENTIAL_ENERGY,
    "conservative_power": Quantity.ELEMENT_CONSERVATIVE_POWER,
    "non_conservative_power": Quantity.ELEMENT_NON_CONSERVATIVE_POWER,
}
