"""Families of trees: from an element of one to its counterpart in another, for all scalars."""

from __future__ import annotations

import copy
import pickle
import sys
from fractions import Fraction

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
import sympy  # type: ignore[import-untyped]

import mbt
from scalars.scalar_trees import SCALAR_NAMES
from support.declaring_elements import Boom, Spring, Telescope
from support.force_element_types import make_everything

KINDS = ("bodies", "frames", "joints", "mobilizers", "force_elements", "joint_actuators")


@pytest.mark.parametrize("scalar", ["double", *SCALAR_NAMES])
def test_elements_of_every_kind(scalar: str) -> None:
    tree = make_everything()
    twin = tree.clone_to_scalar(scalar)
    assert twin.scalar_type.name == scalar
    assert tree.scalar_type.name == "double"
    for kind in KINDS:
        for element, variant in zip(getattr(tree, kind), getattr(twin, kind), strict=True):
            assert twin.get_variant(element) is variant
            assert tree.get_variant(variant) is element
            assert type(variant) is type(element)
            assert variant.name == element.name
            assert variant.parent_tree is twin


def test_clones_share_the_topology() -> None:
    tree = make_everything()
    ad = tree.to_autodiff()
    clones = (ad, tree.clone(), ad.clone(), copy.deepcopy(ad), ad.to_symbolic(), ad.clone_to_scalar("double"))
    assert all(twin.topology is tree.topology for twin in clones)
    assert pickle.loads(pickle.dumps(ad)).topology == tree.topology


def test_clones_share_the_compiled_model() -> None:
    tree = make_everything(user_written=False)
    ad = tree.to_autodiff()
    assert ad._compiled is tree._compiled is ad.clone_to_scalar("mpmath")._compiled


@pytest.mark.parametrize("scalar", SCALAR_NAMES)
def test_what_a_tree_tells_without_a_context(scalar: str) -> None:
    tree = make_everything()
    twin = tree.clone_to_scalar(scalar)
    for name in dir(tree):
        wanted = getattr(tree, name)
        if not name.startswith("_") and isinstance(wanted, (int, tuple, str, np.ndarray)):
            got = getattr(twin, name)
            if isinstance(wanted, np.ndarray):
                np.testing.assert_array_equal(got, wanted)
            else:
                assert np.size(got) == np.size(wanted)
    # The representation of the tree tells the scalar.
    suffix = f", in {scalar}>"
    assert str(twin.finalize_report).replace(suffix, ">") == str(tree.finalize_report)
    assert twin.finalize_report._repr_html_().count("<tr>") == tree.finalize_report._repr_html_().count(
        "<tr>"
    )
    q = tree.default_positions
    for key, value in tree.dict_from_q(q).items():
        np.testing.assert_allclose(np.asarray(values_of(twin.dict_from_q(q)[key]), float), value)


def values_of(numbers: object) -> object:
    return numbers.value if isinstance(numbers, mbt.autodiff.AutoDiffArray) else numbers


def test_massless_branches_are_of_the_clone() -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.PrismaticJoint, "slide", tree.world_body, None, body, None, axis=[1, 0, 0])
    tree.finalize()
    ad = tree.to_autodiff()
    (branch,) = ad.finalize_report.massless_branches
    assert branch.mobilizer is ad.mobilizers[0]
    assert branch.bodies == (ad.bodies[1],)
    assert str(branch) == str(tree.finalize_report.massless_branches[0])


def test_a_tree_that_is_not_finalized_is_refused() -> None:
    tree = mbt.MultibodyTree()
    for clone in (tree.to_autodiff, tree.to_symbolic, lambda: tree.clone_to_scalar("mpmath")):
        with pytest.raises(mbt.NotFinalizedError):
            clone()


def test_unrelated_trees_are_refused() -> None:
    tree, other = make_everything().to_autodiff(), make_everything()
    with pytest.raises(mbt.ForeignElementError):
        tree.get_variant(other.bodies[1])
    with pytest.raises(mbt.ContextMismatchError):
        tree.calc_mass_matrix(other.create_default_context())
    with pytest.raises(mbt.ContextMismatchError):
        other.calc_mass_matrix(tree.create_default_context())


