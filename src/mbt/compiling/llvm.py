"""From LLVM IR to addresses, with the package llvmlite; no C compiler is needed."""

from __future__ import annotations

import mmap
import os
import platform
import sys
from functools import cache
from itertools import count
from typing import Any

from mbt import _core
from mbt.errors import CompilerError

__all__ = ["JitLibrary", "make_object", "target_words"]

#: LLVM's name and features of a processor with each instruction set of mbt.
_PROCESSORS = {
    "v4": ("x86-64-v4", "-prefer-256-bit"),
    "v3": ("x86-64-v3", ""),
    "v2": ("x86-64-v2", ""),
    "base": ("x86-64", ""),
}

_numbers = count()
_jits: list[Any] = []


def _import_llvm() -> Any:
    try:
        import llvmlite.binding as llvm
    except ImportError as error:
        raise CompilerError(
            "compiler: 'llvm' needs the package llvmlite: python -m pip install 'multibodytree[llvm]' "
            f"({error})"
        ) from error
    _wait_in_forks(llvm.ffi.lib)
    return llvm


@cache
def _wait_in_forks(lib: Any) -> None:
    """Prevent a fork while llvmlite holds its lock, which would stay locked forever in the child.

    Every function of llvmlite takes this lock, and so does the deletion of its objects.
    """
    lock = getattr(lib, "_lock", None)
    if lock and hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.__enter__, after_in_parent=lock.__exit__, after_in_child=lock.__exit__
        )


def _processor(llvm: Any) -> tuple[str, str]:
    """Return the name and the features of the target processor."""
    if _core.isa == "base" and platform.machine().lower() not in ("x86_64", "amd64"):
        return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return _PROCESSORS[_core.isa]


def target_words() -> list[str]:
    """Return everything but the source that the code depends on."""
    llvm = _import_llvm()
    version = ".".join(map(str, llvm.llvm_version_info))
    return ["llvm", version, llvm.get_process_triple(), *_processor(llvm)]


def make_object(source: str) -> bytes:
    """Return the object file of an LLVM module.

    Raises
    ------
    CompilerError
        When there is no llvmlite, or it rejects the module.
    MemoryError
        When the system lacks the memory that LLVM may need.
    """
    llvm = _import_llvm()
    _expect_memory(64 * len(source))
    try:
        return _translate(llvm, source)
    except RuntimeError as error:
        said = " | ".join(line.strip() for line in str(error).splitlines() if line.strip())
        raise CompilerError(f"compiler: LLVM failed: {said[:500]}") from error


def _translate(llvm: Any, source: str) -> bytes:
    machine = _machine(llvm)
    module = llvm.parse_assembly(source)
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    # A low level is enough: traces have no loops and no repeated terms.
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    made: bytes = machine.emit_object(module)
    return made


def _expect_memory(size: int) -> None:
    """Allocate and free the memory that LLVM may need: out of memory, LLVM would end the process."""
    size += 2**24
    try:
        mmap.mmap(-1, size).close()
    except (OSError, OverflowError):
        raise MemoryError(f"LLVM may need {size / 2**20:.0f} MiB of memory, more than is available") from None


def _machine(llvm: Any) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    processor, features = _processor(llvm)
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(
        cpu=processor, features=features, opt=2, reloc="pic", codemodel="small"
    )


class JitLibrary:
    """An object file loaded into this process, and the addresses of its two functions."""

    def __init__(self, made: bytes) -> None:
        llvm = _import_llvm()
        _expect_memory(16 * len(made))
        try:
            self.handle = _link(llvm, made)
        except RuntimeError as error:
            raise CompilerError(f"compiler: the code made by LLVM cannot be loaded: {error}") from error
        self.one: int = self.handle["mbt_one"]
        self.many: int = self.handle["mbt_many"]


def _link(llvm: Any, made: bytes) -> Any:
    if not _jits:
        # JITLink allocates one block of memory per object. The other linker allocates one per section, and
        # ends the process if two of them are 2 GiB apart; but only it supports object files of Windows.
        _jits.append(llvm.create_lljit_compiler(_machine(llvm), use_jit_link=sys.platform != "win32"))
    builder = llvm.JITLibraryBuilder()
    builder.add_object_img(made).add_current_process()
    builder.export_symbol("mbt_one").export_symbol("mbt_many")
    return builder.link(_jits[0], f"mbt{next(_numbers)}")
