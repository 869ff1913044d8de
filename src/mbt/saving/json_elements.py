"""The elements of mbt in JSON: arguments of constructors, and attributes set afterwards.

One table serves both reading and writing, so they agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple

from mbt.saving.json_fields import Fields
from mbt.saving.json_names import NamesInFile, NamesOfTree
from mbt.saving.json_values import (
    CONFIG,
    INERTIA,
    INSTANCE,
    INSTANCES,
    LIMITS,
    NO_LIMITS_TOO,
    NUMBER,
    NUMBERS,
    PATH,
    POINTS,
    POSE,
    SHAPES,
    TEXT,
    TEXTS,
    ElementValue,
    Index,
    MaybeElement,
    Number,
    Numbers,
    Value,
    as_written,
)
from mbt.tree import constraints, force_elements, joints
from mbt.tree.actuator import JointActuator
from mbt.tree.body import RigidBody
from mbt.tree.compiled_numbers import CompiledNumbers
from mbt.tree.constants import Constant
from mbt.tree.element import MultibodyElement
from mbt.tree.fields import Parameter, Reference, Vector
from mbt.tree.force_elements import ForceElement, UniformGravityFieldElement
from mbt.tree.frame import FixedOffsetFrame, Frame
from mbt.tree.joint import Joint
from mbt.tree.sensors import ForceTorqueSensor, FrameSensor, Imu, JointSensor

__all__ = ["SECTIONS", "Kind", "kind_of", "read_element", "write_element"]


class Field(NamedTuple):
    """A value of an element.

    Attributes
    ----------
    key : str
        Its name in the file; for an argument, the name of the argument.
    value : Value
        The sort of value, which writes and reads it.
    get : callable
        Returns the value of an element.
    set : callable or None
        ``set(element, value)`` sets a value that the constructor does not take.
    """

    key: str
    value: Value
    get: Callable[[Any], Any]
    set: Callable[[Any, Any], object] | None = None


class Kind(NamedTuple):
    """A class of elements.

    Attributes
    ----------
    element_type : type
        The class.
    arguments : tuple of Field
        The arguments of its constructor, by name.
    settings : tuple of Field
        Attributes set afterwards.
    """

    element_type: type[Any]
    arguments: tuple[Field, ...]
    settings: tuple[Field, ...] = ()


def _argument(key: str, value: Value, attribute: str | None = None) -> Field:
    return Field(key, value, attrgetter(attribute or key))


def _set_axis(element: Any, axis: list[float]) -> None:
    """Set an axis of unit length to the bits in the file: normalizing again might change them."""
    import numpy as np

    element._axis = as_written(np.array(axis), element._axis)


def _set_shapes(name: str) -> Callable[[Any, Any], None]:
    def set_shapes(body: Any, shapes: Any) -> None:
        for shape in shapes:
            getattr(body, f"add_{name}")(shape)

    return set_shapes


_NAME = _argument("name", TEXT, "_name")
_INSTANCE = _argument("model_instance", INSTANCE, "_model_instance")
_FRAME, _BODY, _JOINT = ElementValue("frames"), ElementValue("bodies"), ElementValue("joints")

_SHAPES = (
    Field("visuals", SHAPES, attrgetter("visuals"), _set_shapes("visual")),
    Field("collisions", SHAPES, attrgetter("collisions"), _set_shapes("collision")),
)

# The arguments of joints and mobilizers after the frames.
_CONSTANTS: dict[str, Value] = {"number": NUMBER, "axis": NUMBERS, "pose": POSE, "path": PATH}


def _names_of_arguments(element_type: type[Any]) -> tuple[str, ...]:
    """Return the names of the arguments of a constructor."""
    code = element_type.__init__.__code__
    names: tuple[str, ...] = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    return names


def _limits(what: str, *, of_path: bool = False) -> Field:
    # A path sets position limits in the constructor, so there infinite limits must be written, too.
    def set_limits(joint: Any, pair: Any) -> object:
        return getattr(joint, f"set_{what}_limits")(*pair)

    value = NO_LIMITS_TOO if of_path else LIMITS
    return Field(f"{what}_limits", value, attrgetter(f"_{what}_limits"), set_limits)


def _connection_kind(element_type: type[Any]) -> Kind:
    constants: tuple[Constant, ...] = element_type._made_with
    arguments = tuple(_argument(x.name, _CONSTANTS[x.kind], x.attribute) for x in constants)
    make = _joint_kind if issubclass(element_type, Joint) else _mobilizer_kind
    return make(element_type, arguments)


def _joint_kind(joint_type: type[Any], arguments: tuple[Field, ...]) -> Kind:
    frames = (_argument("frame_on_parent", _FRAME), _argument("frame_on_child", _FRAME))
    kind = joint_type._mobilizer_type._type
    settings = [
        Field(
            "default_positions",
            # For a new joint they are zero, except quaternions.
            Numbers(unwritten=None if kind.num_positions > kind.row.num_velocities else 0.0),
            attrgetter("_default_positions"),
            lambda joint, q: joint.set_default_positions(q),
        ),
        Field(
            "damping",
            Numbers(unwritten=0.0),
            attrgetter("_damping"),
            lambda joint, damping: joint.set_default_damping_vector(damping),
        ),
        _limits("position", of_path=any(field.value is PATH for field in arguments)),
        _limits("velocity"),
        _limits("acceleration"),
    ]
    effort = Field(
        "effort_limit",
        Number(math.inf),
        attrgetter("_effort_limit"),
        lambda joint, limit: joint.set_effort_limit(limit),
    )
    return Kind(joint_type, (_NAME, *frames, *arguments), (*settings, effort))


def _mobilizer_kind(mobilizer_type: type[Any], arguments: tuple[Field, ...]) -> Kind:
    frames = (
        _argument("inboard_frame_F", _FRAME, "_declared_F"),
        _argument("outboard_frame_M", _FRAME, "_declared_M"),
    )
    return Kind(mobilizer_type, (*frames, *arguments, _INSTANCE), (_GENERATED_NAME,))


def _set_name(element: MultibodyElement, name: str) -> None:
    # Elements of these kinds are constructed without a name, and get one when they are added.
    element._name = name


_GENERATED_NAME = Field("name", TEXT, attrgetter("name"), _set_name)

_BODY_KINDS = (
    Kind(RigidBody, (_NAME, _INSTANCE, _argument("M_BBo_B", INERTIA, "_M_BBo_B")), _SHAPES),
    Kind(
        FixedOffsetFrame,
        (_NAME, _INSTANCE, _argument("P", _FRAME, "_parent_frame"), _argument("X_PF", POSE, "_X_PF")),
    ),
)
_CONNECTION_KINDS = tuple(_connection_kind(getattr(joints, name)) for name in joints.__all__)


def _declared_kind(element_type: type[CompiledNumbers], settings: tuple[Field, ...] = ()) -> Kind:
    """Return the kind of a class that declares its fields, in the order of its constructor."""
    declared: tuple[Reference[Any] | Parameter[Any], ...] = (*element_type._references, *element_type._fields)
    fields = {field.name: _field_of(field) for field in declared}
    fields |= {field.key: field for field in (_NAME, _POINTS_IN_CONTACT, _DOOR_CONFIG)}
    arguments = tuple(fields[name] for name in _names_of_arguments(element_type))
    return Kind(element_type, arguments, settings)


def _field_of(declared: Reference[Any] | Parameter[Any]) -> Field:
    get = declared.fget
    assert get is not None
    if isinstance(declared, Reference):
        section = next(value for base, value in _REFERENCES.items() if issubclass(declared.kind, base))
        return Field(declared.name, section, get)
    if declared.usual is not None:
        return Field(declared.name, Numbers(declared.size, unwritten=declared.usual), get)
    return Field(declared.name, NUMBERS if isinstance(declared, Vector) else NUMBER, get)


def _compiled_types(room: Any) -> list[type[CompiledNumbers]]:
    """Return the classes of a subpackage for which the core has a type."""
    classes = [getattr(room, name) for name in room.__all__]
    return [x for x in classes if vars(x).get("_type") is not None]


_REFERENCES: dict[type[Any], Value] = {Frame: _FRAME, RigidBody: _BODY, Joint: _JOINT}
# Arguments that are neither numbers nor elements.
_POINTS_IN_CONTACT = _argument("p_FC", POINTS)
_DOOR_CONFIG = _argument("config", CONFIG)

_ON_JOINT = _argument("joint", _JOINT)
_GRAVITY_KIND = Kind(
    UniformGravityFieldElement,
    (
        _argument("g_W", NUMBERS, "_g_W"),
        _argument("disabled_model_instances", INSTANCES, "_disabled_model_instances"),
    ),
    (_GENERATED_NAME,),
)
_FORCE_KINDS = (
    _GRAVITY_KIND,
    *(_declared_kind(x, (_GENERATED_NAME,)) for x in _compiled_types(force_elements)),
)
_CONSTRAINT_KINDS = tuple(map(_declared_kind, _compiled_types(constraints)))
_ACTUATOR_KINDS = (
    Kind(
        JointActuator,
        (
            _NAME,
            _ON_JOINT,
            _argument("effort_limit", Number(math.inf)),
            _argument("rotor_inertia", NUMBER, "default_rotor_inertia"),
            _argument("gear_ratio", NUMBER, "default_gear_ratio"),
            Field("dof", Index(), lambda motor: motor.dof if motor.joint.num_velocities > 1 else None),
            _argument("stiffness", Number(0.0), "default_stiffness"),
            _argument("damping", Number(0.0), "default_damping"),
        ),
    ),
)


_QUANTITIES = _argument("quantities", TEXTS)
_SENSOR_KINDS = (
    Kind(Imu, (_NAME, _argument("frame", _FRAME), _QUANTITIES)),
    Kind(ForceTorqueSensor, (_NAME, _ON_JOINT, _argument("frame", _FRAME), _QUANTITIES)),
    Kind(
        FrameSensor,
        (_NAME, _argument("frame", _FRAME), _argument("relative_to", MaybeElement("frames")), _QUANTITIES),
    ),
    Kind(JointSensor, (_NAME, _ON_JOINT, _QUANTITIES)),
)

#: The sections of a file, and the kinds of elements in each.
SECTIONS: dict[str, tuple[Kind, ...]] = {
    "bodies": _BODY_KINDS,
    "joints": _CONNECTION_KINDS,
    "force_elements": _FORCE_KINDS,
    "actuators": _ACTUATOR_KINDS,
    "constraints": _CONSTRAINT_KINDS,
    "sensors": _SENSOR_KINDS,
}

# Further base classes of user-written classes.
_BASE_KINDS: dict[str, tuple[Kind, ...]] = {
    "bodies": (Kind(Frame, (_NAME, _argument("body", _BODY), _INSTANCE)),),
    "force_elements": (Kind(ForceElement, (_INSTANCE,), (_GENERATED_NAME,)),),
}

_ALL_KINDS = {
    section: {kind.element_type: kind for kind in (*kinds, *_BASE_KINDS.get(section, ()))}
    for section, kinds in SECTIONS.items()
}


def kind_of(element_type: type[Any], section: str) -> Kind | None:
    """Return the kind of a class in a section, or of its nearest base class that has one."""
    kinds = _ALL_KINDS[section]
    return next((kinds[base] for base in element_type.__mro__ if base in kinds), None)


def write_element(element: MultibodyElement, kind: Kind, names: NamesOfTree) -> dict[str, Any]:
    """Return the JSON object of an element of a kind, without its type."""
    values = {
        field.key: field.value.write(field.get(element), names) for field in (*kind.arguments, *kind.settings)
    }
    # The name, which people look for, comes first.
    first = {"name": values.pop("name", None)}
    return {key: value for key, value in {**first, **values}.items() if value is not None}


def read_element(
    fields: Fields, kind: Kind, names: NamesInFile, make: Callable[..., Any] | None = None
) -> Any:
    """Return the element that an object of the file describes; no tree owns it yet.

    Parameters
    ----------
    fields : Fields
        The object, without its type.
    kind : Kind
        The kind of the element.
    names : NamesInFile
        The elements to which it may refer.
    make : callable, optional
        Constructs it in place of the class.

    Raises
    ------
    ParseError
        When a value is missing or invalid.
    """
    values = {
        field.key: field.value.read(fields, field.key, names)
        for field in kind.arguments
        if fields.has(field.key) or field.value in _ALWAYS_READ
    }
    element = fields.make(make or kind.element_type, **values)
    for constant in getattr(kind.element_type, "_made_with", ()):
        if constant.kind == "axis":
            _set_axis(element, values[constant.name])
    for field in kind.settings:
        if fields.has(field.key):
            assert field.set is not None
            fields.make(field.set, element, field.value.read(fields, field.key, names))
    return element


# The sorts of values that are always read; a missing model instance means the default one.
_ALWAYS_READ = (TEXT, TEXTS, NUMBER, NUMBERS, POINTS, PATH, INERTIA, CONFIG, INSTANCE, _FRAME, _BODY, _JOINT)
