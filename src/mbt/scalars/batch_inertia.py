"""Mass properties of one body in all samples of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.errors import InvalidInertiaError, MbtError
from mbt.math.arrays import FloatArray, as_finite_array
from mbt.math.inertia_arguments import as_float_array
from mbt.math.pseudo_inertia import make_spatial_inertia
from mbt.math.spatial_inertia import SpatialInertia
from mbt.math.unit_inertia import UnitInertia
from mbt.scalars.inertia import ScalarSpatialInertia

__all__ = ["BatchSpatialInertia", "check_inertial_parameters", "find_suspects"]


class BatchSpatialInertia(ScalarSpatialInertia):
    """Mass properties of each sample: mass (...), mass centre (..., 3), unit and massless inertia (..., 6).

    ``M[i]`` holds those of one sample, as an `mbt.SpatialInertia`, or of several.
    """

    __slots__ = ()

    def __init__(self, mass: Any, com: Any, components: Any, massless: Any) -> None:
        arrays = [np.asarray(part, float) for part in (mass, com, components, massless)]
        lead = np.broadcast_shapes(arrays[0].shape, *(array.shape[:-1] for array in arrays[1:]))
        cores = ((), (3,), (6,), (6,))
        super().__init__(*(_frozen(array, (*lead, *core)) for array, core in zip(arrays, cores, strict=True)))

    @classmethod
    def stack(cls, inertias: Any) -> BatchSpatialInertia:
        """Return the mass properties of an array of objects, one per sample."""
        array = np.asarray(inertias, dtype=object)
        flat: list[SpatialInertia] = list(array.ravel())
        parts = (
            ([M.mass for M in flat], ()),
            ([M.com for M in flat], (3,)),
            ([M.unit_inertia.components for M in flat], (6,)),
            ([M._massless_inertia for M in flat], (6,)),
        )
        return cls(*(np.array(part, float).reshape(*array.shape, *core) for part, core in parts))

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Leading axes."""
        shape: tuple[int, ...] = self._mass.shape
        return shape

    def broadcast_to(self, batch_shape: tuple[int, ...]) -> BatchSpatialInertia:
        """Broadcast to other leading axes.

        Raises
        ------
        ValueError
            When they do not broadcast.
        """
        if batch_shape == self.batch_shape:
            return self
        mass = np.broadcast_to(self._mass, batch_shape)
        return type(self)(mass, self._com, self._unit_inertia.components, self._massless_inertia)

    def __getitem__(self, index: Any) -> SpatialInertia:
        """Return the mass properties of one sample, or of some."""
        mass = self._mass[index]
        com, components = self._com[index], self._unit_inertia.components[index]
        massless = self._massless_inertia[index]
        if mass.ndim:
            return type(self)(mass, com, components, massless)
        return SpatialInertia._of_parts(float(mass), com, UnitInertia(*components), massless)

    def shift(self, p_PQ_E: object) -> ScalarSpatialInertia:
        """Return M_SQ_E, the same body's mass properties about the point Q at `p_PQ_E` (..., 3) from P."""
        return super().shift(as_float_array(p_PQ_E, "p_PQ_E", (..., 3)))

    def criticize_not_physically_valid(self) -> str | None:
        """Return why no physical body has the mass properties of the first such sample, or None."""
        for i in find_suspects(self._mass, self._com, self._unit_inertia.components, self._massless_inertia):
            one = self[i]
            reason = one.criticize_not_physically_valid()
            if reason is not None:
                return f"sample {list(i)}: {reason}"
        return None

    def _share(self, total: Any, axes: int, a: Any, other_mass: Any, b: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = super()._share(total, axes, a, other_mass, b)
        # Two bodies without mass count equally.
        return np.where((total == 0.0)[..., np.newaxis], 0.5 * (a + b), mean)

    def __eq__(self, other: object) -> bool:
        """Return whether all numbers are equal."""
        if not isinstance(other, BatchSpatialInertia):
            return NotImplemented
        return (
            np.array_equal(self._mass, other._mass)
            and np.array_equal(self._com, other._com)
            and np.array_equal(self._unit_inertia.components, other._unit_inertia.components)
            and np.array_equal(self._massless_inertia, other._massless_inertia)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the leading axes."""
        return f"<SpatialInertia of each sample of {self.batch_shape}>"


def find_suspects(
    mass: FloatArray, com: FloatArray, components: FloatArray, massless: FloatArray
) -> list[tuple[int, ...]]:
    """Return the leading indices of mass properties that may not belong to a body.

    `SpatialInertia.criticize_not_physically_valid` decides about each of them. All that are clearly physical
    are left out at once.
    """
    xx, yy, zz = (components[..., i] for i in range(3))
    x, y, z = (com[..., i] for i in range(3))
    central = np.empty((*components.shape[:-1], 6))
    with np.errstate(over="ignore", invalid="ignore"):
        central[..., 0] = xx - y * y - z * z
        central[..., 1] = yy - x * x - z * z
        central[..., 2] = zz - x * x - y * y
        central[..., 3:] = components[..., 3:] + com[..., [0, 0, 1]] * com[..., [1, 2, 2]]
        central *= mass[..., np.newaxis]
        trace = mass * (xx + yy + zz)
    is_good = (mass >= 0.0) & np.isfinite(trace) & np.isfinite(central).all(-1) & np.isfinite(com).all(-1)
    moments = np.zeros((*mass.shape, 3))
    moments[is_good] = np.linalg.eigvalsh(central[is_good][:, [[0, 3, 4], [3, 1, 5], [4, 5, 2]]])
    smallest, middle, largest = (moments[..., i] for i in range(3))
    # Half of the tolerance for rounding, as rounding here differs from that of the decisive check.
    slack = 8 * np.finfo(float).eps * np.maximum(1.0, 0.5 * np.where(is_good, trace, 0.0))
    is_good &= (smallest >= -slack) & (smallest + middle + slack >= largest)
    is_good &= ~massless.any(axis=-1)
    return [tuple(int(k) for k in i) for i in np.argwhere(~is_good)]


def check_inertial_parameters(pi: FloatArray, labels: list[str], is_checked: bool) -> None:
    """Raise for inertial parameters, (..., 10 n), that are not finite, or not those of a body.

    Parameters
    ----------
    pi : ndarray, shape (..., 10 n)
        Those of n bodies.
    labels : list of str
        Their names in messages.
    is_checked : bool
        Whether they must be physical.
    """
    x = as_finite_array(pi, "pi").reshape(*pi.shape[:-1], len(labels), 10)
    mass = x[..., 0]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        per_mass = x[..., 1:] / mass[..., np.newaxis]
    # `make_spatial_inertia` decides, sample after sample.
    is_good = np.where(mass == 0.0, ~x.any(-1), (mass > 0.0) & np.isfinite(per_mass).all(-1))
    suspects = {tuple(int(k) for k in i) for i in np.argwhere(~is_good)}
    if is_checked:
        per_mass = np.where(mass[..., np.newaxis] == 0.0, 0.0, per_mass)
        G = per_mass[..., [3, 5, 8, 4, 6, 7]]
        suspects.update(find_suspects(mass, per_mass[..., :3], G, np.zeros(6)))
    for i in sorted(suspects):
        try:
            make_spatial_inertia(x[i], skip_validity_check=not is_checked)
        except MbtError as error:
            sample = f" of sample {list(i[:-1])}" if i[:-1] else ""
            what = f"pi: {labels[i[-1]]}{sample}"
            raise InvalidInertiaError(f"{what}: {str(error).removeprefix('pi: ')}") from None


def _frozen(array: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    copy = np.array(np.broadcast_to(array, shape), order="C")
    copy.flags.writeable = False
    return copy
