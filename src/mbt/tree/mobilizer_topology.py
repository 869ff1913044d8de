"""The place of a mobilizer in a finalized tree."""

from __future__ import annotations

from dataclasses import dataclass

from mbt.tree.indices import BodyIndex, BodyNodeIndex, FrameIndex, MobilizerIndex

__all__ = ["MobilizerTopology"]


@dataclass(frozen=True)
class MobilizerTopology:
    """The place of a mobilizer in a finalized tree.

    Attributes
    ----------
    index : MobilizerIndex
        Index of the mobilizer.
    inboard_frame, outboard_frame : FrameIndex
        Indices of the frames that it connects.
    inboard_body, outboard_body : BodyIndex
        Indices of their bodies.
    body_node : BodyNodeIndex
        The row of the outboard body in per-body arrays.
    num_positions, positions_start : int
        Its part of q.
    num_velocities, velocities_start : int
        Its part of v.
    """

    index: MobilizerIndex
    inboard_frame: FrameIndex
    outboard_frame: FrameIndex
    inboard_body: BodyIndex
    outboard_body: BodyIndex
    body_node: BodyNodeIndex
    num_positions: int
    positions_start: int
    num_velocities: int
    velocities_start: int
