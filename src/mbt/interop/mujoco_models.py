"""Trees from models of MuJoCo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, shorten
from mbt.interop.building import build_tree
from mbt.math.arrays import FloatArray, as_finite_array
from mbt.parsing.mujoco_description import describe_mujoco_model
from mbt.parsing.mujoco_names import ModelNames
from mbt.parsing.mujoco_rest import calc_gravity
from mbt.parsing.options import Actuators, Base, ReadOptions
from mbt.parsing.report import ParseReport

if TYPE_CHECKING:
    import mujoco
    import numpy.typing as npt

    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["from_mujoco"]


def from_mujoco(
    model: mujoco.MjModel | mujoco.MjSpec,
    *,
    model_name: str | None = None,
    base: Base = None,
    base_pose: npt.ArrayLike | None = None,
    gravity: npt.ArrayLike | Literal["model"] | None = "model",
    actuators: Actuators = "declared",
    joint_friction: bool = False,
) -> MultibodyTree:
    """Return the tree of a model of MuJoCo: the same mass matrix, bias, gravity, poses, springs and dampers.

    Bodies, joints and actuators have the order and names of MuJoCo. `MujocoCoordinates`
    maps positions and velocities between the two. The page "MJCF" explains how each element is modelled, and
    lists those without a counterpart.

    Parameters
    ----------
    model : mujoco.MjModel or mujoco.MjSpec
        The model. A copy of a specification is compiled.
    model_name, base, base_pose, actuators, joint_friction
        As in `load_model`; the name is by default that of the model.
    gravity : array_like, shape (3,), "model" or None, optional
        Gravity in World [m/s^2]; by default that of the model; None adds none.

    Returns
    -------
    MultibodyTree
        Finalized. ``tree.parse_reports`` lists omissions.

    Warns
    -----
    ModelWarning
        Once, if something that moves bodies has no counterpart.

    Raises
    ------
    ArgumentTypeError
        When `model` is neither.
    ArgumentValueError
        When a specification does not compile.

    Examples
    --------
    .. code-block:: python

        model = mujoco.MjModel.from_xml_path("humanoid.xml")
        tree = mbt.interop.from_mujoco(model)
    """
    options = ReadOptions(model_name, base, False, joint_friction, actuators)
    compiled = _compile(model)
    g_W = _gravity_of(compiled, gravity)
    name = model_name or ModelNames(compiled).model or "model"
    report = ParseReport(f"<{type(model).__name__}>", name)
    return build_tree(describe_mujoco_model(compiled, report, options), base, base_pose, g_W)


def _compile(model: Any) -> mujoco.MjModel:
    try:
        import mujoco
    except ImportError:
        expected = "expected a mujoco.MjModel or mujoco.MjSpec"
        raise ArgumentTypeError(f"model: {expected}, got {type(model).__name__}") from None
    if isinstance(model, mujoco.MjModel):
        return model
    if not isinstance(model, mujoco.MjSpec):
        expected = "expected a mujoco.MjModel or mujoco.MjSpec"
        raise ArgumentTypeError(f"model: {expected}, got {type(model).__name__}")
    try:
        return model.copy().compile()
    except ValueError as error:
        raise ArgumentValueError(f"model: it does not compile: {shorten(str(error), 500)}") from None


def _gravity_of(model: mujoco.MjModel, gravity: object) -> FloatArray | None:
    if gravity is None:
        return None
    if isinstance(gravity, str):
        if gravity != "model":
            raise ArgumentValueError(f"gravity: expected three numbers, 'model' or None, got {gravity!r}")
        return np.array(calc_gravity(model))
    return as_finite_array(gravity, "gravity", (3,))
