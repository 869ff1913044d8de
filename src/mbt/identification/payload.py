"""Online estimation of a payload while the robot moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, quote
from mbt.identification.accumulator import scales
from mbt.identification.columns import Columns, as_noise
from mbt.math.arrays import FloatArray, as_finite_array, as_positive

if TYPE_CHECKING:
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["PayloadEstimator"]


class PayloadEstimator:
    """Recursive least squares for the payload of one body, one sample after another.

    All other parameters keep their described values. With ``forgetting`` below one, a sample k updates ago
    has the weight ``forgetting**k``, so the estimate follows a payload that is picked up or put down. The
    result is not constrained to be physical, so that it is unbiased;
    `mbt.math.nearest_physically_consistent_inertia` gives the nearest body.

    Parameters
    ----------
    tree : MultibodyTree
        The description, finalized, without constraints. It is not changed.
    body : str
        Name of the body that carries the payload.
    noise : array_like, shape (num_velocities,)
        Standard deviation of each force [N m, N]; infinite for one that is not measured.
    forgetting : float, optional
        Forgetting factor from 0 to 1; one forgets nothing.
    prior : float, optional
        Weight of the squared distance from no payload; it decides whatever the motion so far does not
        determine, as in `identify`.

    Examples
    --------
    Two kilograms on the tool of a moving arm; samples without noise:

    >>> import mbt, numpy as np
    >>> tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
    >>> loaded = tree.edit()
    >>> M = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.1, 0.2)
    >>> _ = loaded.get_body_by_name("tool").set_default_spatial_inertia(M)
    >>> loaded.finalize()
    >>> payload = mbt.identification.PayloadEstimator(tree, "tool", noise=[0.1] * 6)
    >>> context = loaded.create_default_context()
    >>> rng = np.random.default_rng(0)
    >>> for _ in range(100):
    ...     context.q, context.v, vdot = rng.normal(size=(3, 6))
    ...     tau = loaded.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    ...     payload.update(context.q, context.v, vdot, tau)
    >>> round(payload.mass, 3)
    2.0
    """

    def __init__(
        self,
        tree: MultibodyTree,
        body: str,
        *,
        noise: object,
        forgetting: float = 0.999,
        prior: float = 1e-3,
    ) -> None:
        if not isinstance(body, str):
            raise ArgumentTypeError(f"body: expected the name of a body, got {quote(body)}")
        self._columns = Columns(tree, None, False, [body])
        self._weights = 1.0 / as_noise(noise, tree.num_velocities) ** 2
        self._forgetting = as_positive(forgetting, "forgetting")
        if self._forgetting > 1.0:
            raise ArgumentValueError(f"forgetting: expected a number from 0 to 1, got {self._forgetting}")
        self._described = self._columns.description()
        total = tree.get_inertial_parameters().reshape(-1, 10)
        self._prior = np.diag(as_positive(prior, "prior") / scales(total.ravel(), total.size)[:10] ** 2)
        self.reset()

    def reset(self) -> None:
        """Forget all samples."""
        self._A, self._b = np.zeros((10, 10)), np.zeros(10)

    def update(self, q: object, v: object, vdot: object, tau: object) -> None:
        """Add one sample; if an argument is rejected, nothing changes.

        Parameters
        ----------
        q : array_like, shape (num_positions,)
            Positions.
        v, vdot, tau : array_like, shape (num_velocities,)
            Velocities, accelerations, and generalized forces of the motors.

        Raises
        ------
        ShapeError, ArgumentTypeError, ArgumentValueError
            When an argument has the wrong shape or type, or a number is not finite.
        """
        columns, tree = self._columns, self._columns.tree
        nv = tree.num_velocities
        sample = [
            as_finite_array(value, name, (size,))[None]
            for value, name, size in ((q, "q", tree.num_positions), (v, "v", nv), (vdot, "vdot", nv))
        ]
        force = as_finite_array(tau, "tau", (nv,))
        with np.errstate(over="ignore", invalid="ignore"):
            X, known = columns.evaluate(*sample)
            rest = columns.reduced(sample[0], force[None])[0] - known[0] - X[0] @ self._described
            weighted = X[0].T * self._weights
            A, b = weighted @ X[0], weighted @ rest
        if not (np.isfinite(A).all() and np.isfinite(b).all()):
            raise ArgumentValueError("the sample has numbers so large that their squares overflow float64")
        self._A = self._forgetting * self._A + A
        self._b = self._forgetting * self._b + b

    @property
    def parameters(self) -> FloatArray:
        """Inertial parameters of only the payload, shape (10,), in the frame of the body."""
        payload: FloatArray = np.asarray(np.linalg.solve(self._A + self._prior, self._b), dtype=np.float64)
        return payload

    @property
    def mass(self) -> float:
        """Mass of the payload [kg]."""
        return float(self.parameters[0])

    @property
    def standard_errors(self) -> FloatArray:
        """Standard errors of `parameters`, shape (10,), with the prior counted as data."""
        inverse = np.linalg.inv(self._A + self._prior)
        errors: FloatArray = np.sqrt(np.diag(inverse))
        return errors

    def __repr__(self) -> str:
        """Show the mass."""
        return f"<PayloadEstimator: {self.mass:.4g} kg, standard error {self.standard_errors[0]:.2g} kg>"
