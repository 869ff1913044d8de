"""Jacobians and bias accelerations of a tree of any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mbt._core.variants import Quantity
from mbt.context.checks import check_with_respect_to
from mbt.math.leading_axes import fold, join
from mbt.scalars.dynamics import ScalarDynamics

__all__ = ["ScalarJacobians"]


class ScalarJacobians(ScalarDynamics):
    """Each method is that of `MultibodyTree` in arrays of the scalar."""

    __slots__ = ()

    def _angular(self, c: Any, b: int, a: int) -> Any:
        """Of body b measured in body a, with respect to v, in World: (3, nv)."""
        J = c._evaluate(Quantity.ANGULAR_JACOBIAN, None, b)
        if a != 0:
            J = J - c._evaluate(Quantity.ANGULAR_JACOBIAN, None, a)
        return fold(J, 3, self.tree.num_velocities)

    def _translational(self, c: Any, b: int, a: int, p_WoP: Any) -> Any:
        """Of a point of body b measured in body a, with respect to v, in World: (3, nv)."""
        J = c._evaluate(Quantity.TRANSLATIONAL_JACOBIAN, p_WoP, b)
        if a != 0:
            J = J - c._evaluate(Quantity.TRANSLATIONAL_JACOBIAN, p_WoP, a)
        return fold(J, 3, self.tree.num_velocities)

    def _each_in_world(self, c: Any, b: int, points: Any) -> list[Any]:
        """Points given in frame b, (3,) or (..., 3, n), one by one in World."""
        p_WoBi = self._points_in_world(c, b, points)
        return [p_WoBi] if points.ndim == 1 else [p_WoBi[..., i] for i in range(points.shape[-1])]

    def _finish(self, c: Any, by_qdot: bool, e: int, J: Any, out: Any) -> Any:
        """Express a Jacobian in a frame, and let it be one with respect to qdot if that is wanted."""
        J = self._express_columns(c, e, J)
        if by_qdot:
            J = J @ self.make_qdot_to_velocity_map(c)
        return self._numbers.write(out, J, "out")

    def calc_jacobian_spatial_velocity(
        self,
        c: Any,
        with_respect_to: Any,
        frame_B: Any,
        p_BoBp_B: Any,
        frame_A: Any,
        frame_E: Any,
        *,
        out: Any = None,
    ) -> Any:
        by_qdot = check_with_respect_to(with_respect_to)
        b, a = self._frame(frame_B, "frame_B"), self._frame(frame_A, "frame_A")
        e = self._frame(frame_E, "frame_E")
        p_B = self._numbers.as_float_array(p_BoBp_B, "p_BoBp_B", (3,))
        nodes = self._node_of(b), self._node_of(a)
        if c.batch_shape and not (by_qdot or nodes[1] or e or p_B.any()):
            # The origin in World: what is inboard of it suffices.
            return c._result(out, (6, self.tree.num_velocities), Quantity.FRAME_JACOBIAN, None, b)
        p = self._point_in_world(c, b, p_B)
        J = join([self._angular(c, *nodes), self._translational(c, *nodes, p)], -2)
        return self._finish(c, by_qdot, e, J, out)

    def calc_jacobian_angular_velocity(
        self, c: Any, with_respect_to: Any, frame_B: Any, frame_A: Any, frame_E: Any, *, out: Any = None
    ) -> Any:
        by_qdot = check_with_respect_to(with_respect_to)
        b, a = self._frame(frame_B, "frame_B"), self._frame(frame_A, "frame_A")
        e = self._frame(frame_E, "frame_E")
        return self._finish(c, by_qdot, e, self._angular(c, self._node_of(b), self._node_of(a)), out)

    def calc_jacobian_translational_velocity(
        self,
        c: Any,
        with_respect_to: Any,
        frame_B: Any,
        p_BoBi_B: Any,
        frame_A: Any,
        frame_E: Any,
        *,
        out: Any = None,
    ) -> Any:
        by_qdot = check_with_respect_to(with_respect_to)
        b = self._frame(frame_B, "frame_B")
        points = self._points(c, p_BoBi_B, "p_BoBi_B")
        a, e = self._frame(frame_A, "frame_A"), self._frame(frame_E, "frame_E")
        nodes = self._node_of(b), self._node_of(a)
        blocks = [self._translational(c, *nodes, p) for p in self._each_in_world(c, b, points)]
        J = join(blocks, -2) if blocks else self._numbers.zeros((*c.batch_shape, 0, self.tree.num_velocities))
        return self._finish(c, by_qdot, e if blocks else 0, J, out)

    def calc_jacobian_position_vector(
        self, c: Any, frame_B: Any, p_BoBi_B: Any, frame_A: Any, frame_E: Any, *, out: Any = None
    ) -> Any:
        return self.calc_jacobian_translational_velocity(
            c, "qdot", frame_B, p_BoBi_B, frame_A, frame_E, out=out
        )

    # Bias accelerations.

    def _bias_accelerations(self, c: Any, by_qdot: bool) -> Any:
        """Accelerations of all bodies in World with vdot = 0, or with qddot = 0."""
        if by_qdot:
            vdot = c._evaluate(Quantity.STEADY_ACCELERATION)
        else:
            vdot = self._numbers.zeros((self.tree.num_velocities,))
        return fold(c._evaluate(Quantity.ACCELERATION_KINEMATICS, vdot), self.tree.num_bodies, 6)

    def _with_base_at_rest(self, c: Any, nodes: Sequence[int]) -> Any:
        """Return a Context in which everything rests that moves all of these bodies alike.

        What they see of each other is the same, and no large numbers cancel that are of the motion of all.
        """
        mobilizers: list[Any] = [None, *self.tree._finalized("Bias accelerations").mobilizer_of_node]
        first, last = min(nodes), max(nodes)
        while first != last:
            first, last = sorted((first, mobilizers[last].inboard_body.node_index))
        dofs: list[int] = []
        while first:
            dofs += mobilizers[first]._velocity_range()
            first = mobilizers[first].inboard_body.node_index
        if not dofs:
            return c
        other = c.clone()
        other.v = self._numbers.replaced(c.v, dofs, self._numbers.zeros((len(dofs),)))
        return other

    def _bias(self, c: Any, by_qdot: bool, b: int, a: int, e: int, points: Sequence[Any]) -> list[Any]:
        """Return the bias of each of some points of frame b, given in World."""
        nodes = self._node_of(b), self._node_of(a)
        moving = self._with_base_at_rest(c, nodes)
        A_WB = self._bias_accelerations(moving, by_qdot)
        return [self._express(c, e, self._acceleration_of(moving, A_WB, *nodes, p)) for p in points]

    def calc_bias_spatial_acceleration(
        self,
        c: Any,
        with_respect_to: Any,
        frame_B: Any,
        p_BoBp_B: Any,
        frame_A: Any,
        frame_E: Any,
        *,
        out: Any = None,
    ) -> Any:
        by_qdot = check_with_respect_to(with_respect_to)
        b = self._frame(frame_B, "frame_B")
        p = self._numbers.as_float_array(p_BoBp_B, "p_BoBp_B", (3,))
        a, e = self._frame(frame_A, "frame_A"), self._frame(frame_E, "frame_E")
        (bias,) = self._bias(c, by_qdot, b, a, e, [self._point_in_world(c, b, p)])
        return self._numbers.write(out, bias, "out")

    def calc_bias_angular_acceleration(
        self, c: Any, with_respect_to: Any, frame_B: Any, frame_A: Any, frame_E: Any, *, out: Any = None
    ) -> Any:
        by_qdot = check_with_respect_to(with_respect_to)
        b, a = self._frame(frame_B, "frame_B"), self._frame(frame_A, "frame_A")
        e = self._frame(frame_E, "frame_E")
        (bias,) = self._bias(c, by_qdot, b, a, e, [self._p_WoFo(c, b)])
        return self._numbers.write(out, bias[..., :3], "out")

    def calc_bias_translational_acceleration(
        self,
        c: Any,
        with_respect_to: Any,
        frame_B: Any,
        p_BoBi_B: Any,
        frame_A: Any,
        frame_E: Any,
        *,
        out: Any = None,
    ) -> Any:
        by_qdot = check_with_respect_to(with_respect_to)
        b = self._frame(frame_B, "frame_B")
        points = self._points(c, p_BoBi_B, "p_BoBi_B")
        a, e = self._frame(frame_A, "frame_A"), self._frame(frame_E, "frame_E")
        biases = self._bias(c, by_qdot, b, a, e, self._each_in_world(c, b, points))
        columns = [bias[..., 3:] for bias in biases]
        if points.ndim == 1:
            return self._numbers.write(out, columns[0], "out")
        bias = np.stack(columns, -1) if columns else self._numbers.zeros((*c.batch_shape, 3, 0))
        return self._numbers.write(out, bias, "out")
