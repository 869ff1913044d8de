"""Sensors: what they measure, against textbooks and differences, and how they live in a tree."""

import copy
import io
import pickle

import numpy as np
import pytest

import mbt
from mbt.autodiff import initialize

G = np.array([0.4, -0.3, -9.81])


def make_tree(*, finalize=True):
    """Return a free body with an arm of two links, with sensors of all types."""
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.solid_box_with_mass(1.3, 0.3, 0.2, 0.1).shift([-0.02, 0.03, 0.05])
    base, upper, lower = (tree.add_body(mbt.RigidBody(name, inertia)) for name in ("base", "upper", "lower"))
    pose = mbt.math.make_pose(p=[0.1, 0.2, -0.1], rpy=[0.3, -0.2, 0.5])
    free = tree.add_joint(mbt.QuaternionFloatingJoint, "free", tree.world_body, None, base, None)
    ball = tree.add_joint(mbt.QuaternionBallJoint, "ball", base, pose, upper, None, damping=0.1)
    hinge = tree.add_joint(
        mbt.RevoluteJoint, "hinge", upper, pose, lower, pose, axis=[0, 1, 0.2], damping=0.2
    )
    tip = tree.add_frame(mbt.FixedOffsetFrame("tip", lower, pose))
    tree.add_force_element(mbt.UniformGravityFieldElement(G))
    tree.add_joint_actuator("motor", hinge)
    tree.add_sensor(mbt.Imu(tip, quantities=mbt.Imu.known_quantities))
    tree.add_sensor(mbt.ForceTorqueSensor(hinge))
    tree.add_sensor(mbt.ForceTorqueSensor(ball, "load", frame=upper, quantities=["force", "torque"]))
    tree.add_sensor(mbt.FrameSensor(tip, quantities=mbt.FrameSensor.known_quantities))
    tree.add_sensor(mbt.FrameSensor(tip, "seen", relative_to=upper))
    tree.add_sensor(mbt.JointSensor(hinge, quantities=mbt.JointSensor.known_quantities))
    tree.add_sensor(mbt.JointSensor(ball))
    assert free.index == 0
    if finalize:
        tree.finalize()
    return tree


def random_context(tree, batch_shape=(), seed=0):
    rng = np.random.default_rng(seed)
    context = tree.create_default_context(batch_shape)
    context.q = tree.normalize_positions(rng.normal(size=(*batch_shape, tree.num_positions)))
    context.v = rng.normal(size=(*batch_shape, tree.num_velocities))
    context.actuation = rng.normal(size=(*batch_shape, tree.num_actuators))
    return context


def values_of(context, name, quantity):
    """Return the values of a quantity of a sensor, found by column names."""
    names = context.tree.sensor_names
    columns = [i for i, column in enumerate(names) if column.startswith(f"{name}_{quantity}")]
    assert columns
    return context.sensors[..., columns]


def test_names_and_columns():
    tree = make_tree()
    names = tree.sensor_names
    assert names[:4] == ("tip_imu_gyro_x", "tip_imu_gyro_y", "tip_imu_gyro_z", "tip_imu_accelerometer_x")
    assert names[9:12] == ("hinge_ft_torque_x", "hinge_ft_torque_y", "hinge_ft_torque_z")
    assert names[-10:-7] == ("hinge_position", "hinge_velocity", "hinge_acceleration")
    assert names[-7:] == ("ball_position_qw", "ball_position_qx", "ball_position_qy", "ball_position_qz",
                          "ball_velocity_wx", "ball_velocity_wy", "ball_velocity_wz")  # fmt: skip
    assert len(names) == tree.num_sensor_values == tree.create_default_context().sensors.size
    assert len(set(names)) == len(names)
    start = 0
    for sensor in tree.sensors:
        assert sensor.columns == slice(start, start + sensor.num_values)
        start += sensor.num_values


