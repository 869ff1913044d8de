"""Calls from Python on one state and on batches, mbt beside other libraries on the same URDF text.

    python benchmarks/compare.py [FILE.urdf ...] [--floating FILE.urdf ...] [--models NAME ...]
                                 [--functions NAME ...] [--contenders NAME ...] [--sizes N ...]
                                 [--plot FILE.png]

Microseconds of the thread's CPU time per state, with the empty loop subtracted: the minimum of interleaved
rounds, and their median in brackets. Single calls loop over 16 changing states. In batches, mbt takes all
states in one call. A peer that can do the same is timed both ways, and the faster of that and a Python loop
over single calls is reported; all others loop, and leave each result where the call leaves it. With
`--threads`, times are wall-clock times; the default is one thread. Results are compared with those of mbt
before the clock starts. Everything runs in one process, whose heap has been used.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import sys
import time
import timeit
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mbt
from contenders import (
    FUNCTIONS,
    GRAVITY,
    BatchContender,
    Call,
    Compiled,
    CompiledSingle,
    Contender,
    Functional,
    State,
    WithContext,
)
from mbt.models import model_names, model_path
from models import Array, BenchmarkModel, chain, humanoid, make_model, read_lumped, seven_joint_arm
from peers import Drake, Dynibo, MuJoCo, Pinocchio
from used_heap import use_heap

OWN: tuple[type[Contender], ...] = (Functional, WithContext, Compiled, CompiledSingle)
CONTENDERS: tuple[type[Contender], ...] = (*OWN, Pinocchio, Dynibo, MuJoCo, Drake)

NUM_STATES = 16
SAMPLE = 3e-4  # duration of one timed sample [s]
MAX_NUMBERS = 2**24  # entries of a result, 128 MiB: large models get smaller batches


@dataclass(frozen=True)
class Result:
    """One cell: a contender on a function of a model. Times are per state."""

    model: str
    nv: int
    size: int  # states per call of mbt
    function: str
    contender: str
    minimum: float  # [us]
    median: float  # [us]
    error: float  # relative to mbt
    statement: str
    tolerance: float

    @property
    def agrees(self) -> bool:
        """Whether the result agrees with that of mbt."""
        return self.error < self.tolerance


# States -------------------------------------------------------------------------------------------------


def make_states(tree: Any, floating: bool) -> list[State]:
    """Return random states."""
    rng = np.random.default_rng(0)
    nq, nv = tree.num_positions, tree.num_velocities
    states = [State(rng.uniform(-1, 1, nq), *rng.uniform(-1, 1, (2, nv))) for _ in range(NUM_STATES)]
    if floating:
        for state in states:
            state.q[:4] /= np.linalg.norm(state.q[:4])
    return states


def make_batch(states: list[State], size: int) -> State:
    """Return states, repeated up to `size`, as one state with a leading axis."""
    columns = zip(*((state.q, state.v, state.x) for state in states), strict=True)
    return State(*(np.resize(column, (size, len(column[0]))) for column in columns))


# Agreement ----------------------------------------------------------------------------------------------


def call_once(contender: Contender, call: Call, arguments: tuple[Any, ...]) -> Any:
    """Return the result of a call."""
    namespace = contender.namespace | dict(zip(contender.variables.split(", "), arguments, strict=True))
    exec(contender.statement(call), namespace)
    return eval(call.result, namespace)


def results_of(contender: Contender, function: str, call: Call, states: list[State]) -> list[Array]:
    """Return the result of a contender for each state, in mbt's conventions."""
    if isinstance(contender, BatchContender):
        arguments = contender.arguments(function, make_batch(states, contender.size))
        many = call_once(contender, call, arguments)
        found = [contender.one_of(many, k) for k in range(min(len(states), contender.size))]
    else:
        found = [
            copy.deepcopy(call_once(contender, call, contender.arguments(function, state)))
            for state in states
        ]
    return [
        np.array(contender.in_terms_of_mbt(function, state, result))
        for state, result in zip(states, found, strict=False)
    ]


