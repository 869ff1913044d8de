"""The user-written classes that a file may name: importing one runs code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mbt.errors import ArgumentTypeError, quote
from mbt.tree.element import MultibodyElement

__all__ = ["Permission", "as_permission", "import_path"]

#: The classes that a file may name: none, all that can be imported, or those with these import paths.
Permission = bool | dict[str, type[Any]]


def as_permission(user_elements: object) -> Permission:
    """Return the option `user_elements` of a reader, checked.

    Raises
    ------
    ArgumentTypeError
        When it is neither true, false, nor classes of elements.
    """
    if isinstance(user_elements, (bool, np.bool_)):
        return bool(user_elements)
    classes: list[Any] = list(user_elements) if isinstance(user_elements, Iterable) else [user_elements]
    for element_type in classes:
        if not (isinstance(element_type, type) and issubclass(element_type, MultibodyElement)):
            raise ArgumentTypeError(
                f"user_elements: expected True, False, or classes of elements, got {quote(element_type)}"
            )
    return {import_path(element_type): element_type for element_type in classes}


def import_path(element_type: type[Any]) -> str:
    """Return the import path of a class: ``"module:Class"``."""
    return f"{element_type.__module__}:{element_type.__qualname__}"
