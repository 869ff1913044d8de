"""C of recorded arithmetic: once for one state, and once for as many states as a register has lanes.

The text of the arithmetic is the same for both; macros say what a number is, and how it is read and written.
Sines and cosines of what depends on no other ones, which is nearly all of them, are computed together.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from mbt.compiling.tracing import Operation, Trace

__all__ = ["write_source"]

_SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_LEAVES = ("constant", "input")

_HEAD = r"""#include <math.h>
#include <string.h>

typedef double V __attribute__((vector_size(8 * W)));
typedef double Unaligned __attribute__((vector_size(8 * W), aligned(8), may_alias));
typedef unsigned long long Bits __attribute__((vector_size(8 * W)));
#define INLINE static inline __attribute__((always_inline, unused))
#define EACH _Pragma("GCC unroll 8") for (int i = 0; i < W; ++i)

INLINE V load(const double* const* rows, int j) { V r; EACH r[i] = rows[i][j]; return r; }
#if W == 8
#define LOW 0, 8, 1, 9, 2, 10, 3, 11
#define HIGH 4, 12, 5, 13, 6, 14, 7, 15
#elif W == 4
#define LOW 0, 4, 1, 5
#define HIGH 2, 6, 3, 7
#else
#define LOW 0, 2
#define HIGH 1, 3
#endif
#ifdef __clang__
#define ZIP(a, b, places) __builtin_shufflevector(a, b, places)
#else
#define ZIP(a, b, places) __builtin_shuffle(a, b, (Bits){places})
#endif

/* Of W states: a square of W of their numbers at a time is transposed, by zipping log2(W) times. */
INLINE void store_block(const V* o, double* out, int size) {
  int j = 0;
  for (; j + W <= size; j += W) {
    V x[W], y[W];
    EACH x[i] = o[j + i];
    _Pragma("GCC unroll 3") for (int step = 1; step < W; step *= 2) {
      _Pragma("GCC unroll 4") for (int i = 0; i < W / 2; ++i) {
        y[2 * i] = ZIP(x[i], x[i + W / 2], LOW);
        y[2 * i + 1] = ZIP(x[i], x[i + W / 2], HIGH);
      }
      EACH x[i] = y[i];
    }
    EACH *(Unaligned*)(out + (long long)i * size + j) = x[i];
  }
  for (; j < size; ++j) EACH out[(long long)i * size + j] = o[j][i];
}
INLINE void store(const V* o, double* out, int size, int present) {
  if (present == W) {
    store_block(o, out, size);
  } else {
    for (int i = 0; i < present; ++i)
      for (int j = 0; j < size; ++j) out[i * size + j] = o[j][i];
  }
}
INLINE V sqrt_v(V x) { V r; EACH r[i] = __builtin_sqrt(x[i]); return r; }
INLINE V floor_v(V x) { V r; EACH r[i] = __builtin_floor(x[i]); return r; }
INLINE V tanh_v(V x) { V r; EACH r[i] = tanh(x[i]); return r; }
INLINE V atan2_v(V y, V x) { V r; EACH r[i] = atan2(y[i], x[i]); return r; }
INLINE V select_v(V a, V b, V x, V y) { Bits m = (Bits)(a < b); return (V)((m & (Bits)x) | (~m & (Bits)y)); }

/* Beyond 1e6, and of what is not finite. */
static __attribute__((noinline, unused)) void sincos_far(const double* x, double* s, double* c) {
  EACH { s[i] = sin(x[i]); c[i] = cos(x[i]); }
}

