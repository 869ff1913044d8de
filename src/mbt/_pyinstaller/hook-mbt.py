"""Hook for PyInstaller: adds the kernels of every instruction set, and the imports of compiled modules.

PyInstaller follows imports of Python code, and looks for a module in the folder of its package. Kernels are
elsewhere, once per instruction set, and it cannot see imports of compiled modules.
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

# In the program, kernels have the same places as in the package: the loader finds those for its processor.
binaries = [(str(path), str(room)) for path, room in _KERNELS]
# Without the integrations of other libraries: a program imports them itself if it needs them.
hiddenimports = [
    name
    for name in collect_submodules("mbt")
    if name not in _NAMES_OF_KERNELS and not name.startswith(("mbt.interop.", "mbt._pyinstaller"))
]
datas = collect_data_files("mbt", excludes=["**/*.pyi"]) + copy_metadata("multibodytree")
