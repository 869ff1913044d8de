"""Shapes that touch in implicit steps, against laws of physics."""

import pickle

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.errors import ArgumentTypeError, ArgumentValueError, UnknownNameError

G = 9.81
FLOOR = mbt.Shape("plane", name="floor")


def make_boxes(*masses, size=(0.1, 0.1, 0.1), gravity=(0.0, 0.0, -G)):
    tree = mbt.MultibodyTree()
    for i, mass in enumerate(masses):
        box = tree.add_body(mbt.RigidBody(f"box{i}", mbt.SpatialInertia.solid_box_with_mass(mass, *size)))
        box.add_collision(mbt.Shape("box", size))
    tree.add_force_element(mbt.UniformGravityFieldElement(gravity))
    tree.finalize()
    return tree


def make_contacts(tree, *args, obstacles=(FLOOR,), **options):
    return mbt.ShapeContact(mbt.CollisionModel(tree, obstacles=obstacles), *args, **options)


def run(contacts, q, v=None, duration=1.0, dt=5e-3, **options):
    context = contacts.tree.create_default_context()
    context.q = np.ravel(q)
    if v is not None:
        context.v = v
    return mbt.simulate(contacts.tree, context, duration, dt, method="implicit", contacts=contacts, **options)


def pose(x=0.0, y=0.0, z=0.0, axis=(1.0, 0.0, 0.0), angle=0.0):
    axis = np.array(axis) / np.linalg.norm(axis)
    return [np.cos(0.5 * angle), *np.sin(0.5 * angle) * axis, x, y, z]


def height_of_corners(q, size):
    """Return the height of the lowest corner of a box."""
    X = mbt.math.make_pose(q[4:7], quaternion=q[:4])
    signs = np.array(np.meshgrid(*[[-0.5, 0.5]] * 3)).reshape(3, -1)
    return (X[:3, :3] @ (signs * np.array(size)[:, None]) + X[:3, 3:])[2].min()


@pytest.mark.parametrize("mass", [1e-3, 1.0, 1e3])
def test_a_box_rests_at_the_depth_that_carries_it(mass):
    contacts = make_contacts(make_boxes(mass))
    motion = run(contacts, pose(z=0.051), duration=0.5)
    depth = mass * G / (4 * contacts.stiffness[0])
    assert motion.q[-1, 6] == pytest.approx(0.05 - depth, abs=1e-3 * depth)
    touching = motion.contacts[-1]
    np.testing.assert_allclose(touching.force_W.sum(axis=0), [0, 0, -mass * G], atol=1e-6 * mass)
    np.testing.assert_allclose(touching.gap, -depth, rtol=1e-3)


def test_friction_holds_below_the_cone_and_slips_above():
    mu = 0.5
    contacts = make_contacts(make_boxes(1.0), mu)
    for share in (0.99, 1.01):
        push = share * mu * G
        # At the height of the floor, where it does not tip the box.
        motion = run(contacts, pose(z=0.05), duration=0.5, control=[0, -0.05 * push, 0, push, 0, 0])
        if share < 1.0:
            assert abs(motion.v[-1, 3]) < 1e-6
            assert abs(motion.q[-1, 4] - motion.q[20, 4]) < 1e-6
        else:
            later = motion.time > 0.1
            speed_up = np.polyfit(motion.time[later], motion.v[later, 3], 1)[0]
            assert speed_up == pytest.approx((share - 1.0) * mu * G, rel=1e-4)


def test_a_block_on_a_slope_slides_as_in_a_textbook():
    mu, angle = 0.3, np.arctan(0.5)
    slope = mbt.Shape("box", [4, 4, 1], mbt.math.make_pose([0, 0, 0], rpy=[0, angle, 0]), name="slope")
    contacts = make_contacts(make_boxes(2.0), mu, obstacles=[slope])
    up = np.array([np.sin(angle), 0, np.cos(angle)])
    start = 0.55 * up
    motion = run(contacts, pose(*start, axis=(0, 1, 0), angle=angle), duration=0.3)
    down = np.array([np.cos(angle), 0, -np.sin(angle)])
    speed = motion.v[:, 3:] @ down
    wanted = G * (np.sin(angle) - mu * np.cos(angle))
    assert np.polyfit(motion.time[20:], speed[20:], 1)[0] == pytest.approx(wanted, rel=1e-3)
    assert np.abs(motion.v[-1, :3]).max() < 1e-3