/* |x| = k pi/2 + y; minimax polynomials of y; odd k exchange sine and cosine. */
INLINE void sincos_v(V x, V* s, V* c) {
  const Bits bits = (Bits)x;
  const V a = (V)(bits & 0x7fffffffffffffffull);
  const Bits near = (Bits)(a <= 1e6);
  int all = 1;
  EACH all &= near[i] != 0;
  if (__builtin_expect(!all, 0)) {
    double far[W], fs[W], fc[W];
    memcpy(far, &x, sizeof far);
    sincos_far(far, fs, fc);
    memcpy(s, fs, sizeof fs);
    memcpy(c, fc, sizeof fc);
    return;
  }
  const V shifted = a * 0x1.45f306dc9c883p-1 + 0x1.8p+52, k = shifted - 0x1.8p+52;
  const V y = a - k * 0x1.921fb544p+0 - k * 0x1.0b46p-34 - k * 0x1.1a626331p-54 - k * 0x1.1701b839a252p-88;
  const V z = y * y;
  const V p = -0x1.5555555555548p-3 + z * (0x1.111111110f730p-7 + z * (-0x1.a01a019be921cp-13 +
      z * (0x1.71de35552bdcep-19 + z * (-0x1.ae5e4b8480342p-26 + z * 0x1.5d8b55cdbd343p-33))));
  const V q = 0x1.555555555554bp-5 + z * (-0x1.6c16c16c15011p-10 + z * (0x1.a01a019c8e7bap-16 +
      z * (-0x1.27e4f7f0f0d2ep-22 + z * (0x1.1ee9db4d62799p-29 + z * -0x1.8fa6389b82d68p-37))));
  const Bits sine = (Bits)(y + y * z * p), cosine = (Bits)(1.0 - z * (0.5 - z * q)), quadrant = (Bits)shifted;
  const Bits exchange = (sine ^ cosine) & (0ull - (quadrant & 1ull));
  const Bits sign = (Bits){0} + 0x8000000000000000ull;
  *s = (V)(sine ^ exchange ^ (((quadrant << 62) ^ bits) & sign));
  *c = (V)(cosine ^ exchange ^ (((quadrant << 62) ^ (quadrant << 63)) & sign));
}

/* Of one state, a register at a time; there is room up to a multiple of W. */
INLINE void sincos_many(int n, double* x, double* s, double* c) {
  for (int i = n; i % W; ++i) x[i] = 0.0;
  for (int i = 0; i < n; i += W) {
    V sine, cosine;
    sincos_v(*(const Unaligned*)(x + i), &sine, &cosine);
    *(Unaligned*)(s + i) = sine;
    *(Unaligned*)(c + i) = cosine;
  }
}
"""

_ONE = r"""
#define R double
#define ROOM(n) (((n) + W - 1) / W * W)
#define CONSTANT(x) (x)
#define IN(k, i) inputs[k][i]
#define OUT(k, i, x) outputs[k][i] = x
#define SINCOS(n, x, s, c) sincos_many(n, x, s, c)
#define SIN(x) sin(x)
#define COS(x) cos(x)
#define SQRT(x) sqrt(x)
#define TANH(x) tanh(x)
#define ATAN2(y, x) atan2(y, x)
#define FLOOR(x) floor(x)
#define SELECT_LT(a, b, x, y) ((a) < (b) ? (x) : (y))
__attribute__((visibility("default")))
void mbt_one(const double* const* inputs, double* const* outputs) {
%(body)s
}
"""

_MANY = r"""
#undef R
#undef ROOM
#undef CONSTANT
#undef IN
#undef OUT
#undef SINCOS
#undef SIN
#undef COS
#undef SQRT
#undef TANH
#undef ATAN2
#undef FLOOR
#undef SELECT_LT
#define R V
#define ROOM(n) (n)
#define CONSTANT(x) ((V){0} + (x))
#define IN(k, i) load(rows[k], i)
#define OUT(k, i, x) o##k[i] = x
#define SINCOS(n, x, s, c) for (int k_ = 0; k_ < (n); ++k_) sincos_v(x[k_], s + k_, c + k_)
#define SQRT(x) sqrt_v(x)
#define TANH(x) tanh_v(x)
#define ATAN2(y, x) atan2_v(y, x)
#define FLOOR(x) floor_v(x)
#define SELECT_LT(a, b, x, y) select_v(a, b, x, y)
INLINE V sin_v(V x) { V s, c; sincos_v(x, &s, &c); return s; }
INLINE V cos_v(V x) { V s, c; sincos_v(x, &s, &c); return c; }
#define SIN(x) sin_v(x)
#define COS(x) cos_v(x)

static void block(const double* const* const* rows%(parameters)s) {
%(body)s
}