def test_a_pendulum_is_that_of_the_textbook():
    """A point mass on a rod: the pivot carries m g cos + m l w^2 along it."""
    m, length, angle, speed = 2.0, 0.7, 0.6, 1.9
    tree = mbt.MultibodyTree()
    bob = tree.add_body(mbt.RigidBody("bob", mbt.SpatialInertia.point_mass(m, [0, 0, -length])))
    pivot = tree.add_joint(mbt.RevoluteJoint, "pivot", tree.world_body, None, bob, None, axis=[0, 1, 0])
    end = tree.add_frame(mbt.FixedOffsetFrame("end", bob, mbt.math.make_pose([0, 0, -length])))
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -9.81]))
    tree.add_sensor(mbt.ForceTorqueSensor(pivot))
    tree.add_sensor(mbt.Imu(end, "imu"))
    tree.add_sensor(mbt.JointSensor(pivot, quantities=["acceleration"]))
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [angle], [speed]
    along = 9.81 * np.cos(angle) + length * speed**2
    expected = [0, 0, 0, 0, 0, m * along, 0, speed, 0, 0, 0, along, -9.81 / length * np.sin(angle)]
    np.testing.assert_allclose(context.sensors, expected, rtol=1e-13, atol=1e-13)


def test_what_falls_feels_nothing():
    tree = make_tree()
    context = random_context(tree)
    context.v = np.zeros(tree.num_velocities)
    context.actuation = [0.0]
    # All bodies fall alike; no force acts between them.
    for name, quantity in (
        ("tip_imu", "accelerometer"),
        ("hinge_ft", ""),
        ("load", "force"),
        ("tip", "linear_acc"),
    ):
        np.testing.assert_allclose(values_of(context, name, quantity), 0.0, atol=1e-12)


def test_motion_is_what_differences_say():
    tree = make_tree()
    context = random_context(tree)
    tip, upper = tree.get_frame_by_name("tip"), tree.get_body_by_name("upper").body_frame
    h, vdot = 1e-4, tree.calc_forward_dynamics(context)

    def poses(t):
        """Poses in World and in the upper link at time t, along a motion with this acceleration."""
        moved = context.clone()
        moved.q = tree.integrate_positions(context.q, context.v + 0.5 * t * vdot, t)
        return tip.calc_pose_in_world(moved), tip.calc_pose(moved, upper)

    before, now, after = poses(-h), poses(0.0), poses(h)
    R_WF = now[0][:3, :3]

    def speed(k):
        return (after[k][:3, 3] - before[k][:3, 3]) / (2 * h)

    def turning(k):
        step = mbt.math.log_so3(after[k][:3, :3] @ before[k][:3, :3].T)
        return step / (2 * h)

    a = (after[0][:3, 3] - 2 * now[0][:3, 3] + before[0][:3, 3]) / h**2 - G
    options = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(values_of(context, "tip", "linear_velocity"), speed(0), **options)
    np.testing.assert_allclose(values_of(context, "tip", "angular_velocity"), turning(0), **options)
    np.testing.assert_allclose(values_of(context, "seen", "linear_velocity"), speed(1), **options)
    np.testing.assert_allclose(values_of(context, "seen", "angular_velocity"), turning(1), **options)
    np.testing.assert_allclose(values_of(context, "tip", "linear_acceleration"), a, **options)
    np.testing.assert_allclose(values_of(context, "tip_imu", "accelerometer"), R_WF.T @ a, **options)
    np.testing.assert_allclose(values_of(context, "tip_imu", "gyro"), R_WF.T @ turning(0), **options)
    np.testing.assert_allclose(values_of(context, "tip_imu", "velocimeter"), R_WF.T @ speed(0), **options)
    ahead, behind = context.clone(), context.clone()
    for moved, t in ((ahead, h), (behind, -h)):
        moved.q = tree.integrate_positions(context.q, context.v + 0.5 * t * vdot, t)
        moved.v = context.v + t * vdot
    alpha = tip.calc_spatial_velocity_in_world(ahead) - tip.calc_spatial_velocity_in_world(behind)
    np.testing.assert_allclose(
        values_of(context, "tip", "angular_acceleration"), alpha[:3] / (2 * h), **options
    )


def test_forces_are_those_of_newton_and_euler():
    """The wrench of the hinge and gravity accelerate the lower link: about the origin of its frame."""
    tree = make_tree()
    context = random_context(tree)
    lower, hinge = tree.get_body_by_name("lower"), tree.get_joint_by_name("hinge")
    X_WS = hinge.frame_on_child.calc_pose_in_world(context)
    mass = lower.get_mass(context)
    V, A = (
        f(context) for f in (lower.eval_spatial_velocity_in_world, lower.eval_spatial_acceleration_in_world)
    )
    a_cm = lower.calc_center_of_mass_translational_acceleration_in_world(context)
    M_cm = lower.default_spatial_inertia.shift(lower.default_com)
    R_WB = lower.eval_pose_in_world(context)[:3, :3]
    inertia = R_WB @ M_cm.calc_rotational_inertia() @ R_WB.T
    force = mass * (a_cm - G)
    torque = inertia @ A[:3] + np.cross(V[:3], inertia @ V[:3])
    p_cm = lower.eval_pose_in_world(context) @ [*lower.default_com, 1.0]
    torque += np.cross(p_cm[:3] - X_WS[:3, 3], force)
    R_SW = X_WS[:3, :3].T
    np.testing.assert_allclose(
        values_of(context, "hinge_ft", ""), [*R_SW @ torque, *R_SW @ force], rtol=1e-11
    )


