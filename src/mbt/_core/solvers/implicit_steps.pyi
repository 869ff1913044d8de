from typing import Any

from typing_extensions import Self, disjoint_base

from mbt._core.door.compiled_model import Derived
from mbt._core.engines.context import ContextCore
from mbt._core.solvers.shape_contact import ContactCore
from mbt.math.arrays import FloatArray
from mbt.tree.multibody_tree import MultibodyTree

CONSTANTS: dict[str, float]

def derived_of(context: ContextCore) -> Derived: ...

@disjoint_base
class ImplicitCore:
    def __new__(
        cls,
        context: ContextCore,
        given: Derived,
        own: Derived,
        constants: dict[str, Any],
        contacts: ContactCore | None = None,
    ) -> Self: ...
    def set_servo_targets(self, q_d: FloatArray, v_d: FloatArray) -> None: ...
    def step(
        self, tree: MultibodyTree, q: FloatArray, v: FloatArray, tau: FloatArray, dt: float
    ) -> tuple[FloatArray, FloatArray] | None: ...
    def touch(
        self, q: FloatArray, v: FloatArray, v1: FloatArray, along: FloatArray, lengths: FloatArray
    ) -> tuple[FloatArray, FloatArray]: ...

def roll_out(
    cores: list[ImplicitCore],
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
    cores: list[ImplicitCore],
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
