"""From measured motion to a model: inertial parameters, friction, rotors; offsets of joints.

`design_excitation` searches for a motion, `preprocess` turns measurements into a log, `identify` fits a whole
log at once, `Accumulator` block by block, `PayloadEstimator` sample by sample; `validate` tests a model on
other data. `refine` uses simulations to fit parameters in which forces are nonlinear. `calibrate` fits
offsets of joints and poses of frames to measured poses.
"""

from mbt.identification.accumulator import Accumulator
from mbt.identification.calibration import Calibration, calibrate
from mbt.identification.excitation import Excitation, design_excitation
from mbt.identification.fit import identify
from mbt.identification.identified import Identified, Validation, validate
from mbt.identification.payload import PayloadEstimator
from mbt.identification.preprocessing import Log, preprocess
from mbt.identification.refinement import Refinement, refine

__all__ = [
    "Accumulator",
    "Calibration",
    "Excitation",
    "Identified",
    "Log",
    "PayloadEstimator",
    "Refinement",
    "Validation",
    "calibrate",
    "design_excitation",
    "identify",
    "preprocess",
    "refine",
    "validate",
]
