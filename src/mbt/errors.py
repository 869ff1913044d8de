"""Every error and warning of mbt.

Each error derives from `MbtError` and from the built-in exception that fits, so both
``except mbt.MbtError`` and ``except ValueError`` work. Helper functions compose the messages that occur
in more than one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

__all__ = [
    "AlreadyFinalizedError",
    "ArgumentTypeError",
    "ArgumentValueError",
    "AssemblyError",
    "CompilerError",
    "ConcurrentUseError",
    "ContextMismatchError",
    "ElementIndexError",
    "ForeignElementError",
    "FrozenContextError",
    "InvalidInertiaError",
    "MbtError",
    "MissingPackageError",
    "ModelWarning",
    "NotFinalizedError",
    "ParseError",
    "ShapeError",
    "SimulationWarning",
    "SingularityError",
    "StaleCacheError",
    "TopologyError",
    "UnknownNameError",
]

# Number of characters: longer texts are not paths.
_LONGEST_PATH = 500


class MbtError(Exception):
    """Base class of all errors of mbt."""


class ArgumentTypeError(MbtError, TypeError):
    """An argument is of a type that cannot be used."""


class ArgumentValueError(MbtError, ValueError):
    """An argument has the right type and shape, but an invalid value."""


class ShapeError(MbtError, ValueError):
    """An array has the wrong shape."""


class TopologyError(MbtError, ValueError):
    """Bodies and joints that do not form a tree."""


class InvalidInertiaError(MbtError, ValueError):
    """A mass property that no physical body has."""


class NotFinalizedError(MbtError, RuntimeError):
    """The tree must be finalized first."""


class AlreadyFinalizedError(MbtError, RuntimeError):
    """The tree is finalized: it can no longer change."""


class ForeignElementError(MbtError, ValueError):
    """An element of another tree, or of none."""


class ContextMismatchError(MbtError, ValueError):
    """A Context of another tree."""


class StaleCacheError(MbtError, RuntimeError):
    """A cache computed from values that have changed since."""


class FrozenContextError(MbtError, RuntimeError):
    """A write to a frozen Context."""


class ConcurrentUseError(MbtError, RuntimeError):
    """One Context, or controller, used by two threads at the same time."""


class SingularityError(MbtError, ArithmeticError):
    """A state in which the answer does not exist."""


class AssemblyError(MbtError, RuntimeError):
    """Constraints that cannot be closed.

    Attributes
    ----------
    errors : dict of str to float
        The largest remaining error of each open constraint [m, rad, or their rates], by its scoped name, the
        largest first; in a batch, over all samples.
    """

    def __init__(self, message: str, *, errors: dict[str, float] | None = None) -> None:
        super().__init__(message)
        self.errors = errors or {}


class UnknownNameError(MbtError, KeyError):
    """No element has this name."""

    def __str__(self) -> str:
        """Return the message itself: a KeyError would show it quoted."""
        return str(self.args[0]) if self.args else ""


class ElementIndexError(MbtError, IndexError):
    """An index out of range."""


class CompilerError(MbtError, RuntimeError):
    """There is no C compiler, or it failed; the message contains its output."""


class MissingPackageError(MbtError, ImportError):
    """An optional package is not installed; the message says which."""


class ParseError(MbtError, ValueError):
    """A robot description that cannot be read.

    Attributes
    ----------
    message : str
        What is wrong.
    file : str or None
        Where the description came from.
    line : int or None
        Line number, counted from 1.
    element : str or None
        The element concerned, such as ``<joint name="elbow">``.
    hint : str or None
        What to do about it.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        element: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.element = element
        self.hint = hint

    def __str__(self) -> str:
        """Return ``file:line: element: message (hint)``."""
        place = show_path(self.file or "")
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        text = ": ".join(part for part in (place, self.element, self.message) if part)
        return f"{text}\n  Hint: {self.hint}" if self.hint else text


class ModelWarning(UserWarning):
    """A usable model that may not be what its author intended."""


class SimulationWarning(UserWarning):
    """A simulation that could not continue to its end, or whose result cannot be trusted."""


def shorten(text: str, limit: int = 60) -> str:
    """Return a text of at most `limit` characters: the beginning and end of a longer one.

    Examples
    --------
    >>> shorten("elbow")
    'elbow'
    >>> shorten("left_arm_of_the_robot_at_the_window_elbow", limit=20)
    'left_arm_...ow_elbow'
    """
    if len(text) <= limit:
        return text
    end = (limit - 3) // 2
    return f"{text[: limit - 3 - end]}...{text[-end:]}"


def quote(value: object, limit: int = 60) -> str:
    """Return how messages show a name or any other value: by its shortened `repr`, which may fail.

    Examples
    --------
    >>> quote("elbow")
    "'elbow'"
    """
    try:
        text = repr(value)
        return text if len(text) <= limit else shorten(text, limit)
    except Exception:
        # A user's class; or an integer with more digits than Python prints.
        return f"<{type(value).__name__}>"


