"""The check that the arrays of a compiled model are consistent, so that kernels never read beyond them.

Arrays that a tree makes from its elements are. Those from a damaged pickle, or with indices that a subclass
returned, may not be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from operator import lt
from typing import Any, NoReturn

import numpy as np

from mbt._core.model.element_types import ConstraintType, ForceElementType, MobilizerType
from mbt.errors import ArgumentTypeError, ArgumentValueError, quote, shape_error
from mbt.math.arrays import as_float_array

__all__ = ["check_model_arrays"]

_INTEGER = frozenset((int,))

# Indexed by type of mobilizer.
_NUM_POSITIONS = [kind.num_positions for kind in MobilizerType]
_NUM_VELOCITIES = [kind.row.num_velocities for kind in MobilizerType]

_INTEGERS = (
    "parent_node",
    "mobilizer_type",
    "mobilizer_reversed",
    "q_start",
    "v_start",
    "inboard_frame",
    "outboard_frame",
    "frame_parent",
    "frame_node",
    "joint_frame",
    "joint_node",
    "actuator_dof",
    "force_type",
    "weightless",
    "constraint_type",
)
_LISTS = (
    "mobilizer_constants",
    "force_parameters",
    "force_places",
    "constraint_parameters",
    "constraint_places",
)
_FLOATS = (
    "gravity",
    "mass",
    "p_BoBcm_B",
    "G_BBo_B",
    "J_BBo_B",
    "frame_X_PF",
    "damping",
    "rotor_inertia",
    "gear_ratio",
    "default_q",
)


def check_model_arrays(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of a compiled model: integers, and floats with the shapes that follow from them.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When an array is missing or inconsistent with the others.
    """
    missing = {*_INTEGERS, *_LISTS, *_FLOATS} ^ set(arrays)
    if missing:
        raise ArgumentTypeError(f"compiled model: missing or unknown: {', '.join(sorted(missing))}")
    checked: dict[str, Any] = {name: _as_integers(arrays[name], name) for name in _INTEGERS}
    nb, nf, na = (len(checked[name]) for name in ("parent_node", "frame_parent", "actuator_dof"))
    _check_bodies(checked, nb)
    _check_coordinates(checked, nb)
    _check_frames(checked, nb, nf)
    _check_joints(checked, nb, nf)
    nq, nv = checked["q_start"][-1], checked["v_start"][-1]
    _check_range(checked["actuator_dof"], "actuator_dof", 0, nv)
    shapes: dict[str, tuple[int, ...]] = {
        "gravity": (3,),
        "mass": (nb,),
        "p_BoBcm_B": (nb, 3),
        "G_BBo_B": (nb, 6),
        "J_BBo_B": (nb, 6),
        "frame_X_PF": (nf, 4, 4),
        "damping": (nv,),
        "rotor_inertia": (na,),
        "gear_ratio": (na,),
        "default_q": (nq,),
    }
    for name, shape in shapes.items():
        value = arrays[name]
        # Without bodies, the value does not show the number of components per body.
        checked[name] = np.zeros(shape) if 0 in shape and np.size(value) == 0 else _floats(value, name, shape)
    checked["mobilizer_constants"] = _check_constants(
        arrays["mobilizer_constants"], checked["mobilizer_type"]
    )
    places, parameters = arrays["force_places"], arrays["force_parameters"]
    checked["force_places"] = places
    checked["force_parameters"] = _check_force_elements(checked["force_type"], places, parameters, nf, nq, nv)
    places, parameters = arrays["constraint_places"], arrays["constraint_parameters"]
    checked["constraint_places"] = places
    checked["constraint_parameters"] = _check_constraints(
        checked["constraint_type"], places, parameters, nf, nq, nv
    )
    return checked


def _check_bodies(arrays: dict[str, list[int]], nb: int) -> None:
    parent = arrays["parent_node"]
    if nb == 0 or parent[0] != -1 or min(parent[1:], default=0) < 0 or not all(map(lt, parent, range(nb))):
        _refuse("parent_node", "World first, and each parent before its children")
    for name in ("mobilizer_type", "mobilizer_reversed", "inboard_frame", "outboard_frame", "weightless"):
        _check_size(arrays[name], name, nb)
    for name in ("mobilizer_reversed", "weightless"):
        _check_range(arrays[name], name, 0, 2)
    _check_range(arrays["mobilizer_type"], "mobilizer_type", 0, len(_NUM_POSITIONS))
    if arrays["mobilizer_type"][0] != MobilizerType.WELD:
        _refuse("mobilizer_type", "World welded to nothing")


def _check_coordinates(arrays: dict[str, list[int]], nb: int) -> None:
    types = arrays["mobilizer_type"]
    for name, counts in (("q_start", _NUM_POSITIONS), ("v_start", _NUM_VELOCITIES)):
        _check_size(arrays[name], name, nb + 1)
        if arrays[name] != [0, *accumulate(map(counts.__getitem__, types))]:
            _refuse(name, "as many coordinates of each mobilizer as its type has")


