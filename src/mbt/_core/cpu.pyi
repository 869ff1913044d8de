def supported() -> tuple[str, ...]:
    """Instruction sets this processor runs, best first."""