def largest_error(found: list[Array], wanted: list[Array]) -> float:
    """Return the largest difference, relative to the largest expected entry."""
    pairs = zip(found, wanted, strict=False)
    return float(np.max([np.abs(a - b).max() / np.abs(b).max() for a, b in pairs]))


# Time ---------------------------------------------------------------------------------------------------


class Clock:
    """Times one statement over all its arguments; every sample is a time per state in microseconds."""

    def __init__(
        self, statement: str, variables: str, namespace: dict[str, Any], arguments: list[Any], states: int
    ) -> None:
        loop = f"for {variables} in arguments:\n    {statement}"
        clock = time.thread_time if mbt.get_num_threads() == 1 else time.perf_counter
        self.timer = timeit.Timer(loop, timer=clock, globals=namespace | {"arguments": arguments})
        self.states = states
        self.number = 1
        while self.timer.timeit(self.number) < SAMPLE:
            self.number *= 2
        self.samples: list[float] = []

    def sample(self) -> None:
        """Time the statement once more."""
        self.samples.append(self.timer.timeit(self.number) / self.number / self.states * 1e6)


def run_interleaved(clocks: Sequence[Clock], rounds: int) -> None:
    """Sample every clock in each round, in an order that rotates by one from round to round."""
    for turn in range(rounds):
        for i in range(len(clocks)):
            clocks[(turn + i) % len(clocks)].sample()


def compare(
    model: BenchmarkModel,
    function: str,
    size: int,
    contenders: list[Contender],
    states: list[State],
    rounds: int,
) -> Iterator[Result]:
    """Time all calls of all contenders together; yield the fastest call of each, by name."""
    contenders = [contender for contender in contenders if function in contender.calls]
    if not contenders or (size > 1 and not isinstance(contenders[0], BatchContender)):
        return
    wanted = results_of(contenders[0], function, contenders[0].calls[function][0], states)
    entries = []
    for contender in contenders:
        if isinstance(contender, BatchContender):
            arguments = [contender.arguments(function, make_batch(states, contender.size))]
            count = contender.size
        else:
            arguments = [contender.arguments(function, state) for state in states]
            count = len(states)
        for call in contender.calls[function]:
            error = largest_error(results_of(contender, function, call, states), wanted)
            statement, variables = contender.statement(call), contender.variables
            clock = Clock(statement, variables, contender.namespace, arguments, count)
            empty = Clock("pass", variables, {}, arguments, count)
            entries.append((contender, statement, error, clock, empty))
    run_interleaved([clock for *_, clock, empty in entries for clock in (clock, empty)], rounds)
    for name in dict.fromkeys(contender.name for contender in contenders):
        own = [entry for entry in entries if entry[0].name == name]
        contender, statement, error, clock, empty = min(own, key=lambda entry: min(entry[3].samples))
        # A batch contender makes a single call, so there is no loop to subtract.
        loop = 0.0 if isinstance(contender, BatchContender) else min(empty.samples)
        yield Result(
            model.name,
            contender.nv,
            size,
            function,
            name,
            min(clock.samples) - loop,
            statistics.median(clock.samples) - loop,
            error,
            statement,
            contender.tolerance,
        )


def make_contenders(
    model: BenchmarkModel, tree: Any, candidates: Sequence[type[Contender]], size: int, notes: list[str]
) -> Iterator[Contender]:
    """Yield the contenders that can read the model; for batches, peers in both forms, mbt as one call."""
    for candidate in candidates:
        try:
            if size > 1 and candidate.batched is not None:
                yield candidate.batched(model, tree, size)
            if size == 1 or not issubclass(candidate, Functional):
                yield candidate(model, tree)
        except ImportError as error:
            notes.append(f"{candidate.name} is left out: {error}")
        except Exception as error:
            # A library may fail to read a model for a reason of its own.
            reason = str(error).strip().splitlines()[0]
            notes.append(f"{candidate.name} is left out on {model.name}: {type(error).__name__}: {reason}")


