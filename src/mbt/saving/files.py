"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import stat
import uuid
from contextlib import suppress
from pathlib import Path

from mbt.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["as_path", "write_file"]


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
    draft = None
    try:
        # Of a link the file behind it.
        target = path.resolve()
        if target.exists() and not target.is_file():
            # A folder, or a device or pipe, which a file must not take the place of.
            raise ValueError("it is a folder" if target.is_dir() else "it is not a regular file")
        draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            os.chmod(draft, stat.S_IMODE(target.stat().st_mode))
        os.replace(draft, target)
    except (OSError, ValueError, RuntimeError) as error:  # The last of links that form a loop.
        if draft is not None:
            with suppress(OSError):
                os.unlink(draft)
        reason = getattr(error, "strerror", None) or error
        raise ArgumentValueError(f"path: {str(path)!r} cannot be written: {reason}") from error
