"""Numerical derivatives along the motion of a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from support.quantities import EPS

# Symmetric differences with steps h, h/2 and h/4, extrapolated twice (Richardson): what remains is of order
# (h * rate)^6, and rounding of f, divided by h/4 and amplified about 1.5 times by the extrapolation.
STEP = 0.02


def time_derivative(f: Callable[[float], Any], rate: float) -> Any:
    """df/dt at t = 0. `rate`: bound on how fast the arguments of sines in f change [rad/s]."""
    h = STEP / max(rate, 1.0)
    D = [(np.asarray(f(t)) - np.asarray(f(-t))) / (2 * t) for t in (h, h / 2, h / 4)]
    once = [(4 * D[1] - D[0]) / 3, (4 * D[2] - D[1]) / 3]
    return (16 * once[1] - once[0]) / 15


def derivative_tolerance(scale: float, rate: float) -> float:
    """Error of `time_derivative` for an f made of terms of size `scale`, each a product of a few sines.

    Truncation: the 7th derivative is at most scale * (3 rate)^7, divided by 7! and weighed by h^6 / 64.
    Rounding: 10 eps * scale in f over the smallest step.
    """
    rate = max(rate, 1.0)
    h = STEP / rate
    truncation = scale * (3 * rate) ** 7 * h**6 / 5040 / 64
    return truncation + 10 * EPS * scale * 4 / h
