"""Joints of Pinocchio, split into joints that a tree has."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbt.errors import ArgumentValueError, quote
from mbt.math.arrays import FloatArray
from mbt.parsing.pose_stacks import calc_rotations

if TYPE_CHECKING:
    import pinocchio

__all__ = ["FREE", "Part", "is_model", "read_positions", "take_apart"]

FREE = "floating"
_BALL, _PLANAR = "quaternion_ball", "planar"
_REVOLUTE, _PRISMATIC, _SCREW = "revolute", "prismatic", "screw"
_SIZES = {FREE: 7, _BALL: 4, _PLANAR: 4}
_AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}
# Joints equivalent to several joints of one degree of freedom in series: suffixes, kind, axes.
_CHAINS = {
    "JointModelSphericalZYX": ("zyx", _REVOLUTE),
    "JointModelTranslation": ("xyz", _PRISMATIC),
}


class Part(NamedTuple):
    """A joint of a tree that is a joint of Pinocchio, or part of one.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        As in a `JointDescription`.
    X : ndarray, shape (4, 4)
        Pose of its frame F in the preceding part.
    axis : list of float
        Its axis, if it has one.
    pitch : float
        Pitch of a screw [m/rad].
    q, v : int
        Where its coordinates begin in Pinocchio; for a mimic joint, those of its master.
    is_circle : bool
        Whether Pinocchio stores the angle as a cosine and a sine.
    master : int
        The joint that it mimics, with `scaling` and `offset`; or -1.
    """

    name: str
    kind: str
    X: FloatArray
    axis: list[float]
    pitch: float
    q: int
    v: int
    is_circle: bool = False
    master: int = -1
    scaling: float = 1.0
    offset: float = 0.0

    @property
    def q_size(self) -> int:
        """Number of its positions in Pinocchio."""
        return _SIZES.get(self.kind, 2 if self.is_circle else 1)


def is_model(model: object) -> bool:
    """Return whether this is a pinocchio.Model with any scalar type; the library need not be imported."""
    return type(model).__name__ == "Model" and type(model).__module__.startswith("pinocchio")


def take_apart(model: pinocchio.Model) -> Iterator[tuple[int, list[Part]]]:
    """Yield the index of each joint, and its parts in their order.

    Raises
    ------
    ArgumentValueError
        When a joint has a type that mbt lacks, or two joints share a name.
    """
    masters = dict(
        zip(
            map(int, getattr(model, "mimicking_joints", ())),
            map(int, getattr(model, "mimicked_joints", ())),
            strict=True,
        )
    )
    taken: dict[str, int] = {}
    for i in range(1, model.njoints):
        X = np.array(model.jointPlacements[i].homogeneous)
        parts = _take_apart(model.names[i], model.joints[i], X, masters.get(i, -1))
        for part in parts:
            # Pinocchio allows it, but coordinates and couplers are found by name.
            if taken.setdefault(part.name, i) != i:
                raise ArgumentValueError(
                    f"model: joints {taken[part.name]} and {i} would both be called {quote(part.name)}: "
                    f"rename one, model.names[{i}] = ..."
                )
        yield i, parts


def _take_apart(name: str, joint: Any, X: FloatArray, master: int = -1) -> list[Part]:
    kind = joint.shortname()
    own = joint.extract() if hasattr(joint, "extract") else joint
    q, v = joint.idx_q, joint.idx_v
    if kind in ("JointModelFreeFlyer", "JointModelSpherical", "JointModelPlanar"):
        name_of_kind = {"F": FREE, "S": _BALL, "P": _PLANAR}[kind[len("JointModel")]]
        return [Part(name, name_of_kind, X, [0.0, 0.0, 1.0], 0.0, q, v)]
    if kind in _CHAINS:
        letters, part = _CHAINS[kind]
        return [
            Part(
                f"{name}_{letter}",
                part,
                X if k == 0 else np.eye(4),
                list(_AXES[letter.upper()]),
                0.0,
                q + k,
                v + k,
            )
            for k, letter in enumerate(letters)
        ]
    if kind == "JointModelUniversal":
        axes = [np.ravel(axis).tolist() for axis in (own.axis1, own.axis2)]
        return [
            Part(f"{name}_{k + 1}", _REVOLUTE, X if k == 0 else np.eye(4), axis, 0.0, q + k, v + k)
            for k, axis in enumerate(axes)
        ]
    if kind.startswith("JointModelComposite"):
        return [part for parts in _take_apart_composite(name, own, X) for part in parts]
    if kind == "JointModelMimic":
        return [_read_mimic(name, joint, X, master)]
    one = _read_one_dof(name, joint, kind, X)
    if one is None:
        raise ArgumentValueError(f"model: joint {quote(name)} is a {kind}, which has no counterpart")
    return [one]


def _take_apart_composite(name: str, composite: Any, X: FloatArray) -> Iterator[list[Part]]:
    for k, joint in enumerate(composite.joints):
        placement = np.array(composite.jointPlacements[k].homogeneous)
        yield _take_apart(f"{name}_{k + 1}", joint, X @ placement if k == 0 else placement)


def _read_one_dof(name: str, joint: Any, kind: str, X: FloatArray) -> Part | None:
    rest = kind.removeprefix("JointModel")
    is_circle = rest.startswith(("RUB", "RevoluteUnbounded"))
    part = {"R": _REVOLUTE, "P": _PRISMATIC, "H": _SCREW}.get(rest[:1])
    is_known = rest[:-1] in ("R", "RUB", "P", "H") or rest.endswith("Unaligned")
    if part is None or not is_known or joint.nv != 1:
        return None
    S = _motion_subspace(joint, is_circle=is_circle)
    axis = S[:3] if part == _PRISMATIC else S[3:]
    pitch = float(S[:3] @ S[3:]) if part == _SCREW else 0.0
    return Part(name, part, X, axis.tolist(), pitch, joint.idx_q, joint.idx_v, is_circle)


def _read_mimic(name: str, joint: Any, X: FloatArray, master: int) -> Part:
    mimic = joint.extract()
    scaling = float(mimic.scaling)
    if scaling == 0.0:
        raise ArgumentValueError(f"model: joint {quote(name)} mimics with a scaling of zero: lock it")
    S = _motion_subspace(joint) / scaling
    turns, shifts = bool(np.any(S[3:])), bool(np.any(S[:3]))
    kind = (_SCREW if shifts else _REVOLUTE) if turns else _PRISMATIC
    axis = (S[3:] if turns else S[:3]).tolist()
    pitch = float(S[:3] @ S[3:]) if kind == _SCREW else 0.0
    return Part(
        name, kind, X, axis, pitch, joint.idx_q, joint.idx_v, False, master, scaling, float(mimic.offset)
    )


def _motion_subspace(joint: Any, *, is_circle: bool = False) -> FloatArray:
    """Return the joint's motion axis, linear first. Some joints expose their axis in no other way."""
    data = joint.createData()
    q = np.zeros(joint.idx_q + 2)
    if is_circle:
        q[joint.idx_q] = 1.0
    joint.calc(data, q)
    S: FloatArray = np.array(data.S, dtype=float).reshape(6)
    return S