def run(
    model: BenchmarkModel,
    functions: Sequence[str],
    candidates: Sequence[type[Contender]],
    sizes: Sequence[int],
    rounds: int,
    notes: list[str],
) -> Iterator[Result]:
    """Compare all candidates on a model."""
    tree = mbt.load_model(
        model.urdf, base="floating" if model.floating else "fixed", gravity=(0, 0, -GRAVITY)
    )
    states = make_states(tree, model.floating)
    most = max(1, MAX_NUMBERS // (3 * max(1, tree.num_velocities) ** 2))
    for size in sizes:
        contenders = list(make_contenders(model, tree, candidates, min(size, most), notes))
        for function in functions:
            yield from compare(model, function, min(size, most), contenders, states, rounds)


# Report -------------------------------------------------------------------------------------------------


def by_kind(results: list[Result]) -> dict[str, list[Result]]:
    """Return the results of single calls and those of batches, by title."""
    kinds: dict[str, list[Result]] = {}
    for result in results:
        kinds.setdefault("one state per call" if result.size == 1 else "batches of states", []).append(result)
    return kinds


def print_table(results: list[Result]) -> None:
    """Print one row per model, size and function, and one column per contender."""
    present = {result.contender for result in results}
    names = [contender.name for contender in CONTENDERS if contender.name in present]
    head = f"{'model':<18}{'nv':>4}{'states':>7}  {'function':<29}"
    head += "".join(f"{name:>18}" for name in names)
    print(f"microseconds per state, minimum (median)\n\n{head}  agreement\n{'-' * (len(head) + 11)}")
    for rows in _by_row(results):
        cells = {row.contender: _cell(row) for row in rows}
        first = rows[0]
        error = max(row.error for row in rows)
        print(
            f"{first.model[:17]:<18}{first.nv:>4}{first.size:>7}  {first.function:<29}"
            + "".join(f"{cells.get(name, '-'):>18}" for name in names)
            + f"  {error:.0e}"
        )
    print("\nagreement: largest difference from mbt, relative to the largest entry, over all states.")
    if any(not row.agrees for row in results):
        print("! differs by more than 1e-8, or 1e-4 in float32: excluded from the ratios.")


def _cell(row: Result) -> str:
    digits = _digits(row.minimum)
    return f"{'' if row.agrees else '!'}{row.minimum:.{digits}f} ({row.median:.{digits}f})"


def _digits(time: float) -> int:
    return 3 if time < 10 else 2 if time < 100 else 1


def print_markdown(results: list[Result]) -> None:
    """Print the minima as a table for docs/benchmarks.md."""
    names = list(dict.fromkeys(result.contender for result in results))
    print(f"\n| function | model | {' | '.join(names)} | fastest peer / mbt |")
    print("|---|---|" + "--:|" * (len(names) + 1))
    for rows in sorted(_by_row(results), key=lambda rows: FUNCTIONS.index(rows[0].function)):
        times = {row.contender: f"{row.minimum:.{_digits(row.minimum)}f}" for row in rows if row.agrees}
        ratio = _ratio(rows, "mbt", None) or _ratio(rows, "mbt Context", None)
        cells = [rows[0].function, rows[0].model, *(times.get(name, "") for name in names)]
        print(f"| {' | '.join(cells)} | {f'{ratio:.1f}' if ratio else ''} |")


def _by_row(results: list[Result]) -> Iterator[list[Result]]:
    rows: dict[tuple[str, int, str], list[Result]] = {}
    for result in results:
        rows.setdefault((result.model, result.size, result.function), []).append(result)
    yield from rows.values()


def print_summary(kind: str, results: list[Result]) -> None:
    """Print the minimum of the others over the minimum of mbt: the geometric mean over the models."""
    print(f"\nTime of the others over the time of mbt, {kind}, geometric mean over the models:")
    names = {result.contender for result in results}
    for function in dict.fromkeys(result.function for result in results):
        parts = []
        for own in [contender.name for contender in OWN if contender.name in names]:
            for title, choose in (("fastest peer", None), ("pin", "pin")):
                of_function = [rows for rows in _by_row(results) if rows[0].function == function]
                ratios = [_ratio(rows, own, choose) for rows in of_function]
                known = [ratio for ratio in ratios if ratio is not None]
                mean = f"{statistics.geometric_mean(known):.2f}" if known else "-"
                parts.append(f"{title} / {own} {mean}")
        print(f"  {function:<29} {'   '.join(parts)}")


def _ratio(rows: list[Result], own: str, peer: str | None) -> float | None:
    times = {row.contender: row.minimum for row in rows if row.agrees}
    peers = [t for name, t in times.items() if not name.startswith("mbt") and peer in (None, name)]
    return min(peers) / times[own] if peers and own in times else None


def print_calls(results: list[Result]) -> None:
    """Print the statements behind the figures."""
    print("\nStatements:")
    for function in dict.fromkeys(result.function for result in results):
        for name in dict.fromkeys(result.contender for result in results):
            own = [row for row in results if (row.function, row.contender) == (function, name)]
            for size, statement in dict.fromkeys((row.size, row.statement) for row in own):
                print(f"  {function:<29}{name:<13}{size:>6}  {statement}")


# Command line -------------------------------------------------------------------------------------------


def default_models() -> list[BenchmarkModel]:
    """Return the arm that comes with mbt, and models made here."""
    shipped = [read_lumped(model_path(name)) for name in model_names()]
    return [*shipped, seven_joint_arm(), chain(10), chain(30), humanoid()]


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.urdf", help="models with a fixed base")
    parser.add_argument(
        "--floating",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE.urdf",
        help="models with a floating base",
    )
    parser.add_argument(
        "--models",
        nargs="+",
        type=make_model,
        default=[],
        metavar="NAME",
        help="models made here: arm7, humanoid, chain and its number of joints",
    )
    names = [function.replace(" ", "-") for function in FUNCTIONS]
    parser.add_argument(
        "--functions", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names)
    )
    names = [contender.name for contender in CONTENDERS]
    # Contenders that compile take long.
    usual = [contender.name for contender in CONTENDERS if not issubclass(contender, Compiled)]
    parser.add_argument(
        "--contenders", nargs="+", choices=names, default=usual, metavar="NAME", help=", ".join(names)
    )
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=[1, 4096], metavar="N", help="states per call of mbt"
    )
    parser.add_argument("--threads", type=int, default=1, help="for batches, where supported")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--calls", action="store_true", help="print the statements behind the figures")
    parser.add_argument("--markdown", action="store_true", help="print the minima as a table in Markdown too")
    parser.add_argument("--plot", type=Path, metavar="FILE.png", help="draw the minima there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse_arguments(arguments)
    functions = [function for function in FUNCTIONS if function.replace(" ", "-") in options.functions]
    candidates = [contender for contender in CONTENDERS if contender.name in options.contenders]
    mbt.set_num_threads(options.threads)
    models = [*options.models, *(read_lumped(path) for path in options.files)]
    models += [read_lumped(path, floating=True) for path in options.floating]
    notes: list[str] = []
    results: list[Result] = []
    use_heap()
    for model in models or default_models():
        print(f"{model.name} ...", file=sys.stderr)
        results += run(model, functions, candidates, options.sizes, options.rounds, notes)
    print_table(results)
    for kind, some in by_kind(results).items():
        print_summary(kind, some)
    if options.markdown:
        for some in by_kind(results).values():
            print_markdown(some)
    if options.calls:
        print_calls(results)
    for note in dict.fromkeys(notes):
        print(note)
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1))
    if options.plot:
        from plots import plot_times

        plot_times(by_kind(results), options.plot)


if __name__ == "__main__":
    main()
