"""Check that no module contains an instruction that is newer than the set for which it was built.

    python tools/check_instructions.py WHEEL_OR_FOLDER

Disassembles every compiled module: those in `v3/` may use x86-64-v3, those in `v4/` x86-64-v4, all others
x86-64-v2. Instructions are classified by their encoding: EVEX, and those on mask registers, belong to v4;
VEX, `lzcnt` and `movbe` to v3. (`tzcnt` is not an indication: GCC writes it for old processors too, which
read it as `bsf`.) Needs objdump from binutils. Modules for other processors are skipped.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

#: Address, bytes, mnemonic with its operands.
INSTRUCTION = re.compile(r"^ *[0-9a-f]+:\t((?:[0-9a-f]{2} )+) *\t(.+)$", re.MULTILINE)
LEGACY_PREFIXES = {0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3}
LEVELS = {"v3": 3, "v4": 4}  # of modules in these folders; all others use the oldest set


def level_of(code: bytes, mnemonic: str) -> int:
    """Return the first level of x86-64 that has an instruction; 2 for those of level 1, too."""
    start = next((i for i, byte in enumerate(code) if byte not in LEGACY_PREFIXES), len(code) - 1)
    prefixes, rest = code[:start], code[start:]
    if rest[0] == 0x62:
        return 4
    if rest[0] in (0xC4, 0xC5):
        return 4 if mnemonic.startswith("k") else 3
    if rest[0] & 0xF0 == 0x40:  # REX
        rest = rest[1:]
    is_lzcnt = 0xF3 in prefixes and rest[:2] == b"\x0f\xbd"
    # With the prefix F2 this is crc32.
    is_movbe = 0xF2 not in prefixes and rest[:3] in (b"\x0f\x38\xf0", b"\x0f\x38\xf1")
    return 3 if is_lzcnt or is_movbe else 2


def levels_in(library: Path) -> Counter[tuple[int, str]]:
    """Count the instructions of a library by level and mnemonic."""
    command = ["objdump", "-d", "--wide", str(library)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: Counter[tuple[int, str]] = Counter()
    known: dict[tuple[str, str], int] = {}
    for code, mnemonic in INSTRUCTION.findall(text):
        name = mnemonic.split(None, 1)[0]
        key = code[:24], name
        if key not in known:
            known[key] = level_of(bytes.fromhex(code), name)
        found[known[key], name] += 1
    return found


def is_x86_64(library: Path) -> bool:
    """Return whether a library is an ELF file for this processor family."""
    head = library.read_bytes()[:20]
    return head[:4] == b"\x7fELF" and head[18:20] == b"\x3e\x00"


def check(folder: Path) -> list[str]:
    """Return the problems of the modules in a folder, and print their instruction counts."""
    errors = []
    newest: dict[str, int] = {}
    for library in filter(is_x86_64, sorted(folder.rglob("*.so*"))):
        isa = next((part for part in library.parts if part in LEVELS), "others")
        allowed = LEVELS.get(isa, 2)
        name = f"{isa}/{library.parent.name}/{library.name.partition('.')[0]}"
        found = levels_in(library)
        counts: Counter[int] = Counter()
        for (level, _), count in found.items():
            counts[level] += count
        print(f"{name:44}" + "".join(f"  v{level} {counts[level]:>7}" for level in (2, 3, 4)))
        newer = {mnemonic: count for (level, mnemonic), count in found.items() if level > allowed}
        if newer:
            some = ", ".join(f"{mnemonic} ({count})" for mnemonic, count in sorted(newer.items())[:10])
            errors.append(f"{name} is for x86-64-v{allowed} but contains {some}")
        newest[isa] = max(newest.get(isa, 0), *counts)
    for isa, level in LEVELS.items():
        if newest.get(isa, level) < level:
            errors.append(f"no module in {isa} has an instruction of x86-64-v{level}: is this check blind?")
    if not newest:
        print("no modules for x86-64")
    return errors


def main() -> int:
    """Check a wheel, or a folder with compiled modules."""
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    source = Path(sys.argv[1])
    if source.is_dir():
        errors = check(source)
    else:
        with tempfile.TemporaryDirectory() as folder:
            zipfile.ZipFile(source).extractall(folder)
            errors = check(Path(folder))
    print(*errors, sep="\n")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
