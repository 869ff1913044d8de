"""Writes files completely or not at all."""

from __future__ import annotations

import os
import stat
import uuid
from contextlib import suppress
from pathlib import Path

from mbt.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["as_path", "replace_file", "write_file"]


def as_path(path: object) -> Path:
    """Return the argument `path` as a path.

    Raises
    ------
    ArgumentTypeError
        When it is not a path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError(f"path: expected the path of a file, got {type(path).__name__}")
    return Path(os.fsdecode(path))


def write_file(path: Path, content: str | bytes) -> None:
    """Replace the content of a file by bytes, or by a text in UTF-8. On failure the file stays unchanged.

    Raises
    ------
    ArgumentValueError
        When it cannot be written.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        # For a link, the file behind it.
        target = path.resolve()
        if target.exists() and not target.is_file():
            # A folder, or a device or pipe, which a file must not replace.
            raise ValueError("it is a folder" if target.is_dir() else "it is not a regular file")
        replace_file(target, data)
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: links that form a loop.
        reason = getattr(error, "strerror", None) or error
        raise ArgumentValueError(f"path: {str(path)!r} cannot be written: {reason}") from error


def replace_file(target: Path, data: bytes, new_mode: int = 0o666) -> None:
    """Write a temporary file with the permissions of the target, and rename it to the target when complete.

    A new file has `new_mode`, less the umask. An early end, even by Ctrl-C, leaves nothing behind.
    """
    # A short name: the name of the target with an addition could be too long.
    draft = target.with_name(f".{uuid.uuid4().hex}")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    try:
        # Never readable by more users than the target.
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, new_mode if mode is None else mode)
        with open(file, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            os.chmod(draft, mode)  # The umask may have removed some permissions.
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
