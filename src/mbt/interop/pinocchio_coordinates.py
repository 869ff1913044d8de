"""Conversion of positions, velocities, accelerations and forces between Pinocchio and a tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.interop.arrays import spread
from mbt.interop.joints import find_joint
from mbt.interop.pinocchio_joints import (
    FREE,
    Part,
    calc_turn,
    is_model,
    read_positions,
    take_apart,
    write_positions,
)
from mbt.math.arrays import FloatArray, as_float_array
from mbt.tree.joint import Joint
from mbt.tree.multibody_tree import MultibodyTree

if TYPE_CHECKING:
    import numpy.typing as npt
    import pinocchio

__all__ = ["PinocchioCoordinates"]

_TYPES = {FREE: "quaternion_floating"}


class PinocchioCoordinates:
    """Maps coordinates and forces of a model of Pinocchio to those of a tree, and back.

    Joints of one degree of freedom have the same velocity in both, and the same position, unless Pinocchio
    stores it as a cosine and a sine. Its quaternions end with w, and its velocities of free, ball and
    planar joints are expressed in the frame on the child, linear first. Accelerations have maps of their
    own, as the rotation between the two changes with time. All methods take arrays with leading axes.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree that holds the model.
    model : pinocchio.Model
        The model.
    model_instance : ModelInstanceIndex or str, optional
        The model instance of the model in the tree; needed if other models have joints of the same names.

    Raises
    ------
    ArgumentTypeError
        When an argument is of another type.
    UnknownNameError
        When the tree lacks a joint of the model.
    ArgumentValueError
        When a joint has another type in the tree, or a type without a counterpart.

    Examples
    --------
    .. code-block:: python

        tree = mbt.interop.from_pinocchio(model)
        coordinates = mbt.interop.PinocchioCoordinates(tree, model)
        context.q = coordinates.q_from_pinocchio(q)
        context.v = coordinates.v_from_pinocchio(q, v)
    """

    def __init__(
        self, tree: MultibodyTree, model: pinocchio.Model, model_instance: int | str | None = None
    ) -> None:
        if not isinstance(tree, MultibodyTree):
            raise ArgumentTypeError(f"tree: expected an mbt.MultibodyTree, got {type(tree).__name__}")
        if not is_model(model):
            raise ArgumentTypeError(f"model: expected a pinocchio.Model, got {type(model).__name__}")
        self._tree = tree
        self._nq, self._nv = model.nq, model.nv
        joints = dict(take_apart(model))
        # Masters come before the joints that mimic them, which read the masters' values.
        self._parts: list[tuple[Part, Joint, Joint | None]] = []
        for parts in joints.values():
            for part in parts:
                joint = find_joint(tree, part.name, model_instance)
                wanted = _TYPES.get(part.kind, part.kind)
                if joint.type_name != wanted:
                    raise ArgumentValueError(
                        f"model: joint {quote(part.name)} is {wanted}, but in the tree {joint.type_name}"
                    )
                master = None
                if part.master >= 0:
                    master = find_joint(tree, joints[part.master][0].name, model_instance)
                self._parts.append((part, joint, master))
        self._parts.sort(key=lambda entry: entry[2] is not None)

    def q_from_pinocchio(self, q: npt.ArrayLike) -> FloatArray:
        """Return the positions of the tree, shape (..., num_positions), for `q` (..., nq).

        Joints of the tree that the model lacks get their default positions.
        """
        q = as_float_array(q, "q", (..., self._nq))
        result = np.empty((*q.shape[:-1], self._tree.num_positions))
        result[...] = self._tree.default_positions
        for part, joint, master in self._parts:
            if master is None:
                result[..., _positions(joint)] = read_positions(part, q)
            else:
                result[..., _positions(joint)] = part.scaling * result[..., _positions(master)] + part.offset
        return result

    def q_to_pinocchio(self, q: npt.ArrayLike) -> FloatArray:
        """Return the `q` of Pinocchio, shape (..., nq), for positions of the tree (..., num_positions)."""
        q = as_float_array(q, "q", (..., self._tree.num_positions))
        result = np.zeros((*q.shape[:-1], self._nq))
        for part, joint, master in self._parts:
            if master is None:
                write_positions(part, q[..., _positions(joint)], result)
        return result

    def v_from_pinocchio(self, q: npt.ArrayLike, v: npt.ArrayLike) -> FloatArray:
        """Return the velocities of the tree, shape (..., num_velocities), for `v` (..., nv) at `q`.

        Velocities that the model lacks are zero.
        """
        q, v = _take(q, self._nq, self._nv, v=v)
        return self._from(q, v)

    def v_to_pinocchio(self, q: npt.ArrayLike, v: npt.ArrayLike) -> FloatArray:
        """Return the `v` of Pinocchio, shape (..., nv), for velocities of the tree at its positions `q`."""
        q, v = _take(q, self._tree.num_positions, self._tree.num_velocities, v=v)
        return self._to(q, v)

    def vdot_from_pinocchio(self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike) -> FloatArray:
        """Return accelerations of the tree, shape (..., num_velocities), for `a` (..., nv) at `q`, `v`."""
        q, v, a = _take(q, self._nq, self._nv, v=v, a=a)
        a = a.copy()
        for part, w_start in self._turning():
            w = v[..., w_start : w_start + 3] if part.kind == FREE else _about_z(v[..., part.v + 2])
            a[..., part.v : part.v + _shifts(part)] += _cross(part, w, v)
        return self._from(q, a)

    def vdot_to_pinocchio(self, q: npt.ArrayLike, v: npt.ArrayLike, vdot: npt.ArrayLike) -> FloatArray:
        """Return the `a` of Pinocchio, shape (..., nv), for accelerations of the tree at its `q` and `v`."""
        q, v, vdot = _take(q, self._tree.num_positions, self._tree.num_velocities, v=v, vdot=vdot)
        own, a = self._to(q, v), self._to(q, vdot)
        for part, w_start in self._turning():
            w = own[..., w_start : w_start + 3] if part.kind == FREE else _about_z(own[..., part.v + 2])
            a[..., part.v : part.v + _shifts(part)] -= _cross(part, w, own)
        return a

    def tau_from_pinocchio(self, q: npt.ArrayLike, tau: npt.ArrayLike) -> FloatArray:
        """Return generalized forces of the tree, shape (..., num_velocities), for `tau` (..., nv) at `q`.

        Forces on mimic joints act on the joint that they mimic.
        """
        q, tau = _take(q, self._nq, self._nv, tau=tau)
        return self._from(q, tau, with_mimics=False)

    def tau_to_pinocchio(self, q: npt.ArrayLike, tau: npt.ArrayLike) -> FloatArray:
        """Return the `tau` of Pinocchio, shape (..., nv), for generalized forces of the tree at its `q`."""
        q, tau = _take(q, self._tree.num_positions, self._tree.num_velocities, tau=tau)
        result = self._to(q, tau)
        for part, joint, master in self._parts:
            if master is not None:
                result[..., part.v] += part.scaling * tau[..., joint.velocity_start]
        return result

    def _from(self, q: FloatArray, v: FloatArray, *, with_mimics: bool = True) -> FloatArray:
        result = np.zeros((*v.shape[:-1], self._tree.num_velocities))
        for part, joint, master in self._parts:
            place = _velocities(joint)
            if master is not None:
                if with_mimics:
                    result[..., place] = part.scaling * result[..., _velocities(master)]
                continue
            own = v[..., part.v : part.v + joint.num_velocities]
            R = calc_turn(part, read_positions(part, q))
            result[..., place] = own if R is None else _turn(R, own, part)
        return result

    def _to(self, q: FloatArray, v: FloatArray) -> FloatArray:
        result = np.zeros((*v.shape[:-1], self._nv))
        for part, joint, master in self._parts:
            if master is not None:
                continue
            own = v[..., _velocities(joint)]
            R = calc_turn(part, q[..., _positions(joint)])
            own = own if R is None else _turn(np.swapaxes(R, -1, -2), own, part)
            result[..., part.v : part.v + joint.num_velocities] = own
        return result

    def _turning(self) -> Iterator[tuple[Part, int]]:
        """Yield the parts whose linear velocity is in a rotating frame, and the index of the angular one."""
        for part, _, _ in self._parts:
            if part.kind == FREE or part.kind == "planar":
                yield part, part.v + 3


def _positions(joint: Joint) -> slice:
    return slice(joint.position_start, joint.position_start + joint.num_positions)


def _velocities(joint: Joint) -> slice:
    return slice(joint.velocity_start, joint.velocity_start + joint.num_velocities)


def _shifts(part: Part) -> int:
    return 3 if part.kind == FREE else 2


def _about_z(w: FloatArray) -> FloatArray:
    zero = np.zeros_like(w)
    return np.stack([zero, zero, w], axis=-1)


def _cross(part: Part, w: FloatArray, v: FloatArray) -> FloatArray:
    """Return w x v in the frame on the child, with the linear velocity v of a part."""
    linear = np.zeros((*v.shape[:-1], 3))
    count = _shifts(part)
    linear[..., :count] = v[..., part.v : part.v + count]
    product: FloatArray = np.cross(w, linear)[..., :count]
    return product


def _turn(R: FloatArray, v: FloatArray, part: Part) -> FloatArray:
    if part.kind != FREE:
        turned: FloatArray = np.einsum("...ij,...j->...i", R, v)
        return turned
    # For a free joint, also swap linear and angular velocity.
    halves = [np.einsum("...ij,...j->...i", R, v[..., at : at + 3]) for at in (3, 0)]
    return np.concatenate(halves, axis=-1)


def _take(q: Any, nq: int, nv: int, **vectors: Any) -> tuple[FloatArray, ...]:
    """Return float arrays with the same leading axes: positions, and vectors as large as velocities."""
    arrays = {name: as_float_array(vector, name, (..., nv)) for name, vector in vectors.items()}
    return spread(q=as_float_array(q, "q", (..., nq)), **arrays)
