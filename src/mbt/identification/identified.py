"""The result of a fit, and its validation on other data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.identification.columns import ROWS, Columns, frictions_of
from mbt.math.arrays import FloatArray

if TYPE_CHECKING:
    from mbt.identification.motors import MotorScales
    from mbt.tree.base_parameters import BaseParameters
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Identified", "Validation", "validate"]

# If the residual exceeds this part of the force, the model does not describe the joint.
_FEW = 0.5
# Good motions have condition numbers far below this.
_HARD = 1e3


class Identified:
    """Result of `identify`; print it, or `report()`, for a table.

    Attributes
    ----------
    parameters : ndarray, shape (num_bodies - 1, 10)
        Inertial parameters in the order of nodes, as returned by `mbt.math.calc_inertial_parameters`.
    standard_errors : ndarray, shape (num_bodies - 1, 10)
        Standard errors of `parameters` from the data alone: infinite for those that act only in combination
        with others, or that the log does not determine; zero for those that were not fitted.
    base : BaseParameters
        The combinations of all fitted parameters, friction and rotors included, that motion can determine.
    base_values, base_standard_errors : ndarray, shape (rank,)
        Their values, and the standard errors of a fit without prior and without physical constraints.
    described_base_values : ndarray, shape (rank,)
        Their values in the description.
    friction : dict of str to ndarray, shape (num_velocities,)
        The fitted terms of ``"viscous"``, ``"coulomb"``, ``"stribeck"`` and ``"offset"``. Zero for velocities
        without this term: those of free bodies, and for dry friction those of joints with several velocities.
    rotors : ndarray, shape (num_velocities,), or None
        Reflected inertia of the rotors, if fitted; zero for velocities without a motor.
    motor_scales, motor_scale_errors : ndarray, shape (num_velocities,), or None
        Factors from measured to true forces, if fitted, one where there is no motor; and their standard
        errors. All other attributes use the true forces.
    noise : ndarray, shape (num_velocities,)
        Standard deviation of each force [N m, N], as estimated or as given.
    residual_rms : ndarray, shape (num_velocities,)
        Root mean square of measured minus predicted forces [N m, N].
    condition_number : float
        Condition number of the weighted columns of the base parameters, each normalized; infinite if the log
        does not determine all of them.
    num_samples : int
        Samples of the log.
    """

    def __init__(
        self,
        columns: Columns,
        theta: FloatArray,
        covariance: FloatArray,
        is_seen: np.ndarray,
        condition: float,
        noise: FloatArray,
        rms: FloatArray,
        force_rms: FloatArray,
        num_samples: int,
        doubts: tuple[str, ...] = (),
        motors: MotorScales | None = None,
    ) -> None:
        self._columns = columns
        self._theta = theta
        self._is_seen = is_seen
        self._doubts = doubts
        self._residuals: FloatArray | None = None
        self._tree: MultibodyTree | None = None
        self._force_rms = force_rms
        self.base: BaseParameters = columns.base
        self.base_values: FloatArray = columns.base.calc_values(theta)
        self.described_base_values: FloatArray = columns.base.calc_values(columns.description())
        errors = np.sqrt(np.diag(covariance))
        self.base_standard_errors: FloatArray = np.where(is_seen, errors, np.inf)
        self.noise, self.residual_rms = noise, rms
        self.condition_number = condition
        self.num_samples = num_samples
        self.motor_scales: FloatArray | None = None if motors is None else motors.scales
        self.motor_scale_errors: FloatArray | None = None if motors is None else motors.standard_errors
        pi = columns.pi0.copy()
        pi[columns.free] = theta[: columns.num_inertial]
        self.parameters: FloatArray = pi.reshape(-1, 10)
        own = self._errors_of_each(covariance)
        all_errors = np.zeros(len(pi))
        all_errors[columns.free] = own[: columns.num_inertial]
        self.standard_errors: FloatArray = all_errors.reshape(-1, 10)
        parts = {}
        for term, places, part in columns.parts():
            parts[term] = np.zeros(columns.tree.num_velocities)
            parts[term][places] = theta[part]
        self.rotors: FloatArray | None = parts.pop("rotor", None)
        self.friction = parts

    def _errors_of_each(self, covariance: FloatArray) -> FloatArray:
        """Return the standard error of each parameter; infinite if motion determines only combinations."""
        G = self.base.regrouping
        # The pseudo-inverse of G, whose rows are independent.
        back = np.linalg.solve(G @ G.T, G).T
        stays = np.abs(back @ G - np.eye(G.shape[1])).max(axis=0, initial=0.0) < 1e-6
        uses_unseen = (np.abs(back[:, ~self._is_seen]) > 1e-9).any(axis=1)
        variance = np.einsum("ij,jk,ik->i", back, covariance, back)
        errors: FloatArray = np.where(stays & ~uses_unseen, np.sqrt(np.maximum(variance, 0.0)), np.inf)
        return errors

    @property
    def rank(self) -> int:
        """Number of base parameters."""
        return self.base.rank

    @property
    def unseen(self) -> tuple[str, ...]:
        """The base parameters that the log does not determine, as text; they keep described values."""
        return tuple(
            text for text, is_seen in zip(self.base.descriptions, self._is_seen, strict=True) if not is_seen
        )

    @property
    def residuals(self) -> FloatArray:
        """Measured minus predicted forces [N m, N], (n, num_velocities), not divided by the noise.

        Raises
        ------
        ArgumentValueError
            For a fit of an `Accumulator`, which keeps no samples: pass them to `calc_residuals`.
        """
        if self._residuals is None:
            raise ArgumentValueError(
                "residuals: an Accumulator keeps no samples; use residual_rms, or "
                "calc_residuals(q, v, vdot, tau)"
            )
        return self._residuals

    def calc_residuals(
        self, q: object, v: object, vdot: object, tau: object, applied: object = None
    ) -> FloatArray:
        """Return measured minus predicted forces [N m, N], (n, nv), of a log as for `identify`."""
        q, v, vdot, tau = self._columns.as_log(q, v, vdot, tau)
        scaled = tau if self.motor_scales is None else self.motor_scales * tau
        residuals = scaled + self._columns.as_applied(applied, q, tau)
        for first in range(0, len(q), ROWS):
            part = slice(first, first + ROWS)
            X, known = self._columns.evaluate(q[part], v[part], vdot[part])
            residuals[part] -= known + X @ self._theta
        return residuals

    @property
    def tree(self) -> MultibodyTree:
        """The description with all fitted values: mass properties, damping, friction and rotors; finalized.

        `mbt.save_model` writes it. Friction offsets are missing, as trees have no element for them. If
        several motors drive one joint, the first has the rotor.

        Raises
        ------
        InvalidInertiaError
            When the fit was made with ``physical=False`` and no body can have the fitted parameters.
        """
        if self._tree is None:
            self._tree = self._make_tree()
        return self._tree

    def _make_tree(self) -> MultibodyTree:
        from mbt.math.pseudo_inertia import make_spatial_inertia
        from mbt.tree.force_elements.joint_friction import JointFriction

        columns = self._columns
        work = columns.tree.edit()
        for row in columns.rows:
            body = columns.tree.node_bodies[row + 1]
            work.bodies[body.index].set_default_spatial_inertia(make_spatial_inertia(self.parameters[row]))
        if "viscous" in self.friction:
            damping = np.maximum(self.friction["viscous"], 0.0)
            for joint in columns.tree.joints:
                if joint.num_velocities and not joint.is_ephemeral:
                    part = slice(joint.velocity_start, joint.velocity_start + joint.num_velocities)
                    work.joints[joint.index].set_default_damping_vector(damping[part])
        has_stribeck = "stribeck" in self.friction
        if "coulomb" in self.friction:
            for element in frictions_of(work):
                work.remove(element)
            for joint in columns.tree.joints:
                if joint.num_velocities == 1:
                    place = joint.velocity_start
                    force = max(float(self.friction["coulomb"][place]), 0.0)
                    more = max(float(self.friction["stribeck"][place]), 0.0) if has_stribeck else 0.0
                    work.add_force_element(
                        JointFriction(
                            work.joints[joint.index],
                            force,
                            force + more,
                            columns.stribeck_velocity,
                            columns.transition_velocity,
                        )
                    )
        if self.rotors is not None:
            rest = np.maximum(self.rotors, 0.0)
            for actuator in columns.tree.joint_actuators:
                # Assign all of it to the first rotor if several have the same velocity.
                start = actuator.velocity_start
                inertia = rest[start] / actuator.default_gear_ratio**2
                work.joint_actuators[actuator.index].set_default_rotor_inertia(inertia)
                rest[start] = 0.0
        work.finalize()
        return work

    def report(self) -> str:
        """Return the result as text: fit of each joint, base parameters with errors, warnings."""
        names = self._columns.tree.velocity_names
        lines = [
            f"{self.rank} base parameters of {len(self._theta)} numbers, from {self.num_samples} samples; "
            f"condition number {self.condition_number:.3g}",
            "",
            f"{'joint velocity':24} {'force rms':>11} {'residual':>11} {'noise':>11}  unit",
        ]
        units = self._columns.force_units
        for row in zip(names, self._force_rms, self.residual_rms, self.noise, units, strict=True):
            lines.append(f"{row[0]:24} {row[1]:11.4g} {row[2]:11.4g} {row[3]:11.4g}  {row[4]}")
        if self.motor_scales is not None and self.motor_scale_errors is not None:
            lines += ["", f"{'scale of measured force':24} {'found':>11} {'std. error':>11}"]
            for name, scale, error in zip(names, self.motor_scales, self.motor_scale_errors, strict=True):
                if error > 0.0:
                    lines.append(f"{name:24} {scale:11.4g} {error:11.4g}")
        lines += ["", f"{'described':>11} {'found':>11} {'std. error':>11}  {'unit':9}  base parameter"]
        units = self._columns.units
        for old, new, error, place, text in zip(
            self.described_base_values,
            self.base_values,
            self.base_standard_errors,
            self.base.independent.tolist(),
            self.base.descriptions,
            strict=True,
        ):
            lines.append(f"{old:11.4g} {new:11.4g} {error:11.4g}  {units[place]:9}  {text}")
        warnings = self.warnings
        return "\n".join([*lines, *([""] if warnings else []), *(f"warning: {text}" for text in warnings)])

    def plot(self, figure: Any = None) -> Any:
        """Draw the quality of the fit with matplotlib.

        The left shows forces: measured, residual, and noise. The right shows, for each base parameter, its
        change from the description and its standard error, in units of the mean body's mass and size. A cross
        on the edge marks one that the log does not determine.

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
            When matplotlib is not installed: ``pip install "multibodytree[plot]"``.
        """
        from mbt.plotting.matplotlib_parts import import_matplotlib

        import_matplotlib("plot")
        from mbt.identification.drawing import draw

        return draw(self, figure)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons to doubt this fit, as sentences."""
        found = [f"the log does not determine {text}; it keeps its described value" for text in self.unseen]
        if np.isfinite(self.condition_number) and self.condition_number > _HARD:
            found.append(
                f"the condition number is {self.condition_number:.3g}: the motion hardly tells some "
                "parameters apart; let the joints move more"
            )
        names = self._columns.tree.velocity_names
        units = self._columns.force_units
        for name, force, rest, unit in zip(names, self._force_rms, self.residual_rms, units, strict=True):
            if rest > _FEW * force > 0.0:
                found.append(
                    f"{name}: the model does not explain most of the force (rms {force:.3g} {unit}, "
                    f"residual {rest:.3g} {unit}): if that is not noise, check units, signs and the time "
                    "stamps of forces against positions"
                )
        found += self._doubts
        return tuple(found)

    def __str__(self) -> str:
        """Return the report."""
        return self.report()

    def __repr__(self) -> str:
        """Show the size of the fit."""
        return f"<Identified: {self.rank} base parameters from {self.num_samples} samples>"


