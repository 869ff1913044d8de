"""Benchmarks for airspeed velocity, with the calls and models of the other benchmarks."""

import sys
from pathlib import Path

# They lie next to the folder of asv, which imports this package on its own.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from used_heap import use_heap

use_heap()
