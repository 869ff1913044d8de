"""From measured positions and forces to a log: zero-phase filters, and derivatives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentValueError, MissingPackageError
from mbt.identification.columns import as_tree
from mbt.math.arrays import FloatArray, as_bool, as_finite, as_finite_array, as_positive

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Log", "preprocess"]

# Largest deviation of time steps from their mean, as part of it.
_UNEVEN = 0.01
# Least number of samples per period of the cutoff, for derivatives by fourth-order finite differences.
_SAMPLES_A_PERIOD = 8.0
_FEWEST = 20


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """Motion and forces at the same times, as arguments of `identify`: ``identify(tree, *log)``.

    Iterating gives q, v, vdot and tau.

    Attributes
    ----------
    time : ndarray, shape (n,)
        Times [s].
    q : ndarray, shape (n, num_positions)
        Positions.
    v, vdot, tau : ndarray, shape (n, num_velocities)
        Velocities, accelerations, and generalized forces.
    """

    time: FloatArray
    q: FloatArray
    v: FloatArray
    vdot: FloatArray
    tau: FloatArray

    def __iter__(self) -> Iterator[FloatArray]:
        """Return an iterator over q, v, vdot and tau."""
        return iter((self.q, self.v, self.vdot, self.tau))

    def __repr__(self) -> str:
        """Show the number of samples and the time range."""
        if not len(self.time):
            return "<Log: 0 samples>"
        return f"<Log: {len(self.time)} samples from {self.time[0]:.4g} to {self.time[-1]:.4g} s>"


def preprocess(
    tree: MultibodyTree,
    time: object,
    q: object,
    tau: object,
    *,
    cutoff: object,
    delay: object = 0.0,
    filter_forces: bool = False,
) -> Log:
    """Return filtered positions, their velocities and accelerations, and forces, as a log for `identify`.

    Positions pass a fourth-order Butterworth filter forward and backward, which causes no delay and preserves
    motion much slower than `cutoff`. Velocities are those of the tree, even for floating bodies and ball
    joints: fourth-order central differences of the filtered positions, mapped by
    ``tree.map_qdot_to_velocity``. Needs SciPy.

    Forces are not filtered by default: least squares averages their noise, and a filter would round off the
    jumps of dry friction, which no parameter could then explain.

    Parameters
    ----------
    tree : MultibodyTree
        The description, finalized.
    time : array_like, shape (n,)
        Evenly spaced times [s].
    q : array_like, shape (n, num_positions)
        Measured positions. If encoders wrap, unwrap the angles first (`numpy.unwrap`).
    tau : array_like, shape (n, num_velocities)
        Measured generalized forces.
    cutoff : float
        Frequency above which everything is treated as noise [Hz]: a few times the highest of the motion, and
        at most an eighth of the sampling rate.
    delay : float, optional
        Delay of the forces relative to the positions [s], which is removed.
    filter_forces : bool, optional
        Filter the forces like the positions, and reduce the number of samples until the remaining noise is
        about independent from one to the next, as the standard errors of `identify` assume. Useful against
        ripple, and for robots without dry friction.

    Returns
    -------
    Log
        The log without its ends, where filters lack the past or the future: three periods of the cutoff, and
        the delay.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When an argument is invalid, times are not evenly spaced, or the log is too short for the cutoff.
    MissingPackageError
        When SciPy is not installed.

    Examples
    --------
    >>> import mbt, numpy as np
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> time = np.arange(0.0, 4.0, 0.002)
    >>> q = np.sin(time)[:, None] * [0.5, 0.4, 0.3, 0.2, 0.1, 0.1]
    >>> log = mbt.identification.preprocess(tree, time, q, np.zeros((len(time), 6)), cutoff=10.0)
    >>> exact = np.cos(log.time)[:, None] * [0.5, 0.4, 0.3, 0.2, 0.1, 0.1]
    >>> bool(abs(log.v - exact).max() < 1e-3)
    True
    """
    as_tree(tree, "preprocess")
    times = as_finite_array(time, "time", (None,))
    n = len(times)
    positions = as_finite_array(q, "q", (n, tree.num_positions))
    forces = as_finite_array(tau, "tau", (n, tree.num_velocities))
    frequency = as_positive(cutoff, "cutoff")
    late = as_finite(delay, "delay")
    filters_forces = as_bool(filter_forces, "filter_forces")
    step = _step_of(times)
    if 1.0 / step < _SAMPLES_A_PERIOD * frequency:
        raise ArgumentValueError(
            f"cutoff: expected at most {1.0 / step / _SAMPLES_A_PERIOD:.4g} Hz, an eighth of the sampling "
            f"rate, got {frequency:.4g}"
        )
    # At most all samples: larger numbers of steps may overflow.
    lost = int(np.ceil(3.0 / max(frequency * step, 1.0 / n)))
    shift = min(max(late, -n * step), n * step)
    before, after = lost + _steps(max(-shift, 0.0), step), lost + _steps(max(shift, 0.0), step)
    if n < before + after + _FEWEST:
        raise ArgumentValueError(
            f"the log is too short: {n} samples in {times[-1] - times[0]:.4g} s, for a cutoff of "
            f"{frequency:.4g} Hz and a delay of {late:.4g} s"
        )
    signal = _import_signal()
    sections = signal.butter(4, frequency, fs=1.0 / step, output="sos")
    smooth = signal.sosfiltfilt(sections, _continuous(tree, positions), axis=0)
    if filters_forces:
        forces = signal.sosfiltfilt(sections, forces, axis=0)
    if late:
        forces = _earlier(forces, late / step)
    context = tree.create_default_context(batch_shape=n)
    smooth = tree.normalize_positions(smooth)
    context.q = smooth
    v = tree.map_qdot_to_velocity(context, _derivative(smooth, step))
    vdot = _derivative(v, step)
    every = max(int(1.0 / (2.0 * frequency * step)), 1) if filters_forces else 1
    kept = slice(before, n - after, every)
    return Log(*(x[kept].copy() for x in (times, smooth, v, vdot, forces)))


def _import_signal() -> Any:
    try:
        from scipy import signal
    except ImportError as error:
        raise MissingPackageError(
            f"preprocess: filters need SciPy: pip install 'multibodytree[sim]' ({error})"
        ) from error
    return signal


def _step_of(times: FloatArray) -> float:
    """Return the time step."""
    if len(times) < 2:
        raise ArgumentValueError(f"the log is too short: {len(times)} samples")
    steps = np.diff(times)
    step = float(times[-1] - times[0]) / len(steps)
    worst = int(np.argmax(np.abs(steps - step)))
    if not step > 0.0 or abs(steps[worst] - step) > _UNEVEN * step:
        raise ArgumentValueError(
            f"time: expected equal, increasing steps, but the step at {times[worst]:.6g} s is "
            f"{steps[worst]:.6g} s (mean {step:.6g} s): resample first"
        )
    return step


def _steps(duration: float, step: float) -> int:
    return int(np.ceil(duration / step - 1e-9))


def _continuous(tree: MultibodyTree, q: FloatArray) -> FloatArray:
    """Return positions whose quaternions do not change sign from one sample to the next."""
    result = q.copy()
    for joint in tree.joints:
        if joint.num_positions != joint.num_velocities:
            part = slice(joint.position_start, joint.position_start + 4)
            turns = (result[1:, part] * result[:-1, part]).sum(axis=1) < 0.0
            signs = np.where(np.cumsum(turns) % 2, -1.0, 1.0)
            result[1:, part] *= signs[:, None]
    return result


def _derivative(x: FloatArray, step: float) -> FloatArray:
    """Return fourth-order central differences; first-order ones at the ends."""
    result: FloatArray = np.gradient(x, step, axis=0)
    result[2:-2] = (8.0 * (x[3:-1] - x[1:-3]) - (x[4:] - x[:-4])) / (12.0 * step)
    return result


def _earlier(x: FloatArray, delay: float) -> FloatArray:
    """Return the values `delay` samples later, by cubic interpolation."""
    whole = round(delay)
    if abs(delay - whole) < 1e-6:
        return np.roll(x, -whole, axis=0)
    from scipy.interpolate import CubicSpline

    index = np.arange(len(x))
    shifted: FloatArray = CubicSpline(index, x)(index + delay)
    return shifted
