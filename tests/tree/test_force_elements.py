"""Force elements that come with mbt: forces, energies and powers against independent formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from support.description import Array
from support.reference_contact import ContactNumbers, contact_forces
from support.reference_forces import (
    Motion,
    bushing_displacements,
    bushing_forces,
    central_difference,
    spring_forces,
)

X_BF = mbt.math.make_pose([0.1, -0.2, 0.3], rpy=[0.3, -0.2, 0.5])
X_BM = mbt.math.make_pose([-0.2, 0.1, 0.05], rpy=[-0.4, 0.1, 0.2])
P, Q = np.array([0.1, 0.2, -0.3]), np.array([-0.2, 0.05, 0.4])
CONFIG = mbt.DoorHingeConfig(
    spring_zero_angle_rad=0.3,
    spring_constant=1.7,
    dynamic_friction_torque=0.8,
    static_friction_torque=0.5,
    viscous_friction=0.4,
    catch_width=1.2,
    catch_torque=2.3,
    motion_threshold=0.7,
)
BUSHING = np.array([5.0, 6.0, 7.0, 0.5, 0.6, 0.7, 20.0, 30.0, 40.0, 2.0, 3.0, 4.0])
CONTACT = ContactNumbers(50.0, 0.7, 0.8, 0.6, 0.9)
# Fixed in frame C: in any state, some are on either side of the plane.
POINTS = np.array([[0.2, 0.1, -0.3], [0.1, 0.3, 0.2], [-0.3, 0.0, -9.0], [0.0, -9.0, 0.0], [0.0, 0.0, 9.0]])


class Model:
    """World, an arm on a hinge, a slider on the arm, a free box, and one force element."""

    def __init__(self, make: Callable[[Model], mbt.ForceElement]) -> None:
        tree = self.tree = mbt.MultibodyTree()
        self.instance = tree.add_model_instance("machine")
        M = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.3, 0.5, 0.7).shift([0.1, 0.2, 0.3])
        self.arm = tree.add_body(mbt.RigidBody("arm", M, self.instance))
        self.sled = tree.add_body(mbt.RigidBody("sled", M, self.instance))
        self.box = tree.add_body(mbt.RigidBody("box", M))
        self.hinge = tree.add_joint(
            mbt.RevoluteJoint, "hinge", tree.world_body, X_BF, self.arm, X_BM, [0, 0.6, 0.8]
        )
        # Declared against the direction of the tree.
        self.slide = tree.add_joint(
            mbt.PrismaticJoint, "slide", self.sled, X_BF, self.arm, X_BM, [0.8, 0, 0.6]
        )
        self.frame_A = tree.add_frame(mbt.FixedOffsetFrame("A", self.sled, X_BF))
        self.frame_C = tree.add_frame(mbt.FixedOffsetFrame("C", self.box, X_BM))
        self.element = tree.add_force_element(make(self))
        tree.finalize()

    def context(self, seed: int) -> mbt.Context:
        rng = np.random.default_rng(seed)
        context = self.tree.create_default_context()
        q = rng.uniform(-0.7, 0.7, self.tree.num_positions)
        start = self.box.inboard_joint.position_start
        # Half a turn at most from the arm, so that no bushing comes near gimbal lock.
        q[start : start + 4] = [1.0, *rng.uniform(-0.3, 0.3, 3)]
        context.q = q
        context.v = rng.uniform(-1, 1, self.tree.num_velocities)
        return context

    def motion(self, context: mbt.Context, body: mbt.RigidBody) -> Motion:
        pc = self.tree.eval_position_kinematics(context)
        vc = self.tree.eval_velocity_kinematics(context)
        return Motion(np.array(pc.X_WB[body.node_index]), np.array(vc.V_WB[body.node_index]))

    def forces(self, context: mbt.Context, element: mbt.ForceElement | None = None) -> mbt.MultibodyForces:
        forces = mbt.MultibodyForces(self.tree)
        (element or self.element).calc_and_add_force_contribution(context, None, None, forces)
        return forces

    def power(self, context: mbt.Context, forces: mbt.MultibodyForces) -> float:
        V_WB = self.tree.eval_velocity_kinematics(context).V_WB
        return float(np.sum(forces.body_forces * V_WB) + forces.generalized_forces @ context.v)

    def generalized(self, context: mbt.Context, forces: mbt.MultibodyForces) -> Array:
        """All forces as generalized ones, by the principle of virtual power."""
        tau = forces.generalized_forces.copy()
        for body in self.tree.bodies[1:]:
            J = self.tree.calc_jacobian_spatial_velocity(
                context, "v", body.body_frame, [0, 0, 0], self.tree.world_frame, self.tree.world_frame
            )
            tau += J.T @ forces.body_forces[body.node_index]
        return tau


# Forces on bodies by name, generalized forces by joint, and the potential energy.
Expected = tuple[dict[str, Array], dict[str, float], float]


def expect_revolute_spring(m: Model, c: mbt.Context) -> Expected:
    stretch = m.hinge.get_angle(c) - 0.4
    return {}, {"hinge": -3.0 * stretch}, 1.5 * stretch**2


def expect_prismatic_spring(m: Model, c: mbt.Context) -> Expected:
    stretch = m.slide.get_translation(c) - 0.2
    return {}, {"slide": -9.0 * stretch}, 4.5 * stretch**2


def expect_friction(m: Model, c: mbt.Context) -> Expected:
    v = m.slide.get_translation_rate(c)
    size = 0.6 + 0.3 / (1 + (v / 0.5) ** 2)
    return {}, {"slide": -size * np.tanh(v / 0.2)}, 0.0


def expect_hinge(m: Model, c: mbt.Context) -> Expected:
    q, v, h = m.hinge.get_angle(c), m.hinge.get_angular_rate(c), CONFIG
    half, slow = h.catch_width / 2, np.tanh(v / h.motion_threshold)
    caught = np.tanh((q - half) / half)
    tau = -h.spring_constant * (q - h.spring_zero_angle_rad)
    tau += h.catch_torque * 2 * caught / np.cosh((q - half) / half) ** 2
    tau -= h.dynamic_friction_torque * slow + h.viscous_friction * v
    tau -= h.static_friction_torque * 2 * slow / np.cosh(v / h.motion_threshold) ** 2
    energy = h.spring_constant / 2 * ((q - h.spring_zero_angle_rad) ** 2 - h.spring_zero_angle_rad**2)
    energy += h.catch_torque * half * (np.tanh(-1.0) ** 2 - caught**2)
    return {}, {"hinge": float(tau)}, float(energy)


def expect_spring_damper(m: Model, c: mbt.Context) -> Expected:
    A, B = m.motion(c, m.arm), m.motion(c, m.box)
    F_A, F_B = spring_forces(A, P, B, Q, 0.7, 11.0, 1.3)
    stretch = np.linalg.norm(B.point(Q)[0] - A.point(P)[0]) - 0.7
    return {"arm": F_A, "box": F_B}, {}, float(5.5 * stretch**2)


def expect_bushing(m: Model, c: mbt.Context) -> Expected:
    A, C = m.motion(c, m.sled), m.motion(c, m.box)
    frame_A, frame_C = A.of_frame(X_BF), C.of_frame(X_BM)
    forces = []
    for body, frame, F in zip(
        (A, C), (frame_A, frame_C), bushing_forces(frame_A, frame_C, BUSHING), strict=True
    ):
        arm = frame.X[:3, 3] - body.X[:3, 3]
        forces.append(np.concatenate([F[:3] + np.cross(arm, F[3:]), F[3:]]))
    rpy, r = bushing_displacements(frame_A, frame_C)
    energy = float(BUSHING[:3] @ rpy**2 + BUSHING[6:9] @ r**2) / 2
    return {"sled": forces[0], "box": forces[1]}, {}, energy


def expect_contact(m: Model, c: mbt.Context) -> Expected:
    A, C = m.motion(c, m.sled), m.motion(c, m.box)
    frame_A, frame_C = A.of_frame(X_BF), C.of_frame(X_BM)
    *both, energy, _, _ = contact_forces(frame_A, frame_C, POINTS, CONTACT)
    forces = []
    for body, frame, F in zip((A, C), (frame_A, frame_C), both, strict=True):
        arm = frame.X[:3, 3] - body.X[:3, 3]
        forces.append(np.concatenate([F[:3] + np.cross(arm, F[3:]), F[3:]]))
    return {"sled": forces[0], "box": forces[1]}, {}, energy


ELEMENTS: dict[str, tuple[Callable[[Model], Any], Callable[[Model, mbt.Context], Expected]]] = {
    "revolute_spring": (lambda m: mbt.RevoluteSpring(m.hinge, 0.4, 3.0), expect_revolute_spring),
    "prismatic_spring": (lambda m: mbt.PrismaticSpring(m.slide, 0.2, 9.0), expect_prismatic_spring),
    "joint_friction": (lambda m: mbt.JointFriction(m.slide, 0.6, 0.9, 0.5, 0.2), expect_friction),
    "door_hinge": (lambda m: mbt.DoorHinge(m.hinge, CONFIG), expect_hinge),
    "linear_spring_damper": (
        lambda m: mbt.LinearSpringDamper(m.arm, P, m.box, Q, 0.7, 11.0, 1.3),
        expect_spring_damper,
    ),
    "bushing": (
        lambda m: mbt.LinearBushingRollPitchYaw(m.frame_A, m.frame_C, *BUSHING.reshape(4, 3)),
        expect_bushing,
    ),
    "contact": (
        lambda m: mbt.PointContact(m.frame_C, POINTS, m.frame_A, **CONTACT._asdict()),
        expect_contact,
    ),
}
NAMES = tuple(ELEMENTS)
SEEDS = range(3)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(name: str) -> Model:
    return Model(ELEMENTS[name][0])


@pytest.mark.parametrize("seed", SEEDS)
def test_forces_and_energy(name: str, model: Model, seed: int) -> None:
    context = model.context(seed)
    bodies, joints, energy = ELEMENTS[name][1](model, context)
    body_forces = np.zeros((model.tree.num_bodies, 6))
    for body, F in bodies.items():
        body_forces[model.tree.get_body_by_name(body).node_index] = F
    tau = np.zeros(model.tree.num_velocities)
    for joint, value in joints.items():
        tau[model.tree.get_joint_by_name(joint).velocity_start] = value
    forces = model.forces(context)
    np.testing.assert_allclose(
        forces.body_forces, body_forces, rtol=0, atol=1e-12 * (1 + abs(body_forces).max())
    )
    np.testing.assert_allclose(forces.generalized_forces, tau, rtol=1e-13, atol=1e-13)
    assert model.element.calc_potential_energy(context) == pytest.approx(energy, rel=1e-13, abs=1e-14)
    assert np.abs(forces.body_forces).max() + np.abs(forces.generalized_forces).max() > 0.01


@pytest.mark.parametrize("seed", SEEDS)
def test_conservative_power_is_minus_the_rate_of_the_energy(model: Model, seed: int) -> None:
    context = model.context(seed)
    q, qdot = context.q, model.tree.map_velocity_to_qdot(context, context.v)

    def energy(dt: float) -> float:
        other = context.clone()
        other.q = q + dt * qdot
        return model.element.calc_potential_energy(other)

    rate = central_difference(energy, 1e-3)
    assert model.element.calc_conservative_power(context) == pytest.approx(-rate, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_both_powers_are_the_power_of_the_force(model: Model, seed: int) -> None:
    context = model.context(seed)
    power = model.power(context, model.forces(context))
    parts = model.element.calc_conservative_power(context), model.element.calc_non_conservative_power(context)
    assert sum(parts) == pytest.approx(power, rel=1e-12, abs=1e-13)


# The force of a bushing has no potential.
@pytest.mark.parametrize("name", [name for name in NAMES if name != "bushing"])
def test_a_force_at_rest_is_minus_the_gradient_of_the_energy(name: str) -> None:
    model = Model(ELEMENTS[name][0])
    context = model.context(0)
    context.v = np.zeros(model.tree.num_velocities)
    tau = model.generalized(context, model.forces(context))
    q = context.q
    for k in range(model.tree.num_velocities):
        qdot = model.tree.map_velocity_to_qdot(context, np.eye(model.tree.num_velocities)[k])

        def energy(dt: float, qdot: Array = qdot) -> float:
            other = context.clone()
            other.q = q + dt * qdot
            return model.element.calc_potential_energy(other)

        assert tau[k] == pytest.approx(-central_difference(energy, 1e-3), rel=1e-8, abs=1e-8)


def test_a_bushing_has_the_gradient_of_its_energy_for_small_rotations() -> None:
    """Half of each angle differs from half of the rotation only in second order."""
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    element = tree.add_force_element(
        mbt.LinearBushingRollPitchYaw(tree.world_body, box, BUSHING[:3], [0] * 3, BUSHING[6:9], [0] * 3)
    )
    tree.finalize()
    context = tree.create_default_context()
    errors = []
    for size in (1e-2, 1e-3):
        context.q = np.concatenate([[1.0, *(size * np.array([0.4, -0.3, 0.5]))], [0.2, 0.3, -0.1]])
        context.v = [0.0, 0.0, 0.0, 0.7, 0.2, -0.5]
        errors.append(abs(element.calc_non_conservative_power(context)))
        context.v = [0.3, -0.4, 0.2, 0.7, 0.2, -0.5]
        errors[-1] += abs(element.calc_non_conservative_power(context))
    assert 0 < errors[1] < 0.2 * errors[0] < 0.02


@pytest.mark.parametrize("other", NAMES)
def test_elements_add_up(name: str, other: str) -> None:
    """In forces, powers, inverse and forward dynamics, and in the stateless functions."""
    model = Model(ELEMENTS[name][0])
    two = Model(lambda m: m.tree.add_force_element(ELEMENTS[other][0](m)) and ELEMENTS[name][0](m))
    one, context = model.context(1), two.context(1)
    extra, element = two.tree.force_elements
    parts = [two.forces(context, part) for part in (extra, element)]
    total = mbt.MultibodyForces(two.tree)
    two.tree.calc_force_elements_contribution(context, total)
    np.testing.assert_allclose(total.body_forces, parts[0].body_forces + parts[1].body_forces, atol=1e-12)
    np.testing.assert_allclose(
        total.generalized_forces, parts[0].generalized_forces + parts[1].generalized_forces, atol=1e-13
    )
    np.testing.assert_allclose(parts[1].body_forces, model.forces(one).body_forces, atol=1e-12)
    for what in ("calc_potential_energy", "calc_conservative_power", "calc_non_conservative_power"):
        expected = getattr(extra, what)(context) + getattr(element, what)(context)
        assert getattr(two.tree, what)(context) == pytest.approx(expected, rel=1e-12, abs=1e-13)

    vdot = two.tree.calc_forward_dynamics(context)
    M = two.tree.calc_mass_matrix(context)
    tau = two.generalized(context, total)
    np.testing.assert_allclose(M @ vdot + two.tree.calc_bias_term(context), tau, atol=1e-9)
    np.testing.assert_allclose(
        two.tree.calc_inverse_dynamics(context, vdot, include_force_elements=True),
        np.zeros(len(vdot)),
        atol=1e-9,
    )
    np.testing.assert_allclose(
        mbt.functional.forward_dynamics(two.tree, context.q, context.v, np.zeros(len(vdot))), vdot, atol=1e-9
    )


def test_before_finalize(name: str, model: Model) -> None:
    other = Model(ELEMENTS[name][0])
    tree = mbt.MultibodyTree()
    lone = tree.add_body(mbt.RigidBody("lone", mbt.SpatialInertia.zero()))
    with pytest.raises(mbt.ContextMismatchError):
        model.element.calc_potential_energy(other.context(0))
    with pytest.raises(mbt.ContextMismatchError):
        model.forces(other.context(0))
    forces = mbt.MultibodyForces(other.tree)
    with pytest.raises(mbt.ContextMismatchError):
        model.element.calc_and_add_force_contribution(model.context(0), None, None, forces)
    assert not forces.body_forces.any()
    assert not forces.generalized_forces.any()
    assert lone.parent_tree is tree


def test_stale_caches_are_refused(model: Model) -> None:
    context = model.context(0)
    pc = model.tree.calc_position_kinematics_cache(context)
    vc = model.tree.calc_velocity_kinematics_cache(context)
    fresh = model.element.calc_potential_energy(context, pc)
    assert fresh == model.element.calc_potential_energy(context)
    assert model.element.calc_non_conservative_power(
        context, pc, vc
    ) == model.element.calc_non_conservative_power(context)
    context.q = context.q * 1.5
    for call in (
        lambda: model.element.calc_potential_energy(context, pc),
        lambda: model.element.calc_conservative_power(context, pc, vc),
        lambda: model.element.calc_non_conservative_power(context, pc, vc),
    ):
        with pytest.raises(mbt.StaleCacheError):
            call()


def test_nan_propagates(model: Model) -> None:
    context = model.context(0)
    context.q = context.q * np.nan
    context.v = context.v * np.nan
    forces = model.forces(context)
    assert np.isnan(forces.body_forces).any() or np.isnan(forces.generalized_forces).any()


def test_elements_of_another_tree_are_refused(name: str) -> None:
    foreign = Model(ELEMENTS[name][0])
    model = Model(ELEMENTS[name][0])
    tree = mbt.MultibodyTree()
    with pytest.raises(mbt.ForeignElementError, match="belongs to another tree"):
        tree.add_force_element(ELEMENTS[name][0](foreign))
    with pytest.raises(mbt.ForeignElementError, match="belongs to another tree"):
        tree.add_force_element(model.element)
    assert tree.num_force_elements == 0
    tree.finalize()


def test_a_joint_of_no_tree_is_refused() -> None:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.zero()))
    joint = mbt.RevoluteJoint("joint", tree.world_frame, link.body_frame, [0, 0, 1])
    with pytest.raises(mbt.ForeignElementError, match="belongs to no tree yet"):
        tree.add_force_element(mbt.RevoluteSpring, joint, 0.0, 1.0)
    tree.add_joint(joint)
    assert tree.add_force_element(mbt.RevoluteSpring, joint, 0.0, 1.0).index == 0


def test_model_instances() -> None:
    for name, expected in (
        ("revolute_spring", 2),
        # The joint belongs to the arm, its child.
        ("prismatic_spring", 2),
        ("joint_friction", 2),
        ("door_hinge", 2),
        ("linear_spring_damper", 2),
        # Frame C is on the box.
        ("bushing", 1),
    ):
        assert Model(ELEMENTS[name][0]).element.model_instance == expected


def test_forces_of_a_bushing_on_its_frames() -> None:
    model = Model(ELEMENTS["bushing"][0])
    element = model.element
    assert isinstance(element, mbt.LinearBushingRollPitchYaw)
    assert (element.link0, element.link1) == (model.sled, model.box)
    assert (element.frameA, element.frameC) == (model.frame_A, model.frame_C)
    context = model.context(2)
    A = model.motion(context, model.sled).of_frame(X_BF)
    C = model.motion(context, model.box).of_frame(X_BM)
    for frame, F_W, F_F in zip(
        (A, C),
        bushing_forces(A, C, BUSHING),
        (
            element.calc_bushing_spatial_force_on_frame_a(context),
            element.calc_bushing_spatial_force_on_frame_c(context),
        ),
        strict=True,
    ):
        R = frame.X[:3, :3]
        np.testing.assert_allclose(F_F, np.concatenate([R.T @ F_W[:3], R.T @ F_W[3:]]), atol=1e-12)


def test_a_door_hinge_by_itself() -> None:
    model = Model(ELEMENTS["door_hinge"][0])
    hinge = model.element
    assert isinstance(hinge, mbt.DoorHinge)
    context = model.context(1)
    q, v = model.hinge.get_angle(context), model.hinge.get_angular_rate(context)
    tau = model.forces(context).generalized_forces[model.hinge.velocity_start]
    assert float(hinge.calc_hinge_torque(q, v)) == pytest.approx(tau, rel=1e-13)
    assert float(hinge.calc_hinge_stored_energy(q)) == pytest.approx(hinge.calc_potential_energy(context))
    assert float(hinge.calc_hinge_conservative_power(q, v)) == pytest.approx(
        hinge.calc_conservative_power(context)
    )
    assert float(hinge.calc_hinge_non_conservative_power(v)) == pytest.approx(
        hinge.calc_non_conservative_power(context)
    )
    angles = np.linspace(-1, 2, 7)
    for angle, torque in zip(angles, hinge.calc_hinge_spring_torque(angles), strict=True):
        slope = central_difference(lambda x, q=angle: float(hinge.calc_hinge_stored_energy(q + x)), 1e-3)
        assert torque == pytest.approx(-slope, rel=1e-8, abs=1e-9)
    for method in (hinge.calc_hinge_torque, hinge.calc_hinge_conservative_power):
        assert method(angles, 1.0).shape == method(1.0, angles).shape == angles.shape
        with pytest.raises(mbt.ShapeError, match=r"got angle \(7,\) and angular_rate \(2,\)"):
            method(angles, [1.0, 2.0])
    # Friction dissipates energy, and so does viscous friction alone.
    viscous = mbt.DoorHingeConfig(motion_threshold=0.0, catch_width=0.0, viscous_friction=2.0)
    hinge.set_config(context, viscous)
    assert hinge.get_config(context) == viscous
    assert hinge.config == CONFIG
    assert hinge.calc_hinge_frictional_torque([2.0, -1.0], context).tolist() == [-4.0, 2.0]
    assert hinge.calc_non_conservative_power(context) == pytest.approx(-2.0 * v**2)
    assert hinge.calc_potential_energy(context) == pytest.approx(0.75 * ((q + 1.5) ** 2 - 1.5**2))
    assert float(hinge.calc_hinge_stored_energy(0.0)) == 0.0


def test_friction_by_itself() -> None:
    model = Model(ELEMENTS["joint_friction"][0])
    friction = model.element
    assert isinstance(friction, mbt.JointFriction)
    v = np.linspace(-3, 3, 61)
    tau = friction.calc_friction(v)
    assert (tau * v <= 0).all()
    assert friction.calc_friction(0.0) == 0.0
    assert float(friction.calc_friction(1e3)) == pytest.approx(-0.6, abs=1e-6)
    assert 0.6 < np.abs(tau).max() < 0.9
    context = model.context(0)
    friction.set_friction(context, 0.1, 0.4)
    friction.set_stribeck_velocity(context, 2.0)
    friction.set_transition_velocity(context, 0.3)
    rate = model.slide.get_translation_rate(context)
    assert model.forces(context).generalized_forces[model.slide.velocity_start] == pytest.approx(
        float(friction.calc_friction(rate, context))
    )
    with pytest.raises(mbt.ArgumentValueError, match="breakaway_friction: expected a number >= coulomb"):
        friction.set_friction(context, 0.5, 0.4)
    assert friction.get_breakaway_friction(context) == 0.4


def test_coinciding_ends_of_a_spring() -> None:
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    spring = mbt.LinearSpringDamper(tree.world_body, [0, 0, 1], box, [0, 0, 1], 0.5, 3.0, 0.0)
    tree.add_force_element(spring)
    tree.finalize()
    context = tree.create_default_context()
    forces = mbt.MultibodyForces(tree)
    forces.generalized_forces[:] = 7.0
    for call in (
        lambda: tree.calc_forward_dynamics(context),
        lambda: tree.calc_potential_energy(context),
        lambda: tree.calc_force_elements_contribution(context, forces),
        lambda: spring.calc_and_add_force_contribution(context, None, None, forces),
        lambda: spring.calc_conservative_power(context),
    ):
        with pytest.raises(mbt.SingularityError, match=r"world.* and .*box.* coincide"):
            call()
    assert (forces.generalized_forces == 7.0).all()


@pytest.mark.parametrize("kind", ["single", "batch", "autodiff"])
def test_an_element_is_judged_by_itself(kind: str) -> None:
    """Only the force of the element whose ends coincide is undefined, not that of its neighbour."""
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    slide = tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, box, None, axis=[0, 0, 1])
    spring = tree.add_force_element(mbt.PrismaticSpring(slide, 0.5, 4.0))
    damper = mbt.LinearSpringDamper(tree.world_body, [0, 0, 1], box, [0, 0, 1], 0.5, 3.0, 0.0)
    tree.add_force_element(damper)
    tree.finalize()
    if kind == "autodiff":
        ad = tree.to_autodiff()
        spring, damper, tree = ad.get_variant(spring), ad.get_variant(damper), ad
    context = tree.create_default_context((3,) if kind == "batch" else ())
    forces = mbt.MultibodyForces(tree, context.batch_shape)
    spring.calc_and_add_force_contribution(context, None, None, forces)
    tau = forces.generalized_forces
    np.testing.assert_array_equal(np.asarray(getattr(tau, "value", tau)).ravel(), 2.0)
    energy = spring.calc_potential_energy(context)
    np.testing.assert_array_equal(np.asarray(getattr(energy, "value", energy)), 0.5)
    power = spring.calc_conservative_power(context)
    np.testing.assert_array_equal(np.asarray(getattr(power, "value", power)), 0.0)
    if kind == "batch":
        assert np.isnan(damper.calc_potential_energy(context)).all()
    else:
        with pytest.raises(mbt.SingularityError, match="coincide"):
            damper.calc_potential_energy(context)
    with pytest.raises(mbt.ArgumentValueError) as caught:
        context.validate()
    assert "PrismaticSpring" not in str(caught.value)


def test_a_bushing_in_gimbal_lock() -> None:
    tree = mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_force_element(mbt.LinearBushingRollPitchYaw(tree.world_body, box, *np.ones((4, 3))))
    tree.finalize()
    context = tree.create_default_context()
    context.q = [np.sqrt(0.5), 0, np.sqrt(0.5), 0, 0, 0, 0]
    with pytest.raises(mbt.SingularityError, match="gimbal lock"):
        tree.calc_forward_dynamics(context)
