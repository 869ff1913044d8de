"""Motions that tell parameters apart: Fourier series within the limits of the joints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import ArgumentValueError
from mbt.identification.columns import Columns
from mbt.math.arrays import FloatArray, as_count, as_finite_array, as_positive
from mbt.tree.coordinate_names import as_generator

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Excitation", "design_excitation"]

# What of a joint without limits of its positions is used, on either side [rad, m].
_WIDE = np.pi
# Points in a period of the fastest sine, where limits are checked and the condition is computed.
_POINTS = 12
# Candidates that are tried at once.
_AT_ONCE = 8


@dataclass(frozen=True, eq=False)
class Excitation:
    """A periodic motion to identify a robot by, at rest where it begins and ends.

    ``q(t) = center + sum over l of a_l sin(l w t) + b_l cos(l w t)``, with ``w = 2 pi / period``.

    Attributes
    ----------
    time : ndarray, shape (n,)
        Times of one period [s].
    q, v, vdot : ndarray, shape (n, num_velocities)
        Positions, velocities, accelerations.
    condition_number : float
        Of the columns of the base parameters, each of norm one, forces in units of their root mean squares.
        `Identified.condition_number` is the same in units of the noise.
    period : float
        Period [s].
    center : ndarray, shape (num_velocities,)
        Constant part of the positions.
    sines, cosines : ndarray, shape (harmonics, num_velocities)
        The coefficients a_l and b_l.
    """

    time: FloatArray
    q: FloatArray
    v: FloatArray
    vdot: FloatArray
    condition_number: float
    period: float
    center: FloatArray
    sines: FloatArray
    cosines: FloatArray

    def evaluate(self, time: object) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return positions, velocities and accelerations at some times, any number of periods long.

        Parameters
        ----------
        time : array_like, shape (n,)
            Times [s].

        Returns
        -------
        tuple of three ndarrays, shape (n, num_velocities)
        """
        times = as_finite_array(time, "time", (None,))
        q, v, vdot = (
            basis @ np.concatenate([self.sines, self.cosines])
            for basis in _bases(times, self.period, len(self.sines))
        )
        return self.center + q, v, vdot


def design_excitation(
    tree: MultibodyTree,
    *,
    period: float = 10.0,
    harmonics: int = 5,
    friction: str | None = None,
    rotors: bool = False,
    bodies: Iterable[str] | None = None,
    margin: float = 0.9,
    rate: float = 100.0,
    starts: int = 4,
    steps: int = 60,
    rng: object = None,
) -> Excitation:
    """Search a motion that tells the parameters of a robot apart, within the limits of its joints.

    Each joint follows a Fourier series (Swevers et al. 1997); series at random are mended by an evolution
    strategy towards a small condition number, from several starts. Positions, velocities and accelerations
    stay within the limits of the joints, and the forces that the description needs within those of its
    actuators. Nothing looks for collisions: look at the motion before a robot does it.

    Parameters
    ----------
    tree : MultibodyTree
        The description, finalized, of joints with one velocity each.
    period : float, optional
        Period of the motion [s].
    harmonics : int, optional
        Number of sines and cosines of each joint, at least 3: the highest frequency is
        ``harmonics / period``.
    friction, rotors, bodies
        What is to be fitted, as of `identify`.
    margin : float, optional
        Part of the limits that is used.
    rate : float, optional
        Samples of the result in a second [Hz].
    starts, steps : int, optional
        Number of starts, and of steps of each, in which eight motions are tried.
    rng : numpy.random.Generator or int, optional
        Generator, or its seed.

    Returns
    -------
    Excitation

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When an argument is invalid, a joint has several velocities, or the tree has constraints; and when the
        actuators cannot hold the robot at rest in the middle of its limits.

    Examples
    --------
    >>> import mbt
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> design = mbt.identification.design_excitation(tree, starts=1, steps=10, rng=0)
    >>> design.q.shape
    (1000, 6)
    >>> bool((abs(design.v) < tree.velocity_upper_limits).all())
    True
    """
    columns = Columns(tree, friction, rotors, bodies, 0.01)
    generator = as_generator(rng)
    used = as_positive(margin, "margin")
    if used > 1.0:
        raise ArgumentValueError(f"margin: expected a number from 0 to 1, got {used}")
    search = _Search(columns, as_positive(period, "period"), as_count(harmonics, "harmonics", 3), used)
    samples = as_positive(rate, "rate") * search.period
    if not 2 * search.harmonics < samples < 1e7:
        raise ArgumentValueError(
            f"rate: expected more than {2 * search.harmonics / search.period:.3g} Hz and less than 1e7 "
            f"samples, got {rate}"
        )
    count = as_count(steps, "steps")
    runs = [search.run(generator, count) for _ in range(as_count(starts, "starts"))]
    cost, coefficients, center = min(runs, key=lambda result: result[0])
    if not np.isfinite(cost):
        raise ArgumentValueError(
            "tree: found no motion that the actuators can do: their effort limits do not even hold the robot "
            "in the middle of its limits; or no motion tells the parameters apart"
        )
    coefficients = search.shrunk(coefficients, center)
    time = np.arange(round(samples)) / (round(samples) / search.period)
    q, v, vdot = (basis @ coefficients for basis in _bases(time, search.period, search.harmonics))
    sines, cosines = np.split(coefficients, 2)
    return Excitation(time, q + center, v, vdot, cost, search.period, center, sines, cosines)


