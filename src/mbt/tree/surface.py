"""How rough, how stiff and how lossy a shape is where it touches another one."""

from __future__ import annotations

from dataclasses import dataclass

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.math.arrays import as_nonnegative

__all__ = ["Surface"]

_RULES = ("mean", "least", "largest")


@dataclass(frozen=True)
class Surface:
    """Contact properties of a shape, which `ShapeContact` uses unless its caller gives others.

    Readers of MJCF and SDF give surfaces to the shapes in ``body.collisions``.

    Parameters
    ----------
    friction : float, optional
        Coefficient of friction. None, here and below: not given.
    stiffness : float, optional
        k of each contact point [N/m]. Those of two shapes act as springs in series: ``a b / (a + b)``.
    dissipation : float, optional
        d of Hunt and Crossley [s/m]. Two shapes use the mean.
    priority : int, optional
        Friction and dissipation of a pair are those of the shape with the higher priority.
    combine : {"mean", "least", "largest"}, optional
        The friction of a pair of the same priority: ``2 a b / (a + b)`` as in Drake, the smaller one as in
        Gazebo, or the larger one as in MuJoCo. Where two shapes disagree, the one that stands later in this
        list wins.
    margin : float, optional
        Distance at which it already touches others [m], as if it were thicker. Those of two shapes add up.
        Distances of a `CollisionModel` do not change; its ``padding`` is for that.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When a number is negative, not finite, or not a number, or the rule is not known.

    Examples
    --------
    >>> import mbt
    >>> ice = mbt.Surface(friction=0.05, priority=1)
    >>> mbt.Shape("box", [1, 1, 0.1], surface=ice).surface.friction
    0.05
    """

    friction: float | None = None
    stiffness: float | None = None
    dissipation: float | None = None
    priority: int = 0
    combine: str = "mean"
    margin: float | None = None

    def __post_init__(self) -> None:
        """Check each number."""
        for name in ("friction", "stiffness", "dissipation", "margin"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, as_nonnegative(value, f"Surface: {name}"))
        if isinstance(self.priority, bool) or not hasattr(self.priority, "__index__"):
            raise ArgumentTypeError(f"Surface: priority: expected an integer, got {quote(self.priority)}")
        object.__setattr__(self, "priority", int(self.priority))
        if self.combine not in _RULES:
            raise ArgumentValueError(
                f"Surface: combine: expected {', '.join(map(repr, _RULES))}, got {quote(self.combine)}"
            )
