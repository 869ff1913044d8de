"""Coordinates by name: names, dictionaries, random positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt.math import SpatialInertia, make_pose
from mbt.tree import (
    MultibodyTree,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    RevoluteMobilizer,
    RigidBody,
    WeldJoint,
)

M_BBo_B = SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.2, 0.3)
Z = [0.0, 0.0, 1.0]


@pytest.fixture
def tree() -> MultibodyTree:
    """Two arms with an elbow each, `reach` only on the left one; a weld; a free ball; a bare mobilizer.

    q: left elbow, left reach, right elbow, wheel (mobilizer), ball (7)
    """
    tree = MultibodyTree()
    for side in ("left", "right"):
        arm = tree.add_model_instance(side)
        upper = tree.add_body(RigidBody("upper", M_BBo_B, arm))
        elbow = tree.add_joint(RevoluteJoint, "elbow", tree.world_body, None, upper, None, Z)
        tree.add_joint_actuator("motor", elbow)
        if side == "left":
            lower = tree.add_body(RigidBody("lower", M_BBo_B, arm))
            reach = tree.add_joint(PrismaticJoint, "reach", upper, None, lower, None, Z)
            tree.add_joint_actuator("screw", reach)
            tool = tree.add_body(RigidBody("tool", M_BBo_B, arm))
            tree.add_joint(WeldJoint, "fix", lower, None, tool, None)
    wheel = tree.add_body(RigidBody("wheel", M_BBo_B))
    tree.add_mobilizer(RevoluteMobilizer(tree.world_frame, wheel.body_frame, Z))
    tree.add_body(RigidBody("ball", M_BBo_B))
    tree.finalize()
    return tree


class TestNames:
    def test_positions_and_velocities(self, tree: MultibodyTree) -> None:
        ball = ("qw", "qx", "qy", "qz", "x", "y", "z")
        assert tree.position_names == (
            "left::elbow_q",
            "reach_x",
            "right::elbow_q",
            "wheel_q",
            *(f"ball_{suffix}" for suffix in ball),
        )
        assert tree.velocity_names == (
            "left::elbow_w",
            "reach_v",
            "right::elbow_w",
            "wheel_w",
            *(f"ball_{suffix}" for suffix in ("wx", "wy", "wz", "vx", "vy", "vz")),
        )
        assert tree.actuator_names == ("left::motor", "screw", "right::motor")
        assert len(set(tree.position_names)) == tree.num_positions

    def test_names_stand_where_the_coordinates_are(self, tree: MultibodyTree) -> None:
        for joint in tree.joints:
            part = tree.position_names[joint.position_start :][: joint.num_positions]
            assert all(name.endswith(s) for name, s in zip(part, joint.position_suffixes, strict=True))
            assert all(joint.name in name for name in part)

    def test_as_in_drake(self, tree: MultibodyTree) -> None:
        left = tree.get_model_instance_by_name("left")
        assert tree.get_position_names()[:4] == ["left_elbow_q", "left_reach_x", "right_elbow_q", "wheel_q"]
        assert tree.get_position_names(left) == ["elbow_q", "reach_x"]
        assert tree.get_position_names(left, add_model_instance_prefix=True) == [
            "left_elbow_q",
            "left_reach_x",
        ]
        assert tree.get_position_names(left, always_add_suffix=False) == ["elbow", "reach"]
        assert tree.get_velocity_names(add_model_instance_prefix=False, always_add_suffix=False)[:5] == [
            "elbow",
            "reach",
            "elbow",
            "wheel",
            "ball_wx",
        ]
        assert tree.get_state_names(left) == ["elbow_q", "reach_x", "elbow_w", "reach_v"]
        assert tree.get_actuator_names() == ["left_motor", "left_screw", "right_motor"]
        assert tree.get_actuator_names(left) == ["motor", "screw"]
        with pytest.raises(mbt.ElementIndexError, match="model_instance"):
            tree.get_position_names(9)

    def test_only_after_finalize(self) -> None:
        tree = MultibodyTree()
        for name in ("position_names", "velocity_names"):
            with pytest.raises(mbt.NotFinalizedError, match=name):
                getattr(tree, name)


class TestDictionaries:
    def test_there_and_back(self, tree: MultibodyTree) -> None:
        q, v = np.arange(1.0, 12.0), np.arange(1.0, 11.0)
        values = tree.dict_from_q(q)
        assert list(values) == ["left::elbow", "reach", "right::elbow", "wheel", "ball"]
        assert values["left::elbow"] == 1.0
        assert isinstance(values["reach"], float)
        np.testing.assert_array_equal(values["ball"], q[4:])
        np.testing.assert_array_equal(tree.q_from_dict(values), q)
        np.testing.assert_array_equal(tree.v_from_dict(tree.dict_from_v(v)), v)
        values["ball"][0] = 99.0  # type: ignore[index]
        assert q[4] == 5.0

    def test_there_and_back_in_a_batch(self, tree: MultibodyTree) -> None:
        q = np.random.default_rng(1).normal(size=(3, 2, 11))
        values = tree.dict_from_q(q)
        assert np.shape(values["reach"]) == (3, 2)
        assert np.shape(values["ball"]) == (3, 2, 7)
        np.testing.assert_array_equal(tree.q_from_dict(values, shape=(3, 2)), q)
        one = tree.dict_from_q(q[:1, :1])
        np.testing.assert_array_equal(tree.q_from_dict(one, shape=(1, 1)), q[:1, :1])

    def test_the_others_are_those_of_default(self, tree: MultibodyTree) -> None:
        default = tree.default_positions
        assert tree.q_from_dict({}).tolist() == default.tolist()
        assert tree.v_from_dict({}).tolist() == [0.0] * 10
        base = np.arange(11.0)
        q = tree.q_from_dict({"reach": [0.25]}, base)
        assert q.tolist() == [0.0, 0.25, *base[2:]]
        assert base[1] == 1.0
        batch = tree.q_from_dict({"wheel": [1, 2, 3]}, np.zeros((3, 11)))
        assert batch[:, 3].tolist() == [1, 2, 3]
        assert tree.q_from_dict({"wheel": 7.0}, base, shape=2)[:, 3].tolist() == [7, 7]

    def test_keys(self, tree: MultibodyTree) -> None:
        left, reach, right = tree.joints[0], tree.joints[1], tree.joints[3]
        assert (left.scoped_name, right.scoped_name) == ("left::elbow", "right::elbow")
        # The joint itself, a mobilizer, and a scoped name where a plain one would do.
        q = tree.q_from_dict({left: 1, "left::reach": 2, right.mobilizer: 3, "fix": []})
        assert q[:3].tolist() == [1, 2, 3]
        with pytest.raises(mbt.ArgumentValueError, match=r"'elbow': write 'left::elbow' or 'right::elbow'"):
            tree.q_from_dict({"elbow": 1})
        with pytest.raises(mbt.UnknownNameError, match=r"no joint named 'raech'\. Did you mean 'reach'"):
            tree.q_from_dict({"raech": 1})
        with pytest.raises(mbt.ArgumentValueError, match=r"'reach' and .* are the same: joint 'reach'"):
            tree.q_from_dict({"reach": 1, reach: 2})
        other = MultibodyTree()
        body = other.add_body(RigidBody("b", M_BBo_B))
        foreign = other.add_joint(WeldJoint, "j", other.world_body, None, body, None)
        with pytest.raises(mbt.ForeignElementError, match="joint 'j' does not belong to this tree"):
            tree.q_from_dict({foreign: 1})
        with pytest.raises(mbt.ArgumentTypeError, match="names of joints as keys, got 3"):
            tree.q_from_dict({3: 1.0})

    @pytest.mark.parametrize(
        ("values", "keywords", "error", "message"),
        [
            ({"reach": [1, 2]}, {}, mbt.ShapeError, r"joint 'reach': expected one number, got shape \(2,\)"),
            ({"ball": 1.0}, {}, mbt.ShapeError, r"joint 'ball': expected 7 numbers, got shape \(\)"),
            ({"ball": [1, 0, 0, 0]}, {}, mbt.ShapeError, r"joint 'ball': expected 7 numbers"),
            ({"fix": 1.0}, {}, mbt.ShapeError, "joint 'fix': expected none: it is fixed"),
            (
                {"reach": [1, 2]},
                {"shape": 3},
                mbt.ShapeError,
                r"one number for each of \(3,\), got shape \(2,\)",
            ),
            ({"reach": "far"}, {}, mbt.ArgumentTypeError, "joint 'reach': expected real numbers"),
            ({}, {"default": [1.0]}, mbt.ShapeError, r"q_from_dict: default: expected shape \(\.\.\., 11\)"),
            (
                {},
                {"default": np.zeros((2, 11)), "shape": 3},
                mbt.ShapeError,
                "default: expected leading axes",
            ),
            ({}, {"shape": -1}, mbt.ArgumentTypeError, "shape: expected a tuple of ints >= 0"),
            ([1.0], {}, mbt.ArgumentTypeError, "expected a mapping of joint names to numbers, got list"),
        ],
    )
    def test_refused(
        self, tree: MultibodyTree, values: object, keywords: dict[str, object], error: type, message: str
    ) -> None:
        with pytest.raises(error, match=message):
            tree.q_from_dict(values, **keywords)  # type: ignore[arg-type]

    def test_a_mobilizer_named_as_a_joint(self) -> None:
        """A bare mobilizer's body may be named like a joint: their coordinates still differ in name."""
        tree = MultibodyTree()
        a, b = (tree.add_body(RigidBody(name, M_BBo_B)) for name in "ab")
        tree.add_joint(RevoluteJoint, "b", tree.world_body, None, a, None, Z)
        tree.add_mobilizer(RevoluteMobilizer(tree.world_frame, b.body_frame, Z))
        tree.finalize()
        assert tree.position_names == ("b_q", "b__q")
        assert tree.dict_from_q([1, 2]) == {"b": 1.0, "b_": 2.0}


