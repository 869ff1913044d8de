"""Points against a half-space: which touch, with what force, and how the force changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from mbt.autodiff import AutoDiffArray
from support.description import Array
from support.reference_contact import ContactNumbers, contact_forces
from support.reference_forces import Motion

NUMBERS = ContactNumbers(800.0, 0.6, 0.9, 0.5, 0.2)
POINTS = np.array([[0.2, 0.1, -0.1], [-0.2, 0.1, -0.1], [0.2, -0.1, -0.1], [-0.2, -0.1, -0.1]])
M_BBo_B = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.4, 0.2, 0.2)
X_AB = mbt.math.make_pose([0.1, 0.2, 0.3], rpy=[0.1, -0.2, 0.3])


class Model:
    """A box over a tray on two hinges, or over World, with points in one element or one in each."""

    def __init__(self, *, on_tray: bool = True, apart: bool = False) -> None:
        tree = self.tree = mbt.MultibodyTree()
        half_space: mbt.Frame | None = None
        if on_tray:
            inboard = tree.world_body
            for i, axis in enumerate(([1, 0.5, 0], [0, 1, 0.2])):
                tray = tree.add_body(mbt.RigidBody(f"tray{i}", M_BBo_B))
                tree.add_joint(mbt.RevoluteJoint, f"hinge{i}", inboard, X_AB, tray, None, axis)
                inboard = tray
            half_space = tree.add_frame(mbt.FixedOffsetFrame("plane", inboard, X_AB))
        self.box = tree.add_body(mbt.RigidBody("box", M_BBo_B))
        self.frame = tree.add_frame(mbt.FixedOffsetFrame("foot", self.box, X_AB))
        self.contacts = [
            tree.add_force_element(mbt.PointContact(self.frame, points, half_space, **NUMBERS._asdict()))
            for points in (POINTS if apart else [POINTS])
        ]
        tree.add_force_element(mbt.UniformGravityFieldElement([0.4, -0.5, -9.0]))
        tree.finalize()
        self.contact = self.contacts[0]

    def states(self, count: int, seed: int = 0) -> tuple[Array, Array]:
        """The box at the plane, with points on both sides of it."""
        rng = np.random.default_rng(seed)
        context = self.tree.create_default_context()
        qs, vs = [], []
        for _ in range(count):
            start = self.box.inboard_joint.position_start
            q = rng.uniform(-0.3, 0.3, self.tree.num_positions)
            q[start : start + 4] = [1, 0, 0, 0]
            context.q = q
            X_WA = self.contact.half_space_frame.calc_pose_in_world(context)
            X_AF = mbt.math.make_pose([*rng.uniform(-1, 1, 2), 0.09], rpy=rng.uniform(-0.2, 0.2, 3))
            self.box.inboard_joint.set_pose(context, X_WA @ X_AF @ mbt.math.inverse_pose(X_AB))
            qs.append(context.q.copy())
            vs.append(rng.uniform(-0.3, 0.3, self.tree.num_velocities))
        return np.array(qs), np.array(vs)

    def context(self, q: Array, v: Array) -> Any:
        context = self.tree.create_default_context(np.shape(q)[:-1])
        context.q, context.v = q, v
        return context


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


def motion(tree: mbt.MultibodyTree, context: Any, frame: mbt.Frame) -> Motion:
    node = frame.body.node_index
    body = Motion(
        np.array(tree.eval_position_kinematics(context).X_WB[node]),
        np.array(tree.eval_velocity_kinematics(context).V_WB[node]),
    )
    return body.of_frame(np.array(frame.get_fixed_pose_in_body_frame()))


@pytest.mark.parametrize("on_tray", [False, True])
def test_forces_and_depths_of_each_point(on_tray: bool) -> None:
    model = Model(on_tray=on_tray)
    touched = set()
    for q, v in zip(*model.states(5), strict=True):
        context = model.context(q, v)
        A, F = (motion(model.tree, context, frame) for frame in (model.contact.half_space_frame, model.frame))
        *_, forces, depths = contact_forces(A, F, POINTS, NUMBERS)
        np.testing.assert_allclose(model.contact.calc_contact_forces(context), forces, atol=1e-10)
        np.testing.assert_allclose(model.contact.calc_depths(context), depths, atol=1e-13)
        touched |= set((depths > 0).tolist())
    assert touched == {True, False}


def test_points_of_one_element_are_as_many_elements() -> None:
    one, each = Model(), Model(apart=True)
    (q,), (v,) = one.states(1)
    tau = np.zeros(v.size)
    np.testing.assert_allclose(
        mbt.functional.forward_dynamics(each.tree, q, v, tau),
        mbt.functional.forward_dynamics(one.tree, q, v, tau),
        rtol=1e-11,
    )
    context = each.context(q, v)
    np.testing.assert_allclose(
        np.concatenate([contact.calc_contact_forces(context) for contact in each.contacts]),
        one.contact.calc_contact_forces(one.context(q, v)),
        atol=1e-12,
    )


def test_a_batch_is_its_samples_with_parameters_of_their_own(model: Model) -> None:
    q, v = model.states(11)
    batch = model.context(q, v)
    stiffness, friction = np.linspace(500, 900, 11), np.linspace(0.5, 0.9, 11)
    points = POINTS + np.linspace(0, 0.02, 11)[:, None, None]
    contact = model.contact
    contact.set_stiffness(batch, stiffness).set_friction(batch, friction, friction / 2)
    contact.set_p_FC(batch, points)
    assert contact.get_p_FC(batch).tolist() == points.tolist()
    forces, depths = contact.calc_contact_forces(batch), contact.calc_depths(batch)
    vdot = model.tree.calc_forward_dynamics(batch)
    energy = contact.calc_potential_energy(batch)
    assert forces.shape == (11, 4, 3)
    assert depths.shape == (11, 4)
    for i in range(11):
        single = model.context(q[i], v[i])
        contact.set_stiffness(single, stiffness[i]).set_friction(single, friction[i], friction[i] / 2)
        contact.set_p_FC(single, points[i])
        np.testing.assert_allclose(contact.calc_contact_forces(single), forces[i], atol=1e-10)
        np.testing.assert_allclose(contact.calc_depths(single), depths[i], atol=1e-13)
        np.testing.assert_allclose(model.tree.calc_forward_dynamics(single), vdot[i], rtol=1e-9)
        assert contact.calc_potential_energy(single) == pytest.approx(energy[i], rel=1e-11)


def test_one_wrong_friction_of_a_batch_is_refused(model: Model) -> None:
    batch = model.tree.create_default_context(3)
    with pytest.raises(mbt.ArgumentValueError, match="static_friction - dynamic_friction"):
        model.contact.set_friction(batch, 0.5, [0.4, 0.6, 0.1])
    assert model.contact.get_dynamic_friction(batch).tolist() == [0.5] * 3


def test_derivatives_are_those_of_central_differences(model: Model) -> None:
    h = 1e-6
    for q, v in zip(*model.states(4, seed=2), strict=True):
        tau = np.zeros(v.size)
        actual = mbt.functional.forward_dynamics_derivatives(model.tree, q, v, tau)
        for k, unit in enumerate(np.eye(v.size)):
            plus, minus = (
                mbt.functional.forward_dynamics(
                    model.tree, mbt.functional.integrate_positions(model.tree, q, unit, s), v, tau
                )
                for s in (h, -h)
            )
            scale = 1 + abs(actual[0]).max()
            np.testing.assert_allclose(actual[0][:, k], (plus - minus) / (2 * h), atol=1e-6 * scale)
            plus, minus = (mbt.functional.forward_dynamics(model.tree, q, v + s * unit, tau) for s in (h, -h))
            scale = 1 + abs(actual[1]).max()
            np.testing.assert_allclose(actual[1][:, k], (plus - minus) / (2 * h), atol=1e-6 * scale)


def test_derivatives_of_contact_forces(model: Model) -> None:
    """In autodiff, with a query that has no derivatives of its own."""
    (q,), (v,) = model.states(1)
    rng = np.random.default_rng(3)
    q_dot, v_dot = rng.normal(size=q.shape), rng.normal(size=v.shape)
    tree = model.tree.clone_to_scalar("autodiff")
    context = tree.create_default_context()
    context.q, context.v = AutoDiffArray(q, q_dot[:, None]), AutoDiffArray(v, v_dot[:, None])
    forces = tree.get_variant(model.contact).calc_contact_forces(context)
    h = 1e-7
    plus, minus = (
        model.contact.calc_contact_forces(model.context(q + s * q_dot, v + s * v_dot)) for s in (h, -h)
    )
    np.testing.assert_allclose(forces.derivatives[..., 0], (plus - minus) / (2 * h), atol=2e-4)


# Where a careless formula divides by zero, or takes the square root of zero.
REST = {
    "at the plane, at rest": (0.1, np.zeros(6)),
    "above it": (0.3, np.zeros(6)),
    "below it, at rest": (0.05, np.zeros(6)),
    "below it, straight down": (0.05, np.array([0, 0, 0, 0, 0, -0.3])),
    "leaving faster than the ground follows": (0.05, np.array([0, 0, 0, 0, 0, 9.0])),
    "at the stiction speed": (0.05, np.array([0, 0, 0, 0.2, 0, 0])),
    "at three times that": (0.05, np.array([0, 0, 0, 0, 0.6, 0])),
}


@pytest.mark.parametrize("name", REST)
def test_singular_states_are_regular(name: str) -> None:
    height, v = REST[name]
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", M_BBo_B))
    contact = tree.add_force_element(mbt.PointContact(box, POINTS, **NUMBERS._asdict()))
    tree.finalize()
    q = np.array([1, 0, 0, 0, 0, 0, height])
    dvdot_dq, dvdot_dv, _ = mbt.functional.forward_dynamics_derivatives(tree, q, v, np.zeros(6))
    assert np.isfinite(dvdot_dq).all()
    assert np.isfinite(dvdot_dv).all()
    twin = tree.clone_to_scalar("autodiff")
    context = twin.create_default_context()
    context.q, context.v = AutoDiffArray(q, np.zeros((7, 6))), AutoDiffArray(v, np.eye(6))
    vdot = twin.calc_forward_dynamics(context)
    np.testing.assert_allclose(vdot.derivatives, dvdot_dv, atol=1e-9)
    assert np.isfinite(twin.get_variant(contact).calc_non_conservative_power(context).derivatives).all()
    batch = mbt.functional.forward_dynamics(tree, [q] * 3, [v] * 3, np.zeros((3, 6)))
    np.testing.assert_allclose(batch, [vdot.value] * 3, atol=1e-12)
    # Never pulled, and pushed only from below.
    forces = contact.calc_contact_forces(model_context(tree, q, v))
    assert (forces[:, 2] > 0).all() == (height < 0.1 and v[5] < 1 / 0.6)
    if height < 0.1 and not v[:5].any() and v[5] <= 0:
        # At rest, friction acts like a damper: the linear model of a standing robot includes it.
        normal = forces[:, 2].sum()
        slope = 15 / 8 * NUMBERS.static_friction * normal / NUMBERS.stiction_speed
        assert -dvdot_dv[3, 3] * 2.0 == pytest.approx(slope, rel=1e-12)


def model_context(tree: mbt.MultibodyTree, q: Array, v: Array) -> mbt.Context:
    context = tree.create_default_context()
    context.q, context.v = q, v
    return context


def test_a_bad_sample_is_bad_alone(model: Model) -> None:
    q, v = model.states(9)
    q[4] = np.nan
    vdot = mbt.functional.forward_dynamics(model.tree, q, v, np.zeros_like(v))
    assert np.isnan(vdot[4]).all()
    assert np.isfinite(np.delete(vdot, 4, axis=0)).all()
    batch = model.context(q, v)
    assert np.isnan(model.contact.calc_potential_energy(batch)).tolist() == [i == 4 for i in range(9)]
    assert np.isnan(model.contact.calc_contact_forces(batch)[4]).all()


def test_what_it_is_built_of(model: Model) -> None:
    contact = model.contact
    assert contact.frame is model.frame
    assert contact.num_points == 4
    assert contact.p_FC.tolist() == POINTS.tolist()
    assert contact.half_space_frame.name == "plane"
    assert (contact.static_friction, contact.dynamic_friction) == (0.9, 0.5)
    assert repr(contact).endswith(" frame='foot' half_space_frame='plane' num_points=4>")
    alone = Model(on_tray=False)
    assert alone.contact.half_space_frame is alone.tree.world_frame
    with pytest.raises(ValueError, match="read-only"):
        contact.p_FC[0, 0] = 1.0
    with pytest.raises(mbt.ContextMismatchError):
        contact.calc_contact_forces(alone.tree.create_default_context())


def test_default_frictions(model: Model) -> None:
    with pytest.raises(mbt.AlreadyFinalizedError, match=r"with set_friction\(\)"):
        model.contact.set_default_friction(1.0)
    work = model.tree.edit()
    twin: Any = work.force_elements[model.contact.index]
    assert twin.set_default_friction(1.0, 0.25) is twin
    assert (twin.static_friction, twin.dynamic_friction) == (1.0, 0.25)
    assert twin.set_default_friction(0.75).dynamic_friction == 0.75
    assert twin.half_space_frame.parent_tree is work


def test_saved_and_loaded(model: Model, tmp_path: Any) -> None:
    path = tmp_path / "model.json"
    mbt.save_model(model.tree, path)
    tree = mbt.load_model(path)
    (q,), (v,) = model.states(1)
    np.testing.assert_array_equal(
        mbt.functional.forward_dynamics(tree, q, v, np.zeros(8)),
        mbt.functional.forward_dynamics(model.tree, q, v, np.zeros(8)),
    )


def test_it_goes_with_either_of_its_bodies(model: Model) -> None:
    for name in ("box", "tray1"):
        work = model.tree.edit()
        gone = work.remove_subtree(work.get_body_by_name(name))
        assert model.contact.name in [element.name for element in gone]
        assert not any(isinstance(element, mbt.PointContact) for element in work.force_elements)
    work = model.tree.edit()
    plane = work.get_frame_by_name("plane")
    with pytest.raises(mbt.ArgumentValueError, match="'plane' is needed by force element 'PointContact_0'"):
        work.remove(plane)


def test_it_is_an_entry_of_the_energy_report(model: Model) -> None:
    (q,), (v,) = model.states(1)
    context = model.context(q, v)
    report = model.tree.calc_energy_report(context)
    (entry,) = [entry for entry in report.entries if model.contact.name in entry.element]
    assert entry.potential_energy == model.contact.calc_potential_energy(context) > 0
    assert entry.non_conservative_power == model.contact.calc_non_conservative_power(context) < 0
    assert model.contact.name in str(report)


def test_models_with_prefixes_have_contacts_of_their_own(tmp_path: Any) -> None:
    path = tmp_path / "model.json"
    alone = Model(on_tray=False).tree.edit()
    alone.remove(alone.gravity_field)
    mbt.save_model(alone, path)
    tree = mbt.MultibodyTree()
    for prefix in ("one_", "two_"):
        mbt.parsing.add_model(tree, path, prefix=prefix)
    tree.finalize()
    contacts = [element for element in tree.force_elements if isinstance(element, mbt.PointContact)]
    assert [contact.frame.name for contact in contacts] == ["one_foot", "two_foot"]
    assert all(contact.half_space_frame is tree.world_frame for contact in contacts)


def test_points_in_columns_are_refused(model: Model) -> None:
    numbers = {"stiffness": 1e4, "dissipation": 1.0, "static_friction": 0.5}
    with pytest.raises(mbt.ShapeError, match=r"p_FC: expected shape \(n, 3\), got \(3, 4\); transpose it"):
        mbt.PointContact(model.frame, np.zeros((3, 4)), **numbers)
