"""Trees of another scalar type that stand in for trees of doubles, in the functions of `mbt.functional`.

So a function that calls these with a tree of doubles runs unchanged with numbers of another scalar type.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from mbt._core.api.stateless import count_standing_in
from mbt.scalars.cloning import clone_to_scalar
from mbt.tree import MultibodyTree

if TYPE_CHECKING:
    from mbt.scalars.tree import ScalarTree
    from mbt.symbolic import ScalarType

__all__ = ["compute_in", "standing_in", "stands_in"]

# For the current thread: the scalar type, and pairs of trees of doubles and their stand-ins.
_present: ContextVar[tuple[ScalarType, dict[int, tuple[Any, Any]]] | None] = ContextVar(
    "present", default=None
)


@contextmanager
def compute_in(scalar_type: ScalarType) -> Iterator[None]:
    """Let trees of doubles compute in another scalar type if this thread passes them to `mbt.functional`."""
    token = _present.set((scalar_type, {}))
    count_standing_in(1)
    try:
        yield
    finally:
        count_standing_in(-1)
        _present.reset(token)


def stands_in(tree: Any) -> bool:
    """Return whether another tree stands in for this one."""
    return _present.get() is not None and type(tree) is MultibodyTree


def standing_in(tree: Any) -> ScalarTree:
    """Return the tree that computes in place of this one, perhaps itself."""
    present = _present.get()
    if present is None or type(tree) is not MultibodyTree:
        return tree  # type: ignore[no-any-return]
    scalar_type, known = present
    if id(tree) not in known:
        known[id(tree)] = tree, clone_to_scalar(tree, scalar_type)
    return known[id(tree)][1]  # type: ignore[no-any-return]
