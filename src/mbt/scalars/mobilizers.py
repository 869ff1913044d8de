"""One mobilizer of a tree of any scalar in one Context: what `mbt._core.tree_mobilizers` is for doubles."""

from __future__ import annotations

from typing import Any

from mbt._core.variants import Quantity
from mbt.math.leading_axes import fold, rotate, transpose
from mbt.tree.mobilizer import Mobilizer

__all__: list[str] = []


def _mobilizer(c: Any, node: int) -> Mobilizer:
    mobilizer: Mobilizer = c.tree._plan.mobilizer_of_node[node - 1]
    return mobilizer


def across_transform(c: Any, node: int) -> Any:
    """Return the pose of the outboard in the inboard frame, (4, 4)."""
    return c.tree.eval_position_kinematics(c).X_FM[..., node, :, :].copy()


def across_H(c: Any, node: int) -> Any:
    """H, (6, nv), with spatial velocity = H v."""
    m = _mobilizer(c, node)
    return transpose(c.tree.eval_position_kinematics(c).H_FM[..., _dofs(m), :]).copy()


def across_velocity(c: Any, node: int, v: Any) -> Any:
    """H v, (6,)."""
    m = _mobilizer(c, node)
    return _product(c, across_H(c, node), c._numbers.as_float_array(v, "v", (m.num_velocities,)), 6)


def across_acceleration(c: Any, node: int, vdot: Any) -> Any:
    """H vdot + Hdot v, (6,), with the v of the Context."""
    m = _mobilizer(c, node)
    x = c._numbers.as_float_array(vdot, "vdot", (m.num_velocities,))
    bias = fold(c._evaluate(Quantity.HINGE_BIAS), c.tree.num_bodies, 6)[..., node, :]
    return _product(c, across_H(c, node), x, 6) + bias


def project_force(c: Any, node: int, F: Any, out: Any) -> Any:
    """H' F, (nv,)."""
    m = _mobilizer(c, node)
    F = c._numbers.as_float_array(F, "F_Mo_F", (6,))
    return c._numbers.write(out, _product(c, transpose(across_H(c, node)), F, m.num_velocities), "out")


def velocity_to_qdot(c: Any, node: int, v: Any, out: Any) -> Any:
    """N v, (nq,)."""
    return _mapped(c, node, N_matrix(c, node), v, "v", out)


def qdot_to_velocity(c: Any, node: int, qdot: Any, out: Any) -> Any:
    """N+ qdot, (nv,)."""
    return _mapped(c, node, Nplus_matrix(c, node), qdot, "qdot", out)


def acceleration_to_qddot(c: Any, node: int, vdot: Any, out: Any) -> Any:
    """N vdot + Ndot v, (nq,)."""
    m = _mobilizer(c, node)
    bias = _product(c, Ndot_matrix(c, node), m.get_velocities(c), m.num_positions)
    x = c._numbers.as_float_array(vdot, "vdot", (m.num_velocities,))
    return c._numbers.write(out, _product(c, N_matrix(c, node), x, m.num_positions) + bias, "out")


def qddot_to_acceleration(c: Any, node: int, qddot: Any, out: Any) -> Any:
    """N+ qddot + N+dot qdot, (nv,), with qdot = N v."""
    m = _mobilizer(c, node)
    qdot = _product(c, N_matrix(c, node), m.get_velocities(c), m.num_positions)
    bias = _product(c, Nplusdot_matrix(c, node), qdot, m.num_velocities)
    x = c._numbers.as_float_array(qddot, "qddot", (m.num_positions,))
    return c._numbers.write(out, _product(c, Nplus_matrix(c, node), x, m.num_velocities) + bias, "out")


def N_matrix(c: Any, node: int) -> Any:
    """N, (nq, nv)."""
    return _block(c, node, Quantity.N_MATRIX)


def Nplus_matrix(c: Any, node: int) -> Any:
    """N+, (nv, nq)."""
    return _block(c, node, Quantity.NPLUS_MATRIX)


def Ndot_matrix(c: Any, node: int) -> Any:
    """Return the rate of N, (nq, nv)."""
    return _block(c, node, Quantity.NDOT_MATRIX)


def Nplusdot_matrix(c: Any, node: int) -> Any:
    """Return the rate of N+, (nv, nq)."""
    return _block(c, node, Quantity.NPLUSDOT_MATRIX)


def _positions(m: Mobilizer) -> slice:
    return slice(m.position_start, m.position_start + m.num_positions)


def _dofs(m: Mobilizer) -> slice:
    return slice(m.velocity_start, m.velocity_start + m.num_velocities)


def _block(c: Any, node: int, quantity: Quantity) -> Any:
    m = _mobilizer(c, node)
    matrix = c._evaluate(quantity, None, node)
    if quantity in (Quantity.N_MATRIX, Quantity.NDOT_MATRIX):
        matrix = fold(matrix, c.tree.num_positions, c.tree.num_velocities)
        return matrix[..., _positions(m), _dofs(m)].copy()
    matrix = fold(matrix, c.tree.num_velocities, c.tree.num_positions)
    return matrix[..., _dofs(m), _positions(m)].copy()


def _mapped(c: Any, node: int, matrix: Any, x: Any, name: str, out: Any) -> Any:
    rows, columns = matrix.shape[-2:]
    x = c._numbers.as_float_array(x, name, (columns,))
    return c._numbers.write(out, _product(c, matrix, x, rows), "out")


def _product(c: Any, matrix: Any, x: Any, rows: int) -> Any:
    """``matrix @ x``, where there may be no columns."""
    return rotate(matrix, x) if x.shape[-1] else c._numbers.zeros((*c.batch_shape, rows), matrix)
