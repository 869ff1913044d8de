"""Rigid bodies."""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from mbt._core.api.poses import shift_and_turn
from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    InvalidInertiaError,
    NotFinalizedError,
)
from mbt.math.arrays import FloatArray
from mbt.math.leading_axes import cut, join, rotate
from mbt.math.numbers import DOUBLES
from mbt.math.spatial_inertia import SpatialInertia, is_clearly_possible
from mbt.math.unit_inertia import UnitInertia
from mbt.tree.body_motion import BodyMotion
from mbt.tree.context_access import (
    Forces,
    check_context,
    check_forces,
    get_parameter,
    get_scalar_parameter,
    numbers_of,
    set_parameter,
)
from mbt.tree.element import call_constructor, check_element, is_constructed
from mbt.tree.frame import BodyFrame, Frame
from mbt.tree.indices import BodyIndex, BodyNodeIndex, ModelInstanceIndex, world_index
from mbt.tree.samples import number_of_each_sample
from mbt.tree.shape import Shape

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore
    from mbt.tree.joint import Joint
    from mbt.tree.mobilizer import Mobilizer

__all__ = ["RigidBody"]


_NO_NODE = BodyNodeIndex(-1)
_WORLD = world_index()
_NO_INERTIA = [0.0] * 6


class RigidBody(BodyMotion):
    """A rigid body B with its mass properties.

    Write ``RigidBody(name, M_BBo_B)``, or ``RigidBody(M_BBo_B)`` for a body that is given a name when it is
    added.

    Parameters
    ----------
    name : str, optional
        Name, unique among the bodies of the model instance. The body frame has the same name.
    M_BBo_B : SpatialInertia
        Mass properties about the body origin Bo, expressed in the body frame B. They are the defaults of
        parameters of each Context.
    model_instance : ModelInstanceIndex, optional
        The model instance; by default number 1.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    >>> link.index, link.default_mass, link.body_frame.name
    (1, 2.0, 'link')
    """

    kind: ClassVar[str] = "body"
    _adder: ClassVar[str] = "add_body"

    # Many bodies have none.
    _visuals: tuple[Shape, ...] = ()
    _collisions: tuple[Shape, ...] = ()

    @overload
    def __init__(self, name: str, M_BBo_B: SpatialInertia, model_instance: int | None = None) -> None: ...
    @overload
    def __init__(self, M_BBo_B: SpatialInertia, model_instance: int | None = None) -> None: ...

    def __init__(self, *args: object, **kwargs: object) -> None:
        if "name" not in kwargs and not (args and isinstance(args[0], (str, NoneType))):
            args = (None, *args)
        call_constructor(type(self).__name__, self._construct, args, kwargs)

    def _construct(
        self,
        name: str | None,
        M_BBo_B: SpatialInertia,
        model_instance: int | None = None,
    ) -> None:
        super().__init__(name, model_instance)
        self._hold(self._checked_inertia(M_BBo_B))

    # What `help` and editors show.
    __init__.__wrapped__ = _construct  # type: ignore[attr-defined]

    @classmethod
    def _of_checked(cls, name: str, M_BBo_B: SpatialInertia, model_instance: ModelInstanceIndex) -> Self:
        """Return a body made from data that a reader has checked."""
        body = cls.__new__(cls)
        body._begin(name, model_instance)
        body._hold(M_BBo_B)
        return body

    def _hold(self, M_BBo_B: SpatialInertia) -> None:
        self._M_BBo_B = M_BBo_B
        self._body_frame = BodyFrame._of_body(self)
        # Known once the tree is finalized. Attributes added later can cost each body a dictionary.
        self._node_index = _NO_NODE
        self._inboard_mobilizer: Mobilizer | None = None

    @property
    def index(self) -> BodyIndex:
        """Index of this body in its tree."""
        return BodyIndex(self._checked_index())

    @property
    def is_world(self) -> bool:
        """Whether this is the world body."""
        return self._tree is not None and self._index == _WORLD

    @property
    def body_frame(self) -> BodyFrame:
        """The frame B of this body."""
        return self._body_frame

    @property
    def link_frame(self) -> BodyFrame:
        """The frame B of this body: the same as `body_frame`."""
        return self._body_frame

    @property
    def node_index(self) -> BodyNodeIndex:
        """The row of this body in all per-body arrays. Known after ``finalize()``."""
        if self._node_index < 0:
            raise NotFinalizedError(f"{self._label} has no node_index yet: call tree.finalize() first.")
        return self._node_index

    @property
    def inboard_mobilizer(self) -> Mobilizer | None:
        """The mobilizer that moves this body; None for World. Known after ``finalize()``."""
        if self._node_index < 0:
            raise NotFinalizedError(
                f"{self._label} has no inboard_mobilizer yet: call tree.finalize() first."
            )
        return self._inboard_mobilizer

    @property
    def inboard_joint(self) -> Joint | None:
        """The joint that moves this body; None for World, and where a mobilizer has no joint."""
        mobilizer = self.inboard_mobilizer
        return None if mobilizer is None else mobilizer.joint

    def lock(self, context: ContextCore) -> Self:
        """Hold this body still relative to its inboard body: lock the mobilizer that moves it."""
        self._checked_mobilizer("lock").lock(context)
        return self

    def unlock(self, context: ContextCore) -> Self:
        """Undo `lock`."""
        self._checked_mobilizer("unlock").unlock(context)
        return self

    def is_locked(self, context: ContextCore) -> bool:
        """Return whether the mobilizer that moves this body is locked."""
        return self._checked_mobilizer("is_locked").is_locked(context)

    def _checked_mobilizer(self, method: str) -> Mobilizer:
        mobilizer = self.inboard_mobilizer
        if mobilizer is None:
            raise ArgumentValueError(f"{method}: no mobilizer moves {self._label}")
        return mobilizer

    @property
    def default_spatial_inertia(self) -> SpatialInertia:
        """Default mass properties M_BBo_B about Bo, expressed in B."""
        return self._M_BBo_B

    @property
    def default_mass(self) -> float:
        """Default mass [kg]."""
        return self._M_BBo_B.mass

    @property
    def default_com(self) -> FloatArray:
        """Default position p_BoBcm_B of the mass centre [m], shape (3,), read-only."""
        return self._M_BBo_B.com

    @property
    def default_unit_inertia(self) -> UnitInertia:
        """Default unit inertia G_BBo_B about Bo [m^2]."""
        return self._M_BBo_B.unit_inertia

    def set_default_spatial_inertia(self, M_BBo_B: SpatialInertia) -> Self:
        """Set the default mass properties about Bo, expressed in B, before ``finalize()``.

        Raises
        ------
        AlreadyFinalizedError
            When the tree is finalized.
        """
        self._check_not_finalized(
            "the default mass properties",
            "Set those of a Context with set_spatial_inertia_in_body_frame().",
        )
        self._check_has_mass_properties()
        self._M_BBo_B = self._checked_inertia(M_BBo_B)
        return self

    # Shapes.

    @property
    def visuals(self) -> tuple[Shape, ...]:
        """The visual shapes, in the body frame. No computation reads them."""
        return self._visuals

    @property
    def collisions(self) -> tuple[Shape, ...]:
        """The collision shapes, in the body frame: a `CollisionModel` reads them, dynamics does not."""
        return self._collisions

    def add_visual(self, shape: Shape) -> Self:
        """Add a shape to `visuals`, before ``finalize()``."""
        self._visuals = (*self._visuals, self._checked_shape(shape))
        return self

    def add_collision(self, shape: Shape) -> Self:
        """Add a shape to `collisions`, before ``finalize()``."""
        self._collisions = (*self._collisions, self._checked_shape(shape))
        return self

    def _take_shapes(self, visuals: tuple[Shape, ...], collisions: tuple[Shape, ...]) -> None:
        """Add many shapes at once: one by one takes quadratic time."""
        if visuals:
            self._visuals += visuals
        if collisions:
            self._collisions += collisions

    def _checked_shape(self, shape: Shape) -> Shape:
        self._check_not_finalized("its shapes", "Add them before, or on tree.edit().")
        if not isinstance(shape, Shape):
            got = type(shape).__name__
            raise ArgumentTypeError(f"{self._label}: shape: expected an mbt.Shape, got {got}")
        return shape

    # Mass properties of one Context.

    @number_of_each_sample
    def get_mass(self, context: ContextCore) -> float:
        """Return the mass in `context` [kg]."""
        return get_scalar_parameter(self, context, "mass", self.node_index)

    def calc_center_of_mass_in_body_frame(self, context: ContextCore) -> FloatArray:
        """Return the position p_BoBcm_B of the mass centre in `context` [m], shape (3,)."""
        return get_parameter(self, context, "com", self.node_index)

    def calc_spatial_inertia_in_body_frame(self, context: ContextCore) -> SpatialInertia:
        """Return the mass properties M_BBo_B in `context`."""
        return self._inertia_about(context, self.calc_center_of_mass_in_body_frame(context))

    def _inertia_about(self, context: ContextCore, com: FloatArray) -> SpatialInertia:
        """Return the mass properties in `context`, but with this mass centre."""
        numbers, node = numbers_of(self, context), self.node_index
        return numbers.make_inertia(
            context._get_number("mass", node),
            com,
            context._get_parameter("unit_inertia", node),
            context._get_parameter("massless_inertia", node),
        )

    def set_mass(self, context: ContextCore, mass: object) -> Self:
        """Set the mass in `context` [kg]; the inertia scales with it, the mass centre stays.

        Rotational inertia without mass does not change either.

        Raises
        ------
        ArgumentValueError
            When `mass` is negative or not finite.
        ContextMismatchError
            When `context` belongs to another tree.
        """
        self._check_has_mass_properties()
        set_parameter(
            self,
            context,
            "mass",
            self.node_index,
            self._checked(numbers_of(self, context).as_nonnegative, mass, "mass"),
        )
        return self

    def set_center_of_mass_in_body_frame(self, context: ContextCore, com: object) -> Self:
        """Set the position p_BoBcm_B of the mass centre in `context` [m], shape (3,).

        Mass and unit inertia about Bo do not change.

        Raises
        ------
        InvalidInertiaError
            When the unit inertia about Bo is too small for a mass centre there. Set both at once with
            `set_spatial_inertia_in_body_frame`.
        ContextMismatchError
            When `context` belongs to another tree.
        """
        self._check_has_mass_properties()
        numbers, node = numbers_of(self, context), self.node_index
        p_BoBcm_B: Any = None
        if numbers is DOUBLES:
            p_BoBcm_B = self._checked(numbers.as_float_array, com, "com", (3,))
        # Values that are clearly possible are finite too.
        is_known_possible = (
            p_BoBcm_B is not None
            and context._get_parameter("massless_inertia", node).tolist() == _NO_INERTIA
            and is_clearly_possible(
                context._get_number("mass", node),
                p_BoBcm_B.tolist(),
                context._get_parameter("unit_inertia", node).tolist(),
            )
        )
        if not is_known_possible:
            p_BoBcm_B = self._checked(numbers.as_finite_array, com, "com", (3,))
            self._check_valid(self._inertia_about(context, p_BoBcm_B))
        context._set_parameter("com", node, p_BoBcm_B)
        return self

    def set_spatial_inertia_in_body_frame(self, context: ContextCore, M_BBo_B: SpatialInertia) -> Self:
        """Set mass, mass centre and inertia in `context`.

        In a batch `M_BBo_B` is one inertia for all samples, an array of inertias of the batch shape, or a
        result of `calc_spatial_inertia_in_body_frame` for a batch.

        Raises
        ------
        InvalidInertiaError
            When no physical body has these mass properties.
        ShapeError
            When they belong to a batch of another shape.
        ContextMismatchError
            When `context` belongs to another tree.
        """
        self._check_has_mass_properties()
        numbers = numbers_of(self, context)
        M = self._checked(numbers.as_inertia, M_BBo_B, "M_BBo_B")
        self._check_valid(M)
        parts = {
            "mass": M.mass,
            "com": M.com,
            "unit_inertia": M.unit_inertia.components,
            "massless_inertia": M._massless_inertia,
        }
        if numbers is not DOUBLES:
            parts["mass"] = numbers.stack([M.mass])
            parts = {name: numbers.as_float_array(part, name) for name, part in parts.items()}
        context._set_parameters(self.node_index, parts)
        return self

    # Forces on this body.

    def get_force_in_world(self, context: ContextCore, forces: Forces) -> FloatArray:
        """Return the force on this body at its origin Bo, in World: F_Bo_W (6,) [N m, N], a copy.

        Parameters
        ----------
        context : Context
            A Context of this tree. Its values do not matter.
        forces : MultibodyForces
            Forces on the same tree.

        Returns
        -------
        ndarray, shape (*forces.batch_shape, 6)

        Raises
        ------
        ContextMismatchError
            When `context` or `forces` belong to another tree.
        """
        check_context(self, context)
        check_forces(self, forces)
        return forces.body_forces[..., self.node_index, :].copy()

    def add_in_force_in_world(self, context: ContextCore, F_Bo_W: object, forces: Forces) -> None:
        """Add a force on this body at its origin Bo to `forces`.

        Parameters
        ----------
        context : Context
            A Context of this tree. Its values do not matter.
        F_Bo_W : array_like, shape (6,)
            Torque and force at Bo, in World [N m, N]. It may have the leading axes of `forces`.
        forces : MultibodyForces
            Forces on the same tree.

        Raises
        ------
        ContextMismatchError
            When `context` or `forces` belong to another tree.
        ShapeError
            When `F_Bo_W` has another shape.
        """
        check_context(self, context)
        check_forces(self, forces)
        F = self._checked(context._numbers.as_float_array, F_Bo_W, "F_Bo_W")
        if F.shape != (6,):
            F = self._checked(context._numbers.as_float_array, F, "F_Bo_W", (*forces.batch_shape, 6))
        forces._add_to_body(self.node_index, F)

    def add_in_force(
        self, context: ContextCore, p_BP_E: object, F_Bp_E: object, frame_E: Frame, forces: Forces
    ) -> None:
        """Add a force on this body B at a point P to `forces`.

        Parameters
        ----------
        context : Context
            Its positions determine the orientation of E.
        p_BP_E : array_like, shape (3,)
            Position of P from Bo, expressed in E [m].
        F_Bp_E : array_like, shape (6,)
            Torque and force at P, expressed in E [N m, N].
        frame_E : Frame
            The frame in which both are expressed.
        forces : MultibodyForces
            Forces on the same tree.

        Raises
        ------
        ContextMismatchError
            When `context` or `forces` belong to another tree.
        ForeignElementError
            When `frame_E` belongs to another tree.
        ShapeError
            When a vector has another shape.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 1, 1, 1)))
        >>> tree.finalize()
        >>> context, forces = tree.create_default_context(), mbt.MultibodyForces(tree)
        >>> box.add_in_force(context, [1, 0, 0], [0, 0, 0, 0, 2, 0], box.body_frame, forces)
        >>> box.get_force_in_world(context, forces)
        array([0., 0., 2., 0., 2., 0.])
        """
        check_context(self, context)
        check_forces(self, forces)
        if not is_constructed(frame_E, Frame):
            check_element(frame_E, Frame, f"{self._label}: frame_E")
        tree = self.parent_tree
        R_WE = tree.calc_relative_rotation_matrix(context, tree.world_frame, frame_E)
        F_Bo_W = shift_and_turn(F_Bp_E, p_BP_E, R_WE)
        if F_Bo_W is None:
            numbers = context._numbers
            p_BoBp_E = self._checked(numbers.as_float_array, p_BP_E, "p_BP_E", (3,))
            torque_E, force_E = cut(self._checked(numbers.as_float_array, F_Bp_E, "F_Bp_E", (6,)), 3)
            torque_E = torque_E + np.cross(p_BoBp_E, force_E)
            F_Bo_W = join([rotate(R_WE, torque_E), rotate(R_WE, force_E)])
        forces._add_to_body(self.node_index, F_Bo_W)

    def __copy__(self) -> Self:
        """Return a copy of this body that no tree owns, with its own body frame."""
        twin = super().__copy__()
        twin._body_frame = BodyFrame._of_body(twin)
        return twin

    def _place(self, node: BodyNodeIndex) -> None:
        """Take the row in all per-body arrays that ``finalize()`` assigned."""
        self._node_index = node

    def _checked_inertia(self, M_BBo_B: SpatialInertia) -> SpatialInertia:
        if not isinstance(M_BBo_B, SpatialInertia):
            raise ArgumentTypeError(
                f"{self._label}: M_BBo_B: expected an mbt.SpatialInertia (SpatialInertia.zero() if massless),"
                f" got {type(M_BBo_B).__name__}"
            )
        if M_BBo_B.com.ndim != 1:
            DOUBLES.as_inertia(M_BBo_B, f"{self._label}: M_BBo_B")
        return M_BBo_B

    def _check_has_mass_properties(self) -> None:
        if self.is_world:
            raise ArgumentValueError("the world body does not move: it has no mass properties to set")

    def _check_valid(self, M_BBo_B: SpatialInertia) -> None:
        reason = M_BBo_B.criticize_not_physically_valid()
        if reason is not None:
            raise InvalidInertiaError(f"{self._label}: {reason}")
