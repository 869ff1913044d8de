"""Mass, momentum and inertia of all bodies, of model instances and of sets, against sums over bodies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import mbt
from support.case import MOVING, get_case
from support.quantities import QUANTITIES, assert_close
from support.random_trees import CATALOGUE, random_pose


def cross_matrix(p: np.ndarray) -> np.ndarray:
    return np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])


def shifted(M: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The 6x6 spatial inertia about Q moved to O, with p = p_OQ: V_Q = [1, 0; -[p]x, 1] V_O."""
    S = np.eye(6)
    S[3:, :3] = -cross_matrix(p)
    return S.T @ M @ S


def turned(M: np.ndarray, R: np.ndarray) -> np.ndarray:
    """The same inertia in other axes."""
    RR = np.kron(np.eye(2), R)
    return RR @ M @ RR.T


@pytest.mark.parametrize("model", CATALOGUE)
def test_spatial_inertia_of_sets(model: str) -> None:
    """Parallel axes, as products of 6x6 matrices: of every third body, of all, in any frame."""
    case, state = get_case(model), get_case(model).state()
    tree, c = case.tree, case.context(state)
    pc = tree.eval_position_kinematics(c)
    scale = QUANTITIES["mass_matrix"].scale(case.reference, state) + 1.0
    for F, step in itertools.product(tree.frames[:: max(1, len(tree.frames) // 4)], (1, 3)):
        bodies = tree.bodies[::step]
        X_WF = F.calc_pose_in_world(c)
        desired = np.zeros((6, 6))
        for body in bodies[1:] if bodies[0] is tree.world_body else bodies:
            p_FoBo_W = pc.X_WB[body.node_index][:3, 3] - X_WF[:3, 3]
            desired += shifted(pc.M_Bo_W[body.node_index], p_FoBo_W)
        M = tree.calc_spatial_inertia(c, F, [body.index for body in bodies])
        assert_close(M.as_matrix6(), turned(desired, X_WF[:3, :3].T), 4 * scale)
        again = tree.calc_spatial_inertia(c, F, bodies)
        np.testing.assert_array_equal(again.as_matrix6(), M.as_matrix6())


@pytest.mark.parametrize("model", MOVING)
def test_centroidal_momentum(model: str) -> None:
    """A_G v is the sum of the bodies' momenta about the centre of mass."""
    case, state = get_case(model), get_case(model).state()
    tree, c = case.tree, case.context(state)
    com = case.reference.center_of_mass(state.q)
    A_G = tree.calc_centroidal_momentum_matrix(c)
    mass, length = case.reference.total_mass(), case.reference.length_scale(state.q)
    scale = mass * length**2 * float(np.abs(state.v).sum())
    assert_close(A_G @ state.v, case.reference.momentum(state.q, state.v, com), 4 * scale)
    assert_close(A_G @ state.v, tree.calc_spatial_momentum_in_world_about_point(c, com), 4 * scale)
    W = tree.world_frame
    J = tree.calc_jacobian_center_of_mass_translational_velocity(c, "v", W, W)
    assert_close(A_G[3:], mass * J, mass * length)


class TwoArms:
    """Two instances, the second attached in part to the first; a third without a body."""

    def __init__(self) -> None:
        rng = np.random.default_rng(5)
        tree = self.tree = mbt.MultibodyTree()
        self.left, self.right, self.empty = (tree.add_model_instance(n) for n in ("left", "right", "empty"))
        inboard = tree.world_body
        for k in range(6):
            mass, size = rng.uniform(0.5, 2.0), rng.uniform(0.1, 0.6, 3)
            M = mbt.SpatialInertia.solid_box_with_mass(mass, *size).shift(rng.uniform(-0.2, 0.2, 3))
            body = tree.add_body(mbt.RigidBody(f"link{k}", M, (self.left, self.right)[k % 2]))
            ends = f"j{k}", inboard, random_pose(rng), body, random_pose(rng)
            tree.add_joint(mbt.RevoluteJoint, *ends, axis=rng.normal(size=3))
            inboard = body if k != 3 else tree.world_body
        tree.add_force_element(mbt.UniformGravityFieldElement())
        tree.finalize()
        self.c = tree.create_default_context()
        self.c.q = rng.uniform(-1.0, 1.0, tree.num_positions)
        self.c.v = rng.uniform(-1.0, 1.0, tree.num_velocities)

    def sums(self, instances: set[int]) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Mass, centre of mass, its acceleration, momentum about World's origin."""
        tree, c = self.tree, self.c
        pc, vc, ac = (
            tree.eval_position_kinematics(c),
            tree.eval_velocity_kinematics(c),
            tree.eval_acceleration_kinematics(c),
        )
        mass, moment, force, L = 0.0, np.zeros(3), np.zeros(3), np.zeros(6)
        for body in tree.bodies[1:]:
            if body.model_instance not in instances:
                continue
            i, m = body.node_index, body.default_mass
            p, com = pc.X_WB[i, :3, 3], pc.com_W[i]
            w, alpha, a = vc.V_WB[i, :3], ac.A_WB[i, :3], ac.A_WB[i, 3:]
            mass += m
            moment += m * (p + com)
            force += m * (a + np.cross(alpha, com) + np.cross(w, np.cross(w, com)))
            L_Bo = pc.M_Bo_W[i] @ vc.V_WB[i]
            L += [*(L_Bo[:3] + np.cross(p, L_Bo[3:])), *L_Bo[3:]]
        return mass, moment / mass, force / mass, L


@pytest.fixture(scope="module")
def arms() -> TwoArms:
    return TwoArms()


@pytest.mark.parametrize("which", ["left", "right", "both", "all"])
def test_model_instances(arms: TwoArms, which: str) -> None:
    tree, c, W = arms.tree, arms.c, arms.tree.world_frame
    instances = {
        "left": arms.left,
        "right": [arms.right],
        "both": np.array([arms.left, arms.right, arms.left, arms.empty]),
        "all": None,
    }[which]
    chosen = {"left": {arms.left}, "right": {arms.right}}.get(which, {arms.left, arms.right})
    mass, com, acceleration, L = arms.sums(chosen)
    close = {"rtol": 1e-13, "atol": 1e-13}
    np.testing.assert_allclose(tree.calc_total_mass(c, instances), mass, **close)
    np.testing.assert_allclose(tree.calc_center_of_mass_position_in_world(c, instances), com, **close)
    velocity = tree.calc_center_of_mass_translational_velocity_in_world(c, instances)
    np.testing.assert_allclose(velocity, L[3:] / mass, **close)
    a = tree.calc_center_of_mass_translational_acceleration_in_world(c, model_instances=instances)
    np.testing.assert_allclose(a, acceleration, rtol=1e-12, atol=1e-12)
    point = np.array([0.3, -0.2, 0.7])
    momentum = tree.calc_spatial_momentum_in_world_about_point(c, point, instances)
    np.testing.assert_allclose(momentum, [*(L[:3] - np.cross(point, L[3:])), *L[3:]], **close)
    J = tree.calc_jacobian_center_of_mass_translational_velocity(c, "v", W, W, instances)
    np.testing.assert_allclose(J @ c.v, velocity, **close)
    bias = tree.calc_bias_center_of_mass_translational_acceleration(c, "v", W, W, instances)
    vdot = tree.eval_acceleration_kinematics(c).vdot
    np.testing.assert_allclose(J @ vdot + bias, a, rtol=1e-12, atol=1e-12)


def test_no_mass(arms: TwoArms) -> None:
    """The mass and momentum of no bodies are zero; their centre of mass is an error that names the set."""
    tree, c, W = arms.tree, arms.c, arms.tree.world_frame
    for nothing in (arms.empty, [], [arms.empty, mbt.world_model_instance()]):
        assert tree.calc_total_mass(c, nothing) == 0.0
        assert not tree.calc_spatial_momentum_in_world_about_point(c, np.zeros(3), nothing).any()
        out = np.full((3, tree.num_velocities), 7.0)
        for call in (
            lambda n=nothing: tree.calc_center_of_mass_position_in_world(c, n),
            lambda n=nothing: tree.calc_center_of_mass_translational_velocity_in_world(c, n),
            lambda n=nothing: tree.calc_center_of_mass_translational_acceleration_in_world(c, n),
            lambda n=nothing, o=out: tree.calc_jacobian_center_of_mass_translational_velocity(
                c, "v", W, W, n, out=o
            ),
            lambda n=nothing: tree.calc_bias_center_of_mass_translational_acceleration(c, "v", W, W, n),
        ):
            with pytest.raises(mbt.SingularityError, match="centre of mass"):
                call()
        assert (out == 7.0).all()
    with pytest.raises(mbt.SingularityError, match="'empty'"):
        tree.calc_center_of_mass_position_in_world(c, arms.empty)
    assert tree.calc_spatial_inertia(c, W, []).mass == 0.0
    assert tree.calc_spatial_inertia(c, W, [0]).mass == 0.0
    lonely = mbt.MultibodyTree()
    lonely.finalize()
    with pytest.raises(mbt.SingularityError, match="World"):
        lonely.calc_centroidal_momentum_matrix(lonely.create_default_context())


@pytest.mark.parametrize("bad", [99, -1, [0, 99], "middle", [None], 1.5, ["middle"]])
def test_unknown_model_instances(arms: TwoArms, bad: object) -> None:
    with pytest.raises(mbt.MbtError, match="model_instances"):
        arms.tree.calc_total_mass(arms.c, bad)  # type: ignore[arg-type]


def test_bodies_of_a_set(arms: TwoArms) -> None:
    tree, c, W = arms.tree, arms.c, arms.tree.world_frame
    with pytest.raises(
        mbt.ArgumentValueError, match=r"body_indexes: body 'link1' \(index 2\) is named twice"
    ):
        tree.calc_spatial_inertia(c, W, [2, 3, tree.bodies[2]])
    for bad in ([99], [-1], "12", [None], [1.5]):
        with pytest.raises(mbt.MbtError, match="body_indexes"):
            tree.calc_spatial_inertia(c, W, bad)  # type: ignore[arg-type]
    with pytest.raises(mbt.ForeignElementError, match="body_indexes"):
        tree.calc_spatial_inertia(c, W, [TwoArms().tree.bodies[1]])
    with pytest.raises(mbt.ForeignElementError, match="frame_F"):
        tree.calc_spatial_inertia(c, TwoArms().tree.world_frame, [1])


def test_parameters(arms: TwoArms) -> None:
    """Masses are those of the Context."""
    c = arms.c.clone()
    before = arms.tree.calc_total_mass(c, arms.left)
    body = arms.tree.get_body_by_name("link0")
    body.set_mass(c, body.default_mass + 3.0)
    assert arms.tree.calc_total_mass(c, arms.left) == pytest.approx(before + 3.0)
    assert arms.tree.calc_spatial_inertia(c, body.body_frame, [body.index]).mass == body.default_mass + 3.0
