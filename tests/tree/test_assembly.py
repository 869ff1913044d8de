"""`tree.assemble` moves a Context onto its constraints, or says which of them cannot close."""

import copy
import pickle
import tracemalloc

import numpy as np
import pytest

import mbt
from mbt import AssemblyError
from support import constraints as bars
from support.constraints import equations_of
from support.linkages import MECHANISMS, assembled, calc_four_bar_angles, delta, four_bar


@pytest.mark.parametrize("name", MECHANISMS)
def test_positions_and_velocities_obey(name):
    tree, mobility = MECHANISMS[name][0](), MECHANISMS[name][1]
    rng = np.random.default_rng(1)
    for _ in range(3):
        context = assembled(tree, rng)
        np.testing.assert_allclose(equations_of(tree, context).errors, 0.0, atol=2e-15)
        J = equations_of(tree, context).J
        np.testing.assert_allclose(J @ context.v, 0.0, atol=1e-13)
        assert np.abs(context.v).max() > 0.01
        assert tree.num_velocities - np.linalg.matrix_rank(J, tol=1e-10) == mobility


@pytest.mark.parametrize("name", MECHANISMS)
def test_steps_are_of_least_norm(name):
    """A displacement loses its part in the range of J' to first order, a velocity exactly."""
    tree, rng = MECHANISMS[name][0](), np.random.default_rng(2)
    context = assembled(tree, rng)
    q0, J = context.q.copy(), equations_of(tree, context).J
    outside = np.linalg.pinv(J, rcond=1e-10) @ J
    d, v = 1e-5 * rng.normal(size=(2, tree.num_velocities))
    context.q, context.v = tree.integrate_positions(q0, d, 1.0), v
    tree.assemble(context)
    moved = tree.difference_positions(q0, context.q)
    np.testing.assert_allclose(moved, d - outside @ d, rtol=0, atol=1e-8)
    assert np.abs(outside @ d).max() > 1e-6
    context.q, context.v = q0, v
    tree.assemble(context)
    np.testing.assert_allclose(context.v, v - outside @ v, rtol=0, atol=1e-15)


def test_fixed_joints_stay():
    tree, rng = four_bar(), np.random.default_rng(3)
    context = tree.create_default_context()
    for angle in (-2.0, 0.5, 3.0):
        expected = calc_four_bar_angles(angle)
        context.q = expected + np.array([0.0, *rng.uniform(-0.3, 0.3, 2)])
        context.v = [0.7, 0.0, 0.0]
        tree.assemble(context, fixed=["drive"])
        assert context.q[0] == angle
        np.testing.assert_allclose(context.q, expected, atol=1e-14)
        rate = 0.7 * (calc_four_bar_angles(angle + 1e-6) - calc_four_bar_angles(angle - 1e-6)) / 2e-6
        assert context.v[0] == 0.7
        np.testing.assert_allclose(context.v, rate, atol=1e-8)


def test_locked_joints_stay():
    tree = four_bar()
    context, other = tree.create_default_context(), tree.create_default_context()
    for each in (context, other):
        each.q = [0.4, 0.3, 1.8]
    swing = tree.get_joint_by_name("swing")
    swing.lock(context)
    tree.assemble(context)
    tree.assemble(other, fixed=[swing])
    assert context.q[2] == 1.8
    np.testing.assert_array_equal(context.q, other.q)


def test_disabled_constraints_stay_open():
    tree = delta()
    context = tree.create_default_context()
    rod = tree.get_constraint_by_name("rod_1_left")
    rod.set_enabled_in(context, False)
    tree.assemble(context)
    rod.set_enabled_in(context, True)
    errors = np.abs(equations_of(tree, context).errors)
    assert errors[rod.first_equation] > 1e-4
    errors[rod.first_equation] = 0.0
    assert errors.max() < 1e-14


def test_a_stretched_mechanism_is_left_by_a_push():
    """All rods lie on a line, and the error is along it: no small motion reduces it."""
    tree = four_bar()
    context = tree.create_default_context()
    report = tree.calc_constraint_report(context)
    assert report.stuck.keys() == report.open.keys() == {"pin"}
    tree.assemble(context)
    np.testing.assert_allclose(equations_of(tree, context).errors, 0.0, atol=1e-15)
    again = tree.create_default_context()
    tree.assemble(again)
    np.testing.assert_array_equal(again.q, context.q)


