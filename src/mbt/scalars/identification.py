"""Inertial parameters and regressors of a tree of any scalar."""

from __future__ import annotations

from typing import Any

from mbt._core.context import ContextCore
from mbt._core.variants import Quantity
from mbt.errors import ArgumentTypeError, quote
from mbt.math.arrays import as_bool
from mbt.math.leading_axes import cut
from mbt.scalars.batch_inertia import check_inertial_parameters
from mbt.scalars.mass import ScalarMass

__all__ = ["ScalarIdentification"]


class ScalarIdentification(ScalarMass):
    """Each method is that of `MultibodyTree` in arrays of the scalar."""

    __slots__ = ()

    def calc_inverse_dynamics_regressor(self, c: Any, known_vdot: Any, *, out: Any = None) -> Any:
        vdot = self._numbers.as_float_array(known_vdot, "known_vdot", (self.tree.num_velocities,))
        shape = (self.tree.num_velocities, 10 * (self.tree.num_bodies - 1))
        return c._result(out, shape, Quantity.INVERSE_DYNAMICS_REGRESSOR, vdot)

    def calc_kinetic_energy_regressor(self, c: Any, *, out: Any = None) -> Any:
        return c._result(out, (10 * (self.tree.num_bodies - 1),), Quantity.KINETIC_ENERGY_REGRESSOR)

    def calc_potential_energy_regressor(self, c: Any, *, out: Any = None) -> Any:
        return c._result(out, (10 * (self.tree.num_bodies - 1),), Quantity.POTENTIAL_ENERGY_REGRESSOR)

    def get_inertial_parameters(self, c: Any) -> Any:
        if self.tree.num_bodies == 1:
            return self._numbers.zeros((*c.batch_shape, 0))
        parts = []
        for node in range(1, self.tree.num_bodies):
            m, com, G, J = (
                c._get_parameter(section, node)
                for section in ("mass", "com", "unit_inertia", "massless_inertia")
            )
            # Components are xx yy zz xy xz yz.
            moments = (self._numbers.scale(G, m) + J)[..., [0, 3, 1, 4, 5, 2]]
            parts += [m, self._numbers.scale(com, m), moments]
        return self._numbers.concatenate(parts)

    def set_inertial_parameters(self, c: Any, pi: Any, *, skip_validity_check: bool = False) -> None:
        numbers = self._numbers
        bodies = self.tree._moving_bodies()
        array = numbers.as_float_array(pi, "pi", (10 * len(bodies),))
        if c.batch_shape:
            check_inertial_parameters(
                array,
                [body._label for body in bodies],
                not as_bool(skip_validity_check, "skip_validity_check"),
            )
        values = numbers.values(array)
        if values is not None:
            # Refuses what trees of doubles refuse.
            twin = self.tree.clone_to_scalar("double")
            twin.set_inertial_parameters(
                twin.create_default_context(), values.copy(), skip_validity_check=skip_validity_check
            )
        parts: dict[str, list[Any]] = {"mass": [], "com": [], "unit_inertia": [], "massless_inertia": []}
        for x in cut(array, 10):
            mass, inertia = x[..., :1], x[..., [4, 6, 9, 5, 7, 8]]
            parts["mass"].append(mass)
            parts["com"].append(numbers.ratio(x[..., [1, 2, 3]], mass))
            parts["unit_inertia"].append(numbers.ratio(inertia, mass))
            parts["massless_inertia"].append(numbers.remainder(inertia, mass))
        if bodies:
            c._set_parameters(1, {section: numbers.concatenate(rows) for section, rows in parts.items()})

    def calc_base_parameters(self, c: Any, **options: Any) -> Any:
        """Return the base parameters of the values; see `MultibodyTree`. A rank is one of doubles."""
        if c.batch_shape:
            return self.tree.calc_base_parameters(c._one_state(), **options)
        tree = self.tree.clone_to_scalar("double")
        if self._numbers.values(c.q) is None:
            raise ArgumentTypeError(
                f"context: base parameters follow from a rank, unknown to "
                f"{quote(self.tree.scalar_type.name)}: use a Context of clone_to_scalar('double')"
            )
        own = tree.create_default_context()
        state = {**own._get_state(), **ContextCore._get_state(c), "applied_forces": None}
        own._set_state(state)
        return tree.calc_base_parameters(own, **options)
