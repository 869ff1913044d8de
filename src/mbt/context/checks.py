"""Checks of arguments that compiled methods cannot use directly, and their error messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mbt.context.multibody_forces import MultibodyForces
from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ConcurrentUseError,
    ContextMismatchError,
    FrozenContextError,
    NotFinalizedError,
    ShapeError,
    SingularityError,
    StaleCacheError,
    quote,
)
from mbt.math.arrays import FloatArray, check_apart
from mbt.math.numbers import DOUBLES, Numbers
from mbt.tree import CompiledForceElement, Frame, MultibodyTree, RigidBody
from mbt.tree.context_access import raise_context_mismatch, raise_foreign_element

if TYPE_CHECKING:
    from mbt.context.context import Context
    from mbt.tree.mobilizer import Mobilizer

# Derivatives lose all digits only if masses differ by more than this factor, see `constrained_dynamics.pxd`.
_FAR_APART = 1e10

__all__ = [
    "as_points",
    "body_node_index",
    "check_constraints_at",
    "check_forces",
    "check_outputs",
    "check_parts",
    "check_tuple",
    "check_with_respect_to",
    "compile_copy",
    "describe_massless_dof",
    "describe_singular_map",
    "describe_singular_position",
    "forces_of",
    "frame_index",
    "numbered_frames",
    "raise_concurrent_use",
    "raise_context_mismatch",
    "raise_foreign_cache",
    "raise_frozen",
    "raise_locked",
    "raise_massless_dof",
    "raise_not_copyable",
    "raise_not_finalized",
    "raise_singular_element",
    "raise_singular_map",
    "raise_singular_pivot",
    "raise_singular_position",
    "raise_stale_cache",
    "write_parts",
]


def raise_not_finalized(tree: object) -> NoReturn:
    """Raise for an object that is not a finalized tree."""
    if not isinstance(tree, MultibodyTree):
        raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {type(tree).__name__}")
    tree._check_constructed()
    raise NotFinalizedError("The tree computes only after tree.finalize(); call it once everything is added.")


def compile_copy(tree: object) -> None:
    """Compile a finalized tree that was copied or unpickled; raise for anything else."""
    if not (isinstance(tree, MultibodyTree) and tree.is_finalized):
        raise_not_finalized(tree)
    tree._compile_copy()


def raise_stale_cache(name: str, cache: object, expected: str, is_of_another_tree: bool = False) -> NoReturn:
    """Raise for a cache that was not computed from the current state."""
    if all(kind.__name__ != expected for kind in type(cache).__mro__):
        raise ArgumentTypeError(f"{name}: expected a {expected}, got {type(cache).__name__}")
    if is_of_another_tree:
        raise ContextMismatchError(f"{name}: expected a {expected} of this tree, got one of another tree")
    raise StaleCacheError(
        f"{name}: this {expected} was not computed from the present values of the Context: "
        f"q, v or a parameter has changed since, or it belongs to another Context. "
        f"context.explain({name}) tells which. Compute it again, or leave {name} out to use the caches of "
        "the Context."
    )


def raise_foreign_cache(name: str, cache: object, expected: str) -> NoReturn:
    """Raise for a cache to compute into that does not belong to this tree."""
    if expected not in (base.__name__ for base in type(cache).__mro__):
        raise ArgumentTypeError(f"{name}: expected a {expected}, got {type(cache).__name__}")
    raise ContextMismatchError(
        f"{name}: expected a {expected} of this tree to compute into, got one of another tree, of another "
        "kind of Context, or one that a Context keeps"
    )


def raise_frozen(context: Context, what: str, index: int) -> NoReturn:
    """Raise for a write to a section of the parameters, or a switch, of a frozen Context."""
    from mbt.context.explanation import describe_part

    raise FrozenContextError(
        f"context: {describe_part(context.tree, what, index)} cannot be written, because the Context is "
        "frozen: its parameters, locks and switches cannot change until context.thaw()."
    )


def frame_index(tree: MultibodyTree, frame: object, name: str) -> int:
    """Return the index of a frame of this tree, which may be given by name; a body means its body frame."""
    if isinstance(frame, str):
        return tree._elements.frame_named(frame, name)._index
    if isinstance(frame, RigidBody):
        frame = frame.body_frame
    if not isinstance(frame, Frame):
        raise ArgumentTypeError(f"{name}: expected a Frame or its name, got {type(frame).__name__}")
    if frame._tree is not tree:
        raise_foreign_element(tree, frame, f"{name}: expected a frame")
    return frame._index


def numbered_frames(tree: MultibodyTree) -> tuple[tuple[object, ...], list[int]]:
    """Return the frames and bodies of a tree and their frame indices; that of a body is its body frame's."""
    frames, bodies = tree._elements.frames.as_tuple(), tree._elements.bodies.as_tuple()
    return (*frames, *bodies), [*range(len(frames)), *(body._body_frame._index for body in bodies)]


