"""Inertial parameters of a tree: their names, their values in a Context, and those that motion reveals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from mbt._core.engines.context import ContextCore
from mbt.errors import ArgumentValueError, InvalidInertiaError, MbtError
from mbt.math.arrays import FloatArray, as_count, as_finite_array, as_positive
from mbt.tree.context_access import raise_context_mismatch
from mbt.tree.coordinate_lookup import distinct_names_of
from mbt.tree.coordinate_names import NamedCoordinates
from mbt.tree.factories import Factories

if TYPE_CHECKING:
    from mbt.tree.base_parameters import BaseParameters
    from mbt.tree.body import RigidBody

__all__ = ["Identification"]

_SUFFIXES = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")

# As many bits as NumPy makes of fresh entropy.
_MAX_SEED = 2**128 - 1


class Identification(NamedCoordinates, Factories):
    """The part of `MultibodyTree` for inertial parameters as one vector."""

    @property
    def inertial_parameter_names(self) -> tuple[str, ...]:
        """Names of the inertial parameters, in the order of `get_inertial_parameters`.

        The name of the body, an underscore and one of ``m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz``: for
        example ``"forearm_Izz"``. Bodies of the same name in several model instances are told apart:
        ``"arm::forearm_Izz"``.

        Raises
        ------
        NotFinalizedError
            Before ``finalize()``.
        """
        names: tuple[str, ...] = self._fact(
            "inertial_parameter_names",
            lambda: tuple(
                f"{name}_{s}" for name in distinct_names_of(self._moving_bodies()) for s in _SUFFIXES
            ),
        )
        return names

    def set_inertial_parameters(
        self, context: ContextCore, pi: object, *, skip_validity_check: bool = False
    ) -> None:
        """Set mass, mass centre and inertia of all bodies in `context`.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        pi : array_like, shape (10 (num_bodies - 1),)
            As `get_inertial_parameters` returns it. In a batch one vector for all samples, or one for each,
            with leading axes that broadcast.
        skip_validity_check : bool, optional
            Accept inertias that no physical body has. A negative mass is rejected all the same, as is a mass
            moment without mass.

        Raises
        ------
        InvalidInertiaError
            When no physical body has the parameters given for a body; nothing is set then. In a batch the
            message names the sample. `mbt.math.nearest_physically_consistent_inertia` finds possible ones.
        ArgumentValueError
            When a number is not finite.
        ShapeError, ArgumentTypeError
            When `pi` is not of the right shape or type.
        ContextMismatchError
            When `context` belongs to another tree.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.5)))
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> tree.set_inertial_parameters(context, 2.0 * tree.get_inertial_parameters(context))
        >>> ball.get_mass(context)
        2.0
        """
        _check_context(self, context)
        own: Any = context
        if own._engine is not None:
            own._set_inertial_parameters(pi, skip_validity_check)
            return
        from mbt.math.pseudo_inertia import make_spatial_inertia

        bodies = self._moving_bodies()
        parameters = as_finite_array(pi, "pi", (10 * len(bodies),)).reshape(-1, 10)
        inertias = []
        for body, x in zip(bodies, parameters, strict=True):
            try:
                inertias.append(make_spatial_inertia(x, skip_validity_check=skip_validity_check))
            except MbtError as error:
                raise InvalidInertiaError(f"pi: {body._label}: {str(error).removeprefix('pi: ')}") from None
        if inertias:
            context._set_parameters(
                1,
                {
                    "mass": np.array([M.mass for M in inertias]),
                    "com": np.array([M.com for M in inertias]),
                    "unit_inertia": np.array([M.unit_inertia.components for M in inertias]),
                    "massless_inertia": np.array([M._massless_inertia for M in inertias]),
                },
            )

    def calc_base_parameters(
        self,
        context: ContextCore | None = None,
        *,
        num_states: int = 40,
        seed: int = 0,
        tolerance: float = 1e-9,
    ) -> BaseParameters:
        """Return the combinations of inertial parameters that motion and generalized forces reveal.

        The inverse dynamics regressor is computed for random states and accelerations, with positions from
        `random_positions`, so within joint limits; a QR decomposition with column pivoting finds the
        dependences between its columns. Masses and inertias do not matter, and neither do rotors, damping and
        force elements other than gravity: see `calc_inverse_dynamics_regressor`.

        Parameters
        ----------
        context : Context, optional
            A Context of this tree, for the poses of frames and gravity, which must be the same in all samples
            of a batch. It is not changed. By default a default one.
        num_states : int, optional
            Number of random states. Fewer than ten may miss parameters.
        seed : int, optional
            Seed of the random states.
        tolerance : float, optional
            Columns whose independent part, relative to the largest column of their kind, is below it count as
            dependent on others.

        Returns
        -------
        BaseParameters
            The columns kept, the regrouping matrix, and a readable text.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError
            When `num_states` is not a positive int, `seed` not an int >= 0, or `tolerance` not a
            positive number below 1; or when frames or gravity differ between the samples of a batch.
        ContextMismatchError
            When `context` belongs to another tree.
        SingularityError
            When the regressor of a random state overflows.

        Notes
        -----
        It takes O(num_states num_velocities num_bodies^2).

        Examples
        --------
        A pendulum about the y axis reveals its mass moments in the plane of motion, and one moment of
        inertia:

        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement())
        >>> tree.finalize()
        >>> print(tree.calc_base_parameters())
        3 base parameters of 10 inertial parameters, 7 of them without effect
          rod_mcx
          rod_mcz
          rod_Iyy
        """
        from mbt.tree.base_parameters import find_base_parameters

        count = as_count(num_states, "num_states")
        rng = np.random.default_rng(as_count(seed, "seed", 0, _MAX_SEED))
        limit = as_positive(tolerance, "tolerance")
        if limit >= 1.0:
            raise ArgumentValueError(f"tolerance: expected a number below 1, got {limit}")
        if context is None:
            own = self.create_default_context()
        else:
            _check_context(self, context)
            any_context: Any = context
            one_state = any_context._of_one_state()
            if one_state.tree is not self:
                options = {"num_states": count, "seed": seed, "tolerance": limit}
                base: BaseParameters = one_state.tree.calc_base_parameters(one_state, **options)
                return base
            own = one_state.clone()
        return find_base_parameters(
            self._stack_regressors(own, count, rng), self.inertial_parameter_names, limit
        )

    def _stack_regressors(self, context: ContextCore, count: int, rng: np.random.Generator) -> FloatArray:
        """Return a triangular matrix whose columns depend on each other as those of random regressors do."""
        num_rows, num_columns = self.num_velocities, 10 * (self.num_bodies - 1)
        stack = np.zeros((0, num_columns))
        blocks: list[FloatArray] = []
        for i in range(count):
            context.q = self.random_positions(rng)
            context.v = rng.standard_normal(num_rows)
            blocks.append(self.calc_inverse_dynamics_regressor(context, rng.standard_normal(num_rows)))
            if i + 1 == count or len(blocks) * num_rows >= 2 * num_columns:
                stack = np.asarray(np.linalg.qr(np.concatenate([stack, *blocks]), mode="r"))
                blocks = []
        return stack

    def _moving_bodies(self) -> list[RigidBody]:
        """Return all bodies but World, by BodyNodeIndex."""
        return list(self.node_bodies[1:])


def _check_context(tree: object, context: object) -> None:
    if not isinstance(context, ContextCore) or context.tree is not tree:
        raise_context_mismatch(cast(Any, tree), context)
