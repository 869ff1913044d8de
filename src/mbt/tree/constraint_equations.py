"""Constraint equations of a tree in a Context: errors, Jacobian and bias."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbt._core.engines.context import ContextCore
from mbt.math.arrays import FloatArray
from mbt.tree.context_access import raise_context_mismatch

if TYPE_CHECKING:
    from mbt._core.quantities.names import Quantity

__all__ = ["ConstraintEquations"]


class ConstraintEquations:
    """The part of `MultibodyTree` for the equations of its constraints, in their order."""

    def calc_constraint_errors(self, context: ContextCore, *, out: Any = None) -> FloatArray:
        """Return the constraint errors: zero where positions satisfy the constraints.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        out : ndarray, shape (num_constraint_equations,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_constraint_equations,)
            See each type of constraint [rad, m]; zero for disabled ones.

        Raises
        ------
        ContextMismatchError
            When `context` belongs to another tree.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
        >>> hook = tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, ball))
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> context.q = [1, 0, 0, 0, 0, 0, 0.5]
        >>> tree.calc_constraint_errors(context)
        array([0. , 0. , 0.5])
        """
        from mbt._core.quantities.names import Quantity

        errors: FloatArray = _own(self, context)._evaluate(Quantity.CONSTRAINT_ERRORS, out=out)
        return errors

    def calc_constraint_jacobian(self, context: ContextCore, *, out: Any = None) -> FloatArray:
        """Return J(q), with ``J v`` the rates of the constraint errors.

        For errors that are rotation vectors, J v is the angular velocity: their rate where they vanish.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        out : ndarray, shape (num_constraint_equations, num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_constraint_equations, num_velocities)
            See each type of constraint; zero for disabled ones.

        Raises
        ------
        ContextMismatchError
            When `context` belongs to another tree.
        SingularityError
            When the points of a `DistanceConstraint` coincide; in a batch that sample is NaN.
        """
        from mbt._core.quantities.names import Quantity

        return self._calc_with_directions(context, Quantity.CONSTRAINT_JACOBIAN, out)

    def calc_constraint_bias(self, context: ContextCore, *, out: Any = None) -> FloatArray:
        """Return ``Jdot v``: the rates of ``J v`` at vdot = 0.

        Parameters
        ----------
        context : Context
            A Context of this tree.
        out : ndarray, shape (num_constraint_equations,), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Returns
        -------
        ndarray, shape (num_constraint_equations,)
            [rad/s^2, m/s^2]; zero for disabled constraints.

        Raises
        ------
        ContextMismatchError
            When `context` belongs to another tree.
        SingularityError
            When the points of a `DistanceConstraint` coincide; in a batch that sample is NaN.
        """
        from mbt._core.quantities.names import Quantity

        return self._calc_with_directions(context, Quantity.CONSTRAINT_BIAS, out)

    def _calc_with_directions(self, context: ContextCore, quantity: Quantity, out: Any) -> FloatArray:
        own = _own(self, context)
        if own._engine is None:
            for constraint in own.tree.constraints:
                if constraint.is_enabled_in(own):
                    constraint._check_direction(own)
        result: FloatArray = own._evaluate(quantity, out=out)
        return result


def _own(tree: Any, context: Any) -> Any:
    if not isinstance(context, ContextCore) or context.tree is not tree:
        raise_context_mismatch(tree, context)
    return context
