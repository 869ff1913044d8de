import numpy.typing as npt

from mbt._core.engines.context import ContextCore
from mbt.math.arrays import FloatArray

def step(
    tree: object, q: npt.ArrayLike, v: npt.ArrayLike, tau: npt.ArrayLike, dt: object, method: int, out: object
) -> tuple[FloatArray, FloatArray] | None: ...
def roll_out(
    tree: object,
    q0: npt.ArrayLike,
    v0: npt.ArrayLike,
    tau: npt.ArrayLike,
    dt: object,
    method: int,
    every: object,
    out: object,
) -> tuple[FloatArray, FloatArray] | None: ...
def roll_out_context(
    context: ContextCore, tau: object, dt: object, method: int, every: object, out: object
) -> tuple[FloatArray, FloatArray] | None: ...
