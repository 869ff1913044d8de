"""User-written elements in JSON: the import path of the class, its base class, and its own attributes.

Reading one runs code that the file names, so it needs permission.
"""

from __future__ import annotations

import json
import math
import re
import sys
from importlib import import_module
from typing import Any, cast

import numpy as np

from mbt.errors import ArgumentTypeError, ParseError, quote, shorten
from mbt.math import PiecewiseConstantCurvatureTrajectory, SpatialInertia
from mbt.saving.json_elements import SECTIONS, kind_of, read_element
from mbt.saving.json_fields import Fields
from mbt.saving.json_names import NamesInFile, NamesOfTree
from mbt.saving.json_text import write_number
from mbt.saving.json_values import INERTIA, PATH
from mbt.saving.permission import Permission, import_path
from mbt.tree.element import MultibodyElement
from mbt.tree.parameters import CacheEntry
from mbt.tree.pickle_checks import attributes_of
from mbt.tree.pickling import collection_of
from mbt.tree.references import slots_of

__all__ = ["path_of_class", "read_user_element", "write_attributes"]

_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_MAX_NESTING = 32
_OF_TREE = ("_tree", "_index", "_core_index")


def path_of_class(element: MultibodyElement) -> str:
    """Return the import path of the class of an element: ``"module:Class"``.

    Raises
    ------
    ArgumentTypeError
        When the class cannot be imported by that path.
    """
    path = import_path(type(element))
    module, _, name = path.partition(":")
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not type(element) or not _PATH.fullmatch(path):
        raise ArgumentTypeError(
            f"save_model: {element._label}: its class {quote(path)} cannot be imported by that path: define "
            "it in a module"
        )
    return path


def write_attributes(element: MultibodyElement, names: NamesOfTree) -> dict[str, Any]:
    """Return the attributes that a user-written class has added to an element.

    Raises
    ------
    ArgumentTypeError
        When one has a type that cannot be written.
    """
    attributes = _state_of(element)
    for name in (*attributes_of(type(element)), *_OF_TREE):
        attributes.pop(name, None)
    written = {}
    for name, value in attributes.items():
        if not isinstance(value, CacheEntry):  # finalize() creates it again.
            written[name] = _write(value, names, element, f"{element._label}: attribute {name!r}")
    return written


def _state_of(element: MultibodyElement) -> dict[str, Any]:
    kind = type(element)
    own = getattr(kind, "__getstate__", None)
    if own is not None and own is not getattr(object, "__getstate__", None):
        state = element.__getstate__()
        if not isinstance(state, dict):
            raise ArgumentTypeError(
                f"save_model: {element._label}: {kind.__name__}.__getstate__: expected a dictionary of "
                f"attributes, got {type(state).__name__}"
            )
        return dict(state)
    slots = {name: getattr(element, name) for name in slots_of(kind) if hasattr(element, name)}
    return {**vars(element), **slots}


def _write(value: Any, names: NamesOfTree, owner: MultibodyElement, what: str, depth: int = 0) -> Any:
    """Return the JSON value: the value itself, or an object whose only key is its type."""
    if depth > _MAX_NESTING:
        raise ArgumentTypeError(f"save_model: {what} is nested too deeply, or contains itself")

    def inner(part: Any) -> Any:
        return _write(part, names, owner, what, depth + 1)

    kind = type(value)
    if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
        return value
    if kind is float:
        return {"float": write_number(value)}
    if kind is list:
        return [inner(part) for part in value]
    if kind is tuple:
        return {"tuple": [inner(part) for part in value]}
    if kind in (set, frozenset):
        return {kind.__name__: sorted((inner(part) for part in value), key=json.dumps)}
    if kind is dict:
        return {"dict": [[inner(key), inner(part)] for key, part in value.items()]}
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "biuf":
        numbers = value.ravel().tolist()
        if value.dtype.kind == "f":
            numbers = list(map(write_number, numbers))
        shape = list(value.shape) if isinstance(value, np.ndarray) else None
        is_frozen = isinstance(value, np.ndarray) and not value.flags.writeable
        return {"array": [value.dtype.str, shape, is_frozen, numbers]}
    if value is owner:
        return {"element": []}
    if isinstance(value, MultibodyElement):
        if value._tree is not names.tree or value.is_ephemeral:
            raise ArgumentTypeError(
                f"save_model: {what} refers to {value._label}, which is not in the file: finalize() made it, "
                "or another tree owns it"
            )
        return {"element": [collection_of(value), names.refer_to(value)]}
    if kind is SpatialInertia:
        return {"inertia": INERTIA.write(value, names)}
    if kind is PiecewiseConstantCurvatureTrajectory:
        return {"path": PATH.write(value, names)}
    raise ArgumentTypeError(
        f"save_model: {what} is a {kind.__name__}, which cannot be written: expected numbers, text, lists, "
        "tuples, sets, dictionaries, arrays of numbers, elements or mass properties"
    )


