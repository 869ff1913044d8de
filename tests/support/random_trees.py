"""Seeded random models of all shapes known to be interesting, as plain descriptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from support.description import (
    AXIS_KINDS,
    JOINT_SIZES,
    WORLD,
    Actuator,
    Array,
    Body,
    Joint,
    Model,
    OffsetFrame,
    Path,
)

ALL_KINDS = (
    "weld",
    "revolute",
    "prismatic",
    "floating",
    "screw",
    "universal",
    "ball_rpy",
    "planar",
    "rpy_floating",
    "cylindrical",
    "quaternion_ball",
    "curvilinear",
)
# Mostly joints of arms, as in practice; a few of everything else.
USUAL_KINDS = ("revolute", "revolute", "revolute", "prismatic", "prismatic", "weld", "weld", "floating")


def random_unit(rng: np.random.Generator) -> Array:
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def random_rotation(rng: np.random.Generator) -> Array:
    """A rotation matrix by QR of a random matrix."""
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    Q = Q * np.sign(np.diag(R))
    return Q if np.linalg.det(Q) > 0 else -Q


def random_pose(rng: np.random.Generator, reach: float = 0.5) -> Array:
    X = np.eye(4)
    X[:3, :3] = random_rotation(rng)
    X[:3, 3] = rng.uniform(-reach, reach, 3)
    return X


def random_body(rng: np.random.Generator, name: str) -> Body:
    """A body made of point masses, so that its inertia is physical by construction."""
    masses = rng.uniform(0.1, 1.0, 6)
    points = rng.uniform(-0.3, 0.3, (6, 3)) + rng.uniform(-0.2, 0.2, 3)
    mass = float(masses.sum())
    com = masses @ points / mass
    arms = points - com
    # I = sum m (|r|^2 1 - r r')
    inertia = np.einsum("n,nij->ij", masses, [(r @ r) * np.eye(3) - np.outer(r, r) for r in arms])
    return Body(name, mass, com, (inertia + inertia.T) / 2)


def random_joint(
    rng: np.random.Generator, name: str, kind: str, inboard: str, outboard: str, *, may_reverse: bool
) -> Joint:
    """A joint between two bodies, in either direction; frames are sometimes the body frames themselves."""
    is_reversed = may_reverse and rng.random() < 0.3
    parent, child = (outboard, inboard) if is_reversed else (inboard, outboard)
    nv = JOINT_SIZES[kind][1]
    # Some joints have one damping constant for several velocities.
    d = rng.uniform(0.0, 0.5, 4).tolist()
    if kind in ("floating", "rpy_floating"):
        damping = (d[2],) * 3 + (d[3],) * 3
    elif kind in ("planar", "cylindrical"):
        damping = tuple(d[:nv])
    else:
        damping = (d[1 if kind == "prismatic" else 0],) * nv
    return Joint(
        name,
        kind,
        parent,
        child,
        X_PF=random_pose(rng) if rng.random() < 0.8 else None,
        X_BM=random_pose(rng) if rng.random() < 0.8 else None,
        axis=random_unit(rng) if kind in AXIS_KINDS else None,
        X_FM=random_pose(rng) if kind == "weld" else None,
        damping=damping,
        screw_pitch=rng.uniform(-2.0, 2.0) if kind == "screw" else 0.0,
        path=random_path(rng) if kind == "curvilinear" else None,
    )


def random_path(rng: np.random.Generator) -> Path:
    """A path of several pieces, one of them straight; or a stadium, which is periodic."""
    R = random_rotation(rng)
    if rng.random() < 0.3:
        straight, radius = rng.uniform(0.1, 0.5, 2)
        breaks = np.cumsum([0.0, straight, np.pi * radius, straight, np.pi * radius])
        rates = np.array([0.0, 1 / radius, 0.0, 1 / radius])
        return Path(breaks, rates, R[:, 0], R[:, 2], rng.uniform(-0.3, 0.3, 3), is_periodic=True)
    breaks = np.cumsum([0.0, *rng.uniform(0.2, 0.6, 4)])
    rates = rng.uniform(-2.0, 2.0, 4)
    rates[rng.integers(4)] = 0.0
    return Path(breaks, rates, R[:, 0], R[:, 2], rng.uniform(-0.3, 0.3, 3))


def random_actuators(rng: np.random.Generator, joints: Sequence[Joint], share: float) -> tuple[Actuator, ...]:
    return tuple(
        Actuator(f"{joint.name}_motor", joint.name, rng.uniform(0.001, 0.01), rng.uniform(-20.0, 20.0))
        for joint in joints
        if joint.num_velocities == 1 and rng.random() < share
    )


def random_frames(rng: np.random.Generator, bodies: Sequence[Body]) -> tuple[OffsetFrame, ...]:
    """Two frames, the second fixed to the first, on a random body; and one on World."""
    frames = [OffsetFrame("camera_post", WORLD, random_pose(rng))]
    if bodies:
        body = bodies[int(rng.integers(len(bodies)))]
        frames.append(OffsetFrame("wrist", body.name, random_pose(rng)))
        frames.append(OffsetFrame("tool", "wrist", random_pose(rng)))
    return tuple(frames)


def random_model(
    seed: int,
    num_bodies: int,
    *,
    kinds: Sequence[str] = USUAL_KINDS,
    pick_parent: Callable[[np.random.Generator, int], int] | None = None,
    may_reverse: bool = True,
    actuated: float = 0.3,
    free_bases: bool = False,
) -> Model:
    """A random tree.

    `pick_parent(rng, i)` gives the inboard body of body i (-1 is World); `free_bases` leaves the bodies on
    World without a joint.
    """
    rng = np.random.default_rng(seed)
    pick = pick_parent or (lambda rng, i: int(rng.integers(-1, i)))
    names = [f"body{i}" for i in range(num_bodies)]
    bodies = tuple(random_body(rng, name) for name in names)
    joints = []
    for i, name in enumerate(names):
        parent = pick(rng, i)
        kind = str(rng.choice(list(kinds)))
        if parent < 0 and free_bases:
            continue
        inboard = WORLD if parent < 0 else names[parent]
        joints.append(random_joint(rng, f"joint{i}", kind, inboard, name, may_reverse=may_reverse))
    return Model(
        f"random_{num_bodies}_{seed}",
        bodies,
        tuple(joints),
        random_actuators(rng, joints, actuated),
        random_frames(rng, bodies),
        gravity=9.81 * random_unit(rng),
    )


def chain(seed: int, num_bodies: int, kinds: Sequence[str] = ("revolute",)) -> Model:
    return random_model(seed, num_bodies, kinds=kinds, pick_parent=lambda rng, i: i - 1)


def long_branches(seed: int) -> Model:
    """A trunk of 24 bodies with every joint type, two branches of 16 on it, and a short one beside it."""
    roots = {0: -1, 24: 12, 40: 18, 56: -1}
    return random_model(seed, 58, kinds=ALL_KINDS, pick_parent=lambda rng, i: roots.get(i, i - 1))


def star(seed: int, num_bodies: int) -> Model:
    """All bodies but the first are children of the first."""
    return random_model(seed, num_bodies, kinds=ALL_KINDS, pick_parent=lambda rng, i: 0 if i else -1)


def humanoid(seed: int) -> Model:
    """A free trunk with four limbs of six revolute joints, welded hands and feet, and a head."""
    rng = np.random.default_rng(seed)
    inboard = {"trunk": None, "head": "trunk"}
    for limb in ("arm_l", "arm_r", "leg_l", "leg_r"):
        inboard |= {f"{limb}{k}": f"{limb}{k - 1}" if k else "trunk" for k in range(7)}
    joints = [
        random_joint(
            rng,
            f"{name}_joint",
            "weld" if name.endswith("6") else "revolute",
            parent,
            name,
            may_reverse=False,
        )
        for name, parent in inboard.items()
        if parent is not None
    ]
    bodies = tuple(random_body(rng, name) for name in inboard)
    return Model(
        "humanoid", bodies, tuple(joints), random_actuators(rng, joints, 1.0), random_frames(rng, bodies)
    )


def every_joint(seed: int) -> Model:
    """Each joint type in each direction, with offset frames; all motors have rotors."""
    rng = np.random.default_rng(seed)
    kinds = [(kind, is_reversed) for is_reversed in (False, True) for kind in ALL_KINDS]
    bodies = tuple(random_body(rng, f"body{i}") for i in range(len(kinds)))
    joints = []
    for i, (kind, is_reversed) in enumerate(kinds):
        inboard = bodies[int(rng.integers(max(0, i - 3), i))].name if i else WORLD
        joint = random_joint(rng, f"joint{i}", kind, inboard, bodies[i].name, may_reverse=False)
        joint = replace(joint, X_PF=random_pose(rng), X_BM=random_pose(rng))
        joints.append(_reversed(joint) if is_reversed else joint)
    return Model(
        "every_joint",
        bodies,
        tuple(joints),
        random_actuators(rng, joints, 1.0),
        random_frames(rng, bodies),
        gravity=9.81 * random_unit(rng),
    )


def every_kind(seed: int) -> Model:
    """Each joint type once, in either direction, on a tree with short branches."""
    rng = np.random.default_rng(seed)
    names = [WORLD, *(f"body{i}" for i in range(len(ALL_KINDS)))]
    joints = tuple(
        random_joint(rng, f"joint{i}", kind, names[(i + 2) // 3], names[i + 1], may_reverse=True)
        for i, kind in enumerate(ALL_KINDS)
    )
    bodies = tuple(random_body(rng, name) for name in names[1:])
    return Model("every_kind", bodies, joints, random_actuators(rng, joints, 1.0), random_frames(rng, bodies))


def one_joint(kind: str, *, is_reversed: bool) -> Model:
    """One body on World."""
    model = random_model(ALL_KINDS.index(kind), 1, kinds=(kind,), may_reverse=False)
    return _all_reversed(model) if is_reversed else model


def all_weld(seed: int) -> Model:
    """Six bodies, no degree of freedom."""
    return random_model(seed, 6, kinds=("weld",))


def world_only() -> Model:
    return Model("world_only", frames=random_frames(np.random.default_rng(0), ()))


# One entry per shape; each call builds a new model, so that tests do not share objects.
CATALOGUE: dict[str, Callable[[], Model]] = {
    "world_only": world_only,
    "all_weld": lambda: all_weld(1),
    "one_revolute": lambda: random_model(2, 1, kinds=("revolute",), may_reverse=False),
    "one_revolute_reversed": lambda: _all_reversed(
        random_model(3, 1, kinds=("revolute",), may_reverse=False)
    ),
    "one_prismatic": lambda: random_model(4, 1, kinds=("prismatic",)),
    "one_floating": lambda: random_model(5, 1, kinds=("floating",), may_reverse=False),
    "one_floating_reversed": lambda: _all_reversed(
        random_model(6, 1, kinds=("floating",), may_reverse=False)
    ),
    **{
        f"one_{kind}{'_reversed' * is_reversed}": partial(one_joint, kind, is_reversed=is_reversed)
        for kind in ALL_KINDS[4:]
        for is_reversed in (False, True)
    },
    "free_body": lambda: random_model(7, 1, free_bases=True),
    "arm7": lambda: chain(8, 7),
    "mixed3": lambda: random_model(9, 3, kinds=ALL_KINDS),
    "mixed8": lambda: random_model(10, 8, kinds=ALL_KINDS),
    "mixed8_reversed": lambda: _all_reversed(random_model(11, 8, kinds=ALL_KINDS, may_reverse=False)),
    "every_joint": lambda: every_joint(20),
    "mixed20": lambda: random_model(12, 20),
    "mixed40": lambda: random_model(13, 40),
    "free_forest": lambda: random_model(14, 12, free_bases=True),
    "deep_chain": lambda: chain(15, 40, ("revolute", "revolute", "prismatic", "weld")),
    "long_branches": lambda: long_branches(21),
    "welded_chain": lambda: chain(16, 12, ("weld", "weld", "revolute")),
    "star": lambda: star(17, 25),
    "humanoid": lambda: humanoid(18),
    "no_gravity": lambda: _without_gravity(random_model(19, 5)),
}


def _reversed(joint: Joint) -> Joint:
    """The same frames and axis, declared from child to parent: another joint, whose coordinate is measured
    in the opposite direction.
    """
    return replace(joint, parent=joint.child, child=joint.parent)


def _all_reversed(model: Model) -> Model:
    return replace(model, joints=tuple(_reversed(joint) for joint in model.joints))


def _without_gravity(model: Model) -> Model:
    return replace(model, gravity=None)
