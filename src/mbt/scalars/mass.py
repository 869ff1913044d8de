"""Mass, centre of mass, momentum and energy of a tree of any scalar."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt._core.variants import Quantity
from mbt.context.body_selection import mask_of_bodies, mask_of_instances, raise_no_mass
from mbt.context.checks import check_with_respect_to
from mbt.math.leading_axes import cut, entry_of, flatten, fold, join
from mbt.scalars.hints import hinting_at_functions
from mbt.scalars.jacobians import ScalarJacobians
from mbt.scalars.kinematics import relative_acceleration

__all__ = ["ScalarMass"]


class ScalarMass(ScalarJacobians):
    """Each method is that of `MultibodyTree` in arrays of the scalar."""

    __slots__ = ()

    def _masses(self, c: Any, mask: Any = None) -> Any:
        """Masses of the bodies that count, (num_bodies,); zero for all others."""
        assert self.tree._compiled is not None
        start = self.tree._compiled.parameter_slice("mass", 0).start
        masses = c._parameters[..., start : start + self.tree.num_bodies]
        if mask is None:
            return masses
        masses = masses.copy()
        for node in np.flatnonzero(mask == 0.0):
            masses[..., node] = 0.0
        return masses

    def _selected(self, c: Any, model_instances: Any) -> Any:
        return self._masses(
            c, None if model_instances is None else mask_of_instances(self.tree, model_instances)
        )

    def _nodes_of(self, model_instances: Any) -> list[int]:
        """Return the nodes of the bodies that count, but World."""
        if model_instances is None:
            return list(range(1, self.tree.num_bodies))
        return [int(node) for node in np.flatnonzero(mask_of_instances(self.tree, model_instances)) if node]

    def _center(self, c: Any, masses: Any, model_instances: Any) -> tuple[Any, Any]:
        """Return the total mass, (..., 1), and the centre of mass; an error where there is no mass."""
        moment = c._evaluate(Quantity.MASS_MOMENT, masses)
        # In a batch the samples without mass have no result.
        if not c.batch_shape and self._numbers.is_zero(entry_of(moment, 0)):
            raise_no_mass(self.tree, model_instances)
        mass = moment[..., :1]
        return mass, self._numbers.divide(moment[..., 1:], mass)

    def calc_total_mass(self, c: Any, model_instances: Any = None) -> Any:
        return entry_of(c._evaluate(Quantity.MASS_MOMENT, self._selected(c, model_instances)), 0)

    def calc_center_of_mass_position_in_world(
        self, c: Any, model_instances: Any = None, *, out: Any = None
    ) -> Any:
        com = self._center(c, self._selected(c, model_instances), model_instances)[1]
        return self._numbers.write(out, com, "out")

    def calc_center_of_mass_translational_velocity_in_world(
        self, c: Any, model_instances: Any = None, *, out: Any = None
    ) -> Any:
        masses = self._selected(c, model_instances)
        mass, _ = self._center(c, masses, model_instances)
        return self._numbers.write(out, self._velocity_of_center(c, masses, mass), "out")

    def _velocity_of_center(self, c: Any, masses: Any, mass: Any) -> Any:
        return self._numbers.divide(c._evaluate(Quantity.MOMENTUM, masses)[..., 3:], mass)

    def _acceleration_of_center(self, c: Any, masses: Any, mass: Any, A_WB: Any) -> Any:
        x = self._numbers.concatenate([masses, flatten(A_WB, 2)])
        return self._numbers.divide(c._evaluate(Quantity.MASS_ACCELERATION, x), mass)

    def calc_center_of_mass_translational_acceleration_in_world(
        self, c: Any, model_instances: Any = None, *, out: Any = None
    ) -> Any:
        masses = self._selected(c, model_instances)
        mass, _ = self._center(c, masses, model_instances)
        A_WB = self.eval_acceleration_kinematics(c).A_WB
        return self._numbers.write(out, self._acceleration_of_center(c, masses, mass, A_WB), "out")

    def calc_jacobian_center_of_mass_translational_velocity(
        self,
        c: Any,
        with_respect_to: Any,
        frame_A: Any,
        frame_E: Any,
        model_instances: Any = None,
        *,
        out: Any = None,
    ) -> Any:
        by_qdot = check_with_respect_to(with_respect_to)
        a, e = self._frame(frame_A, "frame_A"), self._frame(frame_E, "frame_E")
        masses = self._selected(c, model_instances)
        mass, p = self._center(c, masses, model_instances)
        J = self._numbers.divide(c._evaluate(Quantity.LINEAR_MOMENTUM_MATRIX, masses), mass)
        node = self._node_of(a)
        if node != 0:
            J = J - c._evaluate(Quantity.TRANSLATIONAL_JACOBIAN, p, node)
        return self._finish(c, by_qdot, e, fold(J, 3, self.tree.num_velocities), out)

    def calc_bias_center_of_mass_translational_acceleration(
        self,
        c: Any,
        with_respect_to: Any,
        frame_A: Any,
        frame_E: Any,
        model_instances: Any = None,
        *,
        out: Any = None,
    ) -> Any:
        by_qdot = check_with_respect_to(with_respect_to)
        a, e = self._frame(frame_A, "frame_A"), self._frame(frame_E, "frame_E")
        masses = self._selected(c, model_instances)
        mass, p = self._center(c, masses, model_instances)
        node = self._node_of(a)
        moving = self._with_base_at_rest(c, [node, *self._nodes_of(model_instances)])
        A_WB = self._bias_accelerations(moving, by_qdot)
        zeros = self._numbers.zeros((3,))
        V = join([zeros, self._velocity_of_center(moving, masses, mass)])
        A = join([zeros, self._acceleration_of_center(moving, masses, mass, A_WB)])
        pc, vc = self.eval_position_kinematics(moving), self.eval_velocity_kinematics(moving)
        bias = self._express(c, e, relative_acceleration(pc, vc, A_WB, node, p, V, A)[..., 3:])
        return self._numbers.write(out, bias, "out")

    def calc_spatial_momentum_in_world_about_point(
        self, c: Any, p_WoP_W: Any, model_instances: Any = None, *, out: Any = None
    ) -> Any:
        p = self._numbers.as_float_array(p_WoP_W, "p_WoP_W", (3,))
        angular, linear = cut(c._evaluate(Quantity.MOMENTUM, self._selected(c, model_instances)), 3)
        return self._numbers.write(out, join([angular - np.cross(p, linear), linear]), "out")

    def calc_centroidal_momentum_matrix(self, c: Any, *, out: Any = None) -> Any:
        masses = self._masses(c)
        _, p = self._center(c, masses, None)
        A_G = c._evaluate(Quantity.MOMENTUM_MATRIX, self._numbers.concatenate([masses, p]))
        return self._numbers.write(out, fold(A_G, 6, self.tree.num_velocities), "out")

    def calc_spatial_inertia(self, c: Any, frame_F: Any, body_indexes: Any) -> Any:
        f = self._frame(frame_F, "frame_F")
        masses = self._masses(c, mask_of_bodies(self.tree, body_indexes))
        X_FW = self.calc_relative_transform(c, self.tree.frames[f], self.tree.world_frame)
        x = self._numbers.concatenate([masses, flatten(X_FW, 2)])
        composite = c._evaluate(Quantity.COMPOSITE_INERTIA, x)
        mass = entry_of(composite, 0)
        com, moments = (
            self._numbers.ratio(part, composite[..., :1])
            for part in (composite[..., 1:4], composite[..., 4:])
        )
        # The moments are xx xy xz yy yz zz.
        return self._numbers.make_inertia(mass, com, moments[..., [0, 3, 5, 1, 2, 4]])

    # Energy and power.

    def _sum_with_users(self, c: Any, quantity: Quantity, method: str) -> Any:
        total = entry_of(c._evaluate(quantity), 0)
        with hinting_at_functions(self.tree.scalar_type), c._exclusive():
            for element in self.tree._user_force_elements or ():
                total = total + getattr(element, method)(c)
        return total

    def calc_potential_energy(self, c: Any) -> Any:
        return self._sum_with_users(c, Quantity.POTENTIAL_ENERGY, "calc_potential_energy")

    def calc_kinetic_energy(self, c: Any) -> Any:
        return entry_of(c._evaluate(Quantity.KINETIC_ENERGY), 0)

    def calc_conservative_power(self, c: Any) -> Any:
        return self._sum_with_users(c, Quantity.CONSERVATIVE_POWER, "calc_conservative_power")

    def calc_non_conservative_power(self, c: Any) -> Any:
        quantity = Quantity.NON_CONSERVATIVE_POWER
        return self._sum_with_users(c, quantity, "calc_non_conservative_power")