def test_batches_are_single_states():
    tree = make_tree()
    context = random_context(tree, (3, 2))
    tau = np.random.default_rng(5).normal(size=(2, tree.num_velocities))
    values, pushed = context.sensors, tree.calc_sensors(context, tau)
    assert values.shape == pushed.shape == (3, 2, tree.num_sensor_values)
    one = tree.create_default_context()
    for i in np.ndindex(3, 2):
        one.q, one.v, one.actuation = context.q[i], context.v[i], context.actuation[i]
        np.testing.assert_allclose(values[i], one.sensors, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(pushed[i], tree.calc_sensors(one, tau[i[1]]), rtol=1e-12, atol=1e-12)


def test_further_forces_are_those_of_a_context():
    tree = make_tree()
    context, rng = random_context(tree), np.random.default_rng(8)
    tau = rng.normal(size=tree.num_velocities)
    forces = mbt.MultibodyForces(tree)
    forces.body_forces[1:] = rng.normal(size=(tree.num_bodies - 1, 6))
    before = context.sensors
    values = tree.calc_sensors(context, tau, forces)
    np.testing.assert_array_equal(context.sensors, before)  # They do not change.
    context.applied_forces.add_in_forces(forces)
    context.applied_forces.generalized_forces += tau
    np.testing.assert_allclose(context.sensors, values, rtol=1e-13, atol=1e-13)
    assert abs(values - before).max() > 0.1


def test_out():
    tree = make_tree()
    context = random_context(tree)
    out = np.full(tree.num_sensor_values, 7.0)
    assert tree.calc_sensors(context, out=out) is out
    np.testing.assert_array_equal(out, context.sensors)
    wrong = np.full(3, 7.0)
    with pytest.raises(mbt.ShapeError, match="out"):
        tree.calc_sensors(context, out=wrong)
    assert (wrong == 7.0).all()


def test_forces_are_no_context():
    tree = make_tree()
    with pytest.raises(mbt.ArgumentTypeError, match=r"context: expected a Context .* got MultibodyForces"):
        tree.calc_sensors(mbt.MultibodyForces(tree))


def test_a_tree_without_sensors_has_no_columns():
    tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    assert (tree.sensors, tree.sensor_names, tree.num_sensor_values) == ((), (), 0)
    assert tree.create_default_context().sensors.shape == (0,)
    assert tree.create_default_context((4,)).sensors.shape == (4, 0)


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t)), lambda t: t.clone(),
     lambda t: mbt.load_model(mbt.save_model(t, format="json"))],
)  # fmt: skip
def test_copies_have_the_sensors(copied):
    tree = make_tree()
    twin = copied(tree)
    assert twin.sensor_names == tree.sensor_names
    np.testing.assert_array_equal(random_context(twin).sensors, random_context(tree).sensors)
    assert all(sensor.parent_tree is twin for sensor in twin.sensors)


def test_json_is_stable_and_silent_without_sensors():
    text = mbt.save_model(make_tree(), format="json")
    assert mbt.save_model(mbt.load_model(text), format="json") == text
    assert '"sensors"' not in mbt.save_model(mbt.load_model(mbt.models.model_path("mbt_arm")), format="json")
    with pytest.raises(mbt.ParseError, match=r"sensors\[0\].*got 'speed'"):
        mbt.load_model(text.replace('"gyro"', '"speed"', 1))
    with pytest.raises(mbt.ParseError, match="quantities"):
        mbt.load_model(text.replace('"gyro"', "7", 1))


def test_urdf_tells_what_it_loses(tmp_path):
    with pytest.warns(mbt.ModelWarning, match="sensor 'tip_imu': it is left out"):
        mbt.save_model(make_tree(), format="urdf")


