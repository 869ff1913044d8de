from typing import Any

from typing_extensions import Self, disjoint_base

from mbt._core.door.compiled_model import Derived
from mbt._core.engines.context import ContextCore
from mbt.math.arrays import FloatArray
from mbt.tree.multibody_tree import MultibodyTree

def derived_of(context: ContextCore) -> Derived: ...

@disjoint_base
class ImplicitCore:
    def __new__(
        cls, context: ContextCore, given: Derived, own: Derived, constants: dict[str, Any]
    ) -> Self: ...
    def set_servo_targets(self, q_d: FloatArray, v_d: FloatArray) -> None: ...
    def step(
        self, tree: MultibodyTree, q: FloatArray, v: FloatArray, tau: FloatArray, dt: float
    ) -> tuple[FloatArray, FloatArray] | None: ...
    def take(
        self,
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
    ) -> bool: ...
    def roll_out(
        self,
        q0: FloatArray,
        v0: FloatArray,
        tau: FloatArray,
        dt: float,
        kept: int,
        every: int,
        q: FloatArray,
        v: FloatArray,
    ) -> bool: ...
