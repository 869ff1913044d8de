"""Calls of user-written methods: errors name the method, and endless recursion is detected."""

from __future__ import annotations

from _thread import _local  # `threading` imports it from there, and takes half a millisecond itself
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mbt.errors import ArgumentValueError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mbt.tree.element import MultibodyElement

__all__ = ["add_note", "call_hook", "differentiating", "overrides"]

# Far deeper than elements need that compute with each other.
_MAX_DEPTH = 16
# Third derivatives and higher take longer than anybody waits.
_DEPTH_OF_DERIVATIVES = 6


class _Calls(_local):
    """The depth of nested calls of hooks in this thread."""

    depth = 0


_calls = _Calls()


def call_hook(element: MultibodyElement, method: str, *args: Any) -> Any:
    """Call a method of an element that its class, written by a user, may override.

    Parameters
    ----------
    element : MultibodyElement
        The element.
    method : str
        Name of the method.
    *args
        Its arguments.

    Raises
    ------
    ArgumentValueError
        When the method asks for a quantity that includes its own result.
    Exception
        Any error of the method, with a note that names the element and the method.
    """
    if _calls.depth >= _MAX_DEPTH:
        raise ArgumentValueError(
            f"{_describe(element, method)} asks for a quantity that includes its own result: accelerations "
            "and the forces of all elements include those of this element. Compute with context.q, "
            "context.v, pc and vc."
        )
    _calls.depth += 1
    try:
        return getattr(element, method)(*args)
    except Exception as error:
        add_note(error, f"in {_describe(element, method)}()")
        raise
    finally:
        _calls.depth -= 1


@contextmanager
def differentiating() -> Iterator[None]:
    """Count a derivative of a hook as several nested calls."""
    _calls.depth += _DEPTH_OF_DERIVATIVES
    try:
        yield
    finally:
        _calls.depth -= _DEPTH_OF_DERIVATIVES


def _describe(element: MultibodyElement, method: str) -> str:
    return f"{element._label}: {type(element).__name__}.{method}"


def overrides(element: MultibodyElement, base: type[MultibodyElement], method: str) -> bool:
    """Return whether an element, or its class, overrides this method of its base class."""
    own = getattr(element, method)
    return getattr(own, "__func__", own) is not getattr(base, method)


class _NoteError(Exception):
    """Stands for a note in tracebacks of Python 3.10, which lacks notes."""


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an error, once; its type and arguments stay the same."""
    if note in getattr(error, "__notes__", ()):
        return
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:
        _chain_note(error, note)


def _chain_note(error: BaseException, note: str) -> None:
    """Add a note that a traceback shows as the cause of the error."""
    error.__notes__ = [*getattr(error, "__notes__", ()), note]
    first = error
    while (before := first.__cause__ or first.__context__) is not None:
        first = before
    first.__context__ = _NoteError(note)
