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
