"""The parameters of each sample of a batch, of which most are the same in all samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mbt.math.arrays import FloatArray
    from mbt.tree.instance_state import IndexArray

__all__ = ["SampleParameters"]


class SampleParameters:
    """One vector of parameters for each sample. Nothing is written in place.

    Attributes
    ----------
    common : ndarray, shape (n,)
        Those that all samples have.
    columns : ndarray of int, shape (k,)
        The entries that each sample has of its own, in ascending order.
    rows : ndarray, shape (num_samples, k)
        These, of each sample.
    """

    __slots__ = ("batch_shape", "columns", "common", "rows")

    def __init__(
        self, common: FloatArray, columns: IndexArray, rows: FloatArray, batch_shape: tuple[int, ...]
    ) -> None:
        self.common = common
        self.columns = columns
        self.rows = rows
        self.batch_shape = batch_shape
        for array in (common, columns, rows):
            array.flags.writeable = False

    @classmethod
    def all_equal(cls, common: FloatArray, batch_shape: tuple[int, ...]) -> SampleParameters:
        """Return parameters that are the same in all samples."""
        rows = np.empty((int(np.prod(batch_shape)), 0))
        return cls(common, np.empty(0, dtype=np.intp), rows, batch_shape)

    def __getitem__(self, key: tuple[Any, Any]) -> FloatArray:
        """Return ``[..., part]``: (m,) where all samples agree, else (*batch_shape, m)."""
        _, part = key
        common: FloatArray = self.common[part]
        wanted = np.arange(self.common.size)[part]
        is_own = np.isin(wanted, self.columns)
        if not is_own.any():
            return common.copy()
        values = np.array(np.broadcast_to(common, (len(self.rows), common.size)))
        values[:, is_own] = self.rows[:, np.searchsorted(self.columns, wanted[is_own])]
        return values.reshape(*self.batch_shape, common.size)

    def replaced(self, places: IndexArray, values: FloatArray) -> SampleParameters:
        """Return parameters with other values, (m,) or (*batch_shape, m), at some places."""
        rest = ~np.isin(self.columns, places)
        columns, rows, common = self.columns[rest], self.rows[:, rest], self.common
        if values.ndim == 1:
            common = common.copy()
            common[places] = values
        else:
            columns = np.concatenate([columns, places])
            rows = np.concatenate([rows, values.reshape(len(rows), len(places))], axis=1)
            order = np.argsort(columns)
            columns, rows = columns[order], np.ascontiguousarray(rows[:, order])
        return SampleParameters(common, columns, np.ascontiguousarray(rows), self.batch_shape)

    def of_sample(self, i: int) -> FloatArray:
        """Return the vector of one sample, counted in C order."""
        vector = self.common.copy()
        vector[self.columns] = self.rows[i]
        return vector

    def copy(self) -> SampleParameters:
        """Return these: they never change."""
        return self
