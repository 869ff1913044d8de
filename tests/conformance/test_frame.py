"""The reference of Frame: each member is called, and its meaning checked."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import numpy as np
import pytest

import mbt
from mbt.math import inverse_pose, make_pose

BALL = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
X_LP = make_pose([0.3, -0.2, 0.1], rpy=[0.1, 0.2, 0.3])
X_PF = make_pose([-0.4, 0.5, 0.6], rpy=[-0.1, 0.7, 0.2])
X_FQ = make_pose([0.7, 0.8, -0.9], rpy=[0.2, 0.3, -0.4])
# The Context's value of X_PF.
X_PF_CONTEXT = make_pose([0.2, 0.1, -0.3], rpy=[0.4, -0.3, 0.1])


@pytest.fixture
def arm() -> SimpleNamespace:
    """Two links on oblique hinges; the frame F on a frame P on the second, M on the first, E on World."""
    tree = mbt.MultibodyTree()
    instance = tree.add_model_instance("arm")
    links = [tree.add_body(mbt.RigidBody(name, BALL, instance)) for name in ("upper", "lower")]
    tree.add_joint(mbt.RevoluteJoint, "shoulder", tree.world_body, X_LP, links[0], None, axis=[1, 2, 3])
    tree.add_joint(mbt.RevoluteJoint, "elbow", links[0], X_FQ, links[1], X_PF, axis=[3, -1, 1])
    frame_P = tree.add_frame(mbt.FixedOffsetFrame("P", links[1], X_LP))
    frame_F = tree.add_frame(mbt.FixedOffsetFrame("F", frame_P, X_PF))
    frame_M = tree.add_frame(mbt.FixedOffsetFrame("M", links[0], X_PF))
    frame_E = tree.add_frame(mbt.FixedOffsetFrame("E", tree.world_body, X_FQ))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    context = tree.create_default_context()
    context.q, context.v = [0.4, -0.7], [1.1, 0.3]
    frame_F.set_pose_in_parent_frame(context, X_PF_CONTEXT)
    return SimpleNamespace(
        tree=tree, links=links, P=frame_P, F=frame_F, M=frame_M, E=frame_E, context=context, instance=instance
    )


def test_identity(arm: SimpleNamespace) -> None:
    frame = mbt.FixedOffsetFrame("loose", arm.links[1], X_PF)
    assert frame.name == "loose"
    with pytest.raises(mbt.ForeignElementError):
        _ = frame.scoped_name
    assert [frame.index for frame in arm.tree.frames] == list(range(arm.tree.num_frames))
    assert arm.tree.get_frame(arm.F.index) is arm.F
    assert arm.F.body is arm.F.link is arm.links[1]
    assert arm.F.name == "F"
    assert mbt.FixedOffsetFrame(arm.links[1], X_PF).name
    assert arm.F.scoped_name == "arm::F"
    assert arm.links[1].body_frame.name == "lower"
    flags = [(f.is_world_frame, f.is_body_frame, f.is_link_frame) for f in arm.tree.frames]
    assert flags[0] == (True, True, True)
    assert flags[1] == flags[2] == (False, True, True)
    assert set(flags[3:]) == {(False, False, False)}


def test_pose_in_body(arm: SimpleNamespace) -> None:
    X_LF = X_LP @ X_PF_CONTEXT
    F, context = arm.F, arm.context
    np.testing.assert_allclose(F.calc_pose_in_body_frame(context), X_LF, atol=1e-15)
    np.testing.assert_allclose(F.eval_pose_in_body_frame(context), X_LF, atol=1e-15)
    np.testing.assert_allclose(F.calc_rotation_matrix_in_body_frame(context), X_LF[:3, :3], atol=1e-15)
    np.testing.assert_allclose(F.calc_offset_pose_in_body(context, X_FQ), X_LF @ X_FQ, atol=1e-15)
    R_LQ = F.calc_offset_rotation_matrix_in_body(context, X_FQ[:3, :3])
    np.testing.assert_allclose(R_LQ, (X_LF @ X_FQ)[:3, :3], atol=1e-15)
    with pytest.raises(mbt.ArgumentValueError, match="read-only"):
        F.eval_pose_in_body_frame(context)[0, 3] = 1.0
    body_frame = arm.links[1].body_frame
    np.testing.assert_array_equal(body_frame.calc_offset_pose_in_body(context, X_FQ), X_FQ)
    np.testing.assert_array_equal(body_frame.eval_pose_in_body_frame(context), np.eye(4))
    np.testing.assert_array_equal(body_frame.calc_pose_in_body_frame(context), np.eye(4))
    np.testing.assert_array_equal(body_frame.calc_rotation_matrix_in_body_frame(context), np.eye(3))
    # It depends on parameters only: same for another state, different for another parameter.
    before = F.eval_pose_in_body_frame(context)
    context.q, context.v, context.time = 2 * context.q, 3 * context.v, 4.0
    np.testing.assert_array_equal(F.eval_pose_in_body_frame(context), before)
    F.set_pose_in_parent_frame(context, X_PF)
    np.testing.assert_allclose(F.eval_pose_in_body_frame(context), X_LP @ X_PF, atol=1e-15)


def test_fixed_pose_in_body(arm: SimpleNamespace) -> None:
    # The default pose, whatever the Context holds.
    X_LF = X_LP @ X_PF
    np.testing.assert_allclose(arm.F.get_fixed_pose_in_body_frame(), X_LF, atol=1e-15)
    np.testing.assert_allclose(arm.F.get_fixed_rotation_matrix_in_body_frame(), X_LF[:3, :3], atol=1e-15)
    np.testing.assert_allclose(arm.F.get_fixed_offset_pose_in_body(X_FQ), X_LF @ X_FQ, atol=1e-15)
    R_FQ = mbt.math.make_pose(rpy=[0.2, 0.3, -0.4])[:3, :3]
    R_LQ = arm.F.get_fixed_rotation_matrix_in_body(R_FQ)
    np.testing.assert_allclose(R_LQ, X_LF[:3, :3] @ R_FQ, atol=1e-15)


def test_fixed_pose_in_body_is_of_the_scalar(arm: SimpleNamespace) -> None:
    """In a tree of another scalar they take and return its numbers: RigidTransform<T>."""
    X_LF, R_FQ = X_LP @ X_PF, mbt.math.make_pose(rpy=[0.2, 0.3, -0.4])[:3, :3]
    twin = arm.tree.to_autodiff()
    F = twin.get_variant(arm.F)
    for X, wanted in (
        (F.get_fixed_pose_in_body_frame(), X_LF),
        (F.get_fixed_rotation_matrix_in_body_frame(), X_LF[:3, :3]),
        (F.get_fixed_offset_pose_in_body(X_FQ), X_LF @ X_FQ),
        (F.get_fixed_rotation_matrix_in_body(R_FQ), X_LF[:3, :3] @ R_FQ),
        (F.get_fixed_pose_in_parent_frame(), X_PF),
    ):
        assert isinstance(X, mbt.autodiff.AutoDiffArray)
        np.testing.assert_allclose(X.value, wanted, atol=1e-15)
        assert not X.derivatives.any()
    # Derivatives pass through: that of X_LF X_FQ along dX is X_LF dX.
    dX = np.zeros((4, 4, 1))
    dX[:3, 3, 0] = [1.0, 2.0, 3.0]
    X_LQ = F.get_fixed_offset_pose_in_body(mbt.autodiff.AutoDiffArray(X_FQ, dX))
    np.testing.assert_allclose(X_LQ.derivatives[..., 0], X_LF @ dX[..., 0], atol=1e-15)
    dR = (R_FQ @ np.array([[0, -1, 0], [1, 0, 0], [0, 0, 0]]))[..., np.newaxis]
    R_LQ = F.get_fixed_rotation_matrix_in_body(mbt.autodiff.AutoDiffArray(R_FQ, dR))
    np.testing.assert_allclose(R_LQ.derivatives[..., 0], X_LF[:3, :3] @ dR[..., 0], atol=1e-15)

    sympy = pytest.importorskip("sympy")
    F = arm.tree.to_symbolic().get_variant(arm.F)
    assert F.get_fixed_pose_in_body_frame().dtype == object
    x, X = sympy.Symbol("x"), np.eye(4).tolist()
    X[0][3] = x
    p_LoQo = F.get_fixed_offset_pose_in_body(X)[:3, 3]
    slopes = [float(sympy.diff(entry, x)) for entry in p_LoQo]
    np.testing.assert_allclose(slopes, X_LF[:3, 0], atol=1e-15)
    assert F.get_fixed_rotation_matrix_in_body(R_FQ).dtype == object


def poses(arm: SimpleNamespace, q: np.ndarray | None = None) -> dict[str, np.ndarray]:
    """Return poses in World: bodies from the tree, offsets computed here."""
    context = arm.context.clone()
    if q is not None:
        context.q = q
    X_WL = arm.tree.eval_position_kinematics(context).X_WB
    return {"F": X_WL[2] @ X_LP @ X_PF_CONTEXT, "M": X_WL[1] @ X_PF, "E": X_FQ}


def test_pose_in_other_frames(arm: SimpleNamespace) -> None:
    X = poses(arm)
    np.testing.assert_allclose(arm.F.calc_pose_in_world(arm.context), X["F"], atol=1e-15)
    np.testing.assert_allclose(arm.F.calc_rotation_matrix_in_world(arm.context), X["F"][:3, :3], atol=1e-15)
    X_MF = inverse_pose(X["M"]) @ X["F"]
    np.testing.assert_allclose(arm.F.calc_pose(arm.context, arm.M), X_MF, atol=1e-15)
    np.testing.assert_allclose(arm.F.calc_rotation_matrix(arm.context, arm.M), X_MF[:3, :3], atol=1e-15)


def measured_in(
    arm: SimpleNamespace, q: np.ndarray, v: np.ndarray, vdot: np.ndarray, name: str, measured: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return a frame's velocity and acceleration, measured and expressed in another frame, by differences.

    Rotations and positions come from poses alone.
    """
    h = 1e-4

    def pose(t: float) -> np.ndarray:
        X = poses(arm, q + v * t + 0.5 * vdot * t**2)
        return X[name] if measured is None else inverse_pose(X[measured]) @ X[name]

    back, now, ahead = pose(-h), pose(0.0), pose(h)
    first, second = (ahead - back) / (2 * h), (ahead - 2 * now + back) / h**2
    R = now[:3, :3]
    W = first[:3, :3] @ R.T
    # d/dt (Rdot R') = Rddot R' + Rdot Rdot'
    W_rate = second[:3, :3] @ R.T + first[:3, :3] @ first[:3, :3].T
    vee = ([2, 0, 1], [1, 2, 0])
    return np.r_[W[vee], first[:3, 3]], np.r_[W_rate[vee], second[:3, 3]]


