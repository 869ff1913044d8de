"""Contact of points against compliant point contact of Drake: the same law above the stiction speed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt

pytestmark = pytest.mark.oracle
pytest.importorskip("pydrake", reason="needs the `oracle` extra")

from pydrake.geometry import (  # noqa: E402  # needs pydrake
    AddContactMaterial,
    HalfSpace,
    ProximityProperties,
    Sphere,
)
from pydrake.math import RigidTransform  # noqa: E402
from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig  # noqa: E402
from pydrake.multibody.tree import SpatialInertia, UnitInertia  # noqa: E402
from pydrake.systems.framework import DiagramBuilder  # noqa: E402

RADIUS = 0.01
POINTS = np.array([[0.2, 0.1, -0.1], [-0.2, 0.1, -0.1], [0.2, -0.1, -0.1], [-0.2, -0.1, -0.1]])
X_WA = mbt.math.make_pose([0.1, -0.2, 0.3], rpy=[0.2, -0.3, 0.4])
STIFFNESS, DISSIPATION, STATIC, DYNAMIC, SPEED = 3e3, 0.7, 0.8, 0.5, 0.04


class Drake:
    """A box with a ball at each point, above an inclined plane."""

    def __init__(self) -> None:
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(time_step=0.0, stiction_tolerance=SPEED, contact_model="point")
        self.plant, _ = AddMultibodyPlant(config, builder)
        inertia = SpatialInertia(2.0, np.zeros(3), UnitInertia.SolidBox(0.4, 0.2, 0.2))
        self.box = self.plant.AddRigidBody("box", inertia)
        # In series: each has twice the total stiffness.
        properties = ProximityProperties()
        friction = CoulombFriction(STATIC, DYNAMIC)
        AddContactMaterial(
            dissipation=DISSIPATION, point_stiffness=2 * STIFFNESS, friction=friction, properties=properties
        )
        shapes: list[tuple[Any, Any, Any]] = [(self.plant.world_body(), X_WA, HalfSpace())]
        for p in POINTS:
            shapes.append((self.box, mbt.math.make_pose(p), Sphere(RADIUS)))
        for i, (body, X, shape) in enumerate(shapes):
            self.plant.RegisterCollisionGeometry(body, RigidTransform(X), shape, f"shape{i}", properties)
        self.plant.Finalize()
        self.diagram = builder.Build()

    def forces(self, q: Any, v: Any) -> dict[tuple[float, ...], tuple[Any, float]]:
        """Return the force on the box at each ball in contact, by the ball's position, and its depth."""
        root = self.diagram.CreateDefaultContext()
        context = self.plant.GetMyMutableContextFromRoot(root)
        self.plant.SetPositions(context, q)
        self.plant.SetVelocities(context, v)
        results = self.plant.get_contact_results_output_port().Eval(context)
        X_WB = self.plant.EvalBodyPoseInWorld(context, self.box).GetAsMatrix4()
        found = {}
        for i in range(results.num_point_pair_contacts()):
            info = results.point_pair_contact_info(i)
            sign = 1.0 if info.bodyB_index() == self.box.index() else -1.0
            p_B = (np.linalg.inv(X_WB) @ [*info.contact_point(), 1.0])[:3]
            nearest = POINTS[np.argmin(np.linalg.norm(POINTS - p_B, axis=1))]
            depth = info.point_pair().depth
            found[tuple(nearest.tolist())] = (sign * info.contact_force(), depth)
        return found


def test_forces_of_points_that_slide() -> None:
    drake = Drake()
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_box_with_mass(2.0, 0.4, 0.2, 0.2)))
    # Where the centres of the balls are at first touch.
    X_AL = mbt.math.make_pose([0, 0, RADIUS])
    plane = tree.add_frame(mbt.FixedOffsetFrame("plane", tree.world_body, X_WA @ X_AL))
    contact = tree.add_force_element(
        mbt.PointContact(
            box, POINTS, plane, stiffness=STIFFNESS, dissipation=DISSIPATION, static_friction=STATIC,
            dynamic_friction=DYNAMIC, stiction_speed=SPEED,
        )
    )  # fmt: skip
    tree.finalize()
    context = tree.create_default_context()
    rng = np.random.default_rng(0)
    touched = 0
    for speed in (SPEED, 1.5 * SPEED, 2.5 * SPEED, 10 * SPEED):
        for rise in (-0.5, 0.3, 1.6):
            X_AB = mbt.math.make_pose([*rng.uniform(-1, 1, 2), 0.11], rpy=rng.uniform(-0.05, 0.05, 3))
            X_WB = X_WA @ X_AB
            q = np.concatenate([mbt.math.matrix_to_quaternion(X_WB[:3, :3]), X_WB[:3, 3]])
            angle = rng.uniform(0, 2 * np.pi)
            # Without rotation, since Drake's point of contact is only half as deep.
            v_A = [speed * np.cos(angle), speed * np.sin(angle), rise]
            v = np.concatenate([np.zeros(3), X_WA[:3, :3] @ v_A])
            context.q, context.v = q, v
            forces, depths = contact.calc_contact_forces(context), contact.calc_depths(context)
            theirs = drake.forces(q, v)
            for p, force, depth in zip(POINTS, forces, depths, strict=True):
                expected, their_depth = theirs.get(tuple(p.tolist()), (np.zeros(3), None))
                np.testing.assert_allclose(force, expected, rtol=0, atol=1e-9)
                assert (depth > 0) == (their_depth is not None) or not force.any()
                if their_depth is not None:
                    assert depth == pytest.approx(their_depth, abs=1e-14)
                touched += bool(force.any())
    assert touched > 12
