"""Hook of PyInstaller: the kernels of every instruction set, and what compiled modules import.

PyInstaller follows imports of Python code and looks for a module where its package is. Kernels are elsewhere,
once per instruction set, and imports of compiled modules cannot be seen.
"""

from pathlib import Path

from PyInstaller.utils.hooks import collect_data_files, collect_submodules, copy_metadata

import mbt._core

_KERNELS = [
    (path, Path("mbt", "_core", isa, path.parent.name))
    for isa, directory in mbt._core.directories.items()
    for path in Path(directory).glob("*/*")
]
_NAMES_OF_KERNELS = {f"mbt._core.{room.name}.{path.name.partition('.')[0]}" for path, room in _KERNELS}

# In the program kernels are where they are in the package: the loader finds those that its processor runs.
binaries = [(str(path), str(room)) for path, room in _KERNELS]
# Not what works with other libraries, which a program imports by itself, or does not need.
hiddenimports = [
    name
    for name in collect_submodules("mbt")
    if name not in _NAMES_OF_KERNELS and not name.startswith(("mbt.interop.", "mbt._pyinstaller"))
]
datas = collect_data_files("mbt", excludes=["**/*.pyi"]) + copy_metadata("multibodytree")
