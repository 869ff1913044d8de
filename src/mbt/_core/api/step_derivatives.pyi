import numpy.typing as npt

from mbt.math.arrays import FloatArray

def step_derivatives(
    tree: object, q: npt.ArrayLike, v: npt.ArrayLike, tau: npt.ArrayLike, dt: object, method: int, out: object
) -> tuple[FloatArray, FloatArray] | None: ...
