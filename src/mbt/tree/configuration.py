"""Configurations of a tree as points of a space, and steps between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mbt._core.api.tree_energy import TreeCore
from mbt.math.arrays import FloatArray

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt._core.api import configuration
else:

    class _Configuration:
        """Stands in for the compiled module until it is used: not every program takes steps."""

        def __getattr__(self, name):
            global configuration
            from mbt._core.api import configuration

            return getattr(configuration, name)

    configuration = _Configuration()

__all__ = ["ConfigurationSpace"]


class ConfigurationSpace(TreeCore):
    """The part of `MultibodyTree` that steps from positions to positions.

    Positions that describe a rotation are not vectors: a step is a velocity times a time, and follows the
    rotation exactly.
    """

    def integrate_positions(
        self, q: npt.ArrayLike, v: npt.ArrayLike, dt: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return the positions reached from `q` at constant velocities `v` after `dt`.

        Rotations follow ``R1 = exp([w_FM_F dt]x) R0``. A quaternion keeps its length; roll, pitch and yaw are
        those nearest to the old ones. All other positions are ``q + v dt``.

        Parameters
        ----------
        q : array_like, shape (..., num_positions)
            Positions; leading axes broadcast.
        v : array_like, shape (..., num_velocities)
            Velocities [rad/s, m/s].
        dt : array_like, shape (...)
            Time [s], of either sign, finite.
        out : ndarray, shape (..., num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Raises
        ------
        ArgumentValueError
            When `dt` is NaN or infinite.
        SingularityError
            When a single state has a zero quaternion; in a batch that sample is NaN.

        Examples
        --------
        >>> import mbt
        >>> tree = mbt.MultibodyTree()
        >>> ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        >>> tree.finalize()
        >>> q = tree.integrate_positions([1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 2, 0, 0], 0.5)
        >>> q.round(3)
        array([0.969, 0.   , 0.   , 0.247, 1.   , 0.   , 0.   ])
        """
        return configuration.integrate_positions(self, q, v, dt, out=out)

    def difference_positions(
        self, q0: npt.ArrayLike, q1: npt.ArrayLike, *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return the velocities that lead from `q0` to `q1` in one second.

        It inverts `integrate_positions`: ``integrate_positions(q0, difference_positions(q0, q1), 1)`` is the
        configuration `q1`. Rotations take the shortest way, pi at most.

        Parameters
        ----------
        q0, q1 : array_like, shape (..., num_positions)
            Positions; leading axes broadcast.
        out : ndarray, shape (..., num_velocities), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Raises
        ------
        SingularityError
            When a single state has a zero quaternion; in a batch that sample is NaN.
        """
        return configuration.difference_positions(self, q0, q1, out=out)

    def normalize_positions(self, q: npt.ArrayLike, *, out: FloatArray | None = None) -> FloatArray:
        """Return the positions with quaternions of unit length; all others unchanged.

        Parameters
        ----------
        q : array_like, shape (..., num_positions)
            Positions.
        out : ndarray, shape (..., num_positions), float64, C-contiguous, optional
            Written in place and returned. Left untouched when an argument is rejected.

        Raises
        ------
        SingularityError
            When a single state has a zero quaternion; in a batch that sample is NaN.
        """
        return configuration.normalize_positions(self, q, out)
