"""Arrays of a batch: those returned never change; those written into do."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from batch.batches import CALLS, arrays_of, make_batch, tree_of, tree_without_users
from support.calls import METHODS
from support.description import Array

SHAPE = (2, 3)

VIEWS: dict[str, Callable[[Any], Any]] = {
    "q": lambda c: c.q,
    "v": lambda c: c.v,
    "time": lambda c: c.time,
    "actuation": lambda c: c.actuation,
    **{name: call for name, call in CALLS(tree_of()).items() if name.startswith("eval_")},
    "body pose": lambda c: c.tree.eval_body_pose_in_world(c, c.tree.bodies[4]),
    "body velocity": lambda c: c.tree.eval_body_spatial_velocity_in_world(c, c.tree.bodies[4]),
    "body acceleration": lambda c: c.tree.eval_body_spatial_acceleration_in_world(c, c.tree.bodies[4]),
}


def write_everything(context: Any) -> None:
    """Write every kind of value that a Context holds, so that everything changes."""
    rng = np.random.default_rng(8)
    context.q = tree_of().normalize_positions(context.q + 0.1 * rng.normal(size=context.q.shape))
    context.v = context.v + 1.0
    context.actuation = context.actuation + 1.0
    context.time = context.time + 1.0
    body = context.tree.bodies[2]
    body.set_mass(context, body.get_mass(context) * np.linspace(1.5, 2.0, 6).reshape(SHAPE))
    pose = mbt.math.make_pose([np.linspace(0, 1, 6).reshape(SHAPE), 0, 0])
    for frame in context.tree.frames:
        if isinstance(frame, mbt.FixedOffsetFrame):
            frame.set_pose_in_parent_frame(context, frame.get_pose_in_parent_frame(context) @ pose)


@pytest.mark.parametrize("name", VIEWS)
def test_what_is_handed_out_is_read_only_and_never_changes(name: str) -> None:
    context = make_batch(tree_of(), SHAPE)
    (array,) = arrays_of(VIEWS[name](context))
    kept = np.array(array)
    assert array.shape[:2] == SHAPE
    assert array.flags.c_contiguous or name.startswith("body")
    with pytest.raises(mbt.ArgumentValueError, match=r"context\.q = "):
        array[0, 0] = 1.0
    with pytest.raises(mbt.ArgumentValueError, match=r"context\.q = "):
        array += 1.0
    with pytest.raises(ValueError, match="read-only"):
        np.add(array, 1.0, out=array)
    with pytest.raises(ValueError, match="WRITEABLE"):
        array.flags.writeable = True
    write_everything(context)
    (fresh,) = arrays_of(VIEWS[name](context))
    np.testing.assert_array_equal(array, kept)
    if name.partition(".")[2] not in ("H_FM",):
        assert not np.array_equal(fresh, kept)
    # Results are ordinary arrays.
    assert type(array + 1.0) is np.ndarray
    assert type(array.copy()) is np.ndarray


VALUES = np.linspace(1.0, 2.0, 6).reshape(SHAPE)


def first_offset_frame(tree: mbt.MultibodyTree) -> mbt.FixedOffsetFrame:
    return next(frame for frame in tree.frames if isinstance(frame, mbt.FixedOffsetFrame))


WRITES: dict[str, Callable[[Any], None]] = {
    "q": lambda c: setattr(c, "q", np.roll(c.q, 1, 0)),
    "v": lambda c: setattr(c, "v", 2.0 * c.v),
    "mass": lambda c: c.tree.bodies[3].set_mass(c, VALUES),
    "mass of all": lambda c: c.tree.bodies[3].set_mass(c, 7.0),
    "pose": lambda c: first_offset_frame(c.tree).set_pose_in_parent_frame(
        c, mbt.math.make_pose([VALUES, 0, 0])
    ),
    "gravity": lambda c: c.tree.gravity_field.set_gravity_vector(c, VALUES[..., None] * [1, 2, 3]),
    "inertial parameters": lambda c: c.tree.set_inertial_parameters(
        c, c.tree.get_inertial_parameters(c) * VALUES[..., None]
    ),
    "actuation": lambda c: setattr(c, "actuation", c.actuation + 1.0),
    "applied forces": lambda c: c.applied_forces.generalized_forces.fill(1.0),
    "lock": lambda c: c.tree.joints[2].lock(c),
    "exempt from gravity": lambda c: c.tree.gravity_field.set_enabled_in(c, 1, False),
    "state of an instance": lambda c: c.tree.set_positions_and_velocities(
        c, 1, np.ones(c.q.shape[-1] + c.v.shape[-1])
    ),
    "defaults": lambda c: c.tree.set_default_context(c),
}


@pytest.mark.parametrize("name", WRITES)
def test_caches_follow_every_kind_of_write(name: str) -> None:
    """A Context that has computed everything before gives the same results as one that has not."""
    tree = tree_without_users()
    used, fresh = make_batch(tree, SHAPE), make_batch(tree, SHAPE)
    for call in CALLS(tree).values():
        call(used)
    for context in (used, fresh):
        WRITES[name](context)
    for of_call, call in CALLS(tree).items():
        for a, b in zip(arrays_of(call(used)), arrays_of(call(fresh)), strict=True):
            np.testing.assert_array_equal(a, b, err_msg=of_call)


def test_a_cache_of_before_is_stale() -> None:
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    x = np.zeros(tree.num_velocities)
    pc, vc = tree.eval_position_kinematics(context), tree.eval_velocity_kinematics(context)
    tree.calc_inverse_dynamics(context, x, pc=pc, vc=vc)
    assert tree.eval_position_kinematics(context) is pc
    tree.bodies[1].set_mass(context, np.ones(SHAPE))
    for caches in ({"pc": pc}, {"vc": vc}):
        with pytest.raises(mbt.StaleCacheError):
            tree.calc_inverse_dynamics(context, x, **caches)
    other = make_batch(tree, (3, 2))
    with pytest.raises(mbt.StaleCacheError):
        tree.calc_inverse_dynamics(context, x, pc=tree.eval_position_kinematics(other))


# out=


WITH_OUT = [name for name, call in METHODS.items() if call.has_out]


def result_of(name: str, context: Any) -> tuple[Any, list[Array]]:
    tree = context.tree
    call = METHODS[name]
    values = [np.array(np.broadcast_to(x, SHAPE + x.shape)) for x in call.values(tree)]
    return call, values


@pytest.mark.parametrize("name", WITH_OUT)
def test_out(name: str) -> None:
    tree = tree_of()
    context = make_batch(tree, SHAPE)
    call, values = result_of(name, context)
    wanted = call.run(tree, context, *values)
    assert wanted.flags.writeable
    assert wanted.flags.c_contiguous
    out = np.full(wanted.shape, np.nan)
    assert call.run(tree, context, *values, out=out) is out
    np.testing.assert_array_equal(out, wanted)
    # Into an argument, where the shape allows it, also shifted by some rows.
    for k, value in enumerate(values):
        if value.shape == wanted.shape:
            own = [x.copy() for x in values]
            assert call.run(tree, context, *own, out=own[k]) is own[k]
            np.testing.assert_array_equal(own[k], wanted)
    untouched = np.full(wanted.shape, 7.0)
    read_only = untouched.copy()
    read_only.flags.writeable = False
    for bad, error in (
        (np.full(wanted.shape[1:], 7.0), mbt.ShapeError),
        (np.full((3, 2, *wanted.shape[2:]), 7.0), mbt.ShapeError),
        (np.full((*wanted.shape, 1), 7.0), mbt.ShapeError),
        (np.full(wanted.shape, 7.0, np.float32), mbt.ArgumentTypeError),
        (read_only, mbt.ArgumentTypeError),
        (np.full((*wanted.shape, 2), 7.0)[..., 0], mbt.ArgumentTypeError),
        (wanted.tolist(), mbt.ArgumentTypeError),
    ):
        with pytest.raises(error, match="out"):
            call.run(tree, context, *values, out=bad)
        if isinstance(bad, np.ndarray):
            assert (bad == 7.0).all()
    # `out` is left untouched when an argument is rejected.
    for k in range(len(values)):
        wrong = [*values]
        wrong[k] = np.zeros((5, *values[k].shape[1:]))
        with pytest.raises(mbt.ShapeError):
            call.run(tree, context, *wrong, out=untouched)
        assert (untouched == 7.0).all()


@pytest.mark.parametrize("name", ["calc_inverse_dynamics_derivatives", "calc_forward_dynamics_derivatives"])
@pytest.mark.parametrize("with_users", [True, False])
def test_three_outs(name: str, with_users: bool) -> None:
    tree = tree_of() if with_users else tree_without_users()
    context = make_batch(tree, SHAPE)
    call, values = result_of(name, context)
    wanted = call.run(tree, context, *values)
    for given in itertools.product((True, False), repeat=3):
        out = tuple(np.full(wanted[0].shape, np.nan) if is_given else None for is_given in given)
        got = call.run(tree, context, *values, out=out)
        for a, b, c in zip(got, wanted, out, strict=True):
            assert c is None or a is c
            np.testing.assert_array_equal(a, b)
    good = np.full(wanted[0].shape, 7.0)
    for bad in ((good, good.copy(), good[0]), (good, good.copy(), good), (good, good.copy()), good):
        with pytest.raises((mbt.ShapeError, mbt.ArgumentTypeError, mbt.ArgumentValueError), match="out"):
            call.run(tree, context, *values, out=bad)
        assert (good == 7.0).all()


def test_arrays_of_inverse_dynamics_may_be_those_of_the_forces() -> None:
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    rng = np.random.default_rng(0)
    forces: Any = mbt.MultibodyForces(tree, SHAPE)
    forces.body_forces = rng.normal(size=forces.body_forces.shape)
    forces.generalized_forces = rng.normal(size=forces.generalized_forces.shape)
    x = rng.normal(size=forces.generalized_forces.shape)
    A_WB, F_BMo_W = (np.empty(forces.body_forces.shape) for _ in range(2))
    tau = tree.calc_inverse_dynamics(context, x, forces, A_WB_array=A_WB, F_BMo_W_array=F_BMo_W)
    F, out = forces.body_forces, forces.generalized_forces
    got = tree.calc_inverse_dynamics(context, x, forces, F_BMo_W_array=F, out=out)
    assert got is out
    np.testing.assert_array_equal(forces.generalized_forces, tau)
    np.testing.assert_array_equal(forces.body_forces, F_BMo_W)
    np.testing.assert_array_equal(A_WB, tree.calc_spatial_accelerations_from_vdot(context, x))


def test_results_are_not_arguments() -> None:
    tree = tree_of()
    context = make_batch(tree, SHAPE)
    W = tree.world_frame
    for p in (np.ones((3, 4)), np.ones((*SHAPE, 3, 4))):
        got = tree.calc_points_positions(context, W, p, W)
        assert got.shape == (*SHAPE, 3, 4)
        got[...] = 5.0
        assert (p == 1.0).all()


# Copies.


def assert_same(a: Any, b: Any) -> None:
    assert a.batch_shape == b.batch_shape
    assert type(a) is type(b)
    for name in ("q", "v", "actuation", "time"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name, call in CALLS(tree_of()).items():
        if a.tree is tree_of() and b.tree is tree_of():
            for x, y in zip(arrays_of(call(a)), arrays_of(call(b)), strict=True):
                np.testing.assert_array_equal(x, y, err_msg=name)
    for name in ("calc_forward_dynamics", "calc_mass_matrix", "get_inertial_parameters"):
        np.testing.assert_array_equal(getattr(a.tree, name)(a), getattr(b.tree, name)(b))


COPIES: dict[str, Callable[[Any], Any]] = {
    "clone": lambda c: c.clone(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "deepcopy with the tree": lambda c: copy.deepcopy((c, c.tree))[0],
    "pickle": lambda c: pickle.loads(pickle.dumps(c)),
    "pickle with the tree": lambda c: pickle.loads(pickle.dumps((c.tree, c)))[1],
    "old pickle": lambda c: pickle.loads(pickle.dumps(c, 2)),
}


@pytest.mark.parametrize("shape", [(0,), (1,), SHAPE])
@pytest.mark.parametrize("name", COPIES)
def test_copies(name: str, shape: tuple[int, ...]) -> None:
    context = make_batch(tree_of(), shape)
    values = np.linspace(1.0, 2.0, int(np.prod(shape))).reshape(shape)
    context.time = values
    context.tree.bodies[2].set_mass(context, values)
    context.tree.joints[2].lock(context)
    context.applied_forces.generalized_forces[...] = 0.5
    twin = COPIES[name](context)
    assert_same(context, twin)
    assert twin.tree.joints[2].is_locked(twin)
    # Independent.
    before = [np.array(x) for x in (context.q, context.v, context.tree.calc_mass_matrix(context))]
    twin.q = twin.q + 1.0
    twin.applied_forces.generalized_forces[...] = 2.0
    twin.tree.bodies[2].set_mass(twin, 9.0)
    for a, b in zip(before, (context.q, context.v, context.tree.calc_mass_matrix(context)), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (context.applied_forces.generalized_forces == 0.5).all()
    np.testing.assert_array_equal(context.tree.bodies[2].get_mass(context), values)


def test_pickles_of_mass_properties() -> None:
    tree = tree_without_users()
    M = tree.bodies[2].calc_spatial_inertia_in_body_frame(make_batch(tree, SHAPE))
    for twin in (pickle.loads(pickle.dumps(M)), copy.copy(M), copy.deepcopy(M)):
        assert twin == M
        assert twin.batch_shape == SHAPE


def test_what_is_not_finite_is_listed() -> None:
    context = make_batch(tree_of(), SHAPE)
    context.validate()
    q, u = np.array(context.q), np.array(context.actuation)
    q[1, 2, 3], u[0, 1, 0] = np.nan, np.inf
    context.q, context.actuation = q, u
    context.applied_forces.body_forces[1, 0, 2, 5] = -np.inf
    wanted = (
        r"q\[1, 2, 3\] = nan, actuation\[0, 1, 0\] = inf, "
        r"applied_forces\.body_forces\[1, 0, 2, 5\] = -inf"
    )
    with pytest.raises(mbt.ArgumentValueError, match=wanted):
        context.validate()