def test_sensors_are_edited():
    tree = make_tree()
    work = tree.edit()
    with pytest.raises(mbt.ArgumentValueError, match="needed by sensor"):
        work.remove(work.get_frame_by_name("tip"))
    imu = work.remove(work.get_sensor_by_name("tip_imu"))
    assert not imu.has_parent_tree
    work.rename(work.get_sensor_by_name("seen"), "view")
    work.finalize()
    assert work.num_sensors == tree.num_sensors - 1
    assert work.has_sensor_named("view")
    assert not work.has_sensor_named("tip_imu")
    removed = tree.edit().remove_subtree
    gone = {element.name for element in removed(removed.__self__.get_body_by_name("lower"))}
    assert {"tip_imu", "hinge_ft", "tip", "seen", "hinge"} <= gone


def test_locked_joints():
    """The force sensor stays, on the weld; the sensor of coordinates is removed."""
    tree = make_tree()
    locked = mbt.lock_joints(tree, {"hinge": 0.4})
    assert [sensor.name for sensor in locked.sensors] == [
        "tip_imu",
        "hinge_ft",
        "load",
        "tip",
        "seen",
        "ball",
    ]
    assert locked.get_sensor_by_name("hinge_ft").joint is locked.get_joint_by_name("hinge")
    context, small = random_context(tree), locked.create_default_context()
    hinge = tree.get_joint_by_name("hinge")
    context.actuation = [0.0]
    hinge.set_angle(context, 0.4)
    v = context.v.copy()
    v[hinge.velocity_start] = 0.0
    context.v = v
    hinge.lock(context)
    small.q, small.v = np.delete(context.q, hinge.position_start), np.delete(v, hinge.velocity_start)
    for sensor in locked.sensors:
        same = context.sensors[tree.get_sensor_by_name(sensor.name).columns]
        np.testing.assert_allclose(small.sensors[sensor.columns], same, rtol=1e-10, atol=1e-10)


def test_derivatives():
    """Numbers that carry derivatives give those of sensors: against differences."""
    tree = make_tree()
    context = random_context(tree)
    dual = tree.clone_to_scalar("autodiff")
    own = dual.create_default_context()
    v = initialize(context.v)
    own.q, own.v, own.actuation = context.q, v, context.actuation
    values = own.sensors
    np.testing.assert_allclose(values.value, context.sensors, rtol=1e-12, atol=1e-12)
    ahead, behind = context.clone(), context.clone()
    direction = np.random.default_rng(3).normal(size=tree.num_velocities)
    ahead.v, behind.v = context.v + 1e-6 * direction, context.v - 1e-6 * direction
    difference = (ahead.sensors - behind.sensors) / 2e-6
    np.testing.assert_allclose(values.derivatives @ direction, difference, rtol=1e-6, atol=1e-6)


def test_trajectories():
    tree = make_tree()
    context = random_context(tree)
    control = np.full(tree.num_velocities, 0.1)
    motion = mbt.simulate(tree, context, 0.05, method="semi_implicit_euler", control=control)
    assert motion.sensor_names == tree.sensor_names
    assert motion.sensors.shape == (51, tree.num_sensor_values)
    state = tree.create_default_context()
    for i in (0, 20, 50):
        state.q, state.v = motion.q[i], motion.v[i]
        np.testing.assert_allclose(
            motion.sensors[i], tree.calc_sensors(state, motion.tau[i]), rtol=1e-11, atol=1e-11
        )
    assert not motion.sensors.flags.writeable


def test_trajectories_in_files(tmp_path):
    tree = make_tree()
    motion = mbt.simulate(tree, random_context(tree), 0.01, 1e-3)
    motion.save(tmp_path / "motion.npz")
    read = mbt.Trajectory.load(tmp_path / "motion.npz")
    assert read.sensor_names == motion.sensor_names
    np.testing.assert_array_equal(read.sensors, motion.sensors)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(motion)).sensors, motion.sensors)
    motion.save(tmp_path / "motion.csv")
    assert "sensors.tip_imu_gyro_x" in (tmp_path / "motion.csv").read_text().splitlines()[0].split(",")
    # Older files have none.
    with np.load(tmp_path / "motion.npz") as arrays:
        old = {name: arrays[name] for name in arrays.files if not name.startswith("sensor")}
    np.savez(tmp_path / "old.npz", **old)
    assert mbt.Trajectory.load(tmp_path / "old.npz").sensors.shape == (11, 0)


