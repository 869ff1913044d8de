"""Stateless functions of arrays, over any leading axes: for one-liners, batches and array engines.

Each takes a finalized tree and arrays, and returns arrays: of the scalar, where the tree is one of another
scalar than double. Parameters are the defaults of the tree. Gravity, the other force elements and joint
damping act; actuation does not.
"""

from types import ModuleType
from typing import TYPE_CHECKING, Any

from mbt._core.api.stateless import (
    bias_term,
    constrained_forward_dynamics,
    forward_dynamics,
    gravity_generalized_forces,
    impulse_dynamics,
    inverse_dynamics,
    mass_matrix,
)

if TYPE_CHECKING:
    from mbt._core.api.configuration import difference_positions, integrate_positions
    from mbt._core.api.stateless_derivatives import (
        constrained_forward_dynamics_derivatives,
        forward_dynamics_derivatives,
        inverse_dynamics_derivatives,
    )
    from mbt._core.api.stateless_kinematics import (
        body_poses,
        center_of_mass,
        constraint_bias,
        constraint_errors,
        constraint_jacobian,
        frame_jacobian,
        frame_jacobian_rate,
        frame_pose,
        momentum_regressor,
        operational_space_inertia,
        operational_space_inverse_inertia,
    )
    from mbt.motion.rollouts import rollout, step
    from mbt.motion.step_derivatives import step_derivatives

__all__ = [
    "bias_term",
    "body_poses",
    "center_of_mass",
    "constrained_forward_dynamics",
    "constrained_forward_dynamics_derivatives",
    "constraint_bias",
    "constraint_errors",
    "constraint_jacobian",
    "difference_positions",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "frame_jacobian",
    "frame_jacobian_rate",
    "frame_pose",
    "gravity_generalized_forces",
    "impulse_dynamics",
    "integrate_positions",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "mass_matrix",
    "momentum_regressor",
    "operational_space_inertia",
    "operational_space_inverse_inertia",
    "rollout",
    "step",
    "step_derivatives",
]


#: What Pinocchio and MuJoCo call them.
_ELSEWHERE = {
    "rnea": "inverse_dynamics",
    "mj_inverse": "inverse_dynamics",
    "aba": "forward_dynamics",
    "mj_forward": "forward_dynamics",
    "crba": "mass_matrix",
    "mj_fullM": "mass_matrix",
    "forwardKinematics": "body_poses",
    "mj_kinematics": "body_poses",
    "forward_kinematics": "body_poses",
    "framesForwardKinematics": "frame_pose",
    "computeFrameJacobian": "frame_jacobian",
    "mj_jac": "frame_jacobian",
    "centerOfMass": "center_of_mass",
    "computeGeneralizedGravity": "gravity_generalized_forces",
    "integrate": "integrate_positions",
    "difference": "difference_positions",
    "mj_step": "step",
}


def __getattr__(name: str) -> Any:
    """Import a function when it is first asked for."""
    if name not in __all__:
        cure = f"; it is called {_ELSEWHERE[name]!r} here" if name in _ELSEWHERE else ""
        raise AttributeError(f"module 'mbt.functional' has no attribute {name!r}{cure}")
    module: ModuleType
    if name in ("rollout", "step", "step_derivatives"):
        from mbt import motion as module
    elif name.endswith("_derivatives"):
        from mbt._core.api import stateless_derivatives as module
    elif name.endswith("_positions"):
        from mbt._core.api import configuration as module
    else:
        from mbt._core.api import stateless_kinematics as module
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