def _check_frames(arrays: dict[str, list[int]], nb: int, nf: int) -> None:
    parent, node = arrays["frame_parent"], arrays["frame_node"]
    _check_size(node, "frame_node", nf)
    _check_range(node, "frame_node", 0, nb)
    if min(parent, default=0) < -1 or not all(map(lt, parent, range(nf))):
        _refuse("frame_parent", "each parent frame before its children")
    if any(p >= 0 and node[p] != own for p, own in zip(parent, node, strict=True)):
        _refuse("frame_node", "each frame on the body of its parent")
    for name, nodes in (("inboard_frame", arrays["parent_node"]), ("outboard_frame", list(range(nb)))):
        _check_range(arrays[name], name, 0, nf)
        if [node[frame] for frame in arrays[name][1:]] != nodes[1:]:
            _refuse(name, "frames on the bodies that the mobilizer connects")


def _check_joints(arrays: dict[str, list[int]], nb: int, nf: int) -> None:
    frame, node = arrays["joint_frame"], arrays["joint_node"]
    _check_size(node, "joint_node", len(frame))
    _check_range(node, "joint_node", 1, nb)
    _check_range(frame, "joint_frame", 0, nf)
    parent, body_of = arrays["parent_node"], arrays["frame_node"]
    if any(body_of[f] not in (b, parent[b]) for f, b in zip(frame, node, strict=True)):
        _refuse("joint_frame", "frames on the bodies that the mobilizer connects")


def _check_constants(constants: Sequence[Any], types: list[int]) -> list[Any]:
    _check_size(constants, "mobilizer_constants", len(types))
    name = "mobilizer_constants"
    # Avoid np.ravel of each, because there is one per body.
    flat = [values if getattr(values, "ndim", 0) == 1 else np.ravel(values) for values in constants]
    label = f"compiled model: {name}"
    is_usual = {(type(values), values.dtype) for values in flat} == {(np.ndarray, np.dtype(np.float64))}
    checked = flat if is_usual else [as_float_array(values, label, ndim=1) for values in flat]
    if not all(MobilizerType(kind).takes_constants(x) for kind, x in zip(types, checked, strict=True)):
        _refuse(name, "as many constants of each mobilizer as its type has")
    return checked


def _check_force_elements(
    types: list[int], places: Sequence[tuple[int, int]], parameters: Sequence[Any], nf: int, nq: int, nv: int
) -> list[Any]:
    _check_range(types, "force_type", 0, len(ForceElementType))
    _check_size(places, "force_places", len(types))
    _check_size(parameters, "force_parameters", len(types))
    checked = []
    for kind, place, numbers in zip(types, places, parameters, strict=True):
        a, b = _as_integers(place, "force_places", 2)
        most_a, most_b = (nq, nv) if ForceElementType(kind).row.acts_on_dof else (nf, nf)
        if not (0 <= a < most_a and 0 <= b < most_b):
            _refuse("force_places", "coordinates and frames that exist")
        checked.append(_floats(numbers, "force_parameters", (None,)))
        if not ForceElementType(kind).takes_parameters(checked[-1].size):
            _refuse("force_parameters", "as many numbers of each element as its type has")
    return checked


def _check_constraints(
    types: list[int], places: Sequence[Sequence[int]], parameters: Sequence[Any], nf: int, nq: int, nv: int
) -> list[Any]:
    _check_range(types, "constraint_type", 0, len(ConstraintType))
    _check_size(places, "constraint_places", len(types))
    _check_size(parameters, "constraint_parameters", len(types))
    checked = []
    for kind, place, numbers in zip(types, places, parameters, strict=True):
        a, b, *dofs = _as_integers(place, "constraint_places", 4)
        is_coupler = kind == ConstraintType.COUPLER
        most = nq if is_coupler else nf
        first_dof, most_dofs = (0, nv) if is_coupler else (-1, 0)
        if not (0 <= a < most and 0 <= b < most and all(first_dof <= dof < most_dofs for dof in dofs)):
            _refuse("constraint_places", "coordinates and frames that exist")
        count = ConstraintType(kind).row.num_parameters
        checked.append(_floats(numbers, "constraint_parameters", (count,)))
    return checked


def _as_integers(value: Any, name: str, size: int | None = None) -> list[int]:
    if type(value) is list and _INTEGER.issuperset(map(type, value)) and size is None:
        return value
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.zeros((0, 0))
    if (array.dtype.kind not in "biu" and array.size) or array.ndim != 1:
        raise ArgumentTypeError(f"compiled model: {name}: expected integers, got {quote(value)}")
    if size is not None:
        _check_size(array, name, size)
    integers: list[int] = array.tolist()
    return integers


def _floats(value: Any, name: str, shape: tuple[int | None, ...]) -> Any:
    return as_float_array(value, f"compiled model: {name}", shape)


def _check_size(values: Any, name: str, size: int) -> None:
    if len(values) != size:
        raise shape_error(f"compiled model: {name}", (size,), (len(values),))


def _check_range(values: list[int], name: str, first: int, end: int) -> None:
    if values and not first <= min(values) <= max(values) < end:
        _refuse(name, f"numbers from {first} to {end - 1}")


def _refuse(name: str, wanted: str) -> NoReturn:
    raise ArgumentValueError(f"compiled model: {name}: expected {wanted}")
