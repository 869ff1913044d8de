"""`mbt.lock_joints`: the model with welds computes what the full one does with those joints at rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from support.force_element_types import Drag, make_everything
from support.joint_types import (
    JOINT_TYPES,
    MOVING_JOINT_TYPES,
    add_joint_of_type,
    add_random_body,
    random_positions,
    random_state,
)

BALL = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)


def _kept(tree: mbt.MultibodyTree, locked: list[Any]) -> tuple[list[int], list[int]]:
    """Return the indices of the positions and velocities that remain."""
    q, v = list(range(tree.num_positions)), list(range(tree.num_velocities))
    for owner in locked:
        q = [i for i in q if i not in range(owner.position_start, owner.position_start + owner.num_positions)]
        v = [
            i for i in v if i not in range(owner.velocity_start, owner.velocity_start + owner.num_velocities)
        ]
    return q, v


def _assert_restricts(
    tree: mbt.MultibodyTree, small: mbt.MultibodyTree, locked: list[Any], context: mbt.Context
) -> None:
    """At a Context's positions, the small model equals the full one with the joints locked."""
    q, v = _kept(tree, locked)
    for owner in locked:
        owner.lock(context)
    other = small.create_default_context()
    assert (small.num_positions, small.num_velocities) == (len(q), len(v))
    other.q, other.v = context.q[q], context.v[v]
    near = {"rtol": 1e-11, "atol": 1e-11}
    np.testing.assert_allclose(
        small.calc_mass_matrix(other), tree.calc_mass_matrix(context)[np.ix_(v, v)], **near
    )
    for calc in ("calc_bias_term", "calc_gravity_generalized_forces", "calc_forward_dynamics"):
        np.testing.assert_allclose(getattr(small, calc)(other), getattr(tree, calc)(context)[v], **near)
    assert [body.name for body in small.node_bodies] == [body.name for body in tree.node_bodies]
    for cache in ("X_WB", "X_BF"):
        np.testing.assert_allclose(
            getattr(small.eval_position_kinematics(other), cache),
            getattr(tree.eval_position_kinematics(context), cache),
            **near,
        )
    np.testing.assert_allclose(small.default_positions, tree.default_positions[q], rtol=0, atol=0)
    for kind in ("bodies", "frames", "joints"):
        assert [(e.name, e.index, e.model_instance) for e in getattr(small, kind)] == [
            (e.name, e.index, e.model_instance) for e in getattr(tree, kind)
        ]


def _chain(kind: str, *, is_reversed: bool) -> mbt.MultibodyTree:
    """World, a hinge, the joint, a slider; and a free body, tied to the last one by a spring."""
    rng = np.random.default_rng(5)
    tree = mbt.MultibodyTree()
    arm = tree.add_model_instance("arm")
    bodies = [tree.world_body] + [add_random_body(tree, rng, f"body{i}", arm) for i in range(4)]
    add_joint_of_type(tree, "revolute", "hinge", *bodies[:2], rng, is_damped=True)
    add_joint_of_type(tree, kind, "joint", *bodies[1:3], rng, is_reversed=is_reversed, is_damped=True)
    add_joint_of_type(tree, "prismatic", "slider", *bodies[2:4], rng, is_damped=True)
    tree.add_force_element(mbt.UniformGravityFieldElement([1.0, 2.0, -9.0]))
    spring = mbt.LinearSpringDamper(bodies[3], [0.1, 0.2, 0.3], bodies[4], [0.3, 0.2, 0.1], 0.5, 20.0, 2.0)
    tree.add_force_element(spring)
    tree.finalize()
    return tree


