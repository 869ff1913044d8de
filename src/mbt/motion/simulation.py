"""Simulation for interactive use: `simulate`."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mbt.errors import SimulationWarning
from mbt.motion.fixed_steps import simulate_fixed_steps
from mbt.motion.operands import METHODS
from mbt.motion.progress import Progress
from mbt.motion.solvers import simulate_with_solver
from mbt.motion.symptoms import FEWEST_STEPS, find_cause, find_early_cause, find_open_loops, find_symptoms
from mbt.motion.task import make_task
from mbt.motion.trajectory import Trajectory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from mbt.context.context import Context
    from mbt.motion.shape_contacts import TouchingShapes
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["simulate"]


def simulate(
    tree: MultibodyTree,
    context: Context,
    duration: float,
    dt: float = 1e-3,
    *,
    method: str | None = None,
    control: npt.ArrayLike | Callable[..., npt.ArrayLike] | None = None,
    servo_positions: npt.ArrayLike | Callable[..., npt.ArrayLike] | None = None,
    servo_velocities: npt.ArrayLike | Callable[..., npt.ArrayLike] | None = None,
    events: Callable[..., float] | Sequence[Callable[..., float]] = (),
    every: int = 1,
    limit_efforts: bool | None = None,
    joint_limits: bool = True,
    velocity_limits: bool = False,
    contacts: TouchingShapes | None = None,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    progress: bool | Callable[[float], object] = False,
) -> Trajectory:
    """Simulate a model from the state of a Context and return its trajectory.

    Gravity, the other force elements, joint damping and the control act, and ``context.actuation`` and
    ``context.applied_forces`` throughout. Locked joints stay locked. The Context does not change;
    ``trajectory.final_context`` holds the state at the end, from which another simulation can continue. The
    same arguments give the same trajectory, to the last bit.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    context : Context
        Initial state, inputs and parameters, of one state or of a batch, whose samples are computed in
        parallel.
    duration : float
        Duration [s]. If it is not a multiple of `dt` the last step is shorter.
    dt : float, optional
        Length of a step [s]. SciPy's solvers choose their steps, and `dt` is the time between samples.
    method : str, optional
        ``"implicit"`` (of order one), which stays stable with stiff joints, limits, dry friction and contact;
        ``"semi_implicit_euler"`` (of order one) or ``"rk4"`` (of order four), which ignore limits; all are
        compiled, see `mbt.functional.rollout`. Or a solver of SciPy, for one state: ``"RK23"``, ``"RK45"``,
        ``"DOP853"``, ``"LSODA"``, and for stiff models ``"Radau"``, ``"BDF"``. By default ``"implicit"`` if
        the model has anything that slows or stops a motion: position limits, servos, joint damping, friction,
        dampers, contact; else ``"semi_implicit_euler"``, which keeps the energy of what swings freely.
        ``trajectory.method`` holds the choice.
    control : array_like, shape (..., n, num_velocities) or (num_velocities,), or callable, optional
        Generalized forces [N m, N]: an array has a row for each of the n steps, or one for all. A function
        ``control(time, q, v) -> tau``, shape (..., num_velocities), is called before each step of fixed
        length, and its forces are held during the step, as by a digital controller; SciPy's solvers call it
        whenever they need accelerations.
    servo_positions, servo_velocities : array_like or callable, optional
        Targets of the servos [rad, m], [rad/s, m/s], in place of those of the Context: an array of shape
        (..., n, num_actuators) or (num_actuators,), or a function of ``(time, q, v)`` that returns shape
        (..., num_actuators), called as `control` is. Columns of plain motors have no effect.
    events : callable or sequence of callable, optional
        Functions ``event(time, q, v) -> float`` of one state. The simulation locates sign changes to
        rounding, by a shorter step of the method or on the interpolant of the solver. The attribute
        ``event.terminal = True``, or a number of sign changes, ends the simulation there;
        ``event.direction``, positive or negative, counts only changes in that direction.
    every : int, optional
        Keep every n-th step; the final state is always kept.
    limit_efforts : bool, optional
        Clip the control and the actuation, together, to ``tree.effort_lower_limits`` and
        ``tree.effort_upper_limits``; ``trajectory.num_limited`` counts how often. By default steps of
        ``method="implicit"`` do, servos included, and other methods do not.
    joint_limits : bool, optional
        Whether position limits act in steps of ``method="implicit"``. Other methods ignore limits.
    velocity_limits : bool, optional
        Whether velocity limits act too, with ``method="implicit"``.
    contacts : ShapeContact, optional
        Shapes that touch, with ``method="implicit"``. ``trajectory.contacts`` lists the contacts.
    rtol, atol : float, optional
        Relative and absolute tolerance of a solver of SciPy, of positions and velocities.
    progress : bool or callable, optional
        True shows a bar if `tqdm` is installed. A function is called with the fraction done, from 0 to 1.

    Returns
    -------
    Trajectory

    Raises
    ------
    ArgumentValueError, ShapeError, ArgumentTypeError
        If an argument cannot be used, or ``context.time`` is so large that ``time + dt`` is no later.
    ContextMismatchError
        If the Context belongs to another tree.
    SingularityError
        If a degree of freedom has no inertia in the initial state.
    MissingPackageError
        If `method` is a solver of SciPy, and SciPy is not installed.

    Warns
    -----
    SimulationWarning
        If the simulation of one state fails: it returns the samples so far, with the status "failed" and a
        message that names cause and remedy. In a batch such samples are NaN from there on. Also if a joint
        passes a position limit or starts so far outside that its angle seems to be in degrees, steps of fixed
        length are too long for an element or for a spinning body, bodies overlap deeply at the start, an
        event function returns NaN, or constraints of one state open, begin open and do not close, contradict
        each other or, because of numbers with few digits, lock a mechanism.

    Notes
    -----
    All methods keep quaternions at unit length. SciPy's solvers integrate rotation vectors, with their exact
    rate, relative to orientations that are replaced when the vectors become long. After a derivative that is
    not finite, a solver continues with a tenth of the step; it fails when that is 1e-13 of the duration, or
    when 1000 steps in a row advance by less than 1e-5 of it.

    Examples
    --------
    A pendulum, from the horizontal until it hangs:

    >>> import mbt
    >>> tree = mbt.MultibodyTree()
    >>> bob = mbt.SpatialInertia.point_mass(1.0, [0, 0, -1.0])
    >>> rod = tree.add_body(mbt.RigidBody("rod", bob))
    >>> hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, rod, None, axis=[0, 1, 0])
    >>> gravity = tree.add_force_element(mbt.UniformGravityFieldElement())
    >>> tree.finalize()
    >>> context = tree.create_default_context()
    >>> context.q = [1.5707963267948966]
    >>> def hangs(time, q, v):
    ...     return q[0]
    >>> hangs.terminal = True
    >>> trajectory = mbt.simulate(tree, context, 2.0, method="rk4", events=hangs)
    >>> trajectory
    <Trajectory of 593 samples, 0 to 0.59196 s, rk4, event>
    >>> trajectory.v[-1].round(6)  # -sqrt(2 g l)
    array([-4.429447])
    """
    with Progress(progress) as bar:
        task = make_task(
            tree,
            context,
            duration,
            dt,
            method=method,
            control=control,
            servo_positions=servo_positions,
            servo_velocities=servo_velocities,
            events=events,
            every=every,
            limit_efforts=limit_efforts,
            joint_limits=joint_limits,
            velocity_limits=velocity_limits,
            contacts=contacts,
            rtol=rtol,
            atol=atol,
            progress=bar,
        )
        early = find_early_cause(task)
        if early:
            warnings.warn(f"simulate: {early}", SimulationWarning, stacklevel=2)
        run: Any = simulate_fixed_steps if task.method in METHODS else simulate_with_solver
        recording, passages = run(task)
    trajectory = Trajectory._of_recording(task, recording, passages)
    if trajectory.status == "failed":
        cause = find_cause(task, trajectory, recording.refused_tau)
        if cause:
            trajectory = replace(trajectory, message=f"{trajectory.message}: {cause}")
        symptoms = [trajectory.message]
    else:
        symptoms = find_symptoms(task, trajectory, is_known_stiff=bool(early))
        is_looked_at = max(task.num_steps, trajectory.num_steps) >= FEWEST_STEPS
        if tree.num_constraints and is_looked_at and not context.batch_shape:
            symptoms += find_open_loops(task, trajectory, is_known_wrong=bool(symptoms))
    for i, time in sorted(recording.undefined_events.items()):
        symptoms.append(f"events[{i}] returned NaN, first at {time:.6g} s; it cannot trigger where it is NaN")
    for symptom in symptoms:
        warnings.warn(f"simulate: {symptom}", SimulationWarning, stacklevel=2)
    return trajectory
