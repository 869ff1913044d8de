"""Turns equalities of MuJoCo into constraints: exact here, but slightly soft in MuJoCo."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import quote
from mbt.math.arrays import FloatArray
from mbt.parsing.description import (
    ConstraintDescription,
    CouplerDescription,
    FrameDescription,
    ModelDescription,
)
from mbt.parsing.mujoco_names import ModelNames, unused
from mbt.parsing.pose_stacks import stack_poses
from mbt.parsing.report import MimicJoint

if TYPE_CHECKING:
    import mujoco

__all__ = ["add_equalities"]

_NO_EQUALITY = 1 << 0 | 1 << 1  # or no constraints
_CONNECT, _WELD, _JOINT = 0, 1, 2
_OTHERS = {3: "tendon", 4: "flex", 5: "flexvert", 6: "flexstrain", 7: "distance"}
_SITE = 6
_HOLDS_NOTHING = "connects two bodies that do not move relative to each other"


def add_equalities(m: mujoco.MjModel, names: ModelNames, links: list[str], model: ModelDescription) -> None:
    """Add the active equalities that a tree can represent; report the others.

    Parameters
    ----------
    m : mujoco.MjModel
        The model.
    names : ModelNames
        The names of its elements.
    links : list of str
        The link of each body.
    model : ModelDescription
        The description to fill.
    """
    if m.opt.disableflags & _NO_EQUALITY:
        return
    equalities = _Equalities(m, names, links, model)
    for i, name in enumerate(names.of(m.name_eqadr)):
        if not m.eq_active0[i]:
            model.report.ignore("equality that is not active")
            continue
        fault = equalities.add(i, name)
        if fault is not None:
            what = f"equality {quote(name)}" if name else f"equality {i}"
            model.report.warn(f"{what} {fault}: it is left out")
            if fault != _HOLDS_NOTHING:
                model.report.leave_inactive("equalities")


class _Equalities:
    def __init__(
        self, m: mujoco.MjModel, names: ModelNames, links: list[str], model: ModelDescription
    ) -> None:
        self._m = m
        self._names = names
        self._links = links
        self._model = model
        self._taken: set[str] = set()

    def add(self, i: int, name: str) -> str | None:
        """Add an equality, or return why a tree cannot represent it."""
        kind = int(self._m.eq_type[i])
        name = name or f"equality_{i}"
        if kind == _JOINT:
            return self._add_coupler(i, name)
        if kind in (_CONNECT, _WELD):
            return self._add_loop(i, name, kind)
        return f"({_OTHERS.get(kind, kind)}) has no counterpart"

    def _add_coupler(self, i: int, name: str) -> str | None:
        m = self._m
        first, second, data = int(m.eq_obj1id[i]), int(m.eq_obj2id[i]), m.eq_data[i].tolist()
        if second < 0:
            return "fixes one joint (mbt.lock_joints does)"
        if any(data[2:5]):
            return "is not linear"
        # q1 - ref1 = c0 + c1 (q2 - ref2)
        ref_1, ref_2 = m.qpos0[m.jnt_qposadr[[first, second]]].tolist()
        offset = ref_1 + data[0] - data[1] * ref_2
        joint, master = self._names.joints[first], self._names.joints[second]
        coupler = CouplerDescription(unused(name, self._taken), joint, master, data[1], offset)
        self._model.couplers.append(coupler)
        self._model.report.mimic_joints.append(MimicJoint(joint, master, data[1], offset))
        return None

    def _add_loop(self, i: int, name: str, kind: int) -> str | None:
        """Add a ball or a weld between two bodies, or two sites.

        For a weld, MuJoCo stores the pose of the anchor on the first body, and its position on the second. A
        weld whose torques are scaled by zero is a ball.
        """
        m = self._m
        ids, data = [int(m.eq_obj1id[i]), int(m.eq_obj2id[i])], m.eq_data[i]
        is_of_sites = int(m.eq_objtype[i]) == _SITE
        bodies = m.site_bodyid[ids].tolist() if is_of_sites else ids
        if m.body_weldid[bodies[0]] == m.body_weldid[bodies[1]]:
            return _HOLDS_NOTHING
        shape = "weld" if kind == _WELD and data[10] != 0.0 else "ball"
        name = unused(name, self._taken)
        A, B = self._find_sites(ids) if is_of_sites else self._make_frames(name, kind, bodies, data)
        self._model.constraints.append(ConstraintDescription(name, shape, A, B))
        return None

    def _find_sites(self, ids: list[int]) -> list[FrameDescription]:
        """Return the frames of sites: those of named sites exist in the description already."""
        m = self._m
        names, X_BF = self._names.of(m.name_siteadr[ids]), stack_poses(m.site_pos[ids], m.site_quat[ids])
        known = {frame.name: frame for frame in self._model.frames}
        return [
            known.get(name) or FrameDescription(f"site_{k}", self._links[m.site_bodyid[k]], X, 0)
            for k, name, X in zip(ids, names, X_BF, strict=True)
        ]

    def _make_frames(
        self, name: str, kind: int, bodies: list[int], data: FloatArray
    ) -> list[FrameDescription]:
        """Return frames at the anchors on two bodies."""
        p = (data[:3], data[3:6]) if kind == _CONNECT else (data[3:6], data[:3])
        quaternions = np.tile([1.0, 0.0, 0.0, 0.0], (2, 1))
        if kind == _WELD:
            quaternions[0] = data[6:10]
        poses = stack_poses(np.array(p), quaternions)
        return [
            FrameDescription(f"{name}_{k}", self._links[body], X, 0)
            for k, (body, X) in enumerate(zip(bodies, poses, strict=True), start=1)
        ]