class TestItIsTheModelAtRest:
    @pytest.mark.parametrize("is_reversed", [False, True])
    @pytest.mark.parametrize("kind", MOVING_JOINT_TYPES)
    def test_of_every_type(self, kind: str, is_reversed: bool) -> None:
        tree = _chain(kind, is_reversed=is_reversed)
        joint = tree.get_joint_by_name("joint")
        context = random_state(tree, np.random.default_rng(6))
        q = joint.get_positions(context)
        small = mbt.lock_joints(tree, {"joint": q if len(q) > 1 else float(q[0])})
        weld = small.joints[joint.index]
        assert type(weld) is mbt.WeldJoint
        assert (weld.name, weld.scoped_name) == ("joint", "arm::joint")
        np.testing.assert_allclose(weld.X_FM, joint.get_pose(context), atol=1e-14)
        _assert_restricts(tree, small, [joint], context)

    def test_many_at_once_among_everything(self) -> None:
        tree = make_everything(user_written=False)
        rng = np.random.default_rng(3)
        for count in (1, 4, 12, 30):
            joints = [tree.joints[i] for i in rng.permutation(tree.num_joints)[:count]]
            context = random_state(tree, rng)
            small = mbt.lock_joints(tree, {j: j.get_positions(context) for j in joints})
            _assert_restricts(tree, small, [j for j in joints if j.num_velocities], context)
        assert small.num_velocities == 0

    def test_at_the_default_positions(self) -> None:
        tree = _chain("ball_rpy", is_reversed=False).edit()
        tree.get_joint_by_name("joint").set_default_positions([0.1, 0.2, 0.3])
        tree.finalize()
        small = mbt.lock_joints(tree, ["joint", tree.get_joint_by_name("slider")])
        context = tree.create_default_context()
        context.v = np.random.default_rng(1).normal(size=tree.num_velocities)
        _assert_restricts(tree, small, [tree.joints[1], tree.joints[2]], context)

    def test_elements_of_a_user_on_bodies_remain(self) -> None:
        tree = make_everything()
        joint = tree.joints[4]
        context = random_state(tree, np.random.default_rng(2))
        small = mbt.lock_joints(tree, {joint: joint.get_positions(context)})
        assert sum(isinstance(e, Drag) for e in small.force_elements) == 1
        _assert_restricts(tree, small, [joint], context)

    def test_a_floating_base_at_a_pose(self) -> None:
        tree = _chain("universal", is_reversed=False)
        base = tree.joints[-1]
        assert base.is_ephemeral
        context = random_state(tree, np.random.default_rng(6))
        q = np.array([3.0, 1.0, 0.5, -1.0, 0.1, 0.2, 0.3])
        base.set_positions(context, q)
        small = mbt.lock_joints(tree, {base.name: q})
        assert small.joints[-1].type_name == "weld"
        _assert_restricts(tree, small, [base], context)

    @pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
    def test_some_of_two_floating_bases(self, which: tuple[int, ...]) -> None:
        rng = np.random.default_rng(4)
        tree = mbt.MultibodyTree()
        for i in range(2):
            base, tip = (add_random_body(tree, rng, f"{name}{i}") for name in ("base", "tip"))
            add_joint_of_type(tree, "revolute", f"hinge{i}", base, tip, rng)
        tree.finalize()
        context = random_state(tree, rng)
        joints = [tree.get_joint_by_name(f"base{i}") for i in which]
        small = mbt.lock_joints(tree, {j: j.get_positions(context) for j in joints})
        _assert_restricts(tree, small, joints, context)

    def test_mobilizers_without_joints(self) -> None:
        rng = np.random.default_rng(4)
        tree = mbt.MultibodyTree()
        arm = tree.add_model_instance("arm")
        first, second = (add_random_body(tree, rng, name, arm) for name in ("first", "second"))
        moving = tree.add_mobilizer(
            mbt.RpyBallMobilizer(tree.world_frame, first.body_frame, model_instance=arm)
        )
        add_joint_of_type(tree, "revolute", "hinge", first, second, rng)
        tree.finalize()
        context = tree.create_default_context()
        context.q, context.v = rng.uniform(0.1, 1.0, 4), rng.normal(size=4)
        for key in ("first", "arm::first", moving):
            small = mbt.lock_joints(tree, {key: moving.get_positions(context)})
            weld = small.mobilizers[0]
            assert isinstance(weld, mbt.WeldMobilizer)
            assert (weld.name, weld.model_instance) == ("first", arm)
        _assert_restricts(tree, small, [moving], context)

    @pytest.mark.parametrize("scalar", ["autodiff", "sympy"])
    def test_of_a_clone_in_another_scalar(self, scalar: str) -> None:
        tree = _chain("planar", is_reversed=False)
        context = random_state(tree, np.random.default_rng(6))
        joint = tree.joints[1]
        small = mbt.lock_joints(tree.clone_to_scalar(scalar), {"joint": joint.get_positions(context)})
        assert small.scalar_type.name == "double"
        _assert_restricts(tree, small, [joint], context)


