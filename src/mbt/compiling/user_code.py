"""Errors in a function that is traced: they name the user's line and the remedy."""

from __future__ import annotations

import linecache
import os
import sys
from types import FrameType
from typing import NoReturn

import numpy as np

from mbt import errors
from mbt.errors import ArgumentTypeError

__all__ = ["describe_line", "is_of_user", "raise_branch", "raise_not_a_float", "user_line"]

_LIBRARIES = tuple(os.path.dirname(str(module.__file__)) + os.sep for module in (errors, np))

# The largest number of characters quoted from a line.
_LONGEST = 80


def user_line() -> str:
    """Return where the user's code, outside mbt and NumPy, is: "control.py, line 7 (if q[0] > 0:)"."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_of_user(frame.f_code.co_filename):
        frame = frame.f_back
    return "an unknown line" if frame is None else describe_line(frame.f_code.co_filename, frame.f_lineno)


def is_of_user(file: str) -> bool:
    """Return whether code belongs to neither mbt nor NumPy."""
    return not file.startswith(_LIBRARIES)


def describe_line(file: str, line: int) -> str:
    """Return a description of a line of code."""
    text = linecache.getline(file, line).strip()
    text = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    return f"{os.path.basename(file)}, line {line}" + (f" ({text})" if text else "")


def raise_branch() -> NoReturn:
    """Raise for a branch on a value that is known only when the compiled function runs."""
    raise ArgumentTypeError(
        f"{user_line()}: a branch on a traced value, which is known only when the compiled function runs: "
        "use np.where(condition, x, y), np.minimum, np.maximum or np.clip in place of if, and, or, min, max"
    )


def raise_not_a_float() -> NoReturn:
    """Raise for a conversion to float of a value that is known only when the compiled function runs."""
    raise ArgumentTypeError(
        f"{user_line()}: a float of a traced number, which is known only when the compiled function runs: "
        "use np.sin for math.sin, and np.zeros(shape, like=q) for an array to write traced numbers into"
    )