/* States of the last block that are not there repeat the last one. */
__attribute__((visibility("default")))
void mbt_many(const double* const* inputs, const SIZE* strides, double* const* outputs, SIZE count) {
%(declarations)s
  const double* states[%(num_inputs)d][W];
  const double* const* rows[%(num_inputs)d];
  for (SIZE first = 0; first < count; first += W) {
    const int present = count - first < W ? (int)(count - first) : W;
    for (int k = 0; k < %(num_inputs)d; ++k) {
      rows[k] = states[k];
      EACH states[k][i] = inputs[k] + (first + (i < present ? i : present - 1)) * strides[k];
    }
    block(rows%(arguments)s);
%(stores)s
  }
}
"""


def write_source(trace: Trace, num_inputs: int, outputs: list[list[int]], lanes: int) -> str:
    """Return C that defines `mbt_one` and `mbt_many`.

    Parameters
    ----------
    trace : Trace
        What was recorded; its inputs are ("input", which, entry).
    num_inputs : int
        How many arrays come in.
    outputs : list of list of int
        Indices of the operations whose results go out, by array.
    lanes : int
        States a register.
    """
    body = "\n".join(f"  {line}" for line in _Body(trace.operations, outputs).lines())
    sizes = [max(1, len(output)) for output in outputs]
    stores = (
        f"    store(o{k}, outputs[{k}] + first * {len(output)}, {len(output)}, present);"
        for k, output in enumerate(outputs)
    )
    many = _MANY % {
        "body": body,
        "num_inputs": num_inputs,
        "parameters": "".join(f", V* o{k}" for k in range(len(outputs))),
        "arguments": "".join(f", o{k}" for k in range(len(outputs))),
        "declarations": "\n".join(f"  V o{k}[{size}];" for k, size in enumerate(sizes)),
        "stores": "\n".join(stores),
    }
    return f"#define W {lanes}\n#define SIZE __PTRDIFF_TYPE__\n{_HEAD}{_ONE % {'body': body}}{many}"


class _Body:
    """Statements for those operations that results depend on."""

    def __init__(self, operations: list[Operation], outputs: list[list[int]]) -> None:
        self.operations = operations
        self.outputs = outputs
        self.used = self._find_used(index for output in outputs for index in output)

    def lines(self) -> list[str]:
        """Return them in an order in which they can be computed."""
        angles = self._find_angles()
        places = {angle: place for place, angle in enumerate(angles)}
        first = self._find_used(angles)
        lines = [self._statement(index) for index in sorted(first)]
        if angles:
            room = f"[ROOM({len(angles)})]"
            values = ", ".join(self._operand(angle) for angle in angles)
            lines.append(f"R x{room} = {{{values}}}, s{room}, c{room};")
            lines.append(f"SINCOS({len(angles)}, x, s, c);")
        for index in sorted(self.used - first):
            name, *operands = self.operations[index]
            if name in ("sin", "cos") and operands[0] in places:
                lines.append(f"const R t{index} = {name[0]}[{places[operands[0]]}];")
            else:
                lines.append(self._statement(index))
        for k, output in enumerate(self.outputs):
            lines += [f"OUT({k}, {i}, {self._operand(index)});" for i, index in enumerate(output)]
        return [line for line in lines if line]

    def _find_used(self, indices: Iterable[int]) -> set[int]:
        used: set[int] = set()
        waiting = list(indices)
        while waiting:
            index = waiting.pop()
            if index not in used:
                used.add(index)
                waiting.extend(self._operands(index))
        return used

    def _find_angles(self) -> list[int]:
        """Operands of sines and cosines that need no other sine or cosine first."""
        behind: set[int] = set()
        angles: dict[int, None] = {}
        for index in sorted(self.used):
            turning = self.operations[index][0] in ("sin", "cos")
            if any(operand in behind for operand in self._operands(index)):
                behind.add(index)
            elif turning:
                behind.add(index)
                angles[self._operands(index)[0]] = None
        return list(angles)

    def _operands(self, index: int) -> tuple[Any, ...]:
        name, *operands = self.operations[index]
        return () if name in _LEAVES else tuple(operands)

    def _operand(self, index: int) -> str:
        name, *rest = self.operations[index]
        return f"CONSTANT({_literal(rest[0])})" if name == "constant" else f"t{index}"

    def _statement(self, index: int) -> str:
        name, *operands = self.operations[index]
        if name == "constant":
            return ""
        if name == "input":
            value = f"IN({operands[0]}, {operands[1]})"
        elif name == "negative":
            value = f"-{self._operand(operands[0])}"
        elif name in _SIGNS:
            value = f" {_SIGNS[name]} ".join(map(self._operand, operands))
        else:
            value = f"{name.upper()}({', '.join(map(self._operand, operands))})"
        return f"const R t{index} = {value};"


def _literal(number: bytes) -> str:
    """Return a double in C, to the last bit."""
    value = struct.unpack("d", number)[0]
    if value != value:
        return "(0.0 / 0.0)"
    if value in (float("inf"), -float("inf")):
        return "HUGE_VAL" if value > 0.0 else "-HUGE_VAL"
    return str(value.hex())
