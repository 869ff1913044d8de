"""Reference values of small models, one for each joint type and force element: see tests/data/elements."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from support.description import Array

FOLDER = Path(__file__).parents[1] / "data" / "elements"

# Meaning of the axes of an array after the first, which counts states: (b)odies, (j)oints, (q) and (v)
# coordinates, (a)ctuators; a dot is a plain component.
AXES = {
    "q": "q",
    "v": "v",
    "vdot": "v",
    "tau_applied": "v",
    "F_applied": "b.",
    "actuation": "a",
    "X_WB": "b..",
    "V_WB": "b.",
    "A_WB": "b.",
    "M": "vv",
    "Cv": "v",
    "tau_g": "v",
    "tau_id_nograv": "v",
    "tau_id_grav": "v",
    "tau_id_full": "v",
    "tau_id_ext": "v",
    "JtF": "v",
    "vdot_fd": "v",
    "A_WB_fd": "b.",
    "com_a_fd": ".",
    "reaction_CJc_Jc": "j.",
    "J_WB": "b.v",
    "J_WB_qdot": "b.q",
    "J_com": ".v",
    "Jdotv_WB": "b.",
    "PE": "",
    "KE": "",
    "power_conservative": "",
    "power_nonconservative": "",
    "mass": "",
    "com": ".",
    "com_v": ".",
    "L_WWo_W": ".",
    "N": "qv",
    "Nplus": "vq",
    "qdot": "q",
    "Ndot": "qv",
    "X_WF": "j..",
    "X_WM": "j..",
    "X_FM": "j..",
    "V_FM_F": "j.",
    "tau_damping": "v",
    "fe_generalized": "v",
    "fe_body_W": "b.",
    "tau_fe_total": "v",
    "dID_dq": "vq",
    "dID_dv": "vv",
    "dID_dvdot": "vv",
    "dID_dq_N": "vv",
    "dFD_dq": "vq",
    "dFD_dv": "vv",
    "dFD_dq_N": "vv",
}
KINEMATIC = (
    *("X_WB", "V_WB", "A_WB", "J_WB", "J_WB_qdot", "J_com", "Jdotv_WB", "X_WF", "X_WM", "X_FM", "V_FM_F"),
    *("N", "Nplus", "qdot", "Ndot", "mass", "com", "com_v"),
)
FORWARD = ("vdot_fd", "A_WB_fd", "com_a_fd", "reaction_CJc_Jc", "dFD_dq_N", "dFD_dv")


def tolerance(quantity: str) -> float:
    """Return the largest allowed ``max |a - b| / (1 + max |b|)`` over the array of one state.

    The reference agrees with a second program to a hundredth of this.
    """
    if quantity in KINEMATIC:
        return 1e-11
    return 1e-8 if quantity in FORWARD else 1e-10


class ElementCase:
    """A model of the collection, and its values in any order of bodies, joints and coordinates."""

    num_states = 3

    def __init__(self, name: str) -> None:
        self.name = name
        self.description: dict[str, Any] = _models()[name]
        with np.load(FOLDER / "values.npz") as values:
            flat = values[name]
        self.arrays: dict[str, Array] = {}
        start = 0
        for quantity, shape in self.description["arrays"].items():
            size = int(np.prod(shape))
            self.arrays[quantity] = flat[start : start + size].reshape(shape)
            start += size
        assert start == flat.size
        order = self.description["order"]
        self._order: dict[str, list[Any]] = {
            "b": order["body"],
            "j": order["joint"],
            "q": [tuple(label) for label in order["q"]],
            "v": [tuple(label) for label in order["v"]],
            "a": order["actuator"],
        }

    def get(self, quantity: str, state: int, wanted: dict[str, Sequence[Any]]) -> Array:
        """Return a quantity of a state with its axes in the `wanted` order of labels."""
        array = self.arrays[quantity][state]
        for axis, kind in enumerate(AXES[quantity]):
            if kind != ".":
                have = self._order[kind]
                array = np.take(array, [have.index(label) for label in wanted[kind]], axis)
        return np.asarray(array)


@cache
def _models() -> dict[str, Any]:
    models: dict[str, Any] = json.loads((FOLDER / "models.json").read_text(encoding="utf-8"))
    return models


@cache
def get_element_case(name: str) -> ElementCase:
    return ElementCase(name)


ELEMENT_CASES = tuple(_models())
