"""Robot descriptions that come with mbt."""

from __future__ import annotations

from pathlib import Path

from mbt.errors import unknown_name_error

__all__ = ["model_names", "model_path"]

_FOLDER = Path(__file__).parent


def model_names() -> list[str]:
    """Return the names of the models, sorted.

    Examples
    --------
    >>> model_names()
    ['mbt_arm']
    """
    return sorted(path.stem for path in _FOLDER.glob("*.urdf"))


def model_path(name: str) -> Path:
    """Return the path of a model's URDF file.

    Raises
    ------
    UnknownNameError
        When there is no such model.

    Examples
    --------
    >>> model_path("mbt_arm").name
    'mbt_arm.urdf'
    """
    names = model_names()
    if name not in names:
        raise unknown_name_error("model", name, names)
    return _FOLDER / f"{name}.urdf"