def test_what_cannot_close_is_named():
    tree = four_bar()
    context = tree.create_default_context()
    context.q, context.v = calc_four_bar_angles(0.5) + np.array([0.0, 0.1, 0.0]), [1, 2, 3]
    before = copy.deepcopy((context.q, context.v))
    with pytest.raises(
        AssemblyError, match=r"closed to 1e-10: what remains is 'pin' by 0\.0\d+ \[m, rad\]"
    ) as e:
        tree.assemble(context, fixed=tree.joints)
    assert e.value.errors.keys() == {"pin"}
    largest = np.abs(equations_of(tree, context).errors).max()
    np.testing.assert_allclose(e.value.errors["pin"], largest, rtol=1e-12)
    np.testing.assert_array_equal((context.q, context.v), before)
    assert isinstance(e.value, (mbt.MbtError, RuntimeError))
    twin = pickle.loads(pickle.dumps(e.value))
    assert (str(twin), twin.errors) == (str(e.value), e.value.errors)


def test_the_best_that_can_be_done_is_told():
    """A rod of 3 m between points that are 2 m apart at most."""
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    wheel = tree.add_body(mbt.RigidBody("wheel", M))
    tree.add_joint(mbt.RevoluteJoint, "axle", tree.world_body, None, wheel, None, [0, 0, 1])
    tree.add_constraint(
        mbt.DistanceConstraint("rod", tree.world_body, [1.0, 0.0, 0.0], wheel, [1.0, 0.0, 0.0], 3.0)
    )
    tree.finalize()
    context = tree.create_default_context()
    context.q = [0.3]
    with pytest.raises(AssemblyError) as e:
        tree.assemble(context)
    np.testing.assert_allclose(e.value.errors["rod"], 1.0, rtol=1e-9)
    # Where both points coincide, the rod has no direction: a push gives it one.
    context.q = [0.0]
    with pytest.raises(AssemblyError) as e:
        tree.assemble(context)
    np.testing.assert_allclose(e.value.errors["rod"], 1.0, rtol=1e-9)


def test_velocities_of_fixed_joints_that_contradict():
    tree = four_bar()
    context = tree.create_default_context()
    context.q, context.v = calc_four_bar_angles(0.5), [1.0, 0.0, 0.0]
    with pytest.raises(AssemblyError, match=r"fixed or locked move so that no velocities .* 'pin' by 0"):
        tree.assemble(context, fixed=["drive", "swing"])
    np.testing.assert_array_equal(context.v, [1.0, 0.0, 0.0])


@pytest.mark.parametrize("along_axis", [0.0, 0.05, 40.0])
def test_velocities_that_nothing_resists_stay(along_axis):
    """A tool pinned on the axis of the only free joint: the pin's equations for that joint are rounding."""
    arm = mbt.load_model(mbt.models.model_path("mbt_arm"))
    context = arm.create_default_context()
    context.q = np.linspace(0.3, 0.9, arm.num_positions)
    tool, at = arm.get_body_by_name("tool"), mbt.math.make_pose([0.0, 0.0, along_axis])
    X_WP = tool.eval_pose_in_world(context) @ at
    pinned = arm.edit()
    end = pinned.add_frame(mbt.FixedOffsetFrame("end", pinned.get_body_by_name("tool"), at))
    post = pinned.add_frame(mbt.FixedOffsetFrame("post", pinned.world_body, X_WP))
    pinned.add_constraint(mbt.BallConstraint("pin", post, end))
    pinned.finalize()
    context = pinned.create_default_context()
    context.q = q = np.linspace(0.3, 0.9, pinned.num_positions)
    context.v = v = [0.0, 0.0, 0.0, 0.0, 0.0, 2.0]
    pinned.assemble(context, fixed=[joint for joint in pinned.joints if joint.name != "tool_roll"])
    np.testing.assert_allclose(context.v, v, rtol=0, atol=1e-15)
    np.testing.assert_allclose(context.q, q, rtol=0, atol=1e-15)
    # With all joints free, all but this one are held.
    context.v = np.ones(6)
    pinned.assemble(context)
    assert abs(context.v[5]) > 0.5
    np.testing.assert_allclose(equations_of(pinned, context).J @ context.v, 0.0, atol=1e-13)


