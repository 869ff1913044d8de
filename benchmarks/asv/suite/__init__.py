"""Benchmarks for airspeed velocity; what is timed, and on which models, is that of the other benchmarks."""

import sys
from pathlib import Path

# Those lie beside the folder of asv, which imports this package by itself.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from used_heap import use_heap

use_heap()
