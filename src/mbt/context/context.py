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
        """A Context of arrays of this type, for type checkers: results are of the same, and so is `out`."""

        def _get_parameter(self, section: str, index: int) -> A: ...
        def _set_entries(self, section: str, index: int, first: int, values: A) -> None: ...


__all__ = ["Context"]


class Context(ContextCore):
    """Time, positions, velocities, inputs and parameters of one tree, and caches of what follows from them.

    `clone`, ``copy.copy`` and ``copy.deepcopy`` return an independent Context of the same tree; a
    ``deepcopy`` of something that holds the tree as well, one of the copy of that tree. A pickle includes the
    tree.

    ``tree.create_default_context()`` makes it. Use one Context per thread; threads may share the tree. If a
    thread uses a Context with which another thread is computing, it gets a `ConcurrentUseError`.

    Attributes
    ----------
    tree : MultibodyTree
        The tree it was made by.

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

    # No dictionary: a misspelt attribute is an error, not a value that nobody reads.
    __slots__ = ("__weakref__", "_declared")

    def __new__(cls, tree: Any) -> Any:
        """Make a Context of the scalar of the tree."""
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
        # Without the defaults, in whose place come the values of this one.
        other: Context = Context.__new__(Context, self.tree)
        other._copy_from(self)
        other._declared = self._declared.copy(self.tree)
        return other

    # What elements declared: see `MultibodyElement.do_declare_parameters`.

    @property
    def servo_positions(self) -> FloatArray:
        """Target position of each actuator, (..., num_actuators); those of plain motors read 0, for good.

        Read-only; written as a whole. In a new Context it is the default position of the joint. Where no
        actuator of the tree is a servo, all but zeros raise an `ArgumentValueError`.
        """
        return self._servo_targets(0)

    @servo_positions.setter
    def servo_positions(self, value: object) -> None:
        self._set_servo_targets(0, value, "servo_positions")

    @property
    def servo_velocities(self) -> FloatArray:
        """Target velocity of each actuator, (..., num_actuators), as `servo_positions`; 0 unless set."""
        return self._servo_targets(1)

    @servo_velocities.setter
    def servo_velocities(self, value: object) -> None:
        self._set_servo_targets(1, value, "servo_velocities")

    @property
    def sensors(self) -> FloatArray:
        """What the sensors measure, (..., num_sensor_values), as `MultibodyTree.calc_sensors` returns it."""
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
                f"{name}: expected zeros, for no actuator of the tree is a servo: {CURE_OF_MOTORS}"
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
        """Return a vector that an element declared as parameter, shape (..., n), read-only.

        Raises
        ------
        ElementIndexError
            When there is no such parameter.
        """
        return self._declared.parameters.get_numeric_parameter(index)

    def set_numeric_parameter(self, index: NumericParameterIndex | int, values: object) -> None:
        """Set a vector that an element declared as parameter.

        Quantities that depend on parameters are computed again when they are needed; frames whose poses are
        computed in Python are placed again at once.

        Parameters
        ----------
        index : NumericParameterIndex
            What `declare_numeric_parameter` returned.
        values : array_like, shape (n,)
            As many numbers as declared; in a batch also (..., n).

        Raises
        ------
        ElementIndexError
            When there is no such parameter.
        ShapeError
            When `values` has another size than declared.
        ArgumentValueError
            When a number is not finite, or a frame has no pose then.
        """
        self._declared.set_numeric_parameter(self, index, values)

    def get_abstract_parameter(self, index: AbstractParameterIndex | int) -> Any:
        """Return an object that an element declared as parameter; change it only by setting another one."""
        return self._declared.parameters.get_abstract_parameter(index)

    def set_abstract_parameter(self, index: AbstractParameterIndex | int, value: Any) -> None:
        """Set an object that an element declared as parameter, as `set_numeric_parameter` sets a vector."""
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
        """Set a vector that an element declared as discrete state. NaN and infinity pass, as in q and v.

        Raises
        ------
        ElementIndexError
            When there is no such vector.
        ShapeError
            When `values` has another size than declared.
        """
        self._declared.set_discrete_state(self, index, values)

    def eval_cache_entry(self, entry: CacheEntry) -> Any:
        """Return the value of a cache entry, computed if something that it depends on has changed.

        Parameters
        ----------
        entry : CacheEntry
            What `declare_cache_entry` returned.

        Returns
        -------
        object
            An array is read-only.

        Raises
        ------
        ForeignElementError
            When an element of another tree declared it.
        """
        return self._declared.eval_cache_entry(self, entry)

    def _reset_declared(self, reset: Callable[[Context], None]) -> None:
        """Reset this Context with `reset`, and what elements declared."""
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

    # For force elements written in Python. A Context with batch axes, or of another scalar, has its own.

    @property
    def _zero(self) -> Any:
        """Zero for each sample."""
        return 0.0

    def _running_user_code(self) -> AbstractContextManager[None]:
        """Return a context manager for calls of elements written in Python: no other thread comes between."""
        return self._exclusive()

    def _of_one_state(self) -> Context:
        """Return a Context of one state of doubles, with the parameters of this one."""
        return self

    def _new_forces(self) -> MultibodyForces:
        """Return forces of the batch shape and scalar of this Context, zero."""
        return MultibodyForces(self.tree, self.batch_shape)

    def _check_forces(self, forces: object) -> None:
        """Check that forces are for this tree and of this batch shape."""
        check_forces(self.tree, forces, "forces", self.batch_shape)

    def _as_number(self, value: object, what: str) -> Any:
        """Return one number for each sample."""
        return as_float(value, what)

    def _as_declared_vector(self, value: object, what: str, size: int, *, finite: bool) -> Any:
        """Return a vector for what an element declared, read-only."""
        return as_declared_vector(value, what, size, self.batch_shape, finite=finite)

    def _rate_of_energy(self, element: ForceElement) -> Any:
        """Return the rate of the potential energy of a force element along v and in time."""
        from mbt.context.user_forces import differentiate_energy

        return differentiate_energy(self, element)

    # Copies.

    def _get_state(self) -> dict[str, Any]:
        """Return all that a copy of this Context has, by name."""
        return {**super()._get_state(), "declared": self._declared.get_state()}

    def _set_state(self, state: dict[str, Any]) -> None:
        """Take over what `_get_state` of a Context of this tree, or of a copy of it, returned."""
        declared = DeclaredValues.of_state(self.tree, state["declared"])
        super()._set_state(state)
        self._declared = declared

    @classmethod
    def _of_state(cls, tree: MultibodyTree, state: dict[str, Any]) -> Context:
        """Return a Context with all that `_get_state` told."""
        context: Context = cls(tree)
        context._set_state(state)
        return context

    def _move_to(self, tree: MultibodyTree) -> None:
        """Become a Context of a copy of its tree."""
        self._declared.follow(self.tree, tree)
        super()._move_to(tree)

    def __copy__(self) -> Context:
        """Return a clone."""
        return self.clone()

    def __deepcopy__(self, memo: dict[Any, Any]) -> Context:
        """Return a clone: of the same tree, or of its copy if the same ``deepcopy`` copies the tree."""
        twin = self.clone()
        from mbt.tree.pickling import follow_copies

        follow_copies(self.tree, twin, memo)
        return twin

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickle the values, with the tree."""
        from mbt.tree.pickling import FORMAT

        return restore_context, (FORMAT, type(self), self.tree, self._get_state())

    def validate(self) -> None:
        """Check that everything can be computed from the state and the inputs.

        Numbers must be finite, as far as they are known: q, v, time, the actuation, the applied forces, the
        discrete state of elements. No joint may be at gimbal lock, the force of each element must be defined
        (the ends of a spring must not coincide), and mass must resist each degree of freedom that is not
        locked. The check also reports a floating base whose position seems to come before its quaternion, as
        in MuJoCo and Pinocchio. In a batch it reports each sample; it takes symbols for finite and nowhere
        singular.

        Raises
        ------
        ArgumentValueError
            When something is wrong; it lists everything.
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

    # For those who look for what takes time.

    def explain(self, cache: object) -> CacheExplanation:
        """Return which writes to this Context made a cache stale, so that it is rejected or computed again.

        Each write gets a number, and a cache keeps the numbers of the values it was computed from. Nothing
        else is recorded, so writes cost no more: of several writes to the same value, only the last is
        reported. For one state of doubles, the names of changed positions and parameters are reported.

        Parameters
        ----------
        cache : PositionKinematicsCache, VelocityKinematicsCache or CacheEntry
            The result of ``tree.eval_position_kinematics(context)`` and the like, before the writes; or an
            entry that an element declared.

        Returns
        -------
        CacheExplanation

        Raises
        ------
        ArgumentTypeError
            When `cache` is something else.
        ForeignElementError
            When a cache entry is of another tree.

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
        constraints stay as they are; so do locks, exemptions from gravity, enabled constraints, and
        parameters that elements declared. The Context cannot be reset either. You can still write the state
        and the inputs: time, q, v, actuation, applied forces, discrete state. That costs nothing.

        Copies are not frozen. `thaw` ends it, and so does the end of ``with context.freeze():``.

        Returns
        -------
        Freezing
            A context manager, which need not be used as one.

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
        """Whether `freeze` holds."""
        return self._is_frozen

    def _find_singularities(self) -> list[str]:
        """Return what is undefined at the present values."""
        from mbt.context.validation import find_singularities

        return find_singularities(self)

    def _repr_html_(self) -> str:
        """Return state and inputs by name, for a notebook."""
        from mbt.context.presentation import describe_context_as_html

        return describe_context_as_html(self)

    def __repr__(self) -> str:
        """Tell the sizes and the time."""
        return f"<Context of {self.tree!r}, time={self.time:g}>"


def restore_context(
    format_: int, context_type: type[Context], tree: MultibodyTree, state: dict[str, Any]
) -> Context:
    """Return a pickled Context.

    Raises
    ------
    ArgumentValueError
        When it is of another format, truncated, or is kept by an element of its own tree.
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
