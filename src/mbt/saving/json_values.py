"""Values of elements in JSON: a class for each sort of value writes and reads it.

A value that equals that of a new element is left out: `write` then returns None.
"""

from __future__ import annotations

import math
from dataclasses import fields as fields_of
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mbt.errors import quote
from mbt.math import PiecewiseConstantCurvatureTrajectory, UnitInertia
from mbt.math.poses import IDENTITY
from mbt.math.spatial_inertia import SpatialInertia
from mbt.saving.json_fields import Fields
from mbt.saving.json_text import write_number
from mbt.tree.indices import default_model_instance
from mbt.tree.shape import Claim, Shape

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.saving.json_names import NamesInFile, NamesOfTree
    from mbt.tree.surface import Surface

__all__ = [
    "CONFIG",
    "INERTIA",
    "INSTANCE",
    "INSTANCES",
    "LIMITS",
    "NO_LIMITS_TOO",
    "NUMBER",
    "NUMBERS",
    "PATH",
    "POINTS",
    "POSE",
    "SHAPES",
    "TEXT",
    "TEXTS",
    "ElementValue",
    "Index",
    "MaybeElement",
    "Number",
    "Numbers",
    "Value",
]


class Value(Protocol):
    """A sort of values."""

    def write(self, value: Any, names: NamesOfTree) -> Any:
        """Return the JSON value, or None to leave it out."""
        ...

    def read(self, fields: Fields, key: str, names: NamesInFile) -> Any:
        """Take the value that `write` returned."""
        ...


class _Text:
    def write(self, value: str, names: NamesOfTree) -> str:
        return value

    def read(self, fields: Fields, key: str, names: NamesInFile) -> str:
        return fields.take_text(key)


class _Texts:
    def write(self, value: tuple[str, ...], names: NamesOfTree) -> list[str]:
        return list(value)

    def read(self, fields: Fields, key: str, names: NamesInFile) -> list[str]:
        texts = fields.take_list(key)
        if not all(type(text) is str for text in texts):
            raise fields.error(key, f"expected a list of texts, got {quote(texts)}")
        return texts


class Number:
    """A number; one that equals `unwritten` is left out."""

    def __init__(self, unwritten: float | None = None) -> None:
        self._unwritten = unwritten

    def write(self, value: float, names: NamesOfTree) -> float | str | None:
        """Return the number."""
        return None if value == self._unwritten else write_number(value)

    def read(self, fields: Fields, key: str, names: NamesInFile) -> float:
        """Take the number."""
        return fields.take_number(key)


class Index:
    """A whole number; None is left out."""

    def write(self, value: int | None, names: NamesOfTree) -> int | None:
        """Return the number."""
        return value

    def read(self, fields: Fields, key: str, names: NamesInFile) -> int:
        """Take the number."""
        value = fields.take(key)
        if type(value) is not int:
            raise fields.error(key, f"expected a whole number, got {quote(value)}")
        return value


class Numbers:
    """A vector; it is left out if it, or each of its entries, equals `unwritten`."""

    def __init__(
        self, size: int | None = None, *, unwritten: float | tuple[float, ...] | None = None
    ) -> None:
        self._size = size
        self._unwritten = unwritten

    def write(self, value: FloatArray, names: NamesOfTree) -> list[float | str] | None:
        """Return a list."""
        if self._unwritten is not None and _is(value, np.broadcast_to(self._unwritten, value.shape)):
            return None
        return list(map(write_number, value.tolist()))

    def read(self, fields: Fields, key: str, names: NamesInFile) -> list[float]:
        """Take the list."""
        return fields.take_numbers(key, self._size)


class _Points:
    """Points by rows, (n, 3)."""

    def write(self, value: FloatArray, names: NamesOfTree) -> list[list[float]]:
        rows: list[list[float]] = value.tolist()
        return rows

    def read(self, fields: Fields, key: str, names: NamesInFile) -> list[list[float]]:
        return fields.take_rows(key, 3)


class _Limits:
    """Lower and upper limits, each a list."""

    def __init__(self, *, unwritten: bool) -> None:
        self._unwritten = unwritten

    def write(self, value: tuple[FloatArray, FloatArray], names: NamesOfTree) -> list[Any] | None:
        lower, upper = value
        if self._unwritten and (lower == -math.inf).all() and (upper == math.inf).all():
            return None
        return [list(map(write_number, limit.tolist())) for limit in value]

    def read(self, fields: Fields, key: str, names: NamesInFile) -> list[list[float]]:
        pair = fields.take(key)
        if type(pair) is not list or len(pair) != 2:
            raise fields.error(key, f"expected lower and upper limits, two lists, got {quote(pair)}")
        both = Fields(fields.document, fields.place, {f"{key}[{i}]": pair[i] for i in (0, 1)})
        return [both.take_numbers(f"{key}[{i}]", None) for i in (0, 1)]