def test_elements_and_contexts_of_a_clone_are_called_so() -> None:
    tree = make_everything()
    ad = tree.to_autodiff()
    own, of_clone = tree.create_default_context(), ad.create_default_context()
    with pytest.raises(mbt.ContextMismatchError, match="this tree, got one of a clone of it in 'autodiff'"):
        tree.calc_mass_matrix(of_clone)
    with pytest.raises(mbt.ContextMismatchError, match=r"body .*, got one of a clone of it in 'double'"):
        ad.bodies[1].set_mass(own, 1.0)
    frame, world = tree.bodies[1].body_frame, ad.world_frame
    with pytest.raises(mbt.ForeignElementError, match=r"of a clone of it in 'double'; get_variant\(\)"):
        ad.calc_relative_transform(of_clone, world, frame)
    with pytest.raises(mbt.ForeignElementError, match=r"body_indexes: .* in 'double'; get_variant\(\)"):
        ad.calc_spatial_inertia(of_clone, world, [tree.bodies[1]])
    other = make_everything()
    with pytest.raises(mbt.ForeignElementError, match=r"of another tree$"):
        ad.calc_relative_transform(of_clone, world, other.bodies[1].body_frame)


def test_derivatives_are_refused_by_a_tree_of_doubles() -> None:
    tree = make_everything()
    q = mbt.autodiff.initialize(tree.default_positions)
    with pytest.raises(mbt.ArgumentTypeError, match=r"^q: .*AutoDiffArray.* tree.to_autodiff\(\)"):
        tree.create_default_context().q = q
    with pytest.raises(mbt.ArgumentTypeError, match=r"^q: .*AutoDiffArray.* tree.to_autodiff\(\)"):
        mbt.functional.mass_matrix(tree, q)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mbt.symbolic.scalar_type._known", {})
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(mbt.MissingPackageError, match="scalar: 'jax' needs its package: pip install jax"):
        make_everything().clone_to_scalar("jax")


def test_unknown_scalars_are_refused() -> None:
    tree = make_everything()
    with pytest.raises(mbt.UnknownNameError, match="sympy"):
        tree.clone_to_scalar("sumpy")
    with pytest.raises(mbt.ArgumentTypeError):
        tree.clone_to_scalar(float)  # type: ignore[arg-type]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_copies_keep_their_scalar(copied: object) -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.3)))
    joint = tree.add_joint(mbt.RevoluteJoint, "joint", tree.world_body, None, body, None, axis=[0, 0, 1])
    tree.add_force_element(Spring(joint))
    tree.add_frame(Telescope("telescope", body))
    tree.finalize()
    ad = tree.to_autodiff()
    twin = copied(ad)  # type: ignore[operator]
    assert twin.scalar_type is ad.scalar_type
    results = []
    for t in (ad, twin):
        context = t.create_default_context()
        context.q = mbt.autodiff.initialize([0.7])
        results.append(t.calc_forward_dynamics(context))
    np.testing.assert_array_equal(results[0].value, results[1].value)
    np.testing.assert_array_equal(results[0].derivatives, results[1].derivatives)
    assert results[0].derivatives[0, 0] == pytest.approx(
        -3.0 / results[0].value[0] * results[0].value[0] / (2.0 * 0.4 * 0.09)
    )


@pytest.mark.parametrize("scalar", ["autodiff", "sympy"])
def test_a_context_of_a_clone_is_one_of_its_scalar(scalar: str) -> None:
    twin = make_everything().clone_to_scalar(scalar)
    context = mbt.Context(twin)
    assert type(context) is type(twin.create_default_context())
    assert twin.calc_mass_matrix(context).shape == (twin.num_velocities,) * 2


@pytest.mark.parametrize(
    ("scalar", "kind"), [("fraction", Fraction), ("mpmath", mpmath.mpf), ("sympy", sympy.Rational)]
)
def test_what_elements_declare_begins_in_numbers_of_the_scalar(scalar: str, kind: type) -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)))
    boom = tree.add_frame(Boom("boom", body))
    tree.finalize()
    twin = tree.clone_to_scalar(scalar)
    variant = twin.get_variant(boom)
    context = mbt.Context(twin)
    (length,) = context.get_numeric_parameter(variant.length)
    assert isinstance(length, kind)
    for value in (length, 2 * length):
        context.set_numeric_parameter(variant.length, [value])
        x = variant.calc_pose_in_world(context)[0, 3]
        assert isinstance(x, kind)
        assert x == value


def test_contexts_are_copied() -> None:
    ad = make_everything(user_written=False).to_autodiff()
    context = ad.create_default_context()
    context.v = mbt.autodiff.initialize(np.linspace(0.1, 1.0, ad.num_velocities))
    context.applied_forces.generalized_forces[0] += context.v[0]
    wanted = ad.calc_forward_dynamics(context)
    for twin in (context.clone(), copy.copy(context), pickle.loads(pickle.dumps(context))):
        got = twin.tree.calc_forward_dynamics(twin)
        np.testing.assert_array_equal(got.derivatives, wanted.derivatives)
    ad.set_default_context(context)
    assert context.v.num_derivatives == 0
    assert not context.v.value.any()