def test_boxes_that_are_dropped_come_to_rest_flat():
    size = (0.1, 0.14, 0.2)
    contacts = make_contacts(make_boxes(1.0, size=size))
    for axis, angle in (([1, 0, 0], 0.4), ([0, 1, 0], 1.2), ([1, 2, 0.5], 0.8), ([1, -1, 1], 2.2)):
        motion = run(contacts, pose(z=0.16, axis=axis, angle=angle), duration=1.5, every=50)
        assert np.abs(motion.v[-1]).max() < 1e-5
        R = mbt.math.make_pose([0, 0, 0], quaternion=motion.q[-1, :4])[:3, :3]
        assert np.abs(R[2]).max() == pytest.approx(1.0, abs=1e-6)
        assert height_of_corners(motion.q[-1], size) == pytest.approx(
            -G / (4 * contacts.stiffness[0]), rel=0.01
        )


@pytest.mark.exhaustive
def test_a_stack_of_ten_boxes_stands():
    contacts = make_contacts(make_boxes(*[1.0] * 10))
    q = np.array([pose(z=0.05 + 0.1 * i) for i in range(10)])
    motion = run(contacts, q, duration=10.0)
    k, depth = contacts.stiffness[0], 0.0
    for i in range(10):  # Each box carries those above it.
        depth += (10 - i) * G / (4 * k)
        assert motion.q[-1, 7 * i + 6] == pytest.approx(q[i, 6] - depth, abs=1e-6)
    assert np.abs(motion.v[-1]).max() < 1e-9


def test_a_leaning_stack_stands():
    contacts = make_contacts(make_boxes(1.0, 1.0, 1.0))
    q = np.array(
        [
            pose(x=0.012 * i, y=-0.008 * i, z=0.0501 + 0.1002 * i, axis=(0, 0, 1), angle=0.2 * i)
            for i in range(3)
        ]
    )
    motion = run(contacts, q, duration=2.0)
    assert np.abs(motion.v[-1]).max() < 1e-6
    np.testing.assert_allclose(motion.q[-1].reshape(3, 7)[:, 4:6], q[:, 4:6], atol=1e-3)


def test_bodies_that_collide_keep_their_momentum():
    contacts = make_contacts(make_boxes(1.0, 3.0, gravity=(0, 0, 0)), 0.4, obstacles=())
    q = [pose(), pose(0.15, 0.03, 0.02, [1, 1, 0], 0.3)]
    v = [0.1, 0, 0.2, 1.0, 0, 0, 0, 0, 0, -1.0, 0.3, 0]
    motion = run(contacts, q, v, duration=0.3, dt=1e-3)
    assert any(len(x.pair) for x in motion.contacts)
    P = np.array([[1.0, 3.0] @ x.reshape(2, 6)[:, 3:] for x in motion.v])
    np.testing.assert_allclose(P, np.broadcast_to(P[0], P.shape), atol=1e-12)
    middle = (motion.q[:, 4:7] + 3 * motion.q[:, 11:14]) / 4
    L = []
    for k, (a, b) in enumerate(zip(motion.q, motion.v, strict=True)):
        total = np.zeros(3)
        for i, mass in enumerate((1.0, 3.0)):
            R = mbt.math.make_pose([0, 0, 0], quaternion=a[7 * i : 7 * i + 4])[:3, :3]
            w, u = b[6 * i : 6 * i + 3], b[6 * i + 3 : 6 * i + 6]
            inertia = mass * 0.01 / 6  # of a cube, about any axis
            total += inertia * (R @ R.T) @ w + mass * np.cross(a[7 * i + 4 : 7 * i + 7] - middle[k], u)
        L.append(total)
    # To first order in the step, as for free bodies.
    np.testing.assert_allclose(L, np.broadcast_to(L[0], (len(L), 3)), atol=3e-3 * np.abs(L[0]).max())


