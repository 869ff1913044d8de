"""A folder of C for other machines: what a function computes, as a library that needs libm alone."""

from __future__ import annotations

import keyword
import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from mbt.compiling.source import write_body, write_literal, write_source
from mbt.compiling.traced_calls import TracedCall
from mbt.compiling.tracing import BINARY, UNARY
from mbt.errors import ArgumentTypeError, ArgumentValueError, quote, quote_path
from mbt.saving.files import replace_file

__all__ = ["export_call"]

_C_WORDS = frozenset(
    """auto break case char const continue default do double else enum extern float for goto if inline int
    long register restrict return short signed sizeof static struct switch typedef union unsigned void
    volatile while main""".split()  # noqa: SIM905
)

# Bytes of a register of the function of many states: every processor with vectors has these.
_REGISTER = 16
_NUM_TESTS = 8

_HEADER = """/* {name}: made by mbt for one model, whose numbers are built in.
 *
 * Arrays are contiguous, matrices row by row. Nothing is allocated, kept between calls, or checked: an output
 * may be an input, but arrays may not overlap otherwise. A state without a result gives NaN or infinities. */
#ifndef {guard}_H
#define {guard}_H

#ifdef {guard}_BATCHES
#include <stddef.h>
#endif

{sizes}

#ifdef __cplusplus
extern "C" {{
#endif

void {name}({parameters});

#ifdef {guard}_BATCHES
/* `count` states, one after the other; `strides` are the distances of states in each input, in numbers: its
 * size, or zero for one state that serves all. GCC or Clang compile it: {name}_batch.c. */
void {name}_batch(const {F}* const* inputs, const ptrdiff_t* strides, {F}* const* outputs, ptrdiff_t count);
#endif

#ifdef __cplusplus
}}
#endif

#endif
"""

_SOURCE = """/* Made by mbt; see {name}.h. C99. */
#include "{name}.h"

#include <math.h>

#define F {F}
#define FN(name) {FN}
#define R F
#define ROOM(n) (n)
#define CONSTANT(x) (x)
#define IN(k, i) mbt_inputs[k][i]
#define OUT(k, i, x) mbt_outputs[k][i] = x
#define SIN(x) FN(sin)(x)
#define COS(x) FN(cos)(x)
#define SINCOS(n, x, s, c) for (int i = 0; i < (n); ++i) {{ s[i] = SIN(x[i]); c[i] = COS(x[i]); }}
#define CALL(f, ...) FN(f)(__VA_ARGS__)
#define TRUTH int
#define LESS(a, b) ((a) < (b))
#define LESS_EQUAL(a, b) ((a) <= (b))
#define EQUAL(a, b) ((a) == (b))
#define NEGATE(a) (!(a))
#define SELECT(a, x, y) ((a) ? (x) : (y))

void {name}({parameters}) {{
  const F* const mbt_inputs[] = {{{inputs}}};
  F* const mbt_outputs[] = {{{outputs}}};
  (void)mbt_inputs;
  {{
{body}
  }}
}}
"""

_TEST = """/* Made by mbt: compares {name} with {tests} results computed in Python. It prints the largest
 * error, and returns 1 where one is larger than {tolerance:g} of the largest number of its result. */
#include "{name}.h"

#include <math.h>
#include <stdio.h>

#define F {F}

{arrays}

static double error_of(const F* got, const F* wanted, int size) {{
  double error = 0.0, scale = 1.0;
  for (int i = 0; i < size; ++i) {{
    if (fabs((double)wanted[i]) > scale) scale = fabs((double)wanted[i]);
    const double difference = fabs((double)got[i] - (double)wanted[i]);
    if (!(difference <= error)) error = difference;
  }}
  return error / scale;
}}

int main(void) {{
  double worst = 0.0;
  for (int test = 0; test < {tests}; ++test) {{
{locals}
    {name}({call});
{checks}
  }}
  printf("{name}: largest error %g in {tests} tests\\n", worst);
  return worst <= {tolerance:g} ? 0 : 1;
}}
"""

