from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from typing_extensions import Self, disjoint_base

from mbt._core.engines.context import ContextCore
from mbt._core.solvers.shape_contact import ContactCore
from mbt.math.arrays import FloatArray
from mbt.scalars.sample_parameters import SampleParameters
from mbt.tree.multibody_tree import MultibodyTree

CONSTANTS: dict[str, float]

@disjoint_base
class ImplicitCore:
    def __new__(
        cls,
        context: ContextCore,
        count: int,
        given: FloatArray | SampleParameters,
        own: FloatArray,
        constants: dict[str, Any],
        contacts: ContactCore | None = None,
        sweeps: bool | None = None,
    ) -> Self: ...
    @property
    def count(self) -> int: ...
    @property
    def has_sweeps(self) -> bool: ...
    def set_servo_targets(self, q_d: FloatArray, v_d: FloatArray) -> None: ...
    def step(
        self, tree: MultibodyTree, q: ArrayLike, v: ArrayLike, tau: ArrayLike, dt: float, out: object
    ) -> tuple[FloatArray, FloatArray] | None: ...
    def roll_out(
        self, tree: MultibodyTree, q0: ArrayLike, v0: ArrayLike, tau: ArrayLike, dt: float, every: int
    ) -> tuple[FloatArray, FloatArray] | None: ...
    def differentiate_one(
        self, tree: MultibodyTree, q: ArrayLike, v: ArrayLike, tau: ArrayLike, dt: float
    ) -> tuple[FloatArray, FloatArray] | None: ...
    def differentiate(
        self, q: FloatArray, v: FloatArray, tau: FloatArray, dt: float, num_threads: int
    ) -> tuple[FloatArray, FloatArray, npt.NDArray[np.bool_]] | None: ...
    def touch(
        self,
        sample: int,
        q: FloatArray,
        v: FloatArray,
        v1: FloatArray,
        along: FloatArray,
        lengths: FloatArray,
    ) -> tuple[FloatArray, FloatArray]: ...

def roll_out(
    core: ImplicitCore,
    q0: FloatArray,
    v0: FloatArray,
    tau: FloatArray,
    dt: float,
    kept: int,
    every: int,
    q: FloatArray,
    v: FloatArray,
    num_threads: int,
) -> Any: ...
def take(
    core: ImplicitCore,
    q0: FloatArray,
    v0: FloatArray,
    tau: FloatArray,
    bias: FloatArray | None,
    dt: float,
    q: FloatArray,
    v: FloatArray,
    iterations: Any,
    residual: FloatArray,
    at_limit: Any,
    saturated: Any,
    is_clipped: Any,
    drive: FloatArray,
    told: FloatArray,
    num_threads: int,
) -> Any: ...
