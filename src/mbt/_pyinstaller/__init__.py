"""The entry point with which PyInstaller finds the hook of an installed mbt."""

from pathlib import Path

__all__ = ["get_hook_dirs"]


def get_hook_dirs() -> list[str]:
    """Return the folders with hooks: the entry point `pyinstaller40`."""
    return [str(Path(__file__).parent)]
