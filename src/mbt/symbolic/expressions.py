"""Quantities of a tree as symbolic expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote, unknown_name_error
from mbt.symbolic.scalar_type import ScalarType

__all__ = ["OF_A_FRAME", "Arrays", "check_choice", "express", "make_expressions"]

Arrays = dict[str, Any]


class _Quantity(NamedTuple):
    inputs: str
    outputs: str
    compute: Callable[..., Any]


_QUANTITIES = {
    "inverse_dynamics": _Quantity(
        "q v vdot", "tau", lambda tree, c, x: tree.calc_inverse_dynamics(c, x, include_force_elements=True)
    ),
    "forward_dynamics": _Quantity(
        "q v tau", "vdot", lambda tree, c, x: tree.calc_forward_dynamics(c, x)
    ),
    "mass_matrix": _Quantity("q", "M", lambda tree, c: tree.calc_mass_matrix(c)),
    "bias_term": _Quantity("q v", "Cv", lambda tree, c: tree.calc_bias_term(c)),
    "gravity_generalized_forces": _Quantity(
        "q", "tau_g", lambda tree, c: tree.calc_gravity_generalized_forces(c)
    ),
    "body_poses": _Quantity("q", "X_WB", lambda tree, c: tree.eval_position_kinematics(c).X_WB),
    "frame_pose": _Quantity("q", "X_WF", lambda tree, c, *, frame: frame.calc_pose_in_world(c)),
    "center_of_mass": _Quantity(
        "q", "p_WCcm", lambda tree, c: tree.calc_center_of_mass_position_in_world(c)
    ),
    "frame_jacobian": _Quantity("q", "J", lambda tree, c, *, frame: _calc_frame_jacobian(tree, c, frame)),
    "inverse_dynamics_derivatives": _Quantity(
        "q v vdot", "dtau_dq dtau_dv M",
        lambda tree, c, x: tree.calc_inverse_dynamics_derivatives(c, x, include_force_elements=True),
    ),
    "forward_dynamics_derivatives": _Quantity(
        "q v tau", "dvdot_dq dvdot_dv M_inverse",
        lambda tree, c, x: tree.calc_forward_dynamics_derivatives(c, x),
    ),
}  # fmt: skip

#: The quantities that take a frame.
OF_A_FRAME = ("frame_pose", "frame_jacobian")


def make_expressions(
    tree: Any, quantity: str, scalar: str = "sympy", *, frame: Any = None
) -> tuple[Arrays, Arrays]:
    """Return the symbols that a quantity depends on, and its expressions.

    Parameters have the tree's defaults. Gravity, the other force elements and joint damping act; actuation
    does not.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    quantity : str
        A function of `mbt.functional`: "inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_term",
        "gravity_generalized_forces", "body_poses", "frame_pose", "center_of_mass", "frame_jacobian",
        "inverse_dynamics_derivatives" or "forward_dynamics_derivatives".
    scalar : {"sympy", "casadi"}, optional
        The library of the symbols.
    frame : Frame or str, optional
        The frame, or its name, for "frame_pose" and "frame_jacobian" only.

    Returns
    -------
    inputs, outputs : dict of str to ndarray of object
        Arrays named as in `mbt.functional`: for inverse dynamics q, v, vdot and tau. The names of symbols
        contain their index: ``q0``, ``q1`` in SymPy, ``q_0``, ``q_1`` in CasADi.

    Raises
    ------
    UnknownNameError
        When the quantity does not exist, or the scalar has no symbols.
    ArgumentTypeError, ArgumentValueError
        When `tree` is not a tree, or `frame` is missing or not applicable.
    NotFinalizedError
        Before ``finalize()``.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.point_mass(3.0, [0, 0, -2])))
    >>> pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, ball, None, axis=[0, 1, 0])
    >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -10]))
    >>> tree.finalize()
    >>> inputs, outputs = mbt.symbolic.make_expressions(tree, "inverse_dynamics")
    >>> outputs["tau"]
    array([12*vdot0 + 60*sin(q0)], dtype=object)
    """
    check_choice("scalar", scalar, list(_SYMBOLS))
    return express(tree, quantity, scalar, _SYMBOLS[scalar], frame)


def express(
    tree: Any,
    quantity: object,
    scalar: str | ScalarType,
    symbols: Callable[[str, int], list[Any]],
    frame: Any,
) -> tuple[Arrays, Arrays]:
    """Return the result of `make_expressions` in any scalar: ``symbols(name, size)`` makes an input."""
    if not callable(getattr(tree, "clone_to_scalar", None)):
        raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {type(tree).__name__}")
    chosen = _QUANTITIES[check_choice("quantity", quantity, list(_QUANTITIES))]
    if (frame is not None) != (quantity in OF_A_FRAME):
        raise ArgumentValueError(
            f"frame: expected a frame for {quote(quantity)}, got None"
            if frame is None
            else f"frame: only {' and '.join(map(quote, OF_A_FRAME))} take a frame, not {quote(quantity)}"
        )
    if isinstance(frame, str):
        frame = tree._elements.frame_named(frame, "frame")
    elif frame is not None and not hasattr(frame, "calc_pose_in_world"):
        raise ArgumentTypeError(f"frame: expected a Frame or its name, got {type(frame).__name__}")
    twin = tree.clone_to_scalar(scalar)
    inputs = {}
    for name in chosen.inputs.split():
        size = twin.num_positions if name == "q" else twin.num_velocities
        inputs[name] = _as_array(symbols(name, size))
    context = twin.create_default_context()
    context.q = inputs["q"]
    if "v" in inputs:
        context.v = inputs["v"]
    rest = [array for name, array in inputs.items() if name not in ("q", "v")]
    options = {} if frame is None else {"frame": twin.get_variant(frame)}
    results = chosen.compute(twin, context, *rest, **options)
    names = chosen.outputs.split()
    return inputs, dict(zip(names, results if len(names) > 1 else [results], strict=True))


def check_choice(name: str, value: object, known: list[str]) -> str:
    """Return a word after checking that it is among those known."""
    if not isinstance(value, str):
        raise ArgumentTypeError(f"{name}: expected one of {', '.join(known)}, got {type(value).__name__}")
    if value not in known:
        raise unknown_name_error(name, value, known)
    return value


def _calc_frame_jacobian(tree: Any, context: Any, frame: Any) -> Any:
    world = tree.world_frame
    return tree.calc_jacobian_spatial_velocity(context, "v", frame, [0, 0, 0], world, world)


def _as_array(objects: list[Any]) -> Any:
    array = np.empty(len(objects), dtype=object)
    for i, entry in enumerate(objects):
        array[i] = entry
    return array


def _sympy_symbols(name: str, size: int) -> list[Any]:
    import sympy as sp

    return [sp.Symbol(f"{name}{i}") for i in range(size)]


def _casadi_symbols(name: str, size: int) -> list[Any]:
    import casadi

    symbols = casadi.SX.sym(name, size)
    return [symbols[i] for i in range(size)]


_SYMBOLS = {"sympy": _sympy_symbols, "casadi": _casadi_symbols}
