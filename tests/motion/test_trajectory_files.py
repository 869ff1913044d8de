"""Files and pickles of trajectories: however damaged, they give an error of mbt or the same trajectory."""

from __future__ import annotations

import copy
import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from motion.moving_models import pendulum

NOT_SAVED = r"cannot be read: save\(\) did not write it"


@pytest.fixture(scope="module")
def swing() -> mbt.Trajectory:
    tree = pendulum()
    context = tree.create_default_context()
    context.q = [0.2]
    return mbt.simulate(tree, context, 0.5, 0.1, events=lambda t, q, v: q[0])


@pytest.fixture(scope="module")
def saved(swing: mbt.Trajectory, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("swing") / "swing.npz"
    swing.save(path)
    return path.read_bytes()


def arrays_of(trajectory: mbt.Trajectory) -> list[Any]:
    given = [trajectory.time, trajectory.q, trajectory.v, trajectory.tau, trajectory.num_limited]
    derived = [trajectory.vdot, trajectory.power, trajectory.work, trajectory.energy_drift]
    return [*given, *derived, *trajectory.energy, *(array for event in trajectory.events for array in event)]


def test_every_copy_is_read_only_and_the_same(swing: mbt.Trajectory, saved: bytes, tmp_path: Path) -> None:
    wanted = arrays_of(swing)
    path = tmp_path / "swing.npz"
    path.write_bytes(saved)
    copies = [copy.copy(swing), copy.deepcopy(swing), pickle.loads(pickle.dumps(swing))]
    for other in (swing, *copies, mbt.Trajectory.load(path), swing[:], swing.sample(())):
        for array, same in zip(arrays_of(other), wanted, strict=True):
            np.testing.assert_array_equal(array, same)
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def test_damaged_files_are_refused(saved: bytes, tmp_path: Path) -> None:
    """Cut anywhere, or with some bytes changed: readers of archives and arrays raise any exception."""
    rng = np.random.default_rng(0)
    path, num_refused = tmp_path / "damaged.npz", 0
    for i in range(200):
        damaged = bytearray(saved)
        if i % 4 == 0:
            del damaged[rng.integers(len(saved)) :]
        else:
            # Half of them hit the directory at the end of the archive, which is read first.
            start = 0 if i % 2 else saved.rindex(b"PK\x01\x02") - 1500
            for place in rng.integers(start, len(saved), 1 + i % 3):
                damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            loaded = mbt.Trajectory.load(path)
        except mbt.ArgumentValueError:
            num_refused += 1
        else:  # the damage hit unread bytes, such as a member's time
            assert loaded.q.dtype == np.float64
            assert len(loaded) == len(loaded.q)
    assert num_refused > 150


def with_header(members: dict[str, bytes], name: str, header: str) -> dict[str, bytes]:
    """Return members, one of them with a false array header."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (1,)})
    text = header.ljust(len(stream.getvalue()) - 11).encode() + b"\n"
    return {**members, name: b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text}


def write_archive(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_tables_are_not_read(swing: mbt.Trajectory, tmp_path: Path) -> None:
    swing.save(tmp_path / "swing.csv")
    with pytest.raises(mbt.ArgumentValueError, match=r"cannot be read: a table .* an \.npz file of save"):
        mbt.Trajectory.load(tmp_path / "swing.csv")


def test_what_readers_raise_is_an_error_of_ours(saved: bytes, tmp_path: Path) -> None:
    """A member that is encrypted, in an unknown compression, or larger than memory."""
    path = tmp_path / "odd.npz"
    directory = saved.index(b"PK\x01\x02")
    for offset, byte in ((8, 1), (10, 99)):  # The flags and the compression method.
        odd = bytearray(saved)
        for place in (directory + offset, offset - 2):
            odd[place] = byte
        path.write_bytes(odd)
        with pytest.raises(mbt.ArgumentValueError, match=NOT_SAVED) as caught:
            mbt.Trajectory.load(path)
        assert isinstance(caught.value.__cause__, (RuntimeError, NotImplementedError))
    with zipfile.ZipFile(io.BytesIO(saved)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999999, ), }"
    write_archive(path, with_header(members, "q.npy", huge))
    with pytest.raises(mbt.ArgumentValueError, match="hold more than fits in memory"):
        mbt.Trajectory.load(path)


SPOILED: list[tuple[str, Any]] = [
    ("q", lambda q: q.astype(str)),
    ("q", lambda q: q.astype(np.float32)),
    ("q", lambda q: q.astype(complex)),
    ("q", lambda q: q.astype(">f8")),
    ("v", lambda v: v.astype(int)),
    ("vdot", lambda vdot: vdot.astype(str)),
    ("time", lambda time: time[:, np.newaxis]),
    ("time", lambda time: time.astype("datetime64[s]")),
    ("time", lambda time: time[::-1]),
    ("time", lambda time: np.where(time == time[-1], np.nan, time)),
    ("time", lambda time: np.where(time == time[-1], np.inf, time)),
    ("num_limited", lambda n: n.astype(float)),
    ("num_limited", lambda n: n[:-1]),
    ("num_steps", lambda n: np.array("5")),
    ("num_steps", lambda n: np.array([5])),
    ("method", lambda word: np.array([word])),
    ("status", lambda word: np.array("asleep")),
    ("position_names", lambda names: np.array([1.0])),
    ("position_names", lambda names: names[0]),
    ("velocity_units", lambda units: np.array(["m", "m"])),
    ("event_0_q", lambda q: q[:, :-1]),
    ("event_0_time", lambda time: time.astype(str)),
    ("event_0_time", lambda time: np.full_like(time, np.nan)),
]


@pytest.mark.parametrize(("name", "spoil"), SPOILED)
def test_what_is_not_what_it_should_be_is_refused(
    name: str, spoil: Any, saved: bytes, tmp_path: Path
) -> None:
    with np.load(io.BytesIO(saved)) as file:
        arrays = dict(file)
    path = tmp_path / "spoiled.npz"
    np.savez(path, **arrays)
    mbt.Trajectory.load(path)
    np.savez(path, **{**arrays, name: spoil(arrays[name])})
    with pytest.raises(mbt.ArgumentValueError, match=NOT_SAVED):
        mbt.Trajectory.load(path)


def test_damaged_pickles_are_refused(swing: mbt.Trajectory) -> None:
    state = {**vars(swing)}
    for name, value in {
        "q": swing.q[:-1],
        "v": None,
        "method": 3,
        "events": 3,
        "position_names": ["q"],
    }.items():
        broken = copy.copy(swing)
        with pytest.raises(mbt.ArgumentValueError, match="unpickling a Trajectory: it is damaged"):
            broken.__setstate__({**state, name: value})
    del state["tau"]
    with pytest.raises(mbt.ArgumentValueError, match="unpickling a Trajectory: it is truncated: no 'tau'"):
        broken.__setstate__(state)
