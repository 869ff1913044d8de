"""Servos: gains and targets of a Context, their efforts, and how simulations follow them."""

import copy
import pickle

import numpy as np
import pytest

import mbt
from mbt.autodiff import initialize

STIFFNESS, DAMPING, LIMIT = 80.0, 3.0, 20.0


def make_tree(*, stiffness=STIFFNESS, damping=DAMPING, limit=LIMIT):
    """Return a double pendulum: a servo at the shoulder, a plain motor at the elbow."""
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.thin_rod_with_mass(1.0, 0.5, [0, 0, 1]).shift([0, 0, 0.25])
    upper = tree.add_body(mbt.RigidBody("upper", inertia))
    lower = tree.add_body(mbt.RigidBody("lower", inertia))
    shoulder = tree.add_joint(
        mbt.RevoluteJoint, "shoulder", tree.world_body, None, upper, None, axis=[0, 1, 0]
    )
    X_PF = mbt.math.make_pose(p=[0, 0, -0.5])
    elbow = tree.add_joint(mbt.RevoluteJoint, "elbow", upper, X_PF, lower, None, axis=[0, 1, 0], damping=0.2)
    shoulder.set_default_positions([0.1])
    tree.add_joint_actuator("elbow", elbow, 7.0)
    tree.add_joint_actuator("shoulder", shoulder, limit, stiffness=stiffness, damping=damping)
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def formula(q, v, q_d, v_d=0.0, stiffness=STIFFNESS, damping=DAMPING):
    return np.clip(stiffness * (q_d - q[..., 0]) + damping * (v_d - v[..., 0]), -LIMIT, LIMIT)


def test_targets_are_default_positions_and_zero_velocities():
    context = make_tree().create_default_context()
    np.testing.assert_array_equal(context.servo_positions, [0.0, 0.1])
    np.testing.assert_array_equal(context.servo_velocities, [0.0, 0.0])
    assert not context.servo_positions.flags.writeable


@pytest.mark.parametrize("q_d", [0.25, 2.0, -2.0])
def test_effort_is_the_formula_clipped(q_d):
    tree = make_tree()
    context = tree.create_default_context()
    context.q, context.v = [0.2, 0.3], [0.4, -0.5]
    context.servo_positions, context.servo_velocities = [9.0, q_d], [9.0, 0.7]
    expected = formula(context.q, context.v, q_d, 0.7)
    np.testing.assert_allclose(tree.calc_servo_efforts(context), [0.0, expected], rtol=1e-14)
    # A plain motor has no target: it reads 0, whatever was written.
    np.testing.assert_array_equal(context.servo_positions, [0.0, q_d])


def test_gains_and_targets_of_each_sample():
    rng = np.random.default_rng(3)
    tree = make_tree()
    context = tree.create_default_context(batch_shape=(3, 2))
    context.q, context.v = rng.normal(size=(3, 2, 2)), rng.normal(size=(3, 2, 2))
    targets = rng.normal(size=(3, 2, 2))
    gains = rng.uniform(1.0, 9.0, (2, 3, 2))
    context.servo_positions = targets
    servo = tree.get_joint_actuator_by_name("shoulder")
    servo.set_stiffness(context, gains[0]).set_damping(context, gains[1])
    np.testing.assert_array_equal(servo.stiffness(context), gains[0])
    np.testing.assert_array_equal(servo.damping(context), gains[1])
    efforts = tree.calc_servo_efforts(context)
    expected = formula(context.q, context.v, targets[..., 1], 0.0, gains[0], gains[1])
    np.testing.assert_allclose(efforts[..., 1], expected, rtol=1e-13)
    assert (efforts[..., 0] == 0.0).all()
    # One row for all samples.
    context.servo_velocities = [0.0, 0.5]
    np.testing.assert_array_equal(context.servo_velocities, np.broadcast_to([0.0, 0.5], (3, 2, 2)))


@pytest.mark.parametrize(
    "copied",
    [lambda c: c.clone(), copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))],
    ids=["clone", "deepcopy", "pickle"],
)
@pytest.mark.parametrize("batch_shape", [(), (2,)])
def test_copies_keep_gains_and_targets(copied, batch_shape):
    tree = make_tree()
    context = tree.create_default_context(batch_shape=batch_shape)
    context.servo_positions, context.servo_velocities = [0.0, 0.4], [0.0, 0.5]
    tree.get_joint_actuator_by_name("shoulder").set_stiffness(context, 11.0)
    twin = copied(context)
    expected = tree.calc_servo_efforts(context)
    context.servo_positions = [0.0, 9.0]
    np.testing.assert_array_equal(twin.servo_positions[..., 1], np.full(batch_shape, 0.4))
    np.testing.assert_array_equal(twin.tree.calc_servo_efforts(twin), expected)
    tree.set_default_context(context)
    np.testing.assert_array_equal(context.servo_positions[..., 1], np.full(batch_shape, 0.1))


