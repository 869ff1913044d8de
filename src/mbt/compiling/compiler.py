"""From recorded arithmetic to addresses: calls of a compiler, and a cache of its output."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeAlias

from mbt import _core
from mbt.compiling.assembly import write_assembly
from mbt.compiling.llvm import JitLibrary, make_object, target_words
from mbt.compiling.source import write_source
from mbt.compiling.tracing import Trace
from mbt.errors import ArgumentValueError, CompilerError, quote, quote_path
from mbt.math.arrays import as_float
from mbt.saving.files import replace_file

__all__ = ["LLVM", "CodeInMemory", "Library", "as_timeout", "build", "write"]

#: Names the compiler that is a Python package rather than a command.
LLVM = "llvm"

# Suffixes of files in the cache, indexed by whether LLVM made them.
_SUFFIXES = ("so", "o")

# Register sizes in bytes, by instruction set.
_REGISTERS = {"v4": 64, "v3": 32, "v2": 16, "base": 16}

#: Time limit of the compiler [s]: derivatives of a large tree take minutes.
_TIMEOUT = 1800.0

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
    # The time of GCC's register allocation grows with the square of a block's length. Considering fewer
    # pseudo-registers halves the compilation time of a large tree, and the code is as fast.
    "--param",
    "lra-max-considered-reload-pseudos=100",
    "-w",
]


class Library:
    """A loaded shared library and the addresses of its two functions."""

    def __init__(self, path: Path) -> None:
        try:
            self.handle = ctypes.CDLL(str(path))
        except OSError as error:
            raise CompilerError(f"compiler: the library it made cannot be loaded: {error}") from error
        try:
            self.one = _address(self.handle.mbt_one)
            self.many = _address(self.handle.mbt_many)
        except AttributeError as error:
            raise CompilerError(f"compiler: the library it made lacks a function: {error}") from error


#: What `build` returns: two addresses.
CodeInMemory: TypeAlias = Library | JitLibrary


def write(
    trace: Trace, inputs: list[int], outputs: list[list[int]], compiler: str | None, single: bool
) -> str:
    """Return the source of a trace, as `build` takes it; see `write_source`."""
    writer = write_assembly if compiler == LLVM else write_source
    return writer(trace, inputs, outputs, _REGISTERS[_core.isa], single)


def build(source: str, compiler: str | None, cache: bool, timeout: float | None = None) -> CodeInMemory:
    """Return the library of a source, compiled now or loaded from the cache."""
    by_llvm = compiler == LLVM
    command = target_words() if by_llvm else [*_find_compiler(compiler), *_COMMON, *_FLAGS.get(_core.isa, [])]
    limit = as_timeout(timeout)
    # The cache folder; the compiler works in a separate folder.
    kept = _cache_folder() if cache else None
    key = hashlib.sha256("\0".join([*command, sys.platform, source]).encode()).hexdigest()[:32]
    library = None if kept is None else _find(kept, key, by_llvm)
    if library is not None:
        return library
    if by_llvm:
        made_object = make_object(source)
        if kept is not None:
            _keep(kept, key, made_object, by_llvm)
        return JitLibrary(made_object)
    try:
        with tempfile.TemporaryDirectory(prefix="mbt-", dir=kept) as folder:
            made = _compile(command, source, Path(folder), limit)
            return Library(made if kept is None else _keep(kept, key, made.read_bytes(), by_llvm))
    except OSError as error:
        where = tempfile.gettempdir() if kept is None else str(kept)
        raise CompilerError(
            f"compiler: {quote(command[0])} cannot run in {quote_path(where)}: {error}"
        ) from error


def as_timeout(timeout: float | None) -> float:
    """Return the compiler's time limit [s]: as given, from the environment, or half an hour.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When `timeout` is not a number > 0; infinity is allowed.
    CompilerError
        When the environment variable is not a number > 0.
    """
    if timeout is not None:
        limit = as_float(timeout, "timeout")
        if not limit > 0.0:
            raise ArgumentValueError(f"timeout: expected a number > 0 [s], got {limit:g}")
        return limit
    given = os.environ.get("MBT_COMPILER_TIMEOUT")
    if not given:
        return _TIMEOUT
    with suppress(ValueError):
        if float(given) > 0.0:
            return float(given)
    raise CompilerError(f"MBT_COMPILER_TIMEOUT: expected a number > 0 [s], got {quote(given)}")


def _find(folder: Path, key: str, by_llvm: bool) -> CodeInMemory | None:
    """Return a library from the cache if it is intact: loading a damaged one would end the process."""
    for path in folder.glob(f"{key}-*.{_SUFFIXES[by_llvm]}"):
        try:
            library = path.read_bytes()
            if path.name == _name_of(key, library, by_llvm):
                return JitLibrary(library) if by_llvm else Library(path)
            path.unlink()
        except (OSError, CompilerError):
            pass  # Removed by another process, or made on another machine: compile again.
    return None


def _keep(folder: Path, key: str, library: bytes, by_llvm: bool) -> Path:
    """Write a library to the cache, atomically and durably, and named by a hash of its contents."""
    path = folder / _name_of(key, library, by_llvm)
    replace_file(path, library, 0o600)
    return path


def _name_of(key: str, library: bytes, by_llvm: bool) -> str:
    return f"{key}-{hashlib.sha256(library).hexdigest()[:32]}.{_SUFFIXES[by_llvm]}"


def _find_compiler(compiler: str | None) -> list[str]:
    """Return the compiler's command: the one given, the one in the environment, or the first one found."""
    given = compiler or os.environ.get("CC")
    candidates = [given] if given else ["cc", "gcc", "clang"]
    for candidate in candidates:
        try:
            words = shlex.split(candidate)
        except ValueError as error:
            raise CompilerError(
                f"compiler: expected a shell command, got {quote(candidate)}: {error}"
            ) from None
        if words and shutil.which(words[0]):
            return words
    wanted = f"{quote(given)}, which is not found" if given else "found none of cc, gcc and clang"
    raise CompilerError(
        f"compiler: expected a C compiler, GCC or Clang: {wanted}. Install one, or name it: "
        "mbt.compile(..., compiler=...), or the environment variable CC"
    )


