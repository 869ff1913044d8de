"""Excitation motions that make parameters identifiable: Fourier series within the limits of the joints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.identification.columns import Columns, as_noise, as_tree
from mbt.identification.loops import Followers
from mbt.math.arrays import FloatArray, as_count, as_finite, as_finite_array, as_positive
from mbt.motion.progress import Progress
from mbt.tree.coordinate_names import as_generator

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.geometry.collision_model import CollisionModel
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Excitation", "design_excitation"]

# The range used for a joint without position limits, on either side [rad, m].
_WIDE = np.pi
# Points per period of the fastest sine, at which limits are checked and the condition is computed.
_POINTS = 12
# Candidates per step.
_AT_ONCE = 8
_CRITERIA = ("condition", "d_optimal")
# Random states: to find typical forces, and a state without collisions.
_RANDOM_STATES = 2000
# Largest number of small reductions, after which almost nothing of a motion is left.
_MOST_STEPS = 2000
# Between points of the final collision check, no joint moves more than this [rad, m].
_FINE = 0.02


@dataclass(frozen=True, eq=False, repr=False)
class Excitation:
    """A periodic motion for identifying a robot, at rest where it begins and ends.

    ``q(t) = center + sum over l of a_l sin(l w t) + b_l cos(l w t)``, with ``w = 2 pi / period``.

    Attributes
    ----------
    time : ndarray, shape (n,)
        Times of one period [s].
    q : ndarray, shape (n, num_positions)
        Positions.
    v, vdot : ndarray, shape (n, num_velocities)
        Velocities and accelerations.
    condition_number : float
        Condition number of the columns of the base parameters, each normalized, with forces in units of their
        root mean squares, or of the noise if it was given. `Identified.condition_number` is the same in units
        of the noise.
    period : float
        Period [s].
    velocities : ndarray of int, shape (k,)
        Velocities whose joints follow the series: all, or the independent ones of a tree with constraints.
    center : ndarray, shape (k,)
        Constant part of their positions.
    sines, cosines : ndarray, shape (harmonics, k)
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
    velocities: npt.NDArray[np.intp]
    _followers: Followers | None

    def evaluate(self, time: object) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return positions, velocities and accelerations at any times, over any number of periods.

        Parameters
        ----------
        time : array_like, shape (n,)
            Times [s].

        Returns
        -------
        tuple of three ndarrays, shape (n, num_positions) and (n, num_velocities)
        """
        times = as_finite_array(time, "time", (None,))
        motion = _motion_at(times, self.period, np.concatenate([self.sines, self.cosines]), self.center)
        if self._followers is None:
            return motion
        found = self._followers.complete(*motion, is_known=True)
        assert found is not None, "the design was seen to close its loops"
        return found

    def __repr__(self) -> str:
        """Show the length and the condition number."""
        return (
            f"<Excitation: {len(self.time)} samples in {self.period:g} s, "
            f"condition number {self.condition_number:.3g}>"
        )


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
    criterion: str = "condition",
    noise: object = None,
    scene: CollisionModel | None = None,
    clearance: float = 0.0,
    rng: object = None,
    progress: bool | Callable[[float], object] = False,
) -> Excitation:
    """Search for a motion that makes a robot's parameters identifiable, within the limits of its joints.

    Each joint follows a Fourier series (Swevers et al. 1997); an evolution strategy improves the criterion
    from several random starts. Positions, velocities and accelerations stay within the limits of the joints,
    and the forces predicted by the description within those of its actuators. With a `scene`, collisions are
    avoided; without one, inspect the motion before a robot executes it.

    In a tree with constraints, the independent joints, preferably those with motors, follow the series, and
    the others move such that all constraints stay closed.

    Parameters
    ----------
    tree : MultibodyTree
        The description, finalized; joints that follow a series have one velocity each.
    period : float, optional
        Period of the motion [s].
    harmonics : int, optional
        Number of sines and cosines per joint, at least 3: the highest frequency is ``harmonics / period``.
    friction, rotors, bodies
        The parameters to fit, as for `identify`.
    margin : float, optional
        Fraction of the limits to use.
    rate : float, optional
        Sampling rate of the result [Hz].
    starts, steps : int, optional
        Number of starts, and of steps per start; each step tries eight motions.
    criterion : {"condition", "d_optimal"}, optional
        The criterion to minimize: the condition number, so that no parameter is determined much worse than
        others; or the volume of the confidence region of all base parameters, which maximizes the determinant
        of their information matrix.
    noise : array_like, shape (num_velocities,), optional
        Standard deviation of each measured force [N m, N], its unit in the criterion. By default the units of
        forces are their root mean squares: of each motion, or for ``"d_optimal"`` of random states.
    scene : CollisionModel, optional
        Shapes of this tree that must not touch. They are checked at points between which no joint moves by
        more than 0.02 rad or m.
    clearance : float, optional
        Least distance between these shapes [m].
    rng : numpy.random.Generator or int, optional
        Generator, or its seed.
    progress : bool or callable, optional
        True for a progress bar, with `tqdm` if installed; or a function of the fraction of steps done.

    Returns
    -------
    Excitation

    Raises
    ------
    ArgumentTypeError, ArgumentValueError
        When an argument is invalid; when a joint has several velocities that no constraint determines; when
        the actuators cannot hold the robot at rest in the middle of its limits, or no collision-free
        positions are found.

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
    as_tree(tree, "design_excitation")
    columns = Columns(tree, friction, rotors, bodies)
    generator = as_generator(rng)
    used = as_positive(margin, "margin")
    if used > 1.0:
        raise ArgumentValueError(f"margin: expected a number from 0 to 1, got {used}")
    if criterion not in _CRITERIA:
        raise ArgumentValueError(f"criterion: expected one of {', '.join(_CRITERIA)}, got {quote(criterion)}")
    search = _Search(columns, as_positive(period, "period"), as_count(harmonics, "harmonics", 3), used)
    search.set_criterion(criterion == "d_optimal", noise)
    if scene is not None:
        search.set_scene(scene, as_finite(clearance, "clearance"))
    samples = as_positive(rate, "rate") * search.period
    if not 2 * search.harmonics < samples < 1e7:
        raise ArgumentValueError(
            f"rate: expected more than {2 * search.harmonics / search.period:.3g} Hz and less than 1e7 "
            f"samples, got {rate}"
        )
    count, num_starts = as_count(steps, "steps"), as_count(starts, "starts")
    with Progress(progress, "design") as bar:
        best = min(
            (search.run(generator, count, partial(_report, bar, i, num_starts)) for i in range(num_starts)),
            key=lambda found: found.cost,
        )
    if not np.isfinite(best.cost):
        raise ArgumentValueError(
            "tree: found no motion that the actuators can follow: their effort limits do not even hold the "
            "robot in the middle of its limits; or no motion determines the parameters"
            + ("" if scene is None else "; or all motions that the search tried collide in this scene")
        )
    time = np.arange(round(samples)) / (round(samples) / search.period)
    coefficients, center, motion = search.shrunk(best.coefficients, best.center, time)
    sines, cosines = np.split(coefficients, 2)
    return Excitation(
        time, *motion, best.condition, search.period, center, sines, cosines, search.velocities,
        search.followers,
    )  # fmt: skip


