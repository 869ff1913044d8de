"""The two forms of an addition: an element, or a class followed by the arguments of its constructor."""

from __future__ import annotations

from typing import Any

from mbt.errors import ArgumentTypeError, quote
from mbt.math.poses import as_pose
from mbt.tree.body import RigidBody
from mbt.tree.element import MultibodyElement, call_constructor, check_constructed, is_constructed
from mbt.tree.frame import FixedOffsetFrame, Frame

__all__ = ["make_element", "make_joint_frames"]


def make_element(
    method: str, base: type[Any], element: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return the element given to an ``add_*`` method, constructed if given as a class and arguments."""
    if isinstance(element, type):
        if not issubclass(element, base):
            raise ArgumentTypeError(
                f"{method}: expected a class derived from {base.__name__}, got {element.__name__}"
            )
        element = call_constructor(element.__name__, element, args, kwargs)
        check_constructed(element, method)
        return element
    if not isinstance(element, base):
        got = repr(element) if isinstance(element, MultibodyElement) else type(element).__name__
        raise ArgumentTypeError(
            f"{method}: expected a {base.__name__}, or a class of such elements, got {got}"
        )
    if not is_constructed(element):
        check_constructed(element, method)
    if args or kwargs:
        raise ArgumentTypeError(
            f"{method}: expected nothing after {element._label}: only a class is followed by arguments"
        )
    return element


def make_joint_frames(
    name: str, parent: Frame | RigidBody, X_PF: object, child: Frame | RigidBody, X_BM: object
) -> tuple[Frame, Frame]:
    """Return the frames F and M of a joint: the given ones, or new ones where a pose is given."""
    instance = child.model_instance
    frame_F: Frame = parent.body_frame if isinstance(parent, RigidBody) else parent
    frame_M: Frame = child.body_frame if isinstance(child, RigidBody) else child
    if X_PF is not None:
        X_PF = as_pose(X_PF, f"joint {quote(name)}: X_PF")
        frame_F = FixedOffsetFrame(f"{name}_parent", frame_F, X_PF, instance)
    if X_BM is not None:
        X_BM = as_pose(X_BM, f"joint {quote(name)}: X_BM")
        frame_M = FixedOffsetFrame(f"{name}_child", frame_M, X_BM, instance)
    return frame_F, frame_M