_CMAKE = """cmake_minimum_required(VERSION 3.13)
project({name} C)

option({guard}_BATCHES "Also compile {name}_batch, which needs GCC or Clang" OFF)

add_library({name} STATIC {name}.c)
target_include_directories({name} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
set_target_properties({name} PROPERTIES C_STANDARD 99)
if(NOT MSVC)
  target_link_libraries({name} PUBLIC m)
endif()
if({guard}_BATCHES)
  target_sources({name} PRIVATE {name}_batch.c)
  target_compile_definitions({name} PUBLIC {guard}_BATCHES)
  set_source_files_properties({name}_batch.c PROPERTIES COMPILE_OPTIONS "-std=gnu11;-w;-fno-math-errno")
endif()

enable_testing()
add_executable({name}_test {name}_test.c)
target_link_libraries({name}_test {name})
if(CMAKE_CROSSCOMPILING OR NOT CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  set_target_properties({name}_test PROPERTIES EXCLUDE_FROM_ALL TRUE)  # It may need code of the board.
endif()
add_test(NAME {name} COMMAND {name}_test)
"""


def export_call(call: TracedCall, folder: Any, name: object, dtype: Any) -> Path:
    """Write what a call recorded into a folder, and return its path.

    Parameters
    ----------
    call : TracedCall
        What was recorded.
    folder : str or path
        Where to; it is made if it does not exist. Files of the same names are overwritten.
    name : str
        Of the C function and of its files.
    dtype : dtype
        Of all numbers.
    """
    title = _check_name(name, "name")
    outputs = _names_of_outputs(call)
    for given in (*call.inputs, *outputs):
        _check_name(given, "a name of an argument or a result, which export= makes one in C")
    if overlap := set(call.inputs) & set(outputs):
        raise ArgumentValueError(
            f"export: {quote(min(overlap))} is an argument and a result; in C they need names of their own"
        )
    if not isinstance(folder, (str, Path)):
        raise ArgumentTypeError(f"export: expected the path of a folder, got {quote(folder)}")
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentValueError(f"export: cannot make {quote_path(str(path))}: {error.strerror}") from error
    for file, text in _texts(call, title, outputs, dtype == np.float32).items():
        replace_file(path / file, text.encode("ascii"), 0o644)
    return path


def _names_of_outputs(call: TracedCall) -> list[str]:
    if call.kind is dict:
        return list(call.outputs)
    return ["result"] if call.kind is np.ndarray else [f"result{i}" for i in range(len(call.outputs))]


def _check_name(name: object, what: str) -> str:
    if not isinstance(name, str):
        raise ArgumentTypeError(f"{what}: expected a name in C, got {quote(name)}")
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in _C_WORDS or keyword.iskeyword(name):
        raise ArgumentValueError(f"{what}: expected letters, digits and _, no word of C, got {quote(name)}")
    return name


def _texts(call: TracedCall, name: str, outputs: list[str], single: bool) -> dict[str, str]:
    """Return the files."""
    F = "float" if single else "double"
    shapes = [*call.inputs.values(), *call.outputs.values()]
    sizes = dict(zip((*call.inputs, *outputs), map(math.prod, shapes), strict=True))
    common = {
        "name": name,
        "guard": name.upper(),
        "F": F,
        "FN": "name##f" if single else "name",
        "parameters": ", ".join(
            [f"const {F}* {array}" for array in call.inputs] + [f"{F}* {array}" for array in outputs]
        )
        or "void",
    }
    lines = [
        f"#define {name.upper()}_SIZE_OF_{array.upper()} {size} /* {_describe(shape)} */"
        for (array, size), shape in zip(sizes.items(), shapes, strict=True)
    ]
    body = "\n".join(f"    {line}" for line in write_body(call.trace, call.results, single))
    batch = write_source(call.trace, [sizes[array] for array in call.inputs], call.results, _REGISTER, single)
    batch = batch.replace("mbt_many", f"{name}_batch").replace(
        '__attribute__((visibility("default")))\nvoid mbt_one', "static __attribute__((unused)) void one"
    )
    return {
        f"{name}.h": _HEADER.format(sizes="\n".join(lines), **common),
        f"{name}.c": _SOURCE.format(
            # An array in C has one entry at least.
            inputs=", ".join(call.inputs) or "0",
            outputs=", ".join(outputs),
            body=body,
            **common,
        ),
        f"{name}_batch.c": batch,
        f"{name}_test.c": _write_test(call, sizes, outputs, single, common),
        "CMakeLists.txt": _CMAKE.format(**common),
    }


