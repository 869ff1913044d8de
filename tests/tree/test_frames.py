"""Poses and velocities of frames."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest

from mbt import functional
from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ContextMismatchError,
    ForeignElementError,
    ShapeError,
)
from mbt.math import SpatialInertia, inverse_pose, make_pose
from mbt.tree import FixedOffsetFrame, Frame, MultibodyTree, RevoluteJoint, RigidBody
from mbt.tree.parameters import Parameters

M_BBo_B = SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
X_BM = make_pose([0.1, 0.2, 0.3], rpy=[0.3, -0.2, 0.5])
X_BT = make_pose([-0.4, 0.5, 0.6], rpy=[-0.1, 0.7, 0.2])
X_TC = make_pose([0.7, 0.8, -0.9], rpy=[0.2, 0.3, -0.4])


class Model:
    """World -j0> a -j1> b; the frame `tool` T on b, and `camera` C on T."""

    def __init__(self) -> None:
        tree = self.tree = MultibodyTree()
        self.a, self.b = (tree.add_body(RigidBody(name, M_BBo_B)) for name in "ab")
        tree.add_joint(RevoluteJoint, "j0", tree.world_body, X_TC, self.a, None, [1, 2, 3])
        tree.add_joint(RevoluteJoint, "j1", self.a, X_BT, self.b, X_BM, [3, -1, 1])
        self.tool = tree.add_frame(FixedOffsetFrame("tool", self.b, X_BT))
        self.camera = tree.add_frame(FixedOffsetFrame("camera", self.tool, X_TC))
        tree.finalize()
        self.context = tree.create_default_context()
        self.context.q = [0.4, -0.7]
        self.context.v = [1.1, 0.3]


@pytest.fixture
def model() -> Model:
    return Model()


def close(a: object, b: object, atol: float = 1e-14) -> bool:
    return np.allclose(a, b, rtol=0, atol=atol)  # type: ignore[arg-type]


class TestFixedPoses:
    def test_offsets_add_up(self, model: Model) -> None:
        assert close(model.camera.get_fixed_pose_in_body_frame(), X_BT @ X_TC)
        assert close(model.camera.get_fixed_rotation_matrix_in_body_frame(), (X_BT @ X_TC)[:3, :3])
        assert close(model.camera.get_fixed_offset_pose_in_body(X_BM), X_BT @ X_TC @ X_BM)
        assert close(
            model.camera.get_fixed_rotation_matrix_in_body(X_BM[:3, :3]), (X_BT @ X_TC @ X_BM)[:3, :3]
        )

    def test_body_frame(self, model: Model) -> None:
        frame = model.b.body_frame
        assert frame.get_fixed_pose_in_body_frame().tolist() == np.eye(4).tolist()
        assert frame.calc_pose_in_body_frame(model.context).tolist() == np.eye(4).tolist()
        assert frame.get_fixed_offset_pose_in_body(X_BM).tolist() == X_BM.tolist()

    def test_long_chain_of_frames(self, tree: MultibodyTree) -> None:
        frame = tree.add_frame(FixedOffsetFrame("0", tree.world_body, make_pose([1, 0, 0])))
        for i in range(1, 2000):
            frame = tree.add_frame(FixedOffsetFrame(str(i), frame, make_pose([1, 0, 0])))
        assert frame.get_fixed_pose_in_body_frame()[0, 3] == 2000


class TestParameters:
    def test_pose_in_parent_frame(self, model: Model) -> None:
        c = model.context
        assert model.tool.get_pose_in_parent_frame(c).tolist() == X_BT.tolist()
        assert model.tool.set_pose_in_parent_frame(c, X_BM) is model.tool
        assert model.tool.get_pose_in_parent_frame(c).tolist() == X_BM.tolist()
        assert close(model.tool.calc_pose_in_body_frame(c), X_BM)
        assert close(model.camera.calc_pose_in_body_frame(c), X_BM @ X_TC)
        assert close(model.camera.calc_rotation_matrix_in_body_frame(c), (X_BM @ X_TC)[:3, :3])
        assert close(model.camera.calc_offset_pose_in_body(c, X_BT), X_BM @ X_TC @ X_BT)
        assert close(
            model.camera.calc_offset_rotation_matrix_in_body(c, X_BT[:3, :3]), (X_BM @ X_TC @ X_BT)[:3, :3]
        )
        # The defaults and other Contexts keep theirs.
        assert close(model.camera.get_fixed_pose_in_body_frame(), X_BT @ X_TC)
        other = model.tree.create_default_context()
        assert close(model.camera.calc_pose_in_body_frame(other), X_BT @ X_TC)

    def test_errors(self, model: Model) -> None:
        with pytest.raises(ArgumentValueError, match="frame 'tool': X_PF: expected a pose"):
            model.tool.set_pose_in_parent_frame(model.context, np.zeros((4, 4)))
        with pytest.raises(ShapeError, match="frame 'tool': X_PF"):
            model.tool.set_pose_in_parent_frame(model.context, np.eye(3))
        with pytest.raises(ContextMismatchError, match="the tree of frame 'tool'"):
            model.tool.set_pose_in_parent_frame(Model().context, X_BM)
        with pytest.raises(ContextMismatchError, match="the tree of frame 'camera'"):
            model.camera.calc_pose_in_body_frame(Model().context)
        assert model.tool.get_pose_in_parent_frame(model.context).tolist() == X_BT.tolist()


class TestFrameBodyPoses:
    """Poses of all frames, computed at once, from which each frame takes its own."""

    def test_follow_parameters(self, model: Model) -> None:
        c, tree = model.context, model.tree
        before = tree.eval_frame_body_poses(c)
        assert tree.eval_frame_body_poses(c) is before
        assert tree.eval_frame_body_poses(tree.create_default_context()).X_BF.tolist() == before.X_BF.tolist()
        model.tool.set_pose_in_parent_frame(c, X_BM)
        after = tree.eval_frame_body_poses(c)
        for poses, X_BTool in ((before, X_BT), (after, X_BM)):
            assert close(model.camera.get_X_BF(poses), X_BTool @ X_TC)
            assert model.camera.get_X_LF(poses).tolist() == model.camera.get_X_BF(poses).tolist()
            assert close(model.camera.get_X_FB(poses), inverse_pose(X_BTool @ X_TC))
            assert not model.camera.is_X_BF_identity(poses)
            assert model.b.body_frame.is_X_BF_identity(poses)
        assert close(model.camera.eval_pose_in_body_frame(c), X_BM @ X_TC)
        assert model.camera.eval_pose_in_body_frame(c).tolist() == after.X_BF[model.camera.index].tolist()
        # Neither q nor v matters.
        c.q = [1.0, 2.0]
        assert tree.eval_frame_body_poses(c) is after

    def test_identity_by_parameter(self, model: Model) -> None:
        model.tool.set_pose_in_parent_frame(model.context, np.eye(4))
        assert model.tool.is_X_BF_identity(model.tree.eval_frame_body_poses(model.context))

    def test_read_only(self, model: Model) -> None:
        poses = model.tree.eval_frame_body_poses(model.context)
        for array in (
            poses.X_BF,
            poses.X_FB,
            poses.is_X_BF_identity,
            model.tool.get_X_FB(poses),
            model.tool.eval_pose_in_body_frame(model.context),
        ):
            assert not array.flags.writeable

    def test_errors(self, model: Model) -> None:
        other = Model()
        poses = other.tree.eval_frame_body_poses(other.context)
        for call in (
            model.tool.get_X_LF,
            model.tool.get_X_BF,
            model.tool.get_X_FB,
            model.tool.is_X_BF_identity,
        ):
            with pytest.raises(ContextMismatchError, match=r"frame_body_poses: .* frame 'tool'"):
                call(poses)
            with pytest.raises(ArgumentTypeError, match=r"frame_body_poses: .* got NoneType"):
                call(None)  # type: ignore[arg-type]
        with pytest.raises(ContextMismatchError):
            model.tool.eval_pose_in_body_frame(other.context)


class TestPoses:
    def test_in_world(self, model: Model) -> None:
        c = model.context
        X_WB = model.b.eval_pose_in_world(c)
        assert close(model.camera.calc_pose_in_world(c), X_WB @ X_BT @ X_TC)
        assert close(model.camera.calc_rotation_matrix_in_world(c), (X_WB @ X_BT @ X_TC)[:3, :3])

    def test_in_another_frame(self, model: Model) -> None:
        c = model.context
        X_AB = inverse_pose(model.a.eval_pose_in_world(c)) @ model.b.eval_pose_in_world(c)
        assert close(model.camera.calc_pose(c, model.a.body_frame), X_AB @ X_BT @ X_TC)
        assert close(model.camera.calc_rotation_matrix(c, model.tool), X_TC[:3, :3])

    def test_foreign_frame(self, model: Model) -> None:
        with pytest.raises(ForeignElementError):
            model.camera.calc_pose(model.context, Model().tool)


class TestVelocities:
    """Against central differences of poses, along qdot = v."""

    STEP = 1e-5

    def rate(self, model: Model, F: FixedOffsetFrame, M: FixedOffsetFrame) -> tuple[np.ndarray, np.ndarray]:
        """Angular and translational velocity of F in M, in M."""
        c = model.context
        q = c.q.copy()
        poses = []
        for step in (-self.STEP, self.STEP):
            c.q = q + step * c.v
            poses.append(F.calc_pose(c, M))
        c.q = q
        R_MF = F.calc_rotation_matrix(c, M)
        X_dot = (poses[1] - poses[0]) / (2 * self.STEP)
        wx = X_dot[:3, :3] @ R_MF.T
        return np.array([wx[2, 1], wx[0, 2], wx[1, 0]]), X_dot[:3, 3]

    @pytest.fixture(params=["default", "changed parameter"])
    def moving(self, model: Model, request: pytest.FixtureRequest) -> Model:
        if request.param == "changed parameter":
            model.tool.set_pose_in_parent_frame(model.context, make_pose([3, 0, 0]) @ X_BT)
        return model

    def test_in_world(self, moving: Model) -> None:
        c = moving.context
        w, v = self.rate(moving, moving.camera, moving.tree.world_frame)  # type: ignore[arg-type]
        V_WF = moving.camera.calc_spatial_velocity_in_world(c)
        assert close(V_WF, [*w, *v], atol=1e-9)
        assert close(moving.camera.eval_angular_velocity_in_world(c), w, atol=1e-9)
        V_WB = moving.b.eval_spatial_velocity_in_world(c)
        assert close(moving.b.body_frame.calc_spatial_velocity_in_world(c), V_WB)

    def test_in_a_moving_frame(self, moving: Model) -> None:
        c, M, E = moving.context, moving.a.body_frame, moving.tool
        w_M, v_M = self.rate(moving, moving.camera, M)  # type: ignore[arg-type]
        R_EM = M.calc_rotation_matrix(c, E)
        V_MF_E = moving.camera.calc_spatial_velocity(c, M, E)
        assert close(V_MF_E, [*(R_EM @ w_M), *(R_EM @ v_M)], atol=1e-9)
        assert close(moving.camera.calc_angular_velocity(c, M, E), R_EM @ w_M, atol=1e-9)

    def test_relative(self, moving: Model) -> None:
        c, B, M, E = moving.context, moving.a.body_frame, moving.tool, moving.camera
        F, W = moving.camera, moving.tree.world_frame
        V_WF, V_WB = F.calc_spatial_velocity_in_world(c), B.calc_spatial_velocity_in_world(c)
        assert close(F.calc_relative_spatial_velocity_in_world(c, B), V_WF - V_WB)
        assert close(F.calc_relative_spatial_velocity(c, B, W, W), V_WF - V_WB)
        V_MF_E, V_MB_E = F.calc_spatial_velocity(c, M, E), B.calc_spatial_velocity(c, M, E)
        assert close(F.calc_relative_spatial_velocity(c, B, M, E), V_MF_E - V_MB_E)

    def test_foreign_frames(self, model: Model) -> None:
        other, c = Model().tool, model.context
        for call in (
            lambda: model.tool.calc_spatial_velocity(c, other, model.camera),
            lambda: model.tool.calc_spatial_velocity(c, model.camera, other),
            lambda: model.tool.calc_angular_velocity(c, other, model.camera),
            lambda: model.tool.calc_angular_velocity(c, model.camera, other),
            lambda: model.tool.calc_relative_spatial_velocity_in_world(c, other),
            lambda: model.tool.calc_relative_spatial_velocity(c, other, model.camera, model.camera),
            lambda: model.tool.calc_relative_spatial_velocity(c, model.camera, other, model.camera),
            lambda: model.tool.calc_spatial_acceleration(c, other, model.camera),
            lambda: model.tool.calc_spatial_acceleration(c, model.camera, other),
            lambda: model.tool.calc_relative_spatial_acceleration_in_world(c, other),
            lambda: model.tool.calc_relative_spatial_acceleration(c, other, model.camera, model.camera),
            lambda: model.tool.calc_relative_spatial_acceleration(c, model.camera, model.camera, other),
            lambda: model.tree.calc_relative_rotation_matrix(c, model.camera, other),
        ):
            with pytest.raises(ForeignElementError, match=r"frame 'tool' (belongs to|of) another tree"):
                call()

    def test_foreign_context(self, model: Model) -> None:
        c = Model().context
        frame, W = model.camera, model.tree.world_frame
        for call in (
            lambda: frame.calc_spatial_velocity_in_world(c),
            lambda: frame.calc_angular_velocity(c, W, W),
            lambda: frame.eval_angular_velocity_in_world(c),
            lambda: frame.calc_spatial_acceleration_in_world(c),
            lambda: frame.calc_relative_spatial_acceleration(c, W, W, W),
            lambda: model.b.eval_spatial_acceleration_in_world(c),
        ):
            with pytest.raises(ContextMismatchError):
                call()

    def test_frame_without_a_tree(self, model: Model) -> None:
        frame = FixedOffsetFrame("late", model.b, X_BT)
        with pytest.raises(ForeignElementError, match="frame 'late' belongs to no tree"):
            frame.calc_spatial_acceleration_in_world(model.context)
        with pytest.raises(ForeignElementError, match="frame 'late' belongs to no tree"):
            frame.eval_pose_in_body_frame(model.context)


class TestBodyRows:
    def test_view(self, model: Model) -> None:
        A = np.zeros((4, model.tree.num_bodies, 6))
        row = model.b.get_from_spatial_acceleration_array(A)
        assert row.shape == (4, 6)
        row[:] = 3.0
        assert A[:, model.b.node_index].min() == 3.0
        assert A.sum() == 4 * 6 * 3.0

    @pytest.mark.parametrize("shape", [(6,), (3,), (2, 6), (3, 5), (4, 6, 3)])
    def test_wrong_shape(self, model: Model, shape: tuple[int, ...]) -> None:
        with pytest.raises(ShapeError, match="A_WB_array"):
            model.b.get_from_spatial_acceleration_array(np.zeros(shape))

    def test_no_array(self, model: Model) -> None:
        with pytest.raises(ArgumentTypeError, match="A_WB_array"):
            model.b.get_from_spatial_acceleration_array([[0.0] * 6] * 3)  # type: ignore[arg-type]


def test_a_frame_without_a_tree_is_named_by_its_argument() -> None:
    tree = MultibodyTree()
    tree.finalize()
    loose = FixedOffsetFrame("loose", tree.world_frame)
    wanted = "frame 'loose', which belongs to no tree yet"
    with pytest.raises(ForeignElementError, match=f"^frame: expected a frame of this tree, got {wanted}"):
        functional.frame_pose(tree, np.zeros(0), loose)
    with pytest.raises(ForeignElementError, match=f"^expressed_in: .* got {wanted}"):
        functional.frame_jacobian(tree, np.zeros(0), tree.world_frame, expressed_in=loose)


class _EqualFrame(Frame):
    """A user's frame that compares equal to every other one."""

    def __init__(self, name: str, body: RigidBody, x: float) -> None:
        super().__init__(name, body)
        self.x = x

    def do_calc_pose_in_body_frame(self, parameters: Parameters) -> np.ndarray:
        return make_pose([self.x, 0, 0])

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class TestFramesAreKnownByIdentity:
    """Computations take the very frame they are given, whatever it compares equal to."""

    NUM_FRAMES = 300

    def make(self) -> MultibodyTree:
        """Return a tree of one body on World, with frames along x: every third is written in Python."""
        tree = MultibodyTree()
        body = tree.add_body(RigidBody("body", M_BBo_B))
        tree.add_joint(RevoluteJoint, "joint", tree.world_body, None, body, None, [0, 0, 1])
        for i in range(self.NUM_FRAMES):
            x = 1.0 + i
            name = f"frame{i}"
            tree.add_frame(
                _EqualFrame(name, body, x)
                if i % 3 == 0
                else FixedOffsetFrame(name, body, make_pose([x, 0, 0]))
            )
        tree.finalize()
        return tree

    @pytest.mark.parametrize("copied", ["not", "unpickled", "clone", "autodiff"])
    def test_each_is_itself(self, copied: str) -> None:
        tree = self.make()
        # Copies must not rely on frames that the first tree has looked up.
        functional.frame_pose(tree, [0.0], tree.frames[-1])
        if copied == "unpickled":
            tree = pickle.loads(pickle.dumps(tree))
        elif copied == "clone":
            tree = tree.clone()
        elif copied == "autodiff":
            tree = tree.to_autodiff()
        frames = [frame for frame in tree.frames if frame.name.startswith("frame")]
        assert len(frames) == self.NUM_FRAMES
        for i, frame in enumerate(frames):
            X_WF = functional.frame_pose(tree, [0.0], frame)
            assert X_WF[0, 3] == 1.0 + i
        body = tree.get_body_by_name("body")
        for of_body in (body, body.body_frame):
            assert functional.frame_pose(tree, [0.0], of_body)[0, 3] == 0.0

    def test_none_of_another_tree(self) -> None:
        """Not even one that compares equal, or one at the address of a deleted frame of another tree."""
        tree = self.make()
        functional.frame_pose(tree, [0.0], tree.world_frame)
        for _ in range(20):
            other = self.make()
            for stranger in (*other.frames, *other.bodies):
                with pytest.raises(ForeignElementError, match="another tree"):
                    functional.frame_pose(tree, [0.0], stranger)
            del other, stranger
            gc.collect()
        loose = _EqualFrame("loose", tree.get_body_by_name("body"), 1.0)
        with pytest.raises(ForeignElementError, match="belongs to no tree"):
            functional.frame_pose(tree, [0.0], loose)
