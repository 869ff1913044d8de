"""Force elements: forces on bodies and joints besides those of mobilizers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, cast

from mbt._core.above import above
from mbt._core.model.element_types import ForceElementType
from mbt.errors import ArgumentTypeError, StaleCacheError, quote
from mbt.math.foreign import computing_in
from mbt.tree.context_access import check_context
from mbt.tree.element import MultibodyElement
from mbt.tree.hooks import call_hook, overrides
from mbt.tree.indices import ForceElementIndex
from mbt.tree.references import elements_among

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.caches import PositionKinematicsCache, VelocityKinematicsCache
    from mbt._core.engines.context import ContextCore
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.tree.parameters import Parameters

__all__ = ["ForceElement"]


class ForceElement(MultibodyElement):
    """Forces that depend on time, q, v and parameters. This is the base class.

    Subclass it to write your own, with one method, `do_calc_and_add_force_contribution`, which adds spatial
    forces on bodies and generalized forces on joints to `forces`. It then takes part in every computation,
    like the elements that come with mbt. Three optional methods give its energy; without them it stores no
    energy, and all its work is non-conservative.

    The arrays of a Context, of caches and of forces may have batch axes in front: write ``[..., row, :]`` and
    ``[..., k]``, and the same code serves one state and many.

    Parameters
    ----------
    model_instance : ModelInstanceIndex, optional
        The model instance; by default number 1.

    Examples
    --------
    Drag of a sphere, ``f = -c |v| v`` at its centre:

    >>> import numpy as np
    >>> import mbt
    >>> class Drag(mbt.ForceElement):
    ...     def __init__(self, body, coefficient):
    ...         super().__init__(body.model_instance)
    ...         self.body = body
    ...         self.coefficient = coefficient
    ...
    ...     def do_calc_and_add_force_contribution(self, context, pc, vc, forces):
    ...         v_WB = vc.V_WB[..., self.body.node_index, 3:]
    ...         speed = np.sqrt((v_WB * v_WB).sum(axis=-1, keepdims=True))
    ...         forces.body_forces[..., self.body.node_index, 3:] -= self.coefficient * speed * v_WB
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    >>> drag = tree.add_force_element(Drag(ball, 0.5))
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> context.v = [0, 0, 0, 4, 0, 0]
    >>> float(tree.calc_forward_dynamics(context)[3])
    -4.0
    >>> tree.calc_non_conservative_power(context)
    -32.0
    """

    kind: ClassVar[str] = "force element"
    _adder: ClassVar[str] = "add_force_element"

    # Its type in the compiled core; None for gravity, and for elements that users write.
    _type: ClassVar[ForceElementType | None] = None
    # Its number among the elements of the compiled core. Known once the tree is finalized.
    _core_index = -1

    def __init__(self, model_instance: int | None = None) -> None:
        super().__init__(None, model_instance)

    @property
    def index(self) -> ForceElementIndex:
        """Index of this force element in its tree."""
        return ForceElementIndex(self._checked_index())

    # Forces, energy and power in a Context.

    def calc_and_add_force_contribution(
        self,
        context: Any,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        forces: Any = None,
    ) -> None:
        """Add the forces of this element alone to `forces`.

        Parameters
        ----------
        context : Context
            State and parameters.
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; by default those of the Context.
        forces : MultibodyForces
            The forces to add to; required, by name if pc and vc are left out. Unchanged when an argument is
            rejected or the element fails.

        Raises
        ------
        ArgumentTypeError
            When `forces` is missing.
        ContextMismatchError
            When the Context, or the forces, belong to another tree.
        StaleCacheError
            When `pc` or `vc` does not belong to the present state.
        """
        check_context(self, context)
        tree = self.parent_tree
        pc, vc = tree._position_of(context, pc), tree._velocity_of(context, vc)
        context._check_forces(forces)
        with context._exclusive():
            own = self._own_forces(context, pc, vc)
        forces.add_in_forces(own)

    def calc_potential_energy(self, context: ContextCore, pc: PositionKinematicsCache | None = None) -> float:
        """Return the potential energy that this element stores [J].

        Parameters
        ----------
        context : Context
            State and parameters.
        pc : PositionKinematicsCache, optional
            Position kinematics of the same state; those of the Context by default.
        """
        check_context(self, context)
        pc = self.parent_tree._position_of(context, pc)
        with context._exclusive(), computing_in(context._numbers):
            energy = call_hook(self, "do_calc_potential_energy", context, pc)
        checked: float = self._number(context, "do_calc_potential_energy", energy)
        return checked

    def calc_conservative_power(
        self,
        context: ContextCore,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> float:
        """Return the power of the conservative forces of this element [W]: minus the rate of its energy.

        Parameters
        ----------
        context : Context
            State and parameters.
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; by default those of the Context.
        """
        check_context(self, context)
        tree = self.parent_tree
        pc, vc = tree._position_of(context, pc), tree._velocity_of(context, vc)
        with context._exclusive(), computing_in(context._numbers):
            power = call_hook(self, "do_calc_conservative_power", context, pc, vc)
        checked: float = self._number(context, "do_calc_conservative_power", power)
        return checked

    def calc_non_conservative_power(
        self,
        context: ContextCore,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> float:
        """Return the power of the other forces of this element [W]: negative where they dissipate energy.

        The sum of the potential and kinetic energy of a tree, less the integral of this power over all force
        elements and inputs, is constant.

        Parameters
        ----------
        context : Context
            State and parameters.
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache, optional
            Kinematics of the same state; by default those of the Context.
        """
        check_context(self, context)
        tree = self.parent_tree
        pc, vc = tree._position_of(context, pc), tree._velocity_of(context, vc)
        with context._exclusive(), computing_in(context._numbers):
            power = call_hook(self, "do_calc_non_conservative_power", context, pc, vc)
        checked: float = self._number(context, "do_calc_non_conservative_power", power)
        return checked

    # Methods that a subclass written in Python overrides.

    def do_calc_and_add_force_contribution(
        self, context: Any, pc: PositionKinematicsCache, vc: VelocityKinematicsCache, forces: Any
    ) -> None:
        """Add the forces of this element to `forces`. A subclass must override it.

        Parameters
        ----------
        context : Context
            A Context of this element's tree.
        pc, vc : PositionKinematicsCache, VelocityKinematicsCache
            Kinematics of the state of `context`, read-only.
        forces : MultibodyForces
            Zero when this is called. ``forces.body_forces[..., body.node_index, :]`` is the force on a body
            at its origin Bo in World, ``[torque; force]``; ``forces.generalized_forces[..., k]`` acts along
            velocity `k`.
        """
        raise ArgumentTypeError(
            f"{type(self).__name__}: expected a method do_calc_and_add_force_contribution"
            "(self, context, pc, vc, forces)"
        )

    def do_calc_potential_energy(self, context: Any, pc: PositionKinematicsCache) -> Any:
        """Return the potential energy [J]: a number, or an array of the batch shape. Zero by default."""
        return context._zero

    def do_calc_conservative_power(
        self, context: Any, pc: PositionKinematicsCache, vc: VelocityKinematicsCache
    ) -> Any:
        """Return minus the rate of the potential energy [W].

        By default zero; where `do_calc_potential_energy` is overridden, its exact rate along the present
        velocity and in time. In doubles a method that cannot compute in `mbt.autodiff.AutoDiffArray`, or has
        no finite derivatives there, is differentiated by central differences, good for eight digits.
        """
        if not overrides(self, ForceElement, "do_calc_potential_energy"):
            return context._zero
        return -context._rate_of_energy(self)

    def do_calc_non_conservative_power(
        self, context: Any, pc: PositionKinematicsCache, vc: VelocityKinematicsCache
    ) -> Any:
        """Return the power of non-conservative forces [W].

        By default the power of all forces of this element, less its conservative power.
        """
        forces = self._own_forces(context, pc, vc)
        power = (forces.body_forces * vc.V_WB).sum(axis=(-2, -1))
        power = power + (forces.generalized_forces * context.v).sum(axis=-1)
        return power - context._as_number(
            self.do_calc_conservative_power(context, pc, vc),
            f"{self._label}: {type(self).__name__}.do_calc_conservative_power",
        )

    # Called by `MultibodyTree.clone` and `clone_to_scalar`.

    def do_clone_to_scalar(self, tree_clone: MultibodyTree) -> Self:
        """Return a new element like this one for a clone of its tree.

        By default all attributes are copied, and elements among them become their variants in the clone.
        A subclass may override it where something cannot or should not be copied. The returned element
        replaces this one in `tree_clone`, with its name and model instance.

        Parameters
        ----------
        tree_clone : MultibodyTree
            The clone, of any scalar, with all elements but those that clone themselves:
            ``tree_clone.get_variant(element)`` returns the counterpart of an element. It cannot compute yet.

        Raises
        ------
        ArgumentTypeError, ForeignElementError, ArgumentValueError
            Raised by the clone of the tree when the result is not a new element of this class, or belongs to
            another tree. The original is unchanged.
        """
        return cast("Self", above.clone_attributes(self, tree_clone))

    # Parameters: see `MultibodyElement.do_declare_parameters`.

    def do_declare_parameters(self) -> None:
        """Declare parameters; calls `do_declare_force_element_parameters`."""
        self.do_declare_force_element_parameters()

    def do_set_default_parameters(self, parameters: Parameters) -> None:
        """Write other defaults; calls `do_set_default_force_element_parameters`."""
        self.do_set_default_force_element_parameters(parameters)

    def do_declare_force_element_parameters(self) -> None:
        """Declare parameters with `declare_numeric_parameter`. Does nothing by default."""

    def do_set_default_force_element_parameters(self, parameters: Parameters) -> None:
        """Write defaults other than those declared into `parameters`. Does nothing by default."""

    # For the tree.

    @property
    def _is_user_defined(self) -> bool:
        """Whether its forces are computed in Python."""
        return True

    def _slows(self, context: ContextCore) -> bool:
        """Whether it dissipates energy, with the parameters of a Context; not known, False, if in Python."""
        return False

    def _needs(self) -> Iterator[tuple[MultibodyElement, str]]:
        """Return the elements that must belong to the same tree, each with its role here."""
        return elements_among(self)

    def _own_forces(self, context: Any, pc: PositionKinematicsCache, vc: VelocityKinematicsCache) -> Any:
        """Return the forces of this element alone, as a subclass computes them."""
        forces = context._new_forces()
        before = context._serials
        with computing_in(context._numbers):
            result = call_hook(self, "do_calc_and_add_force_contribution", context, pc, vc, forces)
        if result is not None:
            raise ArgumentTypeError(
                f"{self._label}: {type(self).__name__}.do_calc_and_add_force_contribution: expected forces "
                f"added into `forces` and no result, got {type(result).__name__}"
            )
        if context._serials != before:
            raise StaleCacheError(
                f"{self._label}: {type(self).__name__}.do_calc_and_add_force_contribution: it changed the "
                "Context that forces are computed for, which makes earlier results stale. Change a "
                "context.clone() instead."
            )
        return forces

    def _generated_name(self, index: int) -> str:
        """Return a name for an element without one: it shows the type in messages and reports."""
        return f"{type(self).__name__}_{index}"

    def _number(self, context: Any, method: str, value: object) -> Any:
        """Return the result of a subclass, checked to be one number for each sample."""
        return context._as_number(value, f"{self._label}: {type(self).__name__}.{method}")

    def _repr_details(self) -> str:
        """Return what the representation shows besides the name."""
        parts = ((name, value) for name, value in vars(self).items() if isinstance(value, MultibodyElement))
        return "".join(f" {name.lstrip('_')}={quote(element.name)}" for name, element in parts)
