"""Second derivatives: the analytic kernels in numbers with derivatives.

Identities between mixed partials hold to rounding; differences of trees of doubles agree to the differences'
own error. Derivatives along positions are along the velocities, ``qdot = N(q) e_j``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.autodiff import AutoDiffArray, initialize
from scalars.scalar_trees import richardson
from support.build import build_tree
from support.description import Array
from support.force_element_types import ELEMENTS, USER_WRITTEN, make_everything
from support.joint_types import MOVING_JOINT_TYPES, add_joint_of_type, add_random_body, random_state
from support.random_trees import all_weld, chain, star, world_only


def _one_joint(kind: str, is_reversed: bool) -> mbt.MultibodyTree:
    """Return a tree whose joint connects two bodies, of which the first tilts."""
    rng = np.random.default_rng(5)
    tree = mbt.MultibodyTree()
    bodies = [tree.world_body, *(add_random_body(tree, rng, f"body{i}") for i in range(2))]
    for i, (joint, direction) in enumerate((("universal", False), (kind, is_reversed))):
        add_joint_of_type(
            tree, joint, f"joint{i}", bodies[i], bodies[i + 1], rng, is_reversed=direction, is_damped=True
        )
    tree.add_force_element(mbt.UniformGravityFieldElement([1.0, -2.0, -9.0]))
    tree.finalize()
    return tree


def _one_element(name: str) -> mbt.MultibodyTree:
    rng = np.random.default_rng(6)
    tree = mbt.MultibodyTree()
    bodies, joints = [tree.world_body], []
    for i, kind in enumerate(("revolute", "ball_rpy", "prismatic")):
        bodies.append(add_random_body(tree, rng, f"body{i}"))
        joints.append(add_joint_of_type(tree, kind, f"joint{i}", bodies[i], bodies[i + 1], rng))
    tree.add_force_element(ELEMENTS[name][0](tree, bodies, joints))
    tree.add_joint_actuator("motor", joints[0], rotor_inertia=1e-3, gear_ratio=20.0)
    tree.finalize()
    return tree


TREES: dict[str, Callable[[], mbt.MultibodyTree]] = {
    **{
        f"{kind}_{'reversed' if is_reversed else 'forward'}": (
            lambda kind=kind, is_reversed=is_reversed: _one_joint(kind, is_reversed)
        )
        for kind in MOVING_JOINT_TYPES
        for is_reversed in (False, True)
    },
    **{name: (lambda name=name: _one_element(name)) for name in ELEMENTS if name not in USER_WRITTEN},
    "everything": lambda: make_everything(user_written=False),
    "deep": lambda: build_tree(chain(1, 40)),
    "wide": lambda: build_tree(star(2, 12)),
    "all_weld": lambda: build_tree(all_weld(1)),
    "world_only": lambda: build_tree(world_only()),
}


class Second:
    """First derivatives of both dynamics in one state, with their own derivatives."""

    def __init__(self, tree: mbt.MultibodyTree) -> None:
        self.tree, self.ad = tree, tree.to_autodiff()
        self.state = random_state(tree, np.random.default_rng(8))
        self.q, self.v = self.state.q, self.state.v
        self.nq, self.nv = self.q.size, self.v.size
        rng = np.random.default_rng(9)
        self.vdot, self.tau = rng.normal(size=(2, self.nv))
        self.context = self.ad.create_default_context()
        self.N = tree.make_velocity_to_qdot_map(self.state)

    def _seeded(self, x: Array) -> AutoDiffArray:
        self.context.q, self.context.v, variable = initialize(self.q, self.v, x)
        return variable

    @cached_property
    def inverse(self) -> tuple[AutoDiffArray, ...]:
        return self.ad.calc_inverse_dynamics_derivatives(
            self.context, self._seeded(self.vdot), include_force_elements=True
        )

    @cached_property
    def forward(self) -> tuple[AutoDiffArray, ...]:
        return self.ad.calc_forward_dynamics_derivatives(self.context, self._seeded(self.tau))

    def by_q(self, array: AutoDiffArray) -> Array:
        """Return derivatives along the velocities, which the last axis counts."""
        return array.derivatives[..., : self.nq] @ self.N

    def by_v(self, array: AutoDiffArray) -> Array:
        return array.derivatives[..., self.nq : self.nq + self.nv]

    def by_x(self, array: AutoDiffArray) -> Array:
        return array.derivatives[..., self.nq + self.nv :]

    @cached_property
    def brackets(self) -> Array:
        """Return the Lie brackets of velocities: rotating j before k minus k before j, (nv, nv, nv)."""
        context = self.ad.create_default_context()
        context.q = initialize(self.q)
        N = self.ad.make_velocity_to_qdot_map(context).derivatives
        # The rate of column j while q moves along column k.
        rates = np.einsum("ajb,bk->ajk", N, self.N)
        Nplus = self.tree.make_qdot_to_velocity_map(self.state)
        return np.einsum("ia,ajk->ijk", Nplus, rates - rates.transpose(0, 2, 1))


@cache
def second(name: str) -> Second:
    return Second(TREES[name]())


def assert_close(actual: Array, wanted: Array, digits: float = 1e-10) -> None:
    assert actual.shape == wanted.shape
    scale = 1.0 + np.max(np.abs(wanted), initial=0.0)
    np.testing.assert_allclose(actual, wanted, rtol=0, atol=digits * scale)


@pytest.mark.parametrize("name", TREES)
def test_mixed_partials_of_inverse_dynamics(name: str) -> None:
    """Two kernels differentiate the same torque, in opposite orders."""
    s = second(name)
    dq, dv, M = s.inverse
    # d/dvdot of dtau/dq is d/dq of M, as no other term depends on vdot.
    assert_close(s.by_x(dq).transpose(0, 2, 1), s.by_q(M))
    for zero in (s.by_v(M), s.by_x(M), s.by_x(dv)):
        assert_close(zero, np.zeros_like(zero))
    assert_close(s.by_v(dq).transpose(0, 2, 1), s.by_q(dv))
    assert_close(s.by_v(dv).transpose(0, 2, 1), s.by_v(dv))
    # Rotations do not commute: the difference is a step along their bracket.
    curl = s.by_q(dq) - s.by_q(dq).transpose(0, 2, 1)
    assert_close(curl, np.einsum("il,ljk->ijk", dq.value, s.brackets))


@pytest.mark.parametrize("name", TREES)
def test_mixed_partials_of_forward_dynamics(name: str) -> None:
    s = second(name)
    dq, dv, M_inverse = s.forward
    digits = 1e-15 * np.linalg.cond(M_inverse.value) ** 2 + 1e-10 if s.nv else 0.0
    assert_close(s.by_x(dq).transpose(0, 2, 1), s.by_q(M_inverse), digits)
    for zero in (s.by_v(M_inverse), s.by_x(M_inverse), s.by_x(dv)):
        assert_close(zero, np.zeros_like(zero))
    assert_close(s.by_v(dq).transpose(0, 2, 1), s.by_q(dv), digits)
    assert_close(s.by_v(dv).transpose(0, 2, 1), s.by_v(dv), digits)
    curl = s.by_q(dq) - s.by_q(dq).transpose(0, 2, 1)
    assert_close(curl, np.einsum("il,ljk->ijk", dq.value, s.brackets), digits)
    # d(M^-1) = -M^-1 dM M^-1
    dM = s.by_q(s.inverse[2])
    wanted = -np.einsum("ia,abk,bj->ijk", M_inverse.value, dM, M_inverse.value, optimize=True)
    assert_close(s.by_q(M_inverse), wanted, digits)


@pytest.mark.parametrize("name", TREES)
def test_inertial_parameters(name: str) -> None:
    """Torques are linear in inertial parameters, with the regressor as the factor."""
    s = second(name)
    pi = s.tree.get_inertial_parameters()
    context = s.ad.create_default_context()
    s.ad.set_inertial_parameters(context, initialize(pi))
    context.q, context.v = s.q, s.v
    dq, dv, M = s.ad.calc_inverse_dynamics_derivatives(context, s.vdot, include_force_elements=True)
    plain = s.ad.create_default_context()
    plain.q, plain.v, vdot = initialize(s.q, s.v, s.vdot)
    Y = s.ad.calc_inverse_dynamics_regressor(plain, vdot)
    if s.tree.gravity_field is not None and any(
        not s.tree.gravity_field.is_enabled(i) for i in range(s.tree.num_model_instances)
    ):
        # The regressor always includes gravity.
        wanted = s.by_x(Y)
        assert_close(M.derivatives, wanted.transpose(0, 2, 1))
        return
    assert_close(dq.derivatives, s.by_q(Y).transpose(0, 2, 1))
    assert_close(dv.derivatives, s.by_v(Y).transpose(0, 2, 1))
    assert_close(M.derivatives, s.by_x(Y).transpose(0, 2, 1))


STEPS = 10.0 ** -np.arange(1.0, 4.5, 0.5)


def sweep(f: Callable[[float], Array]) -> Callable[[Array], float]:
    """Return the smallest error of a derivative against sixth-order differences, over several steps."""
    quotients = [richardson(f, h) for h in STEPS]
    return lambda derivative: min(float(np.max(np.abs(derivative - x), initial=0.0)) for x in quotients)


@pytest.mark.parametrize("name", [name for name in TREES if name not in ("deep", "everything", "wide")])
def test_differences_of_first_derivatives(name: str) -> None:
    """Along each coordinate, not only along all of them together."""
    s = second(name)
    context = s.tree.create_default_context()

    def inverse(q: Array, v: Array, x: Array) -> Array:
        context.q, context.v = q, v
        return np.stack(s.tree.calc_inverse_dynamics_derivatives(context, x, include_force_elements=True))

    def forward(q: Array, v: Array, x: Array) -> Array:
        context.q, context.v = q, v
        return np.stack(s.tree.calc_forward_dynamics_derivatives(context, x))

    for function, results, x in ((inverse, s.inverse, s.vdot), (forward, s.forward, s.tau)):
        value = function(s.q, s.v, x)
        assert_close(np.stack([r.value for r in results]), value, 1e-12)
        second_ = np.stack([r.derivatives for r in results])
        scale = 1.0 + max(np.max(np.abs(value), initial=0.0), np.max(np.abs(second_), initial=0.0))
        inputs = (s.q, s.v, x)
        directions = [(0, column) for column in s.N.T]
        directions += [(i, row) for i in (1, 2) for row in np.eye(s.nv)]
        seeds = np.concatenate(
            [second_[..., : s.nq] @ s.N, second_[..., s.nq : s.nq + s.nv], second_[..., s.nq + s.nv :]], -1
        )
        for j, (which, direction) in enumerate(directions):

            def along(
                t: float,
                which: int = which,
                direction: Array = direction,
                inputs: Any = inputs,
                function: Any = function,
            ) -> Array:
                moved = [a + t * direction if i == which else a for i, a in enumerate(inputs)]
                return function(*moved)

            assert sweep(along)(seeds[..., j]) < 1e-9 * scale


def test_second_derivatives_are_smooth() -> None:
    """Differences of both kernels agree, along a direction in which the mass matrix curves."""
    s = second("rpy_floating_reversed")
    context, moved = s.ad.create_default_context(), s.tree.create_default_context()
    qdot = s.N @ np.linspace(-1.0, 1.0, s.nv)

    def by_vdot(t: float) -> Array:
        context.q, context.v = s.q + t * qdot, s.v
        dq, _, _ = s.ad.calc_inverse_dynamics_derivatives(
            context, initialize(s.vdot), include_force_elements=True
        )
        return np.asarray(dq.derivatives.transpose(0, 2, 1))

    def by_q(t: float) -> Array:
        moved.q = s.q + t * qdot
        context.q = initialize(moved.q)
        dM: Array = s.ad.calc_mass_matrix(context).derivatives @ s.tree.make_velocity_to_qdot_map(moved)
        return dM

    rates = [richardson(f) for f in (by_vdot, by_q)]
    assert np.max(np.abs(rates[0])) > 0.1
    assert_close(rates[0], rates[1], 1e-9)
