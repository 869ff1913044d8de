"""Control of batches of states, with parameters of a Context, and of one of two robots."""

import numpy as np
import pytest

import mbt
from control.standing_robots import check_batch_of_contexts, make_biped, make_hopper
from mbt import functional
from support.linkages import calc_four_bar_angles, four_bar

daqp = pytest.importorskip("daqp")


def stand(make):
    tree, contacts, q = make()
    controller = mbt.TaskSpaceController(tree, contacts)
    controller.add_center_of_mass(axes="xz", stiffness=100, damping=20)
    controller.add_momentum(axes="y", damping=5)
    controller.add_posture(q, stiffness=30, damping=11, weight=1e-3)
    center = functional.center_of_mass(tree, q)[[0, 2]]
    return tree, controller, q, [center + np.array([0.01, -0.02]), [0.0], None]


def check_equal(one, other, tolerance):
    for array, expected in zip(one.arrays(), other.arrays(), strict=True):
        np.testing.assert_allclose(array, expected, rtol=0, atol=tolerance)


def check_equal_row(batch, k, one):
    for array, expected in zip(batch.arrays(), one.arrays(), strict=True):
        np.testing.assert_allclose(array[k], expected, rtol=0, atol=1e-7)


def test_parameters_of_a_context_count_as_those_of_a_tree_with_them():
    tree, controller, q, goals = stand(make_biped)
    rng = np.random.default_rng(0)
    v = 0.2 * rng.normal(size=tree.num_velocities)
    context = tree.create_default_context()
    check_equal(controller.solve(q, v, goals, context=context), controller.solve(q, v, goals), 1e-5)
    other = tree.edit()
    inertia = mbt.SpatialInertia.solid_box_with_mass(31.0, 0.3, 0.3, 0.4).shift([-0.05, 0.0, -0.1])
    gravity = [0.0, 0.5, -4.0]
    tree.get_body_by_name("trunk").set_spatial_inertia_in_body_frame(context, inertia)
    other.get_body_by_name("trunk").set_default_spatial_inertia(inertia)
    tree.gravity_field.set_gravity_vector(context, gravity)
    other.gravity_field.set_default_gravity_vector(gravity)
    other.finalize()
    second = mbt.TaskSpaceController(other, controller.contacts)
    second.add_center_of_mass(axes="xz", stiffness=100, damping=20)
    second.add_momentum(axes="y", damping=5)
    second.add_posture(q, stiffness=30, damping=11, weight=1e-3)
    expected = second.solve(q, v, goals)
    found = controller.solve(q, v, goals, context=context)
    assert abs(found.contact_forces - controller.solve(q, v, goals).contact_forces).max() > 1.0
    # Forces are regularised in units of the default weight, so points share them differently; motion agrees.
    np.testing.assert_allclose(found.vdot, expected.vdot, atol=2e-3)
    np.testing.assert_allclose(found.contact_forces.sum(0), expected.contact_forces.sum(0), atol=2e-2)


def test_a_disabled_constraint_of_a_context_does_not_hold():
    tree = four_bar()
    controller = mbt.TaskSpaceController(tree, actuated=["drive"])
    controller.add_posture(joints=["drive"], stiffness=0, damping=0)
    context = tree.create_default_context()
    for constraint in tree.constraints:
        constraint.set_enabled_in(context, False)
    q, v = calc_four_bar_angles(0.9), np.zeros(3)
    result = controller.solve(q, v, [(None, None, [0.7])], context=context)
    assert result.status == "optimal"
    context.q, context.v = q, v
    found = tree.calc_forward_dynamics(context, result.tau)
    np.testing.assert_allclose(found, result.vdot, rtol=1e-9, atol=1e-9)
    assert not np.allclose(controller.solve(q, v, [(None, None, [0.7])]).tau, result.tau, atol=1e-3)


def test_contexts_of_others_are_refused():
    tree, controller, q, goals = stand(make_hopper)
    v = np.zeros(4)
    with pytest.raises(mbt.ArgumentTypeError, match="context: expected a Context"):
        controller.solve(q, v, goals, context=3)
    with pytest.raises(
        mbt.ContextMismatchError, match="context: expected a Context of the tree of this controller"
    ):
        controller.solve(q, v, goals, context=make_hopper()[0].create_default_context())
    two = tree.create_default_context(batch_shape=2)
    with pytest.raises(mbt.ShapeError, match=r"leading axes do not broadcast: \(3,\), \(\), and \(2,\)"):
        controller.solve(np.tile(q, (3, 1)), v, goals, context=two)
    with pytest.raises(mbt.ShapeError, match=r"context: expected one state or a batch \(3, 2\), got \(2,\)"):
        controller.solve(np.tile(q, (3, 1, 1)), v, goals, context=two)
    context = tree.create_default_context()
    tree.joints[-1].lock(context)
    with pytest.raises(mbt.ArgumentValueError, match="locked"):
        controller.solve(q, v + 0.1, goals, context=context)