def body_node_index(tree: MultibodyTree, body: object) -> int:
    """Return the node of a body of this tree, which may be given by name."""
    if isinstance(body, str):
        body = tree._elements.bodies.named(body, tree._elements.model_instances, "body")
    if not isinstance(body, RigidBody):
        raise ArgumentTypeError(f"body: expected a RigidBody or its name, got {type(body).__name__}")
    if body._tree is not tree:
        raise_foreign_element(tree, body, "body: expected a body")
    return body._node_index


def forces_of(
    tree: MultibodyTree, forces: object, name: str, *, single: bool = True
) -> tuple[FloatArray, FloatArray]:
    """Return the body forces and generalized forces of an argument.

    Parameters
    ----------
    tree : MultibodyTree
        The tree to which the forces must belong.
    forces : object
        The argument.
    name : str
        The name of the argument.
    single : bool
        Whether it must have no batch axes.
    """
    # Skip the checks below in the usual case.
    if type(forces) is MultibodyForces and getattr(forces, "_tree", None) is tree:
        arrays = forces._body_forces, forces._generalized_forces
        if arrays[1].ndim == 1:
            return arrays
    if not isinstance(forces, MultibodyForces):
        raise ArgumentTypeError(
            f"{name}: expected a MultibodyForces, got {type(forces).__name__}: mbt.MultibodyForces(tree) "
            "makes one"
        )
    if forces.tree is not tree:
        raise ContextMismatchError(f"{name}: expected forces of this tree, got those of another tree")
    if single and forces.batch_shape:
        raise ShapeError(f"{name}: expected batch shape (), got {forces.batch_shape}")
    # Not the properties, which create views.
    return forces._body_forces, forces._generalized_forces


def check_forces(tree: MultibodyTree, forces: object, name: str, batch_shape: tuple[int, ...]) -> None:
    """Check that an argument is a MultibodyForces for this tree with these batch axes."""
    forces_of(tree, forces, name, single=False)
    assert isinstance(forces, MultibodyForces)
    if forces.batch_shape != batch_shape:
        raise ShapeError(f"{name}: expected batch shape {batch_shape}, got {forces.batch_shape}")


def check_with_respect_to(value: object) -> bool:
    """Return whether a Jacobian is taken with respect to qdot, not v."""
    if not isinstance(value, str) or value not in ("v", "qdot"):
        raise ArgumentValueError(f"with_respect_to: expected 'v' or 'qdot', got {quote(value)}")
    return value == "qdot"


def raise_singular_position(tree: MultibodyTree, node: int) -> NoReturn:
    """Raise for positions in which a mobilizer has no pose."""
    raise SingularityError(describe_singular_position(tree, node))


def describe_singular_position(tree: MultibodyTree, node: int) -> str:
    """Return why the mobilizer of a node has no pose."""
    mobilizer = _mobilizer_of_node(tree, node)
    start = mobilizer.position_start
    return (
        f"q: the quaternion of {_describe(mobilizer)}, q[{start}:{start + 4}], is zero, or too small or too "
        "large to normalize, and represents no rotation; the identity is [1, 0, 0, 0]."
    )


def raise_singular_element(tree: MultibodyTree, core_index: int) -> NoReturn:
    """Raise for positions in which the force of an element is undefined."""
    compiled = (e for e in tree.force_elements if isinstance(e, CompiledForceElement))
    element = next(e for e in compiled if e._core_index == core_index)
    raise SingularityError(f"{element._label}: {element._describe_singularity()}")


