"""A quadruped on servos stands still: its remaining motion, and how far it creeps."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np

import mbt
from mbt import functional

EXAMPLE = Path(__file__).parents[2] / "examples" / "quadruped_on_servos.py"


def test_feet_stay_where_they_are() -> None:
    """At 5 ms the feet move by less than 0.1 mm/s after two seconds, and the trunk hardly creeps."""
    names = runpy.run_path(str(EXAMPLE))
    tree, crouch = names["build"](), names["CROUCH"]
    context = tree.create_default_context()
    context.q = [1, 0, 0, 0, 0, 0, 2 * names["LINK"] * np.cos(crouch[1]), *crouch]
    context.servo_positions = crouch
    motion = mbt.simulate(tree, context, 4.0, 5e-3)
    assert motion.method == "implicit"
    q, v = motion.q[400:], motion.v[400:]
    for name in ("front_left", "front_right", "hind_left", "hind_right"):
        shin = tree.get_body_by_name(f"{name}_shin")
        foot = np.array([0.0, 0.0, -names["LINK"]])
        velocity = functional.frame_jacobian(tree, q, shin.body_frame) @ v[..., np.newaxis]
        w, v_shin = velocity[:, :3, 0], velocity[:, 3:, 0]
        arm = functional.frame_pose(tree, q, shin.body_frame)[:, :3, :3] @ foot
        assert np.linalg.norm(v_shin + np.cross(w, arm), axis=1).max() < 1e-4
    assert np.linalg.norm(q[-1, 4:7] - q[0, 4:7]) / 2.0 < 1e-4
    force = motion.contact_forces[-1].sum(axis=0)
    np.testing.assert_allclose(force, [0.0, 0.0, 9.81 * tree.calc_total_mass(context)], atol=1e-2)
