"""Contact of points with a half-space: feet on the ground."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from mbt._core.model.element_types import ForceElementType
from mbt.errors import ArgumentValueError, rows_error
from mbt.math.arrays import FloatArray, as_finite_array
from mbt.math.leading_axes import flatten, fold
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree.body import RigidBody
from mbt.tree.context_access import check_context, numbers_of
from mbt.tree.fields import NONNEGATIVE, POSITIVE, Number, Reference
from mbt.tree.force_elements.compiled import CompiledForceElement
from mbt.tree.frame import Frame

if TYPE_CHECKING:
    from typing_extensions import Self

    from mbt._core.engines.context import ContextCore
    from mbt.tree.finalization import FinalizationPlan

__all__ = ["PointContact"]


class PointContact(CompiledForceElement):
    """Points of a frame F against the half-space ``z < 0`` of a frame A, with friction.

    A point at the depth ``x > 0`` below the plane z = 0 of A is pushed along +z of A by the normal force of
    Hunt and Crossley, ``N = stiffness x max(1 + dissipation xdot, 0)``, which never pulls. Coulomb friction
    ``mu(s) N`` acts against its slip, the velocity along the plane, of the speed s. With
    ``r = s / stiction_speed``, ``mu = static_friction (15 r - 10 r**3 + 3 r**5) / 8`` rises to
    `static_friction` at r = 1; from there it falls to `dynamic_friction` at r = 3, where it stays. The
    opposite force acts on A at the same point. All points of a frame are one element: the motion of the
    frame is computed only once.

    Parameters
    ----------
    frame : Frame or RigidBody
        The frame F; a body stands for its body frame. The contact belongs to its model instance.
    p_FC : array_like, shape (3,) or (n, 3)
        Positions in F [m] of one point or of several.
    half_space_frame : Frame or RigidBody, optional
        The frame A, on another body; by default World's, which requires that `frame` belongs to a tree.
    stiffness : float
        Normal force per depth, of each point [N/m], not negative.
    dissipation : float
        Relative gain of the force per speed of approach [s/m], not negative. After an impact at a low
        speed v, a ball leaves with about ``(1 - 2/3 dissipation v) v``.
    static_friction : float
        Largest friction, as a share of the normal force, not negative.
    dynamic_friction : float, optional
        Friction of points that slip fast, at most `static_friction`; by default equal to it.
    stiction_speed : float, optional
        Speed of the slip at which friction is largest [m/s], greater than zero; by default 0.05. Points
        that stick creep at a fraction of it. A smaller value makes the equations of motion stiffer.

    Raises
    ------
    ArgumentTypeError
        When an argument is not a frame.
    ArgumentValueError
        When both frames are on one body, there is no point, or a number is invalid.
    ForeignElementError
        When `frame` belongs to no tree, and `half_space_frame` is not given.

    Notes
    -----
    All numbers and points are the defaults of parameters of each Context.

    The potential energy is ``stiffness x**2 / 2`` of each point below the plane. Dissipation and
    friction are the non-conservative power, which is never positive, however A moves. See the page on contact
    for where the force is smooth.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(2.0, 0.4, 0.2, 0.2)))
    >>> corners = [[x, y, -0.1] for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    >>> ground = tree.add_force_element(
    ...     mbt.PointContact(box, corners, stiffness=500.0, dissipation=1.0, static_friction=0.8)
    ... )
    >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10.0]))
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> context.q = [1, 0, 0, 0, 0, 0, 0.09]
    >>> ground.calc_depths(context).round(12)
    array([0.01, 0.01, 0.01, 0.01])
    >>> ground.calc_contact_forces(context)[0].round(12)
    array([0., 0., 5.])
    >>> tree.calc_forward_dynamics(context).round(12) + 0.0
    array([0., 0., 0., 0., 0., 0.])
    """

    _type: ClassVar[ForceElementType] = ForceElementType.POINT_CONTACT

    frame = Reference(Frame, "The frame F of the points.")
    half_space_frame = Reference(Frame, "The frame A of the half-space z < 0.")
    stiffness = Number("stiffness", "N/m", NONNEGATIVE)
    dissipation = Number("dissipation", "s/m", NONNEGATIVE)
    static_friction = Number("coefficient of static friction", bound=NONNEGATIVE)
    dynamic_friction = Number("coefficient of dynamic friction", bound=NONNEGATIVE)
    stiction_speed = Number("speed of the slip at which friction is largest", "m/s", POSITIVE)
    set_default_stiffness, get_stiffness, set_stiffness = stiffness.accessors()
    set_default_dissipation, get_dissipation, set_dissipation = dissipation.accessors()
    get_static_friction, get_dynamic_friction = static_friction.reader(), dynamic_friction.reader()
    set_default_stiction_speed, get_stiction_speed, set_stiction_speed = stiction_speed.accessors()
    # The points follow these numbers.
    _start_of_points: ClassVar[int] = 5

    def __init__(
        self,
        frame: Frame | RigidBody,
        p_FC: object,
        half_space_frame: Frame | RigidBody | None = None,
        *,
        stiffness: float,
        dissipation: float,
        static_friction: float,
        dynamic_friction: float | None = None,
        stiction_speed: float = 0.05,
    ) -> None:
        what = type(self).__name__
        (F,) = self._refer_to(what, frame=frame)
        if half_space_frame is None:
            half_space_frame = F.parent_tree.world_frame
        (A,) = self._refer_to(what, half_space_frame=half_space_frame)
        if A.body is F.body:
            raise ArgumentValueError(
                f"{what}: expected frames on two bodies, but {F._label} and {A._label} are both on "
                f"{F.body._label}"
            )
        points = _as_points(p_FC, f"{what}: p_FC")
        numbers = self._checked_numbers(what, stiffness=stiffness, dissipation=dissipation)
        numbers += self._checked_frictions(what, static_friction, dynamic_friction)
        numbers += self._checked_numbers(what, stiction_speed=stiction_speed)
        super().__init__(F.model_instance, [*numbers, *points.ravel().tolist()])

    @classmethod
    def _checked_frictions(
        cls, what: Any, static_friction: object, dynamic_friction: object, numbers: Numbers = DOUBLES
    ) -> tuple[float, float]:
        static = cls.static_friction.checked(static_friction, what, numbers)
        if dynamic_friction is None:
            return static, static
        dynamic = cls.dynamic_friction.checked(dynamic_friction, what, numbers)
        if not numbers.is_less(dynamic, static):
            label = getattr(what, "_label", what)
            numbers.as_nonnegative(static - dynamic, f"{label}: static_friction - dynamic_friction")
        return static, dynamic

    @property
    def num_points(self) -> int:
        """Number of points."""
        return (self._defaults.size - self._start_of_points) // 3

    @property
    def p_FC(self) -> FloatArray:
        """Default positions of the points in F [m], shape (num_points, 3), read-only."""
        return self._defaults[self._start_of_points :].reshape(-1, 3)

    def set_default_friction(self, static_friction: object, dynamic_friction: object = None) -> Self:
        """Set both default coefficients of friction, before ``finalize()``; see `set_friction`."""
        values = self._checked_frictions(self, static_friction, dynamic_friction)
        return self._set_defaults(type(self).static_friction.first, values, "set_friction")

    def set_default_p_FC(self, p_FC: object) -> Self:
        """Set the default positions of the points in F [m], shape (num_points, 3), before ``finalize()``."""
        value = as_finite_array(p_FC, f"{self._label}: p_FC", (self.num_points, 3))
        return self._set_defaults(self._start_of_points, value.ravel(), "set_p_FC")

    # Parameters of one Context.

    def set_friction(
        self, context: ContextCore, static_friction: object, dynamic_friction: object = None
    ) -> Self:
        """Set both coefficients of friction in `context`; the second defaults to the first.

        Raises
        ------
        ArgumentValueError
            Unless ``0 <= dynamic_friction <= static_friction``.
        """
        numbers = numbers_of(self, context)
        values = self._checked_frictions(self, static_friction, dynamic_friction, numbers)
        self._set_numbers(context, type(self).static_friction.first, numbers.stack(values))
        return self

    def get_p_FC(self, context: ContextCore) -> FloatArray:
        """Return the positions of the points in F in `context` [m], shape (num_points, 3)."""
        points: FloatArray = fold(
            self._get_numbers(context)[..., self._start_of_points :], self.num_points, 3
        )
        return points

    def set_p_FC(self, context: ContextCore, p_FC: object) -> Self:
        """Set the positions of the points in F in `context` [m], shape (num_points, 3)."""
        points = self._checked(numbers_of(self, context).as_finite_array, p_FC, "p_FC", (self.num_points, 3))
        self._set_numbers(context, self._start_of_points, flatten(points, 2))
        return self

    # Which points touch, and how.

    def calc_contact_forces(self, context: ContextCore) -> FloatArray:
        """Return the force on F at each point, in World [N], shape (num_points, 3): zero if not touching.

        Its opposite acts on A at the same point.
        """
        return self._calc_contact(context)[..., :3]

    def calc_depths(self, context: ContextCore) -> FloatArray:
        """Return how deep each point is below the plane [m], shape (num_points,): negative above it."""
        return self._calc_contact(context)[..., 3]

    def _calc_contact(self, context: ContextCore) -> FloatArray:
        check_context(self, context)
        each: FloatArray = self.parent_tree._calc_force_element(context, self._core_index, "contact_forces")
        return each

    # For the tree.

    def _places(self, plan: FinalizationPlan) -> tuple[int, int]:
        return self.half_space_frame._index, self.frame._index

    def _slows(self, context: ContextCore) -> bool:
        return True  # At least it stops impacts.

    def _repr_details(self) -> str:
        """Return what the representation shows besides the name."""
        return f"{super()._repr_details()} num_points={self.num_points}"


def _as_points(p_FC: object, argument: str) -> FloatArray:
    points = as_finite_array(p_FC, argument)
    if points.ndim not in (1, 2) or points.shape[-1] != 3:
        raise rows_error(argument, points.shape)
    if points.size == 0:
        raise ArgumentValueError(f"{argument}: expected one point or more, got none")
    return points
