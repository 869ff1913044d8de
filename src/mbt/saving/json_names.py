"""References between elements of a model in JSON: by name, with that of the model instance."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from mbt.errors import ParseError, quote
from mbt.tree.indices import default_model_instance
from mbt.tree.pickling import collection_of

if TYPE_CHECKING:
    from mbt.saving.json_fields import Fields
    from mbt.tree.element import MultibodyElement
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["NamesInFile", "NamesOfTree"]

_OWN_INSTANCES = default_model_instance()


class NamesOfTree:
    """The references to elements of a tree being written.

    A reference is the scoped name, ``"arm::link"``. Two elements of a kind may have the same one, because
    names may contain colons and the first two model instances are not part of scoped names: then it is a pair
    of the names of the model instance and the element.
    """

    def __init__(self, tree: MultibodyTree) -> None:
        self.tree = tree
        self.instances = [instance.name for instance in tree.model_instances]
        self._counts: dict[str, Counter[str]] = {}

    def refer_to(self, element: MultibodyElement) -> str | list[str]:
        """Return the reference to an element."""
        kind = collection_of(element)
        if kind not in self._counts:
            self._counts[kind] = Counter(e.scoped_name for e in getattr(self.tree._elements, kind))
        name = element.scoped_name
        if self._counts[kind][name] == 1:
            return name
        return [self.instances[element._model_instance], element.name]


class NamesInFile:
    """The elements of a file read so far, by their references.

    Parameters
    ----------
    instances : list of str
        The names of the model instances in the file, including the first two. While elements are being read,
        indices of model instances refer to this list.
    """

    def __init__(self, instances: list[str]) -> None:
        self.instances = instances
        self._number = {name: i for i, name in enumerate(instances)}
        self._elements: dict[str, dict[tuple[int, str], Any]] = {}
        # None if two elements have the same scoped name.
        self._scoped: dict[str, dict[str, Any]] = {}

    def index_of_instance(self, fields: Fields, key: str, name: object) -> int:
        """Return the index of a model instance in the file."""
        if type(name) is not str or name not in self._number:
            raise fields.error(key, f"there is no model instance {quote(name)}")
        return self._number[name]

    def add(self, fields: Fields, kind: str, element: MultibodyElement, place: tuple[int, str]) -> None:
        """Add an element of a kind, in a model instance and under a name.

        Raises
        ------
        ParseError
            When the model instance has one with this name already.
        """
        instance, name = place
        elements = self._elements.setdefault(kind, {})
        if elements.setdefault(place, element) is not element:
            where = f"in model instance {quote(self.instances[instance])}"
            raise fields.error("name", f"there is a {element.kind} {quote(name)} already {where}")
        scoped = name if instance <= _OWN_INSTANCES else f"{self.instances[instance]}::{name}"
        known = self._scoped.setdefault(kind, {})
        known[scoped] = None if scoped in known else element

    def find_in_file(self, kind: str, instance: int, name: str) -> Any:
        """Return the element with a name in a model instance of the file."""
        return self._elements[kind][instance, name]

    def find(self, fields: Fields, key: str, kind: str, reference: object) -> Any:
        """Return the element to which a reference refers.

        Raises
        ------
        ParseError
            When there is none, or there are two.
        """
        if type(reference) is str:
            known = self._scoped.get(kind, {})
            if reference in known:
                element = known[reference]
                if element is None:
                    hint = 'write the model instance and the name: ["arm", "link"]'
                    raise fields.error(key, f"{quote(reference)} refers to several {kind}", hint)
                return element
        elif type(reference) is list and len(reference) == 2 and all(type(r) is str for r in reference):
            instance, name = reference
            element = self._elements.get(kind, {}).get((self._number.get(instance, -1), name))
            if element is not None:
                return element
        else:
            raise fields.error(key, f"expected the name of one of the {kind}, got {quote(reference)}")
        raise self._not_found(fields, key, kind, reference)

    def _not_found(self, fields: Fields, key: str, kind: str, reference: object) -> ParseError:
        import difflib  # Only needed for an error.

        known = self._scoped.get(kind, {})
        is_small = type(reference) is str and len(reference) <= 200 and len(known) < 10_000
        nearest = difflib.get_close_matches(str(reference), sorted(known), n=1) if is_small else []
        hint = f"did you mean {quote(nearest[0])}?" if nearest else "elements come before references to them"
        return fields.error(key, f"there is no {quote(reference)} among the {kind} above", hint)