def show_path(path: object) -> str:
    """Return how messages show a path: all of it, for its reader needs the folder.

    Examples
    --------
    >>> show_path("robots/arm.urdf")
    'robots/arm.urdf'
    """
    return shorten(str(path), _LONGEST_PATH)


def quote_path(path: object) -> str:
    """Return how messages show a path from a caller or a file: all of it, as its `repr`.

    Examples
    --------
    >>> quote_path("package://arm/meshes/link.stl")
    "'package://arm/meshes/link.stl'"
    """
    return quote(str(path), _LONGEST_PATH)


def describe_shape(shape: Sequence[object]) -> str:
    """Return the text of a shape: ``None`` becomes ``n``, ``Ellipsis`` becomes ``...``.

    Examples
    --------
    >>> describe_shape((..., 3, None))
    '(..., 3, n)'
    >>> describe_shape((7,))
    '(7,)'
    """
    words = ["n" if entry is None else "..." if entry is Ellipsis else str(entry) for entry in shape]
    return f"({words[0]},)" if len(words) == 1 else f"({', '.join(words)})"


#: Arguments with an entry for each velocity; for a floating base, people may pass one for each actuator.
_GENERALIZED_FORCES = ("tau", "tau_applied", "generalized_forces", "the result of control")


def shape_error(name: str, expected: Sequence[object], got: Sequence[object]) -> ShapeError:
    """Return the error for an argument `name` of the wrong shape.

    Examples
    --------
    >>> print(shape_error("tau", (..., 18), (12,)))
    tau: expected shape (..., 18), got (12,). If u are efforts of actuators: tau = tree.actuation_matrix @ u
    """
    if not expected:
        return ShapeError(f"{name}: expected one number, got shape {describe_shape(got)}")
    cure = cure_for_efforts(expected, got) if name in _GENERALIZED_FORCES else ""
    return ShapeError(f"{name}: expected shape {describe_shape(expected)}, got {describe_shape(got)}{cure}")


def rows_error(name: str, got: Sequence[object]) -> ShapeError:
    """Return the error for points that are not in rows; those in columns get a hint.

    Examples
    --------
    >>> print(rows_error("p_FC", (3, 4)))
    p_FC: expected shape (n, 3), got (3, 4); transpose it: one point per row
    """
    cure = "; transpose it: one point per row" if len(got) == 2 and got[0] == 3 else ""
    return ShapeError(f"{name}: expected shape (n, 3), got {describe_shape(got)}{cure}")


def cure_for_efforts(expected: Sequence[object], got: Sequence[object]) -> str:
    """Return advice for efforts of actuators that were passed as forces along velocities."""
    if not got or got[-1:] == expected[-1:]:
        return ""
    return ". If u are efforts of actuators: tau = tree.actuation_matrix @ u"


def unknown_name_error(kind: str, name: str, known_names: Iterable[str], where: str = "") -> UnknownNameError:
    """Return the error for a `name` that no element of this `kind` has, with the nearest names.

    Raises
    ------
    ArgumentTypeError
        When the name is not text.

    Examples
    --------
    >>> print(unknown_name_error("joint", "elbwo", ["elbow", "wrist"]))
    There is no joint named 'elbwo'. Did you mean 'elbow'?
    """
    import difflib  # Here, because most programs never need it.

    if not isinstance(name, str):
        raise ArgumentTypeError(f"expected the name of a {kind}, got {quote(name)}")
    names = sorted(set(known_names))
    text = f"There is no {kind} named {quote(name)}{' ' + where if where else ''}."
    # Comparing takes time in the product of the lengths, and nobody mistypes such a long name.
    nearest = difflib.get_close_matches(name, names, n=3) if len(name) <= 200 else []
    if nearest:
        return UnknownNameError(f"{text} Did you mean {' or '.join(map(quote, nearest))}?")
    if not names:
        return UnknownNameError(f"{text} There are none at all.")
    shown = ", ".join(quote(known, limit=30) for known in names[:10])
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    return UnknownNameError(f"{text} The names are {shown}{more}.")


@contextmanager
def reporting_damage(what: str) -> Iterator[None]:
    """Turn errors of any kind, which values of a wrong type can cause, into an `ArgumentValueError`."""
    try:
        yield
    except (MbtError, MemoryError):
        raise
    except KeyError as error:
        raise ArgumentValueError(
            f"unpickling a {what}: it is truncated: no {quote(*error.args[:1] or ('key',))}"
        ) from error
    except Exception as error:
        message = shorten(f"{type(error).__name__}: {error}", 200)
        raise ArgumentValueError(f"unpickling a {what}: it is damaged: {message}") from error
