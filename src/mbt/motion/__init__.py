"""Motion: states at later times, from forces or from controls that drive a model."""

from mbt.motion.rollouts import rollout, step
from mbt.motion.step_derivatives import step_derivatives

__all__ = ["rollout", "step", "step_derivatives"]
