"""Assembly and reports of constraints, with modules that most programs never import."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.tree.constraints.report import ConstraintReport
    from mbt.tree.joint import Joint

__all__ = ["Assembling"]


class Assembling:
    """The part of `MultibodyTree` that closes constraints, and reports which can be closed."""

    def assemble(
        self, context: Context, fixed: Iterable[Joint | str] = (), *, tolerance: float = 1e-10
    ) -> None:
        """Move positions and velocities of a Context onto the constraints that are enabled in it.

        Positions move by damped Gauss-Newton steps of least norm, so to a nearby configuration, though not
        always the nearest; quaternions move on the group. Then velocities that violate constraints are
        projected out, ``v - J+ J v``. Joint limits are ignored. If the steps do not converge, they start
        again from random positions nearby, the same ones each time.

        Parameters
        ----------
        context : Context
            A Context of this tree, in doubles. Each sample of a batch is assembled by itself.
        fixed : iterable of Joint or str, optional
            Joints that keep their positions and velocities; joints that are locked in the Context always do.
        tolerance : float, optional
            The largest error that may remain: angles in radians, lengths relative to the reach of the
            constraint. Usually errors end at rounding, whatever the tolerance.

        Raises
        ------
        AssemblyError
            When constraints cannot be closed: it says which, by how much, and in which samples. The Context
            is as it was.
        ArgumentTypeError
            When the Context computes in a scalar other than double, or `fixed` is something else.
        UnknownNameError, ForeignElementError, ContextMismatchError
            When a joint, or the Context, is not of this tree.

        See Also
        --------
        calc_constraint_report : Errors, rank and redundancy, one constraint after the other.

        Examples
        --------
        A pendulum of two rods whose end is pinned at a point that it does not reach yet:

        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.02, 0.02, 1.0)
        >>> upper = tree.add_body(mbt.RigidBody("upper", rod))
        >>> lower = tree.add_body(mbt.RigidBody("lower", rod))
        >>> at_1m, y = mbt.math.make_pose([0, 0, 1]), [0, 1, 0]
        >>> shoulder = tree.add_joint(mbt.RevoluteJoint, "shoulder", tree.world_body, None, upper, None, y)
        >>> elbow = tree.add_joint(mbt.RevoluteJoint, "elbow", upper, at_1m, lower, None, y)
        >>> pin = tree.add_frame(mbt.FixedOffsetFrame("pin", tree.world_body, mbt.math.make_pose([1, 0, 1])))
        >>> end = tree.add_frame(mbt.FixedOffsetFrame("end", lower, at_1m))
        >>> hook = tree.add_constraint(mbt.BallConstraint("hook", pin, end))
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> context.q = [0.1, 1.2]
        >>> tree.assemble(context)
        >>> bool(abs(tree.calc_constraint_errors(context)).max() < 1e-12)
        True
        >>> context.q.round(6) + 0.0
        array([0.      , 1.570796])
        """
        from mbt.tree.constraints.assembly import assemble

        assemble(cast(Any, self), context, fixed, tolerance)

    def calc_constraint_report(self, context: Context, *, tolerance: float = 1e-9) -> ConstraintReport:
        """Report which constraints hold in a state, which are redundant, and which cannot be closed.

        Parameters
        ----------
        context : Context
            A Context of this tree: one state of doubles.
        tolerance : float, optional
            Values below it count as zero: errors, angles in radians, lengths relative to the reach of the
            constraint; and the independent part of an equation, relative to its largest possible size.

        Raises
        ------
        ArgumentTypeError
            When the Context is a batch, or computes in another scalar.

        See Also
        --------
        assemble : Closes them.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
        >>> hook = tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, ball))
        >>> twice = tree.add_constraint(mbt.BallConstraint("twice", tree.world_body, ball))
        >>> tree.finalize()
        >>> report = tree.calc_constraint_report(tree.create_default_context())
        >>> report.rank, report.mobility, report.redundant
        (3, 3, {'twice': 3})
        """
        from mbt.tree.constraints.report import calc_constraint_report

        return calc_constraint_report(cast(Any, self), context, tolerance)
