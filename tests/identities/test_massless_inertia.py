"""Rotational inertia without mass: in dynamics, in Contexts of every scalar, in batches."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import mbt
from support.build import build_tree, layout_of, tree_and_reference
from support.description import Array, Model
from support.quantities import QUANTITIES, State, assert_close, assert_same_quantity, random_state
from support.random_trees import random_model
from support.reference import Reference
from support.subject import Subject
from support.urdf_writer import to_urdf, urdf_model

# About one axis only: no body with mass has it.
ROTOR = np.diag([0.0, 0.35, 0.0])


def with_rotors(model: Model, which: tuple[int, ...]) -> Model:
    """The model with some bodies that have a rotational inertia, and no mass."""
    bodies = [
        replace(body, mass=0.0, com=np.zeros(3), I_BBcm_B=ROTOR + 0.1 * i * np.eye(3)) if i in which else body
        for i, body in enumerate(model.bodies)
    ]
    return replace(model, bodies=tuple(bodies))


MODEL = with_rotors(random_model(31, 7, kinds=("revolute", "weld")), (1, 3, 4))


def state_of(reference: Reference) -> State:
    return random_state(reference, np.random.default_rng(8))


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_tree_vs_reference(quantity: str) -> None:
    tree, reference = tree_and_reference(MODEL)
    assert_same_quantity(quantity, Subject(tree), reference, reference, state_of(reference))


@pytest.mark.oracle
def test_mass_matrix_of_pinocchio() -> None:
    pytest.importorskip("pinocchio", reason="needs the `oracle` extra")
    from support.pinocchio_peer import PinocchioPeer

    model = with_rotors(urdf_model(5, 6, ("revolute",), base="fixed", actuated=0.0), (1, 2, 5))
    tree = build_tree(model)
    q = np.random.default_rng(2).uniform(-2.0, 2.0, tree.num_positions)
    peer = PinocchioPeer(to_urdf(model, frozenset()), model, layout_of(tree))
    M = tree.calc_mass_matrix(Subject(tree).at(q))
    np.testing.assert_allclose(M, peer.mass_matrix(q), rtol=0, atol=1e-13 * np.abs(M).max())


@pytest.mark.parametrize("scalar", ["double", "autodiff", "fraction", "sympy"])
def test_a_context_of_every_scalar(scalar: str) -> None:
    """It is read back as set, alone and among the inertial parameters; setting a mass keeps it."""
    tree = build_tree(MODEL)
    if scalar != "double":
        tree = tree.clone_to_scalar(scalar)
    context = tree.create_default_context()
    rotor, body = (tree.get_body_by_name(MODEL.bodies[i].name) for i in (3, 0))
    J = ROTOR + 0.3 * np.eye(3)

    def values_of(array: Any) -> Array:
        return np.array(getattr(array, "value", array), dtype=np.float64)

    def inertia_of(element: mbt.RigidBody) -> Array:
        return values_of(element.calc_spatial_inertia_in_body_frame(context).calc_rotational_inertia())

    np.testing.assert_allclose(inertia_of(rotor), J, rtol=1e-15)
    body.set_spatial_inertia_in_body_frame(context, rotor.calc_spatial_inertia_in_body_frame(context))
    np.testing.assert_allclose(inertia_of(body), J, rtol=1e-15)
    pi = tree.get_inertial_parameters(context)
    own = pi[10 * (body.node_index - 1) :][:10]
    np.testing.assert_allclose(values_of(own), [0, 0, 0, 0, 0.3, 0, 0.65, 0, 0, 0.3], rtol=1e-15)
    body.set_mass(context, 2.0)
    np.testing.assert_allclose(inertia_of(body), J, rtol=1e-15)
    body.set_mass(context, 0.0)
    np.testing.assert_allclose(inertia_of(body), J, rtol=1e-15)
    rotor.set_spatial_inertia_in_body_frame(context, mbt.SpatialInertia.zero())
    assert not inertia_of(rotor).any()
    tree.set_inertial_parameters(context, pi)
    np.testing.assert_allclose(inertia_of(rotor), J, rtol=1e-15)


def test_samples_of_a_batch() -> None:
    """Some samples have mass, others only inertia: each equals a Context of its own."""
    tree = build_tree(MODEL)
    node = tree.get_body_by_name(MODEL.bodies[3].name).node_index
    contexts = [tree.create_default_context() for _ in range(3)]
    heavy = mbt.SpatialInertia.solid_box_with_mass(2.0, 0.1, 0.2, 0.3).shift([0.1, 0, 0])
    rotor = mbt.SpatialInertia.make_from_central_inertia(0.0, np.zeros(3), ROTOR)
    inertias = [heavy, rotor, heavy + rotor]
    batch = tree.create_default_context(batch_shape=3)
    body = tree.bodies[tree.topology.body[node]]
    for context, inertia in zip(contexts, inertias, strict=True):
        body.set_spatial_inertia_in_body_frame(context, inertia)
    body.set_spatial_inertia_in_body_frame(batch, inertias)
    desired = np.array([tree.calc_mass_matrix(context) for context in contexts])
    assert_close(tree.calc_mass_matrix(batch), desired, float(np.abs(desired).max()))
    read = body.calc_spatial_inertia_in_body_frame(batch)
    assert [read[i] for i in range(3)] == inertias
    others = [body, *(tree.get_body_by_name(MODEL.bodies[i].name) for i in (0, 1))]
    whole = tree.calc_spatial_inertia(batch, tree.world_frame, others)
    momentum = tree.calc_spatial_momentum_in_world_about_point(batch, np.zeros(3))
    for i, context in enumerate(contexts):
        one = tree.calc_spatial_inertia(context, tree.world_frame, others)
        np.testing.assert_allclose(whole[i].as_matrix6(), one.as_matrix6(), atol=1e-14)
        np.testing.assert_allclose(
            momentum[i], tree.calc_spatial_momentum_in_world_about_point(context, np.zeros(3)), atol=1e-14
        )
    pi = tree.get_inertial_parameters(batch)
    # In one parameter vector, mass and rotor make up one body, which is not physical.
    tree.set_inertial_parameters(batch, pi, skip_validity_check=True)
    np.testing.assert_allclose(tree.get_inertial_parameters(batch), pi, rtol=1e-15)
    pi[1, 10 * (node - 1) + 4] = -1.0
    with pytest.raises(mbt.InvalidInertiaError, match=r"sample \[1\].*smallest is negative"):
        tree.set_inertial_parameters(batch, pi)


def test_part_of_a_tree() -> None:
    """Bodies outside the set add neither mass nor rotational inertia."""
    tree = build_tree(MODEL)
    context = tree.create_default_context()
    rotor = tree.get_body_by_name(MODEL.bodies[4].name)
    one = tree.calc_spatial_inertia(context, rotor.body_frame, [rotor])
    assert one.mass == 0.0
    np.testing.assert_allclose(one.calc_rotational_inertia(), ROTOR + 0.4 * np.eye(3), atol=1e-15)
    everything = tree.calc_spatial_inertia(context, rotor.body_frame, list(tree.bodies)[1:])
    rest = tree.calc_spatial_inertia(
        context, rotor.body_frame, [b for b in tree.bodies[1:] if b is not rotor]
    )
    np.testing.assert_allclose((rest + one).as_matrix6(), everything.as_matrix6(), atol=1e-13)


def test_fractions_are_exact() -> None:
    tree = build_tree(MODEL).clone_to_scalar("fraction")
    body = tree.get_body_by_name(MODEL.bodies[3].name)
    context = tree.create_default_context()
    inertia = body.calc_spatial_inertia_in_body_frame(context).calc_rotational_inertia()
    assert inertia[1, 1] == Fraction(0.35 + 0.1 * 3)
