"""Common parts of all elements: a name, a model instance, and at most one tree that owns them."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, get_args

from mbt._core.above import above
from mbt.errors import (
    AlreadyFinalizedError,
    ArgumentTypeError,
    ArgumentValueError,
    ForeignElementError,
    MbtError,
    NotFinalizedError,
    quote,
)
from mbt.math.arrays import as_index
from mbt.tree.hooks import call_hook
from mbt.tree.indices import (
    AbstractParameterIndex,
    DiscreteStateIndex,
    ModelInstanceIndex,
    NumericParameterIndex,
    default_model_instance,
    world_model_instance,
)
from mbt.tree.parameters import SOURCES, CacheEntry, Declarations, Parameters

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from typing_extensions import Self

    from mbt.tree.multibody_tree import MultibodyTree

__all__ = [
    "MultibodyElement",
    "as_model_instance",
    "as_name",
    "call_constructor",
    "check_arguments",
    "check_constructed",
    "check_element",
    "is_constructed",
]

ResultT = TypeVar("ResultT")

_MAX_MODEL_INSTANCES = 2**31


class MultibodyElement:
    """An element of a `MultibodyTree`.

    It is a body, frame, mobilizer, joint, force element, actuator, constraint or sensor. It belongs to no
    tree when constructed, and to one tree from its addition to its removal.

    A subclass written in Python may have parameters, discrete state and cache entries of its own: it declares
    them in `do_declare_parameters`, `do_declare_discrete_state` and `do_declare_cache_entries`, which
    ``finalize()`` calls. Each Context then holds values of them.

    Parameters
    ----------
    name : str or None
        Name, unique among the elements of one kind in one model instance. An element without a name is given
        one when it is added.
    model_instance : ModelInstanceIndex or None
        The model instance; None is the default one, 1.
    """

    #: How messages name this kind of element.
    kind: ClassVar[str] = "element"
    #: The method of the tree that adds one.
    _adder: ClassVar[str] = "add_element"

    # Set on each element; here for a class whose constructor does not call this one.
    _tree: MultibodyTree | None = None

    def __init__(self, name: str | None, model_instance: int | None) -> None:
        # In usual cases no message is prepared: that takes longer than all else. Likewise below.
        if name is not None and not (type(name) is str and name):
            name = as_name(name, f"{type(self).__name__}: name")
        if model_instance is None:
            model_instance = default_model_instance()
        elif not (type(model_instance) is int and 0 <= model_instance < _MAX_MODEL_INSTANCES):
            model_instance = as_model_instance(model_instance, f"{type(self).__name__}: model_instance")
        self._begin(name, ModelInstanceIndex(model_instance))

    def _begin(self, name: str | None, model_instance: ModelInstanceIndex) -> None:
        """Take a name and a model instance, both checked; the element belongs to no tree."""
        self._name = name
        self._model_instance = model_instance
        self._tree = None
        self._index = -1
        self._is_ephemeral = False

    @property
    def name(self) -> str:
        """Name, never empty. An element constructed without a name gets it when it is added."""
        return self._name if self._name is not None else f"unnamed {self.kind}"

    @property
    def scoped_name(self) -> str:
        """Name behind that of the model instance, ``"arm::link"``; the name alone in instances 0 and 1."""
        if self._model_instance in (world_model_instance(), default_model_instance()):
            return self.name
        return f"{self.parent_tree.get_model_instance_name(self._model_instance)}::{self.name}"

    @property
    def model_instance(self) -> ModelInstanceIndex:
        """The model instance this element belongs to."""
        return self._model_instance

    @property
    def parent_tree(self) -> MultibodyTree:
        """The tree that owns this element."""
        if self._tree is None:
            check_constructed(self)
            raise ForeignElementError(
                f"{self._label} belongs to no tree yet: add it with tree.{self._adder}()."
            )
        return self._tree

    @property
    def has_parent_tree(self) -> bool:
        """Whether a tree owns this element."""
        return self._tree is not None

    @property
    def is_ephemeral(self) -> bool:
        """Whether ``finalize()`` added this element, not a user."""
        return self._is_ephemeral

    @property
    def ordinal(self) -> int:
        """Position among the elements of its kind: the same as the index."""
        return self._checked_index()

    # Parameters, discrete state and cache entries of subclasses.

    def do_declare_parameters(self) -> None:
        """Declare parameters with `declare_numeric_parameter` and `declare_abstract_parameter`.

        A subclass may override it. ``finalize()`` calls it, before the layout of the tree is known. Keep the
        index that is returned: ``context.get_numeric_parameter(index)`` takes it. Does nothing by default.

        Examples
        --------
        >>> import mbt
        >>> class Wind(mbt.ForceElement):
        ...     def __init__(self, body):
        ...         super().__init__(body.model_instance)
        ...         self.body = body
        ...
        ...     def do_declare_parameters(self):
        ...         self.force = self.declare_numeric_parameter([3.0, 0.0, 0.0])
        ...
        ...     def do_calc_and_add_force_contribution(self, context, pc, vc, forces):
        ...         f_W = context.get_numeric_parameter(self.force)
        ...         forces.body_forces[..., self.body.node_index, 3:] += f_W
        >>> tree = mbt.MultibodyTree()
        >>> M_BBo_B = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)
        >>> ball = tree.add_body(mbt.RigidBody("ball", M_BBo_B))
        >>> wind = tree.add_force_element(Wind(ball))
        >>> tree.finalize()
        >>> context = tree.create_default_context()
        >>> context.set_numeric_parameter(wind.force, [0, 8, 0])
        >>> tree.calc_forward_dynamics(context)
        array([0., 0., 0., 0., 4., 0.])
        """

    def do_set_default_parameters(self, parameters: Parameters) -> None:
        """Write defaults other than those declared into `parameters`. Does nothing by default.

        It is called for each new Context, and by ``tree.set_default_context()``, for elements that declare
        any.
        """

    def do_declare_discrete_state(self) -> None:
        """Declare discrete state with `declare_discrete_state`, like `do_declare_parameters`."""

    def do_declare_cache_entries(self) -> None:
        """Declare cache entries with `declare_cache_entry`, like `do_declare_parameters`."""

    def declare_parameters(self) -> None:
        """Declare the parameters of this element. ``finalize()`` calls it; users do not."""
        self._declarations("declare_parameters")
        call_hook(self, "do_declare_parameters")

    def declare_discrete_states(self) -> None:
        """Declare the discrete state of this element. ``finalize()`` calls it; users do not."""
        self._declarations("declare_discrete_states")
        call_hook(self, "do_declare_discrete_state")

    def declare_cache_entries(self) -> None:
        """Declare the cache entries of this element. ``finalize()`` calls it; users do not."""
        self._declarations("declare_cache_entries")
        call_hook(self, "do_declare_cache_entries")

    def set_default_parameters(self, parameters: Parameters) -> None:
        """Write the defaults of the parameters of this element into `parameters`.

        They are the declared values, then those that its `do_set_default_parameters` writes. Those of other
        elements stay as they are. Of mbt's own elements only servos declare parameters: other defaults are
        properties such as `RigidBody.default_mass`; a Context has its own, `RigidBody.get_mass`.

        Parameters
        ----------
        parameters : Parameters
            Those of this tree, writable.

        Raises
        ------
        ForeignElementError
            When no tree owns this element.
        NotFinalizedError
            When the tree is not finalized: ``finalize()`` asks for the declarations.
        ArgumentTypeError, ArgumentValueError
            When `parameters` is something else, or belongs to a tree with other declarations.
        """
        if not isinstance(parameters, Parameters):
            raise ArgumentTypeError(
                f"{self._label}: parameters: expected Parameters, got {type(parameters).__name__}"
            )
        self.parent_tree._known_declarations().write_defaults(self, parameters)

    def declare_numeric_parameter(self, model_vector: object) -> NumericParameterIndex:
        """Declare a vector parameter; to be called in `do_declare_parameters`.

        Parameters
        ----------
        model_vector : array_like, shape (n,), or float
            Default values; a number is a vector of one. Contexts hold vectors of this size.

        Returns
        -------
        NumericParameterIndex
            The argument of ``context.get_numeric_parameter``.

        Raises
        ------
        NotFinalizedError, AlreadyFinalizedError
            When it is called elsewhere.
        """
        declarations = self._declarations("declare_numeric_parameter")
        return declarations.add_numeric(self, model_vector, f"{self._label}: model_vector")

    def declare_abstract_parameter(self, model_value: object) -> AbstractParameterIndex:
        """Declare any object as a parameter; to be called in `do_declare_parameters`.

        Parameters
        ----------
        model_value : object
            Default value. Each Context begins with a deep copy of it.

        Returns
        -------
        AbstractParameterIndex
            The argument of ``context.get_abstract_parameter``.

        Raises
        ------
        NotFinalizedError, AlreadyFinalizedError
            When it is called elsewhere.
        """
        return self._declarations("declare_abstract_parameter").add_abstract(self, model_value)

    def declare_discrete_state(self, model_vector: object) -> DiscreteStateIndex:
        """Declare a vector of discrete state; to be called in `do_declare_discrete_state`.

        Parameters
        ----------
        model_vector : array_like, shape (n,), or float
            Default values; a number is a vector of one.

        Returns
        -------
        DiscreteStateIndex
            The argument of ``context.get_discrete_state``.

        Raises
        ------
        NotFinalizedError, AlreadyFinalizedError
            When it is called elsewhere.
        """
        declarations = self._declarations("declare_discrete_state")
        return declarations.add_discrete(self, model_vector, f"{self._label}: model_vector")

    def declare_cache_entry(
        self,
        description: str,
        calc: Callable[[Any], Any],
        prerequisites: Iterable[str | CacheEntry] = SOURCES,
    ) -> CacheEntry:
        """Declare a computation whose results Contexts cache; to be called in `do_declare_cache_entries`.

        Parameters
        ----------
        description : str
            What it computes.
        calc : callable
            ``calc(context)`` returns the value, which must not change afterwards.
        prerequisites : iterable of str and CacheEntry, optional
            What it depends on: any of ``"time"``, ``"q"``, ``"v"``, ``"parameters"``, ``"inputs"`` and
            ``"discrete_state"``, and cache entries that were declared before. A change of anything else
            keeps the result. By default all six. Locks and exemptions from gravity count as parameters.

        Returns
        -------
        CacheEntry
            The argument of ``context.eval_cache_entry``.

        Raises
        ------
        ArgumentValueError
            When a prerequisite is none of these.
        NotFinalizedError, AlreadyFinalizedError
            When it is called elsewhere.
        """
        declarations = self._declarations("declare_cache_entry")
        return declarations.add_cache_entry(self, description, calc, prerequisites, self._label)

    @classmethod
    def _declares_any(cls) -> bool:
        """Return whether any of the hooks that ``finalize()`` calls does anything in this class."""
        return _all_hooks(cls) != _all_hooks(MultibodyElement)

    @classmethod
    def _declares(cls, hook: str) -> bool:
        """Return whether a hook that ``finalize()`` calls does anything in this class."""
        own, base = _OWN_HOOKS[hook], MultibodyElement
        return getattr(cls, own) is not getattr(base, own) or getattr(cls, hook) is not getattr(base, hook)

    def _declarations(self, method: str) -> Declarations:
        """Return the collector of declarations, while ``finalize()`` asks this element for them."""
        declarations = None if self._tree is None else self._tree._declaring
        if declarations is None or declarations.current is not self:
            message = (
                f"{self._label}: {method}() belongs in do_declare_parameters(), do_declare_discrete_state"
                "() and do_declare_cache_entries(), which finalize() calls."
            )
            if self._tree is not None and self._tree.is_finalized:
                raise AlreadyFinalizedError(message)
            raise NotFinalizedError(message)
        return declarations

    def _needs(self) -> Iterable[tuple[MultibodyElement, str]]:
        """Return the elements that must belong to the same tree, each with its role here."""
        return ()

    @property
    def _name_scope(self) -> int:
        """The scope within which names of elements of one kind are unique."""
        return self._model_instance

    @property
    def _label(self) -> str:
        """How messages name this element: ``joint 'elbow'``."""
        return f"{self.kind} {quote(self.name)}" if self._name is not None else self.name

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Pickle with the tree that owns this element."""
        return above.reduce_element(self)

    def __dask_tokenize__(self) -> object:
        """Return the token that dask uses for this element: the same in every tree that is built alike."""
        return above.token_of_element(self)

    def _repr_html_(self) -> str:
        """Return its type and its numbers, for a notebook."""
        return above.describe_element_as_html(self)

    def __copy__(self) -> Self:
        """Return a copy of this element that no tree owns."""
        if self._tree is not None:
            raise ForeignElementError(
                f"{self._label} cannot be copied alone, for it belongs to a tree: "
                "copy the tree with tree.clone(), or both with copy.deepcopy()."
            )
        return cast("Self", above.copy_element(self))

    def _checked(self, check: Callable[..., Any], value: object, name: str, *extents: Any) -> Any:
        """Return ``check(value, name, *extents)``; errors name this element too.

        Its label takes longer than most checks, so it is made for errors only: a failed check is repeated.
        """
        try:
            return check(value, name, *extents)
        except MbtError:
            label = self._label
        return check(value, f"{label}: {name}", *extents)

    def _checked_index(self) -> int:
        """Return the index; an element without a tree has none."""
        if self._tree is None:
            check_constructed(self)
            raise ForeignElementError(f"{self._label} has no index yet: add it with tree.{self._adder}().")
        return self._index

    def _attach(self, tree: MultibodyTree, index: int) -> None:
        """Become an element of `tree`. Everything was checked before."""
        self._tree = tree
        self._index = index

    def _generated_name(self, index: int) -> str:
        """Return the name for an element that has none."""
        return f"{self.kind.replace(' ', '_')}_{index}"

    def _check_not_finalized(self, what: str, instead: str) -> None:
        if self._tree is not None and self._tree.is_finalized:
            raise AlreadyFinalizedError(f"{self._label}: {what} cannot change after finalize(). {instead}")

    def _repr_details(self) -> str:
        """Return what the representation shows besides the name, with a leading space."""
        return ""

    def __repr__(self) -> str:
        """Return a short description, not the expression that builds it."""
        try:
            place = (
                "without a tree"
                if self._tree is None
                else f"index={self._index} model_instance={self._model_instance}"
            )
            return f"<{type(self).__name__} {quote(self.name)} {place}{self._repr_details()}>"
        except AttributeError:
            # Made by __new__ alone, or half loaded by pickle, whose messages show it.
            return f"<{type(self).__name__} without a name>"


