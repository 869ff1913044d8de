"""Forces of shapes that touch, in the drawing of a trajectory."""

import numpy as np
import pytest

import mbt


def test_normal_forces_of_pairs() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.1, 0.1)
    for name in ("box", "bystander"):
        tree.add_body(mbt.RigidBody(name, inertia).add_collision(mbt.Shape("box", [0.1, 0.1, 0.1])))
    tree.add_force_element(mbt.UniformGravityFieldElement())
    tree.finalize()
    scene = mbt.CollisionModel(tree, obstacles=[mbt.Shape("plane", name="floor")])
    context = tree.create_default_context()
    context.q = [1, 0, 0, 0, 0, 0, 0.06, 1, 0, 0, 0, 1, 0, 9.0]
    contacts = mbt.ShapeContact(scene)
    motion = mbt.simulate(tree, context, 0.3, 5e-3, method="implicit", contacts=contacts)
    figure = motion.plot(Figure())
    [axes] = [axes for axes in figure.axes if axes.get_ylabel() == "normal forces [N]"]
    [line] = axes.lines
    assert line.get_label() == "box on floor"
    assert line.get_ydata()[0] == 0.0
    assert line.get_ydata()[-1] == pytest.approx(2.0 * 9.81, rel=1e-6)
    pressure = [(x.force_W * x.n_W).sum() for x in motion.contacts]
    np.testing.assert_allclose(line.get_ydata(), pressure, atol=1e-12)


def test_lines_are_thick_where_limits_hold_them() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.1, 0.1)
    for name in ("driven", "free"):
        body = tree.add_body(mbt.RigidBody(name, inertia))
        joint = tree.add_joint(
            mbt.PrismaticJoint, name, tree.world_body, None, body, None, axis=[1, 0, 0],
            pos_lower_limit=-1.0, pos_upper_limit=0.1,
        )  # fmt: skip
    driven = tree.get_joint_by_name("driven")
    tree.add_joint_actuator("motor", joint, effort_limit=1.0)
    tree.add_joint_actuator("servo", driven, effort_limit=5.0, stiffness=60.0, damping=15.0)
    tree.finalize()
    context = tree.create_default_context()
    context.servo_positions = [0.0, 0.2]
    motion = mbt.simulate(tree, context, 1.0, 5e-3)
    figure = motion.plot(Figure())

    def held_in(label: str) -> np.ndarray:
        """Return the samples at which the line of the driven joint is thick; no other line is."""
        [axes] = [axes for axes in figure.axes if axes.get_ylabel() == label]
        thick = [line for line in axes.lines if line.get_gid() == "held"]
        if not thick:
            return np.zeros(len(motion), dtype=bool)
        assert "held by a limit" in [text.get_text() for text in axes.get_legend().get_texts()]
        [line] = thick
        assert line.get_color() == axes.lines[0].get_color()
        return np.isfinite(line.get_ydata())

    pushed, full = motion.solver.at_limit[:, 0], motion.solver.saturated[:, 1]
    assert pushed[-1]
    assert not pushed[0]
    assert full[0]
    assert full[-1]
    assert not full.all()
    np.testing.assert_array_equal(held_in("position [m]"), [False, *pushed])
    np.testing.assert_array_equal(held_in("force [N]"), [*full, full[-1]])
    assert not held_in("velocity [m/s]").any()
    # For some of the samples it is unknown.
    figure = motion[::2].plot(Figure())
    assert not held_in("position [m]").any()
