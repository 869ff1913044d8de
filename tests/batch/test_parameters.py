"""Parameters of a batch: one value for all samples or one for each, through every setter of every element."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

import mbt
import scalars.test_every_method as every
from batch.batches import CALLS, arrays_of, make_batch, tree_of, tree_without_users
from scalars.test_leading_axes import OF_ALL_STATES, vary

SHAPE = (2, 3)
# Setters of actuators take no Context.
SETTERS = [
    (i, name) for i, name in every.METHODS if name.startswith("set_") and name != "set_actuation_vector"
]


def parameters_of(context: Any) -> Any:
    """The whole parameter vector of each sample."""
    if not context.batch_shape:
        parameters = context._get_state()["parameters"]
        return context.tree._compiled.default_parameters if parameters is None else parameters
    vectors = [context._parameters.of_sample(k) for k in range(int(np.prod(context.batch_shape)))]
    return np.reshape(vectors, (*context.batch_shape, -1))


def state_of(context: Any) -> list[Any]:
    return [context.q, context.v, parameters_of(context)]


@cache
def singles() -> list[Any]:
    tree = tree_of()
    batch = make_batch(tree, SHAPE)
    return [batch._sample(i) for i in np.ndindex(SHAPE)]


def givens(i: int, name: str) -> list[dict[str, Any]]:
    """Arguments for each sample."""
    element = every.elements(tree_of())[i]
    results = []
    for k, context in enumerate(singles()):
        own = every.arguments(name, element, tree_of(), context)
        results.append({argument: vary(argument, value, k) for argument, value in own.items()})
    return results


def is_varied(argument: str, value: Any) -> bool:
    return argument not in OF_ALL_STATES and isinstance(value, (float, np.ndarray))


def stack(entries: Any) -> Any:
    return np.stack([np.asarray(x) for x in entries]).reshape(*SHAPE, *np.shape(entries[0]))


@pytest.mark.parametrize("case", SETTERS, ids=every.names)
def test_one_for_each_sample_and_one_for_all(case: tuple[int, str]) -> None:
    i, name = case
    element = every.elements(tree_of())[i]
    given = givens(i, name)
    wanted = []
    for one, context in zip(given, singles(), strict=True):
        own = context.clone()
        getattr(element, name)(**{**one, "context": own})
        wanted.append(state_of(own))
    batch = make_batch(tree_of(), SHAPE)
    together = {
        argument: stack([one[argument] for one in given]) if is_varied(argument, value) else value
        for argument, value in given[0].items()
    }
    getattr(element, name)(**{**together, "context": batch})
    for got, entries in zip(state_of(batch), zip(*wanted, strict=True), strict=True):
        np.testing.assert_allclose(got, stack(entries), rtol=0, atol=1e-15)
    # One value for all: that of sample 4, in each sample.
    batch = make_batch(tree_of(), SHAPE)
    getattr(element, name)(**{**given[4], "context": batch})
    # A setter of positions or velocities writes those; every other setter writes parameters.
    for got, want, before in zip(state_of(batch), wanted[4], state_of(singles()[4]), strict=True):
        if (want != before).any():
            np.testing.assert_allclose(
                got[..., want != before],
                np.broadcast_to(want, got.shape)[..., want != before],
                rtol=0,
                atol=1e-15,
            )


@pytest.mark.parametrize("case", SETTERS, ids=every.names)
def test_a_wrong_shape_changes_nothing(case: tuple[int, str]) -> None:
    i, name = case
    element = every.elements(tree_of())[i]
    given = givens(i, name)[1]
    for argument, value in given.items():
        if not is_varied(argument, value):
            continue
        for lead in ((2,), (3, 2), (0,), (1, 2, 3)):
            batch = make_batch(tree_of(), SHAPE)
            before, serials = (batch.q, batch.v, batch._parameters), batch._serials
            wrong = np.array(np.broadcast_to(value, (*lead, *np.shape(value))))
            with pytest.raises(mbt.ShapeError):
                getattr(element, name)(**{**given, "context": batch, argument: wrong})
            assert batch._serials == serials
            # No array is written in place.
            assert all(a is b for a, b in zip(before, (batch.q, batch.v, batch._parameters), strict=True))


REFUSED = [
    (lambda t, c, x: t.bodies[1].set_mass(c, x), -1.0),
    (lambda t, c, x: t.bodies[1].set_mass(c, x), np.nan),
    (lambda t, c, x: t.joint_actuators[0].set_rotor_inertia(c, x), -1.0),
    (lambda t, c, x: t.joint_actuators[0].set_gear_ratio(c, x), np.inf),
    (lambda t, c, x: t.gravity_field.set_gravity_vector(c, x[..., None] * np.ones(3)), np.nan),
    (
        lambda t, c, x: t.joints[1].set_damping_vector(c, x[..., None] * np.ones(t.joints[1].num_velocities)),
        -0.5,
    ),
]


@pytest.mark.parametrize("k", range(len(REFUSED)))
def test_one_bad_sample_is_refused(k: int) -> None:
    setter, bad = REFUSED[k]
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    before = parameters_of(context)
    values = np.ones(SHAPE)
    values[1, 2] = bad
    with pytest.raises(mbt.ArgumentValueError, match="expected"):
        setter(tree, context, values)
    np.testing.assert_array_equal(parameters_of(context), before)


def test_a_bad_pose_is_named() -> None:
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    frame = next(frame for frame in tree.frames if isinstance(frame, mbt.FixedOffsetFrame))
    poses = np.array(np.broadcast_to(np.eye(4), (*SHAPE, 4, 4)))
    poses[1, 0, 0, 0] = 2.0
    with pytest.raises(mbt.ArgumentValueError, match=re.escape("X_PF[1, 0]: expected a pose")):
        frame.set_pose_in_parent_frame(context, poses)


# Inertial parameters.


def test_inertial_parameters_of_each_sample() -> None:
    tree = tree_without_users()
    pi = tree.get_inertial_parameters() * np.linspace(0.5, 2.0, 6).reshape(*SHAPE, 1)
    context = make_batch(tree, SHAPE)
    tree.set_inertial_parameters(context, pi)
    np.testing.assert_allclose(tree.get_inertial_parameters(context), pi, rtol=1e-14, atol=1e-15)
    for i in np.ndindex(SHAPE):
        single = tree.create_default_context()
        tree.set_inertial_parameters(single, pi[i])
        for body in tree.bodies[1:]:
            assert body.get_mass(context)[i] == body.get_mass(single)
            M = body.calc_spatial_inertia_in_body_frame(context)[i]
            assert body.calc_spatial_inertia_in_body_frame(single) == M
    # One for all samples, and one for each row.
    for given in (pi[0, 1], pi[1], pi[:, :1]):
        tree.set_inertial_parameters(context, given)
        wanted = np.broadcast_to(given, pi.shape)
        np.testing.assert_allclose(tree.get_inertial_parameters(context), wanted, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ((4, -1.0), mbt.InvalidInertiaError, "pi: body 'body3' of sample [1, 2]: No physical body"),
        (
            (0, -1.0),
            mbt.InvalidInertiaError,
            "pi: body 'body3' of sample [1, 2]: mass: expected a number >= 0",
        ),
        (
            (0, 0.0),
            mbt.InvalidInertiaError,
            "pi: body 'body3' of sample [1, 2]: a body without mass has no mass moment",
        ),
        ((5, 1e308), mbt.InvalidInertiaError, "pi: body 'body3' of sample [1, 2]: "),
        ((7, np.nan), mbt.ArgumentValueError, "pi: expected finite numbers, got nan at index (1, 2, 27)"),
    ],
)
def test_inertial_parameters_that_no_body_has(change: Any, error: Any, message: str) -> None:
    tree = tree_without_users()
    node = tree.get_body_by_name("body3").node_index
    context = make_batch(tree, SHAPE)
    before = tree.get_inertial_parameters(context)
    pi = np.array(before)
    pi[1, 2, 10 * (node - 1) + change[0]] = change[1]
    message = message.replace("27", str(10 * (node - 1) + 7))
    with pytest.raises(error, match=re.escape(message)):
        tree.set_inertial_parameters(context, pi)
    np.testing.assert_array_equal(tree.get_inertial_parameters(context), before)
    # As with one state: inertias that are impossible for the mass are rejected.
    if change[0] == 4:
        tree.set_inertial_parameters(context, pi, skip_validity_check=True)
        np.testing.assert_allclose(tree.get_inertial_parameters(context), pi, rtol=1e-14, atol=1e-15)


def test_the_checks_of_a_batch_are_those_of_one_state() -> None:
    """Inertias near the limit of physical validity, some on either side of it."""
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.finalize()
    rng = np.random.default_rng(0)
    single = tree.create_default_context()
    verdicts = []
    for _ in range(400):
        m, com = rng.uniform(0.1, 5.0), rng.normal(size=3)
        a, b = rng.uniform(0.1, 1.0, 2)
        excess = rng.choice([0.0, 1e-15, -1e-15, 1e-12, -1e-12, 1e-3, -1e-3])
        R = mbt.math.rpy_to_matrix(rng.normal(size=3))
        central = R @ np.diag([a, b, a + b + excess]) @ R.T
        M = mbt.SpatialInertia.make_from_central_inertia(m, com, central, skip_validity_check=True)
        pi = mbt.math.calc_inertial_parameters(M)
        verdict = []
        for context in (single, tree.create_default_context(1)):
            try:
                tree.set_inertial_parameters(context, pi)
                verdict.append(None)
            except mbt.InvalidInertiaError as error:
                verdict.append(str(error).replace(" of sample [0]", ""))
        assert verdict[0] == verdict[1]
        verdicts.append(verdict[0])
    assert None in verdicts
    assert any(verdicts)


def test_bodies_without_mass_in_some_samples() -> None:
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    pi = np.array(tree.get_inertial_parameters(context))
    pi[0, 1, :10] = 0.0
    tree.set_inertial_parameters(context, pi)
    np.testing.assert_allclose(tree.get_inertial_parameters(context), pi, rtol=1e-14, atol=1e-15)


def test_spatial_inertia_of_a_body() -> None:
    tree = tree_without_users()
    body = tree.bodies[3]
    context = make_batch(tree, SHAPE)
    inertias = [mbt.SpatialInertia.solid_box_with_mass(1.0 + k, 1, 2, 3).shift([k, 0, 0]) for k in range(6)]
    nested = [inertias[:3], inertias[3:]]
    for given in (nested, np.array(nested), tuple(map(tuple, nested))):
        body.set_spatial_inertia_in_body_frame(context, given)
        M = body.calc_spatial_inertia_in_body_frame(context)
        assert [M[i] for i in np.ndindex(SHAPE)] == inertias
    other = make_batch(tree, SHAPE)
    body.set_spatial_inertia_in_body_frame(other, M)
    np.testing.assert_array_equal(tree.calc_mass_matrix(other), tree.calc_mass_matrix(context))
    # Leading axes broadcast.
    for row in (inertias[:3], M[0]):
        body.set_spatial_inertia_in_body_frame(context, row)
        np.testing.assert_array_equal(body.get_mass(context), [[1.0, 2.0, 3.0]] * 2)
    # One value for all samples.
    body.set_spatial_inertia_in_body_frame(context, inertias[2])
    np.testing.assert_array_equal(body.get_mass(context), np.full(SHAPE, 3.0))
    for wrong, error in (
        (inertias, mbt.ShapeError),
        (inertias[:2], mbt.ShapeError),
        (M[:, :2], mbt.ShapeError),
        ("x", mbt.ArgumentTypeError),
        ([1.0], mbt.ArgumentTypeError),
    ):
        with pytest.raises(error, match="body 'body2': M_BBo_B: expected"):
            body.set_spatial_inertia_in_body_frame(context, wrong)
    with pytest.raises(mbt.ShapeError, match="mass properties of one state"):
        body.set_spatial_inertia_in_body_frame(tree.create_default_context(), M)
    bad = mbt.SpatialInertia(1.0, np.zeros(3), np.diag([1.0, 1.0, 3.0]), skip_validity_check=True)
    nested[1][1] = bad
    with pytest.raises(
        mbt.InvalidInertiaError, match=re.escape("body 'body2': sample [1, 1]: No physical body")
    ):
        body.set_spatial_inertia_in_body_frame(context, nested)


def test_mass_properties_of_many_samples_elsewhere() -> None:
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    body = tree.bodies[3]
    body.set_mass(context, np.arange(6.0).reshape(SHAPE))
    M = body.calc_spatial_inertia_in_body_frame(context)
    pi, J = mbt.math.calc_inertial_parameters(M), mbt.math.calc_pseudo_inertia(M)
    for i in np.ndindex(SHAPE):
        np.testing.assert_array_equal(pi[i], mbt.math.calc_inertial_parameters(M[i]))
        np.testing.assert_array_equal(J[i], mbt.math.calc_pseudo_inertia(M[i]))
    # A body's default mass properties are those of one state.
    with pytest.raises(mbt.ShapeError, match="'link': M_BBo_B: expected mass properties of one state"):
        mbt.RigidBody("link", M)


def test_a_mass_centre_too_far_away_in_one_sample() -> None:
    tree = tree_without_users()
    body = tree.bodies[3]
    context = make_batch(tree, SHAPE)
    com = np.array(body.calc_center_of_mass_in_body_frame(context))
    com[1, 0] += 100.0
    with pytest.raises(mbt.InvalidInertiaError, match=re.escape("body 'body2': sample [1, 0]: ")):
        body.set_center_of_mass_in_body_frame(context, com)
    com[1, 0] -= 100.0
    body.set_center_of_mass_in_body_frame(context, com)


def test_mass_properties_are_those_of_each_sample() -> None:
    tree = tree_without_users()
    context = make_batch(tree, SHAPE)
    for k, body in enumerate(tree.bodies[1:]):
        body.set_mass(context, np.arange(6.0).reshape(SHAPE) + k)
    indices = [body.index for body in tree.bodies[1:5]]
    M = tree.calc_spatial_inertia(context, tree.frames[-1], indices)
    N = tree.bodies[1].calc_spatial_inertia_in_body_frame(context)
    R, p = mbt.math.rpy_to_matrix([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    ps = np.random.default_rng(0).normal(size=(*SHAPE, 3))
    assert M.batch_shape == SHAPE
    assert M.is_physically_valid()
    for i in np.ndindex(SHAPE):
        one, other = M[i], N[i]
        for got, wanted in (
            (M.mass[i], one.mass),
            (M.calc_com_moment()[i], one.calc_com_moment()),
            (M.calc_rotational_inertia()[i], one.calc_rotational_inertia()),
            (M.calc_central_inertia()[i], one.calc_central_inertia()),
            (M.as_matrix6()[i], one.as_matrix6()),
            (M.shift(p)[i].as_matrix6(), one.shift(p).as_matrix6()),
            (M.shift(ps)[i].as_matrix6(), one.shift(ps[i]).as_matrix6()),
            (M.re_express(R)[i].as_matrix6(), one.re_express(R).as_matrix6()),
            ((M + N)[i].as_matrix6(), (one + other).as_matrix6()),
            ((M + one)[i].as_matrix6(), (one + one).as_matrix6()),
            ((one + M)[i].as_matrix6(), (one + one).as_matrix6()),
        ):
            np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12 * max(1.0, np.max(np.abs(wanted))))
    assert M[...] == M
    assert M != N
    with pytest.raises(mbt.ArgumentValueError, match="orthonormal"):
        M.re_express(2.0 * R)
    with pytest.raises(mbt.ShapeError, match="p_PQ_E"):
        M.shift([1.0, 2.0])


# Results that depend on parameters.


def test_base_parameters() -> None:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_joint(
        mbt.RevoluteJoint, "pin", tree.world_body, mbt.math.make_pose([0, 0, 1]), link, None, [0, 1, 0]
    )
    field: Any = tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    single = tree.create_default_context()
    context = tree.create_default_context(3)
    for c in (single, context):
        field.set_gravity_vector(c, [0, -1.0, 0])
    link.set_mass(context, [1.0, 2.0, 3.0])
    of_one, of_batch = tree.calc_base_parameters(single), tree.calc_base_parameters(context)
    np.testing.assert_array_equal(of_one.regrouping, of_batch.regrouping)
    assert of_one.names == of_batch.names
    # Poses of frames and gravity, set for each sample to the same values.
    field.set_gravity_vector(context, np.tile([0, -1.0, 0], (3, 1)))
    np.testing.assert_array_equal(tree.calc_base_parameters(context).regrouping, of_one.regrouping)
    field.set_gravity_vector(context, [[0, -1.0, 0], [0, -1.0, 0], [0, -2.0, 0]])
    with pytest.raises(
        mbt.ArgumentValueError, match="context: expected the same poses of frames and the same gravity"
    ):
        tree.calc_base_parameters(context)


#: Results of a tree that neither masses nor gravity nor poses of frames change.
INDEPENDENT = {
    "eval_position_kinematics.H_FM",
    "eval_position_kinematics.X_FM",
    "get_positions_and_velocities",
    "make_qdot_to_velocity_map",
    "make_velocity_to_qdot_map",
    "map_acceleration_to_qddot",
    "map_qddot_to_acceleration",
    "map_qdot_to_velocity",
    "map_velocity_to_qdot",
    "mass of nothing",
}


def test_every_result_follows_a_parameter_of_each_sample() -> None:
    """Results are computed anew, and arrays that were returned before do not change."""
    tree = tree_of()
    context = make_batch(tree, SHAPE)
    context.applied_forces.set_zero()
    first = {name: arrays_of(call(context)) for name, call in CALLS(tree).items()}
    copies = {name: [np.array(x) for x in arrays] for name, arrays in first.items()}
    factors = np.linspace(1.25, 2.0, 6).reshape(SHAPE)
    for body in tree.bodies[1:]:
        body.set_mass(context, body.get_mass(context) * factors)
    gravity: Any = tree.gravity_field
    gravity.set_gravity_vector(context, factors[..., None] * [1.0, 2.0, 3.0])
    for frame in tree.frames:
        if isinstance(frame, mbt.FixedOffsetFrame):
            turn = mbt.math.make_pose([0.1, 0, 0], rpy=np.stack([factors, factors, factors], -1))
            frame.set_pose_in_parent_frame(context, frame.get_pose_in_parent_frame(context) @ turn)
    same = make_batch(tree, SHAPE)
    same.applied_forces.set_zero()
    same._set_state(context._get_state())
    unchanged = set()
    for name, call in CALLS(tree).items():
        # Arrays that were returned before are unchanged.
        for a, b in zip(first[name], copies[name], strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)
        results = arrays_of(call(context))
        for a, b in zip(results, arrays_of(call(same)), strict=True):
            np.testing.assert_array_equal(a, b, err_msg=name)
        if all(np.array_equal(a, b, equal_nan=True) for a, b in zip(results, copies[name], strict=True)):
            unchanged.add(name)
    # Only methods of the tree: most results of joints and force elements depend on none of these parameters.
    assert {name for name in unchanged if not name[0].isupper()} == INDEPENDENT


def test_samples_with_parameters_of_their_own_agree_with_single_contexts() -> None:
    tree = tree_without_users()
    context = make_batch(tree, (17,))
    rng = np.random.default_rng(1)
    for body in tree.bodies[1:]:
        body.set_mass(context, body.default_mass * rng.uniform(0.5, 2.0, 17))
    for actuator in tree.joint_actuators:
        actuator.set_gear_ratio(context, rng.uniform(0.5, 2.0, 17))
    for name, call in CALLS(tree).items():
        if name == "calc_energy_report":
            continue
        got = arrays_of(call(context))
        for k in (0, 7, 8, 16):
            wanted = arrays_of(call(context._sample((k,))))
            for a, b in zip(got, wanted, strict=True):
                scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
                np.testing.assert_allclose(a[k], b, rtol=0, atol=1e-10 * scale, err_msg=name)
