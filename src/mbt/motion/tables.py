"""Trajectories for xarray and pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mbt.errors import MissingPackageError
from mbt.motion.trajectory_files import columns_of
from mbt.motion.units import effort_unit

if TYPE_CHECKING:
    from mbt.motion.trajectory import Trajectory

__all__ = ["as_dataframe", "as_xarray", "sample_dims"]


def as_dataframe(trajectory: Trajectory) -> Any:
    """Return a ``pandas.DataFrame``; see ``Trajectory.to_dataframe``."""
    trajectory._check_one_state("to_dataframe")
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingPackageError(
            f"to_dataframe needs pandas: pip install 'multibodytree[tables]' ({error})"
        ) from error
    columns = columns_of(trajectory)
    labels = pd.MultiIndex.from_tuples(columns, names=["quantity", "name"])
    index = pd.Index(trajectory.time, name="time")
    table = pd.DataFrame(dict(enumerate(columns.values())), index=index)
    table.columns = labels
    return table


def sample_dims(count: int) -> list[str]:
    """Return the names of batch axes."""
    return ["sample"] if count == 1 else [f"sample_{i}" for i in range(count)]


def as_xarray(trajectory: Trajectory) -> Any:
    """Return an ``xarray.Dataset``; see ``Trajectory.to_xarray``."""
    try:
        import xarray as xr
    except ImportError as error:
        raise MissingPackageError(
            f"to_xarray needs xarray: pip install 'multibodytree[tables]' ({error})"
        ) from error
    batch = sample_dims(len(trajectory.batch_shape))
    over_time = [*batch, "time"]
    efforts = [effort_unit(unit) for unit in trajectory.velocity_units]
    along_velocity = [*over_time, "velocity"]
    return xr.Dataset(
        {
            "q": ([*over_time, "position"], trajectory.q),
            "v": (along_velocity, trajectory.v),
            "vdot": (along_velocity, trajectory.vdot),
            "tau": (along_velocity, trajectory.tau),
            "kinetic_energy": (over_time, trajectory.energy.kinetic, {"units": "J"}),
            "potential_energy": (over_time, trajectory.energy.potential, {"units": "J"}),
            "constraint_errors": ([*over_time, "equation"], trajectory.constraint_errors),
            "multipliers": ([*over_time, "equation"], trajectory.multipliers),
            "sensors": ([*over_time, "sensor"], trajectory.sensors),
            "contact_forces": ([*over_time, "contact", "axis"], trajectory.contact_forces, {"units": "N"}),
        },
        coords={
            "time": ("time", trajectory.time, {"units": "s"}),
            "position": list(trajectory.position_names),
            "velocity": list(trajectory.velocity_names),
            "position_unit": ("position", list(trajectory.position_units)),
            "velocity_unit": ("velocity", list(trajectory.velocity_units)),
            "effort_unit": ("velocity", efforts),
            "equation": list(trajectory.equation_names),
            "contact": list(trajectory.contact_names),
            "sensor": list(trajectory.sensor_names),
            "axis": ["x", "y", "z"],
        },
        attrs={"method": trajectory.method, "status": trajectory.status, "message": trajectory.message},
    )