def test_without_degrees_of_freedom_what_does_not_close_is_told():
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    post = tree.add_body(mbt.RigidBody("post", M))
    tree.add_joint(mbt.WeldJoint, "weld", tree.world_body, mbt.math.make_pose([1.0, 0.0, 0.0]), post, None)
    hook = tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, post))
    tree.finalize()
    assert tree.num_positions == 0
    for shape in ((), (2,)):
        context = tree.create_default_context(batch_shape=shape)
        with pytest.raises(AssemblyError, match=r"'hook' by 1 "):
            tree.assemble(context)
        hook.set_enabled_in(context, False)
        tree.assemble(context)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("rpy", [(0.3, 0.4, 0.5), (-2.0, 1.0, 0.1)])
def test_in_every_size_and_attitude_the_same(scale, rpy):
    tree, reference = bars.four_bar(rpy, scale), bars.four_bar()
    one, other = tree.create_default_context(), reference.create_default_context()
    for context in (one, other):
        context.q, context.v = [-1.2, 0.5, 1.0], [1.0, 2.0, 3.0]
        context.tree.assemble(context)
    np.testing.assert_allclose(one.q, other.q, atol=1e-12)
    np.testing.assert_allclose(one.v, other.v, atol=1e-12)
    np.testing.assert_allclose(equations_of(tree, one).errors, 0.0, atol=2e-15 * scale)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 100.0])
def test_the_tolerance_is_one_of_the_mechanism(scale):
    """No loop closes better than its digits allow; the error suggests a tolerance that works."""
    tree = bars.four_bar(pin_off=1e-6, scale=scale)
    context = tree.create_default_context()
    for joint in ("crank_pin", "coupler_pin"):
        context.q = [-1.37054904, 1.1350114, 2.0850999]
        with pytest.raises(AssemblyError, match=r"numbers with few digits.* tolerance=") as e:
            tree.assemble(context, fixed=[joint, "rocker_pin"])
        tolerance = float(str(e.value).split("tolerance=")[1].split(",")[0])
        tree.assemble(context, fixed=[joint, "rocker_pin"], tolerance=tolerance)
        assert np.abs(equations_of(tree, context).errors).max() <= tolerance * scale


class TestBatches:
    def test_each_sample_by_itself(self):
        tree, rng = delta(), np.random.default_rng(4)
        context = tree.create_default_context(batch_shape=(2, 3))
        d = rng.uniform(-0.2, 0.2, (2, 3, tree.num_velocities))
        context.q = tree.integrate_positions(tree.default_positions, d, 1.0)
        context.v = rng.normal(size=(2, 3, tree.num_velocities))
        single, begun = tree.create_default_context(), (context.q.copy(), context.v.copy())
        tree.assemble(context)
        for i in np.ndindex(2, 3):
            single.q, single.v = begun[0][i], begun[1][i]
            tree.assemble(single)
            np.testing.assert_allclose(context.q[i], single.q, atol=1e-12)
            np.testing.assert_allclose(context.v[i], single.v, atol=1e-11)

    def test_errors_name_samples(self):
        tree = four_bar()
        context = tree.create_default_context(batch_shape=(4,))
        q = calc_four_bar_angles(np.linspace(0.0, 1.0, 4))
        q[1, 2] += 0.1
        q[3, 0] = np.nan
        context.q = q
        with pytest.raises(AssemblyError, match=r"in 2 of 4 samples \(1, 3\): what remains is 'pin' by nan"):
            tree.assemble(context, fixed=["knee", "swing", "drive"])
        np.testing.assert_array_equal(context.q, q)

    def test_nothing_to_do(self):
        tree = four_bar()
        context = tree.create_default_context(batch_shape=(0,))
        tree.assemble(context)
        assert context.q.shape == (0, 3)


def test_a_tree_without_constraints_keeps_its_state():
    arm = mbt.load_model(mbt.models.model_path("mbt_arm"))
    context = arm.create_default_context()
    context.q = q = 0.1 * np.arange(arm.num_positions)
    arm.assemble(context)
    np.testing.assert_array_equal(context.q, q)


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e300])
def test_positions_without_a_meaning(number):
    """They are reported as unable to close, without warnings of NumPy."""
    tree = delta()
    for shape in ((), (2,)):
        context = tree.create_default_context(batch_shape=shape)
        q = context.q.copy()
        q[..., -1] = number
        context.q = q
        with pytest.raises(AssemblyError, match="'rod_0_left' by"):
            tree.assemble(context, fixed=tree.joints)
        np.testing.assert_array_equal(context.q, q)