@pytest.mark.parametrize("speed", [1.0, 10.0, 100.0])
def test_what_is_fast_does_not_pass_through(speed):
    """One step would take it to the far side, and before that step the bounding spheres do not overlap."""
    block = mbt.Shape("box", [0.1, 0.1, 0.1], name="block")
    contacts = make_contacts(make_boxes(1.0, gravity=(0, 0, 0)), obstacles=[block])
    motion = run(contacts, pose(0.45), [0, 0, 0, -speed, 0, 0], dt=0.5 / speed, duration=2.0 / speed)
    assert len(motion.contacts[0].pair) == 4
    assert motion.q[:, 4].min() > 0.09


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_contact_never_gives_energy(dt):
    size = (0.1, 0.14, 0.2)
    contacts = make_contacts(make_boxes(1.0, 0.5, size=size), 0.6)
    q = [pose(z=0.2, axis=[1, 2, 3], angle=1.0), pose(0.03, 0.01, 0.5, [2, 1, 1], 0.5)]
    motion = run(contacts, q, [1, 2, 3, 0.5, 0, 0, 3, -2, 0, 0, 0.5, -1.0], duration=1.0, dt=dt)
    stored = np.zeros(len(motion))
    for i, touching in enumerate(motion.contacts):
        stored[i] = 0.5 * (contacts.stiffness[touching.pair] * np.minimum(touching.gap, 0.0) ** 2).sum()
    # With the velocities of half a step earlier, to which they belong.
    total = motion.energy.total - 0.5 * dt * G * (1.0 * motion.v[:, 5] + 0.5 * motion.v[:, 11]) + stored
    assert total[-1] < total[0] - 1.0
    assert np.diff(total).max() < 2e-3 * (total[0] - total[-1])
    report = motion.audit()
    assert report["contact of shapes"].given < -1.0
    assert not report["contact of shapes"].may_give


def make_gripper():
    """Return two pads on sliders, on a carriage that rises, and a box between them."""
    tree = mbt.MultibodyTree()
    solid = mbt.SpatialInertia.solid_box_with_mass
    hand = tree.add_body(mbt.RigidBody("hand", solid(1.0, 0.1, 0.1, 0.05)))
    lift = tree.add_joint(
        mbt.PrismaticJoint,
        "lift",
        tree.world_body,
        mbt.math.make_pose([0, 0, 0.2]),
        hand,
        None,
        axis=[0, 0, 1],
    )
    tree.add_joint_actuator("lift", lift, effort_limit=20.0, stiffness=1000.0, damping=100.0)
    for name, side in (("left", -1.0), ("right", 1.0)):
        pad = tree.add_body(mbt.RigidBody(name, solid(0.1, 0.02, 0.04, 0.04)))
        pad.add_collision(mbt.Shape("box", [0.02, 0.04, 0.04]))
        slider = tree.add_joint(
            mbt.PrismaticJoint,
            name,
            hand,
            mbt.math.make_pose([0.08 * side, 0, -0.16]),
            pad,
            None,
            axis=[-side, 0, 0],
        )
        tree.add_joint_actuator(name, slider, effort_limit=10.0, stiffness=1000.0, damping=20.0)
    box = tree.add_body(mbt.RigidBody("box", solid(0.2, 0.06, 0.06, 0.08)))
    box.add_collision(mbt.Shape("box", [0.06, 0.06, 0.08]))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    return tree


def test_a_box_is_grasped_and_lifted():
    tree = make_gripper()
    contacts = make_contacts(tree, 0.8)
    context = tree.create_default_context()
    q = context.q.copy()
    start = tree.position_names.index("box_qw")
    q[start : start + 7] = pose(0.004, 0.003, 0.04)
    context.q = q
    ends = []
    for dt in (5e-3, 1e-3):
        moving = context
        for targets in ([0.0, 0.05, 0.05], [0.1, 0.05, 0.05]):  # Close, then lift.
            moving = moving.clone()
            moving.servo_positions = targets
            motion = mbt.simulate(tree, moving, 0.7, dt, method="implicit", contacts=contacts, every=20)
            moving = motion.final_context
        ends.append(moving.q)
        box = moving.q[start : start + 7]
        tilt = np.arccos(mbt.math.make_pose([0, 0, 0], quaternion=box[:4])[2, 2])
        assert np.rad2deg(tilt) < 0.2
        assert box[6] > 0.12
        slip = motion.q[:, start + 6] - motion.q[:, 0]  # relative to the hand
        assert np.ptp(slip) < 1e-3
        assert np.abs(motion.v[-1]).max() < 1e-3
    turned = abs(ends[0][start : start + 4] @ ends[1][start : start + 4])
    assert np.rad2deg(2 * np.arccos(min(turned, 1.0))) < 0.2
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-3)