# The methods that finalize() calls, and the hooks that these call.
_OWN_HOOKS = {
    "declare_parameters": "do_declare_parameters",
    "declare_discrete_states": "do_declare_discrete_state",
    "declare_cache_entries": "do_declare_cache_entries",
}
#: Methods that look up elements by name, for each kind.
_LOOK_UPS = {
    "RigidBody": "get_body_by_name",
    "Frame": "get_frame_by_name",
    "Joint": "get_joint_by_name",
}
_all_hooks = attrgetter(*_OWN_HOOKS, *_OWN_HOOKS.values())


def as_name(value: object, argument: str) -> str:
    """Return a name: text that is not empty."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{argument}: expected text, got {type(value).__name__}")
    if not value:
        raise ArgumentValueError(f"{argument}: expected a name that is not empty")
    return str(value)


def as_model_instance(value: object, argument: str, count: int | None = None) -> ModelInstanceIndex:
    """Return the index of a model instance; of any tree, unless their `count` is given."""
    if isinstance(value, str):
        raise ArgumentTypeError(
            f"{argument}: expected the index of a model instance, got str {quote(value)}: "
            f"tree.get_model_instance_by_name({quote(value)}) looks up by name"
        )
    count = _MAX_MODEL_INSTANCES if count is None else count
    return ModelInstanceIndex(as_index(value, argument, count, "model instance"))


def call_constructor(
    class_name: str, constructor: Callable[..., ResultT], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> ResultT:
    """Call a class, or a function that constructs its elements.

    Parameters
    ----------
    class_name : str
        The name of the class, as its user sees it.
    constructor : callable
        The class or function that takes the arguments.
    args, kwargs : tuple, dict
        The arguments.

    Raises
    ------
    ArgumentTypeError
        When `constructor` does not take such arguments; the message lists those it takes. Errors that the
        constructor itself raises pass through.
    """
    try:
        return constructor(*args, **kwargs)
    except ArgumentTypeError:
        raise
    except TypeError:
        check_arguments(class_name, constructor, args, kwargs)
        raise


def check_arguments(
    class_name: str, constructor: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Check that arguments are those that a constructor takes; see `call_constructor`."""
    import inspect  # Here, because most programs never need it.

    signature = inspect.signature(constructor)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        accepted = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
        form = inspect.Signature(accepted)
        raise ArgumentTypeError(f"{class_name}: expected {class_name}{form}, but {error}") from None


