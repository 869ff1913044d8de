"""Single calls from Python, mbt beside other libraries on the same URDF text.

    python benchmarks/compare.py [FILE.urdf ...] [--floating FILE.urdf ...] [--models NAME ...]
                                 [--functions NAME ...] [--contenders NAME ...]

Microseconds per call over 16 changing states, in CPU time of the thread, the empty loop subtracted: minimum,
and in brackets the median, of interleaved rounds. What a call returns is compared with mbt before the clock
starts.
"""

from __future__ import annotations

import argparse
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
from contenders import FUNCTIONS, GRAVITY, Call, Contender, Functional, State, WithContext
from mbt.models import model_names, model_path
from models import Array, BenchmarkModel, chain, humanoid, make_model, read_lumped, seven_joint_arm
from peers import Drake, Dynibo, MuJoCo, Pinocchio

CONTENDERS: tuple[type[Contender], ...] = (Functional, WithContext, Pinocchio, Dynibo, MuJoCo, Drake)

NUM_STATES = 16
SAMPLE = 3e-4  # [s] of one timed sample
TOLERANCE = 1e-8  # relative; forward dynamics of a long chain loses digits


@dataclass(frozen=True)
class Result:
    """One cell: a contender on a function of a model."""

    model: str
    nv: int
    function: str
    contender: str
    minimum: float  # [us]
    median: float  # [us]
    error: float  # relative to mbt
    statement: str

    @property
    def agrees(self) -> bool:
        """Whether it computes the same thing."""
        return self.error < TOLERANCE


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
    """Return states, again and again, as one state with a leading axis."""
    columns = zip(*((state.q, state.v, state.x) for state in states), strict=True)
    return State(*(np.resize(column, (size, len(column[0]))) for column in columns))


# Agreement ----------------------------------------------------------------------------------------------


def call_once(contender: Contender, function: str, call: Call, state: State) -> Array:
    """Return what a call gives, in mbt's terms."""
    values = dict(zip(contender.variables.split(", "), contender.arguments(function, state), strict=True))
    namespace = contender.namespace | values
    exec(contender.statement(call), namespace)
    result = eval(call.result, namespace)
    return np.array(contender.in_terms_of_mbt(function, state, result))


def largest_error(
    contender: Contender, reference: Contender, function: str, call: Call, states: list[State]
) -> float:
    """Return the largest difference from mbt, relative to the largest entry."""
    errors = []
    for state in states:
        wanted = call_once(reference, function, reference.calls[function][0], state)
        found = call_once(contender, function, call, state)
        errors.append(np.abs(found - wanted).max() / np.abs(wanted).max())
    return float(np.max(errors))


# Time ---------------------------------------------------------------------------------------------------


class Clock:
    """Times one statement over all states; every sample is a microsecond figure per call."""

    def __init__(self, statement: str, variables: str, namespace: dict[str, Any], states: list[Any]) -> None:
        loop = f"for {variables} in states:\n    {statement}"
        self.timer = timeit.Timer(loop, timer=time.thread_time, globals=namespace | {"states": states})
        self.number = 1
        while self.timer.timeit(self.number) < SAMPLE:
            self.number *= 2
        self.samples: list[float] = []

    def sample(self) -> None:
        """Time the statement once more."""
        self.samples.append(self.timer.timeit(self.number) / self.number / NUM_STATES * 1e6)


def run_interleaved(clocks: Sequence[Clock], rounds: int) -> None:
    """Sample every clock in each round, the order turned by one from round to round."""
    for turn in range(rounds):
        for i in range(len(clocks)):
            clocks[(turn + i) % len(clocks)].sample()


def compare(
    model: BenchmarkModel, function: str, contenders: list[Contender], states: list[State], rounds: int
) -> Iterator[Result]:
    """Time all calls of all contenders together; yield the fastest call of each."""
    entries = []
    contenders = [contender for contender in contenders if function in contender.calls]
    for contender in contenders:
        arguments = [contender.arguments(function, state) for state in states]
        for call in contender.calls[function]:
            error = largest_error(contender, contenders[0], function, call, states)
            clock = Clock(contender.statement(call), contender.variables, contender.namespace, arguments)
            empty = Clock("pass", contender.variables, {}, arguments)
            entries.append((contender, call, error, clock, empty))
    run_interleaved([clock for *_, clock, empty in entries for clock in (clock, empty)], rounds)
    for contender in contenders:
        own = [entry for entry in entries if entry[0] is contender]
        _, call, error, clock, empty = min(own, key=lambda entry: min(entry[3].samples))
        loop = min(empty.samples)
        yield Result(
            model.name,
            contender.nv,
            function,
            contender.name,
            min(clock.samples) - loop,
            statistics.median(clock.samples) - loop,
            error,
            contender.statement(call),
        )


