"""Recorded arithmetic as LLVM IR: the two functions that `source.py` writes in C."""

from __future__ import annotations

import ctypes
import struct
from typing import Any

from mbt.compiling.schedule import CALLED, CONDITIONS, DOUBLE, SINGLE, Schedule, zip_places
from mbt.compiling.tracing import BINARY, UNARY, Trace

__all__ = ["write_assembly"]

#: Processor instructions rather than functions of libm.
_INTRINSICS = ("sqrt", "fabs", "floor", "ceil", "trunc", "rint", "copysign")
_ARITHMETIC = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
#: What LLVM may assume about an array, by the first letter of its name.
_NO_ALIAS = {"i": "noalias readonly", "o": "noalias", "m": "noalias", "s": "readonly", "c": "readonly"}
#: Up to this many operations stay in one function. Split, batches of mass matrices of a chain of 15 (some
#: 2,400 operations) take 20 % longer and derivatives of an arm 10 %; inverse dynamics of eight arms (4,700)
#: takes 20 % less.
_WHOLE = 4_000
_COMPARISONS = {"less": "olt", "less_equal": "ole", "equal": "oeq"}


def write_assembly(
    trace: Trace, inputs: list[int], outputs: list[list[int]], register: int, single: bool
) -> str:
    """Return an LLVM module that defines `mbt_one` and `mbt_many`; takes the arguments of `write_source`."""
    schedule = Schedule(trace.operations, outputs, _WHOLE)
    lanes = register // (4 if single else 8)
    of_one, of_block = _Function(1, single), _Function(lanes, single)
    one = _write_one(schedule, inputs, outputs, of_one, lanes)
    block = _write_block(schedule, inputs, outputs, of_block)
    many = _write_many(inputs, outputs, of_block)
    called = {name for name in schedule.names() & CALLED if name not in _INTRINSICS} | {"sin", "cos"}
    F = of_one.F
    declarations = [
        f"declare {F} @{name}{'f' if single else ''}({', '.join([F] * (2 if name in BINARY else 1))}) #1"
        for name in sorted(called)
    ]
    return "\n".join([*declarations, _write_sincos(of_block), one, block, many, _ATTRIBUTES])


_ATTRIBUTES = """attributes #0 = { nounwind "no-trapping-math"="true" }
attributes #1 = { nounwind willreturn memory(none) }
attributes #2 = { nounwind noinline "no-trapping-math"="true" }
"""


