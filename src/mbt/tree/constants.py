"""What joints and mobilizers are made with besides frames: told once, for constructors, files and pickles."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Constant"]


class Constant(NamedTuple):
    """An argument of the constructor that nothing changes afterwards.

    Attributes
    ----------
    name : str
        Its name in the constructor, and in files.
    attribute : str
        Where elements keep it.
    kind : str
        A number, a unit vector, a pose, or a path, which also limits the position.
    """

    name: str
    attribute: str
    kind: Literal["number", "axis", "pose", "path"]
