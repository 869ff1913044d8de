"""The cost of batches to the processor: counted operations, loads and stores per state.

    python benchmarks/operations.py [FILE.urdf ...] [--floating FILE.urdf ...] [--models NAME ...]

One warm call on 512 states under callgrind, with x86-64-v3. callgrind counts how often each instruction of
the modules of mbt runs; the disassembly tells what the instruction does. Operations are sums, products,
quotients and roots of doubles, where a fused one counts as two; loads and stores are instructions that read
or write memory, mostly 32 bytes. Needs valgrind with its headers, binutils and a C compiler. `record.py`
stores the counts in `benchmarks/results/operations.json`.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from instruction_counts import OWN, compile_control, environment

STATES = 512
#: Doubles in a register, by the letter in its name.
LANES = {"x": 2, "y": 4, "z": 8}
ARITHMETIC = re.compile(r"v?(fn?m(?:add|sub|addsub|subadd)\d+|add|sub|mul|div|sqrt|addsub)([ps])d$")
ONLY_READ = re.compile(r"cmp|test|v?u?comis|bt|call|jmp|push|i?mul|i?div|vptest")
NO_ACCESS = re.compile(r"lea|nop|prefetch")
ONLY_WRITTEN = re.compile(r"v?mov|vextract|vpextr|vmaskmov|vpmaskmov|set|vst|pop")


def effect_of(instruction: str) -> Counter[str]:
    """Return the operations, loads and stores of an instruction in AT&T syntax.

    >>> effect_of("vfmadd231pd 0x20(%rax,%rbx,8),%ymm1,%ymm2") == {"operations": 8, "loads": 1}
    True
    >>> effect_of("vmovupd %ymm1,(%rdi)") == {"stores": 1}
    True
    """
    name, _, rest = instruction.partition(" ")
    effect: Counter[str] = Counter()
    if found := ARITHMETIC.match(name):
        lanes = LANES[re.findall(r"%([xyz])mm", rest)[-1]] if found[2] == "p" else 1
        effect["operations"] = lanes * (2 if found[1].startswith(("fm", "fnm")) else 1)
    operands = re.split(r",(?![^(]*\))", rest.strip())
    if NO_ACCESS.match(name):
        return effect
    if any("(" in operand for operand in operands[:-1]):
        effect["loads"] = 1
    if "(" in operands[-1]:
        if not ONLY_WRITTEN.match(name):
            effect["loads"] = 1
        if not ONLY_READ.match(name):
            effect["stores"] = 1
    return effect


@functools.cache
def effects_in(library: str) -> dict[int, Counter[str]]:
    """Return the effects of the instructions of a library, by address."""
    command = ["objdump", "-d", "--no-show-raw-insn", library]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^\s*([0-9a-f]+):\t([^<#\n]*)", text, flags=re.MULTILINE)
    return {int(address, 16): effect_of(" ".join(words.split())) for address, words in found}


def sum_of(dump: str) -> Counter[str]:
    """Return the total effect of the instructions of mbt in a dump."""
    total: Counter[str] = Counter()
    library, is_call = "", False
    for line in dump.splitlines():
        if line.startswith("ob="):
            library = line.removeprefix("ob=")
        elif line.startswith("calls="):
            is_call = True
        elif cost := re.match(r"0x([0-9a-f]+) \S+ (\d+)$", line):
            if not is_call and OWN in library:
                times = int(cost[2])
                total["instructions"] += times
                for kind, number in effects_in(library)[int(cost[1], 16)].items():
                    total[kind] += times * number
            is_call = False
    return total


def count_all(control_library: str, chosen: list[str]) -> None:
    """Call every function under callgrind, one dump for each; print the labels in their order."""
    import mbt
    from compare import make_batch, make_states
    from contenders import GRAVITY, PLAIN_FUNCTIONS, InBatches
    from record import chosen_models

    spec = importlib.util.spec_from_file_location("callgrind_control", control_library)
    assert spec is not None
    assert spec.loader is not None
    control: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(control)
    mbt.set_num_threads(1)
    labels: list[tuple[str, str]] = []
    functions = []
    for model in chosen_models(chosen):
        base = "floating" if model.floating else "fixed"
        tree = mbt.load_model(model.urdf, base=base, gravity=(0, 0, -GRAVITY))
        batches = InBatches(model, tree, STATES)
        batch = make_batch(make_states(tree, model.floating), STATES)
        for function in PLAIN_FUNCTIONS:
            labels.append((model.name, function))
            functions.append(batches.as_function(function, batch))
    for function in functions:
        function()
    control.start()
    for i, function in enumerate(functions):
        function()
        control.count(function, str(i))
    print(json.dumps(labels))


def count(chosen: list[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Return counts per state, by model and function: operations, loads, stores, instructions."""
    with tempfile.TemporaryDirectory() as name:
        library, dump = compile_control(Path(name)), Path(name, "dump")
        valgrind = ["valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--dump-instr=yes"]
        valgrind += ["--compress-pos=no", "--compress-strings=no", f"--callgrind-out-file={dump}"]
        child = [sys.executable, __file__, "--count-with", str(library), *chosen]
        run = subprocess.run([*valgrind, *child], env=environment(), stdout=subprocess.PIPE, check=True)
        counts: dict[str, dict[str, dict[str, float]]] = {}
        texts = [path.read_text() for path in Path(name).glob("dump.*")]
        dumps = {
            int(label[1]): text
            for text in texts
            if (label := re.search(r"^desc: Trigger: Client Request: (\d+)$", text, re.MULTILINE))
        }
        for i, (model, function) in enumerate(json.loads(run.stdout)):
            total = sum_of(dumps[i])
            counts.setdefault(model, {})[function] = {
                kind: round(total[kind] / STATES, 1)
                for kind in ("operations", "loads", "stores", "instructions")
            }
    return counts


def main() -> None:
    """Print the counts."""
    if sys.argv[1:2] == ["--count-with"]:
        count_all(sys.argv[2], sys.argv[3:])
        return
    from record import add_models, names_of

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_models(parser)
    for model, by_function in count(names_of(parser.parse_args())).items():
        for function, numbers in by_function.items():
            print(f"{model:16}{function:30}" + "".join(f"{k:>13} {x:8.1f}" for k, x in numbers.items()))


if __name__ == "__main__":
    main()
