"""Shapes: the appearance of a body, and where it can touch others. Plain data that dynamics does not read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.math.arrays import FloatArray, as_finite_array
from mbt.math.poses import IDENTITY, as_pose

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from mbt.tree.surface import Surface

__all__ = ["Claim", "Shape", "as_shapes"]

#: The meaning of the numbers of each kind.
_SIZES = {
    "box": ("length along x", "length along y", "length along z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),
    "ellipsoid": ("semi-axis along x", "semi-axis along y", "semi-axis along z"),
    "plane": (),
    "mesh": ("scale along x", "scale along y", "scale along z"),
    "height_field": ("length along x", "length along y"),
}


class Claim(str):
    """The location of a mesh as a description gives it: text from an untrusted source."""

    __slots__ = ()


class Shape:
    """A shape G that is fixed on a body: data for drawing and collision detection. It never changes.

    Parameters
    ----------
    kind : str
        One of the kinds below.
    size : sequence of float, optional
        Lengths [m]: ``"box"`` (x, y, z), whole lengths; ``"sphere"`` (radius,); ``"cylinder"`` (radius,
        length) along z; ``"capsule"`` (radius, length) along z, the length without its half spheres;
        ``"ellipsoid"`` (x, y, z), semi-axes; ``"plane"`` (), the half-space below z = 0; ``"mesh"`` (x, y,
        z), scales without unit, by default 1, negative where it is mirrored; ``"height_field"`` (x, y), the
        whole lengths of the grid: all that is below its surface.
    X_BG : array_like, shape (4, 4), optional
        Pose of the shape in the body frame; by default the identity. A shape has its origin in its centre.
    name : str, optional
        A name, which need not be unique; by default empty.
    color : sequence of float, optional
        Red, green, blue and alpha, from 0 to 1; None if not given.
    mesh : str, optional
        For a mesh: its location, as the description gives it. It is not opened.
    folder : str, optional
        For a mesh: the folder of the description, from which a relative path counts.
    heights : array_like, shape (rows, columns), optional
        For a height field: z of the surface [m], on a grid about the origin whose rows go along y and whose
        columns go along x, at least two of each. A cell is two triangles, cut from its corner at the least x
        and y to that at the largest.
    contact_bits : pair of int, optional
        The ``contype`` and the ``conaffinity`` of MJCF, 32 bits each: two shapes make a pair of a
        `CollisionModel` where a bit of the first number of one is in the second number of the other. None,
        the default: a pair with each other shape.
    surface : Surface, optional
        Its contact properties: friction, stiffness and dissipation. None, the default: not given.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When the kind is not known, or a number is invalid.

    Examples
    --------
    >>> import mbt
    >>> shape = mbt.Shape("cylinder", [0.05, 0.4], mbt.math.make_pose([0, 0, 0.2]), color=[1, 0.5, 0, 1])
    >>> shape
    <Shape cylinder size=(0.05, 0.4)>
    >>> link = mbt.RigidBody("link", mbt.SpatialInertia.solid_cylinder_with_mass(1.0, 0.05, 0.4, [0, 0, 1]))
    >>> link.add_visual(shape).visuals
    (<Shape cylinder size=(0.05, 0.4)>,)
    """

    __slots__ = (
        "X_BG",
        "color",
        "contact_bits",
        "folder",
        "heights",
        "kind",
        "mesh",
        "name",
        "size",
        "surface",
    )

    #: The kind, as ``"box"``.
    kind: str
    #: Its lengths [m], or the scales of a mesh.
    size: tuple[float, ...]
    #: Pose in the body frame, shape (4, 4), read-only.
    X_BG: FloatArray
    #: A name, perhaps empty.
    name: str
    #: Red, green, blue and alpha, or None.
    color: tuple[float, float, float, float] | None
    #: Location of a mesh, as the description gives it, or None.
    mesh: str | None
    #: The folder of the description, or None.
    folder: str | None
    #: For a height field, shape (rows, columns) [m], read-only; else None.
    heights: FloatArray | None
    #: ``contype`` and ``conaffinity`` of MJCF, or None.
    contact_bits: tuple[int, int] | None
    #: Its contact properties, or None.
    surface: Surface | None

    def __init__(
        self,
        kind: str,
        size: Sequence[float] | None = None,
        X_BG: npt.ArrayLike | None = None,
        *,
        name: str = "",
        color: Sequence[float] | None = None,
        mesh: str | None = None,
        folder: str | None = None,
        heights: npt.ArrayLike | None = None,
        contact_bits: Sequence[int] | None = None,
        surface: Surface | None = None,
    ) -> None:
        if not isinstance(kind, str) or kind not in _SIZES:
            raise ArgumentValueError(f"Shape: kind: expected one of {', '.join(_SIZES)}, got {quote(kind)}")
        for argument, value in (("name", name), ("mesh", mesh), ("folder", folder)):
            if not (isinstance(value, str) or (value is None and argument != "name")):
                raise ArgumentTypeError(f"Shape: {argument}: expected text, got {type(value).__name__}")
        if (mesh is None) == (kind == "mesh"):
            wanted = (
                "a mesh needs the path or address of its file: mesh=..."
                if mesh is None
                else f"a {kind} has no mesh"
            )
            raise ArgumentValueError(f"Shape: mesh: {wanted}")
        if size is None:
            size = (1.0, 1.0, 1.0) if kind == "mesh" else ()
        pose = IDENTITY if X_BG is None else as_pose(X_BG, "Shape: X_BG").copy()
        checked_color = None if color is None else _checked_color(color)
        bits = None if contact_bits is None else _checked_bits(contact_bits)
        grid = _checked_heights(kind, heights)
        if surface is not None:
            _check_surface(surface)
        own = kind, _checked_size(kind, size), pose, name, checked_color, mesh, folder
        self._set(*own, grid, bits, surface)

    @classmethod
    def _of_checked(
        cls,
        kind: str,
        size: tuple[float, ...],
        X_BG: FloatArray,
        name: str,
        color: tuple[float, float, float, float] | None,
        mesh: str | None,
        folder: str | None,
        heights: FloatArray | None = None,
        contact_bits: tuple[int, int] | None = None,
        surface: Surface | None = None,
    ) -> Self:
        """Return a shape made from data that a reader has checked; it keeps the pose without a copy."""
        shape = cls.__new__(cls)
        shape._set(kind, size, X_BG, name, color, mesh, folder, heights, contact_bits, surface)
        return shape

    def _move_to(self, X_BG: FloatArray) -> Self:
        """Return the same shape in another pose, which it keeps without a copy."""
        own = self.kind, self.size, X_BG, self.name, self.color, self.mesh, self.folder
        return self._of_checked(*own, self.heights, self.contact_bits, self.surface)

    def _set(
        self,
        kind: str,
        size: Any,
        X_BG: FloatArray,
        name: str,
        color: Any,
        mesh: Any,
        folder: Any,
        heights: FloatArray | None,
        contact_bits: Any,
        surface: Surface | None,
    ) -> None:
        X_BG.setflags(write=False)
        _put_X_BG(self, X_BG)
        _put_color(self, color)
        _put_folder(self, folder)
        _put_kind(self, kind)
        _put_mesh(self, mesh)
        _put_name(self, name)
        _put_size(self, size)
        _put_heights(self, heights)
        _put_contact_bits(self, contact_bits)
        _put_surface(self, surface)

    def __setattr__(self, name: str, value: object) -> None:
        """Raise an error: bodies of many trees may share a shape."""
        raise AttributeError(f"a Shape never changes: make another one instead of setting {name!r}")

    def __delattr__(self, name: str) -> None:
        """Refuse."""
        raise AttributeError(f"a Shape never changes: {name!r} cannot be deleted")

    def __copy__(self) -> Self:
        """Return this shape itself."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return this shape itself."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments of the constructor, which checks them again."""
        return _make_shape, tuple(getattr(self, name) for name in _PICKLED)

    def __eq__(self, other: object) -> bool:
        """Return whether all attributes are equal."""
        return isinstance(other, Shape) and self._key() == other._key()

    def __hash__(self) -> int:
        """Return a hash, the same for equal shapes."""
        return hash(self._key())

    def __repr__(self) -> str:
        """Return kind, name and size."""
        name = f" {quote(self.name)}" if self.name else ""
        mesh = "" if self.mesh is None else f" {quote(self.mesh)}"
        return f"<Shape {self.kind}{name}{mesh} size={self.size}>"

    def _key(self) -> tuple[object, ...]:
        pose = tuple(self.X_BG.ravel().tolist())
        grid = None if self.heights is None else (self.heights.shape, self.heights.tobytes())
        own = self.kind, self.size, pose, self.name, self.color, self.mesh, self.folder
        return *own, grid, self.contact_bits, self.surface


# Writers of the slots, because `__setattr__` raises an error.
(
    _put_X_BG,
    _put_color,
    _put_contact_bits,
    _put_folder,
    _put_heights,
    _put_kind,
    _put_mesh,
    _put_name,
    _put_size,
    _put_surface,
) = [getattr(Shape, slot).__set__ for slot in Shape.__slots__]

# In the order of `_make_shape`: the last three are not in older pickles.
_PICKLED = ("X_BG", "color", "folder", "kind", "mesh", "name", "size", "heights", "contact_bits", "surface")


def _make_shape(
    X_BG: FloatArray,
    color: Sequence[float] | None,
    folder: str | None,
    kind: str,
    mesh: str | None,
    name: str,
    size: Sequence[float],
    heights: FloatArray | None = None,
    contact_bits: Sequence[int] | None = None,
    surface: Surface | None = None,
) -> Shape:
    return Shape(
        kind,
        size,
        X_BG,
        name=name,
        color=color,
        mesh=mesh,
        folder=folder,
        heights=heights,
        contact_bits=contact_bits,
        surface=surface,
    )


def _checked_size(kind: str, size: Sequence[float]) -> tuple[float, ...]:
    meanings = _SIZES[kind]
    numbers = as_finite_array(size, f"Shape: size of a {kind}", (len(meanings),)).tolist()
    for number, meaning in zip(numbers, meanings, strict=True):
        is_wrong = {"mesh": number == 0.0, "height_field": number <= 0.0}
        if is_wrong.get(kind, number < 0.0):
            raise ArgumentValueError(f"Shape: size: a {kind} cannot have {meaning} = {number:g}")
    return tuple(numbers)


def _checked_heights(kind: str, heights: object) -> FloatArray | None:
    if (heights is None) == (kind == "height_field"):
        wanted = "a height field needs them" if heights is None else f"a {kind} has none"
        raise ArgumentValueError(f"Shape: heights: {wanted}")
    if heights is None:
        return None
    grid = as_finite_array(heights, "Shape: heights", (None, None)).copy()
    if min(grid.shape) < 2:
        raise ArgumentValueError(
            f"Shape: heights: expected two rows and two columns at least, got {grid.shape}"
        )
    grid.setflags(write=False)
    return grid


def _checked_bits(bits: Sequence[int]) -> tuple[int, int]:
    wanted = "expected contype and conaffinity, two integers of 32 bits"
    if isinstance(bits, (str, bytes)) or not isinstance(bits, Sequence) or len(bits) != 2:
        raise ArgumentTypeError(f"Shape: contact_bits: {wanted}, got {quote(bits)}")
    for number in bits:
        if isinstance(number, bool) or not hasattr(number, "__index__"):
            raise ArgumentTypeError(f"Shape: contact_bits: {wanted}, got {quote(bits)}")
    first, second = (int(number) for number in bits)
    if not all(-(2**31) <= number < 2**32 for number in (first, second)):
        raise ArgumentValueError(f"Shape: contact_bits: {wanted}, got {quote(bits)}")
    return first, second


def _check_surface(surface: object) -> None:
    from mbt.tree.surface import Surface  # Few shapes have one.

    if not isinstance(surface, Surface):
        raise ArgumentTypeError(f"Shape: surface: expected an mbt.Surface, got {quote(surface)}")


def _checked_color(color: Sequence[float]) -> tuple[float, float, float, float]:
    red, green, blue, alpha = as_finite_array(color, "Shape: color", (4,)).tolist()
    if not all(0.0 <= part <= 1.0 for part in (red, green, blue, alpha)):
        raise ArgumentValueError(f"Shape: color: expected numbers from 0 to 1, got {quote(color)}")
    return red, green, blue, alpha


def as_shapes(shapes: object, argument: str) -> list[Shape]:
    """Return shapes, given in any iterable, as a list.

    Raises
    ------
    ArgumentTypeError
        When it is something else, such as a single shape.
    """
    if isinstance(shapes, Shape) or not isinstance(shapes, Iterable):
        raise ArgumentTypeError(f"{argument}: expected a list of mbt.Shape, got {quote(shapes)}")
    found = list(shapes)
    for i, shape in enumerate(found):
        if not isinstance(shape, Shape):
            raise ArgumentTypeError(f"{argument}[{i}]: expected an mbt.Shape, got {quote(shape)}")
    return found