@dataclass(frozen=True, eq=False, repr=False)
class Validation:
    """The accuracy with which a fit predicts a log.

    Attributes
    ----------
    residuals : ndarray, shape (n, num_velocities)
        Measured minus predicted forces [N m, N].
    rms : ndarray, shape (num_velocities,)
        Their root mean squares [N m, N].
    noise_ratio : ndarray, shape (num_velocities,)
        `rms` in units of the noise of the fit: near one for a model that predicts everything but noise.
    explained : ndarray, shape (num_velocities,)
        Fraction of the force's variance that is predicted, at most one.
    """

    residuals: FloatArray
    rms: FloatArray
    noise_ratio: FloatArray
    explained: FloatArray

    def __repr__(self) -> str:
        """Show how well the fit predicts."""
        ratios = ", ".join(f"{ratio:.3g}" for ratio in self.noise_ratio)
        return f"<Validation: {len(self.residuals)} samples, noise_ratio {ratios}>"


def validate(
    found: Identified, q: object, v: object, vdot: object, tau: object, applied: object = None
) -> Validation:
    """Test a fit on a log that was not used for it.

    Parameters
    ----------
    found : Identified
        The result of `identify`.
    q, v, vdot, tau, applied
        The log, as for `identify`.

    Returns
    -------
    Validation

    Raises
    ------
    ShapeError, ArgumentTypeError, ArgumentValueError
        When an argument is invalid.
    """
    if not isinstance(found, Identified):
        raise ArgumentTypeError(f"found: expected a result of identify(), got {quote(found)}")
    residuals = found.calc_residuals(q, v, vdot, tau, applied)
    if not len(residuals):
        raise ArgumentValueError("q: expected at least one sample")
    rms = np.sqrt((residuals**2).mean(axis=0))
    scales = 1.0 if found.motor_scales is None else found.motor_scales
    variance = (scales * np.asarray(tau, dtype=float)).var(axis=0)
    rest = np.divide(residuals.var(axis=0), variance, out=np.ones_like(rms), where=variance > 0.0)
    return Validation(residuals, rms, rms / found.noise, 1.0 - rest)
