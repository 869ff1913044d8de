"""A trajectory: the result of `simulate`."""

from __future__ import annotations

import itertools
import operator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex, overload

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, ElementIndexError, quote, reporting_damage
from mbt.motion.impulses import OF_IMPULSES, calc_of_impulses, middle_velocities, works_of_steps
from mbt.motion.names import contact_names, equation_names
from mbt.motion.operands import METHODS
from mbt.motion.over_time import RESULTS, VECTORS, calc_over_time, integrals_over_steps
from mbt.motion.units import position_units, velocity_units
from mbt.tree.report_tables import plural

if TYPE_CHECKING:
    import os

    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.math.arrays import FloatArray
    from mbt.motion.audit import AuditReport
    from mbt.motion.events import EventStates
    from mbt.motion.implicit import SolverSteps
    from mbt.motion.recording import Recording
    from mbt.motion.shape_contacts import ContactsOverTime, TouchingShapes
    from mbt.motion.task import Task

__all__ = ["Energy", "State", "Trajectory"]


class Energy(NamedTuple):
    """Energies over time [J]."""

    kinetic: FloatArray
    potential: FloatArray
    total: FloatArray


class State(NamedTuple):
    """One sample of a trajectory: time, positions, velocities, and the forces of control and actuators."""

    time: float
    q: FloatArray
    v: FloatArray
    tau: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """States over time, from `simulate`. For a batch all arrays have its axes in front.

    Accelerations, energies, errors and forces of constraints, contact forces, and sensor values are computed
    when you first read them. ``len(trajectory)`` is the number of samples, ``trajectory[i]`` one of them,
    ``trajectory[a:b:c]`` a trajectory of some of them. Arrays are read-only.

    Attributes
    ----------
    time : ndarray, shape (n,)
        Times [s].
    q : ndarray, shape (..., n, num_positions)
        Positions.
    v : ndarray, shape (..., n, num_velocities)
        Velocities.
    tau : ndarray, shape (..., n, num_velocities)
        Generalized forces of the control and the actuators [N m, N], after each sample; in the last row,
        those before it.
    position_names, velocity_names : tuple of str
        Names in the tree.
    position_units, velocity_units : tuple of str
        "rad", "m", or nothing for quaternions; "rad/s" or "m/s".
    equation_names, contact_names, sensor_names : tuple of str
        Names of each equation of the constraints, of each point of each `PointContact`, and of each column of
        `sensors`.
    method : str
        Name of the method of integration.
    num_steps : int
        Number of steps of the integration.
    status : {"completed", "event", "failed"}
        How it ended: after the duration, with an event, or because it could not continue.
    message : str
        The same in words.
    events : tuple of EventStates
        For each event function the times ``.time`` (k,) at which it crossed zero, and the states there,
        ``.q`` and ``.v``.
    num_limited : ndarray of int, shape (..., num_velocities)
        With ``limit_efforts=True``, in how many steps the force along each velocity was clipped; with a
        control function and a solver of SciPy, in how many of its calls.
    solver : SolverSteps or None
        Of ``method="implicit"``: the solver's results for each step: ``iterations``, ``residual``,
        ``at_limit`` and ``saturated``. A part of a trajectory has those of all steps; a file has none.

    See Also
    --------
    simulate : Makes a trajectory.
    """

    time: FloatArray
    q: FloatArray
    v: FloatArray
    tau: FloatArray
    position_names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    position_units: tuple[str, ...]
    velocity_units: tuple[str, ...]
    equation_names: tuple[str, ...]
    contact_names: tuple[str, ...]
    method: str
    num_steps: int
    status: str
    message: str
    events: tuple[EventStates, ...]
    num_limited: Any
    sensor_names: tuple[str, ...] = ()
    solver: SolverSteps | None = None
    # With the parameters and applied forces, without actuation; None for a trajectory from a file.
    _context: Context | None = None
    _actuation: FloatArray | None = None
    # Of implicit steps: the results of each step; see `mbt.motion.impulses`.
    _moved: FloatArray | None = None
    # Of implicit steps: contact of shapes.
    _contact: TouchingShapes | None = None
    _known: dict[str, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        arrays = (self.time, self.q, self.v, self.tau, self.num_limited, *self._known.values())
        arrays += () if self.solver is None else self.solver
        arrays += () if self._moved is None else (self._moved,)
        for array in itertools.chain(arrays, *self.events):
            array.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied trajectory, with read-only arrays.

        Raises
        ------
        ArgumentValueError
            If it is damaged.
        """
        from mbt.motion.trajectory_files import check_fields

        with reporting_damage("Trajectory"):
            check_fields(state)
        self.__dict__.update(state)
        for name in _DERIVED & state.keys():  # These are computed again.
            del self.__dict__[name]
        self.__post_init__()

    @classmethod
    def _of_recording(cls, task: Task, recording: Recording, events: tuple[EventStates, ...]) -> Trajectory:
        time, states, forces = recording.assemble()
        nq, nv = task.tree.num_positions, task.tree.num_velocities
        tau, moved = forces[..., :nv].copy(), forces[..., nv:].copy()
        return cls(
            time=time,
            q=states[..., :nq].copy(),
            v=states[..., nq:].copy(),
            tau=tau,
            position_names=task.tree.position_names,
            velocity_names=task.tree.velocity_names,
            position_units=position_units(task.tree),
            velocity_units=velocity_units(task.tree),
            equation_names=equation_names(task.tree),
            contact_names=contact_names(task.tree),
            sensor_names=task.tree.sensor_names,
            method=task.method,
            num_steps=recording.num_steps,
            status=recording.status,
            message=recording.message,
            events=events,
            num_limited=task.inputs.num_limited,
            solver=recording.solver,
            _moved=moved if moved.shape[-1] else None,
            _context=task.context,
            _actuation=task.actuation,
            _contact=task.contacts,
        )

    # What follows from the states.

    @property
    def vdot(self) -> FloatArray:
        """Accelerations with `tau`, shape (..., n, num_velocities): errors of constraints decay."""
        return self._calc("vdot")

    @cached_property
    def energy(self) -> Energy:
        """Kinetic, potential and total energy [J], each of shape (..., n)."""
        kinetic, potential = self._calc("kinetic_energy"), self._calc("potential_energy")
        return Energy(kinetic, potential, _frozen(kinetic + potential))

    @cached_property
    def power(self) -> FloatArray:
        """Power of all forces without a potential [W], shape (..., n).

        Those of joint damping, of force elements other than springs and gravity, of the control and the
        actuators, of applied forces.
        """
        v = self.v if self._moved is None else middle_velocities(self)
        return _frozen(self._calc("passive_power") + (self.tau * v).sum(axis=-1))

    @cached_property
    def work(self) -> FloatArray:
        """Work of the same forces since the beginning [J], shape (..., n).

        By cubic polynomials through the powers of the samples. Forces of the control that a method of fixed
        steps holds are held here, too.
        """
        if self._moved is not None:
            pieces = works_of_steps(self, self.power)[0]
        elif self.method in METHODS:
            moved = integrals_over_steps(self.time, np.moveaxis(self.v, -1, 0))
            driving = (np.moveaxis(self.tau[..., :-1, :], -1, 0) * moved).sum(axis=0)
            pieces = integrals_over_steps(self.time, self._calc("passive_power")) + driving
        else:
            pieces = integrals_over_steps(self.time, self.power)
        work = np.zeros(self.power.shape)
        np.cumsum(pieces, axis=-1, out=work[..., 1:])
        return _frozen(work)

    @cached_property
    def energy_drift(self) -> FloatArray:
        """Energy gained without work [J], shape (..., n).

        Without damping and inputs this is the error of the integration; otherwise it includes the error of
        `work`, which needs samples that are close to each other.
        """
        total = self.energy.total
        return _frozen(total - total[..., :1] - self.work)

    def audit(self, *, tolerance: float = 1e-3) -> AuditReport:
        """Return how much energy each element gave or took, in which step most, and whether it may.

        The energy that an element gives is the work of its forces plus the change of its potential energy:
        zero for a spring, negative for dissipation. The powers that an element reports are not used. The
        remaining energy of the motion is the error of the integration. Elements that give energy although
        they have no source of it, and an integration that gives or takes any, are `suspects`.

        Parameters
        ----------
        tolerance : float, optional
            Energies below this fraction of the largest energy are ignored.

        Returns
        -------
        AuditReport
            ``print`` shows a table, largest first.

        Raises
        ------
        ArgumentValueError
            If this is a batch, comes from a file, or has fewer than two finite samples.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
        >>> context = tree.create_default_context()
        >>> context.q = [0, 0.5, 0.5, 0, 0.5, 0]
        >>> mbt.simulate(tree, context, 0.2, 1e-3, method="rk4").audit().is_clean
        True
        """
        from mbt.motion.audit import audit

        return audit(self, tolerance)

    @property
    def constraint_errors(self) -> FloatArray:
        """Errors of the constraints [rad, m], shape (..., n, num_constraint_equations)."""
        return self._calc("constraint_errors")

    @property
    def multipliers(self) -> FloatArray:
        """Forces and torques of the constraints [N, N m], shape (..., n, num_constraint_equations).

        They belong to `vdot`; the type of each constraint tells where they act. Those of one constraint c are
        ``multipliers[..., c.first_equation : c.first_equation + c.num_equations]``.
        """
        return self._calc("multipliers")

    @property
    def contact_forces(self) -> FloatArray:
        """Force at each point of each `PointContact`, in World [N], shape (..., n, num_points, 3).

        In the order of the force elements, on the frames to which the points belong; zero without contact.
        """
        forces = self._calc("contact_forces")
        return forces.reshape(*forces.shape[:-1], forces.shape[-1] // 3, 3)

    @cached_property
    def contacts(self) -> ContactsOverTime:
        """Contacts of shapes, from a simulation with ``contacts=``: ``contacts[i]`` belongs to sample i.

        Names of the pairs, points, normals and forces, in the step after each sample; in the last row, those
        of a step like the one before it. Computed when you first read it. A file does not have it.
        """
        self._check_one_state("contacts")
        context = self._need_context("contacts")
        if self._contact is None or self._moved is None:
            raise ArgumentValueError("contacts: this trajectory comes from a simulation without contacts=")
        from mbt.motion.shape_contacts import calc_contacts

        return calc_contacts(self, context, self._contact)

    def _calc_power_of_shapes(self) -> FloatArray:
        """Return the power of contact of shapes in each step [W], shape (..., n)."""
        from mbt.motion.shape_contacts import calc_power

        return calc_power(self, self._need_context("power"))

    @property
    def sensors(self) -> FloatArray:
        """Sensor values, shape (..., n, num_sensor_values); see `sensor_names`.

        `MultibodyTree.calc_sensors` computes them with `tau`; in implicit steps, from the accelerations and
        the forces that the solver found. ``trajectory.sensors[..., sensor.columns]``
        are the values of one sensor.
        """
        return self._calc("sensors")

    def _calc(self, name: str) -> FloatArray:
        if name not in self._known:
            context = self._need_context(name)
            if self._moved is not None and name == "sensors":
                from mbt.motion.step_sensors import calc_sensors

                array = calc_sensors(self, context)
            elif self._moved is None or name not in OF_IMPULSES:
                array = calc_over_time(name, context, self.time, self.q, self.v, self.tau)
            else:
                array = calc_of_impulses(name, self, context)
            self._known[name] = _frozen(array)
        return self._known[name]

    def _results(self) -> dict[str, FloatArray]:
        """Return all computed quantities, by name."""
        return {name: self._calc(name) for name in RESULTS}

    # Parts.

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Leading axes."""
        return self.q.shape[:-2]

    @property
    def final_context(self) -> Context:
        """A new Context with the last state and its time, and the parameters and inputs of the first.

        A trajectory from a file does not have one.
        """
        context = self._need_context("final_context").clone()
        if self._actuation is not None:
            context.actuation = self._actuation
        context.time, context.q, context.v = self.time[-1], self.q[..., -1, :], self.v[..., -1, :]
        return context

    def __len__(self) -> int:
        """Return the number of samples."""
        return self.time.size

    @overload
    def __getitem__(self, i: slice) -> Trajectory: ...

    @overload
    def __getitem__(self, i: SupportsIndex) -> State: ...

    def __getitem__(self, i: slice | SupportsIndex) -> Trajectory | State:
        """Return a `State`, or a trajectory of some samples."""
        if isinstance(i, slice):
            known = {
                name: array[..., i, :] if name in VECTORS else array[..., i]
                for name, array in self._known.items()
            }
            return replace(
                self, time=self.time[i], q=self.q[..., i, :], v=self.v[..., i, :], tau=self.tau[..., i, :],
                _moved=None if self._moved is None else self._moved[..., i, :], _known=known,
            )  # fmt: skip
        try:
            i = operator.index(i)
        except TypeError:
            raise ArgumentTypeError(
                f"trajectory[...]: expected an int or a slice, got {quote(i)}; for other samples "
                "index its arrays: trajectory.q[indices]"
            ) from None
        try:
            time = float(self.time[i])
        except IndexError:
            raise ElementIndexError(f"trajectory[{i}]: there are {len(self)} samples") from None
        return State(time, self.q[..., i, :], self.v[..., i, :], self.tau[..., i, :])

    def interpolate(self, time: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return positions and velocities at times between samples.

        By cubic polynomials, on the group of rotations, with the velocities and accelerations of the samples
        on either side.

        Parameters
        ----------
        time : array_like, shape (...)
            Within the trajectory [s]; one or several in a row.

        Returns
        -------
        q, v : ndarray, shapes (..., num_positions), (..., num_velocities)
            With the axes of the batch in front, then those of `time`.

        Raises
        ------
        ArgumentValueError
            If a time is outside, or the trajectory comes from a file.
        """
        from mbt.motion.interpolation import interpolate

        return interpolate(self, self._need_context("interpolate").tree, time)

    # Other forms.

    def to_xarray(self) -> Any:
        """Return an ``xarray.Dataset`` of all quantities, with names, units and the axes of a batch.

        Raises
        ------
        MissingPackageError
            If xarray is not installed.
        """
        from mbt.motion.tables import as_xarray

        return as_xarray(self)

    def to_dataframe(self) -> Any:
        """Return a ``pandas.DataFrame``: a row for each sample; columns by quantity, then name.

        Raises
        ------
        MissingPackageError
            If pandas is not installed.
        ArgumentValueError
            If this is a batch.
        """
        from mbt.motion.tables import as_dataframe

        return as_dataframe(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all quantities to a file, completely or not at all.

        Parameters
        ----------
        path : path
            With the suffix ``.npz``, which `load` and ``numpy.load`` read, or ``.csv``, a table of one state
            over time.

        Raises
        ------
        ArgumentValueError
            If the suffix is another one, or the file cannot be written.
        """
        from mbt.motion.trajectory_files import save

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Trajectory:
        """Return the trajectory that `save` wrote into an npz file; without the tree.

        Raises
        ------
        ArgumentValueError
            If the file does not hold a trajectory.
        """
        from mbt.motion.trajectory_files import load

        return load(path)

    def plot(self, figure: Any = None) -> Any:
        """Draw positions, velocities, forces (also of shapes in contact), and energies over time.

        Dotted lines are nearby limits, if the tree is known. The total energy only changes by the work of
        forces without a potential; if there is any, ``total - work`` is drawn too.

        Parameters
        ----------
        figure : matplotlib.figure.Figure, optional
            The figure to draw into; by default a new one of ``matplotlib.pyplot``.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        MissingPackageError
            If matplotlib is not installed.
        ArgumentValueError
            If this is a batch.
        """
        self._check_one_state("plot")
        from mbt.plotting.matplotlib_parts import import_matplotlib

        import_matplotlib("plot")
        from mbt.plotting.trajectories import draw

        return draw(self, figure, None if self._context is None else self._context.tree)

    def sample(self, index: int | tuple[int, ...]) -> Trajectory:
        """Return the trajectory of one sample of a batch.

        Raises
        ------
        ElementIndexError
            If there is no such sample.
        ArgumentTypeError
            If it is not an index.
        """
        shape = self.batch_shape
        expected = f"sample: expected an index into the batch {shape}, got {quote(index)}"
        try:
            i = tuple(map(operator.index, index if isinstance(index, tuple) else (index,)))
        except TypeError:
            raise ArgumentTypeError(expected) from None
        if len(i) != len(shape) or not all(-n <= k < n for k, n in zip(i, shape, strict=True)):
            raise ElementIndexError(expected)
        i = tuple(k % n for k, n in zip(i, shape, strict=True))
        context: Any = self._context
        return replace(
            self, q=self.q[i], v=self.v[i], tau=self.tau[i], num_limited=self.num_limited[i],
            solver=None if self.solver is None else self.solver.sample(i),
            _context=context._sample(i) if i and context is not None else context,
            _actuation=None if self._actuation is None else self._actuation[i],
            _moved=None if self._moved is None else self._moved[i],
            _known={name: array[i] for name, array in self._known.items()},
        )  # fmt: skip

    def _need_context(self, what: str) -> Context:
        if self._context is None:
            raise ArgumentValueError(f"{what}: a trajectory from a file has no tree")
        return self._context

    def _check_one_state(self, what: str) -> None:
        """Raise for batches."""
        if self.batch_shape:
            raise ArgumentValueError(
                f"{what}: expected one state, got a batch {self.batch_shape}: take trajectory.sample(i)"
            )

    def _repr_html_(self) -> str:
        """Return lines over time and a table, for a notebook."""
        from mbt.motion.trajectory_html import describe_trajectory_as_html

        return describe_trajectory_as_html(self)

    def __repr__(self) -> str:
        """Describe size, method and status."""
        batch = f", batch_shape={self.batch_shape}" if self.batch_shape else ""
        span = f", {self.time[0]:g} to {self.time[-1]:g} s" if len(self) else ""
        samples = f"{plural(len(self), 'sample')}{span}"
        return f"<Trajectory of {samples}, {self.method}, {self.status}{batch}>"


#: Quantities that are computed from the arrays on first use.
_DERIVED = frozenset(name for name, own in vars(Trajectory).items() if isinstance(own, cached_property))


def _frozen(array: FloatArray) -> FloatArray:
    array.flags.writeable = False
    return array
