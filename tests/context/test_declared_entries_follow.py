"""A cache entry that depends on everything is computed anew after every change that a Context can undergo."""

from __future__ import annotations

import numpy as np
import pytest

from support.kinds import KINDS, make_context
from support.writes import SETTINGS, WRITES, make_watched_tree


def is_computed_anew(kind: str, entry: str, write: str) -> bool:
    context = make_context(make_watched_tree(), kind)
    tree = context.tree
    for joint in tree.joints:
        joint.lock(context)
    watcher = tree.force_elements[2]
    context.eval_cache_entry(getattr(watcher, entry))
    count = watcher.count
    context.eval_cache_entry(getattr(watcher, entry))
    assert watcher.count == count
    WRITES[write](tree, context, np.random.default_rng(0))
    context.eval_cache_entry(getattr(watcher, entry))
    return bool(watcher.count > count)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_depends_on_everything(kind: str, write: str) -> None:
    assert is_computed_anew(kind, "everything", write)


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("kind", KINDS)
def test_what_depends_on_parameters(kind: str, write: str) -> None:
    """Locks, and exemptions from gravity, are parameters too."""
    assert is_computed_anew(kind, "settings", write) is (write in SETTINGS)