def test_contexts_of_a_batch_have_parameters_of_each_sample():
    tree, controller, q, goals = stand(make_hopper)
    check_batch_of_contexts(tree, controller, q, np.array([0.1, -0.2, 0.3, 0.4]), goals)


@pytest.mark.parametrize("joint", ["x", "leg1"])  # without a motor, with one
@pytest.mark.parametrize("limits", [["effort"], []])
def test_locked_joints_do_not_move_and_their_motors_rest(joint, limits):
    tree, _, q = make_hopper()
    controller = mbt.TaskSpaceController(tree, limits=limits)
    controller.add_posture(q, stiffness=30, damping=11)
    before = controller.solve(q, np.zeros(4), [q + 0.1])
    context = tree.create_default_context()
    locked = tree.get_joint_by_name(joint)
    locked.lock(context)
    k = locked.velocity_start
    v = np.full(4, 0.2)
    v[k] = 0.0
    result = controller.solve(q, v, [q + 0.1], context=context)
    assert result.status == "optimal"
    assert result.vdot[k] == pytest.approx(0.0, abs=1e-12)
    assert result.tau[k] == 0.0
    np.testing.assert_array_equal(tree.actuation_matrix @ result.actuation, result.tau)
    context.q, context.v = q, v
    np.testing.assert_allclose(tree.calc_forward_dynamics(context, result.tau), result.vdot, atol=1e-9)
    # Without the Context, the joint moves again.
    after = controller.solve(q, np.zeros(4), [q + 0.1])
    check_equal(after, before, 1e-9)


def test_a_batch_is_many_ticks():
    _, controller, q, goals = stand(make_hopper)
    rng = np.random.default_rng(1)
    qs = q + 0.05 * rng.normal(size=(2, 3, 4))
    v = 0.3 * rng.normal(size=(3, 4))
    centers = goals[0] + 0.01 * rng.normal(size=(2, 1, 2))
    rates = rng.normal(size=(3, 1))
    found = controller.solve(qs, v, [centers, ([0.0], None, rates), None])
    assert found.tau.shape == found.vdot.shape == (2, 3, 4)
    assert found.contact_forces.shape == (2, 3, 1, 3)
    assert found.status.shape == found.num_iterations.shape == (2, 3)
    for i, j in np.ndindex(2, 3):
        one = controller.solve(qs[i, j], v[j], [centers[i, 0], ([0.0], None, rates[j]), None])
        assert found.status[i, j] == one.status == "optimal"
        assert found.violations[i, j] == {}
        np.testing.assert_allclose(found.tau[i, j], one.tau, atol=1e-7)
        np.testing.assert_allclose(found.contact_forces[i, j], one.contact_forces, atol=1e-7)
    # Other samples and earlier solves do not matter, to the last bit.
    part = controller.solve(qs[1, 1:], v[1:], [centers[1, 0], ([0.0], None, rates[1:]), None], out=None)
    np.testing.assert_array_equal(part.tau, found.tau[1, 1:])
    assert controller.solve(qs, v, [centers, ([0.0], None, rates), None], out=found) is found
    assert controller.solve(np.zeros((0, 4)), np.zeros(4), goals).tau.shape == (0, 4)


def test_batches_that_do_not_fit_are_refused():
    _, controller, q, goals = stand(make_hopper)
    qs, v = np.tile(q, (3, 1)), np.zeros(4)
    with pytest.raises(mbt.ShapeError, match=r"q, v: leading axes do not broadcast: \(3,\), \(2,\)"):
        controller.solve(qs, np.zeros((2, 4)), goals)
    with pytest.raises(mbt.ShapeError, match=r"references\[0\]: expected shape \(..., 2\).* got \(2, 2\)"):
        controller.solve(qs, v, [np.zeros((2, 2)), *goals[1:]])
    out = controller.solve(qs, v, goals)
    before = out.tau.copy()
    with pytest.raises(mbt.ArgumentValueError, match=r"references\[0\]: expected finite numbers"):
        controller.solve(
            2.0 * qs, v, [np.tile(goals[0], (3, 1)) * [[1.0], [np.nan], [1.0]], *goals[1:]], out=out
        )
    np.testing.assert_array_equal(out.tau, before)
    with pytest.raises(mbt.ArgumentValueError, match="out: expected a result of this controller"):
        controller.solve(qs, v, goals, out=controller.solve(q, v, goals))


