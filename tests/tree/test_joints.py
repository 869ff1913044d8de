"""Joints and mobilizers: what they hold, and how they reach their part of a Context."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mbt.context import MultibodyForces
from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ContextMismatchError,
    MbtError,
    ShapeError,
    SingularityError,
)
from mbt.math import SpatialInertia, make_pose
from mbt.tree import (
    BallRpyJoint,
    Mobilizer,
    MultibodyTree,
    PlanarJoint,
    PrismaticJoint,
    PrismaticMobilizer,
    QuaternionFloatingJoint,
    QuaternionFloatingMobilizer,
    RevoluteJoint,
    RevoluteMobilizer,
    RigidBody,
    WeldJoint,
    WeldMobilizer,
)

Z = [0.0, 0.0, 1.0]
M_BBo_B = SpatialInertia.solid_sphere_with_mass(1.0, 0.1)


class Model:
    """World -hinge> a -slider> b -weld> c, and a free body d."""

    def __init__(self) -> None:
        tree = self.tree = MultibodyTree()
        a, b, c, d = (tree.add_body(RigidBody(name, M_BBo_B)) for name in "abcd")
        self.hinge = tree.add_joint(RevoluteJoint, "hinge", tree.world_body, None, a, None, Z, damping=0.5)
        self.slider = tree.add_joint(PrismaticJoint, "slider", a, None, b, None, Z, damping=0.25)
        self.weld = tree.add_joint(WeldJoint, "weld", b, None, c, None)
        self.free = tree.add_joint(QuaternionFloatingJoint, "free", tree.world_body, None, d, None, 1.0, 2.0)
        tree.finalize()
        self.context = tree.create_default_context()


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.mark.parametrize(
    ("joint", "nq", "nv", "suffixes"),
    [
        ("hinge", 1, 1, ("q", "w")),
        ("slider", 1, 1, ("x", "v")),
        ("weld", 0, 0, ("", "")),
        ("free", 7, 6, ("qw qx qy qz x y z", "wx wy wz vx vy vz")),
    ],
)
def test_sizes(model: Model, joint: str, nq: int, nv: int, suffixes: tuple[str, str]) -> None:
    for element in (getattr(model, joint), getattr(model, joint).mobilizer):
        assert (element.num_positions, element.num_velocities) == (nq, nv)
        assert (" ".join(element.position_suffixes), " ".join(element.velocity_suffixes)) == suffixes


def test_types(model: Model) -> None:
    types: list[tuple[Any, str, type[Mobilizer]]] = [
        (model.hinge, "revolute", RevoluteMobilizer),
        (model.slider, "prismatic", PrismaticMobilizer),
        (model.weld, "weld", WeldMobilizer),
        (model.free, "quaternion_floating", QuaternionFloatingMobilizer),
    ]
    for joint, name, mobilizer_type in types:
        assert joint.type_name == name
        assert type(joint.mobilizer) is mobilizer_type


class TestAxis:
    def test_joints_normalize_any_axis(self, tree: MultibodyTree, link: RigidBody) -> None:
        F, M = tree.world_frame, link.body_frame
        assert np.allclose(RevoluteJoint("j", F, M, [3, 0, 4]).revolute_axis, [0.6, 0, 0.8], rtol=1e-15)
        assert PrismaticJoint("j", F, M, [0, 1e-300, 0]).translation_axis.tolist() == [0, 1, 0]
        with pytest.raises(ValueError, match="read-only"):
            RevoluteJoint("j", F, M, Z).revolute_axis[0] = 1

    @pytest.mark.parametrize("mobilizer_type", [RevoluteMobilizer, PrismaticMobilizer])
    def test_mobilizers_want_a_unit_axis(
        self, tree: MultibodyTree, link: RigidBody, mobilizer_type: Any
    ) -> None:
        F, M = tree.world_frame, link.body_frame
        mobilizer = mobilizer_type(F, M, [0, 0, 1 + 9e-7])
        assert mobilizer._constants().tolist() == [0, 0, 1]
        for axis in ([0, 0, 1 + 2e-6], [0, 0, 0], [0, 0, 2]):
            with pytest.raises(ArgumentValueError, match=r"Mobilizer: axis_F: expected a unit vector"):
                mobilizer_type(F, M, axis)

    def test_axis_of_a_mobilizer(self, tree: MultibodyTree, link: RigidBody) -> None:
        mobilizer = RevoluteMobilizer(tree.world_frame, link.body_frame, Z)
        assert mobilizer.revolute_axis.tolist() == Z
        mobilizer.revolute_axis[0] = 7
        assert mobilizer.revolute_axis.tolist() == Z

    def test_weld_pose(self, tree: MultibodyTree, link: RigidBody) -> None:
        X_FM = make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3])
        for weld in (
            WeldJoint("j", tree.world_frame, link.body_frame, X_FM),
            WeldMobilizer(tree.world_frame, link.body_frame, X_FM),
        ):
            assert weld.X_FM.tolist() == X_FM.tolist()
        assert WeldJoint("j", tree.world_frame, link.body_frame).X_FM.tolist() == np.eye(4).tolist()


class TestState:
    def test_one_coordinate(self, model: Model) -> None:
        c = model.context
        assert model.hinge.set_angle(c, 0.5).set_angular_rate(c, 1.5) is model.hinge
        model.slider.set_translation(c, 2).set_translation_rate(c, np.float32(3))
        assert (model.hinge.get_angle(c), model.hinge.get_angular_rate(c)) == (0.5, 1.5)
        assert (model.slider.get_translation(c), model.slider.get_translation_rate(c)) == (2, 3)
        assert type(model.hinge.get_angle(c)) is float
        assert c.q.tolist() == [0.5, 2, 1, 0, 0, 0, 0, 0, 0]
        assert c.v.tolist() == [1.5, 3, 0, 0, 0, 0, 0, 0]

    def test_mobilizers_reach_the_same_coordinates(self, model: Model) -> None:
        c = model.context
        mobilizer = model.hinge.mobilizer
        assert isinstance(mobilizer, RevoluteMobilizer)
        mobilizer.set_angle(c, 0.5).set_angular_rate(c, 1.5)
        assert (model.hinge.get_angle(c), model.hinge.get_angular_rate(c)) == (0.5, 1.5)
        mobilizer.set_zero_configuration(c)
        assert (model.hinge.get_angle(c), model.hinge.get_angular_rate(c)) == (0, 0)
        model.free.set_positions(c, np.arange(1, 8))
        model.free.mobilizer.set_zero_configuration(c)
        assert model.free.get_positions(c).tolist() == [1, 0, 0, 0, 0, 0, 0]

    def test_all_coordinates(self, model: Model) -> None:
        c = model.context
        model.free.set_positions(c, [1, 2, 3, 4, 5, 6, 7]).set_velocities(c, [1, 2, 3, 4, 5, 6])
        assert model.free.get_positions(c).tolist() == [1, 2, 3, 4, 5, 6, 7]
        assert model.free.get_velocities(c).tolist() == [1, 2, 3, 4, 5, 6]
        assert model.weld.set_positions(c, []).get_positions(c).tolist() == []
        assert not model.free.get_positions(c).flags.writeable

    def test_floating_coordinates(self, model: Model) -> None:
        c = model.context
        for element in (model.free, model.free.mobilizer):
            assert isinstance(element, (QuaternionFloatingJoint, QuaternionFloatingMobilizer))
            element.set_quaternion(c, [2, 0, 0, 0]).set_translation(c, [1, 2, 3])
            element.set_angular_velocity(c, [4, 5, 6]).set_translational_velocity(c, [7, 8, 9])
            assert element.get_quaternion(c).tolist() == [2, 0, 0, 0]  # As set.
            assert element.get_translation(c).tolist() == [1, 2, 3]
            assert element.get_angular_velocity(c).tolist() == [4, 5, 6]
            assert element.get_translational_velocity(c).tolist() == [7, 8, 9]
            assert c.q.tolist() == [0, 0, 2, 0, 0, 0, 1, 2, 3]
            assert c.v.tolist() == [0, 0, 4, 5, 6, 7, 8, 9]

    def test_floating_pose(self, model: Model) -> None:
        X_FM = make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3])
        model.free.set_pose(model.context, X_FM)
        assert np.allclose(model.free.get_pose(model.context), X_FM, atol=1e-15)
        assert model.free.get_translation(model.context).tolist() == [1, 2, 3]

    def test_nan_is_a_state(self, model: Model) -> None:
        model.hinge.set_angle(model.context, np.nan)
        assert np.isnan(model.context.q[0])

    @pytest.mark.parametrize(
        ("call", "error", "message"),
        [
            (
                lambda m: m.hinge.set_angle(m.context, "1"),
                ArgumentTypeError,
                "joint 'hinge': angle: expected real",
            ),
            (
                lambda m: m.hinge.set_angle(m.context, 1j),
                ArgumentTypeError,
                "joint 'hinge': angle: expected real",
            ),
            (lambda m: m.hinge.set_angle(m.context, [1, 2]), ShapeError, "joint 'hinge': angle"),
            (
                lambda m: m.free.set_positions(m.context, [1]),
                ShapeError,
                "joint 'free': q: expected shape (7,)",
            ),
            (
                lambda m: m.free.set_velocities(m.context, 1.0),
                ShapeError,
                "joint 'free': v: expected shape (6,)",
            ),
            (
                lambda m: m.free.set_quaternion(m.context, [1]),
                ShapeError,
                "joint 'free': q_FM: expected shape",
            ),
            (
                lambda m: m.free.set_pose(m.context, np.zeros((4, 4))),
                ArgumentValueError,
                "joint 'free': X_FM",
            ),
            (
                lambda m: m.free.set_positions(m.context, np.ones((1, 7))),
                ShapeError,
                "joint 'free': q: expected shape (7,), got (1, 7)",
            ),
            (lambda m: m.hinge.set_angle(m.context, [1.0]), ShapeError, "joint 'hinge': angle"),
            (lambda m: m.hinge.set_angle(None, 1), ArgumentTypeError, "context: expected a Context"),
            (
                lambda m: m.hinge.get_angle(MultibodyForces(m.tree)),
                ArgumentTypeError,
                "context: expected a Context made by tree.create_default_context(), got MultibodyForces",
            ),
            (lambda m: m.hinge.get_angle(Model().context), ContextMismatchError, "the tree of joint 'hinge'"),
            (
                lambda m: m.hinge.mobilizer.get_angle(Model().context),
                ContextMismatchError,
                "mobilizer 'hinge'",
            ),
            (
                lambda m: m.hinge.set_damping_vector(m.context, [-1]),
                ArgumentValueError,
                "joint 'hinge': damping",
            ),
            (
                lambda m: m.hinge.set_damping_vector(Model().context, [1]),
                ContextMismatchError,
                "joint 'hinge'",
            ),
        ],
    )
    def test_errors(self, model: Model, call: Any, error: type[MbtError], message: str) -> None:
        q, v = model.context.q.copy(), model.context.v.copy()
        with pytest.raises(error) as raised:
            call(model)
        assert message in str(raised.value)
        assert np.array_equal(model.context.q, q)
        assert np.array_equal(model.context.v, v)


class TestPartsOfArrays:
    def test_views(self, model: Model) -> None:
        q, v = np.arange(9.0), np.arange(8.0)
        for element in (model.free, model.free.mobilizer):
            assert element.get_positions_from_array(q).tolist() == [2, 3, 4, 5, 6, 7, 8]
            for get in (
                element.get_velocities_from_array,
                element.get_accelerations_from_array,
                element.get_generalized_forces_from_array,
            ):
                assert get(v).tolist() == [2, 3, 4, 5, 6, 7]
                assert np.shares_memory(get(v), v)

    def test_mutable_views(self, model: Model) -> None:
        q, v = np.arange(9.0), np.arange(8.0)
        slider = model.slider.mobilizer
        slider.get_mutable_positions_from_array(q)[:] = -1
        for get in (
            slider.get_mutable_velocities_from_array,
            slider.get_mutable_accelerations_from_array,
            slider.get_mutable_generalized_forces_from_array,
        ):
            get(v)[:] -= 2
        assert q[:3].tolist() == [0, -1, 2]
        assert v[:3].tolist() == [0, -5, 2]

    def test_batch(self, model: Model) -> None:
        q = np.arange(18.0).reshape(2, 9)
        assert model.slider.get_positions_from_array(q).tolist() == [[1], [10]]

    def test_errors(self, model: Model) -> None:
        with pytest.raises(ShapeError, match=r"tau_array: expected shape \(\.\.\., 8\), got \(9,\)"):
            model.slider.get_generalized_forces_from_array(np.zeros(9))
        read_only = np.zeros(9)
        read_only.flags.writeable = False
        for array in (read_only, np.zeros(9, np.float32), [0.0] * 9):
            with pytest.raises(ArgumentTypeError, match="q_array: expected a float64"):
                model.slider.get_mutable_positions_from_array(array)  # type: ignore[arg-type]


class TestDamping:
    def test_defaults(self, model: Model) -> None:
        assert model.hinge.default_damping == 0.5
        assert model.free.default_damping_vector.tolist() == [1, 1, 1, 2, 2, 2]
        assert (model.free.default_angular_damping, model.free.default_translational_damping) == (1, 2)
        assert model.weld.default_damping_vector.shape == (0,)

    def test_of_a_context(self, model: Model) -> None:
        c = model.context
        assert model.free.get_damping_vector(c).tolist() == [1, 1, 1, 2, 2, 2]
        model.free.set_damping_vector(c, [1, 2, 3, 4, 5, 6])
        model.hinge.set_damping_vector(c, [7])
        assert model.free.get_damping_vector(c).tolist() == [1, 2, 3, 4, 5, 6]
        assert model.hinge.get_damping_vector(c).tolist() == [7]
        assert model.slider.get_damping_vector(c).tolist() == [0.25]
        assert model.weld.get_damping_vector(c).shape == (0,)
        assert model.hinge.default_damping == 0.5

    def test_set_before_finalize(self, tree: MultibodyTree, link: RigidBody) -> None:
        hinge = tree.add_joint(RevoluteJoint, "hinge", tree.world_body, None, link, None, Z)
        assert hinge.set_default_damping(3.0).default_damping == 3.0


@pytest.mark.parametrize(
    ("joint_type", "arguments", "what"),
    [
        *((kind, (Z, 0.0, 1.0, True), "damping") for kind in (RevoluteJoint, PrismaticJoint)),
        *((kind, (Z, False, 1.0), "lower position limits") for kind in (RevoluteJoint, PrismaticJoint)),
        *((kind, (Z, 0.0, True), "upper position limits") for kind in (RevoluteJoint, PrismaticJoint)),
        (BallRpyJoint, (True,), "damping"),
        (QuaternionFloatingJoint, (0.0, True), "damping"),
        (PlanarJoint, ((0.0, 0.0, np.True_),), "damping"),
    ],
)
def test_booleans_are_no_numbers(
    tree: MultibodyTree, link: RigidBody, joint_type: Any, arguments: tuple[Any, ...], what: str
) -> None:
    with pytest.raises(ArgumentTypeError, match=f"joint 'j': {what}: expected a number, got (True|False)"):
        joint_type("j", tree.world_frame, link.body_frame, *arguments)
    with pytest.raises(ArgumentTypeError, match="joint 'j': damping: expected a number, got True"):
        RevoluteJoint("j", tree.world_frame, link.body_frame, Z).set_default_damping(True)


def test_default_pose(tree: MultibodyTree, link: RigidBody) -> None:
    free = tree.add_joint(QuaternionFloatingJoint, "free", tree.world_body, None, link, None)
    X_FM = make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3])
    assert np.allclose(free.set_default_pose(X_FM).default_pose, X_FM, atol=1e-15)


@pytest.mark.parametrize("w", [0.0, 1e-200, 0.9e-140, 1.1e140, 1e200])
def test_default_quaternions_are_refused_where_a_context_refuses_them(
    tree: MultibodyTree, link: RigidBody, w: float
) -> None:
    free = tree.add_joint(QuaternionFloatingJoint, "free", tree.world_body, None, link, None)
    with pytest.raises(
        ArgumentValueError, match="joint 'free': default positions: expected a quaternion that is not"
    ):
        free.set_default_positions([0, 0, w, 0, 0, 0, 0])
    tree.finalize()
    context = tree.create_default_context()
    with pytest.raises(SingularityError, match="joint 'free'"):
        context.q = [0, 0, w, 0, 0, 0, 0]


@pytest.mark.parametrize("w", [1.1e-140, 0.9e140])
def test_default_quaternions_of_any_other_length(tree: MultibodyTree, link: RigidBody, w: float) -> None:
    free = tree.add_joint(QuaternionFloatingJoint, "free", tree.world_body, None, link, None)
    free.set_default_positions([0, 0, w, 0, 0, 0, 0])
    tree.finalize()
    X_FM = free.get_pose(tree.create_default_context())
    assert np.allclose(X_FM, np.diag([-1, 1, -1, 1]), atol=1e-15)
