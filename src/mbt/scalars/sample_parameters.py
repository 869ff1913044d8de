"""The parameters of each sample of a batch, most of which are the same in all samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.instance_state import IndexArray

    # Entries that differ between samples, (k,), the first and the last of them, and their values,
    # (num_samples, k).
    Block = tuple[IndexArray, int, int, FloatArray]

__all__ = ["SampleParameters", "without_repeats"]


class SampleParameters:
    """One vector of parameters for each sample. It is never changed in place.

    Parts that differ between samples are kept as they were set, one after the other: the cost of setting a
    part does not grow with their number. `columns` and `rows` join them on demand.

    Attributes
    ----------
    common : ndarray, shape (n,)
        The parameters that all samples share.
    batch_shape : tuple of int
        Leading axes.
    """

    __slots__ = ("_blocks", "_whole", "batch_shape", "common")

    def __init__(self, common: FloatArray, blocks: tuple[Block, ...], batch_shape: tuple[int, ...]) -> None:
        self.common = common
        self.batch_shape = batch_shape
        self._blocks = blocks
        self._whole: tuple[IndexArray, FloatArray] | None = None
        common.flags.writeable = False

    @classmethod
    def all_equal(cls, common: FloatArray, batch_shape: tuple[int, ...]) -> SampleParameters:
        """Return parameters that are the same in all samples."""
        return cls(common, (), batch_shape)

    @property
    def columns(self) -> IndexArray:
        """The entries that differ between samples, (k,)."""
        return self._assemble()[0]

    @property
    def rows(self) -> FloatArray:
        """Their values, (num_samples, k)."""
        return self._assemble()[1]

    def _assemble(self) -> tuple[IndexArray, FloatArray]:
        if self._whole is None:
            count = math.prod(self.batch_shape)
            columns = np.concatenate([np.empty(0, dtype=np.intp), *(block[0] for block in self._blocks)])
            rows = np.concatenate([np.empty((count, 0)), *(block[3] for block in self._blocks)], axis=1)
            for array in (columns, rows):
                array.flags.writeable = False
            self._whole = columns, rows
        return self._whole

    def __getitem__(self, key: tuple[Any, Any]) -> FloatArray:
        """Return ``[..., part]``: (m,) if all samples agree, else (*batch_shape, m)."""
        _, part = key
        common: FloatArray = self.common[part]
        first, end, _ = part.indices(self.common.size)
        values = None
        for columns, least, most, rows in self._blocks:
            if most < first or least >= end:
                continue
            is_wanted = (columns >= first) & (columns < end)
            if is_wanted.any():
                if values is None:
                    values = np.array(np.broadcast_to(common, (len(rows), common.size)))
                values[:, columns[is_wanted] - first] = rows[:, is_wanted]
        return common.copy() if values is None else values.reshape(*self.batch_shape, common.size)

    def replaced(self, places: IndexArray, values: FloatArray) -> SampleParameters:
        """Return parameters with other values, (m,) or (*batch_shape, m), at some indices."""
        if not places.size:
            return self
        first, last = int(places.min()), int(places.max())
        blocks = []
        for block in self._blocks:
            columns, least, most, rows = block
            if least <= last and most >= first:
                rest = ~np.isin(columns, places)
                if not rest.any():
                    continue
                if not rest.all():
                    block = _block(columns[rest], rows[:, rest])
            blocks.append(block)
        common = self.common
        if values.ndim == 1:
            common = common.copy()
            common[places] = values
        else:
            blocks.append(_block(places, values.reshape(math.prod(self.batch_shape), places.size)))
        return SampleParameters(common, tuple(blocks), self.batch_shape)

    def of_sample(self, i: int) -> FloatArray:
        """Return the vector of one sample, counted in C order."""
        vector = self.common.copy()
        for columns, _, _, rows in self._blocks:
            vector[columns] = rows[i]
        return vector

    def vectors(self) -> FloatArray:
        """Return the vector of each sample, (num_samples, n), or the one that all share, (1, n)."""
        columns, rows = self._assemble()
        rows = without_repeats(rows)
        vectors: FloatArray = np.repeat(self.common[np.newaxis], len(rows), axis=0)
        vectors[:, columns] = rows
        return vectors

    def copy(self) -> SampleParameters:
        """Return this object, which never changes."""
        return self

    def __reduce__(self) -> Any:
        """Pickle as arrays."""
        return _restore, (self.common, self.columns, self.rows, self.batch_shape)


def without_repeats(rows: FloatArray) -> FloatArray:
    """Return the first of the rows, (1, n), if all are the same, else all of them."""
    return rows[:1] if (rows == rows[:1]).all() else rows


def _block(columns: IndexArray, rows: FloatArray) -> Block:
    return columns, int(columns.min()), int(columns.max()), rows


def _restore(
    common: FloatArray, columns: IndexArray, rows: FloatArray, batch_shape: tuple[int, ...]
) -> SampleParameters:
    blocks = (_block(columns, rows),) if columns.size else ()
    return SampleParameters(common, blocks, batch_shape)
