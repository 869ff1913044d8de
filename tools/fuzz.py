"""Fuzz the readers, and the contents of pickles, guided by coverage: `fuzz.py [TARGET...] [--seconds 10]`.

Needs the package `atheris`, and `mujoco` for the target `mjcf`. Each target (tests/support/fuzz_targets.py)
runs in a process of its own, starting from the inputs in tests/fuzz/corpus. An input that causes an
exception, a crash or a hang is a finding: it is written to the folder `--findings`, and the exit code is 1.
After the fault is fixed, put the input into the corpus, where the tests run it. `--keep` adds a minimal set
of inputs that reach new code.

With `--inputs`, the same sources give the same result, as is required of a check that every change must pass.
To find something new, use `--seconds`, or another `--seed`.

xacro is not fuzzed, because expanding a file executes code in it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
#: Seconds for one input. All take milliseconds, except on loaded machines.
TIMEOUT = 20
#: Inputs are small, because findings are read by people and kept.
MAX_LENGTH = 8000


def functions_of(*packages: str) -> Iterator[FunctionType]:
    """Yield every function and method of some packages.

    atheris can instrument modules as they are imported, but not those of an editable installation.
    """
    for package in map(importlib.import_module, packages):
        found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        for module in [package, *(importlib.import_module(info.name) for info in found)]:
            members = [
                thing
                for thing in vars(module).values()
                if getattr(thing, "__module__", "") == module.__name__
            ]
            for cls in [thing for thing in members if isinstance(thing, type)]:
                for member in vars(cls).values():
                    if isinstance(member, property):
                        members += [member.fget, member.fset]
                    else:
                        members.append(getattr(member, "__func__", member))
            yield from (thing for thing in members if isinstance(thing, FunctionType))


def fuzz(target: str, arguments: list[str]) -> None:
    """Run one target in this process; does not return."""
    import atheris

    sys.path.insert(0, str(TESTS))
    from support import fuzz_targets

    for function in functions_of(
        "mbt.parsing", "mbt.saving", "mbt.tree", "mbt.topology", "mbt.math", "mbt.context"
    ):
        atheris.instrument_func(function)

    def custom(data: bytes, max_size: int, seed: int) -> bytes:
        if target == "pickle" or seed % 3 == 0:
            return bytes(atheris.Mutate(data, max_size))
        return fuzz_targets.mutate(target, data, seed)[:max_size]

    # To merge, libFuzzer starts this program again, using the first argument.
    program = f"{sys.executable} {sys.argv[0]} --child {target}"
    atheris.Setup([program, *arguments], fuzz_targets.TARGETS[target], custom_mutator=custom)
    atheris.Fuzz()


def run(target: str, limits: list[str], findings: Path, keep: bool) -> bool:
    """Fuzz one target within the limits. Returns whether there was a finding."""
    corpus = TESTS / "fuzz" / "corpus" / target
    with tempfile.TemporaryDirectory() as directory:
        new, prefix = Path(directory, "new"), findings / f"{target}-"
        new.mkdir()
        command = [sys.executable, __file__, "--child", target]
        # Here, models of MuJoCo go to the standard output, and its log to the working directory.
        flags = [
            *limits, f"-timeout={TIMEOUT}", f"-max_len={MAX_LENGTH}",
            f"-artifact_prefix={prefix}", "-rss_limit_mb=4096", "-print_final_stats=1", "-reload=0",
        ]  # fmt: skip
        before = set(findings.iterdir())
        child = subprocess.run(
            [*command, str(new), str(corpus), *flags],
            capture_output=True,
            text=True,
            check=False,
            cwd=directory,
            # The order of sets affects coverage.
            env={**os.environ, "PYTHONHASHSEED": "0"},
        )
        found = sorted(set(findings.iterdir()) - before)
        executed = re.search(r"number_of_executed_units: *(\d+)", child.stderr)
        print(
            f"{target}: {executed[1] if executed else '?'} inputs, {len(list(new.iterdir()))} reach new code",
            end="",
        )
        print(f", FOUND {', '.join(map(str, found))}" if found else "", flush=True)
        if found or child.returncode:
            # Exceptions are on the standard output, crashes on the standard error stream.
            print(child.stdout.partition("=== Uncaught Python exception: ===")[2][-4000:])
            lines = [
                line for line in child.stderr.splitlines() if not line.startswith(("#", "INFO", "WARNING"))
            ]
            print(*lines[-60:], sep="\n", flush=True)
        if keep and not found:
            # A minimal set with the same coverage.
            merged = Path(directory, "merged")
            merged.mkdir()
            merge = [*command, str(merged), str(corpus), str(new), "-merge=1", f"-max_len={MAX_LENGTH}"]
            subprocess.run(merge, capture_output=True, check=True, cwd=directory)
            for path in merged.iterdir():
                if not (corpus / path.name).exists():
                    shutil.copy(path, corpus / path.name)
        return bool(found or child.returncode)


def main() -> int:
    """Fuzz some targets, one after the other."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = sorted(path.name for path in (TESTS / "fuzz" / "corpus").iterdir())
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(names))
    parser.add_argument("--seconds", type=float, default=10, help="for each target")
    parser.add_argument(
        "--inputs", type=int, metavar="N", help="for each target, instead of --seconds: the same in each run"
    )
    parser.add_argument("--seed", type=int, default=1, help="for --inputs: another seed gives other inputs")
    parser.add_argument("--findings", type=Path, default=ROOT / "build" / "findings")
    parser.add_argument("--keep", action="store_true", help="keep inputs that reach new code in the corpus")
    options = parser.parse_args()
    if unknown := set(options.targets) - set(names):
        parser.error(f"no target {', '.join(unknown)}; there are {', '.join(names)}")
    if importlib.util.find_spec("atheris") is None:
        parser.error("the fuzzers need atheris: pip install atheris")
    targets = options.targets or names
    if not options.targets and importlib.util.find_spec("mujoco") is None:
        print("mjcf: NOT DONE, because mujoco is not installed")
        targets.remove("mjcf")
    findings = options.findings.resolve()
    findings.mkdir(parents=True, exist_ok=True)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    # Run all targets, even after one has found something.
    limits = [f"-max_total_time={round(options.seconds)}"]
    if options.inputs is not None:
        limits = [f"-runs={options.inputs}", f"-seed={options.seed}"]
    found = [run(target, limits, findings, options.keep) for target in targets]
    return int(any(found))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        fuzz(sys.argv[2], sys.argv[3:])
    sys.exit(main())