def read_positions(part: Part, q: FloatArray) -> FloatArray:
    """Return the positions of a joint of the tree, shape (..., n), for Pinocchio's q (..., nq)."""
    own = q[..., part.q : part.q + part.q_size]
    if part.kind == FREE:
        return own[..., [6, 3, 4, 5, 0, 1, 2]]
    if part.kind == _BALL:
        return own[..., [3, 0, 1, 2]]
    if part.kind == _PLANAR:
        angle = np.arctan2(own[..., 3:], own[..., 2:3])
        return np.concatenate([own[..., :2], angle], axis=-1)
    return np.arctan2(own[..., 1:], own[..., :1]) if part.is_circle else own


def write_positions(part: Part, own: FloatArray, q: FloatArray) -> None:
    """Write the positions of a joint of the tree into Pinocchio's q."""
    place = q[..., part.q : part.q + part.q_size]
    if part.kind == FREE:
        place[...] = own[..., [4, 5, 6, 1, 2, 3, 0]]
    elif part.kind == _BALL:
        place[...] = own[..., [1, 2, 3, 0]]
    elif part.kind == _PLANAR:
        place[..., :2] = own[..., :2]
        place[..., 2], place[..., 3] = np.cos(own[..., 2]), np.sin(own[..., 2])
    elif part.is_circle:
        place[..., 0], place[..., 1] = np.cos(own[..., 0]), np.sin(own[..., 0])
    else:
        place[...] = own


def calc_turn(part: Part, own: FloatArray) -> FloatArray | None:
    """Return the rotation from Pinocchio's velocities to those of the tree, for positions of the tree."""
    if part.kind == FREE or part.kind == _BALL:
        return calc_rotations(own[..., :4])
    if part.kind == _PLANAR:
        R = np.zeros((*own.shape[:-1], 3, 3))
        R[..., 0, 0] = R[..., 1, 1] = np.cos(own[..., 2])
        R[..., 1, 0] = np.sin(own[..., 2])
        R[..., 0, 1] = -R[..., 1, 0]
        R[..., 2, 2] = 1.0
        return R
    return None


def is_unlimited(limit: float) -> bool:
    """Return whether a limit means that there is none."""
    return not math.isfinite(limit) or abs(limit) > 1e300
