"""Rigid multibody kinematics and dynamics for NumPy users.

Build a `MultibodyTree` from bodies, joints and forces, or read one with `load_model`; `finalize` it; then
compute with a `Context`, or with the stateless functions of `mbt.functional`.
"""

# ruff: noqa: F403, F405

import typing as _typing

from mbt.importing import CollectorAtRest as _CollectorAtRest

with _CollectorAtRest():
    from mbt import math
    from mbt import tree as _tree
    from mbt import wiring as _wiring  # noqa: F401 - it connects the subpackages
    from mbt.config import get_num_threads, set_num_threads, show_config
    from mbt.errors import (
        AlreadyFinalizedError,
        ArgumentTypeError,
        ArgumentValueError,
        AssemblyError,
        CompilerError,
        ConcurrentUseError,
        ContextMismatchError,
        ElementIndexError,
        ForeignElementError,
        FrozenContextError,
        InvalidInertiaError,
        MbtError,
        MissingPackageError,
        ModelWarning,
        NotFinalizedError,
        ParseError,
        ShapeError,
        SimulationWarning,
        SingularityError,
        StaleCacheError,
        TopologyError,
        UnknownNameError,
    )
    from mbt.math import SpatialInertia, UnitInertia
    from mbt.tree import (
        AbstractParameterIndex,
        BodyFrame,
        BodyIndex,
        BodyNodeIndex,
        CacheEntry,
        ConstraintIndex,
        DiscreteStateIndex,
        FixedOffsetFrame,
        ForceElementIndex,
        Frame,
        FrameIndex,
        Joint,
        JointActuator,
        JointActuatorIndex,
        JointIndex,
        Mobilizer,
        MobilizerIndex,
        ModelInstance,
        ModelInstanceIndex,
        MultibodyElement,
        MultibodyTree,
        NumericParameterIndex,
        Parameters,
        RigidBody,
        SensorIndex,
        Shape,
        default_model_instance,
        world_index,
        world_model_instance,
    )

if _typing.TYPE_CHECKING:
    from mbt import (
        autodiff,
        checking,
        compiling,
        functional,
        identification,
        interop,
        models,
        parsing,
        plotting,
        symbolic,
    )
    from mbt import context as context
    from mbt.checking import CheckReport, Finding, SelftestReport, check_model, selftest
    from mbt.compiling import CompiledFunction, CompiledFunctions, compile
    from mbt.context import (
        AccelerationKinematicsCache,
        Context,
        FrameBodyPoseCache,
        MultibodyForces,
        PositionKinematicsCache,
        VelocityKinematicsCache,
    )
    from mbt.context.energy_report import EnergyReport
    from mbt.control import ContactPoints, TaskSpaceController, TaskSpaceResult
    from mbt.math import PiecewiseConstantCurvatureTrajectory
    from mbt.motion.simulation import simulate
    from mbt.motion.trajectory import Trajectory
    from mbt.parsing import ParseReport, load_model
    from mbt.plotting import plot
    from mbt.saving import save_model
    from mbt.scalars import BatchContext
    from mbt.topology import SpanningForest
    from mbt.tree.constraints import *
    from mbt.tree.constraints.report import ConstraintReport
    from mbt.tree.force_elements import *
    from mbt.tree.joints import *
    from mbt.tree.locking import lock_joints
    from mbt.tree.report import FinalizeReport
    from mbt.tree.sensors import *
    from mbt.tree.surface import Surface
    from mbt.viewer import Viewer, record, view

__version__ = "0.2.0"