def expressed(arm: SimpleNamespace, X_W: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return a spatial vector, given in a frame, expressed in E."""
    R = X_FQ[:3, :3].T @ X_W[:3, :3]
    return np.r_[R @ vector[:3], R @ vector[3:]]


def test_velocities(arm: SimpleNamespace) -> None:
    F, M, E, context = arm.F, arm.M, arm.E, arm.context
    q, v, zero = context.q, context.v, np.zeros(2)
    V_WF, V_WM = (measured_in(arm, q, v, zero, name, None)[0] for name in "FM")
    V_MF = expressed(arm, poses(arm)["M"], measured_in(arm, q, v, zero, "F", "M")[0])
    close = {"rtol": 0, "atol": 1e-7}
    np.testing.assert_allclose(F.eval_angular_velocity_in_world(context), V_WF[:3], **close)
    np.testing.assert_allclose(F.calc_spatial_velocity_in_world(context), V_WF, **close)
    np.testing.assert_allclose(F.calc_angular_velocity(context, M, E), V_MF[:3], **close)
    np.testing.assert_allclose(F.calc_spatial_velocity(context, M, E), V_MF, **close)
    relative = F.calc_relative_spatial_velocity_in_world(context, M)
    np.testing.assert_allclose(relative, V_WF - V_WM, **close)
    # F relative to E, measured in M: E also moves in M.
    V_ME = expressed(arm, poses(arm)["M"], measured_in(arm, q, v, zero, "E", "M")[0])
    np.testing.assert_allclose(F.calc_relative_spatial_velocity(context, E, M, E), V_MF - V_ME, **close)


def test_accelerations(arm: SimpleNamespace) -> None:
    F, M, E, context = arm.F, arm.M, arm.E, arm.context
    q, v = context.q, context.v
    vdot = arm.tree.calc_forward_dynamics(context)
    A_WF, A_WM = (measured_in(arm, q, v, vdot, name, None)[1] for name in "FM")
    A_MF, A_ME = (
        expressed(arm, poses(arm)["M"], measured_in(arm, q, v, vdot, name, "M")[1]) for name in "FE"
    )
    close = {"rtol": 0, "atol": 1e-5}
    np.testing.assert_allclose(F.calc_spatial_acceleration_in_world(context), A_WF, **close)
    np.testing.assert_allclose(F.calc_spatial_acceleration(context, M, E), A_MF, **close)
    relative = F.calc_relative_spatial_acceleration_in_world(context, M)
    np.testing.assert_allclose(relative, A_WF - A_WM, **close)
    np.testing.assert_allclose(F.calc_relative_spatial_acceleration(context, E, M, E), A_MF - A_ME, **close)


def test_copies(arm: SimpleNamespace) -> None:
    with pytest.raises(mbt.ForeignElementError):
        copy.copy(arm.F)
    loose = mbt.FixedOffsetFrame("loose", arm.F, X_FQ)
    twin = copy.copy(loose)
    assert twin is not loose
    assert not twin.has_parent_tree
    assert twin.parent_frame is arm.F
    assert twin.body is arm.links[1]
    np.testing.assert_array_equal(twin.get_fixed_pose_in_parent_frame(), X_FQ)


def test_clones(arm: SimpleNamespace) -> None:
    for twin in (arm.tree.clone(), arm.tree.to_autodiff(), arm.tree.to_symbolic()):
        loose = arm.F.do_clone_to_scalar(twin)
        assert not loose.has_parent_tree
        assert loose.parent_frame is twin.get_variant(arm.P)
        np.testing.assert_array_equal(loose.get_fixed_pose_in_parent_frame(), X_PF)
    twin = arm.tree.clone()
    variant = twin.get_variant(arm.F)
    assert variant.parent_frame is twin.get_variant(arm.P)
    np.testing.assert_array_equal(variant.get_fixed_pose_in_parent_frame(), X_PF)


def test_motion_of_bodies(arm: SimpleNamespace) -> None:
    tree, context, link = arm.tree, arm.context, arm.links[1]
    frame = link.body_frame
    np.testing.assert_allclose(link.eval_pose_in_world(context), frame.calc_pose_in_world(context))
    np.testing.assert_allclose(
        link.eval_spatial_velocity_in_world(context), frame.calc_spatial_velocity_in_world(context)
    )
    A_WB = tree.calc_spatial_accelerations_from_vdot(context, tree.calc_forward_dynamics(context))
    np.testing.assert_allclose(link.eval_spatial_acceleration_in_world(context), A_WB[link.node_index])


def test_frame_body_poses(arm: SimpleNamespace) -> None:
    tree, context, F = arm.tree, arm.context, arm.F
    cache = tree.eval_frame_body_poses(context)
    X_LF = X_LP @ X_PF_CONTEXT
    np.testing.assert_allclose(F.get_X_LF(cache), X_LF, atol=1e-15)
    np.testing.assert_allclose(F.get_X_BF(cache), X_LF, atol=1e-15)
    np.testing.assert_allclose(F.get_X_FB(cache), inverse_pose(X_LF), atol=1e-15)
    assert not F.is_X_BF_identity(cache)
    assert arm.links[1].body_frame.is_X_BF_identity(cache)
    twin = tree.clone()
    with pytest.raises(mbt.ContextMismatchError):
        F.get_X_BF(twin.eval_frame_body_poses(twin.create_default_context()))
    # The poses evaluated before, even if parameters have changed since.
    F.set_pose_in_parent_frame(context, X_PF)
    np.testing.assert_allclose(F.get_X_BF(cache), X_LF, atol=1e-15)
    np.testing.assert_allclose(F.get_X_BF(tree.eval_frame_body_poses(context)), X_LP @ X_PF, atol=1e-15)


class Mast(mbt.Frame):
    """A frame at the top of a mast whose height is a parameter; it defines all hooks."""

    def __init__(self, name: str, body: mbt.RigidBody) -> None:
        super().__init__(name, body)

    def do_declare_frame_parameters(self) -> None:
        self.height = self.declare_numeric_parameter([1.0])

    def do_set_default_frame_parameters(self, parameters: mbt.Parameters) -> None:
        parameters.set_numeric_parameter(self.height, [1.5])

    def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> np.ndarray:
        return make_pose([0.0, 0.0, parameters.get_numeric_parameter(self.height)[0]])

    def do_calc_rotation_matrix_in_body_frame(self, parameters: mbt.Parameters) -> np.ndarray:
        return np.eye(3)

    def do_calc_offset_pose_in_body(self, parameters: mbt.Parameters, X_FQ: np.ndarray) -> np.ndarray:
        return self.do_calc_pose_in_body_frame(parameters) @ X_FQ

    def do_calc_offset_rotation_matrix_in_body(
        self, parameters: mbt.Parameters, R_FQ: np.ndarray
    ) -> np.ndarray:
        return R_FQ


def test_a_frame_written_in_python() -> None:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", BALL))
    tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, axis=[0, 1, 0])
    mast = tree.add_frame(Mast("mast", link))
    lamp = tree.add_frame(mbt.FixedOffsetFrame("lamp", mast, make_pose([0.25, 0, 0])))
    assert mast.body is link
    tree.finalize()
    context = tree.create_default_context()
    np.testing.assert_array_equal(mast.calc_pose_in_body_frame(context)[:3, 3], [0, 0, 1.5])
    np.testing.assert_array_equal(lamp.calc_pose_in_world(context)[:3, 3], [0.25, 0, 1.5])
    np.testing.assert_array_equal(mast.calc_rotation_matrix_in_body_frame(context), np.eye(3))
    np.testing.assert_array_equal(mast.calc_offset_pose_in_body(context, X_FQ), make_pose([0, 0, 1.5]) @ X_FQ)
    R_FQ = X_FQ[:3, :3]
    np.testing.assert_array_equal(mast.calc_offset_rotation_matrix_in_body(context, R_FQ), R_FQ)
    context.set_numeric_parameter(mast.height, [2.0])
    context.v = [3.0]
    np.testing.assert_allclose(mast.calc_spatial_velocity_in_world(context), [0, 3, 0, 6, 0, 0])
    twin = tree.clone()
    twin_context = twin.create_default_context()
    np.testing.assert_array_equal(
        twin.get_variant(lamp).calc_pose_in_world(twin_context)[:3, 3], [0.25, 0, 1.5]
    )
