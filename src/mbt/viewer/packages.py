"""Imports the packages of the extra ``viz`` when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mbt.errors import MissingPackageError

__all__ = ["require"]


def require(name: str, what: str) -> Any:
    """Return a package of the extra; `what` names the feature that needs it.

    Raises
    ------
    MissingPackageError
        When it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise MissingPackageError(
            f"{what} needs {package}: pip install 'multibodytree[viz]' ({error})"
        ) from error