class _Pose:
    """A pose: translation and, unless it is the identity, rotation; or a matrix with four rows."""

    def write(self, value: FloatArray, names: NamesOfTree) -> Any:
        if _is(value, IDENTITY):
            return None
        if not _is(value[3], IDENTITY[3]):
            return value.tolist()
        pose: dict[str, Any] = {"translation": value[:3, 3].tolist()}
        if not _is(value[:3, :3], IDENTITY[:3, :3]):
            pose["rotation"] = value[:3, :3].tolist()
        return pose

    def read(self, fields: Fields, key: str, names: NamesInFile) -> FloatArray:
        value = fields.take(key)
        if type(value) is list:
            rows = Fields(fields.document, fields.place, {key: value}).take_rows(key, 4)
            if len(rows) != 4:
                raise fields.error(key, "expected a pose: an object, or four rows")
            return np.array(rows)
        parts = Fields(fields.document, fields.place_of(key), value)
        X = np.eye(4)
        X[:3, 3] = parts.take_numbers("translation", 3)
        if parts.has("rotation"):
            R = parts.take_rows("rotation", 3)
            if len(R) != 3:
                raise parts.error("rotation", "expected three rows")
            X[:3, :3] = R
        parts.finish()
        return X


class _Inertia:
    """Mass properties; rotational inertia without mass is a separate value."""

    def write(self, value: SpatialInertia, names: NamesOfTree) -> dict[str, Any]:
        inertia: dict[str, Any] = {
            "mass": value.mass,
            "com": value.com.tolist(),
            "unit_inertia": value.unit_inertia.components.tolist(),
        }
        if not _is(value._massless_inertia, np.zeros(6)):
            inertia["massless_inertia"] = value._massless_inertia.tolist()
        return inertia

    def read(self, fields: Fields, key: str, names: NamesInFile) -> SpatialInertia:
        parts = fields.take_fields(key)
        numbers = {"mass": [parts.take_number("mass")], "com": parts.take_numbers("com", 3)}
        numbers["unit_inertia"] = parts.take_numbers("unit_inertia", 6)
        if parts.has("massless_inertia"):
            numbers["massless_inertia"] = parts.take_numbers("massless_inertia", 6)
        parts.finish()
        for name, values in numbers.items():
            if not all(map(math.isfinite, values)):
                raise parts.error(name, f"expected finite numbers, got {values}")
        (mass,) = numbers["mass"]
        if mass < 0.0:
            raise parts.error("mass", f"a mass cannot be negative, got {mass:g}")
        unit_inertia = UnitInertia._of_components(np.array(numbers["unit_inertia"]))
        J = np.array(numbers.get("massless_inertia", [0.0] * 6))
        inertia = SpatialInertia._of_parts(mass, np.array(numbers["com"]), unit_inertia, J)
        self._judge(parts, inertia)
        return inertia

    def _judge(self, parts: Fields, inertia: SpatialInertia) -> None:
        """Warn of an impossible inertia; raise an error when strict."""
        reason = inertia.criticize_not_physically_valid()
        if reason is None:
            return
        document = parts.document
        if document.is_strict:
            raise document.error(reason, parts.place, "strict=False loads it as written, with a warning")
        document.report.impossible_inertias.append(parts.place)
        document.report.warn(f"{parts.place}: {reason[:1].lower()}{reason[1:]}")


class _Path:
    """The path of a curvilinear joint. Its initial frame is a matrix, so that no bit is lost."""

    def write(self, value: PiecewiseConstantCurvatureTrajectory, names: NamesOfTree) -> dict[str, Any]:
        return {
            "breaks": value.breaks.tolist(),
            "turning_rates": value.turning_rates.tolist(),
            "initial_rotation": value._R.tolist(),
            "initial_position": value._p.tolist(),
            "is_periodic": value.is_periodic,
        }

    def read(self, fields: Fields, key: str, names: NamesInFile) -> PiecewiseConstantCurvatureTrajectory:
        parts = fields.take_fields(key)
        breaks, rates = parts.take_numbers("breaks", None), parts.take_numbers("turning_rates", None)
        rows = parts.take_rows("initial_rotation", 3)
        if len(rows) != 3:
            raise parts.error("initial_rotation", "expected three rows")
        R = np.array(rows)
        position, is_periodic = parts.take_numbers("initial_position", 3), parts.take_bool("is_periodic")
        parts.finish()
        path = parts.make(
            PiecewiseConstantCurvatureTrajectory,
            breaks,
            rates,
            R[:, 0].tolist(),
            R[:, 2].tolist(),
            position,
            is_periodic,
        )
        path._R = as_written(R, path._R)
        return path