def _cache_folder() -> Path:
    """Return the cache folder, to which nobody else may write because its contents are executed."""
    base = os.environ.get("MBT_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache"), "mbt"
    )
    folder = Path(base)
    try:
        # Create the parents here too, because mkdir(parents=True) takes their mode from the umask.
        for missing in [*reversed(folder.parents), folder]:
            missing.mkdir(mode=0o700, exist_ok=True)
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
            "its files are executed. Set MBT_CACHE_DIR, or use cache=False"
        )
    return folder


def _compile(command: list[str], source: str, folder: Path, timeout: float) -> Path:
    """Compile in a folder and return the path of the library."""
    text, made, output = (folder / name for name in ("model.c", "model.so", "output"))
    text.write_text(source, encoding="ascii")
    words = [*command, "-shared", "-fPIC", "-o", str(made), str(text), "-lm"]
    # Write to a file: a pipe would stay open as long as any process that the compiler started.
    with open(output, "wb") as stream:
        status = _run(words, stream, timeout)
    if status:
        said = output.read_text(encoding="utf-8", errors="replace")
        raise CompilerError(f"compiler: {quote(command[0])} failed: {_last_lines(said)}")
    if not made.exists():
        raise CompilerError(
            f"compiler: {quote(command[0])} succeeded but made no library: is it a C compiler?"
        )
    return made


def _run(words: list[str], output: IO[bytes], timeout: float) -> int:
    """Run a command and return its exit status; on a timeout or Ctrl-C, kill it and all that it started."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=output,
        start_new_session=True,
    )
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        raise CompilerError(
            f"compiler: {quote(words[0])} did not end within {timeout:g} s: allow more with "
            "mbt.compile(..., timeout=...), or the environment variable MBT_COMPILER_TIMEOUT"
        ) from None
    finally:  # Ctrl-C too.
        if process.poll() is None:
            with suppress(OSError):
                if hasattr(os, "killpg"):
                    os.killpg(process.pid, signal.SIGKILL)
                else:
                    process.kill()
            process.wait()


def _last_lines(text: str) -> str:
    return " | ".join(line.strip() for line in text.strip().splitlines()[-3:])[:500] or "no output"


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
