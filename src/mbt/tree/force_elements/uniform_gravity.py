"""Uniform gravity."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from mbt.errors import ArgumentTypeError
from mbt.math.arrays import FloatArray, as_bool, as_finite_array
from mbt.tree.context_access import check_context, get_parameter, numbers_of, set_parameter
from mbt.tree.element import MultibodyElement, as_model_instance
from mbt.tree.force_elements.force_element import ForceElement
from mbt.tree.indices import ModelInstanceIndex, world_model_instance
from mbt.tree.joint_limits import frozen

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.caches import PositionKinematicsCache, VelocityKinematicsCache
    from mbt._core.engines.context import ContextCore

__all__ = ["UniformGravityFieldElement"]


class UniformGravityFieldElement(ForceElement):
    """The same gravity everywhere: the force ``m g_W`` at each mass centre.

    Model instances can be exempt from it. Its potential energy is zero when every mass centre is at the World
    origin. A tree has at most one such element. It belongs to the model instance of World.

    Parameters
    ----------
    g_W : array_like, shape (3,), optional
        Acceleration of gravity in World [m/s^2]. The default of a parameter of each Context.
    disabled_model_instances : iterable of ModelInstanceIndex, optional
        Model instances that are exempt from gravity. The default of a setting of each Context.

    Raises
    ------
    ArgumentValueError
        When a number is not finite.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement())
    >>> gravity.gravity_vector
    array([ 0.  ,  0.  , -9.81])
    """

    def __init__(
        self,
        g_W: object = (0.0, 0.0, -9.81),
        disabled_model_instances: Iterable[int] = (),
    ) -> None:
        super().__init__(world_model_instance())
        what = type(self).__name__
        self._g_W = frozen(as_finite_array(g_W, f"{what}: g_W", (3,)))
        try:
            instances = list(disabled_model_instances)
        except TypeError:
            raise ArgumentTypeError(
                f"{what}: disabled_model_instances: expected model instances, got "
                f"{type(disabled_model_instances).__name__}"
            ) from None
        self._disabled_model_instances = {
            as_model_instance(i, f"{what}: disabled_model_instances") for i in instances
        }

    @property
    def gravity_vector(self) -> FloatArray:
        """Default acceleration of gravity g_W [m/s^2], shape (3,), read-only."""
        return self._g_W

    def set_default_gravity_vector(self, g_W: object) -> Self:
        """Set the default acceleration of gravity [m/s^2], shape (3,), before ``finalize()``."""
        self._check_not_finalized("the default gravity", "Set that of a Context with set_gravity_vector().")
        self._g_W = frozen(as_finite_array(g_W, f"{self._label}: g_W", (3,)))
        return self

    def is_enabled(self, model_instance: int | str) -> bool:
        """Return whether gravity acts on a model instance by default.

        Raises
        ------
        ElementIndexError
            When the tree of this element has no such model instance.
        """
        return self._checked_instance(model_instance) not in self._disabled_model_instances

    def set_enabled(self, model_instance: int | str, is_enabled: bool) -> Self:
        """Set whether gravity acts on a model instance by default, before ``finalize()``.

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        ElementIndexError
            When the tree of this element has no such model instance.
        """
        self._check_not_finalized(
            "where gravity acts by default", "Set it in a Context with set_enabled_in()."
        )
        instance = self._checked_instance(model_instance)
        if as_bool(is_enabled, f"{self._label}: is_enabled"):
            self._disabled_model_instances.discard(instance)
        else:
            self._disabled_model_instances.add(instance)
        return self

    # Settings of one Context.

    def get_gravity_vector(self, context: ContextCore) -> FloatArray:
        """Return the acceleration of gravity in `context` [m/s^2], shape (3,)."""
        return get_parameter(self, context, "gravity", 0)

    def set_gravity_vector(self, context: ContextCore, g_W: object) -> Self:
        """Set the acceleration of gravity in `context` [m/s^2], shape (3,)."""
        set_parameter(
            self,
            context,
            "gravity",
            0,
            self._checked(numbers_of(self, context).as_finite_array, g_W, "g_W", (3,)),
        )
        return self

    def is_enabled_in(self, context: ContextCore, model_instance: int | str) -> bool:
        """Return whether gravity acts on the bodies of a model instance in `context`.

        Raises
        ------
        ContextMismatchError
            When `context` belongs to another tree.
        ElementIndexError
            When there is no such model instance.
        """
        check_context(self, context)
        instance = self._checked_instance(model_instance)
        nodes = self._nodes_of(instance)
        if not nodes:
            return self.is_enabled(instance)
        return not context._is_weightless(nodes[0])

    def set_enabled_in(self, context: ContextCore, model_instance: int | str, is_enabled: bool) -> Self:
        """Set whether gravity acts on the bodies of a model instance in `context`.

        Raises
        ------
        ContextMismatchError
            When `context` belongs to another tree.
        ElementIndexError
            When there is no such model instance.
        """
        check_context(self, context)
        nodes = self._nodes_of(self._checked_instance(model_instance))
        enabled = self._checked(as_bool, is_enabled, "is_enabled")
        context._set_weightless(nodes, not enabled)
        return self

    # Forces, energy and power in a Context.

    def calc_gravity_generalized_forces(self, context: ContextCore) -> FloatArray:
        """Return the generalized forces of gravity, shape (num_velocities,) [N m or N].

        They are minus the gradient of the potential energy of gravity.
        """
        check_context(self, context)
        return self.parent_tree.calc_gravity_generalized_forces(context)

    def calc_and_add_force_contribution(
        self,
        context: ContextCore,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
        forces: Any = None,
    ) -> None:
        """Add the weight of each body to `forces`; see `ForceElement`."""
        check_context(self, context)
        self.parent_tree._add_gravity(context, pc, forces)

    def calc_potential_energy(self, context: ContextCore, pc: PositionKinematicsCache | None = None) -> float:
        """Return minus the sum of ``m g_W·p_WBcm`` [J]; see `ForceElement`."""
        check_context(self, context)
        return self.parent_tree._calc_gravity(context, "potential_energy", pc)

    def calc_conservative_power(
        self,
        context: ContextCore,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> float:
        """Return the sum of ``m g_W·v_WBcm`` [W]; see `ForceElement`."""
        check_context(self, context)
        return self.parent_tree._calc_gravity(context, "conservative_power", pc, vc)

    def calc_non_conservative_power(
        self,
        context: ContextCore,
        pc: PositionKinematicsCache | None = None,
        vc: VelocityKinematicsCache | None = None,
    ) -> float:
        """Return zero: gravity is conservative."""
        check_context(self, context)
        self.parent_tree._position_of(context, pc)
        self.parent_tree._velocity_of(context, vc)
        zero: float = cast("Any", context)._zero
        return zero

    # For the tree.

    @property
    def _is_user_defined(self) -> bool:
        return False

    def _needs(self) -> Iterator[tuple[MultibodyElement, str]]:
        return iter(())

    def _check_instances(self, count: int) -> None:
        """Check that a tree with `count` model instances has all the disabled ones."""
        for instance in sorted(self._disabled_model_instances):
            as_model_instance(instance, f"{self._label}: disabled_model_instances", count)

    def _checked_instance(self, model_instance: object) -> ModelInstanceIndex:
        if self._tree is None:
            return as_model_instance(model_instance, f"{self._label}: model_instance")
        find = self._tree._elements.instance_at
        index: ModelInstanceIndex = self._checked(find, model_instance, "model_instance").index
        return index

    def _nodes_of(self, instance: int) -> list[int]:
        return [body._node_index for body in self.parent_tree._elements.bodies.in_instance(instance)]

    def _repr_details(self) -> str:
        """Return what the representation shows besides the name."""
        return f" g_W={self._g_W.tolist()}"