def test_friction_of_pairs_and_bodies():
    tree = make_boxes(1.0, 2.0)
    ice = mbt.Shape("box", [1, 1, 1], name="ice")
    scene = mbt.CollisionModel(tree, obstacles=[FLOOR, ice])
    contacts = mbt.ShapeContact(
        scene, {"box0": 1.0, "floor": 0.5, ("ice", "box1"): 0.02}, dissipation={"box1": 3.0}
    )
    friction = dict(zip(scene.pairs, contacts.friction, strict=True))
    assert friction == {
        ("box0", "box1"): 1.0, ("box0", "floor"): pytest.approx(2 * 0.5 / 1.5), ("box0", "ice"): 1.0,
        ("box1", "floor"): 0.5, ("box1", "ice"): 0.02,
    }  # fmt: skip
    assert dict(zip(scene.pairs, contacts.dissipation, strict=True))["box1", "ice"] == 3.0
    soft = mbt.ShapeContact(scene, stiffness={"box0": 100.0, "ice": 300.0})
    stiffness = dict(zip(scene.pairs, soft.stiffness, strict=True))
    assert stiffness["box0", "ice"] == pytest.approx(75.0)
    assert stiffness["box1", "floor"] == 1e5
    heavy = make_contacts(make_boxes(1e3, 3e3))
    masses = np.array([1 / (1 / 1e3 + 1 / 3e3), 1e3, 3e3])
    np.testing.assert_allclose(heavy.stiffness, masses / 5e-3**2)
    assert np.array_equal(mbt.ShapeContact(scene, contacts.friction).friction, contacts.friction)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"friction": -1.0}, ArgumentValueError, "friction"),
        ({"friction": np.inf}, ArgumentValueError, "friction"),
        ({"friction": {"nobody": 1.0}}, UnknownNameError, "nobody' for friction.*'box0', 'floor'"),
        ({"friction": {("box0", "box0"): 1.0}}, ArgumentValueError, "pair of the scene"),
        ({"friction": {3: 1.0}}, ArgumentTypeError, "names"),
        ({"friction": [1.0, 2.0]}, mbt.errors.ShapeError, "friction"),
        *(
            ({name: [[1, 2], [3]]}, ArgumentTypeError, f"{name}: .* list with entries of different lengths")
            for name in ("friction", "stiffness", "dissipation", "margin")
        ),
        ({"stiffness": [-1.0]}, ArgumentValueError, "stiffness"),
        ({"dissipation": "much"}, ArgumentTypeError, "dissipation"),
        ({"stiffness": 1e200}, ArgumentValueError, r"stiffness: expected at most 1e\+100, got 1e\+200"),
        ({"margin": {"box0": 1e200}}, ArgumentValueError, r"margin: expected at most 1e\+100"),
    ],
)
def test_bad_numbers_are_refused(options, error, text):
    with pytest.raises(error, match=text):
        make_contacts(make_boxes(1.0), **options)


def test_bad_contacts_are_refused():
    tree, other = make_boxes(1.0), make_boxes(1.0)
    context, contacts = tree.create_default_context(), make_contacts(tree)
    with pytest.raises(ArgumentTypeError, match=r"scene: expected an mbt.CollisionModel"):
        mbt.ShapeContact(tree)
    with pytest.raises(ArgumentTypeError, match=r"contacts: expected an mbt.ShapeContact"):
        mbt.simulate(tree, context, 1.0, method="implicit", contacts=contacts.scene)
    with pytest.raises(ArgumentValueError, match=r"of another one; for an edited tree create mbt\.Shape"):
        mbt.simulate(tree, context, 1.0, method="implicit", contacts=make_contacts(other))
    for method in ("rk4", "RK45"):
        with pytest.raises(ArgumentValueError, match="method='implicit'"):
            mbt.simulate(tree, context, 1.0, method=method, contacts=contacts)
    without = mbt.simulate(tree, context, 0.01, method="implicit")
    with pytest.raises(ArgumentValueError, match="without contacts="):
        without.contacts  # noqa: B018


