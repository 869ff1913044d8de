"""Rollouts as xarray data sets: names, units, axes; in Zarr files; from dask arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.models import model_path

xarray: Any = pytest.importorskip("xarray", reason="needs the extra `tables`: pip install '.[tables]'")
interop: Any = pytest.importorskip("mbt.interop.xarray")
needs_zarr = pytest.mark.engine


@pytest.fixture(scope="module")
def arm() -> mbt.MultibodyTree:
    return mbt.load_model(model_path("mbt_arm"), base="floating")


def roll_out(tree: mbt.MultibodyTree, *batch: int) -> Any:
    context = tree.create_default_context(batch)
    context.v = np.random.default_rng(0).normal(size=(*batch, tree.num_velocities))
    return tree.rollout(context, np.zeros((30, tree.num_velocities)), 0.01, every=10)


def test_names_units_and_times(arm: mbt.MultibodyTree) -> None:
    q, v = roll_out(arm, 4)
    data = interop.as_dataset(arm, q, v, 0.1)
    assert data.q.dims == ("sample", "time", "position")
    assert data.v.dims == ("sample", "time", "velocity")
    np.testing.assert_array_equal(data.q, q)
    np.testing.assert_array_equal(data.v, v)
    np.testing.assert_allclose(data.time, [0.0, 0.1, 0.2, 0.3])
    assert data.time.attrs == {"units": "s"}
    place = arm.get_joint_by_name("elbow").position_start
    np.testing.assert_array_equal(data.q.sel(position="elbow_q"), q[..., place])
    assert data.velocity_unit.sel(velocity="elbow_w").item() == "rad/s"
    assert set(data.position_unit.values) == {"", "m", "rad"}


def test_it_is_what_a_trajectory_makes(arm: mbt.MultibodyTree) -> None:
    """The same motion gives the same names, axes and values."""
    for batch in ((), (4,), (2, 3)):
        context = arm.create_default_context(batch)
        trajectory = mbt.simulate(arm, context, 0.3, 0.01, method="rk4", every=10).to_xarray()
        q, v = arm.rollout(context, np.zeros((30, arm.num_velocities)), 0.01, method="rk4", every=10)
        data = interop.as_dataset(arm, q, v, 0.1)
        for name in ("q", "v"):
            assert trajectory[name].dims == data[name].dims
            np.testing.assert_array_equal(trajectory[name], data[name])
            assert list(trajectory[trajectory[name].dims[-1]].values) == list(
                data[data[name].dims[-1]].values
            )


def test_what_was_varied(arm: mbt.MultibodyTree) -> None:
    q, v = roll_out(arm, 4, 2)
    mass, kind = np.linspace(1.0, 2.0, 4), ["light", "heavy"]
    data = interop.as_dataset(arm, q, v, 0.1, dims=["mass", "kind"], coords={"mass": mass, "kind": kind})
    np.testing.assert_array_equal(data.q.sel(mass=2.0, kind="light"), q[3, 0])
    names = {"mass": (("sample_0", "sample_1"), np.ones((4, 2)))}
    assert interop.as_dataset(arm, q, v, 0.1, coords=names).mass.shape == (4, 2)
    assert interop.as_dataset(arm, q[0, 0], v[0, 0], 0.1).q.dims == ("time", "position")


def test_what_is_refused(arm: mbt.MultibodyTree) -> None:
    q, v = roll_out(arm, 4)
    for arguments, options, error, text in (
        ((None, q, v, 0.1), {}, mbt.ArgumentTypeError, "tree: expected"),
        ((arm, v, v, 0.1), {}, mbt.ShapeError, "q: expected"),
        ((arm, q, v[:3], 0.1), {}, mbt.ShapeError, "v: expected"),
        ((arm, q[0, 0], v[0, 0], 0.1), {}, mbt.ShapeError, "q: expected"),
        ((arm, q, v, np.nan), {}, mbt.ArgumentValueError, "dt"),
        ((arm, q, v, 0.1), {"dims": ["a", "b"]}, mbt.ShapeError, "dims: expected 1"),
        ((arm, q, v, 0.1), {"dims": ["time"]}, mbt.ArgumentValueError, "dims"),
        ((arm, q, v, 0.1), {"coords": {"mass": ("sample", [1.0])}}, ValueError, "conflicting sizes"),
    ):
        with pytest.raises(error, match=text):
            interop.as_dataset(*arguments, **options)


# Files and deferred computation -----------------------------------------------------------------------------


@needs_zarr
def test_trajectories_and_sweeps_in_files_of_zarr(arm: mbt.MultibodyTree, tmp_path: Path) -> None:
    pytest.importorskip("zarr", reason="needs the extra `zarr`: pip install '.[zarr]'")
    context = arm.create_default_context(3)
    trajectory = mbt.simulate(arm, context, 0.05).to_xarray()
    sweep = interop.as_dataset(arm, *roll_out(arm, 3), 0.1, coords={"mass": ("sample", [1.0, 2.0, 3.0])})
    for name, data in (("trajectory", trajectory), ("sweep", sweep)):
        data.to_zarr(tmp_path / name, zarr_format=2)
        again = xarray.open_zarr(tmp_path / name)
        assert again.identical(data)
        for key in data.data_vars:
            np.testing.assert_array_equal(again[key], data[key])


@needs_zarr
def test_arrays_of_dask_are_computed_when_they_are_written(arm: mbt.MultibodyTree, tmp_path: Path) -> None:
    pytest.importorskip("zarr", reason="needs the extra `zarr`: pip install '.[zarr]'")
    dask: Any = pytest.importorskip("dask")
    da: Any = pytest.importorskip("dask.array")
    v0 = np.random.default_rng(0).normal(size=(50, arm.num_velocities))
    calls: list[int] = []

    def call(v0: Any, tree: mbt.MultibodyTree) -> Any:
        calls.append(len(v0))
        context = tree.create_default_context(v0.shape[:-1])
        context.v = v0
        return tree.rollout(context, np.zeros((20, tree.num_velocities)), 0.01, every=5)

    q, v = da.apply_gufunc(
        call, "(v)->(s,q),(s,v)", da.from_array(v0, chunks=(20, -1)), tree=dask.delayed(arm),
        output_sizes={"s": 5, "q": arm.num_positions}, output_dtypes=(float, float),
    )  # fmt: skip
    data = interop.as_dataset(arm, q, v, 0.05)
    assert not calls
    with pytest.raises(mbt.ShapeError, match="q: expected"):
        interop.as_dataset(arm, v, v, 0.05)
    with dask.config.set(scheduler="threads"):
        data.to_zarr(tmp_path / "sweep", zarr_format=2)
    assert sorted(calls) == [10, 20, 20]
    again = xarray.open_zarr(tmp_path / "sweep")
    for got, wanted in zip((again.q, again.v), call(v0, arm), strict=True):
        np.testing.assert_array_equal(got, wanted)
