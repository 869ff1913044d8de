"""Native code made for one tree: `compile`. Needs a C compiler, GCC or Clang, where it runs."""

from mbt.compiling.functions import CompiledFunctions, compile

__all__ = ["CompiledFunctions", "compile"]