def check_constraints_at(context: Context) -> None:
    """Raise if constraint forces are undefined at this state; NaN from other causes is not an error.

    Raises
    ------
    SingularityError
        When the points of a `DistanceConstraint` coincide, or when masses differ by too much.
    """
    for constraint in context.tree.constraints:
        if constraint.is_enabled_in(context):
            constraint._check_direction(context)
    found = find_far_apart(context)
    known_values = context._numbers.known_values
    if found and all(np.isfinite(known_values(array)).all() for array in (context.q, context.v)):
        (light, least), (heavy, most) = found
        raise SingularityError(
            f"constraints: the masses of {light._label}, {least:.3g} kg, and {heavy._label}, "
            f"{most:.3g} kg, are so far apart that rounding leaves too few digits of the constraint "
            "equations: give them masses that differ by less, or weld the light one to another"
        )


def find_far_apart(context: Context) -> tuple[tuple[RigidBody, float], tuple[RigidBody, float]] | None:
    """Return the lightest body with mass and the heaviest one, if their masses are too far apart."""
    known_values = context._numbers.known_values
    masses = {body: float(known_values(body.get_mass(context))) for body in context.tree.bodies[1:]}
    with_mass = {body: mass for body, mass in masses.items() if mass > 0.0}
    light, heavy = (choose(with_mass, key=masses.__getitem__, default=None) for choose in (min, max))
    if light is None or heavy is None or masses[heavy] < _FAR_APART * masses[light]:
        return None
    return (light, masses[light]), (heavy, masses[heavy])


def raise_locked(context: Context, v: FloatArray) -> NoReturn:
    """Raise for velocities that move a locked joint."""
    for mobilizer in context.tree.mobilizers:
        start, count = mobilizer.velocity_start, mobilizer.num_velocities
        rates = v[start : start + count]
        if context._is_locked(start, count) and (rates != 0.0).any():
            raise ArgumentValueError(
                f"v: {_describe(mobilizer)} is locked, so v[{start}:{start + count}] must be zero, got "
                f"{rates.tolist()}. Unlock it first, with unlock(context)."
            )
    raise ArgumentValueError("v: expected zero for every locked velocity")


def raise_singular_map(tree: MultibodyTree, node: int) -> NoReturn:
    """Raise for positions in which the rates of roll, pitch and yaw are undefined."""
    raise SingularityError(describe_singular_map(tree, node))


def describe_singular_map(tree: MultibodyTree, node: int) -> str:
    """Return why the rates of the angles of a mobilizer are undefined."""
    mobilizer = _mobilizer_of_node(tree, node)
    return (
        f"q: {_describe(mobilizer)} is at gimbal lock, its pitch q[{mobilizer.position_start + 1}] within "
        "1e-3 of a quarter turn: the rates of roll and yaw do not follow from its angular velocity there. "
        "Poses and dynamics do not need them, integrate_positions() passes through, and a joint with a "
        "quaternion has no such position."
    )


def raise_massless_dof(tree: MultibodyTree, dof: int, what: str = "forward dynamics") -> NoReturn:
    """Raise for a massless dof in forward dynamics, or in the computation that `what` names."""
    rest = " tree.finalize_report.massless_branches lists all such joints." if _has_finite_mass(tree) else ""
    raise SingularityError(describe_massless_dof(tree, dof, what) + rest)


def _has_finite_mass(tree: MultibodyTree) -> bool:
    return math.isfinite(sum(body.default_mass for body in tree.bodies))


def raise_singular_pivot(tree: MultibodyTree, pivot: int, what: str = "forward dynamics") -> NoReturn:
    """Raise for a zero pivot: of a dof or, for indices after those, of a component of a spatial velocity."""
    row = pivot - tree.num_velocities
    if row < 0:
        raise_massless_dof(tree, pivot, what)
    raise SingularityError(
        "operational-space inertia: the frame cannot move with six independent velocities here: component "
        f"{row} of [angular; linear] depends on those before it, or is always zero. The inverse, "
        "calc_operational_space_inverse_inertia(), is defined everywhere."
    )


