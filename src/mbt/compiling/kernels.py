"""The addresses of mbt's own kernels, for callers outside Python; no C compiler is needed."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mbt._core.above import above
from mbt._core.quantities.names import Quantity
from mbt.errors import ArgumentTypeError, ArgumentValueError, quote, unknown_name_error

if TYPE_CHECKING:
    from mbt._core.api.native_kernels import KernelHandle

__all__ = ["NativeKernel", "native_kernel"]


class _Kernel(NamedTuple):
    quantity: Quantity
    inputs: str
    num_frames: int = 0  # how many of its integers, the first ones, are frames
    num_flags: int = 0  # how many flags follow, all zero
    is_of_zeros: bool = False  # its third input is zero and not an argument


_KERNELS = {
    "inverse_dynamics": _Kernel(Quantity.INVERSE_DYNAMICS, "q v vdot", num_flags=1),
    "forward_dynamics": _Kernel(Quantity.FORWARD_DYNAMICS, "q v tau", num_flags=1),
    "mass_matrix": _Kernel(Quantity.MASS_MATRIX, "q"),
    "bias_term": _Kernel(Quantity.MOTION_FORCES, "q v", num_flags=1, is_of_zeros=True),
    "gravity_generalized_forces": _Kernel(Quantity.GRAVITY_GENERALIZED_FORCES, "q"),
    "body_poses": _Kernel(Quantity.BODY_POSES, "q"),
    "center_of_mass": _Kernel(Quantity.CENTER_OF_MASS, "q"),
    "frame_pose": _Kernel(Quantity.FRAME_POSE_IN_WORLD, "q", num_frames=1),
    "frame_jacobian": _Kernel(Quantity.FRAME_JACOBIAN, "q", num_frames=1, num_flags=3),
}


def native_kernel(tree: Any, name: str, *, frame: Any = None) -> NativeKernel:
    """Return the address of a function of `mbt.functional` for one tree, to be called from C.

    It runs the same code as the function in Python: unlike `mbt.compile`, it needs no C compiler and takes no
    time to create, and its results are bitwise equal to those of `mbt.functional`.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree of doubles without force elements written in Python. Its default parameters are used.
    name : str
        "inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_term", "gravity_generalized_forces",
        "body_poses", "center_of_mass", "frame_pose" or "frame_jacobian".
    frame : Frame, RigidBody or str, optional
        The frame for "frame_pose" and "frame_jacobian"; not allowed for other functions.

    Returns
    -------
    NativeKernel
        Serves one caller at a time: create one for each thread.

    Raises
    ------
    UnknownNameError, ArgumentTypeError, ArgumentValueError
        When there is no such function, `tree` is not a MultibodyTree, has another scalar type or has force
        elements written in Python, or `frame` is missing or not allowed.
    ForeignElementError
        When the frame belongs to another tree.
    NotFinalizedError
        Before ``finalize()``.

    Examples
    --------
    >>> import numpy as np
    >>> import mbt
    >>> from mbt.compiling import native_kernel
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> native = native_kernel(tree, "mass_matrix")
    >>> call = native.signature(native.address)  # as C would see it
    >>> q, M = np.full(6, 0.3), np.empty((6, 6))
    >>> call(native.handle, q.ctypes.data, None, None, M.ctypes.data)
    0
    >>> np.array_equal(M, mbt.functional.mass_matrix(tree, q))
    True
    """
    from mbt._core.api.native_kernels import KernelHandle

    if not isinstance(name, str):
        raise ArgumentTypeError(f"name: expected the name of a function, got {quote(name)}")
    if name not in _KERNELS:
        raise unknown_name_error("function with an address", name, _KERNELS)
    if not isinstance(tree, above.MultibodyTree):
        raise ArgumentTypeError(f"tree: expected a MultibodyTree, got {type(tree).__name__}")
    if getattr(tree, "_scalar_type", None) is not None:
        raise ArgumentTypeError("tree: expected a tree of doubles; kernels of another scalar have no address")
    if tree._user_force_elements:
        raise ArgumentValueError("tree: it has force elements written in Python, which C cannot call")
    kernel = _KERNELS[name]
    if frame is None and kernel.num_frames:
        raise ArgumentTypeError(f"frame: expected a frame for {quote(name)}, got None")
    if frame is not None and not kernel.num_frames:
        raise ArgumentValueError(f"frame: {quote(name)} does not take a frame")
    frames = (above.frame_index(tree, frame, "frame"),) if kernel.num_frames else ()
    handle = KernelHandle(tree, kernel.quantity, (*frames, *[0] * kernel.num_flags), kernel.is_of_zeros)
    sizes = {
        argument: tree.num_positions if argument == "q" else tree.num_velocities
        for argument in kernel.inputs.split()
    }
    return NativeKernel(sizes, (handle.shape,), np.dtype(np.float64), handle)


@dataclass(frozen=True)
class NativeKernel:
    """The address of a kernel of mbt and its arguments, for C, Cython and other callers by address.

    Calls need neither Python nor the GIL, and allocate nothing. In C::

        int call(void* handle, const double* q, const double* v, const double* x, double* out);

    `x` is the third input. Inputs that `inputs` does not name are not read: pass NULL. All arrays are
    contiguous and of one state, and `out` must not overlap the others. Returns 0; or 1 if there is no result,
    such as for a zero quaternion or a degree of freedom without inertia: the contents of `out` are then
    meaningless.

    The handle owns the model, its parameters and the working memory: it serves one caller at a time, so
    create one for each thread. It is valid as long as this object is referenced, even without the tree, and
    only in this process.

    Attributes
    ----------
    inputs : dict of str to int
        The size of each input, in order: ``{"q": 6, "v": 6, "vdot": 6}``.
    outputs : tuple of tuple of int
        The shape of the single output, which is C-contiguous.
    dtype : dtype
        float64.
    """

    inputs: dict[str, int]
    outputs: tuple[tuple[int, ...], ...]
    dtype: np.dtype[Any]
    _handle: KernelHandle

    @property
    def address(self) -> int:
        """The address of the function, the same for all kernels."""
        return self._handle.address

    @property
    def handle(self) -> int:
        """The address to pass to it as `handle`."""
        return self._handle.handle

    @property
    def signature(self) -> Any:
        """The ctypes type of the function; ``signature(address)`` can be called."""
        return ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 5)

    def __reduce__(self) -> Any:
        """Raise: an address is meaningless in another process."""
        raise TypeError("addresses cannot be pickled: pickle the tree, and ask for them again")
