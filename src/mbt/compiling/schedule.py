"""The operations that results need, in order, and the constants that every back end writes into its code."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from mbt.compiling.tracing import BINARY, UNARY, Operation

__all__ = ["CALLED", "CONDITIONS", "DOUBLE", "SINGLE", "Schedule", "zip_places"]

CONDITIONS = ("less", "less_equal", "equal", "negate", "both", "either")
#: Functions called from a library; sines and cosines are computed together instead.
CALLED = {*UNARY, *BINARY} - {"sin", "cos"}
_LEAVES = ("constant", "input")

#: Operations per function. GCC's time for a function grows with its length to the power of 1.5 to 2, and code
#: split into functions is as fast or faster.
_PIECE = 500

# Sines and cosines, double: |x| up to 1e6, pi/2 in parts of 33, 33, 33 and 53 bits. k times a part is exact.
DOUBLE: dict[str, Any] = {
    "top": 63,
    "far": "1e6",
    "rounding": "0x1.8p+52",
    "parts": ("0x1.921fb544p+0", "0x1.0b46p-34", "0x1.1a626331p-54", "0x1.1701b839a252p-88"),
    "sine": (
        "-0x1.5555555555548p-3", "0x1.111111110f730p-7", "-0x1.a01a019be921cp-13", "0x1.71de35552bdcep-19",
        "-0x1.ae5e4b8480342p-26", "0x1.5d8b55cdbd343p-33",
    ),
    "cosine": (
        "0x1.555555555554bp-5", "-0x1.6c16c16c15011p-10", "0x1.a01a019c8e7bap-16", "-0x1.27e4f7f0f0d2ep-22",
        "0x1.1ee9db4d62799p-29", "-0x1.8fa6389b82d68p-37",
    ),
}  # fmt: skip

# Sines and cosines, float: |x| up to 4000, parts of 12, 12, 12 and 24 bits.
SINGLE: dict[str, Any] = {
    "top": 31,
    "far": "4e3",
    "rounding": "0x1.8p+23",
    "parts": ("0x1.922p+0", "-0x1.28p-18", "-0x1.778p-25", "0x1.68c234p-39"),
    "sine": ("-0x1.555546p-3", "0x1.11076p-7", "-0x1.994e82p-13"),
    "cosine": ("0x1.55554ap-5", "-0x1.6c0c8ap-10", "0x1.9a0214p-16"),
}


class Schedule:
    """The operations that results depend on, in an order in which they can be computed.

    Sines and cosines whose angles depend on no other sine or cosine, which is nearly all of them, are
    computed together: first `before`, then the sines and cosines of `angles`, then `after`. A result is
    stored as soon as it is known, because most that wait until the end would be written to memory twice. All
    `inputs` are read before the first store, because a result may overwrite an input.

    Attributes
    ----------
    inputs : list of int
        The inputs that are read.
    angles : list of int
        The angles whose sines and cosines are computed together.
    turned : dict of int to tuple of str and int
        Their sines and cosines: "s" or "c", and the place of the angle.
    before, after : list of int
        The other operations; `after` includes the sines and cosines themselves.
    pieces : list of list of int
        `after`, split into one list per function; a single one for up to `whole` operations.
    slots : dict of int to int
        Where in memory an operation's value is stored for later pieces.
    room : int
        The number of slots.
    constants : list of int
        The constants that are results.
    places : dict of int to list of tuple of two ints
        The outputs of an operation: index of the output, and of its entry.
    """

    def __init__(self, operations: list[Operation], outputs: list[list[int]], whole: int = 0) -> None:
        self.operations = operations
        used = self._find_used(index for output in outputs for index in output)
        self.angles = self._find_angles(sorted(used))
        leaves: dict[str, list[int]] = {name: [] for name in _LEAVES}
        for index in sorted(used):
            leaves.get(operations[index][0], []).append(index)
        used.difference_update(*leaves.values())
        first = self._find_used(self.angles) & used
        self.before, self.after = sorted(first), sorted(used - first)
        self.inputs = leaves["input"]
        angle_places = {angle: place for place, angle in enumerate(self.angles)}
        self.turned = {
            index: (operations[index][0][0], angle_places[operations[index][1]])
            for index in self.after
            if operations[index][0] in ("sin", "cos") and operations[index][1] in angle_places
        }
        count = len(self.after)
        size = count if count <= whole else -(-count // -(-count // _PIECE))
        self.pieces = [self.after[i : i + size] for i in range(0, count, max(1, size))]
        self.slots: dict[int, int] = {}
        self.room = self._find_slots()
        self.places: dict[int, list[tuple[int, int]]] = {}
        for k, output in enumerate(outputs):
            for i, index in enumerate(output):
                self.places.setdefault(index, []).append((k, i))
        self.constants = [index for index in leaves["constant"] if index in self.places]

    def outside(self, index: int, known: Container[int]) -> list[int]:
        """Return the operands of an operation that a piece must load because they are not known yet."""
        return [
            operand
            for operand in dict.fromkeys(self._operands(index))
            if operand not in known and self.operations[operand][0] != "constant"
        ]

    def names(self) -> set[str]:
        """Return the names of all operations but inputs and constants."""
        return {self.operations[index][0] for index in (*self.before, *self.after)}

    def _find_used(self, indices: Iterable[int]) -> set[int]:
        used: set[int] = set()
        waiting = list(indices)
        while waiting:
            index = waiting.pop()
            if index not in used:
                used.add(index)
                waiting.extend(self._operands(index))
        return used

    def _find_angles(self, used: list[int]) -> list[int]:
        """Return the operands of sines and cosines that depend on no other sine or cosine."""
        behind: set[int] = set()
        angles: dict[int, None] = {}
        for index in used:
            turning = self.operations[index][0] in ("sin", "cos")
            if any(operand in behind for operand in self._operands(index)):
                behind.add(index)
            elif turning:
                behind.add(index)
                angles[self._operands(index)[0]] = None
        return list(angles)

    def _find_slots(self) -> int:
        """Assign slots to values until the last piece that needs them; return the number of slots."""
        where = {index: k for k, piece in enumerate(self.pieces) for index in piece}
        last = {
            operand: where[index]
            for index in self.after
            for operand in self._operands(index)
            if self.operations[operand][0] not in _LEAVES
            and operand not in self.turned
            and where.get(operand, -1) < where[index]
        }
        free: list[int] = []
        freed: dict[int, list[int]] = {}
        room = 0
        for k, piece in enumerate((self.before, *self.pieces), -1):
            for index in (index for index in piece if index in last):
                if not free:
                    free.append(room)
                    room += 1
                self.slots[index] = free.pop()
                freed.setdefault(last[index], []).append(self.slots[index])
            free += freed.get(k, [])
        return room

    def _operands(self, index: int) -> tuple[Any, ...]:
        name, *operands = self.operations[index]
        return () if name in _LEAVES else tuple(operands)


def zip_places(lanes: int, piece: int) -> tuple[list[int], list[int]]:
    """Return the lanes of two registers, side by side, that a zip moves to each of two others.

    A zip interleaves the two registers: the first half of the lanes of each goes to the first register. With
    a `piece` shorter than a register, the first half of each piece does.
    """
    pairs = [(i, i + lanes) for i in range(lanes)]
    pieces = [pairs[i : i + piece] for i in range(0, lanes, piece)]
    low = [place for part in pieces for pair in part[: piece // 2] for place in pair]
    high = [place for part in pieces for pair in part[piece // 2 :] for place in pair]
    return low, high
