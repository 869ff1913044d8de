"""Explanations of stale caches and of rejected writes to a frozen Context, with names of elements."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt._core.door.compiled_model import PARAMETER_SECTIONS
from mbt._core.engines.caches import PositionKinematicsCache, VelocityKinematicsCache
from mbt.errors import ArgumentTypeError, StaleCacheError
from mbt.tree.force_elements import CompiledForceElement
from mbt.tree.parameters import CacheEntry
from mbt.tree.report_tables import Section, Table, as_html

if TYPE_CHECKING:
    from types import TracebackType

    from mbt.context.context import Context
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["CacheExplanation", "Freezing", "Write", "describe_part", "explain"]

# The largest number of vector entries, or parameters, that are named.
_MOST_NAMES = 4


@dataclass(frozen=True)
class Write:
    """A write that made a cache stale: the last one of its kind.

    Attributes
    ----------
    what : str
        The written value: ``"q"``, ``"v"``, ``"time"``, ``"parameters"``, ``"locks and switches"``,
        ``"inputs"`` or ``"discrete_state"``.
    serial : int
        Its number among all writes of the process, in chronological order.
    detail : str
        Details of the change, as far as they are known.
    """

    what: str
    serial: int
    detail: str = ""


@dataclass(frozen=True)
class CacheExplanation:
    """Whether a cache is up to date with a Context, and if not, why; see `Context.explain`.

    Attributes
    ----------
    cache : str
        The cache.
    reads : tuple of str
        The values it is computed from.
    writes : tuple of Write
        The writes since it was computed, in order; empty if it is up to date.
    note : str
        Further information.
    """

    cache: str
    reads: tuple[str, ...]
    writes: tuple[Write, ...]
    note: str = ""

    @property
    def is_stale(self) -> bool:
        """Whether it would be recomputed or rejected."""
        return bool(self.writes or self.note)

    def __str__(self) -> str:
        """Return a line for the cache and one for each write."""
        state = "stale" if self.is_stale else "up to date"
        lines = [f"{self.cache}: {state}; it reads {', '.join(self.reads)}"]
        lines += [f"  write {w.serial}: {w.what}{': ' if w.detail else ''}{w.detail}" for w in self.writes]
        return "\n".join([*lines, f"  {self.note}"] if self.note else lines)

    def _repr_html_(self) -> str:
        """Return the writes as a table, for a notebook."""
        table = Table(("write", "what", ""), left=(1, 2))
        for write in self.writes:
            table.add(str(write.serial), write.what, write.detail)
        notes = [self.note] if self.note else []
        return as_html(str(self).partition("\n")[0], [Section("Since then", notes, table, is_open=True)])


def explain(context: Context, cache: object) -> CacheExplanation:
    """Return why a cache is stale; see `Context.explain`."""
    if isinstance(cache, CacheEntry):
        return _explain_entry(context, cache)
    if not isinstance(cache, (PositionKinematicsCache, VelocityKinematicsCache)):
        raise ArgumentTypeError(
            "cache: expected a PositionKinematicsCache, a VelocityKinematicsCache or a CacheEntry, got "
            f"{type(cache).__name__}"
        )
    tree = context.tree
    # These methods reject a cache of another tree.
    with suppress(StaleCacheError):
        if isinstance(cache, PositionKinematicsCache):
            tree._position_of(context, cache)
        else:
            tree._velocity_of(context, cache)
    names = ["q", "v", "parameters"]
    serials, q, parameters = _origin_of(context, cache)
    _, *present = context._serials[:4]
    if isinstance(cache, PositionKinematicsCache):
        del names[1], serials[1], present[1]
    title, reads = repr(cache).strip("<>"), tuple(names)
    if serials is None or not any(serials):
        return CacheExplanation(title, reads, (), "it was never computed")
    details = {"q": _compare_q(context, q), "parameters": _compare_parameters(context, parameters)}
    writes = [
        Write(name, now, details.get(name, ""))
        for name, then, now in zip(names, serials, present, strict=True)
        if then != now
    ]
    # Serial numbers only grow: a larger one means that the cache has later values than the Context.
    is_newer = any(then > now for then, now in zip(serials, present, strict=True))
    note = "it belongs to another Context, or to values that this one no longer has" if is_newer else ""
    return CacheExplanation(title, reads, tuple(sorted(writes, key=lambda write: write.serial)), note)


def _origin_of(context: Context, cache: Any) -> tuple[list[int], Any, Any]:
    """Return the serials of q, v and the parameters that a cache was computed from, its q and parameters."""
    kept = getattr(cache, "serials", None)
    if kept is None:
        serials, q, parameters = cache._origin
        return list(serials), q, parameters
    if len(kept) == 2:
        return [kept[0], 0, kept[1]], cache._inputs[2], None
    return list(kept or (0, 0, 0)), None, None


def _explain_entry(context: Context, entry: CacheEntry) -> CacheExplanation:
    declared = context._declared
    if not declared.declarations.has(entry):
        context.eval_cache_entry(entry)  # Raises, as the entry belongs to another tree.
    then, _ = declared._results.get(entry.index, (None, None))
    now = declared._serials(context, entry)
    title = repr(entry).strip("<>")
    if now is None:
        note = (
            "it is computed at each evaluation: the arrays of the applied forces may have been written into, "
            "and values of this scalar type are not compared"
        )
        return CacheExplanation(title, entry.sources, (), note)
    if then is None:
        return CacheExplanation(title, entry.sources, (), "it was never computed")
    names: list[str] = []
    for source in entry.sources:
        names += ["parameters", "locks and switches"] if source == "parameters" else [source]
    writes = [_make_write(name, a, b) for name, a, b in zip(names, then, now, strict=True) if a != b]
    return CacheExplanation(title, entry.sources, tuple(writes))


def _make_write(name: str, then: Any, now: Any) -> Write:
    """Return the write of a value; the states of inputs are a serial number and applied forces."""
    if name != "inputs":
        return Write(name, now)
    return Write(name, now[0], "applied forces" if now[1] != then[1] else "")


def _compare_q(context: Context, q: Any) -> str:
    """Describe which positions differ from those of a cache."""
    if q is None or context.batch_shape or not isinstance(context.q, np.ndarray):
        return ""
    present = context.q
    if present.dtype != np.float64 or present.shape != np.shape(q):
        return ""
    changed = np.flatnonzero(~((present == q) | ((present != present) & (q != q))))
    if not changed.size:
        return "the same values were written again"
    names = context.tree.position_names
    return _join([f"{names[i]} {q[i]:.6g} -> {present[i]:.6g}" for i in changed[:_MOST_NAMES]], changed.size)


def _compare_parameters(context: Context, parameters: Any) -> str:
    """Describe which parameters differ from those of a cache."""
    if parameters is None or context.batch_shape or not context._numbers.has_values:
        return ""
    changed = np.flatnonzero(parameters != context._parameter_vector)
    if not changed.size:
        return "the same values were written again, or parameters that elements declared"
    found = list(dict.fromkeys(describe_place(context.tree, int(place)) for place in changed))
    return _join(found[:_MOST_NAMES], len(found))


def _join(parts: list[str], count: int) -> str:
    rest = f", and {count - len(parts)} more" if count > len(parts) else ""
    return ", ".join(parts) + rest


def describe_place(tree: MultibodyTree, place: int) -> str:
    """Describe the parameter at a place in the vector of parameters."""
    compiled = tree._compiled
    assert compiled is not None
    counts = {
        "gravity": 1,
        "frame_pose": tree.num_frames,
        "damping": tree.num_velocities,
        "rotor_inertia": len(tree.joint_actuators),
        "gear_ratio": len(tree.joint_actuators),
        "force_element": sum(isinstance(e, CompiledForceElement) for e in tree.force_elements),
        "constraint": tree.num_constraints,
    }
    for section in PARAMETER_SECTIONS:
        for i in range(counts.get(section, tree.num_bodies)):
            part = compiled.parameter_slice(section, i)
            if part.start <= place < part.stop:
                return describe_part(tree, section, i)
    # A parameter of an element, beyond the range that parameter_slice returns.
    return "a parameter"


def describe_part(tree: MultibodyTree, section: str, index: int) -> str:
    """Describe a section of the parameters, or a switch, and its element."""
    words = {
        "com": "centre of mass",
        "unit_inertia": "inertia",
        "massless_inertia": "inertia",
        "frame_pose": "pose",
        "rotor_inertia": "rotor inertia",
        "gear_ratio": "gear ratio",
        "force_element": "parameters",
        "constraint": "parameters",
        "disabled": "the switch",
    }
    if section in ("gravity", "weightless"):
        return "gravity" if section == "gravity" else "which bodies are exempt from gravity"
    if section == "parameters":
        return "a parameter that an element declared"
    if section == "everything":
        return "everything"
    return f"{words.get(section, section)} of {_owner(tree, section, index)}"


def _owner(tree: MultibodyTree, section: str, index: int) -> str:
    """Return the label of the element that a part belongs to."""
    if section == "frame_pose":
        return tree.frames[index]._label
    if section in ("damping", "lock"):
        for mobilizer in tree.mobilizers:
            if mobilizer.velocity_start <= index < mobilizer.velocity_start + mobilizer.num_velocities:
                return (mobilizer.joint or mobilizer)._label
    if section in ("rotor_inertia", "gear_ratio"):
        return tree.joint_actuators[index]._label
    if section in ("constraint", "disabled"):
        return tree.constraints[index]._label
    if section == "force_element":
        elements = [e for e in tree.force_elements if isinstance(e, CompiledForceElement)]
        return next(e._label for e in elements if e._core_index == index)
    return next((b._label for b in tree.bodies if b.node_index == index), "a joint")


class Freezing:
    """Result of `Context.freeze`: leaving a ``with`` statement restores whether the Context was frozen."""

    def __init__(self, context: Context) -> None:
        self._context = context
        #: Whether it was frozen before ``freeze()``, until the first ``with`` statement begins.
        self._was_frozen: bool | None = context._is_frozen
        #: The same before each ``with`` statement that has not ended.
        self._before: list[bool] = []
        context._is_frozen = True

    def __enter__(self) -> Context:
        """Return the Context, frozen again if it was thawed since."""
        before = self._context._is_frozen
        if before and self._was_frozen is not None:
            before = self._was_frozen
        self._was_frozen = None
        self._before.append(before)
        self._context._is_frozen = True
        return self._context

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Thaw it, unless it was frozen before."""
        self._context._is_frozen = self._before.pop()
