from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
from typing_extensions import disjoint_base

from mbt.math.arrays import FloatArray

PARAMETER_SECTIONS: tuple[str, ...]

@disjoint_base
class CompiledModel:
    def __init__(
        self,
        *,
        parent_node: npt.ArrayLike,
        mobilizer_type: npt.ArrayLike,
        mobilizer_reversed: npt.ArrayLike,
        q_start: npt.ArrayLike,
        v_start: npt.ArrayLike,
        inboard_frame: npt.ArrayLike,
        outboard_frame: npt.ArrayLike,
        frame_parent: npt.ArrayLike,
        frame_node: npt.ArrayLike,
        actuator_dof: npt.ArrayLike,
        mobilizer_constants: Sequence[npt.ArrayLike],
        frame_X_PF: npt.ArrayLike,
        mass: npt.ArrayLike,
        p_BoBcm_B: npt.ArrayLike,
        G_BBo_B: npt.ArrayLike,
        J_BBo_B: npt.ArrayLike,
        gravity: npt.ArrayLike,
        damping: npt.ArrayLike,
        force_type: Sequence[int],
        force_places: Sequence[tuple[int, int]],
        force_parameters: Sequence[npt.ArrayLike],
        weightless: Sequence[int],
        rotor_inertia: npt.ArrayLike,
        gear_ratio: npt.ArrayLike,
        default_q: npt.ArrayLike,
    ) -> None: ...
    @property
    def default_parameters(self) -> FloatArray: ...
    @property
    def default_q(self) -> FloatArray: ...
    @property
    def has_long_branches(self) -> bool: ...
    @property
    def has_dense_derivatives(self) -> bool: ...
    @property
    def has_massless_inboard(self) -> bool: ...
    @property
    def defaults(self) -> Derived: ...
    def mark_massless(self, inertias: npt.ArrayLike) -> None: ...
    def parameter_slice(self, section: str, index: int) -> slice[int, int, None]: ...

@disjoint_base
class Derived:
    def __new__(cls, compiled: CompiledModel, parameters: FloatArray) -> Derived: ...

def join_numbers(arrays: list[Any]) -> FloatArray: ...