def test_a_body_beyond_the_square_root_of_what_numbers_hold():
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)))
    tree.add_constraint(mbt.BallConstraint("hook", tree.world_body, ball))
    tree.finalize()
    context = tree.create_default_context()
    for far in (1e100, 1e160, 1e300):
        context.q = [1.0, 0.0, 0.0, 0.0, far, 0.0, 0.0]
        assert tree.calc_constraint_report(context).entries[0].is_open
        # It must not be taken for closed where squares overflow.
        tree.assemble(context)
        assert abs(tree.calc_constraint_errors(context)).max() < 1e-12 * far


def test_arguments():
    tree = four_bar()
    context = tree.create_default_context()
    with pytest.raises(mbt.ArgumentTypeError, match="fixed: expected joints, or names of joints"):
        tree.assemble(context, fixed="drive")
    for fixed in (np.array(0.5, dtype=object), np.ma.masked, [3], {1.0}):
        with pytest.raises(
            mbt.ArgumentTypeError, match="assemble: fixed: expected joints, or names of joints, got"
        ):
            tree.assemble(context, fixed=fixed)
    with pytest.raises(mbt.UnknownNameError, match="drive"):
        tree.assemble(context, fixed=["driv"])
    with pytest.raises(mbt.ForeignElementError):
        tree.assemble(context, fixed=[four_bar().joints[0]])
    with pytest.raises(mbt.ArgumentValueError, match="tolerance"):
        tree.assemble(context, tolerance=0.0)
    with pytest.raises(mbt.ArgumentTypeError, match="context"):
        tree.assemble("context")
    with pytest.raises(mbt.ContextMismatchError):
        tree.assemble(four_bar().create_default_context())
    for scalar in ("autodiff", "symbolic"):
        clone = getattr(tree, f"to_{scalar}")()
        with pytest.raises(mbt.ArgumentTypeError, match="assemble: context: expected a Context of doubles"):
            clone.assemble(clone.create_default_context())


@pytest.fixture
def evaluations(monkeypatch):
    """The positions at which assembly evaluates errors, in order."""
    from mbt.tree.constraints import assembly

    found = []
    evaluate = assembly._Problem._evaluate

    def counting(problem, q):
        found.append(q)
        return evaluate(problem, q)

    monkeypatch.setattr(assembly._Problem, "_evaluate", counting)
    return found


def test_what_is_closed_exactly_is_left_at_once(evaluations):
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_constraint(mbt.BallConstraint("pin", tree.world_frame, body.body_frame))
    tree.finalize()
    context = tree.create_default_context()
    assert not tree.calc_constraint_errors(context).any()
    tree.assemble(context)
    assert len(evaluations) <= 3


def test_what_never_closes_is_left_soon(evaluations):
    """Each of ten attempts ends once steps gain nothing: sixty steps each would be six hundred."""
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    inboard = tree.world_frame
    for i in range(3):
        body = tree.add_body(mbt.RigidBody(f"body_{i}", M))
        tree.add_joint(mbt.RevoluteJoint, f"j_{i}", inboard, None, body, None, [0.0, 0.0, 1.0])
        inboard = tree.add_frame(mbt.FixedOffsetFrame(f"end_{i}", body, mbt.math.make_pose([1.0, 0.0, 0.0])))
    post = mbt.FixedOffsetFrame("post", tree.world_frame, mbt.math.make_pose([2.0, 0.5, 0.25]))
    tree.add_constraint(mbt.BallConstraint("pin", inboard, tree.add_frame(post)))
    tree.finalize()
    context = tree.create_default_context()
    context.q = [0.3, -0.5, 0.9]
    with pytest.raises(AssemblyError, match=r"what remains is 'pin' by 0\.25"):
        tree.assemble(context)
    assert len(evaluations) < 300


def test_what_few_digits_lock_is_left_soon(evaluations):
    """The gap stays, wherever an attempt begins: trying on would take more than 600 evaluations."""
    tree = bars.four_bar(pin_off=1e-5)
    context = tree.create_default_context()
    context.q = [-0.9, 0.7, 1.1]
    with pytest.raises(AssemblyError, match="numbers with few digits"):
        tree.assemble(context)
    assert len(evaluations) < 250