class _Shapes:
    def write(self, value: tuple[Shape, ...], names: NamesOfTree) -> list[dict[str, Any]] | None:
        return [self._write_shape(shape, names) for shape in value] or None

    def _write_shape(self, shape: Shape, names: NamesOfTree) -> dict[str, Any]:
        values = {
            "kind": shape.kind,
            "name": shape.name or None,
            "size": list(shape.size),
            "X_BG": POSE.write(shape.X_BG, names),
            "color": None if shape.color is None else list(shape.color),
            "mesh": shape.mesh,
            "folder": shape.folder,
            "heights": None if shape.heights is None else shape.heights.tolist(),
            "contact_bits": None if shape.contact_bits is None else list(shape.contact_bits),
            "surface": None if shape.surface is None else _write_surface(shape.surface),
        }
        return {key: value for key, value in values.items() if value is not None}

    def read(self, fields: Fields, key: str, names: NamesInFile) -> list[Shape]:
        return [self._read_shape(entry, names) for entry in fields.take_objects(key)]

    def _read_shape(self, fields: Fields, names: NamesInFile) -> Shape:
        kind, size = fields.take_text("kind"), fields.take_numbers("size", None)
        X_BG = POSE.read(fields, "X_BG", names) if fields.has("X_BG") else None
        values: dict[str, Any] = {
            key: fields.take_text(key) for key in ("name", "mesh", "folder") if fields.has(key)
        }
        for key in values.keys() & {"mesh", "folder"}:
            values[key] = Claim(values[key])
        if "folder" in values and fields.document.has_inside(values["folder"]):
            values["folder"] = str(values["folder"])
        if fields.has("color"):
            values["color"] = fields.take_numbers("color", 4)
        if fields.has("heights"):
            values["heights"] = fields.take_rows("heights", None)
        if fields.has("contact_bits"):
            values["contact_bits"] = fields.take_list("contact_bits")
        if fields.has("surface"):
            values["surface"] = _read_surface(fields.take_fields("surface"))
        fields.finish()
        return fields.make(Shape, kind, size, X_BG, **values)


def _write_surface(surface: Surface) -> dict[str, Any]:
    return {
        field.name: value
        for field in fields_of(surface)
        if (value := getattr(surface, field.name)) != field.default
    }


def _read_surface(fields: Fields) -> Surface:
    from mbt.tree.surface import Surface

    values = {field.name: fields.take(field.name) for field in fields_of(Surface) if fields.has(field.name)}
    fields.finish()
    return fields.make(Surface, **values)


class _Config:
    """The constants of a door hinge."""

    def write(self, value: Any, names: NamesOfTree) -> dict[str, float]:
        return {field.name: getattr(value, field.name) for field in fields_of(value)}

    def read(self, fields: Fields, key: str, names: NamesInFile) -> Any:
        from mbt.tree.force_elements.door_hinge import DoorHingeConfig

        parts = fields.take_fields(key)
        constants = {field.name: parts.take_number(field.name) for field in fields_of(DoorHingeConfig)}
        parts.finish()
        return parts.make(DoorHingeConfig, **constants)


class _Instance:
    """A model instance; the default one is left out."""

    def write(self, value: int, names: NamesOfTree) -> str | None:
        return None if value == default_model_instance() else names.instances[value]

    def read(self, fields: Fields, key: str, names: NamesInFile) -> int:
        if not fields.has(key):
            return default_model_instance()
        return names.index_of_instance(fields, key, fields.take(key))


class _Instances:
    """Several model instances."""

    def write(self, value: set[int], names: NamesOfTree) -> list[str] | None:
        return [names.instances[i] for i in sorted(value)] or None

    def read(self, fields: Fields, key: str, names: NamesInFile) -> list[int]:
        return [names.index_of_instance(fields, key, name) for name in fields.take_list(key)]


class ElementValue:
    """Another element, of a kind that comes earlier in the file."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def write(self, value: Any, names: NamesOfTree) -> str | list[str]:
        """Return the reference."""
        return names.refer_to(value)

    def read(self, fields: Fields, key: str, names: NamesInFile) -> Any:
        """Take the reference and return the element."""
        return names.find(fields, key, self._kind, fields.take(key))


class MaybeElement(ElementValue):
    """Another element, or None, which is left out."""

    def write(self, value: Any, names: NamesOfTree) -> str | list[str] | None:  # type: ignore[override]
        """Return the reference."""
        return None if value is None else super().write(value, names)


def as_written(written: FloatArray, normalized: FloatArray) -> FloatArray:
    """Return, read-only, the numbers of a file if they are normalized up to rounding, bit for bit."""
    if float(abs(written - normalized).max()) > 1e-12:
        return normalized
    exact: FloatArray = np.array(written)
    exact.flags.writeable = False
    return exact


def _is(a: FloatArray, b: FloatArray) -> bool:
    """Return whether both are equal to the last bit, including the signs of zeros."""
    return a.tobytes() == b.tobytes()


TEXT = _Text()
TEXTS = _Texts()
NUMBER = Number()
NUMBERS = Numbers()
LIMITS = _Limits(unwritten=True)
NO_LIMITS_TOO = _Limits(unwritten=False)
POSE = _Pose()
INERTIA = _Inertia()
PATH = _Path()
POINTS = _Points()
SHAPES = _Shapes()
CONFIG = _Config()
INSTANCE = _Instance()
INSTANCES = _Instances()