class TestWhatGoesAlong:
    def test_what_acts_along_a_locked_joint_alone(self) -> None:
        tree = make_everything(user_written=False)
        small = mbt.lock_joints(tree, ["joint0", "joint2"])
        gone = {type(e) for e in tree.force_elements} - {type(e) for e in small.force_elements}
        assert gone == {mbt.RevoluteSpring, mbt.PrismaticSpring, mbt.DoorHinge, mbt.JointFriction}
        assert small.num_actuators == 0
        assert [e.index for e in small.force_elements] == list(range(len(small.force_elements)))

    def test_the_rotor_does_not_turn(self) -> None:
        def build(rotor_inertia: float) -> mbt.MultibodyTree:
            tree = mbt.MultibodyTree()
            links = [tree.world_body, *(tree.add_body(mbt.RigidBody(f"link{i}", BALL)) for i in range(2))]
            for i in range(2):
                hinge = tree.add_joint(
                    mbt.RevoluteJoint, f"hinge{i}", links[i], np.eye(4), links[i + 1], None, [0, 0, 1]
                )
                tree.add_joint_actuator(f"motor{i}", hinge, rotor_inertia=rotor_inertia, gear_ratio=10.0)
            tree.finalize()
            return tree

        heavy, light = (mbt.lock_joints(build(inertia), ["hinge1"]) for inertia in (0.5, 0.0))
        q = [0.3]
        np.testing.assert_allclose(
            mbt.functional.mass_matrix(heavy, q), mbt.functional.mass_matrix(light, q) + 50.0
        )

    def test_the_full_model_remains(self) -> None:
        tree = make_everything()
        context = random_state(tree, np.random.default_rng(1))
        before = tree.calc_forward_dynamics(context)
        mbt.lock_joints(tree, tree.joints[:5])
        np.testing.assert_array_equal(tree.calc_forward_dynamics(context), before)
        assert tree.joints[0].type_name == "revolute"


def _fingers(couplings: list[tuple[int, int, float, float]], count: int = 3) -> mbt.MultibodyTree:
    """Sliders on World, coupled as ``q_i = ratio q_j + offset``."""
    tree = mbt.MultibodyTree()
    joints = []
    for i in range(count):
        finger = tree.add_body(mbt.RigidBody(f"finger{i}", BALL))
        joints.append(
            tree.add_joint(mbt.PrismaticJoint, f"slide{i}", tree.world_body, None, finger, None, [1, 0, 0])
        )
    for i, j, ratio, offset in couplings:
        tree.add_constraint(mbt.CouplerConstraint(f"c{i}{j}", joints[i], joints[j], ratio, offset))
    tree.finalize()
    return tree


def _places(tree: mbt.MultibodyTree) -> list[Any]:
    """Where each slider is locked; None for a slider that is not."""
    return [
        pytest.approx(joint.X_FM[0, 3]) if isinstance(joint, mbt.WeldJoint) else None for joint in tree.joints
    ]


class TestCouplers:
    def test_a_follower_is_locked_with_its_master(self) -> None:
        small = mbt.lock_joints(_fingers([(1, 0, -2.0, 0.5)]), {"slide0": 0.1})
        assert _places(small) == [0.1, 0.3, None]
        assert small.constraints == ()

    def test_a_master_is_locked_with_its_follower(self) -> None:
        small = mbt.lock_joints(_fingers([(1, 0, -2.0, 0.5)]), {"slide1": 0.3})
        assert _places(small) == [0.1, 0.3, None]

    def test_along_a_chain_of_couplers(self) -> None:
        tree = _fingers([(1, 0, 2.0, 0.0), (2, 1, -1.0, 1.0)], 4)
        for joint, q in (("slide0", 0.1), ("slide1", 0.2), ("slide2", 0.8)):
            assert _places(mbt.lock_joints(tree, {joint: q})) == [0.1, 0.2, 0.8, None]

    def test_other_couplers_remain(self) -> None:
        tree = _fingers([(1, 0, 2.0, 0.0), (3, 2, 1.0, 0.0)], 4)
        small = mbt.lock_joints(tree, {"slide0": 0.1})
        assert [constraint.name for constraint in small.constraints] == ["c32"]
        assert small.constraints[0].joint0 is small.joints[3]

    def test_both_at_once_where_they_agree(self) -> None:
        tree = _fingers([(1, 0, 3.0, 0.1)])
        assert _places(mbt.lock_joints(tree, {"slide1": 0.4, "slide0": 0.1})) == [0.1, 0.4, None]

    def test_a_ratio_of_zero(self) -> None:
        tree = _fingers([(1, 0, 0.0, 0.4)])
        small = mbt.lock_joints(tree, {"slide1": 0.4})
        assert _places(small) == [None, 0.4, None]
        assert small.constraints == ()
        assert _places(mbt.lock_joints(tree, {"slide0": 0.7})) == [0.7, 0.4, None]
        with pytest.raises(
            mbt.ArgumentValueError, match=r"joint 'slide1' is at 0\.5, but constraint 'c10' puts"
        ):
            mbt.lock_joints(tree, {"slide1": 0.5})

    @pytest.mark.parametrize("joints", [{"slide0": 0.1, "slide1": 0.2}, {"slide1": 0.2, "slide0": 0.1}])
    def test_a_contradiction(self, joints: dict[str, float]) -> None:
        with pytest.raises(mbt.ArgumentValueError, match="constraint 'c10' puts it at"):
            mbt.lock_joints(_fingers([(1, 0, 1.0, 0.0)]), joints)

    def test_default_positions_that_contradict(self) -> None:
        with pytest.raises(mbt.ArgumentValueError, match=r"joint 'slide1' is at 0, but .* puts it at 0\.25"):
            mbt.lock_joints(_fingers([(1, 0, 1.0, 0.25)]), ["slide0", "slide1"])


