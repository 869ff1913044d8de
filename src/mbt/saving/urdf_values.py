"""Numbers and poses in attributes of URDF."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from mbt.math.arrays import FloatArray
from mbt.math.poses import IDENTITY

__all__ = ["add_origin", "is_identity", "number", "numbers", "place_of", "rpy_of"]

_LARGEST = sys.float_info.max


def number(value: float) -> str:
    """Return the shortest text of a number that is read back exactly.

    Infinity becomes the largest float: parsers need a finite number.
    """
    return repr(min(max(float(value), -_LARGEST), _LARGEST) + 0.0)


def numbers(values: Iterable[float]) -> str:
    """Return numbers separated by blanks."""
    return " ".join(map(number, values))


def rpy_of(R: FloatArray) -> list[float]:
    """Return roll, pitch and yaw whose product ``Rz Ry Rx`` is R up to rounding, even near gimbal lock.

    There yaw is the direction of a short vector; roll is measured after the rotation by yaw, so that errors
    of the two cancel.
    """
    yaw = np.arctan2(R[1, 0], R[0, 0])
    s, c = np.sin(yaw), np.cos(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return [float(roll), float(pitch), float(yaw)]


def is_identity(X: FloatArray) -> bool:
    """Return whether a pose is the identity."""
    return np.array_equal(X, IDENTITY)


def add_origin(element: Element, X: FloatArray) -> None:
    """Add ``<origin xyz= rpy=>``, unless it is the identity."""
    if not is_identity(X):
        SubElement(element, "origin", place_of(X))


def place_of(X: FloatArray) -> dict[str, str]:
    """Return the attributes ``xyz`` and, unless the rotation is the identity, ``rpy`` of a pose."""
    place = {"xyz": numbers(X[:3, 3].tolist())}
    if not np.array_equal(X[:3, :3], IDENTITY[:3, :3]):
        place["rpy"] = numbers(rpy_of(X[:3, :3]))
    return place
