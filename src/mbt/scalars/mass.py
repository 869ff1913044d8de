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

    def _section(self, c: Any, name: str, width: int) -> Any:
        """Return a section of the parameters with so many numbers for each body, (width num_bodies,)."""
        assert self.tree._compiled is not None
        start = self.tree._compiled.parameter_slice(name, 0).start
        return c._parameters[..., start : start + width * self.tree.num_bodies]

    def _masses(self, c: Any, mask: Any) -> Any:
        """Return the masses of the bodies that count, (num_bodies,); zero for others. None is for all."""
        return _masked(self._section(c, "mass", 1), mask)

    def _inertias(self, c: Any, mask: Any) -> Any:
        """Return the same of rotational inertias about Bo, (6 num_bodies,)."""
        of_bodies = np.repeat(np.arange(self.tree.num_bodies), 6)
        masses = self._section(c, "mass", 1)[..., of_bodies]
        inertias = self._numbers.scale(self._section(c, "unit_inertia", 6), masses)
        return _masked(
            inertias + self._section(c, "massless_inertia", 6), None if mask is None else mask[of_bodies]
        )

    def _mask(self, model_instances: Any) -> Any:
        return None if model_instances is None else mask_of_instances(self.tree, model_instances)

    def _selected(self, c: Any, model_instances: Any) -> Any:
        return self._masses(c, self._mask(model_instances))

    def _momentum(self, c: Any, model_instances: Any) -> Any:
        """Return the momentum about the origin of World, (6,)."""
        mask = self._mask(model_instances)
        x = self._numbers.concatenate([self._masses(c, mask), self._inertias(c, mask)])
        return c._evaluate(Quantity.MOMENTUM, x)

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
        mass, _ = self._center(c, self._selected(c, model_instances), model_instances)
        return self._numbers.write(out, self._velocity_of_center(c, model_instances, mass), "out")

    def _velocity_of_center(self, c: Any, model_instances: Any, mass: Any) -> Any:
        return self._numbers.divide(self._momentum(c, model_instances)[..., 3:], mass)

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
        V = join([zeros, self._velocity_of_center(moving, model_instances, mass)])
        A = join([zeros, self._acceleration_of_center(moving, masses, mass, A_WB)])
        pc, vc = self.eval_position_kinematics(moving), self.eval_velocity_kinematics(moving)
        bias = self._express(c, e, relative_acceleration(pc, vc, A_WB, node, p, V, A)[..., 3:])
        return self._numbers.write(out, bias, "out")

    def calc_spatial_momentum_in_world_about_point(
        self, c: Any, p_WoP_W: Any, model_instances: Any = None, *, out: Any = None
    ) -> Any:
        p = self._numbers.as_float_array(p_WoP_W, "p_WoP_W", (3,))
        angular, linear = cut(self._momentum(c, model_instances), 3)
        return self._numbers.write(out, join([angular - np.cross(p, linear), linear]), "out")

    def calc_centroidal_momentum_matrix(self, c: Any, *, out: Any = None) -> Any:
        _, p = self._center(c, self._masses(c, None), None)
        A_G = c._evaluate(Quantity.MOMENTUM_MATRIX, p)
        return self._numbers.write(out, fold(A_G, 6, self.tree.num_velocities), "out")

    def calc_spatial_inertia(self, c: Any, frame_F: Any, body_indexes: Any) -> Any:
        f = self._frame(frame_F, "frame_F")
        mask = mask_of_bodies(self.tree, body_indexes)
        X_FW = self.calc_relative_transform(c, self.tree.frames[f], self.tree.world_frame)
        x = self._numbers.concatenate([self._masses(c, mask), self._inertias(c, mask), flatten(X_FW, 2)])
        composite = c._evaluate(Quantity.COMPOSITE_INERTIA, x)
        mass, moment = composite[..., :1], composite[..., 1:4]
        # The moments come as xx xy xz yy yz zz.
        inertia = composite[..., [4, 7, 9, 5, 6, 8]]
        return self._numbers.make_inertia(
            entry_of(mass, 0),
            self._numbers.ratio(moment, mass),
            self._numbers.ratio(inertia, mass),
            self._numbers.remainder(inertia, mass),
        )

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


def _masked(numbers: Any, mask: Any) -> Any:
    """Return the numbers where the mask is 1, and zero where it is 0."""
    if mask is None:
        return numbers
    masked = numbers.copy()
    for i in np.flatnonzero(mask == 0.0):
        masked[..., i] = 0.0
    return masked
