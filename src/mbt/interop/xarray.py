"""Rollouts as datasets of xarray, with names and units; dask arrays are computed later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, MissingPackageError, ShapeError, shape_error
from mbt.math.arrays import as_finite, as_float_array, describe_type, has_shape
from mbt.motion.tables import sample_dims
from mbt.motion.units import position_units, velocity_units
from mbt.tree import MultibodyTree

try:
    import xarray
except ImportError as error:
    raise MissingPackageError(
        "mbt.interop.xarray needs xarray, which is not installed: "
        f"pip install 'multibodytree[tables]' ({error})"
    ) from error

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["as_dataset"]


def as_dataset(
    tree: MultibodyTree,
    q: npt.ArrayLike,
    v: npt.ArrayLike,
    dt: float,
    *,
    dims: Sequence[str] | None = None,
    coords: Mapping[str, Any] | None = None,
) -> Any:
    """Return an ``xarray.Dataset`` of the results of a rollout, with names, units, and the varied parameters.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q : array_like or dask array, shape (..., n, num_positions)
        Positions over time. A dask array is computed when its values are needed.
    v : array_like or dask array, shape (..., n, num_velocities)
        Velocities.
    dt : float
        Time between two of these states [s]: ``dt * every`` of the rollout.
    dims : sequence of str, optional
        Names of the leading axes; by default ``("sample",)`` or ``("sample_0", ...)``.
    coords : mapping, optional
        The varied parameters, as ``xarray.Dataset`` takes them: ``{"mass": ("sample", masses)}``, or values
        along an axis of this name, ``{"mass": masses}``.

    Returns
    -------
    xarray.Dataset
        With ``q (..., time, position)`` and ``v (..., time, velocity)``.

    Raises
    ------
    ShapeError, ArgumentTypeError, ArgumentValueError
        When an argument does not have this shape, type or value; xarray raises its own errors for `coords`.

    Examples
    --------
    >>> import numpy as np
    >>> import mbt
    >>> from mbt.interop.xarray import as_dataset
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> context = tree.create_default_context(5)
    >>> masses = np.linspace(0.5, 1.5, 5)
    >>> body = tree.get_body_by_name("tool").set_mass(context, masses)
    >>> q, v = tree.rollout(context, np.zeros((100, 6)), 1e-3, every=10)
    >>> sweep = as_dataset(tree, q, v, 1e-2, dims=["mass"], coords={"mass": masses})
    >>> dict(sweep.sizes)
    {'mass': 5, 'time': 11, 'position': 6, 'velocity': 6}
    >>> float(sweep.time[-1])
    0.1
    """
    if not isinstance(tree, MultibodyTree):
        raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {describe_type(tree)}")
    arrays = [
        _take(value, name, (..., None, size))
        for value, name, size in ((q, "q", tree.num_positions), (v, "v", tree.num_velocities))
    ]
    lead = arrays[0].shape[:-1]
    if arrays[1].shape[:-1] != lead:
        raise shape_error("v", (*lead, tree.num_velocities), arrays[1].shape)
    names = sample_dims(len(lead) - 1) if dims is None else list(dims)
    if len(names) != len(lead) - 1:
        raise ShapeError(f"dims: expected {len(lead) - 1} names, one for each leading axis of q, got {names}")
    own = {"time", "position", "velocity"} & set(names)
    if own or len(set(names)) < len(names):
        raise ArgumentValueError(f"dims: expected names other than each other and time, got {names}")
    times = as_finite(dt, "dt") * np.arange(lead[-1])
    return xarray.Dataset(
        {
            name: ([*names, "time", along], array)
            for name, along, array in zip("qv", ("position", "velocity"), arrays, strict=True)
        },
        coords={
            "time": ("time", times, {"units": "s"}),
            "position": list(tree.position_names),
            "velocity": list(tree.velocity_names),
            "position_unit": ("position", list(position_units(tree))),
            "velocity_unit": ("velocity", list(velocity_units(tree))),
            **(coords or {}),
        },
    )


def _take(value: Any, name: str, shape: tuple[Any, ...]) -> Any:
    if not hasattr(value, "__dask_graph__"):
        return as_float_array(value, name, shape)
    if not has_shape(value.shape, shape):
        raise shape_error(name, shape, value.shape)
    return value
