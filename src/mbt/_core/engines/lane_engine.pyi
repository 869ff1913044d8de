import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from mbt._core.door.compiled_model import CompiledModel
from mbt._core.engines.context import ContextCore, Engine
from mbt.math.arrays import FloatArray

@disjoint_base
class LaneParameters:
    """What kernels read, the same in every lane, and in one state of doubles."""

    def __new__(cls, compiled: CompiledModel, vector: npt.ArrayLike) -> Self: ...

def lane_parameters(compiled: CompiledModel, vector: npt.ArrayLike) -> LaneParameters:
    """What kernels read of one parameter vector; of the default one always the same object."""

def get_num_threads() -> int: ...
def set_num_threads(n: int) -> None: ...
def lane_count() -> int:
    """States in a Lanes, and partial derivatives in a Dual."""

def count_outputs(compiled: CompiledModel, quantity: int, integers: tuple[int, ...] = ()) -> int:
    """Numbers of a `Quantity`, of one sample."""

@disjoint_base
class LaneEngine(Engine):
    """What the samples of one Context are computed from: q and v, one row for all samples or one for each, and
    parameters, of which samples have their own in some columns.
    """

    def __new__(cls, compiled: CompiledModel, batch_shape: tuple[int, ...]) -> Self: ...
    def set_q(self, q: FloatArray | None) -> None:
        """Take positions; None lets go of them."""

    def set_v(self, v: FloatArray | None) -> None:
        """Take velocities; None lets go of them."""

    def set_parameters(
        self, vector: npt.ArrayLike, columns: npt.ArrayLike | None, rows: FloatArray | None
    ) -> None:
        """Take parameters: those of all samples, and `rows` of those in `columns` that samples have of their own."""

    def evaluate_parts(
        self,
        context: ContextCore,
        quantity: int,
        integers: tuple[int, ...],
        x: FloatArray | None,
        outs: tuple[FloatArray | None, ...],
    ) -> tuple[FloatArray, ...]:
        """Return the parts of a quantity along its first axis, written into those of `outs` that are not None."""

    def roll_out(
        self,
        context: ContextCore,
        integers: tuple[int, ...],
        x: FloatArray,
        tau: FloatArray,
        q_end: FloatArray,
        v_end: FloatArray,
        q: FloatArray,
        v: FloatArray,
        first_row: int,
    ) -> None:
        """Go on with all samples by a rollout, and keep its states.

        Parameters
        ----------
        context : ContextCore
            It tells which dofs are locked, and which bodies weigh nothing.
        integers : tuple of int
            Of the quantity ROLLOUT.
        x : ndarray
            dt, and forces on bodies where there are any: one row for all samples, or one for each.
        tau : ndarray, shape (1 or count, 1 or T, nv)
            Generalized forces of each step, or of all.
        q_end, v_end : ndarray, shapes (count, nq), (count, nv)
            The states at the beginning, which become those at the end.
        q, v : ndarray, shapes (count, num_rows, nq), (count, num_rows, nv)
            The states that are kept are written into these.
        first_row : int
            Which of their rows the first one is.
        """

def evaluate(
    context: ContextCore,
    quantity: int,
    integers: tuple[int, ...],
    count: int,
    parameters: LaneParameters,
    columns: npt.ArrayLike | None,
    rows: FloatArray | None,
    q: FloatArray,
    v: FloatArray,
    x: FloatArray,
    outputs: tuple[FloatArray, ...],
) -> None:
    """Evaluate a `Quantity` of `count` samples into `outputs`, arrays that are equal parts of the result.

    `context` tells which dofs are locked, and which bodies weigh nothing. `rows` are the parameters in `columns` of
    each sample; None where none differ. It, q, v and the input `x` have one row for each sample, or one for all.
    Samples without a result are NaN.
    """