def _describe(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a number"


def _write_test(
    call: TracedCall, sizes: dict[str, int], outputs: list[str], single: bool, common: dict[str, str]
) -> str:
    """Return a program that compares the C with results of Python."""
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {}
    for array, shape in call.inputs.items():
        arrays[array] = rng.uniform(-1.0, 1.0, (_NUM_TESTS, sizes[array]))
        if shape in ((3, 3), (4, 4)):
            # It may be a rotation, or a pose.
            arrays[array] = _random_poses(rng, shape[0]).reshape(_NUM_TESTS, sizes[array])
    if single:
        arrays = {array: values.astype(np.float32).astype(float) for array, values in arrays.items()}
    results = [_evaluate(call, [values[i] for values in arrays.values()]) for i in range(_NUM_TESTS)]
    for k, array in enumerate(outputs):
        arrays[array] = np.stack([result[k] for result in results])
    texts = [
        f"static const F {prefix}{array}[{_NUM_TESTS}][{max(1, sizes[array])}] = {{\n"
        + ",\n".join(
            "  {" + ", ".join(write_literal(x, single) for x in row) + "}" if len(row) else "  {0}"
            for row in values
        )
        + "\n};"
        for array, values in arrays.items()
        for prefix in ["wanted_" if array in outputs else "given_"]
    ]
    return _TEST.format(
        tests=_NUM_TESTS,
        tolerance=1e-3 if single else 1e-9,
        arrays="\n".join(texts),
        locals="\n".join(f"    F got_{array}[{max(1, sizes[array])}];" for array in outputs),
        call=", ".join(
            [f"given_{array}[test]" for array in call.inputs] + [f"got_{array}" for array in outputs]
        ),
        checks="\n".join(
            f"    worst = fmax(worst, error_of(got_{array}, wanted_{array}[test], {sizes[array]}));"
            for array in outputs
        ),
        **common,
    )


def _random_poses(rng: np.random.Generator, size: int) -> Any:
    poses = np.zeros((_NUM_TESTS, size, size))
    for pose in poses:
        Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        pose[:3, :3] = Q * np.sign(np.linalg.det(Q))
        if size == 4:
            pose[:, 3] = *rng.uniform(-1.0, 1.0, 3), 1.0
    return poses


_OPERATORS: dict[str, Any] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": np.divide,
    "negative": lambda x: -x,
    "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y,
    "equal": lambda x, y: x == y,
    "negate": lambda x: not x,
    "both": lambda x, y: x and y,
    "either": lambda x, y: x or y,
    "select": lambda condition, x, y: x if condition else y,
    **UNARY,
    **BINARY,
}


def _evaluate(call: TracedCall, inputs: list[Any]) -> list[Any]:
    """Return the results in doubles, in Python."""
    numbers: list[Any] = []
    with np.errstate(all="ignore"):
        for number in call.trace.numbers:
            name, *rest = call.trace.operations[number.index]
            if name == "constant":
                numbers.append(np.float64(number.value))  # type: ignore[attr-defined]
            elif name == "input":
                numbers.append(np.float64(inputs[rest[0]][rest[1]]))
            else:
                numbers.append(_OPERATORS[name](*(numbers[index] for index in rest)))
    return [np.array([numbers[index] for index in result]) for result in call.results]
