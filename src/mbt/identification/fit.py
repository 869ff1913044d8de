"""A fit of all samples of a log at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mbt.errors import ArgumentValueError
from mbt.identification.accumulator import Accumulator
from mbt.identification.doubts import doubts_of_motion, first_guess_of_delay
from mbt.identification.identified import Identified
from mbt.math.arrays import as_bool

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["identify"]

# Delays below this many samples are ignored.
_LEAST_DELAY = 0.01
_MOST_DELAY = 200


def identify(
    tree: MultibodyTree,
    q: object,
    v: object,
    vdot: object,
    tau: object,
    *,
    applied: object = None,
    friction: str | None = None,
    rotors: bool = False,
    bodies: Iterable[str] | None = None,
    motors: bool = False,
    noise: object = None,
    physical: bool = True,
    prior: float = 1e-3,
    solver: str = "barrier",
    robust: bool = False,
    transition_velocity: float = 0.01,
    stribeck_velocity: float = 0.1,
) -> Identified:
    """Fit the parameters of a tree to measured motion and forces, by weighted least squares.

    Parameters
    ----------
    tree : MultibodyTree
        The description, finalized. It is not changed.
    q : array_like, shape (n, num_positions)
        Measured positions, one row per sample.
    v, vdot, tau : array_like, shape (n, num_velocities)
        Velocities, accelerations, and generalized forces of the motors [N m, N]. For a tree with constraints,
        the positions of all joints must satisfy them, and forces of joints without motors are zero.
    applied : array_like, shape (n, num_velocities), optional
        Known generalized forces other than those of the motors: forces of contacts, or, with a negative sign,
        the forces that a known payload needs.
    friction : str, optional
        The friction to fit, which replaces the description's: terms of ``"viscous"``, ``"coulomb"``,
        ``"stribeck"`` and ``"offset"`` joined by ``+``. Coulomb friction is ``tanh(v / transition_velocity)``
        times a force, for joints with one velocity; Stribeck friction adds another force near rest, which
        falls with ``1 / (1 + (v / stribeck_velocity)**2)``; an offset is a constant force. Free bodies have
        no friction.
    rotors : bool, optional
        Fit the reflected inertia of the rotors, where the tree has actuators.
    bodies : iterable of str, optional
        Names of the bodies to fit, for example only a payload; the others keep their described values. All by
        default.
    motors : bool, optional
        Fit the scale of each measured force, where the tree has actuators: `tau` is then nominal, for example
        motor currents times uncertain constants. Motion alone does not determine the scales, as doubling all
        masses and all scales fits equally well: something must be known, such as a payload in a part of the
        log (`applied`), a spring, or bodies that are not fitted.
    noise : array_like, shape (num_velocities,), optional
        Standard deviation of each measured force; infinite for one that was not measured. Estimated by
        default.
    physical : bool, optional
        Allow only mass properties that bodies can have, and positive friction and rotor inertia.
    prior : float, optional
        Weight of the squared distance from the description, relative to residuals in units of the noise. It
        decides whatever the data do not determine.
    solver : str, optional
        The solver of the physical fit: ``"barrier"``, the barrier method of mbt, or ``"clarabel"``, a solver
        of semidefinite programs, of the extra `identification`. Both find the same optimum.
    robust : bool, optional
        Reduce the weight of outliers with Huber's function: residuals count quadratically up to 1.345 times
        the noise, which is then estimated from the median, and linearly beyond.
    transition_velocity, stribeck_velocity : float, optional
        See `mbt.JointFriction` [rad/s, m/s].

    Returns
    -------
    Identified
        Parameters, standard errors, residuals, a report, a tree.

    Raises
    ------
    ArgumentTypeError, ArgumentValueError, ShapeError
        When an argument is invalid, or the log is too short.
    AssemblyError
        When the default positions of a tree are too far from satisfying its constraints.
    MissingPackageError, SingularityError
        When Clarabel is requested, but is not installed, ``pip install "multibodytree[identification]"``, or
        fails, as for logs with almost no noise.

    Examples
    --------
    Measured motor forces of this arm, with noise:

    >>> import mbt, numpy as np
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> rng = np.random.default_rng(0)
    >>> q, v, vdot = rng.normal(size=(3, 500, 6))
    >>> context = tree.create_default_context(batch_shape=500)
    >>> context.q, context.v = q, v
    >>> tau = tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    >>> tau = tau + 0.1 * rng.normal(size=tau.shape)
    >>> found = mbt.identification.identify(tree, q, v, vdot, tau, friction="viscous", rotors=True)
    >>> bool(abs(found.noise - 0.1).max() < 0.02)
    True
    """
    sums = Accumulator(
        tree,
        friction=friction,
        rotors=rotors,
        bodies=bodies,
        motors=motors,
        transition_velocity=transition_velocity,
        stribeck_velocity=stribeck_velocity,
    )
    columns = sums._columns
    q, v, vdot, tau = columns.as_log(q, v, vdot, tau)
    extra = columns.as_applied(applied, q, tau)
    is_robust = as_bool(robust, "robust")
    if is_robust and sums._motors is not None:
        raise ArgumentValueError("robust: not allowed with motors=True; remove outlying forces from the log")
    sums.add(q, v, vdot, tau, extra)
    if is_robust:
        sums._settle(q, v, vdot, tau, extra, noise)
    found = sums.solve(noise=noise, physical=physical, prior=prior, solver=solver)
    residuals = found.calc_residuals(q, v, vdot, tau, extra)
    if found.motor_scales is not None:
        tau = found.motor_scales * tau
    found._residuals = residuals
    found._doubts += tuple(doubts_of_motion(tree, q, v, vdot))
    guess = first_guess_of_delay(tau - residuals, residuals, found.noise)
    if guess:
        # Parameters absorb part of a delay, so it is larger than it seems.
        most = min(_MOST_DELAY, int(10.0 * abs(guess)) + 5, (len(q) - 1) // 4)
        delay = sums._delay(q, v, vdot, tau, extra, found.noise, most)
        if abs(delay) >= _LEAST_DELAY:
            side = "after" if delay > 0.0 else "before"
            found._doubts += (
                f"the forces seem to come {abs(delay):.2g} samples {side} the positions: check their "
                "time stamps; preprocess(delay=...) shifts them",
            )
    return found
