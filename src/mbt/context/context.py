"""A Context: everything about a tree that changes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.engines.context import ContextCore
from mbt.context.checks import check_forces
from mbt.context.declared_values import DeclaredValues
from mbt.context.multibody_forces import MultibodyForces
from mbt.errors import ArgumentValueError, reporting_damage
from mbt.math.arrays import as_float
from mbt.tree.parameters import as_declared_vector
from mbt.tree.servos import CURE_OF_MOTORS, has_servos

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeVar

    from mbt.context.explanation import CacheExplanation, Freezing
    from mbt.math.arrays import FloatArray
    from mbt.tree.force_elements import ForceElement
    from mbt.tree.indices import (
        AbstractParameterIndex,
        DiscreteStateIndex,
        FrameIndex,
        NumericParameterIndex,
    )
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.tree.parameters import CacheEntry, Parameters

    A = TypeVar("A")

    class ContextOf(Protocol[A]):
        """A Context whose arrays, results and `out` have this type, for type checkers."""

        def _get_parameter(self, section: str, index: int) -> A: ...
        def _set_entries(self, section: str, index: int, first: int, values: A) -> None: ...


__all__ = ["Context"]


class Context(ContextCore):
    """Time, positions, velocities, inputs and parameters of one tree, and caches of derived quantities.

    `clone`, ``copy.copy`` and ``copy.deepcopy`` return an independent Context of the same tree; if the same
    ``deepcopy`` also copies the tree, the new Context belongs to that copy. A pickle includes the tree.

    ``tree.create_default_context()`` creates it. Use one Context per thread; threads may share the tree. A
    thread that uses a Context with which another thread is computing gets a `ConcurrentUseError`.

    Attributes
    ----------
    tree : MultibodyTree
        The tree that created it.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 1, 1, 1)))
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> context.q = [1, 0, 0, 0, 0, 0, 2]
    >>> context.q
    array([1., 0., 0., 0., 0., 0., 2.])
    """

    # No dictionary, so that assigning a misspelt attribute is an error.
    __slots__ = ("__weakref__", "_declared")

    def __new__(cls, tree: Any) -> Any:
        """Create a Context with the scalar type of the tree."""
        own = getattr(tree, "_context_type", None)
        return super().__new__(own if own is not None and cls is Context else cls, tree)

    def __init__(self, tree: MultibodyTree) -> None:
        self._declared = DeclaredValues.default(tree, self.batch_shape)
        self._declared.place_frames(self)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Leading axes of every array of this Context."""
        return ()

    def clone(self) -> Context:
        """Return an independent Context of the same tree with the same values."""
        # Skip __init__: the values of this Context replace the defaults.
        other: Context = Context.__new__(Context, self.tree)
        other._copy_from(self)
        other._declared = self._declared.copy(self.tree)
        return other

    # Values that elements declared: see `MultibodyElement.do_declare_parameters`.

    @property
    def servo_positions(self) -> FloatArray:
        """Target position of each actuator, (..., num_actuators); always 0 for plain motors.

        Read-only; assign the whole array. In a new Context it is the default position of the joint. If no
        actuator of the tree is a servo, nonzero values raise an `ArgumentValueError`.
        """
        return self._servo_targets(0)

    @servo_positions.setter
    def servo_positions(self, value: object) -> None:
        self._set_servo_targets(0, value, "servo_positions")

    @property
    def servo_velocities(self) -> FloatArray:
        """Target velocity of each actuator, (..., num_actuators), like `servo_positions`; 0 unless set."""
        return self._servo_targets(1)

    @servo_velocities.setter
    def servo_velocities(self, value: object) -> None:
        self._set_servo_targets(1, value, "servo_velocities")

    @property
    def sensors(self) -> FloatArray:
        """Sensor measurements, (..., num_sensor_values), as returned by `MultibodyTree.calc_sensors`."""
        return self.tree.calc_sensors(self)

    def _servo_targets(self, which: int) -> FloatArray:
        actuators, numbers = self.tree.joint_actuators, self._numbers
        targets = numbers.as_float_array(np.zeros((*self.batch_shape, len(actuators))), "targets")
        for i, actuator in enumerate(actuators):
            if actuator.is_servo:
                target = self.get_discrete_state(actuator._target_index)
                targets = numbers.replaced(targets, slice(i, i + 1), target[..., which : which + 1])
        return numbers.frozen(targets)

    def _set_servo_targets(self, which: int, value: object, name: str) -> None:
        actuators = self.tree.joint_actuators
        targets = self._as_declared_vector(value, name, len(actuators), finite=False)
        # Servos compute with doubles.
        if targets.dtype == np.float64 and targets.any() and not has_servos(self.tree):
            raise ArgumentValueError(
                f"{name}: expected zeros, as no actuator of the tree is a servo: {CURE_OF_MOTORS}"
            )
        for i, actuator in enumerate(actuators):
            if actuator.is_servo:
                target = self.get_discrete_state(actuator._target_index)
                changed = self._numbers.replaced(target, slice(which, which + 1), targets[..., i : i + 1])
                self.set_discrete_state(actuator._target_index, changed)

    @property
    def parameters(self) -> Parameters:
        """Values of the parameters that elements declared, read-only."""
        return self._declared.parameters

    def get_numeric_parameter(self, index: NumericParameterIndex | int) -> FloatArray:
        """Return a vector that an element declared as a parameter, shape (..., n), read-only.

        Raises
        ------
        ElementIndexError
            When there is no such parameter.
        """
        return self._declared.parameters.get_numeric_parameter(index)

    def set_numeric_parameter(self, index: NumericParameterIndex | int, values: object) -> None:
        """Set a vector that an element declared as a parameter.

        Quantities that depend on parameters are recomputed when they are needed; poses of frames that are
        computed in Python are recomputed at once.

        Parameters
        ----------
        index : NumericParameterIndex
            The index that `declare_numeric_parameter` returned.
        values : array_like, shape (n,)
            A vector of the declared size; in a batch also (..., n).

        Raises
        ------
        ElementIndexError
            When there is no such parameter.
        ShapeError
            When `values` does not have the declared size.
        ArgumentValueError
            When a number is not finite, or a frame would have no pose.
        """
        self._declared.set_numeric_parameter(self, index, values)

    def get_abstract_parameter(self, index: AbstractParameterIndex | int) -> Any:
        """Return an object that an element declared as a parameter; change it only by setting a new one."""
        return self._declared.parameters.get_abstract_parameter(index)

    def set_abstract_parameter(self, index: AbstractParameterIndex | int, value: Any) -> None:
        """Set an object that an element declared as a parameter, as `set_numeric_parameter` sets a vector."""
        self._declared.set_abstract_parameter(self, index, value)

    def get_discrete_state(self, index: DiscreteStateIndex | int) -> FloatArray:
        """Return a vector that an element declared as discrete state, shape (..., n), read-only.

        Raises
        ------
        ElementIndexError
            When there is no such vector.
        """
        return self._declared.get_discrete_state(index)

    def set_discrete_state(self, index: DiscreteStateIndex | int, values: object) -> None:
        """Set a vector that an element declared as discrete state. Like q and v, it may be NaN or infinite.

        Raises
        ------
        ElementIndexError
            When there is no such vector.
        ShapeError
            When `values` does not have the declared size.
        """
        self._declared.set_discrete_state(self, index, values)

    def eval_cache_entry(self, entry: CacheEntry) -> Any:
        """Return the value of a cache entry, recomputed if something that it depends on has changed.

        Parameters
        ----------
        entry : CacheEntry
            The entry that `declare_cache_entry` returned.

        Returns
        -------
        object
            The value; an array is read-only.

        Raises
        ------
        ForeignElementError
            When an element of another tree declared it.
        """
        return self._declared.eval_cache_entry(self, entry)

    def _reset_declared(self, reset: Callable[[Context], None]) -> None:
        """Reset this Context with `reset`, and the values that elements declared."""
        self._check_thawed("everything", 0)
        declared = DeclaredValues.default(self.tree, self.batch_shape)
        poses = declared.user_poses(self._numbers)
        reset(self)
        self._declared = declared
        declared.place_frames(self, poses)
        self._note_change("parameters" if declared.parameters.num_numeric_parameters else "inputs")

    def _set_frame_poses(self, poses: dict[FrameIndex, Any]) -> None:
        """Write the poses of some frames; the caller has checked them."""
        for index, X_BF in poses.items():
            self._set_parameter("frame_pose", index, X_BF)

    # For force elements written in Python. A Context with batch axes or another scalar type overrides these.

    @property
    def _zero(self) -> Any:
        """Zero for each sample."""
        return 0.0

    def _running_user_code(self) -> AbstractContextManager[None]:
        """Return a context manager for calls of elements written in Python, which keeps other threads out."""
        return self._exclusive()

    def _of_one_state(self) -> Context:
        """Return a Context for one state of doubles, with the parameters of this one."""
        return self

    def _new_forces(self) -> MultibodyForces:
        """Return zero forces with the batch shape and scalar type of this Context."""
        return MultibodyForces(self.tree, self.batch_shape)

    def _check_forces(self, forces: object) -> None:
        """Check that forces are for this tree and have this batch shape."""
        check_forces(self.tree, forces, "forces", self.batch_shape)

    def _as_number(self, value: object, what: str) -> Any:
        """Return one number for each sample."""
        return as_float(value, what)

    def _as_declared_vector(self, value: object, what: str, size: int, *, finite: bool) -> Any:
        """Return a read-only vector of the size that an element declared."""
        return as_declared_vector(value, what, size, self.batch_shape, finite=finite)

    def _rate_of_energy(self, element: ForceElement) -> Any:
        """Return the rate of a force element's potential energy along v and in time."""
        from mbt.context.user_forces import differentiate_energy

        return differentiate_energy(self, element)

    # Copies.

    def _get_state(self) -> dict[str, Any]:
        """Return everything that a copy of this Context needs, by name."""
        return {**super()._get_state(), "declared": self._declared.get_state()}

    def _set_state(self, state: dict[str, Any]) -> None:
        """Restore the result of `_get_state` from a Context of this tree or of a copy of it."""
        declared = DeclaredValues.of_state(self.tree, state["declared"])
        super()._set_state(state)
        self._declared = declared

    @classmethod
    def _of_state(cls, tree: MultibodyTree, state: dict[str, Any]) -> Context:
        """Return a Context with a state that `_get_state` returned."""
        context: Context = cls(tree)
        context._set_state(state)
        return context

    def _move_to(self, tree: MultibodyTree) -> None:
        """Move this Context to a copy of its tree."""
        self._declared.follow(self.tree, tree)
        super()._move_to(tree)

    def __copy__(self) -> Context:
        """Return a clone."""
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> Context:
        """Return a clone, for the same tree, or for its copy if the same ``deepcopy`` copies the tree."""
        twin = self.clone()
        from mbt.tree.pickling import follow_copies

        follow_copies(self.tree, twin, memo)
        return twin

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickle the values and the tree."""
        from mbt.tree.pickling import FORMAT

        return restore_context, (FORMAT, type(self), self.tree, self._get_state())

    def validate(self) -> None:
        """Check that everything can be computed from the state and the inputs.

        All known values must be finite: q, v, time, the actuation, the applied forces, and the discrete state
        of elements. No joint may be at gimbal lock, the force of each element must be defined (the ends of a
        spring must not coincide), and each degree of freedom that is not locked must have inertia. The check
        also reports a floating base whose position seems to come before its quaternion, as in MuJoCo and
        Pinocchio. In a batch it reports each sample. Symbols are assumed to be finite and nonsingular.

        Raises
        ------
        ArgumentValueError
            When there are problems; the message lists all of them.
        """
        from mbt.context.validation import (
            find_faulty_elements,
            find_foreign_orders,
            find_not_finite,
            raise_problems,
        )

        problems = find_not_finite(self)
        is_finite = not problems
        if self._numbers.has_values:
            problems += self._find_singularities()
            problems += find_foreign_orders(self)
            if is_finite:
                problems += find_faulty_elements(self)
        raise_problems(problems)

    # Diagnosis of performance.

    def explain(self, cache: object) -> CacheExplanation:
        """Return which writes to this Context made a cache stale, so that it is rejected or recomputed.

        Each write gets a serial number, and a cache keeps the numbers of the values it was computed from.
        Nothing else is recorded, so writes stay cheap: of several writes to the same value, only the last is
        reported. For one state of doubles, changed positions and parameters are reported by name.

        Parameters
        ----------
        cache : PositionKinematicsCache, VelocityKinematicsCache or CacheEntry
            The result of ``tree.eval_position_kinematics(context)`` or a similar method, from before the
            writes; or an entry that an element declared.

        Returns
        -------
        CacheExplanation

        Raises
        ------
        ArgumentTypeError
            When `cache` is something else.
        ForeignElementError
            When a cache entry belongs to another tree.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(1.0, [0, 0, -1.0])))
        >>> _ = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, rod, None, axis=[0, 1, 0])
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> kinematics = tree.eval_position_kinematics(context)
        >>> context.v = [1.0]
        >>> context.explain(kinematics).is_stale
        False
        >>> _ = rod.set_mass(context, 3.0)
        >>> context.q = [0.5]
        >>> [(write.what, write.detail) for write in context.explain(kinematics).writes]
        [('parameters', "mass of body 'rod'"), ('q', 'hinge_q 0 -> 0.5')]
        """
        from mbt.context.explanation import explain

        return explain(self, cache)

    def freeze(self) -> Freezing:
        """Reject writes of parameters, locks and switches from now on, for loops that must not stall.

        Masses, inertias, frames, gravity, damping, and parameters of force elements, actuators and
        constraints cannot change; neither can locks, exemptions from gravity, enabled constraints, and
        parameters that elements declared. The Context cannot be reset either. You can still write the state
        and the inputs, at no extra cost: time, q, v, actuation, applied forces, discrete state.

        Copies are not frozen. The Context stays frozen until `thaw`, or until the end of
        ``with context.freeze():``.

        Returns
        -------
        Freezing
            A context manager; its use in a ``with`` statement is optional.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 1, 1, 1)))
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> with context.freeze():
        ...     context.v = [0, 0, 0, 0, 0, 1]
        ...     try:
        ...         box.set_mass(context, 2.0)
        ...     except mbt.FrozenContextError as error:
        ...         print(str(error).partition(",")[0])
        context: mass of body 'box' cannot be written
        """
        from mbt.context.explanation import Freezing

        return Freezing(self)

    def thaw(self) -> None:
        """Accept all writes again; see `freeze`."""
        self._is_frozen = False

    @property
    def is_frozen(self) -> bool:
        """Whether this Context is frozen."""
        return self._is_frozen

    def _find_singularities(self) -> list[str]:
        """Return descriptions of quantities that are undefined at the current values."""
        from mbt.context.validation import find_singularities

        return find_singularities(self)

    def _repr_html_(self) -> str:
        """Return state and inputs by name, for a notebook."""
        from mbt.context.presentation import describe_context_as_html

        return describe_context_as_html(self)

    def __repr__(self) -> str:
        """Show the tree and the time."""
        return f"<Context of {self.tree!r}, time={self.time:g}>"


def restore_context(
    format_: int, context_type: type[Context], tree: MultibodyTree, state: dict[str, Any]
) -> Context:
    """Return a pickled Context.

    Raises
    ------
    ArgumentValueError
        When it has another format, is truncated, or is kept by an element of its own tree.
    """
    from mbt.tree.pickling import check_format

    check_format(format_, "Context")
    with reporting_damage("Context"):
        if not tree.is_finalized:
            raise ArgumentValueError(
                "unpickling a Context: its tree is not complete yet. An element cannot keep a Context of its "
                "own tree in a pickle: leave it out with __getstate__."
            )
        return context_type._of_state(tree, state)