def describe_massless_dof(tree: MultibodyTree, dof: int, what: str = "forward dynamics") -> str:
    """Return why forward dynamics, or the computation that `what` names, has no solution for a dof."""
    if not _has_finite_mass(tree):
        return f"{what}: the masses of the bodies add up to more than a float can hold"
    mobilizer = next(
        m for m in tree.mobilizers if m.velocity_start <= dof < m.velocity_start + m.num_velocities
    )
    return (
        f"{what}: velocity {dof}, of {_describe(mobilizer)}, has no inertia: "
        f"{mobilizer.outboard_body._label} and the bodies it carries have no mass, or no inertia about the "
        "axis. Give it a mass, weld the joint, or add a rotor inertia."
    )


def raise_concurrent_use() -> NoReturn:
    """Raise for a Context with which another thread is computing."""
    raise ConcurrentUseError(
        "context: another thread is computing with this Context. Use one Context per thread, as with "
        "context.clone(); the tree may be shared."
    )


def raise_not_copyable(cache: object) -> NoReturn:
    """Raise for an attempt to copy or pickle a cache."""
    raise ArgumentTypeError(
        f"a {type(cache).__name__} cannot be copied or pickled: copy the Context, which computes it again, "
        "or the arrays that you need."
    )


def _mobilizer_of_node(tree: MultibodyTree, node: int) -> Mobilizer:
    assert tree._plan is not None
    return tree._plan.mobilizer_of_node[node - 1]


def _describe(mobilizer: Mobilizer) -> str:
    if mobilizer.joint is None:
        return f"the mobilizer of {mobilizer.outboard_body._label}"
    return mobilizer.joint._label


def as_points(
    value: object, name: str, numbers: Numbers = DOUBLES, batch_shape: tuple[int, ...] = ()
) -> FloatArray:
    """Return points as columns, (3, n), or one point, (3,), optionally with leading batch axes."""
    points: FloatArray = numbers.as_float_array(value, name)
    shape = points.shape
    if shape[:-2] not in ((), batch_shape) or shape[-2:][:1] != (3,):
        raise ShapeError(f"{name}: expected shape (3, n), one point a column, or (3,), got {shape}")
    return points


def check_tuple(out: object, count: int) -> tuple[Any, ...]:
    """Return `out`, a tuple of `count` entries of any scalar type; if `out` is None, a tuple of None."""
    if out is None:
        return (None,) * count
    if not isinstance(out, tuple):
        raise ArgumentTypeError(f"out: expected a tuple of {count} arrays, got {type(out).__name__}")
    if len(out) != count:
        raise ShapeError(f"out: expected a tuple of {count} arrays, got {len(out)}")
    return out


def check_outputs(out: object, shapes: Sequence[tuple[int, ...]]) -> tuple[FloatArray, ...]:
    """Return the entries of `out`, a tuple of arrays to write into, with new arrays in place of None."""
    parts = check_parts(out, shapes)
    return tuple(
        [np.empty(shape) if part is None else part for part, shape in zip(parts, shapes, strict=True)]
    )


def check_parts(
    out: object, shapes: Sequence[tuple[int, ...]], numbers: Numbers = DOUBLES
) -> tuple[Any, ...]:
    """Return `out`, a tuple with an array or None for each of these shapes, of any scalar type."""
    wanted = f"out: expected a tuple of {len(shapes)} arrays or None"
    if not isinstance(out, tuple):
        raise ArgumentTypeError(f"{wanted}, got {type(out).__name__}")
    if len(out) != len(shapes):
        raise ShapeError(f"{wanted}, got {len(out)} entries")
    given = {}
    for i, part in enumerate(out):
        if part is not None:
            name = f"out[{i}]"
            given[name] = part
            numbers.check_out(part, name, shapes[i])
    if given:
        check_apart(given)
    return out


def write_parts(numbers: Numbers, out: tuple[Any, ...], results: Sequence[Any]) -> tuple[Any, ...]:
    """Write results into the arrays in `out`, all or none; return these, and the results without an array."""
    targets = enumerate(zip(out, results, strict=True))
    return numbers.write_all(*((part, result, f"out[{i}]") for i, (part, result) in targets))