__all__ = [
    # Models
    "MultibodyTree",
    "load_model",
    "interop",
    "lock_joints",
    "save_model",
    "models",
    "parsing",
    "FinalizeReport",
    "ParseReport",
    "SpanningForest",
    # Robot files
    "check_model",
    "checking",
    "selftest",
    "CheckReport",
    "Finding",
    "SelftestReport",
    # Native code for one tree
    "compile",
    "compiling",
    "CompiledFunction",
    "CompiledFunctions",
    # Pictures
    "plot",
    "plotting",
    # Elements
    "MultibodyElement",
    "RigidBody",
    "SpatialInertia",
    "UnitInertia",
    "PiecewiseConstantCurvatureTrajectory",
    "Frame",
    "BodyFrame",
    "FixedOffsetFrame",
    "JointActuator",
    "ModelInstance",
    "Shape",
    "ShapeContact",
    "Surface",
    "Joint",
    "Mobilizer",
    # Declarations of elements written in Python
    "CacheEntry",
    "Parameters",
    # Computing
    "Context",
    "BatchContext",
    "MultibodyForces",
    "PositionKinematicsCache",
    "VelocityKinematicsCache",
    "AccelerationKinematicsCache",
    "FrameBodyPoseCache",
    "ConstraintReport",
    "EnergyReport",
    "Trajectory",
    "InverseKinematics",
    "InverseKinematicsDerivatives",
    "InverseKinematicsResult",
    "CollisionModel",
    "decompose_mesh",
    "simulate",
    # Control
    "ContactPoints",
    "TaskSpaceController",
    "TaskSpaceResult",
    # Viewers
    "view",
    "Viewer",
    "record",
    "autodiff",
    "functional",
    "identification",
    "math",
    "symbolic",
    # Configuration
    "get_num_threads",
    "set_num_threads",
    "show_config",
    # Indices
    "AbstractParameterIndex",
    "BodyIndex",
    "BodyNodeIndex",
    "ConstraintIndex",
    "DiscreteStateIndex",
    "ForceElementIndex",
    "FrameIndex",
    "JointActuatorIndex",
    "JointIndex",
    "MobilizerIndex",
    "ModelInstanceIndex",
    "NumericParameterIndex",
    "SensorIndex",
    "default_model_instance",
    "world_index",
    "world_model_instance",
    # Errors and warnings
    "MbtError",
    "AlreadyFinalizedError",
    "ArgumentTypeError",
    "ArgumentValueError",
    "AssemblyError",
    "CompilerError",
    "ConcurrentUseError",
    "ContextMismatchError",
    "ElementIndexError",
    "ForeignElementError",
    "FrozenContextError",
    "InvalidInertiaError",
    "MissingPackageError",
    "ModelWarning",
    "NotFinalizedError",
    "ParseError",
    "ShapeError",
    "SimulationWarning",
    "SingularityError",
    "StaleCacheError",
    "TopologyError",
    "UnknownNameError",
]
# Their types.
__all__ += _tree.constraints.__all__
__all__ += _tree.force_elements.__all__
__all__ += _tree.joints.__all__
__all__ += _tree.sensors.__all__


# Names that take time to import and are not always used; types of elements come from `mbt.tree`.
_MODULES_OF = {
    "AccelerationKinematicsCache": "mbt.context",
    "Context": "mbt.context",
    "FrameBodyPoseCache": "mbt.context",
    "MultibodyForces": "mbt.context",
    "PositionKinematicsCache": "mbt.context",
    "VelocityKinematicsCache": "mbt.context",
    "InverseKinematics": "mbt.kinematics",
    "InverseKinematicsDerivatives": "mbt.kinematics.derivatives",
    "InverseKinematicsResult": "mbt.kinematics",
    "load_model": "mbt.parsing",
    "lock_joints": "mbt.tree.locking",
    "save_model": "mbt.saving",
    "BatchContext": "mbt.scalars",
    "CompiledFunction": "mbt.compiling",
    "CompiledFunctions": "mbt.compiling",
    "compile": "mbt.compiling",
    "CheckReport": "mbt.checking",
    "CollisionModel": "mbt.geometry",
    "decompose_mesh": "mbt.geometry",
    "Finding": "mbt.checking",
    "SelftestReport": "mbt.checking.selftest_report",
    "selftest": "mbt.checking.identities",
    "check_model": "mbt.checking",
    "ConstraintReport": "mbt.tree.constraints.report",
    "ContactPoints": "mbt.control",
    "TaskSpaceController": "mbt.control",
    "TaskSpaceResult": "mbt.control",
    "EnergyReport": "mbt.context.energy_report",
    "FinalizeReport": "mbt.tree.report",
    "ParseReport": "mbt.parsing",
    "PiecewiseConstantCurvatureTrajectory": "mbt.math.curvilinear_path",
    "SpanningForest": "mbt.topology",
    "plot": "mbt.plotting",
    "Trajectory": "mbt.motion.trajectory",
    "Viewer": "mbt.viewer",
    "record": "mbt.viewer",
    "ShapeContact": "mbt.geometry",
    "Surface": "mbt.tree.surface",
    "simulate": "mbt.motion.simulation",
    "view": "mbt.viewer",
}

_ROOMS = (
    "autodiff",
    "checking",
    "compiling",
    "context",
    "functional",
    "identification",
    "interop",
    "models",
    "parsing",
    "plotting",
    "symbolic",
)


def __getattr__(name: str) -> _typing.Any:
    """Import some modules when they, or names in them, are first used."""
    from importlib import import_module

    if name in _ROOMS:
        return import_module(f"mbt.{name}")  # This sets the attribute.
    if name in __all__:
        return globals().setdefault(name, getattr(import_module(_MODULES_OF.get(name, "mbt.tree")), name))
    if name in ("load_urdf", "load_sdf", "load_mjcf", "load", "buildModelFromUrdf"):
        raise AttributeError(f"module 'mbt' has no attribute {name!r}; mbt.load_model reads all formats")
    from mbt import functional

    if name in functional._ELSEWHERE or name in functional.__all__:
        name_here = functional._ELSEWHERE.get(name, name)
        raise AttributeError(
            f"module 'mbt' has no attribute {name!r}; functions of arrays are in mbt.functional: "
            f"mbt.functional.{name_here}"
        )
    raise AttributeError(f"module 'mbt' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted(__all__)