def read_user_element(
    fields: Fields, section: str, path: str, names: NamesInFile, permission: Permission
) -> Any:
    """Return an element of a class that a file names; no tree owns it yet.

    Raises
    ------
    ParseError
        When there is no permission, no such class, or the class rejects the values in the file.
    """
    element_type = _find_class(fields, path, permission)
    kind = kind_of(element_type, section) if issubclass(element_type, MultibodyElement) else None
    if kind is None or element_type is kind.element_type:
        raise fields.error(
            "type", f"{quote(path)} is not a user-written class of elements of the section {section}"
        )

    def construct(**values: Any) -> Any:
        element: Any = object.__new__(element_type)
        assert kind is not None
        kind.element_type.__init__(element, **values)
        return element

    given = fields.take("attributes") if fields.has("attributes") else {}
    attributes = Fields(fields.document, fields.place_of("attributes"), given)
    try:
        element = read_element(fields, kind, names, construct)
        _set_attributes(element, attributes, names)
        return element
    except (ParseError, MemoryError):
        raise
    except Exception as error:  # A user-written class may raise anything.
        reason = f"{type(error).__name__}: {shorten(str(error), 200)}"
        raise fields.error("type", f"{quote(path)} cannot be constructed: {reason}") from error


def _find_class(fields: Fields, path: str, permission: Permission) -> type[Any]:
    if not _PATH.fullmatch(path):
        known = ", ".join(kind.element_type.__name__ for kinds in SECTIONS.values() for kind in kinds)
        raise fields.error("type", f"unknown type {quote(path)}", f"it is one of {known}, or module:Class")
    if permission is False:
        hint = (
            "load_model(..., user_elements=[...]) with the classes, or True, which imports any that it names"
        )
        raise fields.error(
            "type", f"{quote(path)} is a user-written class, which is imported only on request", hint
        )
    if isinstance(permission, dict):
        if path not in permission:
            known = ", ".join(map(quote, permission)) or "none"
            raise fields.error("type", f"{quote(path)} is not among user_elements ({known})")
        return permission[path]
    module, _, name = path.partition(":")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # A module may raise anything when it is imported.
        reason = f"{type(error).__name__}: {shorten(str(error), 200)}"
        raise fields.error("type", f"{quote(path)} cannot be imported: {reason}") from error
    if not isinstance(found, type):
        raise fields.error("type", f"{quote(path)} is not a class")
    return found


def _set_attributes(element: MultibodyElement, attributes: Fields, names: NamesInFile) -> None:
    values = {
        name: _read(attributes, name, attributes.take(name), names, element)
        for name in attributes.remaining_keys()
    }
    set_state = getattr(element, "__setstate__", None)
    if set_state is not None:
        set_state({**vars(element), **values})
        return
    for name, value in values.items():
        setattr(element, name, value)


def _read(fields: Fields, key: str, value: Any, names: NamesInFile, owner: MultibodyElement) -> Any:
    """Return the value that `_write` wrote. The reader of the text bounds the nesting."""
    if type(value) is list:
        return [_read(fields, key, part, names, owner) for part in value]
    if type(value) is not dict:
        return value
    if len(value) != 1:
        raise fields.error(key, f"expected an object with one key, its type, got {quote(value)}")
    (kind,) = value
    one = Fields(fields.document, fields.place_of(key), value)
    if kind == "float":
        return one.take_number(kind)
    if kind == "inertia":
        return INERTIA.read(one, kind, names)
    if kind == "path":
        return PATH.read(one, kind, names)
    if kind not in ("tuple", "set", "frozenset", "dict", "element", "array"):
        raise fields.error(key, f"unknown type {quote(kind)}")
    parts = one.take_list(kind)
    if kind == "element":
        if not parts:
            return owner
        if len(parts) != 2 or type(parts[0]) is not str:
            raise one.error(kind, "expected a kind of elements, and a name")
        return names.find(one, kind, *parts)
    if kind == "array":
        return _read_array(one, parts)
    inner = _read(fields, key, parts, names, owner)
    try:
        if kind == "dict":
            return dict(inner)
        return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](inner)
    except (TypeError, ValueError):
        raise fields.error(key, f"expected the value of a {kind}, got {quote(parts)}") from None


def _read_array(fields: Fields, parts: list[Any]) -> Any:
    try:
        type_, shape, is_frozen, numbers = parts
        dtype = np.dtype(type_)
        if dtype.kind not in "biuf":
            raise TypeError
        flat = [float(number) for number in numbers] if dtype.kind == "f" else numbers
        array = np.array(flat, dtype)
        if shape is None:
            (scalar,) = array
            return scalar
        array = array.reshape(shape)
        array.flags.writeable = not is_frozen
        return cast("Any", array)
    except (TypeError, ValueError, OverflowError):
        raise fields.error("array", f"expected dtype, shape, flag and numbers, got {quote(parts)}") from None
