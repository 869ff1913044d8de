"""Pickles and copies of trees and elements.

A tree is flat: first the classes of its elements, enough to create all of them, then their attributes.
Wherever an element of a tree occurs, it is stored as the tree and an index. So models of any depth need no
recursion, elements may refer to each other in any way, and a pickle may begin at any element.

Compiled arrays are never part of it: a finalized tree compiles again when it first computes, on any
processor.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakSet

import numpy as np

from mbt._core.above import above
from mbt.errors import ArgumentTypeError, ArgumentValueError, ForeignElementError, quote, reporting_damage
from mbt.tree.actuator import JointActuator
from mbt.tree.body import RigidBody
from mbt.tree.collection import ElementCollection
from mbt.tree.constraints import Constraint
from mbt.tree.element import MultibodyElement
from mbt.tree.force_elements import ForceElement
from mbt.tree.frame import Frame
from mbt.tree.hooks import call_hook
from mbt.tree.joint import Joint
from mbt.tree.mobilizer import Mobilizer
from mbt.tree.model_instance import ModelInstance
from mbt.tree.pickle_checks import check_elements, check_structure
from mbt.tree.references import elements_among, slots_of
from mbt.tree.registry import ElementRegistry
from mbt.tree.sensors import Sensor

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = [
    "FORMAT",
    "FrozenArray",
    "check_format",
    "clone_attributes",
    "collection_of",
    "copy_tree",
    "deepcopy_tree",
    "follow_copies",
    "reduce_element",
    "reduce_tree",
    "set_tree_state",
]

#: Number of the format, written into every pickle of trees, elements, Contexts and forces. A change of their
#: content needs another number.
FORMAT = 4

# Attribute of a tree whose elements have no attributes yet.
_BLANK = "_is_blank"

# Attributes of a tree that are not in its pickle.
_OWN = ("_elements", "_host_calls", "_implicit_cores", "_known_facts", "_known_lookup", "_tangent")

# The collections of a registry, and the classes of their elements.
_COLLECTIONS: dict[str, type[MultibodyElement]] = {
    "model_instances": ModelInstance,
    "bodies": RigidBody,
    "frames": Frame,
    "mobilizers": Mobilizer,
    "joints": Joint,
    "force_elements": ForceElement,
    "actuators": JointActuator,
    "constraints": Constraint,
    "sensors": Sensor,
}

ElementT = TypeVar("ElementT", bound=MultibodyElement)


def check_format(format_: object, what: str) -> None:
    """Reject a pickle of another format.

    Raises
    ------
    ArgumentValueError
        When the format is not that of this version.
    """
    if type(format_) is not int or format_ != FORMAT:
        raise ArgumentValueError(
            f"unpickling a {what}: this version of mbt reads format {FORMAT}, and this is of format "
            f"{quote(format_)}. Load it with the version of mbt that wrote it, or build the model again."
        )


# Trees.


def reduce_tree(tree: MultibodyTree) -> tuple[Any, ...]:
    """Return the arguments from which `pickle` makes a tree."""
    collections = _collections_of(tree)
    frozen: dict[int, FrozenArray] = {}
    registry = (*_COLLECTIONS, "_tree", "_graph", "removed")
    state = {
        "elements": {name: [_state_of(e, frozen) for e in c] for name, c in collections.items()},
        "registry": {k: _packed(v, frozen) for k, v in vars(tree._elements).items() if k not in registry},
        "tree": {k: _packed(v, frozen) for k, v in vars(tree).items() if k not in _OWN},
    }
    classes = {name: [type(e) for e in c] for name, c in collections.items()}
    return new_tree, (FORMAT, type(tree), classes), state


def new_tree(
    format_: int, tree_type: type[MultibodyTree], classes: dict[str, list[type[Any]]]
) -> MultibodyTree:
    """Return a tree whose elements have no attributes yet; then call `set_tree_state`."""
    check_format(format_, "MultibodyTree")
    if not (isinstance(tree_type, type) and issubclass(tree_type, above.MultibodyTree)):
        raise ArgumentTypeError(f"unpickling a MultibodyTree: expected its class, got {tree_type!r}")
    _check_lists(classes)
    tree = tree_type.__new__(tree_type)
    registry = ElementRegistry.__new__(ElementRegistry)
    registry._tree = tree
    registry.removed = WeakSet()
    registry.forget_graph()
    for name, base in _COLLECTIONS.items():
        collection: ElementCollection[Any] = ElementCollection(base.kind)
        for index, element_type in enumerate(classes[name]):
            if not (isinstance(element_type, type) and issubclass(element_type, base)):
                raise ArgumentTypeError(
                    f"unpickling a MultibodyTree: expected a class of {base.__name__}, got {element_type!r}"
                )
            element = element_type.__new__(element_type)
            element._attach(tree, index)
            collection._elements.append(element)
        setattr(registry, name, collection)
    tree._plan = None
    tree._elements = registry
    vars(tree)[_BLANK] = True
    return tree


def set_tree_state(tree: MultibodyTree, state: object) -> None:
    """Set the attributes of a new tree and its elements from an untrusted state.

    Raises
    ------
    ArgumentValueError
        When it is truncated or damaged.
    """
    _set_element_states(tree, state)
    with reporting_damage("MultibodyTree"):
        check_elements(tree)
        _set_structure(tree, state)
        check_structure(tree)


def _set_element_states(tree: MultibodyTree, state: object) -> None:
    if not vars(tree).pop(_BLANK, False):
        raise ArgumentValueError("__setstate__ is for pickle: this tree has its state already.")
    _check_keys(state, ("elements", "registry", "tree"))
    assert isinstance(state, dict)
    _check_lists(state["elements"])
    collections = _collections_of(tree)
    for name, collection in collections.items():
        if len(collection) != len(state["elements"][name]):
            raise ArgumentValueError(
                f"unpickling a MultibodyTree: it is truncated: {len(collection)} {name}, but attributes of "
                f"{len(state['elements'][name])}"
            )
    _check_keys(state["registry"], ("connections",))
    _check_keys(state["tree"], ("_plan", "_declarations", "_declaring", "_family"))
    for name, collection in collections.items():
        for element, element_state in zip(collection, state["elements"][name], strict=True):
            _set_state(element, element_state)


def _set_structure(tree: MultibodyTree, state: Any) -> None:
    collections = _collections_of(tree)
    # Only now does every element have a name: a body frame has that of its body.
    for collection in collections.values():
        elements, collection._elements = collection._elements, []
        for element in elements:
            collection.append(element)
    tree._elements.connections = state["registry"]["connections"]
    vars(tree).update({k: v for k, v in state["tree"].items() if k not in _OWN})


def deepcopy_tree(tree: MultibodyTree, memo: dict[Any, Any]) -> MultibodyTree:
    """Return a copy of a tree. Contexts and forces that were copied with it before now belong to the copy."""
    twin = copy_tree(tree, memo, type(tree))
    for follower in memo.pop(_followers_key(tree), ()):
        follower._move_to(twin)
    return twin


def copy_tree(
    tree: MultibodyTree, memo: dict[Any, Any], tree_type: type[MultibodyTree], **attributes: Any
) -> MultibodyTree:
    """Return a copy of a tree, with another class and further attributes.

    Elements of a finalized tree with their own method for clones are cloned last: it finds all others in the
    copy.
    """
    _, (format_, _, classes), state = reduce_tree(tree)
    own_way = [e for e in tree._elements.in_order() if _clones_itself(e)] if tree.is_finalized else []
    for element in own_way:
        state["elements"][collection_of(element)][element._index] = _OwnAttributes(element)
    twin = new_tree(format_, tree_type, classes)
    # References to the tree, or to its elements, then lead to the copy.
    memo[id(tree)] = twin
    for own, new in zip(_collections_of(tree).values(), _collections_of(twin).values(), strict=True):
        memo.update(zip(map(id, own), new, strict=True))
    state = copy.deepcopy(state, memo)
    _set_element_states(twin, state)
    _set_structure(twin, state)
    if tree_type is not type(tree):
        vars(twin).pop("_scalar_type", None)
    vars(twin).update(attributes)
    for element in own_way:
        variant = element_of(twin, collection_of(element), element._index)
        _become(variant, element, call_hook(element, "do_clone_to_scalar", twin))
    return twin


class _Follower(Protocol):
    def _move_to(self, tree: MultibodyTree) -> None: ...


def follow_copies(tree: MultibodyTree, follower: _Follower, memo: dict[Any, Any]) -> None:
    """Move a copied Context, or forces, to the copy of their tree, when the same `deepcopy` makes one."""
    twin = memo.get(id(tree))
    if twin is not None and twin.is_finalized:
        follower._move_to(twin)
    else:
        memo.setdefault(_followers_key(tree), []).append(follower)


def _followers_key(tree: MultibodyTree) -> tuple[str, int]:
    # Other keys of a memo are numbers.
    return ("mbt: followers", id(tree))


# Elements.


def reduce_element(element: MultibodyElement) -> tuple[Any, ...]:
    """Return the arguments from which `pickle` makes an element: its tree, or its own attributes."""
    if element._tree is not None:
        return element_of, (element._tree, collection_of(element), element._index)
    return new_element, (FORMAT, type(element)), _state_of(element, {})


def collection_of(element: MultibodyElement) -> str:
    """Return the collection of a tree to which an element belongs."""
    return _collection_of_type(type(element))  # type: ignore[arg-type] # hashable, as all classes


@cache
def _collection_of_type(element_type: type[MultibodyElement]) -> str:
    return next(name for name, base in _COLLECTIONS.items() if issubclass(element_type, base))


def element_of(tree: MultibodyTree, collection: str, index: int) -> MultibodyElement:
    """Return an element of a tree."""
    with reporting_damage("element"):
        element: MultibodyElement = getattr(tree._elements, collection)._elements[index]
    return element


def new_element(format_: int, element_type: type[ElementT]) -> ElementT:
    """Return an element that no tree owns, still without attributes."""
    if not (isinstance(element_type, type) and issubclass(element_type, MultibodyElement)):
        raise ArgumentTypeError(f"unpickling an element: expected its class, got {quote(element_type)}")
    check_format(format_, element_type.__name__)
    return element_type.__new__(element_type)


def copy_element(element: ElementT) -> ElementT:
    """Return a shallow copy of an element that no tree owns."""
    twin = type(element).__new__(type(element))
    _set_state(twin, _raw_state(element))
    return twin


def clone_attributes(element: ElementT, tree_clone: MultibodyTree) -> ElementT:
    """Return an unowned element with copies of all attributes; elements become those of a clone."""
    twin = type(element).__new__(type(element))
    memo = {id(element.parent_tree): tree_clone, id(element): twin}
    _set_state(twin, copy.deepcopy(_state_of(element, {}), memo))
    twin._tree, twin._index = None, -1
    return twin


class _OwnAttributes:
    """Attributes from the tree, for an element that clones itself, until it does."""

    def __init__(self, element: MultibodyElement) -> None:
        names = ("_name", "_model_instance", "_is_ephemeral", "_core_index", "_body")
        self.attributes = {name: vars(element)[name] for name in names if name in vars(element)}


def _clones_itself(element: MultibodyElement) -> bool:
    default = next((kind for kind in (ForceElement, Frame) if isinstance(element, kind)), None)
    return default is not None and type(element).do_clone_to_scalar is not default.do_clone_to_scalar  # type: ignore[attr-defined]


def _become(variant: MultibodyElement, original: MultibodyElement, clone: Any) -> None:
    """Turn the element of a copied tree into the clone that the original made of itself.

    Both share one dictionary of attributes from now on: other elements already refer to `variant`, and
    objects that the clone made in its constructor refer to the clone.
    """
    kind = type(original)
    what = f"{original._label}: {kind.__name__}.do_clone_to_scalar"
    tree = variant.parent_tree
    if type(clone) is not kind:
        got = repr(clone) if isinstance(clone, MultibodyElement) else type(clone).__name__
        raise ArgumentTypeError(f"{what}: expected a new {kind.__name__}, got {got}")
    if clone.has_parent_tree:
        raise ForeignElementError(
            f"{what}: expected a new {kind.__name__}, got {clone!r}, which has a tree already"
        )
    for needed, name in elements_among(clone):
        tree._elements.check_is_owned(needed, f"{what}: {name}")
    bodies = [frame.body for frame in (original, clone) if isinstance(frame, Frame)]
    if bodies and bodies[1] is not tree.get_variant(bodies[0]):
        raise ArgumentValueError(
            f"{what}: expected a frame of {bodies[0]._label}, got one of {bodies[1]._label}"
        )
    # A new dictionary: CPython 3.13 takes for garbage objects to which only an inlined dictionary refers.
    own = {"_tree": tree, "_index": original._index}
    attributes = {**vars(clone), **_OwnAttributes(variant).attributes, **own}
    clone.__dict__ = variant.__dict__ = attributes
    for name in slots_of(kind):
        if hasattr(clone, name):
            setattr(variant, name, getattr(clone, name))


def _raw_state(element: MultibodyElement) -> Any:
    element_type = type(element)
    if element_type.__reduce__ is not object.__reduce__:
        raise ArgumentTypeError(
            f"{element._label}: {element_type.__name__} defines __reduce__: an element is pickled and copied "
            "with its tree, so define __getstate__ and __setstate__ instead"
        )
    # With __getstate__, if the class has one; with __slots__ too.
    state = object.__reduce_ex__(element, 2)[2]
    if not (hasattr(element_type, "__setstate__") or _has_attributes(state)):
        raise ArgumentTypeError(
            f"{element._label}: {element_type.__name__}.__getstate__ returned {type(state).__name__}: "
            "expected a dictionary of attributes, or a class with a __setstate__ that takes it"
        )
    return state


def _has_attributes(state: Any) -> bool:
    """Return whether a state is one dictionary of attributes, or two: the second for slots."""
    parts = state if isinstance(state, tuple) and len(state) == 2 else (state,)
    return all(part is None or isinstance(part, dict) for part in parts)


def _state_of(element: MultibodyElement, frozen: dict[int, FrozenArray]) -> Any:
    state = _raw_state(element)
    if isinstance(state, dict):
        skipped = () if element._tree is None else ("_tree", "_index")
        return {key: _packed(value, frozen) for key, value in state.items() if key not in skipped}
    return _packed(state, frozen)


def _set_state(element: MultibodyElement, state: Any) -> None:
    if isinstance(state, _OwnAttributes):
        vars(element).update(state.attributes)
        return
    set_state = getattr(element, "__setstate__", None)
    if set_state is not None:
        set_state(state)
        return
    if not _has_attributes(state):
        raise ArgumentValueError(
            f"unpickling a {type(element).__name__}: it is damaged: it has no attributes"
        )
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    vars(element).update(attributes or {})
    for name, value in (slots or {}).items():
        setattr(element, name, value)


def _collections_of(tree: MultibodyTree) -> dict[str, ElementCollection[Any]]:
    return {name: getattr(tree._elements, name) for name in _COLLECTIONS}


def _check_keys(value: object, keys: Any) -> None:
    missing = [key for key in keys if key not in value] if isinstance(value, dict) else list(keys)
    if missing:
        raise ArgumentValueError(f"unpickling a MultibodyTree: it is truncated: no {', '.join(missing)}")


def _check_lists(value: Any) -> None:
    """Check that there is a list for each collection."""
    if isinstance(value, dict):
        value.setdefault("sensors", [])  # For pickles older than sensors.
    _check_keys(value, _COLLECTIONS)
    strange = [name for name in _COLLECTIONS if type(value[name]) is not list]
    if strange:
        raise ArgumentValueError(
            f"unpickling a MultibodyTree: it is damaged: {strange[0]} is {quote(value[strange[0]])}"
        )


# Read-only arrays.


class FrozenArray:
    """Stands for a read-only array, and becomes one again: pickle and copy make arrays writeable."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __reduce__(self) -> tuple[Any, ...]:
        return frozen_array, (self.array,)


def frozen_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Make an array read-only, and return it."""
    with reporting_damage("read-only array"):
        array.flags.writeable = False
    return array


def _packed(value: Any, frozen: dict[int, FrozenArray]) -> Any:
    """Return a value with its read-only arrays replaced, including those in tuples."""
    if type(value) is np.ndarray and not value.flags.writeable:
        return frozen.setdefault(id(value), FrozenArray(value))
    if type(value) is tuple:
        entries = [_packed(entry, frozen) for entry in value]
        return value if all(map(_is, entries, value)) else tuple(entries)
    return value


def _is(a: object, b: object) -> bool:
    return a is b
