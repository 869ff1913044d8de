"""Kinematic calibration: offsets of joints and poses of frames, from measured poses of a marker."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentValueError
from mbt.identification.columns import as_names, as_tree
from mbt.identification.doubts import doubts_of_ranges
from mbt.math import as_pose, exp_se3, inverse_pose, log_so3, skew
from mbt.math.arrays import FloatArray, as_bool, as_finite_array
from mbt.motion.units import velocity_units
from mbt.tree.frame import FixedOffsetFrame, as_frame
from mbt.tree.joints.prismatic import PrismaticJoint
from mbt.tree.joints.revolute import RevoluteJoint
from mbt.tree.joints.screw import ScrewJoint

if TYPE_CHECKING:
    from mbt.tree.joint import Joint
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Calibration", "calibrate"]

# The data determine a parameter if earlier columns do not span more than this part of its column.
_SEEN = 1e-5
# The initial guess of the noise of measured poses [rad, m], and its lower bound [rad, m].
_GUESS, _LEAST = 1e-3, 1e-10
_MOST_STEPS = 50
# Poses fit if residuals are below this: in radians, and as part of the spread of positions (or below _GUESS).
_MISFIT = 0.1
_TWIST = ("turn_x", "turn_y", "turn_z", "x", "y", "z")


@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """Result of `calibrate`; print it, or `report()`, for a table.

    Attributes
    ----------
    offsets : ndarray, shape (num_velocities,)
        Offsets to add to the measured positions of the joints; zero where none was fitted.
    X_CW : ndarray, shape (4, 4)
        Pose of the World in the measuring system.
    X_FM : ndarray, shape (4, 4)
        Pose of the marker in the frame that carries it.
    frames : dict of str to ndarray, shape (4, 4)
        Fitted poses of joints' frames on the parent bodies, by name of the joint.
    names : tuple of str
        Names of the fitted parameters: rotations [rad] and translations [m] along the axes of a frame,
        offsets of joints [rad, m].
    standard_errors : ndarray, shape (len(names),)
        Standard errors of these parameters; infinite for those in `undetermined`.
    undetermined : tuple of str
        The parameters that the poses cannot distinguish from earlier ones in `names`. They keep their
        described values.
    noise : ndarray, shape (2,)
        Standard deviation of the measured poses: of angles [rad] and of positions [m].
    residuals : ndarray, shape (n, 6)
        Measured minus predicted poses, in the axes of the measuring system: rotation vector [rad], position
        [m].
    tree : MultibodyTree
        The description with the fitted offsets and frames, finalized: its positions are the measured ones.
    warnings : tuple of str
        Reasons to doubt the fit: positions far beyond the limits of the joints, poses that do not fit.
    """

    offsets: FloatArray
    X_CW: FloatArray
    X_FM: FloatArray
    frames: dict[str, FloatArray]
    names: tuple[str, ...]
    standard_errors: FloatArray
    undetermined: tuple[str, ...]
    noise: FloatArray
    residuals: FloatArray
    tree: MultibodyTree
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        """Show the size of the fit and its residuals."""
        angle, position = self.noise
        return (
            f"<Calibration: {len(self.names)} numbers from {len(self.residuals)} poses, "
            f"residual {angle:.2g} rad, {position:.2g} m>"
        )

    def report(self) -> str:
        """Return the result as text."""
        angle, position = self.noise
        of_joints = [unit.removesuffix("/s") for unit in velocity_units(self.tree)]
        units = {name: "rad" if name.endswith(_TWIST[:3]) else "m" for name in self.names}
        for name, unit in zip(self.tree.velocity_names, of_joints, strict=True):
            units[f"{name}_offset"] = unit
        lines = [
            f"{len(self.residuals)} poses; residual: {angle:.3g} rad, {position:.3g} m in each axis",
            "",
            f"{'joint velocity':24} {'offset':>11}  unit",
            *(
                f"{name:24} {offset:11.4g}  {unit}"
                for name, offset, unit in zip(self.tree.velocity_names, self.offsets, of_joints, strict=True)
            ),
            "",
            f"{'std. error':>11}  unit  number",
            *(
                f"{error:11.3g}  {units[name]:4}  {name}"
                for name, error in zip(self.names, self.standard_errors, strict=True)
            ),
            *(
                f"warning: the poses do not determine {name}; it keeps its described value"
                for name in self.undetermined
            ),
            *(f"warning: {doubt}" for doubt in self.warnings),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        """Return the report."""
        return self.report()


def calibrate(
    tree: MultibodyTree,
    q: object,
    X_CM: object,
    frame: Any,
    *,
    offsets: bool = True,
    frames: Iterable[str] = (),
    system: bool = True,
    marker: bool = True,
    noise: object = None,
) -> Calibration:
    """Fit offsets of joints and poses of frames to measured poses of a marker.

    The pose of a camera or a laser tracker, and that of the marker on the robot, are also fitted, without an
    initial guess. The fit is a weighted least-squares problem, solved by the Gauss-Newton method.

    Parameters
    ----------
    tree : MultibodyTree
        The description, finalized. It is not changed.
    q : array_like, shape (n, num_positions)
        Measured positions, in as different configurations as possible.
    X_CM : array_like, shape (n, 4, 4)
        Measured poses of the marker M in the measuring system C.
    frame : Frame, RigidBody or str
        The frame or body that carries the marker, or its name.
    offsets : bool, optional
        Fit an offset of each revolute, prismatic and screw joint between the World and the marker.
    frames : iterable of str, optional
        Names of joints whose frame on the parent body is fitted, in all six degrees of freedom.
    system : bool, optional
        Fit the pose of the World in the measuring system; otherwise they are the same.
    marker : bool, optional
        Fit the pose of the marker in `frame`; otherwise they are the same.
    noise : array_like, shape (2,), optional
        Standard deviations of measured angles [rad] and positions [m]; estimated by default.

    Returns
    -------
    Calibration

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError, UnknownNameError
        When an argument is invalid, there are too few poses, or a joint has no frame that can be moved.

    Examples
    --------
    An arm whose elbow reading is 0.02 rad too small, observed by a camera:

    >>> import mbt, numpy as np
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> rng = np.random.default_rng(0)
    >>> q = rng.uniform(-1.0, 1.0, size=(30, 6))
    >>> context = tree.create_default_context(batch_shape=30)
    >>> context.q = q + [0.0, 0.0, 0.02, 0.0, 0.0, 0.0]
    >>> X_WM = tree.calc_relative_transform(context, tree.world_frame, tree.get_frame_by_name("tool"))
    >>> X_CW = mbt.math.make_pose([1.0, 2.0, 0.5], rpy=[0.0, 0.3, 1.0])
    >>> found = mbt.identification.calibrate(tree, q, X_CW @ X_WM, "tool")
    >>> bool(abs(found.offsets - [0.0, 0.0, 0.02, 0.0, 0.0, 0.0]).max() < 1e-9)
    True
    >>> found.undetermined
    ('waist_w_offset', 'tool_roll_w_offset')
    """
    fit = _Fit(
        tree,
        q,
        X_CM,
        frame,
        as_bool(offsets, "offsets"),
        frames,
        as_bool(system, "system"),
        as_bool(marker, "marker"),
    )
    return fit.run(noise)


class _Fit:
    """A calibration in progress."""

    def __init__(
        self,
        tree: MultibodyTree,
        q: object,
        X_CM: object,
        frame: Any,
        offsets: bool,
        frames: Iterable[str],
        system: bool,
        marker: bool,
    ) -> None:
        self.tree = as_tree(tree, "calibrate")
        self.frame = _frame_of(tree, frame)
        self.q = as_finite_array(q, "q", (None, tree.num_positions))
        poses = as_finite_array(X_CM, "X_CM", (len(self.q), 4, 4))
        self.measured = np.array([as_pose(X, f"X_CM[{i}]") for i, X in enumerate(poses)]).reshape(-1, 4, 4)
        on_path = _joints_to(self.frame)
        names = as_names(frames, "frames")
        self.moved = [_movable(tree.get_joint_by_name(name), on_path) for name in names]
        kinds = (RevoluteJoint, PrismaticJoint, ScrewJoint)
        self.turned = [joint for joint in on_path if isinstance(joint, kinds)] if offsets else []
        self.system, self.marker = system, marker
        self.names = (
            *(f"system_{name}" for name in _TWIST if system),
            *(f"marker_{name}" for name in _TWIST if marker),
            *(f"{tree.velocity_names[joint.velocity_start]}_offset" for joint in self.turned),
            *(f"{joint.name}_frame_{name}" for joint in self.moved for name in _TWIST),
        )
        if not self.names:
            raise ArgumentValueError("calibrate: nothing to fit: expected offsets, frames, system or marker")
        self.context = tree.create_default_context(batch_shape=len(self.q))
        self.X_CW, self.X_FM = np.eye(4), np.eye(4)
        self.offset = np.zeros(tree.num_velocities)
        self.poses = {
            joint.name: joint.frame_on_parent.get_fixed_pose_in_parent_frame() for joint in self.moved
        }

    def run(self, noise: object) -> Calibration:
        """Return the fit."""
        given = None if noise is None else as_finite_array(noise, "noise", (2,))
        if given is not None and not ((given >= 1e-100) & (given <= 1e100)).all():
            raise ArgumentValueError("noise: expected numbers from 1e-100 to 1e100")
        sigma = np.full(2, _GUESS) if given is None else given
        residuals, jacobian = self.linearize(guess=True)
        kept = _independent(jacobian)
        if residuals.size <= len(kept):
            raise ArgumentValueError(f"too few poses: {len(self.q)} for {len(kept)} numbers")
        for _ in range(_MOST_STEPS):
            weight = 1.0 / np.repeat(sigma, 3)
            A = (jacobian[..., kept] * weight[:, None]).reshape(-1, len(kept))
            norms = np.linalg.norm(A, axis=0)
            step = np.linalg.lstsq(A / norms, (residuals * weight).ravel(), rcond=None)[0] / norms
            self.move(kept, step)
            residuals, jacobian = self.linearize()
            if given is None:
                # The degrees of freedom of angles and of positions that the fitted parameters use.
                taken = (np.linalg.qr(A / norms)[0] ** 2).sum(axis=1).reshape(-1, 2, 3).sum(axis=(0, 2))
                squares = (residuals.reshape(-1, 2, 3) ** 2).sum(axis=(0, 2))
                sigma = np.maximum(np.sqrt(squares / np.maximum(3.0 * len(self.q) - taken, 1.0)), _LEAST)
            if np.abs(step * norms).max() < 1e-6 or np.abs(step).max() < 1e-12:
                break
        A = (jacobian[..., kept] / np.repeat(sigma, 3)[:, None]).reshape(-1, len(kept))
        norms = np.linalg.norm(A, axis=0)
        errors = np.full(len(self.names), np.inf)
        R = np.linalg.qr(A / norms, mode="r")
        errors[kept] = np.linalg.norm(np.linalg.inv(R), axis=1) / norms
        undetermined = tuple(name for i, name in enumerate(self.names) if i not in kept)
        return Calibration(
            self.offset,
            self.X_CW,
            self.X_FM,
            self.poses,
            self.names,
            errors,
            undetermined,
            sigma,
            residuals,
            self.result(),
            (*doubts_of_ranges(self.tree, self.q.min(axis=0), self.q.max(axis=0)), *self.doubts(sigma)),
        )

    def doubts(self, sigma: FloatArray) -> list[str]:
        """Return doubts about the poses, from the residuals."""
        angle, position = sigma
        spread = float(np.sqrt(self.measured[:, :3, 3].var(axis=0).sum()))
        if angle < _MISFIT and position < max(_MISFIT * spread, _GUESS):
            return []
        return [
            f"the poses do not fit the description (residuals of {angle:.2g} rad and {position:.2g} m, with "
            f"poses that spread by {spread:.2g} m): are q in radians and X_CM in metres, is X_CM the pose of "
            "the marker in the measuring system, not the inverse, and does this frame carry the marker?"
        ]

    def linearize(self, *, guess: bool = False) -> tuple[FloatArray, FloatArray]:
        """Return measured minus predicted poses, (n, 6), and the latter's Jacobian, (n, 6, len(names))."""
        tree, context = self.tree, self.context
        context.q = tree.integrate_positions(self.q, self.offset, 1.0)
        for joint in self.moved:
            joint.frame_on_parent.set_pose_in_parent_frame(context, self.poses[joint.name])
        X_WF = tree.calc_relative_transform(context, tree.world_frame, self.frame)
        if guess:
            self.guess(X_WF)
        X_CM = self.X_CW @ X_WF @ self.X_FM
        p_CM = X_CM[:, :3, 3]
        turn = log_so3(self.measured[:, :3, :3] @ X_CM[:, :3, :3].swapaxes(1, 2))
        residuals = np.concatenate([turn, self.measured[:, :3, 3] - p_CM], axis=1)
        J = np.zeros((len(X_CM), 6, len(self.names)))
        first = 0
        moving = [self.X_CW] if self.system else []
        moving += [X_CM] if self.marker else []
        for X_CG in moving:
            J[:, :, first : first + 6] = _twists(X_CG, p_CM)
            first += 6
        if self.turned:
            J_W = tree.calc_jacobian_spatial_velocity(
                context, "v", self.frame, self.X_FM[:3, 3], tree.world_frame, tree.world_frame
            )
            R = self.X_CW[:3, :3]
            columns = J_W[..., [joint.velocity_start for joint in self.turned]]
            part = slice(first, first + len(self.turned))
            J[:, :3, part], J[:, 3:, part] = R @ columns[:, :3], R @ columns[:, 3:]
            first = part.stop
        for joint in self.moved:
            X_WP = tree.calc_relative_transform(context, tree.world_frame, joint.frame_on_parent)
            J[:, :, first : first + 6] = _twists(self.X_CW @ X_WP, p_CM)
            first += 6
        return residuals, J

    def guess(self, X_WF: FloatArray) -> None:
        """Find the initial poses of the system and the marker: rotations (Shah 2013), then translations."""
        if not len(X_WF):
            return
        R_WF, R_CM = X_WF[:, :3, :3], self.measured[:, :3, :3]
        if self.system and self.marker:
            # R_CW and R_FM that fit R_CM = R_CW R_WF R_FM best are the dominant singular vectors.
            K = np.einsum("nab,ncd->acdb", R_CM, R_WF).reshape(9, 9)
            U, _, Vt = np.linalg.svd(K)
            self.X_CW[:3, :3], self.X_FM[:3, :3] = (
                _rotation(U[:, 0].reshape(3, 3)),
                _rotation(Vt[0].reshape(3, 3)),
            )
        elif self.system:
            self.X_CW[:3, :3] = _rotation((R_CM @ R_WF.swapaxes(1, 2)).sum(axis=0))
        elif self.marker:
            self.X_FM[:3, :3] = _rotation((R_WF.swapaxes(1, 2) @ R_CM).sum(axis=0))
        R_CF = self.X_CW[:3, :3] @ R_WF
        rest = self.measured[:, :3, 3] - (self.X_CW[:3, :3] @ X_WF[:, :3, 3:])[..., 0]
        columns = [np.broadcast_to(np.eye(3), R_CF.shape)] if self.system else []
        columns += [R_CF] if self.marker else []
        if columns:
            A = np.concatenate(columns, axis=2).reshape(3 * len(rest), -1)
            p = np.linalg.lstsq(A, rest.ravel(), rcond=None)[0]
            if self.system:
                self.X_CW[:3, 3] = p[:3]
            if self.marker:
                self.X_FM[:3, 3] = p[-3:]

    def move(self, kept: list[int], step: FloatArray) -> None:
        """Apply a step to all fitted parameters."""
        whole = np.zeros(len(self.names))
        whole[kept] = step
        if self.system:
            self.X_CW, whole = self.X_CW @ exp_se3(whole[:6]), whole[6:]
        if self.marker:
            self.X_FM, whole = self.X_FM @ exp_se3(whole[:6]), whole[6:]
        for joint in self.turned:
            self.offset[joint.velocity_start] += whole[0]
            whole = whole[1:]
        for joint in self.moved:
            self.poses[joint.name] = self.poses[joint.name] @ exp_se3(whole[:6])
            whole = whole[6:]

    def result(self) -> MultibodyTree:
        """Return the tree with the fitted values."""
        work: Any = self.tree.edit()
        context = self.tree.create_default_context()
        poses = dict(self.poses)
        for joint in self.turned:
            if self.offset[joint.velocity_start] == 0.0:
                continue
            # Moving by the sum is the same as moving by the offset first, then by the measured position.
            joint.set_positions(context, self.offset[joint.velocity_start : joint.velocity_start + 1])
            X_FO = joint.get_pose(context)
            parent, child = joint.frame_on_parent, joint.frame_on_child
            if isinstance(parent, FixedOffsetFrame):
                before = poses.get(joint.name, parent.get_fixed_pose_in_parent_frame())
                poses[joint.name] = before @ X_FO
            elif isinstance(child, FixedOffsetFrame):
                X_BM = child.get_fixed_pose_in_parent_frame() @ inverse_pose(X_FO)
                work.joints[joint.index].frame_on_child.set_default_pose_in_parent_frame(X_BM)
            else:
                raise ArgumentValueError(
                    f"offsets: joint {joint.name!r} has no frame of its own, on its parent or its child, for "
                    "its offset"
                )
        for name, X_PF in poses.items():
            work.get_joint_by_name(name).frame_on_parent.set_default_pose_in_parent_frame(X_PF)
        work.finalize()
        found: MultibodyTree = work
        return found


