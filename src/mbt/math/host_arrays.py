"""Arrays of other libraries: read without a copy from CPU memory, rejected with advice elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from mbt.errors import ArgumentTypeError

__all__ = ["explain_other_array", "read_other_array"]

# Devices of DLPack whose memory the CPU reads, including the pinned kinds of CUDA and ROCm.
_CPU = {1, 3, 11}

_CURES = {
    "torch": "x.cpu()",
    "jax": "jax.device_get(x)",
    "jaxlib": "jax.device_get(x)",
    "cupy": "x.get()",
    "tensorflow": "x.numpy()",
}


def read_other_array(value: Any, name: str) -> np.ndarray[Any, Any]:
    """Return an array over the memory of an object with ``__dlpack__``, if that is on the CPU.

    Raises
    ------
    ArgumentTypeError
        When it is elsewhere, or cannot be read.
    """
    try:
        if not (_is_elsewhere(value) or _needs_gradient(value)):
            return np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)
        problem: Exception | None = None
    except MemoryError:
        raise
    except Exception as error:
        problem = error
    reason = explain_other_array(value) or f", which cannot be read ({problem})"
    raise ArgumentTypeError(
        f"{name}: expected real numbers convertible to float64, got {type(value).__name__}{reason}"
    ) from problem


def explain_other_array(value: Any) -> str:
    """Return why an array of another library is rejected, and what to do; empty if unknown."""
    library = type(value).__module__.partition(".")[0]
    if _is_elsewhere(value):
        cure = _CURES.get(library, "with x.cpu(), x.get() or the like")
        return f" on a device other than the CPU: move it to the CPU first, {cure}"
    if _needs_gradient(value):
        return (
            " that requires a gradient: the functions of mbt.interop.torch compute gradients; without them, "
            "x.detach()"
        )
    if library == "jax" and any(kind.__name__ == "Tracer" for kind in type(value).__mro__):
        return (
            " in a program that JAX traces: call the functions of mbt.interop.jax there, and these outside "
            "of it"
        )
    return ""


def _is_elsewhere(value: Any) -> bool:
    if not hasattr(type(value), "__dlpack_device__"):
        return hasattr(type(value), "__cuda_array_interface__")
    try:
        return int(value.__dlpack_device__()[0]) not in _CPU
    except Exception:
        # Tracers, for example, have no device.
        return False


def _needs_gradient(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "torch" and bool(
        getattr(value, "requires_grad", False)
    )
