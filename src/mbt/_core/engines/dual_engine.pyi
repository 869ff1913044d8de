from typing import Any

from typing_extensions import Self, disjoint_base

from mbt._core.door.compiled_model import CompiledModel
from mbt._core.engines.context import ContextCore, Engine
from mbt.autodiff import AutoDiffArray
from mbt.math.arrays import FloatArray

@disjoint_base
class DualArray:
    """Numbers with derivatives, as they came and in blocks of MBT_W directions; constants are one block that goes with
    any.
    """

@disjoint_base
class DualEngine(Engine):
    """Values and derivatives. Of arguments, the arrays are float64 and C-contiguous."""

    def __new__(cls, compiled: CompiledModel, numbers: Any = None) -> Self: ...
    def set_q(self, value: FloatArray, derivatives: FloatArray) -> None:
        """Take positions, (nq,) and (nq, directions)."""

    def set_v(self, value: FloatArray, derivatives: FloatArray) -> None:
        """Take velocities, (nv,) and (nv, directions)."""

    def set_parameters(self, value: FloatArray, derivatives: FloatArray) -> None:
        """Take parameters, (size,) and (size, directions)."""

    def evaluate_parts(
        self, context: ContextCore, quantity: int, integers: tuple[int, ...], x: Any, outs: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Return the parts of a `Quantity` along its first axis, written into those of `outs` that are not None."""

    def evaluate_numbers(
        self,
        context: ContextCore,
        quantity: int,
        integers: tuple[int, ...],
        x: FloatArray | None,
        dx: FloatArray | None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return values, (n,), and derivatives, (n, directions), of a `Quantity`.

        `x` and `dx` are the input and its derivatives; None stands for no input, and for a constant.
        """

    def take_q(self, context: ContextCore, value: object) -> bool:
        """Take an AutoDiffArray or ndarray as positions of a Context; return whether that needed no conversion."""

    def take_v(self, context: ContextCore, value: object) -> bool:
        """Take an AutoDiffArray or ndarray as velocities of a Context; return whether that needed no conversion."""

    def get_q(self) -> AutoDiffArray:
        """Return the positions, an AutoDiffArray."""

    def get_v(self) -> AutoDiffArray:
        """Return the velocities, an AutoDiffArray."""
