"""The reference of ForceElement: each member is called, and its meaning checked."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mbt

BALL = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)


class SpringElement(mbt.ForceElement):
    """A linear spring between the origins of two bodies, with a damper; it defines all hooks."""

    def __init__(self, body1: mbt.RigidBody, body2: mbt.RigidBody, stiffness: float) -> None:
        super().__init__(body1.model_instance)
        self.body1, self.body2 = body1, body2
        self.default_stiffness = stiffness

    def do_declare_force_element_parameters(self) -> None:
        self.constants = self.declare_numeric_parameter([0.0, 0.5])

    def do_set_default_force_element_parameters(self, parameters: mbt.Parameters) -> None:
        parameters.set_numeric_parameter(self.constants, [self.default_stiffness, 0.5])

    def vectors(self, pc: Any, vc: Any) -> tuple[np.ndarray, np.ndarray]:
        i, j = self.body1.node_index, self.body2.node_index
        stretch = pc.X_WB[..., j, :3, 3] - pc.X_WB[..., i, :3, 3]
        return stretch, None if vc is None else vc.V_WB[..., j, 3:] - vc.V_WB[..., i, 3:]

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        k, c = context.get_numeric_parameter(self.constants)
        stretch, rate = self.vectors(pc, vc)
        f_W = k * stretch + c * rate
        forces.body_forces[..., self.body1.node_index, 3:] += f_W
        forces.body_forces[..., self.body2.node_index, 3:] -= f_W

    def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
        stretch, _ = self.vectors(pc, None)
        return 0.5 * context.get_numeric_parameter(self.constants)[0] * (stretch**2).sum(axis=-1)

    def do_calc_conservative_power(self, context: Any, pc: Any, vc: Any) -> Any:
        stretch, rate = self.vectors(pc, vc)
        return -context.get_numeric_parameter(self.constants)[0] * (stretch * rate).sum(axis=-1)

    def do_calc_non_conservative_power(self, context: Any, pc: Any, vc: Any) -> Any:
        _, rate = self.vectors(pc, vc)
        return -context.get_numeric_parameter(self.constants)[1] * (rate**2).sum(axis=-1)


@pytest.fixture
def pair() -> SimpleNamespace:
    """Two free balls and a spring between them: 3 m apart along x, separating at 2 m/s."""
    tree = mbt.MultibodyTree()
    a, b = (tree.add_body(mbt.RigidBody(name, BALL)) for name in "ab")
    spring = tree.add_force_element(SpringElement(a, b, 10.0))
    tree.finalize()
    context = tree.create_default_context()
    b.inboard_joint.set_translation(context, [3, 0, 0]).set_translational_velocity(context, [2, 0, 0])
    return SimpleNamespace(tree=tree, a=a, b=b, spring=spring, context=context)


def test_an_element_written_in_python(pair: SimpleNamespace) -> None:
    tree, context = pair.tree, pair.context
    assert pair.spring.index == mbt.ForceElementIndex(0)
    vdot = tree.calc_forward_dynamics(context)
    # f = 10 * 3 + 0.5 * 2 on 2 kg.
    np.testing.assert_allclose(vdot[[3, 9]], [15.5, -15.5])
    np.testing.assert_allclose(
        tree.calc_inverse_dynamics(context, vdot, include_force_elements=True), 0.0, atol=1e-13
    )

    class Empty(mbt.ForceElement):
        pass

    with pytest.raises(mbt.ArgumentTypeError, match="do_calc_and_add_force_contribution"):
        mbt.MultibodyTree().add_force_element(Empty())


def test_forces_are_added(pair: SimpleNamespace) -> None:
    tree, context, spring = pair.tree, pair.context, pair.spring
    forces = mbt.MultibodyForces(tree)
    forces.body_forces[pair.a.node_index, 3] = 1.0
    pc, vc = tree.eval_position_kinematics(context), tree.eval_velocity_kinematics(context)
    spring.calc_and_add_force_contribution(context, pc, vc, forces)
    spring.calc_and_add_force_contribution(context, None, None, forces)
    forces.check_invariants()
    damaged = mbt.MultibodyForces(tree)
    damaged._body_forces = np.zeros((2, 6))
    with pytest.raises(AssertionError, match="sizes are those of the tree"):
        damaged.check_invariants()
    np.testing.assert_allclose(forces.body_forces[pair.a.node_index], [0, 0, 0, 63, 0, 0])
    np.testing.assert_allclose(forces.body_forces[pair.b.node_index], [0, 0, 0, -62, 0, 0])
    assert not forces.generalized_forces.any()
    context.q = context.q
    with pytest.raises(mbt.StaleCacheError):
        spring.calc_and_add_force_contribution(context, pc, vc, forces)
    with pytest.raises(mbt.ContextMismatchError):
        spring.calc_and_add_force_contribution(context, None, None, mbt.MultibodyForces(tree.clone()))


def test_energy(pair: SimpleNamespace) -> None:
    tree, context, spring = pair.tree, pair.context, pair.spring
    np.testing.assert_allclose(spring.calc_potential_energy(context), 45.0)
    np.testing.assert_allclose(spring.calc_conservative_power(context), -60.0)
    np.testing.assert_allclose(spring.calc_non_conservative_power(context), -2.0)
    np.testing.assert_allclose(tree.calc_potential_energy(context), 45.0)
    np.testing.assert_allclose(tree.calc_conservative_power(context), -60.0)
    # The rate of the total energy is the non-conservative power.
    rates = []
    h = 1e-5
    vdot = tree.calc_forward_dynamics(context)
    for dt in (-h, h):
        moved = context.clone()
        moved.q = context.q + dt * tree.map_velocity_to_qdot(context, context.v)
        moved.v = context.v + dt * vdot
        rates.append(tree.calc_potential_energy(moved) + tree.calc_kinetic_energy(moved))
    rate = (rates[1] - rates[0]) / (2 * h)
    np.testing.assert_allclose(rate, tree.calc_non_conservative_power(context), atol=1e-6)


def test_parameters(pair: SimpleNamespace) -> None:
    context = pair.context
    np.testing.assert_array_equal(context.get_numeric_parameter(pair.spring.constants), [10.0, 0.5])
    context.set_numeric_parameter(pair.spring.constants, [20.0, 0.0])
    np.testing.assert_allclose(pair.spring.calc_potential_energy(context), 90.0)
    np.testing.assert_allclose(pair.tree.calc_forward_dynamics(context)[3], 30.0)


def test_clones(pair: SimpleNamespace) -> None:
    for twin in (pair.tree.clone(), pair.tree.to_autodiff(), pair.tree.to_symbolic()):
        loose = pair.spring.do_clone_to_scalar(twin)
        assert not loose.has_parent_tree
        assert loose.body1 is twin.get_variant(pair.a)
        assert loose.default_stiffness == pair.spring.default_stiffness
    twin = pair.tree.clone()
    spring = twin.get_variant(pair.spring)
    assert spring.body1 is twin.get_variant(pair.a)
    assert spring.body2 is twin.get_variant(pair.b)
    context = twin.create_default_context()
    context.q, context.v = pair.context.q, pair.context.v
    np.testing.assert_allclose(spring.calc_potential_energy(context), 45.0)
    np.testing.assert_array_equal(
        twin.calc_forward_dynamics(context), pair.tree.calc_forward_dynamics(pair.context)
    )


def test_copies(pair: SimpleNamespace) -> None:
    with pytest.raises(mbt.ForeignElementError):
        copy.copy(pair.spring)
    loose = SpringElement(pair.a, pair.b, 1.0)
    twin = copy.copy(loose)
    assert twin.body1 is pair.a
    assert not twin.has_parent_tree


def test_elements_that_mbt_has() -> None:
    tree = mbt.MultibodyTree()
    bodies = [tree.add_body(mbt.RigidBody(name, BALL)) for name in "abc"]
    hinge = tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, bodies[0], None, axis=[0, 0, 1])
    slide = tree.add_joint(
        mbt.PrismaticJoint, "slide", tree.world_body, None, bodies[1], None, axis=[0, 0, 1]
    )
    damper = mbt.LinearSpringDamper(tree.world_body, [0, 0, 0], bodies[2], [0, 0, 0], 1.0, 8.0, 0.25)
    door = mbt.DoorHinge(hinge, mbt.DoorHingeConfig(spring_constant=1.5, spring_zero_angle_rad=-1.0))
    elements = [
        mbt.UniformGravityFieldElement([0, 0, -10]),
        mbt.RevoluteSpring(hinge, 0.5, 4.0),
        mbt.PrismaticSpring(slide, 0.25, 6.0),
        damper,
        door,
    ]
    for element in elements:
        tree.add_force_element(element)
    tree.finalize()
    context = tree.create_default_context()
    slide.set_translation(context, 1.0)
    bodies[2].inboard_joint.set_translation(context, [0, 3, 0])
    energies = [element.calc_potential_energy(context) for element in elements]
    # m g h; k angle^2 / 2; k x^2 / 2; k (l - l0)^2 / 2; zero at angle zero.
    np.testing.assert_allclose(energies, [20.0, 0.5, 6 * 0.75**2 / 2, 16.0, 0.0], atol=1e-14)
    np.testing.assert_allclose(tree.calc_potential_energy(context), sum(energies))
    forces = mbt.MultibodyForces(tree)
    damper.calc_and_add_force_contribution(context, None, None, forces)
    np.testing.assert_allclose(forces.body_forces[bodies[2].node_index], [0, 0, 0, 0, -16, 0], atol=1e-14)