def test_a_batch_of_references_needs_one_state():
    _, controller, q, goals = stand(make_hopper)
    v = np.zeros(4)
    centers = goals[0] + 0.01 * np.arange(6.0).reshape(3, 2)
    found = controller.solve(q, v, [centers, *goals[1:]])
    rates = controller.solve(q, v, [(goals[0], None, centers), *goals[1:]])
    assert found.tau.shape == rates.tau.shape == (3, 4)
    for k in range(3):
        check_equal_row(found, k, controller.solve(q, v, [centers[k], *goals[1:]]))
        check_equal_row(rates, k, controller.solve(q, v, [(goals[0], None, centers[k]), *goals[1:]]))
    with pytest.raises(mbt.ShapeError, match=r"references\[1\]: expected shape \(..., 1\).* got \(2, 1\)"):
        controller.solve(q, v, [centers, np.zeros((2, 1)), None])
    with pytest.raises(mbt.ShapeError, match=r"references\[0\]: expected shape \(2,\), got \(3,\)"):
        controller.solve(q, v, [np.zeros(3), *goals[1:]])


@pytest.mark.parametrize("compiles", [False, True])
def test_states_that_are_not_finite_have_no_torques(compiles):
    tree, controller, q, goals = stand(make_hopper)
    if compiles:
        controller.compile()
    qs, v = np.tile(q, (4, 1)), np.zeros(4)
    whole = controller.solve(qs, v, goals)
    qs[1, 2] = np.nan
    vs = np.zeros((4, 4))
    vs[3, 0] = np.inf
    found = controller.solve(qs, vs, goals)
    context = tree.create_default_context()
    in_context = controller.solve(qs, vs, goals, context=context)
    assert in_context.status.tolist() == found.status.tolist()
    assert controller.solve(qs[1], v, goals, context=context).status == "not finite"
    assert found.status.tolist() == ["optimal", "not finite", "optimal", "not finite"]
    for array, expected in zip(found.arrays(), whole.arrays(), strict=True):
        np.testing.assert_array_equal(array[::2], expected[::2])
        assert np.isnan(array[1::2]).all()
    before = controller.solve(q, v, goals)
    tau = before.tau.copy()
    lost = controller.solve(qs[1], v, goals, out=before)
    assert lost is before
    assert lost.status == "not finite"
    assert np.isnan(lost.tau).all()
    # The next tick works again.
    np.testing.assert_allclose(controller.solve(q, v, goals).tau, tau, rtol=0, atol=1e-9)


def test_one_of_two_robots_is_controlled():
    tree = mbt.MultibodyTree()
    for name in ("left", "right"):
        mbt.parsing.add_model(tree, mbt.models.model_path("mbt_arm"), model_name=name)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    tools = [tree.get_body_by_name(tree.bodies[-1].name, name) for name in ("left", "right")]
    own = [set(tree._velocity_indices(name)) for name in ("left", "right")]
    taus = []
    q = np.full(12, 0.3)
    for k, name in enumerate(("left", "right")):
        controller = mbt.TaskSpaceController(tree, model_instance=name)
        controller.add_position(tools[k], stiffness=100, damping=20)
        controller.add_posture(stiffness=10, damping=6, weight=1e-3)
        result = controller.solve(q, np.zeros(12), [[0.4, 0.1, 0.5], None])
        assert result.status == "optimal"
        assert set(np.flatnonzero(result.tau)) <= own[k]
        taus.append(result.tau)
    # The same as alone in a tree.
    alone = mbt.load_model(mbt.models.model_path("mbt_arm"))
    controller = mbt.TaskSpaceController(alone)
    controller.add_position(alone.bodies[-1], stiffness=100, damping=20)
    controller.add_posture(stiffness=10, damping=6, weight=1e-3)
    expected = controller.solve(q[:6], np.zeros(6), [[0.4, 0.1, 0.5], None]).tau
    for k in range(2):
        np.testing.assert_allclose(taus[k][sorted(own[k])], expected, atol=1e-6)
    with pytest.raises(mbt.UnknownNameError, match="middle"):
        mbt.TaskSpaceController(tree, model_instance="middle")
