"""What PyInstaller asks an installed mbt for: the folder of its hook."""

from pathlib import Path

__all__ = ["get_hook_dirs"]


def get_hook_dirs() -> list[str]:
    """Return the folders with hooks: the entry point `pyinstaller40`."""
    return [str(Path(__file__).parent)]
