"""The options of a caller of the reader, checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.math.arrays import FloatArray, as_finite_array
from mbt.parsing.report import USUAL_GRAVITY
from mbt.tree.element import as_name

__all__ = ["Actuators", "Base", "Gravity", "ReadOptions", "as_gravity"]

Base = Literal["fixed", "floating"] | None
Actuators = Literal["declared", "all"]
Gravity = FloatArray | Literal["file"] | None


@dataclass(frozen=True)
class ReadOptions:
    """The options of `load_model` that concern the description; see there.

    `folders` are those of `package_paths`. `gravity` is None where none is added to the tree.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When an option has an invalid value.
    """

    model_name: str | None = None
    base: Base = None
    strict: bool = False
    joint_friction: bool = False
    actuators: Actuators = "declared"
    prefix: str = ""
    package_folders: tuple[Path, ...] = ()
    gravity: Gravity = None
    contacts: bool = False

    def __post_init__(self) -> None:
        """Check each option."""
        if self.model_name is not None:
            as_name(self.model_name, "model_name")
        if not isinstance(self.prefix, str):
            raise ArgumentTypeError(f"prefix: expected text, got {type(self.prefix).__name__}")
        _check_choice("base", self.base, ("fixed", "floating"), may_be_none=True)
        _check_choice("actuators", self.actuators, ("declared", "all"))
        for name in ("strict", "joint_friction", "contacts"):
            value = getattr(self, name)
            if not isinstance(value, (bool, np.bool_)):
                raise ArgumentTypeError(f"{name}: expected True or False, got {quote(value)}")

    def leaves_out(self, gravity: tuple[float, float, float]) -> bool:
        """Return whether the gravity of a description is unusual and differs from that of the tree."""
        if isinstance(self.gravity, str):
            return False
        return gravity != (USUAL_GRAVITY if self.gravity is None else tuple(self.gravity.tolist()))


def as_gravity(gravity: object) -> Gravity:
    """Return the argument `gravity`, checked.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When it is neither three numbers nor ``"file"`` nor None.
    """
    if gravity is None:
        return None
    if isinstance(gravity, str):
        if gravity == "file":
            return "file"
        raise ArgumentValueError(f"gravity: expected three numbers, 'file' or None, got {quote(gravity)}")
    return as_finite_array(gravity, "gravity", (3,))


def _check_choice(name: str, value: object, choices: tuple[str, ...], *, may_be_none: bool = False) -> None:
    if value is None and may_be_none:
        return
    expected = " or ".join([*map(repr, choices), *(["None"] if may_be_none else [])])
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name}: expected {expected}, got {type(value).__name__}")
    if value not in choices:
        raise ArgumentValueError(f"{name}: expected {expected}, got {quote(value)}")
