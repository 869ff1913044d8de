"""Force elements and frames that users write in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mbt
from support.declaring_elements import Telescope
from support.reference_forces import central_difference

M_BBo_B = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.3, 0.5, 0.7).shift([0.1, 0.2, 0.3])
X_BF = mbt.math.make_pose([0.1, -0.2, 0.3], rpy=[0.3, -0.2, 0.5])
P, Q = np.array([0.1, 0.2, -0.3]), np.array([-0.2, 0.05, 0.4])


class PySpring(mbt.ForceElement):
    """A LinearSpringDamper in Python: the same formulas, written as a user would."""

    def __init__(self, bodyA: mbt.RigidBody, bodyB: mbt.RigidBody) -> None:
        super().__init__(bodyA.model_instance)
        self.bodyA, self.bodyB = bodyA, bodyB

    def stretch(self, pc: Any) -> Any:
        A, B = self.bodyA.node_index, self.bodyB.node_index
        self.arm_A = pc.X_WB[..., A, :3, :3] @ P
        self.arm_B = pc.X_WB[..., B, :3, :3] @ Q
        d = pc.X_WB[..., B, :3, 3] + self.arm_B - pc.X_WB[..., A, :3, 3] - self.arm_A
        length = np.sqrt((d * d).sum(axis=-1, keepdims=True))
        return length, d / length

    def rate(self, pc: Any, vc: Any) -> Any:
        _, direction = self.stretch(pc)
        V_A, V_B = vc.V_WB[..., self.bodyA.node_index, :], vc.V_WB[..., self.bodyB.node_index, :]
        v_P = V_A[..., 3:] + np.cross(V_A[..., :3], self.arm_A)
        v_Q = V_B[..., 3:] + np.cross(V_B[..., :3], self.arm_B)
        return (direction * (v_Q - v_P)).sum(axis=-1, keepdims=True)

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        length, direction = self.stretch(pc)
        f = (11.0 * (length - 0.7) + 1.3 * self.rate(pc, vc)) * direction
        for body, arm, sign in ((self.bodyA, self.arm_A, 1.0), (self.bodyB, self.arm_B, -1.0)):
            forces.body_forces[..., body.node_index, :3] += sign * np.cross(arm, f)
            forces.body_forces[..., body.node_index, 3:] += sign * f


class PySpringWithEnergy(PySpring):
    def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
        length, _ = self.stretch(pc)
        return (5.5 * (length - 0.7) ** 2)[..., 0]


class PySpringWithPowers(PySpringWithEnergy):
    def do_calc_conservative_power(self, context: Any, pc: Any, vc: Any) -> Any:
        length, _ = self.stretch(pc)
        return (-11.0 * (length - 0.7) * self.rate(pc, vc))[..., 0]

    def do_calc_non_conservative_power(self, context: Any, pc: Any, vc: Any) -> Any:
        return (-1.3 * self.rate(pc, vc) ** 2)[..., 0]


def compiled(bodyA: mbt.RigidBody, bodyB: mbt.RigidBody) -> mbt.LinearSpringDamper:
    return mbt.LinearSpringDamper(bodyA, P, bodyB, Q, 0.7, 11.0, 1.3)


class Model:
    """An arm on a damped hinge, a free box, gravity, and one element between them."""

    def __init__(self, make: Any) -> None:
        tree = self.tree = mbt.MultibodyTree()
        self.arm = tree.add_body(mbt.RigidBody("arm", M_BBo_B))
        self.box = tree.add_body(mbt.RigidBody("box", M_BBo_B))
        self.hinge = tree.add_joint(
            mbt.RevoluteJoint, "hinge", tree.world_body, X_BF, self.arm, None, [0, 0.6, 0.8], damping=0.3
        )
        tree.add_joint_actuator("motor", self.hinge)
        tree.add_force_element(mbt.UniformGravityFieldElement())
        tree.add_force_element(mbt.RevoluteSpring(self.hinge, 0.1, 2.0))
        self.element = tree.add_force_element(make(self.arm, self.box))
        tree.finalize()
        self.context = tree.create_default_context()
        rng = np.random.default_rng(4)
        self.context.q = rng.uniform(-1, 1, tree.num_positions)
        self.context.v = rng.uniform(-1, 1, tree.num_velocities)
        self.context.actuation = [0.7]


@pytest.fixture
def twin() -> Model:
    return Model(compiled)


@pytest.mark.parametrize("make", [PySpring, PySpringWithEnergy, PySpringWithPowers])
def test_the_same_as_a_compiled_element_in_every_computation(make: Any, twin: Model) -> None:
    model = Model(make)
    rng = np.random.default_rng(8)
    vdot, tau = rng.normal(size=7), rng.normal(size=7)

    def results(m: Model) -> dict[str, Any]:
        tree, c = m.tree, m.context
        forces = tree.calc_force_elements_contribution(c, mbt.MultibodyForces(tree))
        q, v = c.q, c.v
        reaction = np.zeros((tree.num_bodies, 6))
        tree.calc_inverse_dynamics(c, vdot, include_force_elements=True, F_BMo_W_array=reaction)
        batch = np.stack([q, 1.1 * q, 0.9 * q]), np.stack([v, -v, 2 * v])
        return {
            "body forces": forces.body_forces,
            "generalized forces": forces.generalized_forces,
            "inverse dynamics": tree.calc_inverse_dynamics(c, vdot, include_force_elements=True),
            "reactions": reaction,
            "without": tree.calc_inverse_dynamics(c, vdot),
            "forward dynamics": tree.calc_forward_dynamics(c, tau),
            "functional inverse": mbt.functional.inverse_dynamics(tree, q, v, vdot),
            "functional forward": mbt.functional.forward_dynamics(tree, q, v, tau),
            "batch inverse": mbt.functional.inverse_dynamics(tree, *batch, vdot),
            "batch forward": mbt.functional.forward_dynamics(tree, *batch, tau),
            "reaction forces": tree.calc_reaction_forces(c),
            "acceleration": m.box.body_frame.calc_spatial_acceleration_in_world(c),
            "total power": tree.calc_conservative_power(c) + tree.calc_non_conservative_power(c),
        }

    expected = results(twin)
    for name, value in results(model).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-11, atol=1e-11, err_msg=name)


def test_powers_that_a_subclass_does_not_tell(twin: Model) -> None:
    energy = twin.element.calc_potential_energy(twin.context)
    Pc = twin.element.calc_conservative_power(twin.context)
    Pnc = twin.element.calc_non_conservative_power(twin.context)
    assert min(abs(energy), abs(Pc), abs(Pnc)) > 1e-3

    bare = Model(PySpring)
    assert bare.element.calc_potential_energy(bare.context) == 0.0
    assert bare.element.calc_conservative_power(bare.context) == 0.0
    assert bare.element.calc_non_conservative_power(bare.context) == pytest.approx(Pc + Pnc, rel=1e-12)

    with_energy = Model(PySpringWithEnergy)
    assert with_energy.element.calc_potential_energy(with_energy.context) == pytest.approx(energy, rel=1e-13)
    assert with_energy.element.calc_conservative_power(with_energy.context) == pytest.approx(Pc, rel=1e-7)
    assert with_energy.element.calc_non_conservative_power(with_energy.context) == pytest.approx(
        Pnc, rel=1e-6
    )
    # The finite difference leaves the Context and its caches alone.
    assert with_energy.context.q.tolist() == twin.context.q.tolist()

    complete = Model(PySpringWithPowers)
    assert complete.tree.calc_potential_energy(complete.context) == pytest.approx(
        twin.tree.calc_potential_energy(twin.context), rel=1e-12
    )
    assert complete.tree.calc_conservative_power(complete.context) == pytest.approx(
        twin.tree.calc_conservative_power(twin.context), rel=1e-12
    )
    assert complete.tree.calc_non_conservative_power(complete.context) == pytest.approx(
        twin.tree.calc_non_conservative_power(twin.context), rel=1e-12
    )


def test_forces_on_joints_and_of_time() -> None:
    class Motor(mbt.ForceElement):
        def __init__(self, joint: mbt.Joint) -> None:
            super().__init__()
            self.joint = joint

        def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
            forces.generalized_forces[..., self.joint.velocity_start] += 3.0 * context.time

    tree = mbt.MultibodyTree()
    wheel = tree.add_body(mbt.RigidBody("wheel", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 1.0)))
    axle = tree.add_joint(mbt.RevoluteJoint, "axle", tree.world_body, None, wheel, None, [0, 0, 1])
    motor = tree.add_force_element(Motor(axle))
    tree.finalize()
    context = tree.create_default_context()
    context.time = 2.0
    context.v = [5.0]
    assert tree.calc_forward_dynamics(context) == pytest.approx(6.0 / 0.4)
    assert motor.calc_non_conservative_power(context) == pytest.approx(30.0)
    assert motor.index == motor.ordinal == 0
    assert tree.force_elements == (motor,)
    assert "joint='axle'" in repr(motor)


# Failures.


class Faulty(mbt.ForceElement):
    """Calls the given functions in place of correct methods."""

    def __init__(self, **methods: Any) -> None:
        super().__init__()
        self.methods = methods

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> Any:
        return self.methods.get("forces", lambda c, pc, f: None)(context, pc, forces)

    def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
        return self.methods.get("energy", lambda c: 0.0)(context)

    def do_calc_conservative_power(self, context: Any, pc: Any, vc: Any) -> Any:
        return self.methods.get("power", lambda c: 0.0)(context)


def faulty(**methods: Any) -> Model:
    return Model(lambda a, b: Faulty(**methods))


def test_an_error_inside_passes_and_changes_nothing() -> None:
    def fail(context: Any, pc: Any, forces: Any) -> None:
        forces.body_forces[...] = 7.0
        raise ZeroDivisionError("mine")

    model = faulty(forces=fail)
    tree, context = model.tree, model.context
    forces = mbt.MultibodyForces(tree)
    forces.generalized_forces[:] = 5.0
    out = np.full(7, 9.0)
    q = context.q
    for call in (
        lambda: model.element.calc_and_add_force_contribution(context, None, None, forces),
        lambda: tree.calc_force_elements_contribution(context, forces),
        lambda: tree.calc_forward_dynamics(context, out=out),
        lambda: tree.calc_inverse_dynamics(context, np.zeros(7), include_force_elements=True, out=out),
        lambda: mbt.functional.inverse_dynamics(tree, q, context.v, np.zeros(7), out=out),
        lambda: tree.calc_non_conservative_power(context),
    ):
        with pytest.raises(ZeroDivisionError, match=r"^mine\b"):
            call()
    assert (forces.generalized_forces == 5.0).all()
    assert not forces.body_forces.any()
    assert (out == 9.0).all()
    # Computations without force elements still work.
    assert np.isfinite(tree.calc_inverse_dynamics(context, np.zeros(7))).all()


@pytest.mark.parametrize("what", ["q", "v", "time", "actuation", "lock", "gravity", "mass"])
def test_a_force_does_not_change_the_context_it_is_computed_for(what: str) -> None:
    """Otherwise forces of one state would be added to those of another."""

    def forces(context: Any, pc: Any, forces: Any) -> None:
        if what == "lock":
            context.tree.joints[0].lock(context)
        elif what == "mass":
            context.tree.bodies[1].set_mass(context, 5.0)
        elif what == "gravity":
            context._set_weightless([1], True)
        else:
            setattr(context, what, 1.5 + getattr(context, what))

    model = faulty(forces=forces)
    for call in (model.tree.calc_forward_dynamics, model.tree.calc_non_conservative_power):
        with pytest.raises(
            mbt.StaleCacheError, match=r"'Faulty_2'.* changed the Context .* context\.clone\(\)"
        ):
            call(model.context)


def test_a_result_of_the_force_method_is_refused() -> None:
    model = faulty(forces=lambda c, pc, forces: forces)
    with pytest.raises(mbt.ArgumentTypeError, match="expected forces added into `forces` and no result"):
        model.tree.calc_forward_dynamics(model.context)


def test_forces_of_other_elements_are_out_of_reach() -> None:
    """An element can overwrite only its own part."""

    def overwrite(context: Any, pc: Any, forces: Any) -> None:
        assert not forces.body_forces.any()
        forces.generalized_forces = np.zeros(7)
        forces.body_forces[...] = 0.0

    model, plain = faulty(forces=overwrite), faulty()
    expected = plain.tree.calc_forward_dynamics(plain.context)
    np.testing.assert_array_equal(model.tree.calc_forward_dynamics(model.context), expected)


def test_wrong_shapes_into_forces_are_numpy_errors() -> None:
    def wrong(context: Any, pc: Any, forces: Any) -> None:
        forces.body_forces[..., 1, 3:] += np.zeros(4)

    model = faulty(forces=wrong)
    with pytest.raises(ValueError, match="broadcast"):
        model.tree.calc_forward_dynamics(model.context)


def test_caches_are_read_only() -> None:
    def write(context: Any, pc: Any, forces: Any) -> None:
        pc.X_WB[..., 1, 0, 3] = 5.0

    model = faulty(forces=write)
    with pytest.raises(ValueError, match="read-only"):
        model.tree.calc_forward_dynamics(model.context)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, mbt.ArgumentTypeError),
        ("1", mbt.ArgumentTypeError),
        (1j, mbt.ArgumentTypeError),
        ([1.0, 2.0], mbt.ShapeError),
        (np.zeros((1,)), mbt.ShapeError),
    ],
)
def test_an_energy_must_be_a_number(value: Any, error: type[Exception]) -> None:
    model = faulty(energy=lambda c: value, power=lambda c: value)
    with pytest.raises(error, match=r"Faulty.do_calc_potential_energy"):
        model.tree.calc_potential_energy(model.context)
    with pytest.raises(error, match=r"Faulty.do_calc_conservative_power"):
        model.tree.calc_conservative_power(model.context)


def test_nan_passes() -> None:
    model = faulty(energy=lambda c: np.nan, power=lambda c: np.array(2))
    assert np.isnan(model.tree.calc_potential_energy(model.context))
    assert model.element.calc_conservative_power(model.context) == 2.0

    def infect(context: Any, pc: Any, forces: Any) -> None:
        forces.body_forces[..., 2, 3] += np.nan

    ill = faulty(forces=infect)
    vdot = ill.tree.calc_forward_dynamics(ill.context)
    assert np.isnan(vdot[ill.box.inboard_joint.velocity_start + 3])
    assert np.isfinite(vdot[ill.hinge.velocity_start])


def test_a_subclass_must_compute_forces() -> None:
    class Empty(mbt.ForceElement):
        pass

    class Deaf(mbt.RevoluteSpring):
        def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
            raise AssertionError

    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", M_BBo_B))
    joint = tree.add_joint(mbt.RevoluteJoint, "joint", tree.world_body, None, link, None, [0, 0, 1])
    for element in (Empty(), mbt.ForceElement()):
        with pytest.raises(mbt.ArgumentTypeError, match="do_calc_and_add_force_contribution"):
            tree.add_force_element(element)
    with pytest.raises(mbt.ArgumentTypeError, match=r"Deaf has a method .* which is never called"):
        tree.add_force_element(Deaf, joint, 0.0, 1.0)
    assert tree.force_elements == ()


def test_a_forgotten_constructor() -> None:
    class Push(mbt.ForceElement):
        def __init__(self) -> None:
            pass

        def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
            pass

    class Place(mbt.Frame):
        def __init__(self, body: mbt.RigidBody) -> None:
            pass

    tree = mbt.MultibodyTree()
    for add in (
        lambda: tree.add_force_element(Push),
        lambda: tree.add_force_element(Push()),
        lambda: tree.add_frame(Place, tree.world_body),
        lambda: tree.add_frame(Place(tree.world_body)),
    ):
        with pytest.raises(
            mbt.ArgumentTypeError, match=r"(Push|Place)\.__init__ must call super\(\)\.__init__"
        ):
            add()
    assert (tree.num_force_elements, tree.num_frames) == (0, 1)


def test_elements_of_other_trees_are_refused() -> None:
    model, tree = Model(compiled), mbt.MultibodyTree()
    box = tree.add_body(mbt.RigidBody("box", M_BBo_B))
    with pytest.raises(mbt.ForeignElementError, match="PySpring: bodyA: body 'arm' belongs to another tree"):
        tree.add_force_element(PySpring(model.arm, box))
    other = Model(PySpring)
    mine = Model(PySpring)
    with pytest.raises(mbt.ContextMismatchError):
        mine.element.calc_potential_energy(other.context)


# Frames.


class FrameModel:
    """An arm on a hinge, with a telescope on the arm, a tip on that, and a wrist that turns about the tip."""

    def __init__(self, frame_type: Any = Telescope) -> None:
        tree = self.tree = mbt.MultibodyTree()
        self.arm = tree.add_body(mbt.RigidBody("arm", M_BBo_B))
        self.hand = tree.add_body(mbt.RigidBody("hand", M_BBo_B))
        tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, self.arm, X_BF, [0, 0.6, 0.8])
        self.telescope = tree.add_frame(frame_type("telescope", self.arm))
        self.tip = tree.add_frame(mbt.FixedOffsetFrame("tip", self.telescope, X_BF))
        tree.add_joint(mbt.RevoluteJoint("wrist", self.tip, self.hand.body_frame, [1, 0, 0]))
        tree.add_force_element(mbt.UniformGravityFieldElement())
        tree.finalize()
        self.context = tree.create_default_context()
        self.context.q = [0.4, -0.7]
        self.context.v = [1.1, 0.6]


def fixed_model(distance: float, angle: float) -> FrameModel:
    X_BT = mbt.math.make_pose([distance, 0, 0], rpy=[0, 0, angle])
    return FrameModel(lambda name, body: mbt.FixedOffsetFrame(name, body, X_BT))


def results(m: FrameModel) -> dict[str, Any]:
    tree, c = m.tree, m.context
    W = tree.world_frame
    return {
        "pose": m.tip.calc_pose_in_world(c),
        "pose in body": m.tip.calc_pose_in_body_frame(c),
        "rotation in body": m.telescope.calc_rotation_matrix_in_body_frame(c),
        "offset": m.telescope.calc_offset_pose_in_body(c, X_BF),
        "velocity": m.tip.calc_spatial_velocity_in_world(c),
        "jacobian": tree.calc_jacobian_spatial_velocity(c, "v", m.tip, [0, 0, 0], W, W),
        "X_WB": tree.eval_position_kinematics(c).X_WB,
        "X_BF": tree.eval_position_kinematics(c).X_BF,
        "mass matrix": tree.calc_mass_matrix(c),
        "forward dynamics": tree.calc_forward_dynamics(c),
        "energy": tree.calc_potential_energy(c),
    }


def assert_same(model: FrameModel, other: FrameModel) -> None:
    expected = results(other)
    for name, value in results(model).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-12, atol=1e-12, err_msg=name)


def test_a_frame_in_python_is_like_a_fixed_one() -> None:
    model = FrameModel()
    assert_same(model, fixed_model(0.5, 0.3))
    default = model.telescope.get_fixed_pose_in_body_frame()
    np.testing.assert_array_equal(default, mbt.math.make_pose([0.5, 0, 0], rpy=[0, 0, 0.3]))
    np.testing.assert_allclose(model.tip.get_fixed_pose_in_body_frame(), default @ X_BF, atol=1e-15)
    assert (model.telescope.body, model.telescope.model_instance) == (model.arm, 1)
    assert model.tree.get_frame_by_name("telescope") is model.telescope
    assert not model.telescope.is_body_frame


def test_everything_follows_its_parameters() -> None:
    model = FrameModel()
    model.context.set_numeric_parameter(model.telescope.place, [-0.9, 1.2])
    assert_same(model, fixed_model(-0.9, 1.2))
    # Velocity against the Jacobian and against a difference.
    c = model.context
    V = model.tip.calc_spatial_velocity_in_world(c)
    W = model.tree.world_frame
    J = model.tree.calc_jacobian_spatial_velocity(c, "v", model.tip, [0, 0, 0], W, W)
    np.testing.assert_allclose(V, J @ c.v, atol=1e-13)
    for i in range(3):

        def position(dt: float, i: int = i) -> float:
            other = c.clone()
            other.q = c.q + dt * c.v
            return float(model.tip.calc_pose_in_world(other)[i, 3])

        assert V[3 + i] == pytest.approx(central_difference(position, 1e-3), abs=1e-9)
    # Each Context has its own values; defaults can be restored.
    clone = c.clone()
    model.tree.set_default_context(c)
    c.q, c.v = [0.4, -0.7], [1.1, 0.6]
    assert_same(model, fixed_model(0.5, 0.3))
    model.context = clone
    assert_same(model, fixed_model(-0.9, 1.2))
    model.context = model.tree.create_default_context()
    model.context.q, model.context.v = [0.4, -0.7], [1.1, 0.6]
    assert_same(model, fixed_model(0.5, 0.3))


def test_an_impossible_pose_changes_nothing() -> None:
    class Picky(Telescope):
        def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
            if parameters.get_numeric_parameter(self.place)[0] > 2.0:
                raise ZeroDivisionError("mine")
            if parameters.get_numeric_parameter(self.place)[0] > 1.0:
                return np.ones((4, 4))
            return super().do_calc_pose_in_body_frame(parameters)

    model = FrameModel(Picky)
    before = results(model)
    with pytest.raises(mbt.MbtError, match=r"'telescope': Picky.do_calc_pose_in_body_frame"):
        model.context.set_numeric_parameter(model.telescope.place, [1.5, 0])
    with pytest.raises(ZeroDivisionError, match=r"^mine\b"):
        model.context.set_numeric_parameter(model.telescope.place, [2.5, 0])
    assert model.context.get_numeric_parameter(model.telescope.place).tolist() == [0.5, 0.3]
    for name, value in results(model).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_a_frame_that_fails_at_finalize() -> None:
    class Wrong(mbt.Frame):
        pose: Any = np.zeros((4, 4))

        def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
            return self.pose

    tree = mbt.MultibodyTree()
    frame = tree.add_frame(Wrong("wrong", tree.world_body))
    with pytest.raises(mbt.MbtError, match=r"Wrong.do_calc_pose_in_body_frame"):
        tree.finalize()
    assert not tree.is_finalized
    frame.pose = X_BF
    tree.finalize()
    np.testing.assert_array_equal(frame.calc_pose_in_world(tree.create_default_context()), X_BF)


def test_what_is_no_frame() -> None:
    class Poseless(mbt.Frame):
        pass

    model, tree = FrameModel(), mbt.MultibodyTree()
    with pytest.raises(mbt.ArgumentTypeError, match="do_calc_pose_in_body_frame"):
        tree.add_frame(Poseless("poseless", tree.world_body))
    with pytest.raises(mbt.ArgumentTypeError, match="body: expected a RigidBody, got str"):
        Telescope("telescope", "world")  # type: ignore[arg-type]
    with pytest.raises(mbt.ForeignElementError, match="belongs to another tree"):
        tree.add_frame(Telescope("telescope", model.arm))
    frame = Telescope("telescope", tree.world_body)
    tree.add_frame(frame)
    with pytest.raises(mbt.NotFinalizedError, match="default pose is known after"):
        frame.get_fixed_pose_in_body_frame()
    assert tree.num_frames == 2


def test_shortcuts_of_a_frame() -> None:
    """A subclass may override the siblings of its method; these are then called."""
    calls: list[str] = []

    class Fast(Telescope):
        def do_calc_rotation_matrix_in_body_frame(self, parameters: mbt.Parameters) -> Any:
            calls.append("rotation")
            return super().do_calc_rotation_matrix_in_body_frame(parameters)

        def do_calc_offset_pose_in_body(self, parameters: mbt.Parameters, X_FQ: Any) -> Any:
            calls.append("offset")
            return np.zeros((4, 4))

    model = FrameModel(Fast)
    X_BT = mbt.math.make_pose([1.5, 0, 0], rpy=[0, 0, 0.7])
    frame, context = model.telescope, model.context
    context.set_numeric_parameter(frame.place, [1.5, 0.7])
    R = frame.calc_rotation_matrix_in_body_frame(context)
    np.testing.assert_allclose(R, X_BT[:3, :3], atol=1e-15)
    R = frame.calc_offset_rotation_matrix_in_body(context, X_BF[:3, :3])
    np.testing.assert_allclose(R, (X_BT @ X_BF)[:3, :3], atol=1e-15)
    with pytest.raises(mbt.MbtError, match=r"'telescope': Fast.do_calc_offset_pose_in_body"):
        frame.calc_offset_pose_in_body(context, X_BF)
    assert calls == ["rotation", "rotation", "offset"]
    with pytest.raises(mbt.ContextMismatchError):
        frame.calc_rotation_matrix_in_body_frame(FrameModel().context)


def test_a_fixed_frame_has_no_method_for_its_pose() -> None:
    class Confused(mbt.FixedOffsetFrame):
        def do_calc_pose_in_body_frame(self, parameters: mbt.Parameters) -> Any:
            raise AssertionError

    tree = mbt.MultibodyTree()
    with pytest.raises(mbt.ArgumentTypeError, match=r"Derive it from mbt.Frame"):
        tree.add_frame(Confused("confused", tree.world_body))
    assert tree.num_frames == 1


def test_a_frame_that_knows_its_default_pose_early() -> None:
    class Early(Telescope):
        def do_get_fixed_pose_in_body_frame(self) -> Any:
            return mbt.math.make_pose([0.5, 0, 0], rpy=[0, 0, 0.3])

    tree = mbt.MultibodyTree()
    frame = tree.add_frame(Early("early", tree.world_body))
    early = frame.get_fixed_pose_in_body_frame()
    tree.finalize()
    np.testing.assert_array_equal(frame.calc_pose_in_body_frame(tree.create_default_context()), early)