def test_velocities_that_obey_to_rounding_are_not_named():
    """Two motors drive one of two separate loops: only that one is named."""
    tree, rng = mbt.MultibodyTree(), np.random.default_rng(4)
    M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    for name in ("free", "driven"):
        crank, rocker = (tree.add_body(mbt.RigidBody(f"{name}_{i}", M)) for i in range(2))
        for body, axis in ((crank, [0.3, 0.2, 1.0]), (rocker, [0.3, 0.2, 1.0])):
            tree.add_joint(mbt.RevoluteJoint, f"of_{body.name}", tree.world_body, None, body, None, axis)
        ends = [
            tree.add_frame(
                mbt.FixedOffsetFrame(f"on_{body.name}", body, mbt.math.make_pose([0.37, 0.71, 0.13]))
            )
            for body in (crank, rocker)
        ]
        tree.add_constraint(mbt.BallConstraint(name, *ends))
    tree.finalize()
    for _ in range(5):
        context = tree.create_default_context()
        angles = rng.uniform(-1.0, 1.0, 2)
        context.q, context.v = np.repeat(angles, 2), rng.normal(size=4)
        with pytest.raises(AssemblyError) as caught:
            tree.assemble(context, fixed=["of_driven_0", "of_driven_1"])
        assert list(caught.value.errors) == ["driven"]


def test_loops_beside_each_other_are_judged_one_by_one(monkeypatch):
    """No decomposed matrix grows with the number of loops; the rank is that of the whole Jacobian."""
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    z = [0.0, 0.0, 1.0]
    for i in range(20):
        bodies = [tree.add_body(mbt.RigidBody(f"body_{i}_{k}", M)) for k in range(3)]
        for body, inboard in zip(bodies, (tree.world_body, bodies[0], tree.world_body), strict=True):
            place = mbt.math.make_pose([0.3, 0.1, 0.0] if inboard is bodies[0] else [0.0, 0.0, 0.0])
            tree.add_joint(mbt.RevoluteJoint, f"j_{body.name}", inboard, place, body, None, z)
        tree.add_constraint(mbt.BallConstraint(f"loop_{i}", bodies[1].body_frame, _on(tree, bodies[2])))
    tree.finalize()
    sizes = []
    svd = np.linalg.svd

    def recording(A, *args, **options):
        sizes.append(max(A.shape))
        return svd(A, *args, **options)

    context = tree.create_default_context()
    context.q = np.random.default_rng(5).uniform(-1.0, 1.0, tree.num_positions)
    J = tree.calc_constraint_jacobian(context)
    monkeypatch.setattr(np.linalg, "svd", recording)
    report = tree.calc_constraint_report(context)
    monkeypatch.undo()
    assert max(sizes) == 3
    assert report.rank == np.linalg.matrix_rank(J, tol=1e-10)
    assert report.mobility == tree.num_velocities - report.rank
    assert {entry.num_redundant for entry in report.entries} == {1}


def chain_of_balls(number):
    """Free bodies, each tied to the one before by a ball constraint, none in place."""
    tree = mbt.MultibodyTree()
    M = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    inboard = tree.world_frame
    for i in range(number):
        body = tree.add_body(mbt.RigidBody(f"body_{i}", M))
        tree.add_constraint(mbt.BallConstraint(f"ball_{i}", inboard, body.body_frame))
        inboard = _on(tree, body)
    tree.finalize()
    context = tree.create_default_context()
    step = np.random.default_rng(0).normal(size=tree.num_velocities)
    context.q = tree.integrate_positions(context.q, step, 1.0)
    return tree, context


def test_memory_grows_as_the_number_of_bodies():
    peaks = []
    for number in (40, 160):
        tree, context = chain_of_balls(number)
        tree.calc_constraint_errors(context)
        tracemalloc.start()
        tree.assemble(context)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        np.testing.assert_allclose(tree.calc_constraint_errors(context), 0.0, atol=1e-14)
    # Dense matrices would take sixteen times as much.
    assert peaks[1] < 7.0 * peaks[0]


def _on(tree, body):
    return tree.add_frame(mbt.FixedOffsetFrame(f"on_{body.name}", body, mbt.math.make_pose([0.3, 0.1, 0.0])))
