"""Models that come with mbt, states of them, and the results of `mbt.functional` there."""

from __future__ import annotations

from typing import Any

import numpy as np

import mbt
from mbt import functional
from mbt.models import model_names, model_path
from support.description import Array

MODELS = [(name, base) for name in model_names() for base in ("fixed", "floating")]
#: Names of the results, by quantity.
QUANTITIES = {
    "inverse_dynamics": ("tau",),
    "forward_dynamics": ("vdot",),
    "mass_matrix": ("M",),
    "bias_term": ("Cv",),
    "gravity_generalized_forces": ("tau_g",),
    "body_poses": ("X_WB",),
    "frame_pose": ("X_WF",),
    "center_of_mass": ("p_WCcm",),
    "frame_jacobian": ("J",),
    "inverse_dynamics_derivatives": ("dtau_dq", "dtau_dv", "M"),
    "forward_dynamics_derivatives": ("dvdot_dq", "dvdot_dv", "M_inverse"),
}


def load(name: str, base: str) -> mbt.MultibodyTree:
    return mbt.load_model(model_path(name), base=base)


def random_inputs(tree: mbt.MultibodyTree, names: Any, seed: int) -> list[Array]:
    """Return valid positions for q, and any numbers for the others."""
    rng = np.random.default_rng(seed)
    return [
        tree.random_positions(rng) if name == "q" else rng.uniform(-1, 1, tree.num_velocities)
        for name in names
    ]


def last_frame(tree: mbt.MultibodyTree) -> mbt.Frame:
    return tree.bodies[-1].body_frame


def evaluate(tree: mbt.MultibodyTree, quantity: str, x: list[Array]) -> list[Array]:
    """Return results in doubles."""
    frame = (last_frame(tree),) if quantity.startswith("frame_") else ()
    result = getattr(functional, quantity)(tree, *x, *frame)
    return list(result) if isinstance(result, tuple) else [result]


def rounding(tree: mbt.MultibodyTree, quantity: str, x: list[Array], wanted: Array) -> float:
    """Tolerance for rounding: some last digits of the largest entry, times a condition number."""
    scale = 64 * np.finfo(float).eps * max(1.0, float(np.max(np.abs(wanted), initial=0.0)))
    if quantity.startswith("forward") and tree.num_velocities:
        scale *= np.linalg.cond(functional.mass_matrix(tree, x[0]))
    return float(scale)