def test_json_edit_clone_and_pickle_keep_servos():
    tree = make_tree()
    text = mbt.save_model(tree, format="json")
    edited = tree.edit()
    edited.finalize()
    for twin in (mbt.load_model(text), edited, tree.clone(), pickle.loads(pickle.dumps(tree))):
        servo = twin.get_joint_actuator_by_name("shoulder")
        assert (servo.default_stiffness, servo.default_damping) == (STIFFNESS, DAMPING)
        assert not twin.get_joint_actuator_by_name("elbow").is_servo
        context = twin.create_default_context()
        context.q = [0.0, 0.0]
        np.testing.assert_allclose(twin.calc_servo_efforts(context), [0.0, 8.0], rtol=1e-14)
    assert mbt.save_model(mbt.load_model(text), format="json") == text
    motors = mbt.save_model(make_tree(stiffness=0.0, damping=0.0), format="json")
    assert "stiffness" not in motors


def test_urdf_says_that_it_has_no_servos():
    with pytest.warns(mbt.ModelWarning, match="'shoulder'.* becomes a motor, without its gains"):
        text = mbt.save_model(make_tree(), format="urdf")
    assert len(mbt.load_model(text).joint_actuators) == 2


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4", "DOP853"])
def test_simulation_settles_where_servo_and_gravity_balance(method):
    tree = make_tree(limit=np.inf)
    context = tree.create_default_context()
    context.servo_positions = [0.0, 0.6]
    trajectory = mbt.simulate(tree, context, 20.0, dt=2e-3, method=method, every=100)
    q = trajectory.q[-1]
    assert abs(trajectory.v[-1]).max() < 1e-3
    # At rest the lower rod hangs; with it at the elbow, m g l/2 + m g l resist the servo.
    torque = 9.81 * (0.25 + 0.5) * np.sin(q[0])
    np.testing.assert_allclose(STIFFNESS * (0.6 - q[0]), torque, rtol=1e-3)
    np.testing.assert_allclose(q.sum(), 0.0, atol=1e-3)