class _Function:
    """Lines of a function whose values are scalars (one state) or vectors (one state per register lane)."""

    def __init__(self, lanes: int, single: bool) -> None:
        self.lanes, self.single = lanes, single
        self.F = "float" if single else "double"
        self.bits = 32 if single else 64
        self.R, self.B, self.U = (self._wide(kind) for kind in (self.F, "i1", f"i{self.bits}"))
        #: Name of this type within names of intrinsic functions.
        self.suffix = ("" if lanes == 1 else f"v{lanes}") + f"f{self.bits}"
        self.lines: list[str] = []
        self._number = 0

    def _wide(self, kind: str) -> str:
        return kind if self.lanes == 1 else f"<{self.lanes} x {kind}>"

    def add(self, text: str) -> str:
        """Write an instruction and return the name of its result."""
        self._number += 1
        self.lines.append(f"%x{self._number} = {text}")
        return f"%x{self._number}"

    def do(self, text: str) -> None:
        """Write an instruction without a result."""
        self.lines.append(text)

    def take(self) -> str:
        """Return the lines and clear them."""
        text = "\n".join(line if line.endswith(":") else f"  {line}" for line in self.lines)
        self.lines = []
        return text

    def number(self, value: float) -> str:
        """Return a floating-point literal, rounded to the type, in each lane."""
        if self.single:
            value = ctypes.c_float(value).value
        literal = f"{self.F} 0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
        return literal.split()[1] if self.lanes == 1 else f"splat ({literal})"

    def integer(self, value: int) -> str:
        """Return an integer literal of the same width as the floating-point type, in each lane."""
        return str(value) if self.lanes == 1 else f"splat (i{self.bits} {value})"

    def arithmetic(self, name: str, a: str, b: str) -> str:
        """Write an operation that LLVM may contract: a product and a sum may be rounded once."""
        return self.add(f"{name} contract {self.R} {a}, {b}")

    def integers(self, name: str, a: str, b: str) -> str:
        """Write an integer operation."""
        return self.add(f"{name} {self.U} {a}, {b}")

    def intrinsic(self, name: str, *operands: str) -> str:
        """Write a call of an intrinsic function."""
        values = ", ".join(f"{self.R} {operand}" for operand in operands)
        return self.add(f"call {self.R} @llvm.{name}.{self.suffix}({values})")

    def place(self, array: str, index: int, kind: str | None = None) -> str:
        """Write the computation of an array entry's address."""
        return self.add(f"getelementptr {kind or self.R}, ptr {array}, i64 {index}")

    def load(self, array: str, index: int, kind: str | None = None) -> str:
        """Write the load of an array entry."""
        kind = kind or self.R
        return self.add(f"load {kind}, ptr {self.place(array, index, kind)}")

    def store(self, value: str, array: str, index: int, kind: str | None = None) -> None:
        """Write the store of an array entry."""
        kind = kind or self.R
        self.do(f"store {kind} {value}, ptr {self.place(array, index, kind)}")

    def call(self, name: str, operands: list[str]) -> str:
        """Write a call of a libm function, lane by lane."""
        name = f"@{name}f" if self.single else f"@{name}"
        if self.lanes == 1:
            return self.add(f"call {self.F} {name}({', '.join(f'{self.F} {x}' for x in operands)})")
        result = "poison"
        for i in range(self.lanes):
            entries = [self.add(f"extractelement {self.R} {operand}, i64 {i}") for operand in operands]
            value = self.add(f"call {self.F} {name}({', '.join(f'{self.F} {x}' for x in entries)})")
            result = self.add(f"insertelement {self.R} {result}, {self.F} {value}, i64 {i}")
        return result

    def zip(self, registers: list[str], of_pieces: bool) -> list[str]:
        """Write the transposition of registers: as a square, or in pieces of 16 bytes."""
        n = len(registers)
        low, high = zip_places(self.lanes, n if of_pieces else self.lanes)
        step = 1
        while step < n:
            halves = zip(registers[: n // 2], registers[n // 2 :], strict=True)
            registers = [self.shuffle(a, b, places) for a, b in halves for places in (low, high)]
            step *= 2
        return registers

    def shuffle(self, a: str, b: str, places: list[int], kind: str | None = None) -> str:
        """Write a shuffle that selects the lanes `places` of two registers."""
        kind = kind or self.R
        mask = ", ".join(f"i32 {place}" for place in places)
        return self.add(f"shufflevector {kind} {a}, {kind} {b}, <{len(places)} x i32> <{mask}>")


def _write_operations(schedule: Schedule, to: _Function, arrays: list[str], room: int) -> str:
    """Write the recorded operations and their results; return the functions of the pieces, which it calls.

    Inputs and results are the `arrays`; the number of angles is rounded up to a multiple of `room`.
    """
    passed = ", ".join(f"ptr {array}" for array in [*arrays, "%m", "%s", "%c"])
    parameters = ", ".join(f"ptr {_NO_ALIAS[array[1]]} {array}" for array in [*arrays, "%m", "%s", "%c"])
    is_whole = len(schedule.pieces) == 1
    functions = [
        f"define internal void @{to.suffix}_{k}({parameters}) #2 {{\n{_rooms(to, {})}\n"
        f"{_write_piece(schedule, to, piece)}\n  ret void\n}}\n"
        for k, piece in enumerate([] if is_whole else schedule.pieces)
    ]
    code = _Code(schedule, to)
    for index in schedule.inputs:
        code.read(index)
    for index in (*schedule.inputs, *schedule.constants):
        code.store(index)
    for index in schedule.before:
        code.write(index)
    if schedule.angles:
        angles = schedule.angles
        size = _round_up(len(angles), room)
        for i, angle in enumerate(angles):
            to.store(code.operand(angle), "%x", i)
        for i in range(len(angles), size):
            to.store(to.number(0.0), "%x", i)
        to.do(f"call void @sincos_many(i64 {size * to.lanes}, ptr %x, ptr %s, ptr %c)")
    for index in schedule.turned if is_whole else ():
        code.read(index)
    for index in schedule.after if is_whole else ():
        code.write(index)
    for k in range(len(functions)):
        to.do(f"call void @{to.suffix}_{k}({passed})")
    return "\n".join(functions)


def _write_piece(schedule: Schedule, to: _Function, piece: list[int]) -> str:
    """Return the body of the function that computes a piece."""
    code = _Code(schedule, to)
    for index in piece:
        for operand in schedule.outside(index, code.names):
            code.read(operand)
        code.write(index)
    return to.take()


class _Code:
    """The operations written in a function so far, and the names of their results."""

    def __init__(self, schedule: Schedule, to: _Function) -> None:
        self.schedule, self.to = schedule, to
        self.names: dict[int, str] = {}

    def operand(self, index: int) -> str:
        """Return the name of a result, or a constant."""
        name, *rest = self.schedule.operations[index]
        return self.to.number(struct.unpack("d", rest[0])[0]) if name == "constant" else self.names[index]

    def read(self, index: int) -> None:
        """Write the load of a value computed before this function; conditions are stored as numbers."""
        to = self.to
        name, *rest = self.schedule.operations[index]
        if index in self.schedule.turned:
            turned, place = self.schedule.turned[index]
            value = to.load(f"%{turned}", place)
        elif name == "input":
            value = to.load(f"%i{rest[0]}", rest[1])
        else:
            value = to.load("%m", self.schedule.slots[index])
            if name in CONDITIONS:
                value = to.add(f"fcmp olt {to.R} {to.number(0.0)}, {value}")
        self.names[index] = value

    def write(self, index: int) -> None:
        """Write an operation, and store its value in outputs and for later pieces."""
        to = self.to
        operation = self.schedule.operations[index]
        if index in self.schedule.turned:
            if index not in self.names:
                self.read(index)
        else:
            self.names[index] = _write_operation(operation, to, self.operand)
        self.store(index)
        if index in self.schedule.slots:
            value = self.names[index]
            if operation[0] in CONDITIONS:
                one, zero = to.number(1.0), to.number(0.0)
                value = to.add(f"select {to.B} {value}, {to.R} {one}, {to.R} {zero}")
            to.store(value, "%m", self.schedule.slots[index])

    def store(self, index: int) -> None:
        """Write the stores of a value in the outputs."""
        for k, i in self.schedule.places.get(index, ()):
            self.to.store(self.operand(index), f"%o{k}", i)


def _write_operation(operation: tuple[Any, ...], to: _Function, operand: Any) -> str:
    """Write one operation and return the name of its result."""
    name, *rest = operation
    values = [operand(index) for index in rest]
    if name in _ARITHMETIC:
        return to.arithmetic(_ARITHMETIC[name], *values)
    if name == "negative":
        return to.add(f"fneg {to.R} {values[0]}")
    if name in _COMPARISONS:
        return to.add(f"fcmp {_COMPARISONS[name]} {to.R} {', '.join(values)}")
    if name in CONDITIONS:
        if name == "negate":
            true = "true" if to.lanes == 1 else "splat (i1 true)"
            return to.add(f"xor {to.B} {values[0]}, {true}")
        return to.add(f"{'and' if name == 'both' else 'or'} {to.B} {', '.join(values)}")
    if name == "select":
        condition, x, y = values
        return to.add(f"select {to.B} {condition}, {to.R} {x}, {to.R} {y}")
    if name in _INTRINSICS:
        return to.intrinsic(name, *values)
    if name in ("sin", "cos") and to.lanes > 1:
        to.store(values[0], "%y", 0)
        to.do(f"call void @sincos_many(i64 {to.lanes}, ptr %y, ptr %ys, ptr %yc)")
        return to.load(f"%y{name[0]}", 0)
    assert name in UNARY or name in BINARY
    return to.call(name, values)


def _rooms(to: _Function, sizes: dict[str, int]) -> str:
    """Return the allocations of a function: named arrays, and room for one angle, its sine and cosine."""
    return "\n".join(
        f"  %{name} = alloca [{max(1, size)} x {to.R}], align 64"
        for name, size in {**sizes, "y": 1, "ys": 1, "yc": 1}.items()
    )


def _round_up(count: int, room: int) -> int:
    return (count + room - 1) // room * room


def _rooms_of(schedule: Schedule, room: int) -> dict[str, int]:
    """Return the sizes of the arrays of angles, sines, cosines, and values that later pieces need."""
    return {**dict.fromkeys("xsc", _round_up(len(schedule.angles), room)), "m": schedule.room}


def _write_one(
    schedule: Schedule, inputs: list[int], outputs: list[list[int]], to: _Function, lanes: int
) -> str:
    """Return the function of one state, which copies its inputs because an output may overwrite them."""
    rooms = _rooms_of(schedule, lanes) | {f"i{k}": size for k, size in enumerate(inputs)}
    arrays = [f"%i{k}" for k in range(len(inputs))] + [f"%o{k}" for k in range(len(outputs))]
    pieces = _write_operations(schedule, to, arrays, lanes)
    body = to.take()
    for k, size in enumerate(inputs):
        to.do(f"%in{k} = load ptr, ptr {to.place('%inputs', k, 'ptr')}")
        to.do(f"call void @llvm.memcpy.p0.p0.i64(ptr %i{k}, ptr %in{k}, i64 {size * to.bits // 8}, i1 false)")
    for k in range(len(outputs)):
        to.do(f"%o{k} = load ptr, ptr {to.place('%outputs', k, 'ptr')}")
    return (
        f"{pieces}\ndefine void @mbt_one(ptr %inputs, ptr %outputs) #0 {{\n{_rooms(to, rooms)}\n"
        f"{to.take()}\n{body}\n  ret void\n}}\n"
    )


def _write_block(schedule: Schedule, inputs: list[int], outputs: list[list[int]], to: _Function) -> str:
    """Return the function of one block of states: one state per register lane, one register per entry."""
    arrays = [f"%i{k}" for k in range(len(inputs))] + [f"%o{k}" for k in range(len(outputs))]
    parameters = ", ".join(f"ptr {_NO_ALIAS[array[1]]} {array}" for array in arrays)
    pieces = _write_operations(schedule, to, arrays, 1)
    return (
        f"{pieces}\ndefine internal void @block({parameters}) #2 {{\n{_rooms(to, _rooms_of(schedule, 1))}\n"
        f"{to.take()}\n  ret void\n}}\n"
    )


def _write_many(inputs: list[int], outputs: list[list[int]], to: _Function) -> str:
    """Return the function of many states, which fills up the last block with copies of the last state."""
    F, lanes, size_of = to.F, to.lanes, to.bits // 8
    sizes = {f"%i{k}": size for k, size in enumerate(inputs)}
    sizes |= {f"%o{k}": len(output) for k, output in enumerate(outputs)}
    for array, size in sizes.items():
        to.do(f"{array} = alloca [{max(1, size)} x {to.R}], align 64")
    for k, output in enumerate(outputs):
        to.do(f"%rest{k} = alloca [{max(1, lanes * len(output))} x {F}], align 64")
    for k in range(len(inputs)):
        to.do(f"%in{k} = load ptr, ptr {to.place('%inputs', k, 'ptr')}")
        to.do(f"%stride{k} = load i64, ptr {to.place('%strides', k, 'i64')}")
    for k in range(len(outputs)):
        to.do(f"%out{k} = load ptr, ptr {to.place('%outputs', k, 'ptr')}")
    to.do("%last = sub i64 %count, 1")
    to.do("%some = icmp sgt i64 %count, 0")
    to.do("br i1 %some, label %loop, label %end")
    to.do("loop:")
    to.do("%first = phi i64 [0, %entry], [%next, %latch]")
    to.do("%left = sub i64 %count, %first")
    to.do(f"%whole = icmp sge i64 %left, {lanes}")
    states = ["%first"] + [to.add(f"add i64 %first, {i}") for i in range(1, lanes)]
    states = [to.add(f"call i64 @llvm.smin.i64(i64 {state}, i64 %last)") for state in states]
    for k, size in enumerate(inputs):
        steps = [to.add(f"mul i64 {state}, %stride{k}") for state in states]
        rows = [to.add(f"getelementptr {F}, ptr %in{k}, i64 {step}") for step in steps]
        _write_loads(to, rows, f"%i{k}", size)
    to.do(f"call void @block({', '.join(f'ptr {array}' for array in sizes)})")
    bases = []
    for k, output in enumerate(outputs):
        step = to.add(f"mul i64 %first, {len(output)}")
        bases.append(to.add(f"getelementptr {F}, ptr %out{k}, i64 {step}"))
        target = to.add(f"select i1 %whole, ptr {bases[k]}, ptr %rest{k}")
        _write_stores(to, f"%o{k}", target, len(output))
    to.do("br i1 %whole, label %latch, label %tail")
    to.do("latch:")
    to.do(f"%next = add i64 %first, {lanes}")
    to.do("%more = icmp slt i64 %next, %count")
    to.do("br i1 %more, label %loop, label %end")
    to.do("tail:")
    for k, output in enumerate(outputs):
        length = to.add(f"mul i64 %left, {len(output) * size_of}")
        to.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {bases[k]}, ptr %rest{k}, i64 {length}, i1 false)")
    to.do("br label %end")
    to.do("end:")
    to.do("ret void")
    return (
        "define void @mbt_many(ptr %inputs, ptr %strides, ptr %outputs, i64 %count) #0 {\nentry:\n"
        f"{to.take()}\n}}\n"
    )


def _pieces(to: _Function, begin: int, size: int) -> tuple[int, list[int]]:
    """Return the entries in 16 bytes, and where pieces begin; the last one may overlap the one before."""
    P = 128 // to.bits
    return P, [min(j, size - P) for j in range(begin, size, P)] if size >= P else []


def _write_loads(to: _Function, rows: list[str], array: str, size: int) -> None:
    """Write the load of an input: from rows, one per state, to registers, one per entry."""
    P, begins = _pieces(to, 0, size)
    aligned = to.bits // 8
    for begin in begins:
        registers = []
        for i in range(P):
            parts = []
            for k in range(to.lanes // P):
                place = to.place(rows[k * P + i], begin, to.F)
                parts.append(to.add(f"load <{P} x {to.F}>, ptr {place}, align {aligned}"))
            width = P
            while len(parts) > 1:
                pairs = zip(parts[::2], parts[1::2], strict=True)
                parts = [to.shuffle(a, b, list(range(2 * width)), f"<{width} x {to.F}>") for a, b in pairs]
                width *= 2
            registers += parts
        for i, register in enumerate(to.zip(registers, of_pieces=True)):
            to.store(register, array, begin + i)
    if not begins:
        for j in range(size):
            register = "poison"
            for i, row in enumerate(rows):
                entry = to.load(row, j, to.F)
                register = to.add(f"insertelement {to.R} {register}, {to.F} {entry}, i64 {i}")
            to.store(register, array, j)


def _write_stores(to: _Function, array: str, target: str, size: int) -> None:
    """Write the store of a result: from registers, one per entry, to rows, one per state."""
    lanes, aligned = to.lanes, to.bits // 8
    whole = size // lanes * lanes
    for j in range(0, whole, lanes):
        registers = to.zip([to.load(array, j + i) for i in range(lanes)], of_pieces=False)
        for i, register in enumerate(registers):
            place = to.place(target, i * size + j, to.F)
            to.do(f"store {to.R} {register}, ptr {place}, align {aligned}")
    P, begins = _pieces(to, whole, size)
    for begin in begins:
        registers = to.zip([to.load(array, begin + i) for i in range(P)], of_pieces=True)
        for i, register in enumerate(registers):
            for k in range(lanes // P):
                places = list(range(k * P, k * P + P))
                piece = to.shuffle(register, "poison", places)
                place = to.place(target, (k * P + i) * size + begin, to.F)
                to.do(f"store <{P} x {to.F}> {piece}, ptr {place}, align {aligned}")
    if size < P:
        for j in range(size):
            register = to.load(array, j)
            for i in range(lanes):
                entry = to.add(f"extractelement {to.R} {register}, i64 {i}")
                to.store(entry, target, i * size + j, to.F)


def _write_sincos(to: _Function) -> str:
    """Return the function of sines and cosines of angles, whose number is a multiple of the register's lanes.

    |x| = k pi/2 + y; minimax polynomials in y; odd k exchange sine and cosine. Angles far from zero or not
    finite are recomputed by libm; the results for other angles stay.
    """
    numbers = SINGLE if to.single else DOUBLE
    F, R, U, top, aligned = to.F, to.R, to.U, numbers["top"], to.bits // 8
    suffix = "f" if to.single else ""

    def horner(coefficients: tuple[str, ...], z: str) -> str:
        *others, text = (to.number(float.fromhex(c)) for c in coefficients)
        for c in reversed(others):
            text = to.arithmetic("fadd", c, to.arithmetic("fmul", z, text))
        return text

    def cast(value: str, kind: str) -> str:
        return to.add(f"bitcast {U if kind == R else R} {value} to {kind}")

    rounding = to.number(float.fromhex(numbers["rounding"]))
    places = [to.add(f"getelementptr {F}, ptr {array}, i64 %i") for array in ("%x", "%s", "%c")]
    x = to.add(f"load {R}, ptr {places[0]}, align {aligned}")
    a = to.intrinsic("fabs", x)
    shifted = to.arithmetic(
        "fadd", to.arithmetic("fmul", a, to.number(float.fromhex("0x1.45f306dc9c883p-1"))), rounding
    )
    k = to.arithmetic("fsub", shifted, rounding)
    y = a
    for part in numbers["parts"]:
        y = to.arithmetic("fsub", y, to.arithmetic("fmul", k, to.number(float.fromhex(part))))
    z = to.arithmetic("fmul", y, y)
    p, q = horner(numbers["sine"], z), horner(numbers["cosine"], z)
    sine = to.arithmetic("fadd", y, to.arithmetic("fmul", to.arithmetic("fmul", y, z), p))
    half = to.arithmetic("fsub", to.number(0.5), to.arithmetic("fmul", z, q))
    cosine = to.arithmetic("fsub", to.number(1.0), to.arithmetic("fmul", z, half))
    bits, sines, cosines, quadrant = (cast(value, U) for value in (x, sine, cosine, shifted))
    odd = to.integers("sub", to.integer(0), to.integers("and", quadrant, to.integer(1)))
    exchange = to.integers("and", to.integers("xor", sines, cosines), odd)
    sign = to.integer(-(1 << top))
    second, first = (to.integers("shl", quadrant, to.integer(shift)) for shift in (top - 1, top))
    for values, other, place in ((sines, bits, places[1]), (cosines, first, places[2])):
        signs = to.integers("and", to.integers("xor", second, other), sign)
        turned = to.integers("xor", to.integers("xor", values, exchange), signs)
        to.do(f"store {R} {cast(turned, R)}, ptr {place}, align {aligned}")
    near = to.add(f"fcmp ole {R} {a}, {to.number(float(numbers['far']))}")
    far = to.number(float(numbers["far"])).removeprefix("splat (").removeprefix(F + " ").removesuffix(")")
    return f"""define internal void @sincos_many(i64 %n, ptr noalias %x, ptr noalias %s, ptr noalias %c) #2 {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %all = phi {to.B} [splat (i1 true), %entry], [%both, %loop]
{to.take()}
  %both = and {to.B} %all, {near}
  %next = add i64 %i, {to.lanes}
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  %good = call i1 @llvm.vector.reduce.and.v{to.lanes}i1({to.B} %both)
  br i1 %good, label %end, label %each
each:
  %j = phi i64 [0, %done], [%after, %continue]
  %from = getelementptr {F}, ptr %x, i64 %j
  %value = load {F}, ptr %from
  %size = call {F} @llvm.fabs.f{to.bits}({F} %value)
  %is_near = fcmp ole {F} %size, {far}
  br i1 %is_near, label %continue, label %away
away:
  %sine = call {F} @sin{suffix}({F} %value)
  %cosine = call {F} @cos{suffix}({F} %value)
  %to_sine = getelementptr {F}, ptr %s, i64 %j
  %to_cosine = getelementptr {F}, ptr %c, i64 %j
  store {F} %sine, ptr %to_sine
  store {F} %cosine, ptr %to_cosine
  br label %continue
continue:
  %after = add i64 %j, 1
  %rest = icmp slt i64 %after, %n
  br i1 %rest, label %each, label %end
end:
  ret void
}}
"""
