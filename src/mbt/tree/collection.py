"""Elements of one kind, by index and by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from mbt.errors import ArgumentTypeError, ArgumentValueError, UnknownNameError, quote, unknown_name_error
from mbt.math.arrays import as_index
from mbt.tree.context_access import raise_foreign_element
from mbt.tree.element import MultibodyElement, as_name

__all__ = ["ElementCollection"]

E = TypeVar("E", bound=MultibodyElement)

# Separates the name of a model instance from that of an element in it.
_SEPARATOR = "::"
# Kinds that a tree looks up by name.
_WITH_NAMES = ("body", "frame", "joint", "joint actuator", "constraint", "sensor", "model instance")


class ElementCollection(Generic[E]):
    """The elements of one kind that a tree owns.

    Element `i` is the `i`-th added. Names are unique per model instance.

    Parameters
    ----------
    kind : str
        Their name in messages.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._elements: list[E] = []
        self._tuple: tuple[E, ...] | None = ()
        # By model instance, for those requested so far.
        self._in_instance: dict[int, tuple[E, ...]] = {}
        # Elements with a unique name, which are nearly all; those that share one, by scope.
        self._only: dict[str, E] = {}
        self._several: dict[str, dict[int, E]] = {}

    def __len__(self) -> int:
        """Return the number of elements."""
        return len(self._elements)

    def __iter__(self) -> Iterator[E]:
        """Iterate over the elements in index order."""
        return iter(self._elements)

    def as_tuple(self) -> tuple[E, ...]:
        """Return the elements in index order."""
        if self._tuple is None:
            self._tuple = tuple(self._elements)
        return self._tuple

    def holds(self, element: MultibodyElement) -> bool:
        """Return whether an element of the same tree is one of these."""
        return 0 <= element._index < len(self._elements) and self._elements[element._index] is element

    def rebuild(self, elements: Iterable[E]) -> None:
        """Replace the elements by these, whose names were checked, and give each its new index."""
        self._elements = []
        self._forget_tuples()
        self._only, self._several = {}, {}
        for element in elements:
            element._index = self.append(element)

    def append(self, element: E) -> int:
        """Add an element whose name was checked, and return its index."""
        elements = self._elements
        elements.append(element)
        self._forget_tuples()
        self.add_name(element)
        return len(elements) - 1

    def extend(self, elements: Sequence[E], new_names: Sequence[str] | None = None) -> None:
        """Add many elements whose names were checked; `new_names` are theirs, if `are_new` holds."""
        if new_names is None:
            new_names = [element.name for element in elements]
            if not self.are_new(new_names):
                for element in elements:
                    self.append(element)
                return
        self._only.update(zip(new_names, elements, strict=True))
        self._elements += elements
        self._forget_tuples()

    def are_new(self, names: Sequence[str]) -> bool:
        """Return whether these names are new in every scope, and all different."""
        known = set(names)
        return len(known) == len(names) and known.isdisjoint(self._only) and known.isdisjoint(self._several)

    def at(self, index: object, argument: str) -> E:
        """Return the element whose index was given as `argument`.

        Raises
        ------
        ArgumentTypeError, ElementIndexError, ForeignElementError
            When there is none.
        """
        if isinstance(index, str) and self._kind in _WITH_NAMES:
            raise ArgumentTypeError(
                f"{argument}: expected the index of a {self._kind}, got str {quote(index)}: "
                f"tree.get_{self._kind.replace(' ', '_')}_by_name({quote(index)}) looks up by name"
            )
        if isinstance(index, MultibodyElement) and index.kind != self._kind:
            raise ArgumentTypeError(f"{argument}: expected the index of a {self._kind}, got {index._label}")
        # A model instance stands for its index.
        if isinstance(index, MultibodyElement) and self._elements and index not in self._elements:
            tree = self._elements[0].parent_tree
            raise_foreign_element(tree, index, f"{argument}: expected a {self._kind}")
        return self._elements[as_index(index, argument, len(self._elements), self._kind)]

    def named(self, name: str, instances: ElementCollection[Any], argument: str) -> E:
        """Return the element whose name, or scoped name, was given as `argument` instead.

        Raises
        ------
        UnknownNameError
            When there is none; the message lists the nearest names.
        ArgumentValueError
            When several model instances have such an element.
        """
        try:
            found = self._named(as_name(name, argument)) or self._scoped(name, instances)
            if len(found) < 2:
                return self.find(name, None, instances)
        except UnknownNameError as error:
            fault = str(error)
            raise UnknownNameError(f"{argument}: {fault[:1].lower()}{fault[1:]}") from None
        scoped = [quote(f"{instances._elements[i].name}{_SEPARATOR}{found[i].name}") for i in sorted(found)]
        raise ArgumentValueError(
            f"{argument}: {len(found)} model instances have a {self._kind} named {quote(name)}: say which "
            f"one, {' or '.join(scoped)}"
        )

    def has(
        self, name: str, model_instance: int | None, instances: ElementCollection[Any] | None = None
    ) -> bool:
        """Return whether an element has this name: in one model instance, or in any.

        If `instances` are given, scoped names count too; see `find`.
        """
        found = self._named(as_name(name, "name"))
        if model_instance is not None:
            return model_instance in found
        return bool(found) or (instances is not None and bool(self._scoped(name, instances)))

    def find(self, name: str, model_instance: int | None, instances: ElementCollection[Any]) -> E:
        """Return the only element with this name, in the tree or in one of the model `instances`.

        If no element has it, the name is read as a scoped name: ``"arm::elbow"``.

        Raises
        ------
        UnknownNameError
            When there is none; the message lists the nearest names.
        ArgumentValueError
            When there are several, and no model instance is given.
        """
        found = self._named(as_name(name, "name"))
        if model_instance is not None:
            if model_instance not in found:
                known = self._names_in(model_instance)
                where = f"in model instance {quote(instances._elements[model_instance].name)}"
                raise unknown_name_error(self._kind, name, known, where)
            return found[model_instance]
        found = found or self._scoped(name, instances)
        if not found:
            is_scoped = _SEPARATOR in name and self is not instances
            scoped = [element.scoped_name for element in self._elements] if is_scoped else []
            raise unknown_name_error(self._kind, name, [*self._only, *self._several, *scoped])
        if len(found) > 1:
            places = " and ".join(
                f"{quote(instances._elements[i].name)} (model_instance={i})" for i in sorted(found)
            )
            raise ArgumentValueError(
                f"name: there is a {self._kind} named {quote(name)} in each of the model instances {places}: "
                f"pass model_instance to say which one, or {quote(found[max(found)].scoped_name)}"
            )
        return next(iter(found.values()))

    def in_instance(self, model_instance: int) -> tuple[E, ...]:
        """Return the elements of one model instance, in index order."""
        known = self._in_instance.get(model_instance)
        if known is None:
            known = tuple(element for element in self._elements if element.model_instance == model_instance)
            self._in_instance[model_instance] = known
        return known

    def _forget_tuples(self) -> None:
        self._tuple = None
        self._in_instance = {}

    def get(self, name: str, name_scope: int) -> E | None:
        """Return the element with this name in one scope, usually a model instance; or None."""
        only = self._only.get(name)
        if only is None:
            return self._several[name].get(name_scope) if name in self._several else None
        return only if only._name_scope == name_scope else None

    def rename(self, element: E, name: str) -> None:
        """Rename an element. The new name was checked."""
        self.forget_name(element)
        element._name = name
        self.add_name(element)

    def forget_name(self, element: E) -> None:
        """Remove the name of an element, which is about to change; then call `add_name`."""
        if self._only.pop(element.name, None) is None:
            del self._several[element.name][element._name_scope]
            if not self._several[element.name]:
                del self._several[element.name]

    def add_name(self, element: E) -> None:
        """Register an element by its name."""
        name = element.name
        if name not in self._several and self._only.setdefault(name, element) is element:
            return
        other = self._only.pop(name, None)
        if other is not None:
            self._several[name] = {other._name_scope: other}
        self._several[name][element._name_scope] = element

    def _named(self, name: str) -> Mapping[int, E]:
        """Return the elements of a name, by scope."""
        only = self._only.get(name)
        return self._several.get(name, {}) if only is None else {only._name_scope: only}

    def _scoped(self, name: str, instances: ElementCollection[Any]) -> Mapping[int, E]:
        """Return the elements of a scoped name, by model instance: both names may have "::" in them."""
        found: dict[int, E] = {}
        if _SEPARATOR in name and self is not instances:
            for instance in instances:
                scope = instance.name + _SEPARATOR
                element = self.get(name[len(scope) :], instance._index) if name.startswith(scope) else None
                if element is not None:
                    found[instance._index] = element
        return found

    def _names_in(self, model_instance: int) -> list[str]:
        return [element.name for element in self._elements if element._name_scope == model_instance]
