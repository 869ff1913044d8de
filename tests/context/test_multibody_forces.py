"""MultibodyForces: arithmetic, checks, and the methods of bodies and joints that add to them."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest

import mbt
from mbt.math import make_pose

M_BBo_B = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.2, 0.3)


def make_tree() -> mbt.MultibodyTree:
    """World -hinge> rod; a free ball."""
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", M_BBo_B))
    tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, rod, None, [0, 1, 0], damping=0.5)
    ball = tree.add_body(mbt.RigidBody("ball", M_BBo_B))
    tree.add_joint(
        mbt.QuaternionFloatingJoint,
        "free",
        tree.world_body,
        None,
        ball,
        None,
        angular_damping=2.0,
        translational_damping=3.0,
    )
    tree.finalize()
    return tree


@pytest.fixture
def tree() -> mbt.MultibodyTree:
    return make_tree()


def random_forces(
    tree: mbt.MultibodyTree, seed: int, batch_shape: tuple[int, ...] = ()
) -> mbt.MultibodyForces:
    rng = np.random.default_rng(seed)
    forces = mbt.MultibodyForces(tree, batch_shape)
    forces.body_forces = rng.normal(size=forces.body_forces.shape)
    forces.generalized_forces = rng.normal(size=forces.generalized_forces.shape)
    return forces


def check(
    forces: mbt.MultibodyForces, formula: Callable[..., np.ndarray], *operands: mbt.MultibodyForces
) -> None:
    """The formula holds for both arrays, and the result shares no memory with operands."""
    for name in ("body_forces", "generalized_forces"):
        parts = [getattr(operand, name) for operand in operands]
        np.testing.assert_array_equal(getattr(forces, name), formula(*parts))
        assert not any(np.shares_memory(getattr(forces, name), part) for part in parts)
    forces.check_invariants()


class TestArithmetic:
    @pytest.mark.parametrize("batch_shape", [(), (3,), (2, 4)])
    def test_new_forces(self, tree: mbt.MultibodyTree, batch_shape: tuple[int, ...]) -> None:
        a, b = random_forces(tree, 1, batch_shape), random_forces(tree, 2, batch_shape)
        before = a.clone(), b.clone()
        check(a + b, lambda x, y: x + y, a, b)
        check(a - b, lambda x, y: x - y, a, b)
        check(a * 2.5, lambda x: x * 2.5, a)
        check(2.5 * a, lambda x: x * 2.5, a)
        check(np.float64(2.5) * a, lambda x: x * 2.5, a)
        check(a / 4, lambda x: x / 4, a)
        check(-a, lambda x: -x, a)
        check(+a, lambda x: x, a)
        check(sum([a, b, a]), lambda x, y: x + y + x, a, b)  # type: ignore[arg-type]
        assert (a, b) == before

    def test_in_place(self, tree: mbt.MultibodyTree) -> None:
        a, b = random_forces(tree, 1), random_forces(tree, 2)
        start, same, array = a.clone(), a, a.body_forces
        a += b
        check(a, lambda x, y: x + y, start, b)
        a -= b
        a -= start
        assert abs(a.body_forces).max() < 1e-15
        a += start
        start = a.clone()
        a *= 3
        a /= 2
        check(a, lambda x: x * 3 / 2, start)
        assert a is same
        assert np.shares_memory(a.body_forces, array)
        a += a
        check(a, lambda x: x * 3 / 2 * 2, start)

    def test_one_factor_for_each_sample(self, tree: mbt.MultibodyTree) -> None:
        a = random_forces(tree, 1, (3,))
        factors = np.array([1.0, -2.0, 0.5])
        for scaled in (a * factors, factors * a, a / (1 / factors)):
            for i, factor in enumerate(factors):
                np.testing.assert_allclose(scaled.body_forces[i], factor * a.body_forces[i], rtol=1e-15)
                np.testing.assert_allclose(
                    scaled.generalized_forces[i], factor * a.generalized_forces[i], rtol=1e-15
                )

    def test_equality(self, tree: mbt.MultibodyTree) -> None:
        a = random_forces(tree, 1)
        assert a == a.clone() == copy.copy(a) == copy.deepcopy(a)
        for change in ("body_forces", "generalized_forces"):
            b = a.clone()
            getattr(b, change)[0] += 1.0
            assert a != b
        other = make_tree()
        assert mbt.MultibodyForces(tree) != mbt.MultibodyForces(other)
        assert mbt.MultibodyForces(tree) != mbt.MultibodyForces(tree, 1)
        assert mbt.MultibodyForces(tree) != 0
        with pytest.raises(TypeError, match="unhashable"):
            hash(a)

    def test_linear_in_dynamics(self, tree: mbt.MultibodyTree) -> None:
        """Inverse dynamics is affine in the forces."""
        context = tree.create_default_context()
        context.q = tree.random_positions(0)
        vdot = np.zeros(7)
        a, b = random_forces(tree, 1), random_forces(tree, 2)

        def tau(forces: mbt.MultibodyForces) -> np.ndarray:
            return tree.calc_inverse_dynamics(context, vdot, forces)

        np.testing.assert_allclose(tau(2 * a - b), 2 * tau(a) - tau(b), atol=1e-13)

    def test_refused(self, tree: mbt.MultibodyTree) -> None:
        a = random_forces(tree, 1, (2,))
        before = a.clone()
        foreign, single = mbt.MultibodyForces(make_tree(), 2), mbt.MultibodyForces(tree)
        for operation in ("__add__", "__sub__", "__iadd__", "__isub__", "add_in_forces"):
            with pytest.raises(mbt.ContextMismatchError, match="forces of the same tree"):
                getattr(a, operation)(foreign)
            with pytest.raises(mbt.ShapeError, match=r"expected batch shape \(2,\), got \(\)"):
                getattr(a, operation)(single)
        for operation in ("__mul__", "__rmul__", "__imul__", "__truediv__", "__itruediv__"):
            with pytest.raises(mbt.ShapeError, match=r"a number, or an array of batch shape \(2,\), got"):
                getattr(a, operation)(np.ones(3))
            with pytest.raises(mbt.ArgumentTypeError, match="expected real numbers"):
                getattr(a, operation)("2")
        for call in (lambda: a / 0, lambda: a / [1.0, 0.0]):
            with pytest.raises(mbt.ArgumentValueError, match="divided by zero"):
                call()
        for call in (lambda: a + 1, lambda: 1 + a, lambda: a - None, lambda: a * a, lambda: 1 / a):  # type: ignore[operator]
            with pytest.raises(TypeError, match="unsupported operand"):
                call()
        with pytest.raises(mbt.ArgumentTypeError, match="addend: expected a MultibodyForces, got int"):
            a.add_in_forces(3)  # type: ignore[arg-type]
        assert a == before


class TestSizes:
    def test_numbers(self, tree: mbt.MultibodyTree) -> None:
        forces = mbt.MultibodyForces(tree, (4, 2))
        assert (forces.num_bodies, forces.num_velocities) == (3, 7)
        assert repr(forces) == "<MultibodyForces body_forces (4, 2, 3, 6), generalized_forces (4, 2, 7)>"
        assert forces == forces.clone().set_zero()
        full = random_forces(tree, 1)
        assert full.set_zero() is full
        assert not full.body_forces.any()

    def test_right_size_for_a_model(self, tree: mbt.MultibodyTree) -> None:
        forces = mbt.MultibodyForces(tree)
        assert forces.check_has_right_size_for_model(tree)
        assert forces.check_has_right_size_for_model(make_tree())
        small = mbt.MultibodyTree()
        small.finalize()
        assert not forces.check_has_right_size_for_model(small)
        with pytest.raises(mbt.NotFinalizedError):
            forces.check_has_right_size_for_model(mbt.MultibodyTree())
        with pytest.raises(mbt.ArgumentTypeError, match="tree: expected a MultibodyTree, got int"):
            forces.check_has_right_size_for_model(3)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("name", "array", "message"),
        [
            ("_body_forces", np.zeros((3, 5)), "same leading axes"),
            ("_body_forces", np.zeros((2, 6)), "sizes are those of the tree"),
            ("_body_forces", np.zeros((2, 3, 6)), "same leading axes"),
            ("_body_forces", np.zeros((3, 6), np.float32), "float64"),
            ("_body_forces", np.zeros((3, 6), order="F"), "C-contiguous"),
            ("_generalized_forces", np.zeros(6), "sizes are those of the tree"),
            ("_generalized_forces", np.zeros(8)[1:], "share no memory"),
        ],
    )
    def test_invariants(self, tree: mbt.MultibodyTree, name: str, array: np.ndarray, message: str) -> None:
        forces = random_forces(tree, 0)
        forces.generalized_forces[0] = np.nan
        forces.check_invariants()
        setattr(forces, name, array)
        with pytest.raises(AssertionError, match=message):
            forces.check_invariants()


class TestHelpers:
    def test_force_at_a_point(self, tree: mbt.MultibodyTree) -> None:
        """The power of a force at P equals that of the equivalent force added at Bo."""
        context = tree.create_default_context()
        context.q = tree.random_positions(1)
        context.v = np.random.default_rng(2).normal(size=7)
        rod, ball = tree.get_body_by_name("rod"), tree.get_body_by_name("ball")
        rng = np.random.default_rng(3)
        for body, frame_E in ((rod, ball.body_frame), (ball, ball.body_frame), (ball, tree.world_frame)):
            forces = mbt.MultibodyForces(tree)
            p_BP_E, F_Bp_E = rng.normal(size=3), rng.normal(size=6)
            body.add_in_force(context, p_BP_E, F_Bp_E, frame_E, forces)
            R_WE = frame_E.calc_rotation_matrix_in_world(context)
            V_WB = body.eval_spatial_velocity_in_world(context)
            v_WP = V_WB[3:] + np.cross(V_WB[:3], R_WE @ p_BP_E)
            power = (R_WE @ F_Bp_E[:3]) @ V_WB[:3] + (R_WE @ F_Bp_E[3:]) @ v_WP
            F_Bo_W = body.get_force_in_world(context, forces)
            np.testing.assert_allclose(F_Bo_W @ V_WB, power, rtol=1e-12)
            np.testing.assert_allclose(F_Bo_W[3:], R_WE @ F_Bp_E[3:], rtol=1e-14)
            body.add_in_force_in_world(context, -F_Bo_W, forces)
            assert not forces.body_forces.any()

    def test_adding_adds(self, tree: mbt.MultibodyTree) -> None:
        context = tree.create_default_context()
        ball = tree.get_body_by_name("ball")
        forces = mbt.MultibodyForces(tree)
        for _ in range(2):
            ball.add_in_force_in_world(context, [1, 2, 3, 4, 5, 6], forces)
        assert forces.body_forces[ball.node_index].tolist() == [2, 4, 6, 8, 10, 12]
        assert np.count_nonzero(forces.body_forces) == 6
        got = ball.get_force_in_world(context, forces)
        got[:] = 0.0
        assert forces.body_forces[ball.node_index, 0] == 2.0

    def test_in_a_batch(self, tree: mbt.MultibodyTree) -> None:
        context = tree.create_default_context()
        ball, hinge = tree.get_body_by_name("ball"), tree.get_joint_by_name("hinge")
        forces = mbt.MultibodyForces(tree, 3)
        ball.add_in_force_in_world(context, np.ones(6), forces)
        ball.add_in_force_in_world(context, np.ones((3, 6)), forces)
        hinge.add_in_one_force(context, 0, [1, 2, 3], forces)
        hinge.add_in_one_force(context, 0, 1, forces)
        assert (ball.get_force_in_world(context, forces) == np.full((3, 6), 2.0)).all()
        assert forces.generalized_forces[:, 0].tolist() == [2, 3, 4]
        one = mbt.MultibodyForces(tree)
        with pytest.raises(mbt.ShapeError, match=r"expected batch shape \(3,\), got \(\)"):
            hinge.add_in_one_force(tree.create_default_context(3), 0, [1, 2, 3], one)
        assert not one.generalized_forces.any()

    def test_joints(self, tree: mbt.MultibodyTree) -> None:
        context = tree.create_default_context()
        context.v = np.arange(1.0, 8.0)
        hinge, free = tree.get_joint_by_name("hinge"), tree.get_joint_by_name("free")
        forces = mbt.MultibodyForces(tree)
        free.add_in_one_force(context, 5, 2.5, forces)
        hinge.add_in_one_force(context, 0, -1, forces)
        hinge.add_in_one_force(context, 0, -1, forces)
        assert forces.generalized_forces.tolist() == [-2, 0, 0, 0, 0, 0, 2.5]
        forces.set_zero()
        for joint in tree.joints:
            joint.add_in_damping(context, forces)
        assert forces.generalized_forces.tolist() == [-0.5, -4, -6, -8, -15, -18, -21]
        expected = random_forces(tree, 5)
        tree.calc_force_elements_contribution(context, expected)  # No gravity, only damping.
        assert forces == expected
        hinge.set_damping_vector(context, [10.0])
        forces.set_zero()
        hinge.add_in_damping(context, forces)
        assert forces.generalized_forces[0] == -10.0

    def test_refused(self, tree: mbt.MultibodyTree) -> None:
        context, forces = tree.create_default_context(), random_forces(tree, 1)
        before = forces.clone()
        other = make_tree()
        foreign_context, foreign_forces = other.create_default_context(), mbt.MultibodyForces(other)
        body, joint, E = tree.bodies[1], tree.joints[0], tree.world_frame
        calls: list[Callable[..., object]] = [
            lambda c, f: body.get_force_in_world(c, f),
            lambda c, f: body.add_in_force_in_world(c, np.zeros(6), f),
            lambda c, f: body.add_in_force(c, np.zeros(3), np.zeros(6), E, f),
            lambda c, f: joint.add_in_one_force(c, 0, 1.0, f),
            lambda c, f: joint.add_in_damping(c, f),
        ]
        for call in calls:
            with pytest.raises(mbt.ContextMismatchError, match="context: expected a Context of the tree of"):
                call(foreign_context, forces)
            with pytest.raises(mbt.ContextMismatchError, match="forces: expected forces of the tree of"):
                call(context, foreign_forces)
            with pytest.raises(mbt.ArgumentTypeError, match="expected a MultibodyForces, got Context"):
                call(context, context)
        with pytest.raises(mbt.ShapeError, match=r"body 'rod': F_Bo_W: expected shape \(6,\), got \(3,\)"):
            body.add_in_force_in_world(context, np.zeros(3), forces)
        with pytest.raises(mbt.ShapeError, match="body 'rod': p_BP_E"):
            body.add_in_force(context, [0, 0], np.zeros(6), E, forces)
        with pytest.raises(mbt.ForeignElementError, match="another tree"):
            body.add_in_force(context, np.zeros(3), np.zeros(6), other.world_frame, forces)
        with pytest.raises(mbt.ArgumentTypeError, match="frame_E: expected a Frame"):
            body.add_in_force(context, np.zeros(3), np.zeros(6), None, forces)  # type: ignore[arg-type]
        with pytest.raises(mbt.ElementIndexError, match=r"joint 'hinge': joint_dof: .*0 <= index < 1"):
            joint.add_in_one_force(context, 1, 1.0, forces)
        with pytest.raises(mbt.ShapeError, match="joint_tau"):
            joint.add_in_one_force(context, 0, [1.0, 2.0], forces)
        weld = mbt.MultibodyTree()
        base = weld.add_body(mbt.RigidBody("base", M_BBo_B))
        fix = weld.add_joint(mbt.WeldJoint, "fix", weld.world_body, make_pose([0, 0, 1]), base, None)
        weld.finalize()
        fix.add_in_damping(weld.create_default_context(), mbt.MultibodyForces(weld))
        with pytest.raises(mbt.ElementIndexError, match="as there is no velocity of the joint"):
            fix.add_in_one_force(weld.create_default_context(), 0, 1.0, mbt.MultibodyForces(weld))
        assert forces == before
