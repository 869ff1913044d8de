"""Whole ticks of controllers: compiled in one call, in NumPy with mbt, and in NumPy with Pinocchio.

    python benchmarks/ticks.py [--batch 4096] [--rounds 15]

An arm with seven hinges, whose controllers are computed torque, operational space, and a damped step of
inverse kinematics; and a humanoid on a floating base, of which a whole-body controller reads the mass matrix,
bias, gravity, and Jacobian, bias acceleration and pose of each hand and foot. All contenders are called in
turn, round by round, in one process on one thread; a figure is the least of all rounds. That they agree is
asserted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

try:
    import pinocchio as pin
except ImportError:
    pin = None

Contenders = dict[str, Callable[[], Any]]

#: Stiffness and damping of joints, and of the tool, rotation first.
K, D = 100.0, 20.0
KX, DX = np.array([50.0] * 3 + [400.0] * 3), np.array([10.0] * 3 + [40.0] * 3)
#: What keeps matrices of the tool regular.
REGULAR = 1e-6 * np.eye(6)
