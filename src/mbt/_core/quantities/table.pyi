from mbt._core.door.compiled_model import CompiledModel

PIVOT_TOLERANCE: float

def shape_of(compiled: CompiledModel, quantity: int, integers: tuple[int, ...]) -> tuple[int, ...]: ...
