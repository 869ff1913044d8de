"""Recorded arithmetic as C: once for one state, and once for as many states as a register has lanes.

The text of the arithmetic is the same for both; macros define the type of a value and how it is read and
written. It is split into functions, because compilation time grows faster than the length of a function.
Sines and cosines whose angles depend on no others, which is nearly all of them, are computed together.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Iterator

from mbt.compiling.schedule import CALLED, CONDITIONS, DOUBLE, SINGLE, Schedule, zip_places
from mbt.compiling.tracing import UNARY, Operation, Trace

__all__ = ["write_body", "write_literal", "write_source"]

_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "both": "&", "either": "|"}

_NUMBERS = """#define F {F}
#define U {U}
#define FN(name) name{suffix}
#define TOP {top}
#define FAR (F){far}
#define ROUNDING (F){rounding}
#define REDUCED a{parts}
#define SINE {sine}
#define COSINE {cosine}
"""

_HEAD = r"""#include <math.h>
#include <string.h>

typedef F V __attribute__((vector_size(W * sizeof(F))));
typedef F Unaligned __attribute__((vector_size(W * sizeof(F)), aligned(sizeof(F)), may_alias));
typedef U Bits __attribute__((vector_size(W * sizeof(F))));
#define INLINE static inline __attribute__((always_inline, unused))
#define EACH _Pragma("GCC unroll 16") for (int i = 0; i < W; ++i)

#ifdef __clang__
#define ZIP(a, b, places) __builtin_shufflevector(a, b, places)
#else
#define ZIP(a, b, places) __builtin_shuffle(a, b, (Bits){places})
#endif

