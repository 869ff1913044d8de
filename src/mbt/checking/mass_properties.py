"""Checks masses and inertias, by themselves and against the size of the shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mbt.math.spatial_inertia import SpatialInertia

if TYPE_CHECKING:
    from mbt.checking.subject import Subject
    from mbt.math.arrays import FloatArray
    from mbt.tree.body import RigidBody
    from mbt.tree.multibody_tree import MultibodyTree
    from mbt.tree.shape import Shape

__all__ = ["check_mass_properties", "nearest_possible_moments"]

# Rounding to a few digits in a file may violate the conditions by this share of the trace.
_ROUNDING = 2e-3
# The least second moments of mass of the nearest possible body, relative to the largest one, so that numbers
# with few digits are still physical.
_LEAST = 1e-4
# Denser than any material (osmium has 22,600), and lighter than air [kg/m^3].
_DENSEST, _LIGHTEST = 30_000.0, 0.5
_LARGEST_MASS, _SMALLEST_MASS = 1e5, 1e-7
# Radii of gyration that no part of a robot has [m].
_LARGEST_GYRATION = 20.0
# The largest plausible ratio of the size that an inertia implies to the size of the shapes.
_MISFIT = 2.0


def check_mass_properties(tree: MultibodyTree, subject: Subject) -> None:
    """Check each body."""
    for body in tree.bodies[1:]:
        subject.attempt(body, _check_body, body, subject)


def _check_body(body: RigidBody, subject: Subject) -> None:
    M = body.default_spatial_inertia
    if not M.is_physically_valid():
        _report_impossible(body, M, subject)
    elif body.default_mass > 0.0:
        _check_mass(body, subject)
        _check_inertia(body, M, subject)


def nearest_possible_moments(I_SScm: FloatArray) -> FloatArray:
    """Return the physical inertia about the mass centre that is nearest to an impossible one.

    Negative second moments of mass along the principal axes, ``s = tr(I)/2 - I``, which no body has, are
    raised. The result is the nearest in the Frobenius norm of the second moments.

    Parameters
    ----------
    I_SScm : ndarray, shape (3, 3)
        Rotational inertia about the mass centre [kg m^2].
    """
    moments, axes = np.linalg.eigh((I_SScm + I_SScm.T) / 2.0)
    second = moments.sum() / 2.0 - moments
    second = np.maximum(second, _LEAST * np.abs(second).max())
    nearest: FloatArray = (axes * (second.sum() - second)) @ axes.T
    return nearest


def _report_impossible(body: RigidBody, M: SpatialInertia, subject: Subject) -> None:
    I_SScm = central_inertia(M)
    moments = np.linalg.eigvalsh(I_SScm)
    trace = float(np.abs(moments).sum())
    missed = float(max(moments[2] - moments[1] - moments[0], -moments[0], 0.0))
    nearest = nearest_possible_moments(I_SScm)
    shown = ", ".join(f"{moment:.4g}" for moment in moments)
    if moments[0] < -1e-12 * trace:
        message = f"no physical body has this inertia: a principal moment is negative, [{shown}] kg m^2"
    else:
        message = (
            f"no physical body has this inertia: of the principal moments [{shown}] kg m^2 one is larger "
            "than the sum of the others"
        )
    by_rounding = missed <= _ROUNDING * trace
    severity = "note" if by_rounding else "error"
    message += ", within rounding" if by_rounding else ""
    numbers = dict(zip(("ixx", "iyy", "izz"), nearest.diagonal(), strict=True))
    numbers |= {"ixy": nearest[0, 1], "ixz": nearest[0, 2], "iyz": nearest[1, 2]}
    cure = "the nearest possible one, about the mass centre in the axes of the link: " + " ".join(
        f"{name}={value + 0.0:.6g}" for name, value in numbers.items()
    )
    subject.report(severity, "impossible-inertia", body, message, cure)  # type: ignore[arg-type]


def central_inertia(M: SpatialInertia) -> FloatArray:
    """Return the rotational inertia about the mass centre."""
    p = M.com
    m = M.mass
    I_SScm: FloatArray = M.calc_rotational_inertia() - m * (p @ p * np.eye(3) - np.outer(p, p))
    return I_SScm


def _check_mass(body: RigidBody, subject: Subject) -> None:
    mass = body.default_mass
    if mass > _LARGEST_MASS:
        message = f"its mass is {mass:.4g} kg"
        subject.report("warning", "mass-unit", body, message, "masses are in kg: is it in g?")
    elif mass < _SMALLEST_MASS:
        message = f"its mass is {mass:.4g} kg, almost zero"
        cure = "leave <inertial> out if the link has no mass, or give its true mass"
        subject.report("note", "mass-unit", body, message, cure)


def _check_inertia(body: RigidBody, M: SpatialInertia, subject: Subject) -> None:
    """Compare the radii of gyration with the size of the shapes, and with plausible bounds."""
    moments = np.linalg.eigvalsh(central_inertia(M))
    mass = body.default_mass
    gyration = math.sqrt(max(float(moments[2]), 0.0) / mass)
    if gyration > _LARGEST_GYRATION:
        message = (
            f"its inertia is that of a body of about {2.0 * gyration:.3g} m: is it in kg mm^2 or kg cm^2?"
        )
        subject.report("warning", "inertia-unit", body, message, "inertias are in kg m^2")
        return
    unknown = ("plane", "mesh", "height_field")
    shapes = [s for s in (*body.collisions, *body.visuals) if s.kind not in unknown]
    if not shapes or any(s.kind == "mesh" for s in (*body.collisions, *body.visuals)):
        return
    radius, volume = _extent(shapes, M.com)
    if gyration > _MISFIT * radius:
        message = (
            f"its inertia is that of a body of about {2.0 * gyration:.3g} m, but its shapes reach "
            f"{radius:.3g} m from the mass centre"
        )
        subject.report("warning", "inertia-and-size", body, message, "inertias are in kg m^2, lengths in m")
    _check_density(body, volume, subject)
    _check_centre(body, shapes, M.com, subject)


def _check_density(body: RigidBody, volume: float, subject: Subject) -> None:
    if volume <= 0.0:
        return
    density = body.default_mass / volume
    if density > _DENSEST:
        message = f"{body.default_mass:.4g} kg in shapes of {volume * 1e3:.3g} l: denser than any metal"
        cure = "masses are in kg, lengths in m"
        subject.report("warning", "density", body, f"{message} ({density:.3g} kg/m^3)", cure)
    elif density < _LIGHTEST:
        message = f"{body.default_mass:.4g} kg in shapes of {volume:.3g} m^3: lighter than air"
        cure = "masses are in kg, lengths in m: are shapes in mm or cm?"
        subject.report("warning", "density", body, f"{message} ({density:.3g} kg/m^3)", cure)


def _check_centre(body: RigidBody, shapes: list[Shape], com: FloatArray, subject: Subject) -> None:
    """Find mass centres far outside of all shapes: most often they are given in another frame."""
    gaps = [float(np.linalg.norm(com - s.X_BG[:3, 3])) - _half_diagonal(s) for s in shapes]
    size = max(
        float(np.linalg.norm(s.X_BG[:3, 3] - shapes[0].X_BG[:3, 3])) + _half_diagonal(s) for s in shapes
    )
    if min(gaps) > size:
        place = ", ".join(f"{x + 0.0:.4g}" for x in com)
        message = f"its mass centre ({place}) is {min(gaps):.3g} m outside of its shapes"
        cure = "the origin of <inertial> is in the frame of the link, in m"
        subject.report("warning", "mass-centre", body, message, cure)


def _extent(shapes: list[Shape], com: FloatArray) -> tuple[float, float]:
    """Return how far the shapes reach from the mass centre, and their total volume."""
    radius = max(float(np.linalg.norm(s.X_BG[:3, 3] - com)) + _half_diagonal(s) for s in shapes)
    return radius, sum(_volume(s) for s in shapes)


def _half_diagonal(shape: Shape) -> float:
    size = shape.size
    if shape.kind == "box":
        return 0.5 * math.hypot(*size)
    if shape.kind == "cylinder":
        return math.hypot(size[0], 0.5 * size[1])
    if shape.kind == "capsule":
        return size[0] + 0.5 * size[1]
    return max(size)


def _volume(shape: Shape) -> float:
    size = shape.size
    if shape.kind == "box":
        return math.prod(size)
    if shape.kind == "cylinder":
        return math.pi * size[0] ** 2 * size[1]
    if shape.kind == "capsule":
        return math.pi * size[0] ** 2 * (size[1] + 4.0 / 3.0 * size[0])
    radii = size if shape.kind == "ellipsoid" else size * 3
    return 4.0 / 3.0 * math.pi * math.prod(radii)