def test_trajectories_know_what_touched(tmp_path):
    contacts = make_contacts(make_boxes(1.0))
    motion = run(contacts, pose(z=0.06), duration=0.3)
    over_time = motion.contacts
    with pytest.raises(mbt.ArgumentTypeError, match=r"contacts\[\.\.\.\]: expected an int, got slice"):
        over_time[::2]  # type: ignore[index]
    assert len(over_time) == len(motion)
    assert not over_time[0].names
    assert over_time[-1].names == (("box0", "floor"),) * 4
    assert [len(x.pair) for x in over_time] == np.bincount(over_time.sample, minlength=len(motion)).tolist()
    # Forces agree with the change of velocities.
    for i in (15, 25, 40):
        push = -over_time[i].force_W.sum(axis=0)
        np.testing.assert_allclose(
            push - np.array([0, 0, G]), motion.vdot[i, 3:], atol=1e-6 * (1 + abs(push).max())
        )
    again = pickle.loads(pickle.dumps(motion))
    np.testing.assert_array_equal(again.contacts.force_W, over_time.force_W)
    some = motion[20:40:5].contacts
    np.testing.assert_array_equal(some[1].force_W, over_time[25].force_W)
    assert pickle.loads(pickle.dumps(contacts)).stiffness == contacts.stiffness
    motion.save(tmp_path / "motion.npz")
    with pytest.raises(ArgumentValueError, match="from a file"):
        mbt.Trajectory.load(tmp_path / "motion.npz").contacts  # noqa: B018


def test_samples_of_a_batch_are_as_alone():
    contacts = make_contacts(make_boxes(1.0), 0.4)
    tree, masses, options = contacts.tree, [1.0, 3.0], {"method": "implicit", "contacts": contacts}
    context = tree.create_default_context(2)
    context.q = [pose(z=0.06), pose(z=0.08, angle=0.3)]
    context.v = [[0, 0, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0]]
    tree.bodies[1].set_mass(context, masses)
    both = mbt.simulate(tree, context, 0.2, 5e-3, **options)
    for i in range(2):
        single = tree.create_default_context()
        single.q, single.v = context.q[i], context.v[i]
        tree.bodies[1].set_mass(single, masses[i])
        alone = mbt.simulate(tree, single, 0.2, 5e-3, **options)
        np.testing.assert_array_equal(both.q[i], alone.q)
        np.testing.assert_array_equal(both.sample(i).contacts.force_W, alone.contacts.force_W)
        np.testing.assert_allclose(both.power[i], alone.power, rtol=1e-12)


def test_steps_and_rollouts_take_contacts():
    """The states are those of a simulation, to the last bit, for one state and for a batch."""
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.2, 0.2, 0.2)))
    box.add_collision(mbt.Shape("box", [0.2, 0.2, 0.2]))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    contacts = mbt.ShapeContact(mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane")]), friction=0.5)
    options = {"method": "implicit", "contacts": contacts}
    context = tree.create_default_context()
    q0 = context.q = [1, 0, 0, 0, 0, 0, 0.11]
    v0 = context.v = [0, 0.2, 0, 0.5, 0, 0]
    motion = mbt.simulate(tree, context, 0.1, 5e-3, **options)
    still = np.zeros((20, 6))
    for q, v in (
        functional.rollout(tree, q0, v0, still, 5e-3, **options),
        tree.rollout(context, still, 5e-3, **options),
        [x[1] for x in functional.rollout(tree, [q0, q0], [v0, v0], still, 5e-3, **options)],
    ):
        np.testing.assert_array_equal(q, motion.q)
        np.testing.assert_array_equal(v, motion.v)
    q, v = functional.step(tree, motion.q[7], motion.v[7], still[0], 5e-3, **options)
    np.testing.assert_array_equal(q, motion.q[8])
    assert motion.q[-1, 6] > 0.09
    for method in ("rk4", "semi_implicit_euler"):
        with pytest.raises(mbt.ArgumentValueError, match="needs method='implicit'"):
            functional.step(tree, q0, v0, still[0], 5e-3, method=method, contacts=contacts)
    with pytest.raises(mbt.ArgumentTypeError, match=r"contacts: expected an mbt\.ShapeContact"):
        tree.rollout(context, still, 5e-3, method="implicit", contacts="floor")
