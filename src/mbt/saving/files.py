"""Files that are written completely or not at all."""

from __future__ import annotations

import os
import stat
import uuid
from contextlib import suppress
from pathlib import Path

from mbt.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["as_path", "replace_file", "write_file"]


def as_path(path: object) -> Path:
    """Return a path that was given as `path`.

    Raises
    ------
    ArgumentTypeError
        When it is not a path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError(f"path: expected the path of a file, got {type(path).__name__}")
    return Path(os.fsdecode(path))


def write_file(path: Path, content: str | bytes) -> None:
    """Write bytes, or a text in UTF-8, in place of what the file holds. When that fails, it is as it was.

    Raises
    ------
    ArgumentValueError
        When it cannot be written.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        # Of a link the file behind it.
        target = path.resolve()
        if target.exists() and not target.is_file():
            # A folder, or a device or pipe, which a file must not take the place of.
            raise ValueError("it is a folder" if target.is_dir() else "it is not a regular file")
        replace_file(target, data)
    except (OSError, ValueError, RuntimeError) as error:  # The last of links that form a loop.
        reason = getattr(error, "strerror", None) or error
        raise ArgumentValueError(f"path: {str(path)!r} cannot be written: {reason}") from error


def replace_file(target: Path, data: bytes, new_mode: int = 0o666) -> None:
    """Write a file beside its place, with the permissions that it has there, and put it there when whole.

    A new one has `new_mode`, less the umask. Whatever ends this early, Ctrl-C too, leaves nothing behind.
    """
    # A short name of its own: with more to it, that of the target could be too long.
    draft = target.with_name(f".{uuid.uuid4().hex}")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    try:
        # Never readable to more than the target is.
        file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, new_mode if mode is None else mode)
        with open(file, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None:
            os.chmod(draft, mode)  # The umask may have taken some away.
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
