"""From C to addresses: the user's compiler, and a folder where what it made is found again."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from mbt import _core
from mbt.errors import CompilerError, quote, quote_path

__all__ = ["REGISTERS", "Library", "build"]

#: Bytes of a register, by instruction set.
REGISTERS = {"v4": 64, "v3": 32, "v2": 16, "base": 16}

_FLAGS = {
    "v4": ["-march=x86-64-v4", "-mprefer-vector-width=512"],
    "v3": ["-march=x86-64-v3"],
    "v2": ["-march=x86-64-v2"],
}
_COMMON = [
    "-std=gnu11",
    "-O2",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fvisibility=hidden",
    "-fno-tree-slp-vectorize",
    "-w",
]


class Library:
    """A loaded shared library, and the addresses of its two functions."""

    def __init__(self, path: Path) -> None:
        try:
            self.handle = ctypes.CDLL(str(path))
        except OSError as error:
            raise CompilerError(f"compiler: what it made cannot be loaded: {error}") from error
        self.one = _address(self.handle.mbt_one)
        self.many = _address(self.handle.mbt_many)


def build(source: str, compiler: str | None, cache: bool) -> Library:
    """Return the library of a source, compiled now or before."""
    command = [*_find_compiler(compiler), *_COMMON, *_FLAGS.get(_core.isa, [])]
    if not cache:
        with tempfile.TemporaryDirectory(prefix="mbt-") as folder:
            return Library(_compile(command, source, Path(folder) / "model.so"))
    state = hashlib.sha256("\0".join([*command, sys.platform, source]).encode())
    path = _cache_folder() / f"{state.hexdigest()[:32]}.so"
    if path.is_file():
        try:
            return Library(path)
        except CompilerError:
            pass  # damaged: made again
    return Library(_compile(command, source, path))


def _find_compiler(compiler: str | None) -> list[str]:
    """Return the command of a compiler: that asked for, that of the environment, or the first there is."""
    given = compiler or os.environ.get("CC")
    candidates = [given] if given else ["cc", "gcc", "clang"]
    for candidate in candidates:
        words = shlex.split(candidate)
        if words and shutil.which(words[0]):
            return words
    wanted = f"{quote(given)}, which is not found" if given else "there is none of cc, gcc and clang"
    raise CompilerError(
        f"compiler: expected a C compiler, GCC or Clang: {wanted}. Install one, or name it: "
        "mbt.compile(..., compiler=...), or the environment variable CC"
    )


def _cache_folder() -> Path:
    """Return the folder of what was compiled before: nobody else may write there, for it is executed."""
    base = os.environ.get("MBT_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "mbt"
    )
    folder = Path(base)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise CompilerError(
            f"cache: cannot make {quote_path(base)}: {error.strerror}; expected a folder, or cache=False"
        ) from error
    if hasattr(os, "getuid") and (
        status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    ):
        raise CompilerError(
            f"cache: expected a folder that you own and nobody else may write into, got {quote_path(base)}: "
            "what lies there is executed. Set MBT_CACHE_DIR, or use cache=False"
        )
    return folder


def _compile(command: list[str], source: str, path: Path) -> Path:
    """Compile to a place of its own, then rename: another process never sees half a file."""
    try:
        with tempfile.TemporaryDirectory(prefix="mbt-", dir=path.parent) as folder:
            text, made = Path(folder) / "model.c", Path(folder) / "model.so"
            text.write_text(source, encoding="ascii")
            words = [*command, "-shared", "-fPIC", "-o", str(made), str(text), "-lm"]
            done = subprocess.run(
                words, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL
            )
            if done.returncode:
                raise CompilerError(f"compiler: {quote(command[0])} failed: {_last_lines(done.stderr)}")
            made.replace(path)
    except OSError as error:
        raise CompilerError(
            f"compiler: {quote(command[0])} cannot run in {quote_path(path.parent)}: {error}"
        ) from error
    return path


def _last_lines(text: str) -> str:
    return " | ".join(line.strip() for line in text.strip().splitlines()[-3:])[:500] or "it says nothing"


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
