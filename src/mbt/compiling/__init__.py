"""Native code made for one tree: `compile`. Needs a C compiler, GCC or Clang, where it runs."""

from mbt.compiling.functions import CompiledFunctions, compile
from mbt.compiling.native_code import NativeCode

__all__ = ["CompiledFunctions", "NativeCode", "compile"]