/* Transposes n registers by zipping log2(n) times: as squares, or in pieces of 16 bytes. */
#define ZIPPED(n, of) \
  V y[n]; \
  _Pragma("GCC unroll 4") for (int step = 1; step < n; step *= 2) { \
    _Pragma("GCC unroll 8") for (int i = 0; i < n / 2; ++i) { \
      y[2 * i] = ZIP(x[i], x[i + n / 2], LOW##of); \
      y[2 * i + 1] = ZIP(x[i], x[i + n / 2], HIGH##of); \
    } \
    _Pragma("GCC unroll 16") for (int i = 0; i < n; ++i) x[i] = y[i]; \
  }

typedef F Piece __attribute__((vector_size(16), aligned(sizeof(F)), may_alias));
#define EACH_OF_PIECE _Pragma("GCC unroll 4") for (int i = 0; i < P; ++i)
/* Pieces of entries that do not fill registers: the last piece may overlap the one before. */
#define REST(j, size) for (; j < size; j = j + P < size && j + 2 * P > size ? size - P : j + P)

#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define JOINS
#endif
#endif

/* Loads from the rows of W states; with GCC before 12, one value at a time. */
INLINE void load(const F* const* rows, V* v, int size) {
  int j = 0;
#ifdef JOINS
  if (size >= P) REST(j, size) {
    V x[P];
    EACH_OF_PIECE {
#define PIECE(k) (*(const Piece*)(rows[k * P + i] + j))
#if PIECES == 4
      x[i] = __builtin_shufflevector(
          __builtin_shufflevector(PIECE(0), PIECE(1), TWO_PIECES),
          __builtin_shufflevector(PIECE(2), PIECE(3), TWO_PIECES), ALL);
#elif PIECES == 2
      x[i] = __builtin_shufflevector(PIECE(0), PIECE(1), ALL);
#else
      x[i] = PIECE(0);
#endif
    }
    ZIPPED(P, _OF_PIECES)
    EACH_OF_PIECE v[j + i] = x[i];
  }
#endif
  for (; j < size; ++j) EACH v[j][i] = rows[i][j];
}

INLINE void store_block(const V* o, F* out, int size) {
  int j = 0;
  for (; j + W <= size; j += W) {
    V x[W];
    EACH x[i] = o[j + i];
    ZIPPED(W, )
    EACH *(Unaligned*)(out + (long long)i * size + j) = x[i];
  }
  if (j < size && size >= P) {
    if (j + P > size) j = size - P;
    REST(j, size) {
      V x[P];
      EACH_OF_PIECE x[i] = o[j + i];
      ZIPPED(P, _OF_PIECES)
      EACH_OF_PIECE {
        const Piece* pieces = (const Piece*)(x + i);
        _Pragma("GCC unroll 4") for (int k = 0; k < PIECES; ++k)
          *(Piece*)(out + (long long)(k * P + i) * size + j) = pieces[k];
      }
    }
  }
  for (; j < size; ++j) EACH out[(long long)i * size + j] = o[j][i];
}
INLINE void store(const V* o, F* out, int size, int present) {
  if (present == W) {
    store_block(o, out, size);
  } else {
    for (int i = 0; i < present; ++i)
      for (int j = 0; j < size; ++j) out[i * size + j] = o[j][i];
  }
}
#define OF_ONE(f) INLINE V f##_v(V x) { V r; EACH r[i] = FN(__builtin_##f)(x[i]); return r; }
#define OF_TWO(f) INLINE V f##_v(V x, V y) { V r; EACH r[i] = FN(__builtin_##f)(x[i], y[i]); return r; }
@FUNCTIONS
INLINE V select_v(Bits m, V x, V y) { return (V)((m & (Bits)x) | (~m & (Bits)y)); }

/* |x| = k pi/2 + y; minimax polynomials in y; odd k exchange sine and cosine. Returns which |x| are near. */
INLINE Bits sincos_v(V x, V* s, V* c) {
  const Bits bits = (Bits)x, sign = (Bits){0} + ((U)1 << TOP);
  const V a = (V)(bits & ~sign);
  const V shifted = a * (F)0x1.45f306dc9c883p-1 + ROUNDING, k = shifted - ROUNDING;
  const V y = REDUCED;
  const V z = y * y;
  const V p = SINE, q = COSINE;
  const Bits sine = (Bits)(y + y * z * p), cosine = (Bits)((F)1.0 - z * ((F)0.5 - z * q));
  const Bits quadrant = (Bits)shifted;
  const Bits exchange = (sine ^ cosine) & (0 - (quadrant & 1));
  *s = (V)(sine ^ exchange ^ (((quadrant << (TOP - 1)) ^ bits) & sign));
  *c = (V)(cosine ^ exchange ^ (((quadrant << (TOP - 1)) ^ (quadrant << TOP)) & sign));
  return (Bits)(a <= FAR);
}

/* Recomputes those that are far or not finite; the others keep their results. */
static __attribute__((noinline, unused)) void sincos_far(int n, const F* x, F* s, F* c) {
  for (int i = 0; i < n; ++i)
    if (!(FN(fabs)(x[i]) <= FAR)) { s[i] = FN(sin)(x[i]); c[i] = FN(cos)(x[i]); }
}

/* One register at a time; the arrays have room for a multiple of W entries. */
INLINE void sincos_many(int n, const F* x, F* s, F* c) {
  Bits near = ~(Bits){0};
  for (int i = 0; i < n; i += W) {
    V sine, cosine;
    near &= sincos_v(*(const Unaligned*)(x + i), &sine, &cosine);
    *(Unaligned*)(s + i) = sine;
    *(Unaligned*)(c + i) = cosine;
  }
  unsigned long long parts[sizeof near / 8], all = ~0ull;
  memcpy(parts, &near, sizeof near);
  for (int i = 0; i < (int)sizeof near / 8; ++i) all &= parts[i];
  if (__builtin_expect(all != ~0ull, 0)) sincos_far(n, x, s, c);
}
"""

_ONE = r"""
#define R F
#define ROOM(n) (((n) + W - 1) / W * W)
#define CONSTANT(x) (x)
#define IN(k, j) i##k[j]
#define OUT(k, i, x) o##k[i] = x
#define NAME(k) one_##k
#define SINCOS(n, x, s, c) \
  for (int i = n; i %% W; ++i) x[i] = 0; \
  sincos_many(n, x, s, c)
#define SIN(x) FN(sin)(x)
#define COS(x) FN(cos)(x)
#define CALL(f, ...) FN(f)(__VA_ARGS__)
#define TRUTH int
#define LESS(a, b) ((a) < (b))
#define LESS_EQUAL(a, b) ((a) <= (b))
#define EQUAL(a, b) ((a) == (b))
#define NEGATE(a) (!(a))
#define SELECT(a, x, y) ((a) ? (x) : (y))
%(pieces)s

/* A result may overwrite an input. */
__attribute__((visibility("default")))
void mbt_one(const F* const* inputs, F* const* outputs) {
%(copies)s
%(body)s
}
"""

_MANY = r"""
#undef R
#undef ROOM
#undef CONSTANT
#undef NAME
#undef SINCOS
#undef SIN
#undef COS
#undef CALL
#undef TRUTH
#undef LESS
#undef LESS_EQUAL
#undef EQUAL
#undef NEGATE
#undef SELECT
#define R V
#define ROOM(n) (n)
#define CONSTANT(x) ((V){0} + (x))
#define NAME(k) many_##k
#define SINCOS(n, x, s, c) sincos_many((n) * W, (const F*)x, (F*)s, (F*)c)
#define CALL(f, ...) f##_v(__VA_ARGS__)
#define TRUTH Bits
#define LESS(a, b) ((Bits)((a) < (b)))
#define LESS_EQUAL(a, b) ((Bits)((a) <= (b)))
#define EQUAL(a, b) ((Bits)((a) == (b)))
#define NEGATE(a) (~(a))
#define SELECT(a, x, y) select_v(a, x, y)
INLINE V sin_v(V x) { V s, c; SINCOS(1, &x, &s, &c); return s; }
INLINE V cos_v(V x) { V s, c; SINCOS(1, &x, &s, &c); return c; }
#define SIN(x) sin_v(x)
#define COS(x) cos_v(x)

%(pieces)s

static void block(%(parameters)s) {
%(body)s
}

/* The last block is filled up with copies of the last state. */
__attribute__((visibility("default")))
void mbt_many(const F* const* inputs, const SIZE* strides, F* const* outputs, SIZE count) {
%(declarations)s
  const F* rows[W];
  for (SIZE first = 0; first < count; first += W) {
    const int present = count - first < W ? (int)(count - first) : W;
%(loads)s
    block(%(arguments)s);
%(stores)s
  }
}
"""


def write_source(
    trace: Trace, inputs: list[int], outputs: list[list[int]], register: int, single: bool
) -> str:
    """Return C that defines `mbt_one` and `mbt_many`.

    Parameters
    ----------
    trace : Trace
        The recorded operations; an input is ("input", array, entry).
    inputs : list of int
        Sizes of the input arrays.
    outputs : list of list of int
        For each output array, the indices of the operations that give its entries.
    register : int
        Register size in bytes.
    single : bool
        Whether values are floats rather than doubles.
    """
    text = _Body(trace.operations, outputs, single)
    sizes = {f"i{k}": size for k, size in enumerate(inputs)}
    sizes |= {f"o{k}": len(output) for k, output in enumerate(outputs)}
    parameters = ", ".join(f"{'const ' * array.startswith('i')}R* restrict {array}" for array in sizes)
    code = {
        "body": _indent(text.main(list(sizes))),
        "pieces": "\n".join(text.pieces(parameters)),
        "parameters": parameters,
    }
    copies = [
        f"F {array}[{max(1, size)}]; memcpy({array}, inputs[{array[1:]}], {size} * sizeof(F));"
        if array.startswith("i")
        else f"F* {array} = outputs[{array[1:]}];"
        for array, size in sizes.items()
    ]
    one = _ONE % (code | {"copies": _indent(copies)})
    loads = (
        f"    EACH rows[i] = inputs[{k}] + (first + (i < present ? i : present - 1)) * strides[{k}];\n"
        f"    load(rows, i{k}, {size});"
        for k, size in enumerate(inputs)
    )
    stores = (
        f"    store(o{k}, outputs[{k}] + first * {len(output)}, {len(output)}, present);"
        for k, output in enumerate(outputs)
    )
    many = _MANY % {
        **code,
        "arguments": ", ".join(sizes),
        "declarations": "\n".join(f"  V {array}[{max(1, size)}];" for array, size in sizes.items()),
        "loads": "\n".join(loads),
        "stores": "\n".join(stores),
    }
    head = _write_numbers(register // (4 if single else 8), 4 if single else 2)
    functions = "\n".join(
        f"OF_{'ONE' if name in UNARY else 'TWO'}({name})" for name in sorted(CALLED & text.schedule.names())
    )
    shared = _HEAD.replace("@FUNCTIONS", functions)
    return f"{head}{_write_sines(single)}{shared}{one}{many}"


def write_body(trace: Trace, outputs: list[list[int]], single: bool) -> list[str]:
    """Return only the statements: macros define the type of a value and how it is read and written."""
    return _Body(trace.operations, outputs, single).lines()


def _indent(lines: Iterable[str]) -> str:
    return "\n".join(f"  {line}" for line in lines)


def write_literal(value: float, single: bool) -> str:
    """Return a C literal."""
    return _literal(struct.pack("d", value), single).replace("(F)", "")


def _write_numbers(lanes: int, piece: int) -> str:
    """Return the macros that depend on the number of lanes in a register, and in 16 bytes of it."""
    whole, of_pieces = zip_places(lanes, lanes), zip_places(lanes, piece)
    numbers: dict[str, Iterable[object]] = {
        "W": [lanes],
        "P": [piece],
        "PIECES": [lanes // piece],
        "LOW": whole[0],
        "HIGH": whole[1],
        "LOW_OF_PIECES": of_pieces[0],
        "HIGH_OF_PIECES": of_pieces[1],
        "TWO_PIECES": range(2 * piece),
        "ALL": range(lanes),
        "SIZE": ["__PTRDIFF_TYPE__"],
    }
    return "".join(f"#define {name} {', '.join(map(str, values))}\n" for name, values in numbers.items())


def _write_sines(single: bool) -> str:
    """Return the macros for the floating-point type and for the polynomials of sines and cosines."""
    numbers = SINGLE if single else DOUBLE
    suffix = "f" if single else ""

    def horner(coefficients: tuple[str, ...]) -> str:
        *others, text = (c + suffix for c in coefficients)
        for c in reversed(others):
            text = f"{c} + z * ({text})"
        return text

    return _NUMBERS.format(
        F="float" if single else "double",
        U="unsigned" if single else "unsigned long long",
        suffix="##f" if single else "",
        top=numbers["top"],
        far=numbers["far"],
        rounding=numbers["rounding"],
        parts="".join(f" - k * {part}{suffix}" for part in numbers["parts"]),
        sine=horner(numbers["sine"]),
        cosine=horner(numbers["cosine"]),
    )


class _Body:
    """Statements for the operations that results depend on."""

    def __init__(self, operations: list[Operation], outputs: list[list[int]], single: bool) -> None:
        self.operations, self.single = operations, single
        self.schedule = Schedule(operations, outputs)

    def lines(self) -> list[str]:
        """Return all statements, in the order of the schedule."""
        return [*self._first_lines(), *self._statements(self.schedule.after)]

    def main(self, arrays: list[str]) -> list[str]:
        """Return the statements that precede the pieces, and the calls of the pieces."""
        schedule = self.schedule
        lines = self._first_lines()
        if not schedule.angles:
            lines.append("R s[1], c[1];")
        lines.append(f"R m[{max(1, schedule.room)}];")
        lines += [line for index in schedule.before for line in self._keep(index)]
        arguments = ", ".join([*arrays, "m", "s", "c"])
        return lines + [f"NAME({k})({arguments});" for k in range(len(schedule.pieces))]

    def pieces(self, parameters: str) -> Iterator[str]:
        """Return the functions of the pieces; the memory m passes values from one to later ones."""
        head = ", ".join([*parameters.split(", "), "R* restrict m", "const R* s", "const R* c"])
        for k, piece in enumerate(self.schedule.pieces):
            known: set[int] = set()
            lines: list[str] = []
            for index in piece:
                for operand in self.schedule.outside(index, known):
                    lines.append(self._read(operand))
                    known.add(operand)
                lines += [*self._statements([index]), *self._keep(index)]
                known.add(index)
            yield (f"static __attribute__((noinline)) void NAME({k})({head}) {{\n{_indent(lines)}\n}}")

    def _keep(self, index: int) -> list[str]:
        """Return the statement that stores a value for later pieces, a condition as a number."""
        if index not in self.schedule.slots:
            return []
        is_condition = self.operations[index][0] in CONDITIONS
        value = f"SELECT(t{index}, CONSTANT((F)1), CONSTANT((F)0))" if is_condition else f"t{index}"
        return [f"m[{self.schedule.slots[index]}] = {value};"]

    def _read(self, index: int) -> str:
        """Return the statement that reads a value computed before a piece."""
        if index not in self.schedule.slots:
            return f"const R t{index} = {self._value(index)};"
        value = f"m[{self.schedule.slots[index]}]"
        if self.operations[index][0] in CONDITIONS:
            return f"const TRUTH t{index} = LESS(CONSTANT((F)0), {value});"
        return f"const R t{index} = {value};"

    def _first_lines(self) -> list[str]:
        schedule, angles = self.schedule, self.schedule.angles
        lines = [f"const R t{index} = {self._value(index)};" for index in schedule.inputs]
        for index in (*schedule.inputs, *schedule.constants):
            lines += self._results(index)
        lines += self._statements(schedule.before)
        if angles:
            room = f"[ROOM({len(angles)})]"
            values = ", ".join(self._operand(angle) for angle in angles)
            lines.append(f"R x{room} = {{{values}}}, s{room}, c{room};")
            lines.append(f"SINCOS({len(angles)}, x, s, c);")
        return lines

    def _statements(self, indices: list[int]) -> list[str]:
        lines: list[str] = []
        for index in indices:
            kind = "TRUTH" if self.operations[index][0] in CONDITIONS else "R"
            lines += [f"const {kind} t{index} = {self._value(index)};", *self._results(index)]
        return lines

    def _operand(self, index: int) -> str:
        name, *rest = self.operations[index]
        return f"CONSTANT({_literal(rest[0], self.single)})" if name == "constant" else f"t{index}"

    def _results(self, index: int) -> list[str]:
        return [f"OUT({k}, {i}, {self._operand(index)});" for k, i in self.schedule.places.get(index, ())]

    def _value(self, index: int) -> str:
        name, *operands = self.operations[index]
        if index in self.schedule.turned:
            turned, place = self.schedule.turned[index]
            return f"{turned}[{place}]"
        if name == "input":
            return f"IN({operands[0]}, {operands[1]})"
        if name == "negative":
            return f"-{self._operand(operands[0])}"
        if name in _SIGNS:
            return f" {_SIGNS[name]} ".join(map(self._operand, operands))
        values = ", ".join(map(self._operand, operands))
        return f"CALL({name}, {values})" if name in CALLED else f"{name.upper()}({values})"


def _literal(number: bytes, single: bool) -> str:
    """Return the C literal of a double, exact to the last bit, or of the nearest float."""
    value = struct.unpack("d", number)[0]
    if single:
        value = ctypes.c_float(value).value
    if value != value:
        return "(F)NAN"
    if value in (float("inf"), -float("inf")):
        return "(F)INFINITY" if value > 0.0 else "-(F)INFINITY"
    return f"{value.hex()}{'f' if single else ''}"