class PicklerOfOld(pickle.Pickler):
    """Pickles trees as versions without sensors did."""

    def reducer_override(self, value):
        if not isinstance(value, mbt.MultibodyTree):
            return NotImplemented
        make, (format_, kind, classes), state = value.__reduce_ex__(4)
        del classes["sensors"], state["elements"]["sensors"]
        return make, (format_, kind, classes), state


def test_pickles_of_old_have_no_sensors():
    memory = io.BytesIO()
    PicklerOfOld(memory).dump(mbt.load_model(mbt.models.model_path("mbt_arm")))
    twin = pickle.loads(memory.getvalue())
    assert twin.sensors == ()
    assert twin.create_default_context().sensors.shape == (0,)


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda t: mbt.Imu("tip"), mbt.ArgumentTypeError, "Imu: frame: expected a Frame or a RigidBody"),
        (lambda t: mbt.JointSensor(t.bodies[1]), mbt.ArgumentTypeError, "JointSensor: joint"),
        (lambda t: mbt.ForceTorqueSensor(None), mbt.ArgumentTypeError, "ForceTorqueSensor: joint"),
        (lambda t: mbt.ForceTorqueSensor(t.joints[1], frame=t.bodies[1]), mbt.ArgumentValueError,
         "expected one on body 'upper', the child of joint 'ball', got body frame 'base' on body 'base'"),
        (lambda t: mbt.Imu(t.bodies[1], quantities=["speed"]), mbt.ArgumentValueError,
         "Imu: quantities: expected some of 'gyro', 'accelerometer', 'velocimeter', got 'speed'"),
        (lambda t: mbt.Imu(t.bodies[1], quantities="gyro"), mbt.ArgumentTypeError, "expected a sequence"),
        (lambda t: mbt.Imu(t.bodies[1], quantities=[]), mbt.ArgumentValueError, "each once"),
        (lambda t: mbt.Imu(t.bodies[1], quantities=["gyro", "gyro"]), mbt.ArgumentValueError, "each once"),
        (lambda t: mbt.Imu(t.bodies[1], ""), mbt.ArgumentValueError, "Imu: name"),
        (lambda t: mbt.FrameSensor(t.bodies[1], relative_to=t.bodies[2], quantities=["linear_acceleration"]),
         mbt.ArgumentValueError, "relative_to: expected World, None, as 'linear_acceleration'"),
        (lambda t: mbt.Sensor("a", "b", 1, []), mbt.ArgumentTypeError, "use one of mbt's sensors"),
    ],
)  # fmt: skip
def test_wrong_sensors_are_refused(make, error, match):
    with pytest.raises(error, match=match):
        make(make_tree())


def test_a_weld_has_no_coordinates():
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    weld = tree.add_joint(mbt.WeldJoint, "weld", tree.world_body, None, body, None)
    with pytest.raises(mbt.ArgumentValueError, match="joint 'weld' \\(weld\\) has none"):
        mbt.JointSensor(weld)


def test_wrong_additions_and_calls_are_refused():
    tree = make_tree(finalize=False)
    with pytest.raises(mbt.ArgumentValueError, match="there is a sensor named 'seen' already"):
        tree.add_sensor(mbt.Imu(tree.bodies[1], "seen"))
    with pytest.raises(mbt.ForeignElementError, match="Imu: frame"):
        tree.add_sensor(mbt.Imu(make_tree().bodies[1]))
    assert tree.num_sensors == 7
    assert tree.add_sensor(mbt.Imu, tree.get_frame_by_name("tip")).name == "tip_imu_"
    tree.finalize()
    with pytest.raises(mbt.AlreadyFinalizedError, match="add_sensor"):
        tree.add_sensor(mbt.Imu(tree.bodies[1], "late"))
    context = tree.create_default_context()
    with pytest.raises(mbt.ContextMismatchError):
        make_tree().calc_sensors(context)
    with pytest.raises(mbt.ArgumentTypeError):
        tree.calc_sensors(None)
    with pytest.raises(mbt.ShapeError, match="tau_applied"):
        tree.calc_sensors(context, [1.0])
    with pytest.raises(mbt.ArgumentTypeError, match="external_forces"):
        tree.calc_sensors(context, external_forces=np.zeros((4, 6)))
    with pytest.raises(mbt.UnknownNameError, match="tip_imu"):
        tree.get_sensor_by_name("tip_im")
    with pytest.raises(mbt.ElementIndexError):
        tree.get_sensor(99)