def _frame_of(tree: MultibodyTree, frame: Any) -> Any:
    if isinstance(frame, str):
        return tree.get_frame_by_name(frame)
    found = as_frame(frame, "frame")
    if found.parent_tree is not tree:
        raise ArgumentValueError("frame: expected one of this tree")
    return found


def _joints_to(frame: Any) -> list[Joint]:
    """Return the joints between the World and a frame, starting at the World."""
    path = []
    tree, body = frame.parent_tree, frame.body
    inboard = {joint.child_body.index: joint for joint in tree.joints}
    while body.index in inboard:
        joint = inboard[body.index]
        path.append(joint)
        body = joint.parent_body
    return path[::-1]


def _movable(joint: Any, on_path: list[Joint]) -> Any:
    if joint not in on_path:
        raise ArgumentValueError(f"frames: joint {joint.name!r} is not between the World and the marker")
    if not isinstance(joint.frame_on_parent, FixedOffsetFrame):
        raise ArgumentValueError(
            f"frames: joint {joint.name!r} is at the frame of its parent body itself, which cannot move"
        )
    return joint


def _twists(X_CG: FloatArray, p_CM: FloatArray) -> FloatArray:
    """Return the velocities of points due to rotations and translations along a frame's axes, (n, 6, 6)."""
    X = np.broadcast_to(X_CG, (len(p_CM), 4, 4))
    R = X[:, :3, :3]
    J = np.zeros((len(p_CM), 6, 6))
    J[:, :3, :3] = J[:, 3:, 3:] = R
    J[:, 3:, :3] = -np.array([skew(p) for p in p_CM - X[:, :3, 3]]).reshape(-1, 3, 3) @ R
    return J


def _rotation(M: FloatArray) -> FloatArray:
    """Return the rotation nearest to a matrix or to its negative."""
    if np.linalg.det(M) < 0.0:
        M = -M
    U, _, Vt = np.linalg.svd(M)
    if np.linalg.det(U @ Vt) < 0.0:
        U[:, -1] *= -1.0
    R: FloatArray = U @ Vt
    return R


def _independent(jacobian: FloatArray) -> list[int]:
    """Return the columns that earlier ones do not span."""
    A = jacobian.reshape(-1, jacobian.shape[-1])
    kept: list[int] = []
    Q = np.zeros((len(A), 0))
    for i, column in enumerate(A.T):
        norm = np.linalg.norm(column)
        rest = column - Q @ (Q.T @ column)
        rest -= Q @ (Q.T @ rest)
        if norm > 0.0 and np.linalg.norm(rest) > _SEEN * norm:
            kept.append(i)
            Q = np.column_stack([Q, rest / np.linalg.norm(rest)])
    return kept