class TestRandomPositions:
    @pytest.fixture
    def limited(self) -> MultibodyTree:
        tree = MultibodyTree()
        limits = {
            "both": (-0.5, 2.0),
            "low": (1.0, np.inf),
            "high": (-np.inf, -1.0),
            "none": (-np.inf, np.inf),
        }
        for name, (lower, upper) in limits.items():
            for kind in (RevoluteJoint, PrismaticJoint):
                body = tree.add_body(RigidBody(f"{name}_{kind.type_name}", M_BBo_B))
                tree.add_joint(kind, body.name, tree.world_body, None, body, None, Z, lower, upper)
        tree.add_body(RigidBody("ball", M_BBo_B))
        tree.finalize()
        return tree

    @pytest.mark.parametrize("shape", [3, np.int64(3), [3], (np.int32(3),)])
    def test_numbers_of_numpy_are_numbers(self, limited: MultibodyTree, shape: Any) -> None:
        assert limited.random_positions(0, shape).shape == (3, 15)
        assert limited.q_from_dict({}, shape=shape).shape == (3, 15)

    def test_a_shape_that_is_none_is_refused(self, limited: MultibodyTree) -> None:
        for shape in (np.array([2, 3]), np.array(3), 3.0, "3"):
            with pytest.raises(mbt.ArgumentTypeError, match="shape: expected a tuple of ints >= 0"):
                limited.random_positions(0, shape)  # type: ignore[arg-type]

    def test_within_limits_and_all_over_them(self, limited: MultibodyTree) -> None:
        q = limited.random_positions(np.random.default_rng(0), 4000)
        assert q.shape == (4000, 15)
        assert (q >= limited.position_lower_limits).all()
        assert (q <= limited.position_upper_limits).all()
        ends = [
            (-0.5, 2.0),
            (-0.5, 2.0),
            (1.0, 1.0 + 2 * np.pi),
            (1.0, 3.0),
            (-1.0 - 2 * np.pi, -1.0),
            (-3.0, -1.0),
            (-np.pi, np.pi),
            (-1.0, 1.0),
        ]
        for i, (lower, upper) in enumerate(ends):
            assert (q[:, i] >= lower).all()
            assert (q[:, i] <= upper).all()
            counts, _ = np.histogram(q[:, i], bins=5, range=(lower, upper))
            assert (abs(counts - 800) < 120).all()  # Five standard deviations.

    def test_rotations_are_uniform(self, limited: MultibodyTree) -> None:
        """The mean of a uniform rotation is zero, and its angle has density (1 - cos a) / pi."""
        q = limited.random_positions(7, 5000)[:, -7:]
        np.testing.assert_allclose(np.linalg.norm(q[:, :4], axis=1), 1.0, rtol=1e-14)
        angle = 2 * np.arccos(np.clip(abs(q[:, 0]), 0, 1))
        edges = np.linspace(0, np.pi, 6)
        expected = 5000 / np.pi * np.diff(edges - np.sin(edges))
        counts, _ = np.histogram(angle, bins=edges)
        assert (abs(counts - expected) < 5 * np.sqrt(expected)).all()
        mean = np.mean([make_pose(quaternion=x[:4])[:3, :3] for x in q], axis=0)
        assert abs(mean).max() < 5 * np.sqrt(1 / 3 / 5000)

    def test_reproducible(self, limited: MultibodyTree) -> None:
        a, b = limited.random_positions(5), limited.random_positions(np.random.default_rng(5))
        assert a.shape == (15,)
        assert a.tolist() == b.tolist()
        assert limited.random_positions().tolist() != limited.random_positions().tolist()
        assert limited.random_positions(1, (2, 0, 3)).shape == (2, 0, 3, 15)

    @pytest.mark.parametrize("rng", [1.5, "0", -1, True, np.random.RandomState(0)])
    def test_refused(self, limited: MultibodyTree, rng: object) -> None:
        with pytest.raises(mbt.ArgumentTypeError, match=r"rng: expected a numpy\.random\.Generator"):
            limited.random_positions(rng)  # type: ignore[arg-type]

    def test_other_joints(self) -> None:
        """Each coordinate is drawn from its own range; roll, pitch and yaw make a uniform rotation."""
        tree = MultibodyTree()
        path = mbt.PiecewiseConstantCurvatureTrajectory(
            [0, np.pi], [2.0], [1, 0, 0], [0, 0, 1], is_periodic=True
        )
        ends = {
            "universal": ((mbt.UniversalJoint,), [(-np.pi, np.pi)] * 2),
            "cylindrical": ((mbt.CylindricalJoint, Z), [(-np.pi, np.pi), (-1, 1)]),
            "planar": ((mbt.PlanarJoint,), [(-1, 1), (-1, 1), (-np.pi, np.pi)]),
            "screw": ((mbt.ScrewJoint, Z, 0.1), [(-np.pi, np.pi)]),
            "wire": ((mbt.CurvilinearJoint, path), [(0, np.pi)]),
            "rpy": (
                (mbt.RpyFloatingJoint,),
                [(-np.pi, np.pi), None, (-np.pi, np.pi), (-1, 1), (-1, 1), (-1, 1)],
            ),
            "quaternion": ((mbt.QuaternionBallJoint,), [None] * 4),
        }
        joints = {}
        for name, ((kind, *args), _) in ends.items():
            body = tree.add_body(RigidBody(name, M_BBo_B))
            joints[name] = tree.add_joint(kind, name, tree.world_body, None, body, None, *args)
        tree.finalize()
        q = tree.random_positions(0, 4000)
        for name, (_, intervals) in ends.items():
            part = joints[name].get_positions_from_array(q)
            assert part.shape[-1] == len(intervals)
            for i, interval in enumerate(intervals):
                if interval is not None:
                    assert (part[:, i] >= interval[0]).all()
                    assert (part[:, i] <= interval[1]).all()
                    counts, _ = np.histogram(part[:, i], bins=4, range=interval)
                    assert (abs(counts - 1000) < 150).all(), (name, i)
        # A uniform rotation turns any axis to any direction: the height of the turned z axis is uniform.
        rpy = joints["rpy"].get_positions_from_array(q)[:, :3]
        height = np.cos(rpy[:, 0]) * np.cos(rpy[:, 1])
        tilt = -np.sin(rpy[:, 1])  # That of the x axis.
        for values in (height, tilt):
            counts, _ = np.histogram(values, bins=4, range=(-1, 1))
            assert (abs(counts - 1000) < 150).all()
        quaternions = joints["quaternion"].get_positions_from_array(q)
        np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1.0, rtol=1e-14)

    def test_limits_of_roll_pitch_yaw(self) -> None:
        tree = MultibodyTree()
        body = tree.add_body(RigidBody("b", M_BBo_B))
        joint = tree.add_joint(mbt.BallRpyJoint, "ball", tree.world_body, None, body, None)
        joint.set_position_limits([-0.5, -np.inf, -np.inf], [0.25, np.inf, np.inf])
        tree.finalize()
        q = tree.random_positions(0, 500)
        assert (abs(q) <= [0.5, np.pi / 2, np.pi]).all()
        assert q[:, 0].max() <= 0.25

    def test_limits_of_a_free_body_hold_for_its_translation(self) -> None:
        tree = MultibodyTree()
        body = tree.add_body(RigidBody("b", M_BBo_B))
        joint = tree.add_joint(QuaternionFloatingJoint, "free", tree.world_body, None, body, None)
        joint.set_position_limits([-np.inf] * 4 + [5, 6, 7], [np.inf] * 4 + [5.5, 6.5, 7.5])
        tree.finalize()
        q = tree.random_positions(0, 50)
        assert (q[:, 4:] >= [5, 6, 7]).all()
        assert (q[:, 4:] <= [5.5, 6.5, 7.5]).all()