def check_constructed(element: MultibodyElement, argument: str = "") -> None:
    """Check that the constructor of an element has called that of `MultibodyElement`.

    Raises
    ------
    ArgumentTypeError
        When it has not.
    """
    if not is_constructed(element):
        where = f"{argument}: " if argument else ""
        raise ArgumentTypeError(f"{where}{type(element).__name__}.__init__ must call super().__init__()")


def is_constructed(element: object, element_type: type[Any] = object) -> bool:
    """Return whether `check_element` would pass, without the texts of its error: they take longer."""
    # No class has this attribute. Not `vars`: that would create the dictionary of attributes.
    return isinstance(element, element_type) and hasattr(element, "_is_ephemeral")


def describe_element(element: object, kinds: Sequence[str]) -> str:
    """Describe, in a message, a value that is not an element of these kinds, and how to get one."""
    for kind, look_up in _LOOK_UPS.items():
        if isinstance(element, str) and kind in kinds:
            return f"str {quote(element)}: tree.{look_up}({quote(element)}) looks up by name"
    if not isinstance(element, MultibodyElement):
        return type(element).__name__
    is_body = kinds == ["Frame"] and hasattr(element, "body_frame")
    return f"{element!r}: its frame is body.body_frame" if is_body else repr(element)


def check_element(element: object, element_type: type[Any] | UnionType, argument: str) -> None:
    """Check that an argument is an element of this type, or of one of several, ``A | B``.

    Raises
    ------
    ArgumentTypeError
        When it is anything else.
    """
    if not isinstance(element, element_type):
        kinds = [kind.__name__ for kind in get_args(element_type) or (element_type,)]
        raise ArgumentTypeError(
            f"{argument}: expected a {' or a '.join(kinds)}, got {describe_element(element, kinds)}"
        )
    if isinstance(element, MultibodyElement):
        check_constructed(element, argument)
