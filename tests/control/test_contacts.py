"""Contacts of controllers: on moving bodies, and with pyramids of more faces."""

import numpy as np
import pytest

import mbt
from control.standing_robots import make_hands, make_quadruped
from mbt import functional

daqp = pytest.importorskip("daqp")


def _calc_wrench(forces, points):
    return np.concatenate([np.cross(points, forces).sum(axis=0), forces.sum(axis=0)])


def test_two_hands_hold_a_box_and_accelerate_it():
    tree, contacts = make_hands()
    controller = mbt.TaskSpaceController(tree, contacts, limits=[])
    controller.add_pose("box", stiffness=0.0, damping=0.0)
    for contact in contacts:  # squeezed, or nothing would hold it
        controller.add_contact_force(contact, weight=1e-4)
    controller.add_posture(stiffness=0.0, damping=0.0, weight=1e-4)
    rng = np.random.default_rng(6)
    q = functional.integrate_positions(
        tree, tree.default_positions, 0.05 * rng.normal(size=tree.num_velocities), 1.0
    )
    X_WO = functional.frame_pose(tree, q, "box")
    wanted = np.array([0.3, -0.2, 0.1, 0.5, 1.0, -0.4])
    squeeze = [
        np.tile(20.0 * (X_WO[:3, :3] @ contact.normal), (contact.num_points, 1)) for contact in contacts
    ]
    v = np.zeros(tree.num_velocities)
    result = controller.solve(q, v, [(X_WO, None, wanted), *squeeze, None])
    assert result.status == "optimal"
    motion = functional.frame_jacobian(tree, q, "box") @ result.vdot
    np.testing.assert_allclose(motion, wanted, atol=0.02)
    # Newton and Euler for the box alone; forces of the contacts act on the hands.
    points = []
    for contact in contacts:
        X_WF = functional.frame_pose(tree, q, contact.frame)
        points += [X_WF[:3, :3] @ p_FC + X_WF[:3, 3] - X_WO[:3, 3] for p_FC in contact.p_FC]
    inertia = X_WO[:3, :3] @ (np.eye(3) * 2.0 * 0.04 / 6.0) @ X_WO[:3, :3].T
    wrench = np.concatenate([inertia @ motion[:3], 2.0 * (motion[3:] + np.array([0.0, 0.0, 9.81]))])
    np.testing.assert_allclose(_calc_wrench(-result.contact_forces, np.array(points)), wrench, atol=1e-8)
    # Friction cones about normals that turn with the box.
    for contact, forces in zip(contacts, np.split(result.contact_forces, 2), strict=True):
        normal = forces @ X_WO[:3, :3] @ contact.normal
        tangential = np.linalg.norm(forces - np.outer(normal, X_WO[:3, :3] @ contact.normal), axis=1)
        assert np.all(tangential <= contact.friction * normal + 1e-6)
    # The hands stick to the box: relative accelerations of the points, at rest.
    for contact in contacts:
        J = functional.frame_jacobian(tree, q, contact.frame) @ result.vdot
        X_WF = functional.frame_pose(tree, q, contact.frame)
        for p_FC in contact.p_FC:
            p_W = X_WF[:3, :3] @ p_FC
            on_box = motion[3:] + np.cross(motion[:3], X_WF[:3, 3] + p_W - X_WO[:3, 3])
            np.testing.assert_allclose(J[3:] + np.cross(J[:3], p_W), on_box, atol=0.02)


@pytest.mark.parametrize("num_points", [1, 2, 3])
def test_points_on_a_moving_body_slow_down_relative_to_it(num_points):
    # Independent check: positions of the points in the box, along the motion, by differences.
    tree, contacts = make_hands()
    ends = [
        mbt.ContactPoints(c.frame, c.p_FC[:num_points], friction=0.8, normal=c.normal, surface="box")
        for c in contacts[:1]
    ]
    controller = mbt.TaskSpaceController(tree, ends, limits=[])
    controller.add_posture(stiffness=0.0, damping=0.0, weight=1e-6)
    rng = np.random.default_rng(7)
    q = tree.default_positions
    v = 0.3 * rng.normal(size=tree.num_velocities)
    result = controller.solve(q, v, [None])
    assert result.status == "optimal"

    def points(t):
        at = functional.integrate_positions(tree, q, v + 0.5 * t * result.vdot, t)
        X_WF, X_WO = (functional.frame_pose(tree, at, name) for name in (ends[0].frame, "box"))
        p_W = ends[0].p_FC @ X_WF[:3, :3].T + X_WF[:3, 3]
        return p_W - X_WO[:3, 3], X_WO[:3, :3]

    h = 1e-4
    w_box = functional.frame_jacobian(tree, q, "box")[:3] @ v
    a_box = functional.frame_jacobian(tree, q, "box")[:3] @ result.vdot
    a_box = a_box + functional.frame_bias_acceleration(tree, q, v, "box")[:3]
    arm = points(0.0)[0]
    rate = (points(h)[0] - points(-h)[0]) / (2 * h) - np.cross(w_box, arm)
    second = (points(h)[0] - 2 * arm + points(-h)[0]) / h**2
    # Acceleration of a point of the hand, relative to the coincident point of the box.
    relative = second - np.cross(a_box, arm) - np.cross(w_box, np.cross(w_box, arm))
    if num_points == 3:  # only as a rigid body: the mean of its points, and its rotation
        relative, rate = relative.mean(axis=0), rate.mean(axis=0)
    np.testing.assert_allclose(relative, -20.0 * rate, atol=0.02)


