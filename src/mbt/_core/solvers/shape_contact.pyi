import numpy as np
import numpy.typing as npt
from typing_extensions import Self, disjoint_base

from mbt._core.geometry.scene import Scene
from mbt.math.arrays import FloatArray

@disjoint_base
class ContactCore:
    scene: Scene
    def __new__(
        cls, scene: Scene, stiffness: FloatArray, dissipation: FloatArray, friction: FloatArray
    ) -> Self: ...
    def find(
        self, X_WB: FloatArray, margin: float
    ) -> tuple[npt.NDArray[np.intp], FloatArray, FloatArray, FloatArray]: ...