class _Search:
    """What motions are tried against."""

    def __init__(self, columns: Columns, period: float, harmonics: int, margin: float) -> None:
        tree = columns.tree
        for joint in tree.joints:
            if joint.num_velocities > 1:
                raise ArgumentValueError(
                    f"tree: joint {joint.name!r} has {joint.num_velocities} velocities; Fourier series are "
                    "for joints with one: fix the base of a robot that floats"
                )
        self.columns, self.period, self.harmonics = columns, period, harmonics
        self.nv = tree.num_velocities
        lower, upper = tree.position_lower_limits, tree.position_upper_limits
        lower = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * _WIDE, -_WIDE))
        upper = np.where(np.isfinite(upper), upper, lower + 2 * _WIDE)
        if not (upper > lower).all():
            name = tree.position_names[int(np.argmin(upper - lower))]
            raise ArgumentValueError(f"tree: the limits of {name} leave no room to move")
        self.middle, self.half = 0.5 * (lower + upper), 0.5 * margin * (upper - lower)
        self.most_v = margin * np.minimum(-tree.velocity_lower_limits, tree.velocity_upper_limits)
        self.most_vdot = margin * np.minimum(-tree.acceleration_lower_limits, tree.acceleration_upper_limits)
        self.most_tau = margin * np.minimum(-tree.effort_lower_limits, tree.effort_upper_limits)
        count = _POINTS * harmonics
        self.bases = _bases(np.arange(count) * period / count, period, harmonics)
        # Coefficients of motions that begin and end at rest: v(0) = vdot(0) = 0.
        l = np.arange(1.0, harmonics + 1.0)  # noqa: E741 - the field's symbol
        rest = np.zeros((2, 2 * harmonics))
        rest[0, :harmonics], rest[1, harmonics:] = l, l**2
        self.at_rest = np.linalg.svd(rest)[2][2:].T

    def run(self, rng: np.random.Generator, steps: int) -> tuple[float, FloatArray, FloatArray]:
        """Return the condition number, coefficients and centre that an evolution strategy comes to."""
        shape = (self.at_rest.shape[1] + 1, self.nv)
        x, size = rng.standard_normal(shape), 1.0
        best = self.evaluate(x)
        for _ in range(steps):
            tried = x + size * rng.standard_normal((_AT_ONCE, *shape))
            results = [self.evaluate(one) for one in tried]
            first = min(range(_AT_ONCE), key=lambda i: results[i][0])
            if results[first][0] < best[0]:
                x, best = tried[first], results[first]
                size = min(size * 1.5, 2.0)
            else:
                size = max(size * 0.8, 0.01)
        return best

    def evaluate(self, x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the condition number, coefficients and centre of the motion that x stands for.

        The first rows of x are the form of the motion, which is made as large as the limits allow; the last
        row tells where in what is left of the range it takes place.
        """
        coefficients = self.at_rest @ x[:-1]
        q, v, vdot = (basis @ coefficients for basis in self.bases)
        size = np.minimum(
            np.minimum(2.0 * self.half / np.ptp(q, axis=0), self.most_v / np.abs(v).max(axis=0)),
            self.most_vdot / np.abs(vdot).max(axis=0),
        )
        low, high = q.min(axis=0) * size, q.max(axis=0) * size
        room = np.maximum(self.half - 0.5 * (high - low), 0.0)
        center = self.middle - 0.5 * (low + high) + room * np.tanh(x[-1])
        return self._within_efforts(coefficients * size, center, (q * size, v * size, vdot * size))

    def shrunk(self, coefficients: FloatArray, center: FloatArray) -> FloatArray:
        """Return coefficients of a motion that keeps the limits between the points of the search too."""
        count = 8 * _POINTS * self.harmonics
        bases = _bases(np.arange(count) * self.period / count, self.period, self.harmonics)
        described = self.columns.description()
        while True:
            q, v, vdot = (basis @ coefficients for basis in bases)
            X, known = self.columns.evaluate(center + q, v, vdot)
            tau = known + X @ described
            excess = max(
                np.max(np.abs(size) / most, initial=0.0)
                for size, most in (
                    (center + q - self.middle, self.half),
                    (v, self.most_v),
                    (vdot, self.most_vdot),
                    (tau, self.most_tau),
                )
            )
            if excess <= 1.0:
                return coefficients
            coefficients = 0.995 * coefficients

    def _within_efforts(
        self, coefficients: FloatArray, center: FloatArray, motion: tuple[FloatArray, ...]
    ) -> tuple[float, FloatArray, FloatArray]:
        """Make a motion slower towards its centre, and this towards the middle, until motors can do it."""
        q, v, vdot = motion
        columns = self.columns
        described = columns.base.regrouping @ columns.description()
        part = 1.0
        for _ in range(20):
            X, known = columns.evaluate(center + part * q, part * v, part * vdot)
            X = X[..., columns.base.independent]
            tau = known + X @ described
            if (np.abs(tau).max(axis=0) <= self.most_tau).all():
                break
            part *= 0.8
            center = self.middle + 0.8 * (center - self.middle)
        else:
            return np.inf, coefficients, center
        scale = np.sqrt((tau * tau).mean(axis=0))
        rows = (X / np.where(scale > 0.0, scale, 1.0)[:, None]).reshape(-1, X.shape[-1])
        norms = np.linalg.norm(rows, axis=0)
        if not norms.size or norms.min() <= 0.0:
            return np.inf, part * coefficients, center
        rows /= norms
        values = np.linalg.eigvalsh(rows.T @ rows)
        condition = float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else np.inf
        return condition, part * coefficients, center


def _bases(time: FloatArray, period: float, harmonics: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what positions, velocities and accelerations are in coefficients of sines, then cosines."""
    w = 2.0 * np.pi / period * np.arange(1.0, harmonics + 1.0)
    sine, cosine = np.sin(time[:, None] * w), np.cos(time[:, None] * w)
    return (
        np.concatenate([sine, cosine], axis=1),
        np.concatenate([w * cosine, -w * sine], axis=1),
        np.concatenate([-w * w * sine, -w * w * cosine], axis=1),
    )
