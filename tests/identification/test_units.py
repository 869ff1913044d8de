"""Units in reports: how each number scales with the lengths of a model."""

from __future__ import annotations

import re

import numpy as np

import mbt
from mbt.identification import calibrate, identify
from mbt.identification.columns import Columns
from mbt.math import make_pose

# The power of length by which each unit scales, with times and masses fixed.
POWERS = {
    "kg": 0, "kg m": 1, "kg m^2": 2, "N m": 2, "N": 1, "N m s/rad": 2, "N s/m": 0, "rad": 0, "m": 1,
}  # fmt: skip


def crane(length: float = 1.0) -> mbt.MultibodyTree:
    """Return a boom that turns, and a hook that slides along it."""
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.solid_box_with_mass(2.0, length, 0.2 * length, 0.3 * length)
    boom, hook = (tree.add_body(mbt.RigidBody(name, inertia)) for name in ("boom", "hook"))
    X = make_pose([0.3 * length, 0.1 * length, 0.2 * length])
    turn = tree.add_joint(mbt.RevoluteJoint, "turn", tree.world_body, None, boom, X, axis=[0, 1, 0])
    slide = tree.add_joint(mbt.PrismaticJoint, "slide", boom, X, hook, None, axis=[1, 0, 0])
    for joint in (turn, slide):
        tree.add_joint_actuator(f"motor_{joint.name}", joint, 100.0)
    tree.add_force_element(mbt.UniformGravityFieldElement([0, 0, -9.81 * length]))
    tree.finalize()
    return tree


def test_columns_grow_as_their_units() -> None:
    """A force is a column times its number, so a column scales as the force over the number."""
    rng = np.random.default_rng(0)
    q, v, vdot = rng.uniform(0.5, 1.0, (3, 20, 2))
    found = []
    for length in (1.0, 2.0):
        settings = {"transition_velocity": 1e-9, "stribeck_velocity": 1e9}
        columns = Columns(crane(length), "viscous+coulomb+stribeck+offset", True, None, **settings)
        scale = np.array([1.0, length])  # of an angle and of an offset
        found.append((columns, *columns.evaluate(scale * q, scale * v, scale * vdot)))
    (columns, X, known), (_, X2, known2) = found
    assert columns.force_units == ("N m", "N")
    of_forces = np.array([POWERS[unit] for unit in columns.force_units])
    of_numbers = np.array([POWERS[unit] for unit in columns.units])
    np.testing.assert_allclose(X2, X * 2.0 ** (of_forces[:, None] - of_numbers), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(known2, known * 2.0**of_forces, atol=1e-12)
    assert len(columns.units) == len(columns.names) == 20 + 5 * 2


def test_a_report_has_the_unit_of_every_number() -> None:
    rng = np.random.default_rng(1)
    tree = crane()
    q, v, vdot = rng.uniform(-1.0, 1.0, (3, 400, 2))
    context = tree.create_default_context(batch_shape=400)
    context.q, context.v = q, v
    tau = tree.calc_inverse_dynamics(context, vdot, include_force_elements=True)
    # Friction that the model lacks: the report warns of large residuals.
    tau = tau + np.array([0.1, 80.0]) * rng.normal(size=tau.shape)
    found = identify(tree, q, v, vdot, tau, friction="viscous+coulomb", rotors=True)
    report = found.report()
    forces = re.findall(r"^(\w+) +\S+ +\S+ +\S+  (N m|N)$", report, re.MULTILINE)
    assert forces == [("turn_w", "N m"), ("slide_v", "N")]
    line = r"^ *\S+ +\S+ +(?:std\. )?\S+  (.{9})  (\S.*)$"
    rows = [(unit.rstrip(), text) for unit, text in re.findall(line, report, re.MULTILINE)]
    assert rows.pop(0) == ("unit", "base parameter")
    assert [text for _, text in rows] == list(found.base.descriptions)
    # Numbers by name.
    endings = {
        r"I[xyz]{2}": "kg m^2", r"mc[xyz]": "kg m", r"_m": "kg", r"turn_w_viscous": "N m s/rad",
        r"slide_v_viscous": "N s/m", r"turn_w_coulomb": "N m", r"slide_v_coulomb": "N",
        r"turn_w_rotor": "kg m^2", r"slide_v_rotor": "kg",
    }  # fmt: skip
    for unit, text in rows:
        name = text.split()[0]
        assert [wanted for ending, wanted in endings.items() if re.search(f"{ending}$", name)] == [unit], text
    assert any(re.match(r"slide_v: .*rms \S+ N, residual \S+ N\)", text) for text in found.warnings)


def test_a_calibration_has_the_unit_of_every_number() -> None:
    rng = np.random.default_rng(2)
    tree = crane()
    q = rng.uniform(-1.0, 1.0, (20, 2))
    context = tree.create_default_context(batch_shape=20)
    context.q = q
    X_CM = tree.eval_body_pose_in_world(context, tree.get_body_by_name("hook"))
    found = calibrate(tree, q, X_CM, "hook", frames=["slide"])
    report = found.report()
    assert re.findall(r"^(\w+) +\S+  (rad|m)$", report, re.MULTILINE) == [("turn_w", "rad"), ("slide_v", "m")]
    rows = {b: a for a, b in re.findall(r"^ *\S+  (rad|m) +(\w+)$", report, re.MULTILINE)}
    assert tuple(rows) == found.names
    for name, unit in rows.items():
        turns = "_turn_" in name or name == "turn_w_offset"
        assert unit == ("rad" if turns else "m"), name