def test_simulation_is_that_of_the_same_law_as_control():
    tree, plain = make_tree(), make_tree(stiffness=0.0, damping=0.0)
    start, bare = tree.create_default_context(), plain.create_default_context()
    for context in (start, bare):
        context.q = [0.3, 0.4]
        context.actuation = [0.5, -0.25]
    start.servo_positions = [0.0, 1.5]
    rows = np.random.default_rng(1).normal(size=(200, 2))

    def law(time, q, v):
        return rows[round(time / 1e-3)] + np.array([formula(q, v, 1.5), 0.0])

    # The force recorded after the last sample is evaluated at its time, the end of the last row.
    got = mbt.simulate(tree, start, 0.2, dt=1e-3, method="rk4", control=rows)
    wanted = mbt.simulate(plain, bare, 0.2, dt=1e-3, method="rk4", control=law)
    np.testing.assert_allclose(got.q, wanted.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(got.tau[:-1], wanted.tau[:-1], rtol=0, atol=1e-11)


def test_batch_simulates_as_its_samples():
    tree = make_tree()
    batch = tree.create_default_context(batch_shape=(2,))
    targets = np.array([[0.0, 0.5], [0.0, -0.4]])
    batch.servo_positions = targets
    got = mbt.simulate(tree, batch, 0.1, dt=1e-3)
    for i in range(2):
        one = tree.create_default_context()
        one.servo_positions = targets[i]
        wanted = mbt.simulate(tree, one, 0.1, dt=1e-3)
        np.testing.assert_allclose(got.q[i], wanted.q, rtol=0, atol=1e-12)


@pytest.mark.oracle
def test_efforts_equal_those_of_position_actuators_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><body>
        <joint name="j" type="hinge" axis="0 1 0"/><geom size="0.1"/></body></worldbody>
        <actuator><position joint="j" kp="80" kv="3" forcerange="-20 20"/></actuator></mujoco>""")
    data = mujoco.MjData(model)
    tree = make_tree()
    context = tree.create_default_context()
    for q, v, target in np.random.default_rng(5).normal(scale=0.3, size=(20, 3)):
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, target
        mujoco.mj_forward(model, data)
        context.q, context.v, context.servo_positions = [q, 0.0], [v, 0.0], [0.0, target]
        np.testing.assert_allclose(tree.calc_servo_efforts(context)[1], data.qfrc_actuator[0], rtol=1e-13)


def test_bad_arguments_change_nothing():
    tree = make_tree()
    context = tree.create_default_context()
    servo, motor = tree.get_joint_actuator_by_name("shoulder"), tree.get_joint_actuator_by_name("elbow")
    with pytest.raises(mbt.ArgumentValueError, match="'shoulder': stiffness"):
        servo.set_stiffness(context, -1.0)
    with pytest.raises(mbt.ArgumentValueError, match="'elbow': damping: expected a servo"):
        motor.set_damping(context, 1.0)
    with pytest.raises(mbt.ShapeError, match="servo_positions: expected shape"):
        context.servo_positions = [1.0, 2.0, 3.0]
    assert (servo.stiffness(context), motor.stiffness(context)) == (STIFFNESS, 0.0)
    np.testing.assert_array_equal(context.servo_positions, [0.0, 0.1])
    with pytest.raises(mbt.ContextMismatchError):
        tree.calc_servo_efforts(make_tree().create_default_context())
    twin = tree.clone_to_scalar("autodiff")
    with pytest.raises(mbt.ArgumentTypeError, match="expected a Context of doubles"):
        twin.calc_servo_efforts(twin.create_default_context())


def test_servo_on_several_degrees_of_freedom_is_refused():
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    joint = tree.add_joint(mbt.UniversalJoint, "gimbal", tree.world_body, None, ball, None)
    with pytest.raises(mbt.ArgumentValueError, match="a servo needs a joint with one degree of freedom"):
        tree.add_joint_actuator("motor", joint, dof=1, stiffness=1.0)
    with pytest.raises(mbt.ArgumentValueError, match="'motor': damping"):
        tree.add_joint_actuator("motor", joint, dof=1, damping=-1.0)
    assert not tree.joint_actuators


def test_gains_and_targets_of_another_scalar_carry_derivatives():
    tree = make_tree().clone_to_scalar("autodiff")
    context = tree.create_default_context()
    servo = tree.get_joint_actuator_by_name("shoulder")
    numbers = initialize([5.0, 0.5, 0.3])
    servo.set_stiffness(context, numbers[0]).set_damping(context, numbers[1])
    context.servo_positions = numbers[1:]
    for i, number in enumerate((servo.stiffness(context), servo.damping(context))):
        assert number.value == [5.0, 0.5][i]
        np.testing.assert_array_equal(number.derivatives, np.eye(3)[i])
    # The shoulder is the second actuator; the first is a plain motor.
    np.testing.assert_array_equal(context.servo_positions.value, [0.0, 0.3])


def test_edit_changes_default_gains():
    tree = make_tree()
    work = tree.edit()
    servo, motor = (work.get_joint_actuator_by_name(name) for name in ("shoulder", "elbow"))
    assert servo.set_default_stiffness(5.0).set_default_damping(0.25) is servo
    motor.set_default_stiffness(7.0)
    work.finalize()
    context = work.create_default_context()
    assert (servo.stiffness(context), servo.damping(context)) == (5.0, 0.25)
    assert (motor.stiffness(context), motor.damping(context)) == (7.0, 0.0)
    context.servo_positions = [0.5, 0.2]
    context.v = [0.1, 0.0]
    np.testing.assert_allclose(
        work.calc_servo_efforts(context), [3.5, 5.0 * (0.2 - 0.1) - 0.25 * 0.1], rtol=1e-14
    )
    # The edited tree does not change the original.
    original = tree.get_joint_actuator_by_name("shoulder")
    assert (original.default_stiffness, original.default_damping) == (STIFFNESS, DAMPING)


def test_edit_makes_a_plain_motor_of_a_servo():
    work = make_tree().edit()
    work.get_joint_actuator_by_name("shoulder").set_default_stiffness(0).set_default_damping(0)
    work.finalize()
    assert not any(actuator.is_servo for actuator in work.joint_actuators)
    np.testing.assert_array_equal(work.calc_servo_efforts(work.create_default_context()), [0.0, 0.0])


@pytest.mark.parametrize("name", ["stiffness", "damping"])
def test_default_gains_are_checked(name):
    tree = make_tree()
    with pytest.raises(mbt.AlreadyFinalizedError, match=f"default {name}.*set_{name}"):
        getattr(tree.joint_actuators[1], f"set_default_{name}")(1.0)
    work = tree.edit()
    for value, what in ((-1.0, "finite number >= 0"), (np.nan, "finite"), ("x", "real number")):
        with pytest.raises((mbt.ArgumentValueError, mbt.ArgumentTypeError), match=what):
            getattr(work.joint_actuators[1], f"set_default_{name}")(value)
    assert work.joint_actuators[1].default_stiffness == STIFFNESS

    free = mbt.MultibodyTree()
    body = free.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    joint = free.add_joint(mbt.PlanarJoint, "plane", free.world_body, None, body, None)
    motor = free.add_joint_actuator("motor", joint, dof=2)
    with pytest.raises(mbt.ArgumentValueError, match="a servo needs a joint with one degree of freedom"):
        getattr(motor, f"set_default_{name}")(1.0)
    assert not motor.is_servo


@pytest.mark.parametrize("method", ["semi_implicit_euler", "rk4"])
def test_rollouts_make_the_steps_of_simulations(method):
    tree = make_tree()
    context = tree.create_default_context()
    context.q, context.v, context.actuation = [0.2, 0.3], [1.0, -1.0], [0.3, 0.2]
    context.servo_positions, context.servo_velocities = [0.0, 0.7], [0.0, 0.1]
    q, v = tree.rollout(context, np.full((50, 2), 0.1), 1e-3, method=method, every=5)
    motion = mbt.simulate(tree, context, 0.05, 1e-3, method=method, control=np.full(2, 0.1))
    np.testing.assert_array_equal(q, motion.q[::5])
    np.testing.assert_array_equal(v, motion.v[::5])
    # The servos act: without them the motion differs. And the Context is unchanged.
    assert (
        abs(q - mbt.functional.rollout(tree, q[0], v[0], np.full((50, 2), 0.1), 1e-3, every=5)[0]).max()
        > 0.01
    )
    np.testing.assert_array_equal(context.q, [0.2, 0.3])


def test_rollouts_of_batches_are_those_of_their_samples():
    rng = np.random.default_rng(4)
    tree = make_tree()
    context = tree.create_default_context((3, 2))
    context.q, context.v = rng.normal(size=(2, 3, 2, 2))
    context.servo_positions = rng.normal(size=(3, 2, 2))
    tree.joint_actuators[1].set_stiffness(context, rng.uniform(10.0, 90.0, (3, 2)))
    tau = rng.normal(size=(2, 20, 2))
    out = np.empty((3, 2, 11, 2)), np.empty((3, 2, 11, 2))
    q, v = tree.rollout(context, tau, 1e-3, every=2, out=out)
    assert q is out[0]
    assert v is out[1]
    one = tree.create_default_context()
    for i in np.ndindex(3, 2):
        one.q, one.v, one.servo_positions = context.q[i], context.v[i], context.servo_positions[i]
        tree.joint_actuators[1].set_stiffness(one, tree.joint_actuators[1].stiffness(context)[i])
        for path, single in zip((q, v), tree.rollout(one, tau[i[1]], 1e-3, every=2), strict=True):
            np.testing.assert_allclose(path[i], single, rtol=1e-11, atol=1e-12)


def test_rollouts_with_servos_go_back():
    tree = make_tree(damping=0.0)
    context = tree.create_default_context()
    context.q, context.v, context.servo_positions = [0.2, 0.3], [0.5, -0.4], [0.0, 0.25]
    there = context.clone()
    there.q, there.v = (x[-1] for x in tree.rollout(context, np.zeros((200, 2)), 1e-4, method="rk4"))
    q, v = (x[-1] for x in tree.rollout(there, np.zeros((200, 2)), -1e-4, method="rk4"))
    # First order only, since efforts are held from the other end of each step.
    np.testing.assert_allclose([q, v], [context.q, context.v], atol=0.01)
    assert abs(there.q - context.q).max() > 0.005


def test_rollouts_with_servos_refuse_what_others_do():
    tree = make_tree()
    context = tree.create_default_context()
    with pytest.raises(mbt.ArgumentValueError, match="method"):
        tree.rollout(context, np.zeros((3, 2)), 1e-3, method="euler")
    with pytest.raises(mbt.ShapeError, match="tau"):
        tree.rollout(context, np.zeros((3, 1)), 1e-3)
    with pytest.raises(mbt.ShapeError, match="out"):
        tree.rollout(context, np.zeros((3, 2)), 1e-3, out=(np.zeros((2, 2)), None))
    for dt in (np.inf, "x"):
        with pytest.raises((mbt.ArgumentValueError, mbt.ArgumentTypeError), match="dt"):
            tree.rollout(context, np.zeros((3, 2)), dt)
    q, v = tree.rollout(context, np.zeros((0, 2)), 1e-3)
    assert q.shape == v.shape == (1, 2)
    dual = tree.clone_to_scalar("autodiff")
    with pytest.raises(mbt.ArgumentTypeError, match="servo efforts are not computed"):
        dual.rollout(dual.create_default_context(), np.zeros((3, 2)), 1e-3)
