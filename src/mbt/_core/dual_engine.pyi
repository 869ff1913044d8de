from typing_extensions import Self, disjoint_base

from mbt._core.context import ContextCore
from mbt._core.model import CompiledModel
from mbt.autodiff import AutoDiffArray
from mbt.math.arrays import FloatArray

@disjoint_base
class DualArray:
    """Numbers with derivatives, as they came and in blocks of MBT_W directions; constants are one block that goes with
    any.
    """

@disjoint_base
class DualEngine:
    """Values and derivatives. Of arguments, the arrays are float64 and C-contiguous."""

    def __new__(cls, compiled: CompiledModel) -> Self: ...
    def set_q(self, value: FloatArray, derivatives: FloatArray) -> None:
        """Take positions, (nq,) and (nq, directions)."""

    def set_v(self, value: FloatArray, derivatives: FloatArray) -> None:
        """Take velocities, (nv,) and (nv, directions)."""

    def set_parameters(self, value: FloatArray, derivatives: FloatArray) -> None:
        """Take parameters, (size,) and (size, directions)."""

    def evaluate(
        self, context: ContextCore, quantity: int, index: int, x: FloatArray | None, dx: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Evaluate a `Quantity`, the parameters, q and v being set.

        The values of `context` serve the checks. `x` and `dx` are the third input and its derivatives; None stands
        for no such input, and for a constant. Returns values, (n,), and derivatives, (n, directions).
        """

    def run(self, context: ContextCore, quantity: int, x: object, square: bool) -> AutoDiffArray | None:
        """Evaluate a `Quantity` straight from an argument to an AutoDiffArray, as fast as that goes.

        `x` is an AutoDiffArray or an ndarray, or None for no input. The result has one axis, or is `square`, (nv, nv).
        Returns None for an argument that must be converted first.
        """

    def take_q(self, context: ContextCore, value: object) -> bool:
        """Take an AutoDiffArray or ndarray as positions of a Context; return whether that needed no conversion."""

    def take_v(self, context: ContextCore, value: object) -> bool:
        """Take an AutoDiffArray or ndarray as velocities of a Context; return whether that needed no conversion."""

    def get_q(self) -> AutoDiffArray:
        """Return the positions, an AutoDiffArray."""

    def get_v(self) -> AutoDiffArray:
        """Return the velocities, an AutoDiffArray."""
