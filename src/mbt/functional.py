"""Stateless functions of arrays, over any leading axes: for one-liners, batches and array engines.

Each takes a finalized tree and arrays, and returns arrays, in the scalar of the tree if it is not double.
Parameters are the defaults of the tree. Gravity, the other force elements and joint damping act; actuation
does not.
"""

from types import ModuleType
from typing import TYPE_CHECKING, Any

from mbt._core.api.stateless import (
    bias_term,
    forward_dynamics,
    gravity_generalized_forces,
    inverse_dynamics,
    mass_matrix,
)

if TYPE_CHECKING:
    from mbt._core.api.configuration import difference_positions, integrate_positions
    from mbt._core.api.pose_errors import pose_error
    from mbt._core.api.stateless_constraints import (
        constrained_forward_dynamics,
        constrained_inverse_dynamics,
        constraint_bias,
        constraint_errors,
        constraint_jacobian,
        impulse_dynamics,
    )
    from mbt._core.api.stateless_derivatives import (
        constrained_forward_dynamics_derivatives,
        forward_dynamics_derivatives,
        inverse_dynamics_derivatives,
    )
    from mbt._core.api.stateless_kinematics import (
        body_poses,
        center_of_mass,
        frame_jacobian,
        frame_jacobian_rate,
        frame_pose,
        operational_space_inertia,
        operational_space_inverse_inertia,
    )
    from mbt._core.api.stateless_motion import (
        center_of_mass_jacobian,
        center_of_mass_velocity,
        centroidal_momentum_bias,
        centroidal_momentum_matrix,
        frame_bias_acceleration,
        frame_velocity,
        momentum_regressor,
        spatial_momentum,
    )
    from mbt.kinematics.one_frame import inverse_kinematics
    from mbt.motion.rollouts import rollout, step
    from mbt.motion.step_derivatives import step_derivatives

__all__ = [
    "bias_term",
    "body_poses",
    "center_of_mass",
    "center_of_mass_jacobian",
    "center_of_mass_velocity",
    "centroidal_momentum_bias",
    "centroidal_momentum_matrix",
    "constrained_forward_dynamics",
    "constrained_forward_dynamics_derivatives",
    "constrained_inverse_dynamics",
    "constraint_bias",
    "constraint_errors",
    "constraint_jacobian",
    "difference_positions",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "frame_bias_acceleration",
    "frame_jacobian",
    "frame_jacobian_rate",
    "frame_pose",
    "frame_velocity",
    "gravity_generalized_forces",
    "impulse_dynamics",
    "integrate_positions",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_kinematics",
    "mass_matrix",
    "momentum_regressor",
    "operational_space_inertia",
    "operational_space_inverse_inertia",
    "pose_error",
    "rollout",
    "spatial_momentum",
    "step",
    "step_derivatives",
]

_OF_CONSTRAINTS = (
    "constrained_forward_dynamics",
    "constrained_inverse_dynamics",
    "constraint_bias",
    "constraint_errors",
    "constraint_jacobian",
    "impulse_dynamics",
)

_OF_MOTION = (
    "center_of_mass_jacobian",
    "center_of_mass_velocity",
    "centroidal_momentum_bias",
    "centroidal_momentum_matrix",
    "frame_bias_acceleration",
    "frame_velocity",
    "momentum_regressor",
    "spatial_momentum",
)

#: Their names in Pinocchio and MuJoCo.
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
    "jacobianCenterOfMass": "center_of_mass_jacobian",
    "computeCentroidalMap": "centroidal_momentum_matrix",
    "computeCentroidalMomentum": "spatial_momentum",
    "dccrba": "centroidal_momentum_bias",
    "getFrameVelocity": "frame_velocity",
    "mj_objectVelocity": "frame_velocity",
    "integrate": "integrate_positions",
    "difference": "difference_positions",
    "mj_step": "step",
}


def __getattr__(name: str) -> Any:
    """Import a function when it is first used."""
    if name not in __all__:
        cure = f"; it is called {_ELSEWHERE[name]!r} here" if name in _ELSEWHERE else ""
        raise AttributeError(f"module 'mbt.functional' has no attribute {name!r}{cure}")
    module: ModuleType
    if name in ("rollout", "step", "step_derivatives"):
        from mbt import motion as module
    elif name == "inverse_kinematics":
        from mbt import kinematics as module
    elif name == "pose_error":
        from mbt._core.api import pose_errors as module
    elif name in _OF_CONSTRAINTS:
        from mbt._core.api import stateless_constraints as module
    elif name.endswith("_derivatives"):
        from mbt._core.api import stateless_derivatives as module
    elif name.endswith("_positions"):
        from mbt._core.api import configuration as module
    elif name in _OF_MOTION:
        from mbt._core.api import stateless_motion as module
    else:
        from mbt._core.api import stateless_kinematics as module
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
