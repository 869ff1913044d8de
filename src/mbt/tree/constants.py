"""Constants of joints and mobilizers, declared once for constructors, files and pickles."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["Constant"]


class Constant(NamedTuple):
    """An argument of the constructor that never changes afterwards.

    Attributes
    ----------
    name : str
        Its name in the constructor, and in files.
    attribute : str
        The attribute of elements that holds it.
    kind : str
        A number, a unit vector, a pose, or a path, which also limits the position.
    """

    name: str
    attribute: str
    kind: Literal["number", "axis", "pose", "path"]