class Servo(mbt.ForceElement):
    """A user's element that acts along a joint."""

    def __init__(self, joint: mbt.Joint) -> None:
        super().__init__(joint.model_instance)
        self.joint = joint

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.generalized_forces[..., self.joint.velocity_start] += 1.0


def test_an_element_of_a_user_that_needs_the_joint() -> None:
    tree = _chain("revolute", is_reversed=False).edit()
    servo = tree.add_force_element(Servo(tree.get_joint_by_name("joint")))
    tree.finalize()
    with pytest.raises(
        mbt.ArgumentValueError, match=r"'Servo_2', a Servo, refers to joint 'joint'.*edit\(\)"
    ):
        mbt.lock_joints(tree, ["joint"])
    assert mbt.lock_joints(tree, ["hinge"]).num_actuators == 0
    work = tree.edit()
    work.remove(work.force_elements[servo.index])
    work.finalize()
    assert mbt.lock_joints(work, ["joint"]).num_velocities == tree.num_velocities - 1


REFUSED: list[tuple[Callable[[mbt.MultibodyTree], Any], type[Exception], str]] = [
    (lambda t: {"jiont": 0.1}, mbt.UnknownNameError, "no joint named 'jiont'. Did you mean 'joint'"),
    (lambda t: ["jiont"], mbt.UnknownNameError, "no joint named 'jiont'"),
    (lambda t: "joint", mbt.ArgumentTypeError, "expected a mapping .* or a list of names, got 'joint'"),
    (lambda t: b"joint", mbt.ArgumentTypeError, "or a list of names, got b'joint'"),
    (lambda t: t.joints[0], mbt.ArgumentTypeError, "or a list of names"),
    (lambda t: 3, mbt.ArgumentTypeError, "or a list of names, got 3"),
    (lambda t: {3: 0.1}, mbt.ArgumentTypeError, "expected names of joints as keys, got 3"),
    (lambda t: {"hinge": [0.1, 0.2]}, mbt.ShapeError, r"position of joint 'hinge': expected shape \(1,\)"),
    (lambda t: {"joint": 0.1}, mbt.ShapeError, r"position of joint 'joint': expected shape \(4,\)"),
    (lambda t: {"hinge": float("nan")}, mbt.ArgumentValueError, "position of joint 'hinge'"),
    (lambda t: {"hinge": None}, mbt.MbtError, "position of joint 'hinge'"),
    (
        lambda t: {"joint": [0.0] * 4},
        mbt.ArgumentValueError,
        "'joint': expected those of a finite pose, with a quaternion",
    ),
    (lambda t: ["hinge", t.joints[0]], mbt.ArgumentValueError, "joint 'hinge' is given twice"),
    (lambda t: t.edit().joints[:1], mbt.ForeignElementError, "does not belong to this tree"),
]


@pytest.mark.parametrize(("joints", "error", "message"), REFUSED)
def test_what_is_refused(
    joints: Callable[[mbt.MultibodyTree], Any], error: type[Exception], message: str
) -> None:
    tree = _chain("quaternion_ball", is_reversed=False)
    with pytest.raises(error, match=message):
        mbt.lock_joints(tree, joints(tree))


def test_only_of_finalized_trees() -> None:
    with pytest.raises(mbt.NotFinalizedError, match="lock_joints: the tree must be finalized first"):
        mbt.lock_joints(mbt.MultibodyTree(), [])
    with pytest.raises(mbt.ArgumentTypeError, match="expected a MultibodyTree, got int"):
        mbt.lock_joints(3, [])  # type: ignore[arg-type]


def test_welds_and_nothing_at_all() -> None:
    tree = _chain("weld", is_reversed=False)
    for joints in ([], {}, ["joint"], {"joint": []}):
        small = mbt.lock_joints(tree, joints)  # type: ignore[arg-type]
        _assert_restricts(tree, small, [], random_state(tree, np.random.default_rng(1)))
    assert set(JOINT_TYPES) - set(MOVING_JOINT_TYPES) == {"weld"}
    assert random_positions(tree.joints[1], np.random.default_rng(1)).size == 0