def _report(bar: Progress, start: int, num_starts: int, share: float) -> None:
    """Report progress, from the fraction done of one start."""
    bar.report((start + share) / num_starts)


# Positions, velocities and accelerations, one row per sample.
_Rows = tuple[FloatArray, FloatArray, FloatArray]


class _Motion(NamedTuple):
    """A motion that was tried; its cost is infinite if it is infeasible."""

    cost: float
    condition: float
    coefficients: FloatArray
    center: FloatArray


class _Search:
    """The search for a motion: limits, criterion and scene."""

    def __init__(self, columns: Columns, period: float, harmonics: int, margin: float) -> None:
        tree = columns.tree
        self.columns, self.period, self.harmonics = columns, period, harmonics
        self.velocities = columns.measured
        for joint in tree.joints:
            own = range(joint.velocity_start, joint.velocity_start + joint.num_velocities)
            if joint.num_velocities > 1 and np.isin(own, self.velocities).any():
                raise ArgumentValueError(
                    f"tree: joint {joint.name!r} has {joint.num_velocities} velocities; Fourier series are "
                    "for joints with one: fix the base of a robot that floats, and give motors to joints "
                    "that move the others"
                )
        self.followers = None if columns.loops is None else Followers(tree, columns.loops, margin)
        places = slice(None) if self.followers is None else self.followers.places
        lower, upper = tree.position_lower_limits[places], tree.position_upper_limits[places]
        lower = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper - 2 * _WIDE, -_WIDE))
        upper = np.where(np.isfinite(upper), upper, lower + 2 * _WIDE)
        if not (upper > lower).all():
            place = np.arange(tree.num_positions)[places][int(np.argmin(upper - lower))]
            name = tree.position_names[place]
            raise ArgumentValueError(f"tree: the limits of {name} leave no room to move")
        self.middle, self.half = 0.5 * (lower + upper), 0.5 * margin * (upper - lower)
        # The point towards which motions that are too large are shrunk.
        self.anchor = self.middle
        self.scene: CollisionModel | None = None
        self.clearance = 0.0
        if self.followers is not None:
            self.anchor = self.followers.anchor[self.followers.places]
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

    def set_criterion(self, is_d_optimal: bool, noise: object) -> None:
        """Set the criterion to minimize and the units of forces."""
        self.is_d_optimal = is_d_optimal
        self.units: FloatArray | None = None
        if noise is not None:
            self.units = as_noise(noise, self.columns.tree.num_velocities)
        elif is_d_optimal:
            if self.columns.loops is not None:
                states = self.columns.loops.random_motions(_RANDOM_STATES // 20)
            else:
                rng = np.random.default_rng(0)
                most = [np.where(np.isfinite(most), most, 1.0) for most in (self.most_v, self.most_vdot)]
                q, v, vdot = (
                    rng.uniform(-1.0, 1.0, (3, _RANDOM_STATES, len(self.middle)))
                    * np.array([self.half, *most])[:, np.newaxis]
                )
                states = self.middle + q, v, vdot
            self.units = self._sizes(self._columns_of(states)[1])

    def set_scene(self, scene: CollisionModel, clearance: float) -> None:
        """Avoid collisions in a scene."""
        from mbt.geometry.collision_model import CollisionModel

        if not isinstance(scene, CollisionModel):
            raise ArgumentTypeError(f"scene: expected a CollisionModel, got {quote(scene)}")
        if scene.tree.position_names != self.columns.tree.position_names:
            raise ArgumentValueError("scene: expected one of this tree, got one of a tree with other joints")
        self.scene, self.clearance = scene, clearance
        followers = self.followers
        if self.is_free(self.anchor if followers is None else followers.anchor):
            return
        if followers is None:
            tried = np.random.default_rng(0).uniform(-1.0, 1.0, (_RANDOM_STATES, len(self.middle)))
            places, to_limits = self.middle + self.half * tried, 1.0 - np.abs(tried).max(axis=1)
        else:
            places = followers.candidates
            to_limits = np.maximum(followers.room(places), 0.0)
        # Prefer positions far from collisions and from limits.
        room = scene.distances(places).min(axis=1) - clearance
        best = int(np.argmax(room * to_limits))
        if not room[best] * to_limits[best] > 0.0:
            raise ArgumentValueError(
                f"scene: of {len(places)} random positions, none is free of collisions; is the "
                f"clearance of {clearance:.3g} m too large, or does a pair always touch? See exclude= of "
                "CollisionModel"
            )
        self.anchor = places[best]
        if followers is not None:
            followers.anchor, self.anchor = self.anchor, self.anchor[followers.places]

    def is_free(self, q: FloatArray) -> bool:
        """Return whether all positions are free of collisions."""
        return self.scene is None or bool(np.all(self.scene.is_free(q, margin=self.clearance)))

    def _complete(self, motion: _Rows) -> _Rows | None:
        """Return the motion of all joints from that of those with a series; None if there is none."""
        return motion if self.followers is None else self.followers.complete(*motion)

    def _columns_of(self, motion: _Rows) -> tuple[FloatArray, FloatArray]:
        """Return the columns of base parameters, and the forces predicted by the description."""
        columns = self.columns
        X, known = columns.evaluate(*motion)
        X = X[..., columns.base.independent]
        return X, known + X @ (columns.base.regrouping @ columns.description())

    def _sizes(self, tau: FloatArray) -> FloatArray:
        sizes = np.sqrt((tau * tau).mean(axis=0))
        return np.where(sizes > 0.0, sizes, 1.0)

    def run(self, rng: np.random.Generator, steps: int, tell: Callable[[float], object]) -> _Motion:
        """Return the best motion of an evolution strategy."""
        shape = (self.at_rest.shape[1] + 1, len(self.middle))
        x, size = rng.standard_normal(shape), 1.0
        best = self.evaluate(x)
        for i in range(steps):
            tell(i / steps)
            tried = x + size * rng.standard_normal((_AT_ONCE, *shape))
            results = [self.evaluate(one) for one in tried]
            first = min(range(_AT_ONCE), key=lambda k: results[k].cost)
            if results[first].cost < best.cost:
                x, best = tried[first], results[first]
                size = min(size * 1.5, 2.0)
            else:
                size = max(size * 0.8, 0.01)
        tell(1.0)
        return best

    def evaluate(self, x: FloatArray) -> _Motion:
        """Return the motion that x represents, with its cost.

        The first rows of x are the shape of the motion, which is made as large as the limits allow; the last
        row is its place in the remaining range.
        """
        coefficients = self.at_rest @ x[:-1]
        q, v, vdot = (basis @ coefficients for basis in self.bases)
        most_v, most_vdot = self.most_v[self.velocities], self.most_vdot[self.velocities]
        size = np.minimum(
            np.minimum(2.0 * self.half / np.ptp(q, axis=0), most_v / np.abs(v).max(axis=0)),
            most_vdot / np.abs(vdot).max(axis=0),
        )
        low, high = q.min(axis=0) * size, q.max(axis=0) * size
        room = np.maximum(self.half - 0.5 * (high - low), 0.0)
        center = self.middle - 0.5 * (low + high) + room * np.tanh(x[-1])
        return self._within_efforts(coefficients * size, center, (q * size, v * size, vdot * size))

    def shrunk(
        self, coefficients: FloatArray, center: FloatArray, time: FloatArray
    ) -> tuple[FloatArray, FloatArray, _Rows]:
        """Return a motion that also keeps limits between points of the search, and all joints at `time`."""
        count = 8 * _POINTS * self.harmonics
        bases = _bases(np.arange(count) * self.period / count, self.period, self.harmonics)
        # Finer points, between which no joint moves more than _FINE, are only for collisions.
        most = float(np.abs(bases[1] @ coefficients).max())
        fine = max(count, int(np.ceil(self.period * most / _FINE)))
        times = np.arange(fine if self.scene is not None else 0) * self.period / fine
        for _ in range(_MOST_STEPS):
            motion = self._complete(_moved(bases, coefficients, center))
            if motion is not None and self._is_possible(
                motion, self._columns_of(motion)[1], self.period / count
            ):
                found = self._complete(_motion_at(time, self.period, coefficients, center))
                between = self._complete(_motion_at(times, self.period, coefficients, center))
                if found is not None and between is not None and self.is_free(between[0]):
                    return coefficients, center, found
            coefficients = 0.995 * coefficients
            center = self.anchor + 0.995 * (center - self.anchor)
        raise ArgumentValueError(
            "tree: found no motion that keeps all limits between the points of the search; effort limits may "
            "not hold the robot in the middle of its limits"
        )

    def _is_possible(self, motion: _Rows, tau: FloatArray, step: float) -> bool:
        """Return whether a motion is within all limits, and steps between points agree with its rates."""
        q, v, vdot = motion
        limited = [(v, self.most_v), (vdot, self.most_vdot), (tau, self.most_tau)]
        if self.followers is None:
            limited.append((q - self.middle, self.half))
        else:
            # Loops may close in several ways: a jump of followers is a change between two of them.
            moved = self.columns.tree.difference_positions(q[:-1], q[1:])
            limited.append((moved - 0.5 * step * (v[:-1] + v[1:]), np.array(_FINE)))
            limited.append((q[:, self.followers.places] - self.middle, self.half))
        return all((np.abs(size) <= most).all() for size, most in limited)

    def _within_efforts(
        self, coefficients: FloatArray, center: FloatArray, motion: tuple[FloatArray, ...]
    ) -> _Motion:
        """Shrink a motion towards the anchor until motors can follow it and nothing collides."""
        q, v, vdot = motion
        part = 1.0
        for _ in range(20):
            tried = self._complete((center + part * q, part * v, part * vdot))
            if tried is not None and self.is_free(tried[0]):
                X, tau = self._columns_of(tried)
                rates = ((tried[1], self.most_v), (tried[2], self.most_vdot)) if self.followers else ()
                if all((np.abs(size) <= most).all() for size, most in (*rates, (tau, self.most_tau))):
                    break
            part *= 0.8
            center = self.anchor + 0.8 * (center - self.anchor)
        else:
            return _Motion(np.inf, np.inf, coefficients, center)
        units = self._sizes(tau) if self.units is None else self.units
        rows = (X / units[:, None]).reshape(-1, X.shape[-1])
        norms = np.linalg.norm(rows, axis=0)
        coefficients = part * coefficients
        if not norms.size or norms.min() <= 0.0:
            return _Motion(np.inf, np.inf, coefficients, center)
        rows /= norms
        values = np.linalg.eigvalsh(rows.T @ rows)
        if values[0] <= 0.0:
            return _Motion(np.inf, np.inf, coefficients, center)
        condition = float(np.sqrt(values[-1] / values[0]))
        cost = -float(np.log(values).sum() + 2.0 * np.log(norms).sum()) if self.is_d_optimal else condition
        return _Motion(cost, condition, coefficients, center)


def _moved(bases: tuple[FloatArray, ...], coefficients: FloatArray, center: FloatArray) -> _Rows:
    """Return positions, velocities and accelerations of series."""
    q, v, vdot = (basis @ coefficients for basis in bases)
    return center + q, v, vdot


def _motion_at(time: FloatArray, period: float, coefficients: FloatArray, center: FloatArray) -> _Rows:
    """Return positions, velocities and accelerations of series at some times."""
    return _moved(_bases(time, period, len(coefficients) // 2), coefficients, center)


def _bases(time: FloatArray, period: float, harmonics: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the matrices that map coefficients of sines, then cosines, to positions and their rates."""
    w = 2.0 * np.pi / period * np.arange(1.0, harmonics + 1.0)
    sine, cosine = np.sin(time[:, None] * w), np.cos(time[:, None] * w)
    return (
        np.concatenate([sine, cosine], axis=1),
        np.concatenate([w * cosine, -w * sine], axis=1),
        np.concatenate([-w * w * sine, -w * w * cosine], axis=1),
    )
