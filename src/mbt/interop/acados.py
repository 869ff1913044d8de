"""Models for acados: the equations of motion as expressions of CasADi, under acados' names for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from mbt.errors import ArgumentTypeError, MissingPackageError
from mbt.interop.parameters import evaluate_with_parameters, get_parameter, parameter_shape
from mbt.math.arrays import FloatArray, as_finite_array
from mbt.tree import MultibodyTree

try:
    import casadi
except ImportError as error:
    raise MissingPackageError(
        "mbt.interop.acados needs casadi 3.6 or newer, which is not installed: "
        "pip install 'multibodytree[casadi]'"
    ) from error

__all__ = ["make_model"]


def make_model(
    tree: MultibodyTree, name: str, *, actuation: Any = None, parameters: Iterable[Any] = ()
) -> tuple[dict[str, Any], FloatArray]:
    """Return the equations of motion under the attribute names of acados' `AcadosModel`.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    name : str
        The name of the model.
    actuation : array_like, shape (num_velocities, nu), optional
        The matrix B of generalized forces ``tau = B u``; by default the identity, often
        ``tree.actuation_matrix``.
    parameters : iterable of MultibodyElement or the tree, optional
        The elements whose parameters become the symbols `p`: the mass of a body, the pose of a fixed offset
        frame (16 numbers, row by row), the vector of uniform gravity, or the inertial parameters of all
        bodies of a tree.

    Returns
    -------
    model : dict
        ``name``; the symbols ``x = [q; v]``, ``xdot``, ``u`` and ``p``; ``f_expl_expr``, which is
        xdot, and ``f_impl_expr``, which is zero: by inverse dynamics, unless the tree has constraints;
        ``x_labels`` and ``u_labels``. Symbols are casadi.SX.
    values : ndarray, shape (np,)
        The current parameters of the tree, for ``parameter_values``.

    Raises
    ------
    ArgumentTypeError
        When `tree` is not a tree of doubles, or an element has no parameter, or several.
    ShapeError, ArgumentValueError
        When `actuation` is not such a matrix.

    Examples
    --------
    >>> import mbt.interop.acados
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> model, values = mbt.interop.acados.make_model(tree, "arm")
    >>> model["x"].shape, model["f_expl_expr"].shape
    ((12, 1), (12, 1))
    """
    if not isinstance(tree, MultibodyTree) or tree.scalar_type.name != "double":
        raise ArgumentTypeError(f"tree: expected a MultibodyTree of doubles, got {tree!r}")
    if not isinstance(name, str):
        raise ArgumentTypeError(f"name: expected text, got {type(name).__name__}")
    twin, owners = tree.clone_to_scalar("casadi"), tuple(parameters)
    nq, nv = tree.num_positions, tree.num_velocities
    shapes = [parameter_shape(tree, owner) for owner in owners]
    B = np.eye(nv) if actuation is None else as_finite_array(actuation, "actuation", (nv, None))
    x, xdot = casadi.SX.sym("x", nq + nv), casadi.SX.sym("xdot", nq + nv)
    u, p = casadi.SX.sym("u", B.shape[1]), casadi.SX.sym("p", sum(int(np.prod(s)) for s in shapes))
    q, v, qdot, vdot = _entries(x)[:nq], _entries(x)[nq:], _entries(xdot)[:nq], _entries(xdot)[nq:]
    tau = _entries(casadi.sparsify(casadi.SX(B)) @ u)
    ends = np.cumsum([np.prod(s, dtype=int) for s in shapes])[:-1]
    values = np.split(_entries(p), ends) if owners else []
    own = {
        twin if owner is tree else twin.get_variant(owner): value.reshape(shape) if shape else value[0]
        for owner, value, shape in zip(owners, values, shapes, strict=True)
    }

    def evaluate(function: str, **operands: Any) -> Any:
        return evaluate_with_parameters(twin, function, {}, {"q": q, "v": v, **operands}, own)

    context = twin.create_default_context()
    context.q = q
    rates = twin.map_velocity_to_qdot(context, v)
    f_expl = _column([*rates, *evaluate("forward_dynamics", tau=tau)])
    if tree.num_constraint_equations:
        f_impl = xdot - f_expl
    else:
        f_impl = _column([*(qdot - rates), *(evaluate("inverse_dynamics", vdot=vdot) - tau)])
    default = tree.create_default_context()
    present = [np.ravel(get_parameter(tree, default, owner)) for owner in owners]
    model = {
        "name": name,
        "x": x,
        "xdot": xdot,
        "u": u,
        "p": p,
        "f_expl_expr": f_expl,
        "f_impl_expr": f_impl,
        "x_labels": [*tree.position_names, *tree.velocity_names],
        "u_labels": [f"u{i}" for i in range(B.shape[1])],
    }
    return model, np.concatenate(present) if present else np.zeros(0)


def _entries(matrix: Any) -> Any:
    array = np.empty(matrix.shape[0], dtype=object)
    for i in range(len(array)):
        array[i] = matrix[i]
    return array


def _column(entries: Any) -> Any:
    return casadi.sparsify(casadi.vertcat(*entries))