@pytest.mark.parametrize("num_faces", [3, 4, 8, 16])
def test_pyramids_lie_within_the_cone_and_fill_it_with_more_faces(num_faces):
    contact = mbt.ContactPoints("trunk", [0, 0, 0], friction=0.6, num_faces=num_faces)
    angles = np.linspace(0.0, 2.0 * np.pi, 7 * num_faces + 1)
    reach = []
    for angle in angles:  # the largest tangential force in a direction, for a unit normal force
        along = contact.pyramid[:, :2] @ [np.cos(angle), np.sin(angle)]
        reach.append(np.min(-contact.pyramid[along > 1e-12, 2] / along[along > 1e-12]))
    assert np.max(reach) <= 0.6 + 1e-12
    assert np.min(reach) == pytest.approx(0.6 * np.cos(np.pi / num_faces), rel=1e-2)
    tree, contacts, q = make_quadruped()
    contacts = [mbt.ContactPoints(c.frame, c.p_FC, friction=0.3, num_faces=num_faces) for c in contacts]
    controller = mbt.TaskSpaceController(tree, contacts)
    X_WB = functional.frame_pose(tree, q, "trunk")
    controller.add_position("trunk", stiffness=100, damping=20)
    controller.add_posture(q, stiffness=30, damping=11, weight=1e-4)
    result = controller.solve(q, np.zeros(tree.num_velocities), [X_WB[:3, 3] + [0.3, 0.2, 0.0], None])
    assert result.status == "optimal"
    tangential = np.linalg.norm(result.contact_forces[:, :2], axis=1)
    assert np.all(tangential <= 0.3 * result.contact_forces[:, 2] + 1e-6)
    assert tangential.sum() >= 0.3 * np.cos(np.pi / num_faces) * 0.9 * result.contact_forces[:, 2].sum()


def test_refuses_surfaces_of_the_same_body_and_pyramids_of_two_faces():
    tree, _, _ = make_quadruped()
    with pytest.raises(mbt.ArgumentValueError, match=r"contacts\[0\]: expected a surface of another body"):
        mbt.TaskSpaceController(tree, [mbt.ContactPoints("trunk", [0, 0, 0], surface="trunk")])
    with pytest.raises(mbt.UnknownNameError, match=r"surface"):
        mbt.TaskSpaceController(tree, [mbt.ContactPoints("trunk", [0, 0, 0], surface="box")])
    with pytest.raises(mbt.ArgumentValueError, match="num_faces: expected an integer >= 3, got 2"):
        mbt.ContactPoints("trunk", [0, 0, 0], num_faces=2)
    with pytest.raises(mbt.ArgumentValueError, match="num_faces: expected an integer <= 1000, got 1000000"):
        mbt.ContactPoints("trunk", [0, 0, 0], num_faces=10**30)


def test_refuses_forces_that_are_not_a_positive_number():
    with pytest.raises(mbt.ShapeError, match=r"max_force: expected one number, got shape \(3,\)"):
        mbt.ContactPoints("trunk", [0, 0, 0], max_force=np.ones(3))
    with pytest.raises(mbt.ArgumentValueError, match="max_force: expected a number > 0, got -inf"):
        mbt.ContactPoints("trunk", [0, 0, 0], max_force=-np.inf)


@pytest.mark.parametrize("num_faces", [3, 4])
def test_no_point_is_pushed_by_more_than_its_largest_force(num_faces):
    tree, contacts, q = make_quadruped()
    weight = 9.81 * sum(body.default_mass for body in tree.bodies[1:])
    most = 0.26 * weight
    contacts = [mbt.ContactPoints(c.frame, c.p_FC, max_force=most, num_faces=num_faces) for c in contacts]
    controller = mbt.TaskSpaceController(tree, contacts)
    X_WB = functional.frame_pose(tree, q, "trunk")
    controller.add_position("trunk", stiffness=100, damping=20)
    controller.add_posture(q, stiffness=30, damping=11, weight=1e-4)
    result = controller.solve(q, np.zeros(tree.num_velocities), [X_WB[:3, 3] + [0.0, 0.0, 0.1], None])
    assert result.status == "optimal"
    np.testing.assert_allclose(result.contact_forces[:, 2], most, rtol=1e-8)
