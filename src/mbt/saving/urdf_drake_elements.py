"""Springs between points, bushings and balls that close loops, as Drake's extensions of URDF."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement

from mbt.saving.urdf_values import number, numbers
from mbt.tree.constraints import BallConstraint
from mbt.tree.force_elements import LinearBushingRollPitchYaw, LinearSpringDamper

if TYPE_CHECKING:
    from mbt.tree.body import RigidBody
    from mbt.tree.frame import Frame

__all__ = ["make_ball", "make_bushing", "make_spring"]


def make_spring(spring: LinearSpringDamper, links: Mapping[RigidBody, str]) -> Element:
    """Return a spring and damper between points of two links.

    Parameters
    ----------
    spring : LinearSpringDamper
        The element.
    links : mapping from RigidBody to str
        Names of the links.
    """
    return _make_element(
        "drake:linear_spring_damper",
        "drake:linear_spring_damper",
        {"body_A": links[spring.bodyA], "body_B": links[spring.bodyB]},
        {
            "p_AP": numbers(spring.p_AP),
            "p_BQ": numbers(spring.p_BQ),
            "free_length": number(spring.free_length),
            "stiffness": number(spring.stiffness),
            "damping": number(spring.damping),
        },
    )


def make_bushing(bushing: LinearBushingRollPitchYaw, frames: Mapping[Frame, str]) -> Element:
    """Return a bushing between two frames.

    Parameters
    ----------
    bushing : LinearBushingRollPitchYaw
        The element.
    frames : mapping from Frame to str
        Names of the frames; for a frame of a body, that of its link.
    """
    constants = {
        f"{kind}_{constant}": numbers(getattr(bushing, f"{kind}_{constant}_constants"))
        for kind in ("torque", "force")
        for constant in ("stiffness", "damping")
    }
    names = {"frameA": frames[bushing.frameA], "frameC": frames[bushing.frameC]}
    return _make_element("drake:linear_bushing_rpy", "drake:bushing", names, constants)


def make_ball(ball: BallConstraint, links: Mapping[RigidBody, str]) -> Element:
    """Return a constraint that keeps a point on one link at a point on another one.

    Parameters
    ----------
    ball : BallConstraint
        The constraint.
    links : mapping from RigidBody to str
        Names of the links.
    """
    A, B = ball.frame_A, ball.frame_B
    points = {part: numbers(frame._default_pose()[:3, 3]) for part, frame in (("p_AP", A), ("p_BQ", B))}
    names = {"body_A": links[A.body], "body_B": links[B.body]}
    return _make_element("drake:ball_constraint", "drake:ball_constraint", names, points)


def _make_element(tag: str, prefix: str, names: dict[str, str], values: dict[str, str]) -> Element:
    element = Element(tag)
    parts: Iterable[tuple[str, dict[str, str]]] = (("name", names), ("value", values))
    for attribute, texts in parts:
        for part, text in texts.items():
            SubElement(element, f"{prefix}_{part}", {attribute: text})
    return element
