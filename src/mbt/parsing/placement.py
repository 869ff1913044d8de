"""Places a model so that one of its frames is at the pose that the caller gives."""

from __future__ import annotations

import difflib
from dataclasses import replace
from typing import TYPE_CHECKING

from mbt.errors import ArgumentValueError, quote
from mbt.math.poses import IDENTITY, inverse_pose
from mbt.parsing.description import MODEL_FRAME, WORLD, ModelDescription

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.parsing.assembly import Mount

__all__ = ["place_on"]


def place_on(mount: Mount, model: ModelDescription, child_frame: str | None) -> Mount:
    """Return the mount for the World of a model that puts one of its frames at the pose of `mount`.

    Without a `child_frame`, that frame is the only root of the model, or its World if it has several roots or
    joints connect it to its World.

    Raises
    ------
    ArgumentValueError
        When the model has no such frame, or it moves relative to the root.
    """
    if child_frame is None:
        on_world = any(WORLD in (joint.parent, joint.child) for joint in model.joints)
        is_as_written = mount.X_FR is None and not mount.is_given
        if is_as_written or on_world or model.freed or len(model.roots) != 1:
            return mount
        X_WC = model.root_poses.get(model.roots[0])
    else:
        X_WC = _find_pose(model, child_frame)
    if X_WC is None or X_WC is IDENTITY:
        return mount
    X_CW = inverse_pose(X_WC)
    return replace(mount, X_FR=X_CW if mount.X_FR is None else mount.X_FR @ X_CW)


def _find_pose(model: ModelDescription, name: str) -> FloatArray | None:
    """Return the pose of a frame in the World of the model; None is the identity."""
    links = {link.name for link in model.links}
    frames = {frame.name: frame for frame in model.frames}
    if name == MODEL_FRAME:
        return model.X_WM
    if name in links or name == WORLD:
        link, X_LC = name, IDENTITY
    elif name in frames:
        link, X_LC = frames[name].link, frames[name].X_BF
    else:
        near = difflib.get_close_matches(name, sorted({*links, *frames}), n=1) if len(name) <= 200 else []
        hint = f": did you mean {quote(near[0])}?" if near else ""
        raise ArgumentValueError(
            f"child_frame: the model {quote(model.name)} has neither a link nor a frame {quote(name)}{hint}"
        )
    poses = _calc_fixed_poses(model)
    if link not in poses:
        raise ArgumentValueError(
            f"child_frame: {quote(name)} moves relative to the root of the model: expected a frame that is "
            f"fixed on one of {', '.join(quote(root, limit=30) for root in (*model.roots[:5], WORLD))}"
        )
    return poses[link] @ X_LC


def _calc_fixed_poses(model: ModelDescription) -> dict[str, FloatArray]:
    """Return the poses, in the World of the model, of links that do not move relative to it or to a root."""
    poses = {WORLD: IDENTITY}
    for root in model.roots:
        poses[root] = model.freed.get(root, model.root_poses.get(root, IDENTITY))
    for joint in model.joints:  # Base to tip.
        inboard, outboard = joint.parent, joint.child
        if joint.is_reversed:
            inboard, outboard = outboard, inboard
        if joint.kind == "weld" and inboard in poses:
            poses[outboard] = poses[inboard] @ (inverse_pose(joint.X_PB) if joint.is_reversed else joint.X_PB)
    return poses
