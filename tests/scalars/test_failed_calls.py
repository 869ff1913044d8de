"""Failed calls in trees of other scalars change nothing, and the messages give advice."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import sympy  # type: ignore[import-untyped]

import mbt
from mbt.autodiff import constant, initialize
from support.build import build_tree
from support.declaring_elements import Boom
from support.random_trees import every_kind


def test_a_declared_parameter_is_not_set_when_the_context_cannot_hold_the_pose_of_a_frame() -> None:
    tree = mbt.MultibodyTree()
    crane = tree.add_body(mbt.RigidBody("crane", mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.5)))
    first, second = (tree.add_frame(Boom(name, crane)) for name in ("first", "second"))
    tree.finalize()
    ad = tree.to_autodiff()
    context: Any = ad.create_default_context()
    context.set_numeric_parameter(first.length, initialize([2.0, 0.0])[:1])
    with pytest.raises(mbt.ShapeError, match="derivatives"):
        context.set_numeric_parameter(second.length, initialize([3.0, 0.0, 0.0])[:1])
    assert context.get_numeric_parameter(second.length).value == [1.0]
    lengths = [ad.get_variant(boom).calc_pose_in_world(context)[0, 3] for boom in (first, second)]
    assert [float(length.value) for length in lengths] == [2.0, 1.0]


def test_of_several_outputs_none_is_written_when_one_cannot_hold_its_result() -> None:
    tree = build_tree(every_kind(3)).to_autodiff()
    nv = tree.num_velocities
    context: Any = tree.create_default_context()
    context.v, vdot = initialize(np.ones(nv), np.ones(nv))
    count = 2 * nv

    def zeros(*shape: int, count: int = count) -> Any:
        return constant(np.zeros(shape), count)

    matrices = zeros(nv, nv), zeros(nv, nv, count=1), zeros(nv, nv)
    with pytest.raises(mbt.ShapeError, match=r"out\[1\]: an array with 1 derivatives cannot hold"):
        tree.calc_inverse_dynamics_derivatives(context, vdot, out=matrices, include_force_elements=True)
    accelerations, forces, tau = zeros(tree.num_bodies, 6), zeros(tree.num_bodies, 6), zeros(nv)
    tau.value.flags.writeable = False
    with pytest.raises(mbt.ArgumentValueError, match="out: expected an array to write into"):
        tree.calc_inverse_dynamics(context, vdot, A_WB_array=accelerations, F_BMo_W_array=forces, out=tau)
    for array in (*matrices, accelerations, forces):
        assert not array.value.any()


@pytest.mark.parametrize("mass", [initialize(2.0), sympy.Symbol("m")], ids=["autodiff", "sympy"])
def test_inertias_of_other_scalars_are_refused_with_the_way_to_set_them(mass: Any) -> None:
    for make in (
        lambda: mbt.SpatialInertia(mass, [0, 0, 0], mbt.UnitInertia(1, 1, 1)),
        lambda: mbt.SpatialInertia(1.0, [0, 0, mass], mbt.UnitInertia(1, 1, 1)),
        lambda: mbt.SpatialInertia.solid_sphere_with_mass(1.0, mass),
        lambda: mbt.UnitInertia(mass, 1, 1),
    ):
        with pytest.raises(mbt.ArgumentTypeError, match=r"set_mass\(context, \.\.\.\)"):
            make()


@pytest.mark.parametrize("q", [initialize([0.5]), [sympy.Symbol("q")]], ids=["autodiff", "sympy"])
def test_a_tree_of_doubles_tells_which_trees_take_other_numbers(q: Any) -> None:
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -1])))
    tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    tree.finalize()
    with pytest.raises(mbt.ArgumentTypeError, match=r"^q: .*tree\.to_autodiff\(\)"):
        tree.create_default_context().q = q
    with pytest.raises(mbt.ArgumentTypeError, match=r"^q: .*tree\.to_autodiff\(\)"):
        mbt.functional.mass_matrix(tree, q)


class Pendulous(mbt.ForceElement):
    """Computes with NumPy, which cannot take the sine of a symbol."""

    def __init__(self, joint: mbt.RevoluteJoint) -> None:
        super().__init__(joint.model_instance)
        self.joint = joint

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        forces.generalized_forces[..., self.joint.velocity_start] -= np.sin(context.q)[0]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes before Python 3.11")
def test_an_element_without_a_function_for_objects_is_told_where_they_are() -> None:
    tree = mbt.MultibodyTree()
    rod = tree.add_body(mbt.RigidBody("rod", mbt.SpatialInertia.point_mass(2.0, [0, 0, -1])))
    pin = tree.add_joint(mbt.RevoluteJoint, "pin", tree.world_body, None, rod, None, axis=[0, 1, 0])
    tree.add_force_element(Pendulous(pin))
    tree.finalize()
    context: Any = tree.to_symbolic().create_default_context()
    context.q = [sympy.Symbol("q")]
    with pytest.raises(TypeError, match="no callable sin") as caught:
        context.tree.calc_forward_dynamics(context)
    assert any("context.tree.scalar_type" in note for note in getattr(caught.value, "__notes__", []))
