"""Settings of force elements, those that each Context has for itself, and gravity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt

M_BBo_B = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.3, 0.5, 0.7).shift([0.1, 0.2, 0.3])
INF, NAN = np.inf, np.nan


class Model:
    def __init__(self) -> None:
        tree = self.tree = mbt.MultibodyTree()
        self.arm = tree.add_body(mbt.RigidBody("arm", M_BBo_B))
        self.sled = tree.add_body(mbt.RigidBody("sled", M_BBo_B))
        self.box = tree.add_body(mbt.RigidBody("box", M_BBo_B))
        world = tree.world_body
        self.hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", world, None, self.arm, None, [0, 1, 0])
        self.slide = tree.add_joint(mbt.PrismaticJoint, "slide", world, None, self.sled, None, [0, 1, 0])
        self.weld = tree.add_joint(mbt.WeldJoint, "weld", self.arm, None, self.box, None)
        self.frame = tree.add_frame(mbt.FixedOffsetFrame("frame", self.arm))
        self.revolute_spring = tree.add_force_element(mbt.RevoluteSpring, self.hinge, 0.1, stiffness=2.0)
        self.prismatic_spring = tree.add_force_element(mbt.PrismaticSpring(self.slide, -0.1, 3.0))
        self.spring = tree.add_force_element(
            mbt.LinearSpringDamper(self.arm, [1, 2, 3], self.sled, [4, 5, 6], 0.5, 7.0, 8.0)
        )
        self.friction = tree.add_force_element(mbt.JointFriction(self.slide, 1.0))
        self.door_hinge = tree.add_force_element(mbt.DoorHinge(self.hinge))
        self.bushing = tree.add_force_element(
            mbt.LinearBushingRollPitchYaw(
                self.frame, self.sled, [1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]
            )
        )
        self.contact = tree.add_force_element(
            mbt.PointContact(
                self.frame, [[1, 2, -3], [4, 5, -6]], stiffness=2.0, dissipation=0.5, static_friction=0.75
            )
        )
        tree.finalize()
        self.context = tree.create_default_context()


@pytest.fixture
def model() -> Model:
    return Model()


# Element, constant, value in a new Context, another one.
CONSTANTS: list[tuple[str, str, Any, Any]] = [
    ("revolute_spring", "nominal_angle", 0.1, -7.0),
    ("revolute_spring", "stiffness", 2.0, 0.0),
    ("prismatic_spring", "nominal_position", -0.1, 2.0),
    ("prismatic_spring", "stiffness", 3.0, 4.0),
    ("spring", "free_length", 0.5, 0.6),
    ("spring", "stiffness", 7.0, 0.0),
    ("spring", "damping", 8.0, 9.0),
    ("spring", "p_AP", [1.0, 2.0, 3.0], [0.0, -1.0, 2.0]),
    ("spring", "p_BQ", [4.0, 5.0, 6.0], [0.0, -1.0, 2.0]),
    ("friction", "stribeck_velocity", 0.1, 0.2),
    ("friction", "transition_velocity", 0.01, 0.02),
    ("bushing", "torque_stiffness_constants", [1.0, 2.0, 3.0], [0.0, 1.0, 0.5]),
    ("bushing", "torque_damping_constants", [4.0, 5.0, 6.0], [0.0, 1.0, 0.5]),
    ("bushing", "force_stiffness_constants", [7.0, 8.0, 9.0], [0.0, 1.0, 0.5]),
    ("bushing", "force_damping_constants", [10.0, 11.0, 12.0], [0.0, 1.0, 0.5]),
    ("contact", "stiffness", 2.0, 0.0),
    ("contact", "dissipation", 0.5, 0.25),
    ("contact", "stiction_speed", 0.05, 2.0),
    ("contact", "p_FC", [[1.0, 2.0, -3.0], [4.0, 5.0, -6.0]], [[1.0, 2.0, -3.5], [4.0, 5.0, 6.0]]),
]


def as_list(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(("name", "constant", "default", "other"), CONSTANTS)
def test_a_constant_is_a_parameter(model: Model, name: str, constant: str, default: Any, other: Any) -> None:
    element, context = getattr(model, name), model.context
    getter, setter = getattr(element, f"get_{constant}"), getattr(element, f"set_{constant}")
    before = {(n, c): as_list(getattr(getattr(model, n), f"get_{c}")(context)) for n, c, _, _ in CONSTANTS}
    assert as_list(getattr(element, constant)) == as_list(getter(context)) == default
    energy = model.tree.calc_potential_energy(context), model.tree.calc_non_conservative_power(context)
    context.v = np.array([0.3, 0.2])
    assert setter(context, other) is element
    assert as_list(getter(context)) == other
    assert as_list(getattr(element, constant)) == default
    assert as_list(getter(model.tree.create_default_context())) == default
    # Nothing else has changed, and computations use the new value.
    after = {(n, c): as_list(getattr(getattr(model, n), f"get_{c}")(context)) for n, c, _, _ in CONSTANTS}
    assert after == {**before, (name, constant): other}
    now = model.tree.calc_potential_energy(context), model.tree.calc_non_conservative_power(context)
    assert now != energy
    model.tree.set_default_context(context)
    assert as_list(getter(context)) == default


@pytest.mark.parametrize(("name", "constant", "default", "other"), CONSTANTS)
def test_a_wrong_constant_changes_nothing(
    model: Model, name: str, constant: str, default: Any, other: Any
) -> None:
    element, context = getattr(model, name), model.context
    setter = getattr(element, f"set_{constant}")
    bad: list[Any] = [NAN, -INF, "a", None, [1.0, 2.0]]
    if constant != "transition_velocity":
        bad.append(INF)
    if constant not in ("nominal_angle", "nominal_position", "p_AP", "p_BQ", "p_FC"):
        bad.append(-1.0)
    if constant in ("free_length", "stribeck_velocity", "transition_velocity", "stiction_speed"):
        bad.append(0.0)
    for value in bad:
        wrong = [value, 1.0, 1.0] if isinstance(default, list) and not isinstance(value, list) else value
        with pytest.raises(mbt.MbtError, match=f"force element '.*: {constant}: expected"):
            setter(context, wrong)
    with pytest.raises(mbt.ContextMismatchError):
        setter(Model().context, other)
    with pytest.raises(mbt.ArgumentTypeError):
        setter(None, other)
    assert as_list(getattr(element, f"get_{constant}")(context)) == default


@pytest.mark.parametrize(("name", "constant", "default", "other"), CONSTANTS)
def test_a_default_changes_before_finalize(
    model: Model, name: str, constant: str, default: Any, other: Any
) -> None:
    element = getattr(model, name)
    with pytest.raises(
        mbt.AlreadyFinalizedError, match=rf"{element.name}.*: the default constants .* with set_{constant}\("
    ):
        getattr(element, f"set_default_{constant}")(other)
    assert as_list(getattr(element, constant)) == default
    work = model.tree.edit()
    twin = work.force_elements[element.index]
    with pytest.raises(mbt.MbtError, match=f"force element '.*: {constant}: expected"):
        getattr(twin, f"set_default_{constant}")(NAN)
    assert getattr(twin, f"set_default_{constant}")(other) is twin
    assert as_list(getattr(twin, constant)) == other
    work.finalize()
    # As in a Context with this constant, to the last bit.
    context, fresh = model.context, work.create_default_context()
    getattr(element, f"set_{constant}")(context, other)
    context.v = fresh.v = np.array([0.3, 0.2])
    np.testing.assert_array_equal(
        work.calc_forward_dynamics(fresh), model.tree.calc_forward_dynamics(context)
    )
    for n, c, _, _ in CONSTANTS:
        twin = work.force_elements[getattr(model, n).index]
        assert as_list(getattr(twin, f"get_{c}")(fresh)) == as_list(getattr(twin, c))
        assert as_list(getattr(twin, c)) == as_list(getattr(getattr(model, n), f"get_{c}")(context))


def test_default_frictions_and_constants_of_a_hinge(model: Model) -> None:
    config = mbt.DoorHingeConfig(spring_constant=4.0)
    with pytest.raises(mbt.AlreadyFinalizedError, match=r"with set_friction\(\)"):
        model.friction.set_default_friction(2.0)
    with pytest.raises(mbt.AlreadyFinalizedError, match=r"with set_config\(\)"):
        model.door_hinge.set_default_config(config)
    assert model.door_hinge.config == mbt.DoorHingeConfig()
    work = model.tree.edit()
    friction = work.force_elements[model.friction.index]
    hinge = work.force_elements[model.door_hinge.index]
    with pytest.raises(mbt.ArgumentValueError, match="breakaway_friction: expected"):
        friction.set_default_friction(2.0, 1.0)
    with pytest.raises(mbt.ArgumentTypeError, match="expected a DoorHingeConfig, got dict"):
        hinge.set_default_config({})
    assert hinge.set_default_config(config).config == config
    friction.set_default_friction(2.0, 3.0)
    assert (friction.coulomb_friction, friction.breakaway_friction) == (2.0, 3.0)
    work.finalize()
    context, fresh = model.context, work.create_default_context()
    model.friction.set_friction(context, 2.0, 3.0)
    model.door_hinge.set_config(context, config)
    context.v = fresh.v = np.array([0.3, 0.2])
    np.testing.assert_array_equal(
        work.calc_forward_dynamics(fresh), model.tree.calc_forward_dynamics(context)
    )


def contact(m: Model, **arguments: Any) -> mbt.PointContact:
    right = {"frame": m.arm, "p_FC": [0, 0, 0], "stiffness": 1.0, "dissipation": 1.0, "static_friction": 1.0}
    return mbt.PointContact(**{**right, **arguments})


WRONG: list[tuple[Callable[[Model], Any], type[Exception], str]] = [
    (
        lambda m: mbt.RevoluteSpring(m.slide, 0, 1),
        mbt.ArgumentTypeError,
        "expected a RevoluteJoint, got joint 'sl",
    ),
    (lambda m: mbt.PrismaticSpring(m.hinge, 0, 1), mbt.ArgumentTypeError, "expected a PrismaticJoint"),
    (lambda m: mbt.DoorHinge(m.slide), mbt.ArgumentTypeError, "expected a RevoluteJoint"),
    (lambda m: mbt.DoorHinge(m.hinge, {}), mbt.ArgumentTypeError, "expected a DoorHingeConfig, got dict"),
    (lambda m: mbt.RevoluteSpring(m.arm, 0, 1), mbt.ArgumentTypeError, "expected a RevoluteJoint, got <"),
    (lambda m: mbt.DoorHinge(None), mbt.ArgumentTypeError, "expected a RevoluteJoint, got NoneType"),
    (lambda m: mbt.JointFriction(None, 1), mbt.ArgumentTypeError, "expected a Joint, got NoneType"),
    (lambda m: mbt.JointFriction(m.weld, 1), mbt.ArgumentValueError, "one degree of freedom"),
    (lambda m: mbt.RevoluteSpring(m.hinge, NAN, 1), mbt.ArgumentValueError, "nominal_angle"),
    (lambda m: mbt.RevoluteSpring(m.hinge, 0, -1), mbt.ArgumentValueError, "stiffness"),
    (lambda m: mbt.PrismaticSpring(m.slide, 0, INF), mbt.ArgumentValueError, "stiffness"),
    (
        lambda m: mbt.LinearSpringDamper(m.arm, [0] * 3, m.arm, [0] * 3, 1, 1, 1),
        mbt.ArgumentValueError,
        "two bodies, got body 'arm' twice",
    ),
    (
        lambda m: mbt.LinearSpringDamper(m.arm, [0] * 3, m.frame, [0] * 3, 1, 1, 1),
        mbt.ArgumentTypeError,
        "bodyB: expected a RigidBody",
    ),
    (
        lambda m: mbt.LinearSpringDamper(m.arm, [0] * 2, m.sled, [0] * 3, 1, 1, 1),
        mbt.ShapeError,
        "p_AP",
    ),
    (
        lambda m: mbt.LinearSpringDamper(m.arm, [0] * 3, m.sled, [0] * 3, 0, 1, 1),
        mbt.ArgumentValueError,
        "free_length: expected a finite number > 0",
    ),
    (
        lambda m: mbt.LinearSpringDamper(m.arm, [0] * 3, m.sled, [0] * 3, 1, -1, 1),
        mbt.ArgumentValueError,
        "stiffness",
    ),
    (
        lambda m: mbt.LinearSpringDamper(m.arm, [0] * 3, m.sled, [0] * 3, 1, 1, NAN),
        mbt.ArgumentValueError,
        "damping",
    ),
    (
        lambda m: mbt.LinearBushingRollPitchYaw(m.frame, m.arm, *np.ones((4, 3))),
        mbt.ArgumentValueError,
        "frames on two bodies, but frame 'frame' and body frame 'arm' are both on body 'arm'",
    ),
    (
        lambda m: mbt.LinearBushingRollPitchYaw(m.hinge, m.arm, *np.ones((4, 3))),
        mbt.ArgumentTypeError,
        "frameA: expected a Frame or a RigidBody, got <RevoluteJoint 'hinge'",
    ),
    (
        lambda m: mbt.LinearBushingRollPitchYaw(m.frame, m.sled, [1] * 3, [1] * 3, [1, -1, 1], [1] * 3),
        mbt.ArgumentValueError,
        "force_stiffness_constants: expected numbers >= 0",
    ),
    (lambda m: mbt.JointFriction(m.hinge, -1), mbt.ArgumentValueError, "coulomb_friction"),
    (lambda m: mbt.JointFriction(m.hinge, 2, 1), mbt.ArgumentValueError, "breakaway_friction"),
    (lambda m: mbt.JointFriction(m.hinge, 1, 1, 0), mbt.ArgumentValueError, "stribeck_velocity"),
    (lambda m: mbt.JointFriction(m.hinge, 1, 1, 1, -1), mbt.ArgumentValueError, "transition_velocity"),
    (lambda m: contact(m, p_FC=[0] * 2), mbt.ShapeError, r"PointContact: p_FC: expected shape \(n, 3\)"),
    (lambda m: contact(m, p_FC=np.zeros((0, 3))), mbt.ArgumentValueError, "p_FC: expected one point or more"),
    (lambda m: contact(m, p_FC=[0, 0, NAN]), mbt.ArgumentValueError, "p_FC"),
    (lambda m: contact(m, frame=m.hinge), mbt.ArgumentTypeError, "frame: expected a Frame or a RigidBody"),
    (lambda m: contact(m, frame=m.tree.world_body), mbt.ArgumentValueError, "expected frames on two bodies"),
    (lambda m: contact(m, half_space_frame=m.arm), mbt.ArgumentValueError, "both on body 'arm'"),
    (lambda m: contact(m, half_space_frame=1), mbt.ArgumentTypeError, "half_space_frame: expected a Frame"),
    (lambda m: contact(m, stiffness=-1), mbt.ArgumentValueError, "stiffness"),
    (lambda m: contact(m, dissipation=INF), mbt.ArgumentValueError, "dissipation"),
    (lambda m: contact(m, static_friction=-1), mbt.ArgumentValueError, "static_friction"),
    (lambda m: contact(m, dynamic_friction=-1), mbt.ArgumentValueError, "dynamic_friction"),
    (
        lambda m: contact(m, dynamic_friction=2.0),
        mbt.ArgumentValueError,
        "static_friction - dynamic_friction: expected a finite number >= 0",
    ),
    (lambda m: contact(m, stiction_speed=0), mbt.ArgumentValueError, "stiction_speed"),
    (
        lambda m: contact(m, frame=mbt.RigidBody("new", M_BBo_B)),
        mbt.ForeignElementError,
        "belongs to no tree yet",
    ),
    (lambda m: mbt.DoorHingeConfig(catch_torque=-1), mbt.ArgumentValueError, "catch_torque"),
    (
        lambda m: mbt.DoorHingeConfig(spring_zero_angle_rad=NAN),
        mbt.ArgumentValueError,
        "spring_zero_angle_rad",
    ),
    (lambda m: mbt.DoorHingeConfig(viscous_friction="a"), mbt.ArgumentTypeError, "viscous_friction"),
]


@pytest.mark.parametrize(("make", "error", "match"), WRONG)
def test_wrong_arguments(model: Model, make: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make(model)


def test_read_only_defaults(model: Model) -> None:
    with pytest.raises(ValueError, match="read-only"):
        model.spring.p_AP[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        model.bushing.force_damping_constants[0] = 5.0


def test_names_tell_the_type(model: Model) -> None:
    names = [element.name for element in model.tree.force_elements]
    assert names[:3] == ["RevoluteSpring_0", "PrismaticSpring_1", "LinearSpringDamper_2"]
    assert len(set(names)) == len(names)


def test_what_they_act_on(model: Model) -> None:
    assert (model.spring.bodyA, model.spring.bodyB) == (model.arm, model.sled)
    assert model.bushing.frameC is model.sled.body_frame
    assert model.revolute_spring.joint is model.door_hinge.joint is model.hinge
    assert model.prismatic_spring.joint is model.friction.joint is model.slide
    assert model.friction.breakaway_friction == model.friction.coulomb_friction == 1.0
    assert model.revolute_spring.default_stiffness == 2.0
    assert model.revolute_spring.default_nominal_angle == 0.1
    assert model.prismatic_spring.default_stiffness == 3.0
    assert model.prismatic_spring.default_nominal_position == -0.1
    assert "bodyA='arm' bodyB='sled'" in repr(model.spring)
    assert "joint='hinge'" in repr(model.door_hinge)
    assert "frameA='frame' frameC='sled'" in repr(model.bushing)


def test_door_hinge_defaults() -> None:
    """They are those of Drake."""
    config = mbt.DoorHingeConfig()
    assert (config.spring_zero_angle_rad, config.spring_constant) == (-1.5, 1.5)
    assert (config.dynamic_friction_torque, config.static_friction_torque) == (3.0, 2.0)
    assert (config.viscous_friction, config.motion_threshold) == (1.0, 0.001)
    assert (config.catch_width, config.catch_torque) == (0.02, 15.0)


# Gravity.


class Falling:
    """Three free bodies, two of them in instances of their own, and one instance without bodies."""

    def __init__(self, **kwargs: Any) -> None:
        tree = self.tree = mbt.MultibodyTree()
        self.a, self.b, self.empty = (tree.add_model_instance(name) for name in ("a", "b", "empty"))
        self.bodies = [
            tree.add_body(mbt.RigidBody(f"body_{i}", M_BBo_B, instance))
            for i, instance in enumerate((self.a, self.b, None))
        ]
        self.gravity = tree.add_force_element(mbt.UniformGravityFieldElement([1.0, 2.0, -9.0], **kwargs))

    def finalize(self) -> mbt.Context:
        self.tree.finalize()
        context = self.tree.create_default_context()
        rng = np.random.default_rng(3)
        context.q = rng.uniform(-1, 1, self.tree.num_positions)
        context.v = rng.uniform(-1, 1, self.tree.num_velocities)
        return context

    def check(self, context: mbt.Context, *falling: int) -> None:
        """The forces, energies and powers are those of the weights of these bodies."""
        tree, g = self.tree, np.array([1.0, 2.0, -9.0])
        pc, vc = tree.eval_position_kinematics(context), tree.eval_velocity_kinematics(context)
        expected = np.zeros((4, 6))
        energy = power = 0.0
        for i in falling:
            b = self.bodies[i].node_index
            arm = pc.X_WB[b, :3, :3] @ self.bodies[i].default_com
            expected[b] = np.concatenate([np.cross(arm, 2.0 * g), 2.0 * g])
            energy -= 2.0 * g @ (pc.X_WB[b, :3, 3] + arm)
            power += 2.0 * g @ (vc.V_WB[b, 3:] + np.cross(vc.V_WB[b, :3], arm))
        forces = mbt.MultibodyForces(tree)
        self.gravity.calc_and_add_force_contribution(context, pc, vc, forces)
        np.testing.assert_allclose(forces.body_forces, expected, atol=1e-13)
        assert not forces.generalized_forces.any()
        tree.calc_force_elements_contribution(context, forces)
        np.testing.assert_allclose(forces.body_forces, expected, atol=1e-13)
        for owner in (self.gravity, tree):
            assert owner.calc_potential_energy(context) == pytest.approx(energy, abs=1e-12)
            assert owner.calc_conservative_power(context) == pytest.approx(power, abs=1e-12)
            assert owner.calc_non_conservative_power(context) == 0.0
        tau_g = self.gravity.calc_gravity_generalized_forces(context)
        assert tau_g @ context.v == pytest.approx(power, abs=1e-12)
        np.testing.assert_array_equal(tau_g, tree.calc_gravity_generalized_forces(context))
        vdot = tree.calc_forward_dynamics(context)
        np.testing.assert_allclose(
            tree.calc_mass_matrix(context) @ vdot + tree.calc_bias_term(context), tau_g, atol=1e-12
        )
        np.testing.assert_allclose(
            tree.calc_inverse_dynamics(context, vdot, include_force_elements=True), np.zeros(18), atol=1e-12
        )


def test_gravity_spares_instances() -> None:
    m = Falling()
    m.check(m.finalize(), 0, 1, 2)
    m = Falling(disabled_model_instances=[2])
    assert [m.gravity.is_enabled(i) for i in range(5)] == [True, True, False, True, True]
    m.check(m.finalize(), 1, 2)
    m = Falling()
    assert m.gravity.set_enabled(m.a, False).set_enabled(m.b, False).set_enabled(m.a, True) is m.gravity
    context = m.finalize()
    m.check(context, 0, 2)
    np.testing.assert_allclose(
        mbt.functional.gravity_generalized_forces(m.tree, context.q),
        m.gravity.calc_gravity_generalized_forces(context),
        atol=1e-13,
    )


def test_gravity_spares_instances_in_a_context() -> None:
    m = Falling(disabled_model_instances=(2, 4))
    context = m.finalize()
    assert not m.gravity.is_enabled_in(context, m.a)
    assert not m.gravity.is_enabled_in(context, m.empty)
    assert m.gravity.is_enabled_in(context, m.b)
    assert m.gravity.set_enabled_in(context, m.a, True) is m.gravity
    m.check(context, 0, 1, 2)
    m.gravity.set_enabled_in(context, mbt.default_model_instance(), False)
    m.check(context, 0, 1)
    clone = context.clone()
    m.gravity.set_enabled_in(context, m.b, False)
    m.gravity.set_enabled_in(context, m.a, False)
    m.check(context)
    m.check(clone, 0, 1)
    assert [m.gravity.is_enabled_in(context, i) for i in (1, 2, 3)] == [False] * 3
    m.tree.set_default_context(clone)
    clone.q, clone.v = context.q, context.v
    m.check(clone, 1, 2)
    # The default is what it was.
    assert [m.gravity.is_enabled(i) for i in (1, 2, 3)] == [True, False, True]


def test_wrong_settings_of_gravity() -> None:
    m = Falling()
    for call, error in (
        (lambda: m.gravity.is_enabled(5), mbt.ElementIndexError),
        (lambda: m.gravity.set_enabled(5, True), mbt.ElementIndexError),
        (lambda: m.gravity.set_enabled(2, 1), mbt.ArgumentTypeError),
        (lambda: mbt.UniformGravityFieldElement(disabled_model_instances=3), mbt.ArgumentTypeError),
        (lambda: mbt.UniformGravityFieldElement(disabled_model_instances=["a"]), mbt.ArgumentTypeError),
        (
            lambda: m.tree.add_force_element(mbt.UniformGravityFieldElement(disabled_model_instances=[9])),
            mbt.ArgumentValueError,
        ),
    ):
        with pytest.raises(error):
            call()
    tree = mbt.MultibodyTree()
    with pytest.raises(mbt.ElementIndexError, match="disabled_model_instances"):
        tree.add_force_element(mbt.UniformGravityFieldElement(disabled_model_instances=[9]))
    assert tree.gravity_field is None
    context = m.finalize()
    with pytest.raises(mbt.AlreadyFinalizedError, match=r"set_enabled_in\(\)"):
        m.gravity.set_enabled(2, False)
    with pytest.raises(mbt.ElementIndexError):
        m.gravity.set_enabled_in(context, 5, False)
    with pytest.raises(mbt.ArgumentTypeError):
        m.gravity.set_enabled_in(context, 2, "no")
    other = Falling()
    with pytest.raises(mbt.ContextMismatchError):
        m.gravity.set_enabled_in(other.finalize(), 2, False)
    m.check(context, 0, 1, 2)


# Actuators.


def test_actuator_settings() -> None:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", M_BBo_B))
    cart = tree.add_body(mbt.RigidBody("cart", M_BBo_B))
    hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", cart, None, link, None, [0, 1, 0])
    slide = tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, cart, None, [1, 0, 0])
    tree.add_joint_actuator("first", slide)
    motor = tree.add_joint_actuator("motor", hinge, 5.0)
    assert (
        motor.set_effort_limit(7) is motor.set_default_rotor_inertia(0.5) is motor.set_default_gear_ratio(2)
    )
    assert (motor.effort_limit, motor.default_rotor_inertia, motor.default_gear_ratio) == (7.0, 0.5, 2.0)
    assert motor.default_reflected_inertia == 2.0
    for call in (
        lambda: motor.set_effort_limit(-1),
        lambda: motor.set_default_rotor_inertia(-1),
        lambda: motor.set_default_gear_ratio(np.nan),
    ):
        with pytest.raises(mbt.ArgumentValueError, match="joint actuator 'motor'"):
            call()
    tree.finalize()
    for finalized in (
        lambda: motor.set_effort_limit(1),
        lambda: motor.set_default_rotor_inertia(1),
        lambda: motor.set_default_gear_ratio(1),
    ):
        with pytest.raises(mbt.AlreadyFinalizedError):
            finalized()
    context = tree.create_default_context()
    assert motor.calc_reflected_inertia(context) == 2.0
    u = np.array([1.0, 2.0])
    assert motor.get_actuation_vector(u).tolist() == [2.0]
    assert motor.get_actuation_vector(np.zeros((3, 2))).shape == (3, 1)
    motor.set_actuation_vector([5.0], u)
    motor.set_actuation_vector(6.0, u)
    assert u.tolist() == [1.0, 6.0]
    with pytest.raises(mbt.ShapeError):
        motor.set_actuation_vector([1.0, 2.0], u)
    with pytest.raises(mbt.ShapeError):
        motor.get_actuation_vector([1.0])
    with pytest.raises(mbt.ArgumentTypeError):
        motor.set_actuation_vector(1.0, [1.0, 2.0])  # type: ignore[arg-type]
    assert u.tolist() == [1.0, 6.0]
