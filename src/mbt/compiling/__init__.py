"""Native code for one tree: `compile`, which needs a C compiler at run time, and addresses of kernels."""

from mbt.compiling.functions import CompiledFunctions, compile
from mbt.compiling.kernels import NativeKernel, native_kernel
from mbt.compiling.native_code import NativeCode
from mbt.compiling.user_functions import CompiledFunction

__all__ = ["CompiledFunction", "CompiledFunctions", "NativeCode", "NativeKernel", "compile", "native_kernel"]