def run(
    model: BenchmarkModel,
    functions: Sequence[str],
    candidates: Sequence[type[Contender]],
    rounds: int,
    notes: list[str],
) -> Iterator[Result]:
    """Compare all candidates who can read the model."""
    tree = mbt.load_model(
        model.urdf, base="floating" if model.floating else "fixed", gravity=(0, 0, -GRAVITY)
    )
    contenders = []
    for contender in candidates:
        try:
            contenders.append(contender(model, tree))
        except ImportError as error:
            notes.append(f"{contender.name} is left out: {error}")
        except Exception as error:
            # A library that cannot read the model, for a reason of its own.
            reason = str(error).strip().splitlines()[0]
            notes.append(f"{contender.name} is left out on {model.name}: {type(error).__name__}: {reason}")
    states = make_states(tree, model.floating)
    for function in functions:
        yield from compare(model, function, contenders, states, rounds)


# Report -------------------------------------------------------------------------------------------------


def print_table(results: list[Result]) -> None:
    """One row per model and function, one column per contender."""
    present = {result.contender for result in results}
    names = [contender.name for contender in CONTENDERS if contender.name in present]
    head = f"{'model':<18}{'nv':>4}  {'function':<29}" + "".join(f"{name:>18}" for name in names)
    print(f"microseconds per call, minimum (median)\n\n{head}  agreement\n{'-' * (len(head) + 11)}")
    for rows in _by_row(results):
        cells = {row.contender: _cell(row) for row in rows}
        first = rows[0]
        error = max(row.error for row in rows)
        print(
            f"{first.model[:17]:<18}{first.nv:>4}  {first.function:<29}"
            + "".join(f"{cells.get(name, '-'):>18}" for name in names)
            + f"  {error:.0e}"
        )
    print("\nagreement: largest difference from mbt, relative to the largest entry, over all states.")
    if any(not row.agrees for row in results):
        print(f"! differs by more than {TOLERANCE:.0e}: not in the ratios.")


def _cell(row: Result) -> str:
    digits = _digits(row.minimum)
    return f"{'' if row.agrees else '!'}{row.minimum:.{digits}f} ({row.median:.{digits}f})"


def _digits(time: float) -> int:
    return 3 if time < 10 else 2 if time < 100 else 1


def print_markdown(results: list[Result]) -> None:
    """Print the minima as a table for docs/benchmarks.md."""
    names = list(dict.fromkeys(result.contender for result in results))
    print(f"| function | model | {' | '.join(names)} | fastest peer / mbt |")
    print("|---|---|" + "--:|" * (len(names) + 1))
    for rows in sorted(_by_row(results), key=lambda rows: FUNCTIONS.index(rows[0].function)):
        times = {row.contender: f"{row.minimum:.{_digits(row.minimum)}f}" for row in rows if row.agrees}
        ratio = _ratio(rows, "mbt", None) or _ratio(rows, "mbt Context", None)
        cells = [rows[0].function, rows[0].model, *(times.get(name, "") for name in names)]
        print(f"| {' | '.join(cells)} | {f'{ratio:.1f}' if ratio else ''} |")


def _by_row(results: list[Result]) -> Iterator[list[Result]]:
    rows: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        rows.setdefault((result.model, result.function), []).append(result)
    yield from rows.values()


def print_summary(results: list[Result]) -> None:
    """How many times the minimum of mbt the minimum of the others is: geometric mean over the models."""
    print("\nTime of the others over the time of mbt, geometric mean over the models:")
    for function in dict.fromkeys(result.function for result in results):
        parts = []
        for own in ("mbt", "mbt Context"):
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
            for statement in dict.fromkeys(row.statement for row in own):
                print(f"  {function:<29}{name:<13}{statement}")


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
    parser.add_argument(
        "--contenders", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names)
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--calls", action="store_true", help="print the statements behind the figures")
    parser.add_argument("--markdown", action="store_true", help="print the minima as a table in Markdown too")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse_arguments(arguments)
    functions = [function for function in FUNCTIONS if function.replace(" ", "-") in options.functions]
    candidates = [contender for contender in CONTENDERS if contender.name in options.contenders]
    models = [*options.models, *(read_lumped(path) for path in options.files)]
    models += [read_lumped(path, floating=True) for path in options.floating]
    notes: list[str] = []
    results: list[Result] = []
    for model in models or default_models():
        print(f"{model.name} ...", file=sys.stderr)
        results += run(model, functions, candidates, options.rounds, notes)
    print_table(results)
    print_summary(results)
    if options.markdown:
        print_markdown(results)
    if options.calls:
        print_calls(results)
    for note in dict.fromkeys(notes):
        print(note)
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in results], indent=1))


if __name__ == "__main__":
    main()
