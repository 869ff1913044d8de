"""Constraints as data of a tree: couplers of joints, looked up, copied, and listed by reports."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.tree.constraints import Constraint

M_BBo_B = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.3)
Z = [0, 0, 1]


@pytest.fixture
def tree() -> mbt.MultibodyTree:
    """Three fingers and a ball; the instances "left" and "right" have one more finger each."""
    tree = mbt.MultibodyTree()
    for instance in (None, tree.add_model_instance("left"), tree.add_model_instance("right")):
        for i in range(3 if instance is None else 1):
            body = tree.add_body(mbt.RigidBody(f"finger{i}", M_BBo_B, instance))
            tree.add_joint(mbt.RevoluteJoint, f"turn{i}", tree.world_body, None, body, None, Z)
    ball = tree.add_body(mbt.RigidBody("ball", M_BBo_B))
    tree.add_joint(mbt.QuaternionBallJoint, "ball", tree.world_body, None, ball, None)
    return tree


def couple(tree: mbt.MultibodyTree, i: int = 0, j: int = 1, *args: float, name: str = "gear") -> Any:
    return mbt.CouplerConstraint(name, tree.joints[i], tree.joints[j], *args)


class TestCoupler:
    def test_what_is_given_is_kept(self, tree: mbt.MultibodyTree) -> None:
        gear = couple(tree, 0, 1, -2, 0.5)
        assert (gear.joint0, gear.joint1) == tree.joints[:2]
        assert (gear.default_gear_ratio, gear.default_offset, gear.num_equations) == (-2.0, 0.5, 1)
        assert (gear.name, gear.model_instance) == ("gear", tree.joints[0].model_instance)
        assert gear.equation == "q(turn0) = -2 q(turn1) +0.5"
        assert gear.equation in repr(gear)

    def test_one_to_one_unless_given(self, tree: mbt.MultibodyTree) -> None:
        gear = couple(tree)
        assert (gear.default_gear_ratio, gear.default_offset) == (1.0, 0.0)

    def test_it_belongs_to_the_instance_of_the_joint_that_follows(self, tree: mbt.MultibodyTree) -> None:
        assert couple(tree, 3, 0).model_instance == tree.joints[3].model_instance == 2
        assert couple(tree, 0, 3).model_instance == tree.joints[0].model_instance == 1

    @pytest.mark.parametrize("argument", ["joint0", "joint1"])
    @pytest.mark.parametrize("value", [None, "turn1", 3, mbt.RevoluteJoint])
    def test_joints_are_joints(self, tree: mbt.MultibodyTree, argument: str, value: object) -> None:
        joints = {"joint0": tree.joints[0], "joint1": tree.joints[1], argument: value}
        with pytest.raises(mbt.ArgumentTypeError, match=f"constraint 'gear': {argument}: expected a"):
            mbt.CouplerConstraint("gear", **joints)  # type: ignore[arg-type]

    @pytest.mark.parametrize("argument", ["joint0", "joint1"])
    def test_joints_have_one_dof(self, tree: mbt.MultibodyTree, argument: str) -> None:
        joints = {"joint0": tree.joints[0], "joint1": tree.joints[1], argument: tree.joints[-1]}
        with pytest.raises(
            mbt.ArgumentValueError, match=rf"{argument}: expected a joint with one .* 'ball' \(.*\) has 3"
        ):
            mbt.CouplerConstraint("gear", **joints)

    def test_joints_are_two(self, tree: mbt.MultibodyTree) -> None:
        with pytest.raises(mbt.ArgumentValueError, match="joint1: expected a joint other than joint0"):
            couple(tree, 1, 1)

    @pytest.mark.parametrize(("place", "name"), [(0, "gear_ratio"), (1, "offset")])
    def test_numbers_are_finite(self, tree: mbt.MultibodyTree, place: int, name: str) -> None:
        numbers: list[Any] = [1.0, 0.0]
        for bad, error in ((np.nan, mbt.ArgumentValueError), (np.inf, mbt.ArgumentValueError)):
            numbers[place] = bad
            with pytest.raises(error, match=f"constraint 'gear': {name}"):
                couple(tree, 0, 1, *numbers)
        numbers[place] = "fast"
        with pytest.raises(mbt.ArgumentTypeError, match=f"constraint 'gear': {name}"):
            couple(tree, 0, 1, *numbers)

    @pytest.mark.parametrize("name", [None, 3, ""])
    def test_names_are_text(self, tree: mbt.MultibodyTree, name: Any) -> None:
        with pytest.raises((mbt.ArgumentTypeError, mbt.ArgumentValueError), match="CouplerConstraint: name"):
            couple(tree, name=name)

    def test_the_base_class_alone_is_none(self) -> None:
        with pytest.raises(TypeError, match="Constraint"):
            Constraint("gear", 1)  # type: ignore[abstract]


class TestAdding:
    def test_both_forms(self, tree: mbt.MultibodyTree) -> None:
        gear = couple(tree)
        assert tree.add_constraint(gear) is gear
        j = tree.joints
        belt = tree.add_constraint(mbt.CouplerConstraint, "belt", j[2], j[0], gear_ratio=3.0, offset=1)
        assert isinstance(belt, mbt.CouplerConstraint)
        assert (belt.default_gear_ratio, belt.default_offset) == (3.0, 1.0)
        assert tree.constraints == (gear, belt)
        assert (gear.index, belt.index) == (0, 1)
        assert tree.num_constraints == tree.num_constraint_equations == 2
        assert gear.parent_tree is tree

    def test_what_is_no_constraint(self, tree: mbt.MultibodyTree) -> None:
        for value in (None, "gear", tree.joints[0], mbt.RevoluteJoint):
            with pytest.raises(mbt.ArgumentTypeError, match="add_constraint"):
                tree.add_constraint(value)  # type: ignore[call-overload]
        assert tree.constraints == ()

    def test_only_once_and_of_one_name(self, tree: mbt.MultibodyTree) -> None:
        gear = tree.add_constraint(couple(tree))
        with pytest.raises(mbt.ForeignElementError, match="gear"):
            tree.add_constraint(gear)
        with pytest.raises(mbt.ArgumentValueError, match="'gear'"):
            tree.add_constraint(couple(tree, 1, 2))
        # Another model instance may have a constraint of this name.
        tree.add_constraint(couple(tree, 3, 4))
        assert [constraint.model_instance for constraint in tree.constraints] == [1, 2]

    def test_joints_are_of_this_tree(self, tree: mbt.MultibodyTree) -> None:
        other = mbt.MultibodyTree()
        body = other.add_body(mbt.RigidBody("finger0", M_BBo_B))
        alien = other.add_joint(mbt.RevoluteJoint, "turn0", other.world_body, None, body, None, Z)
        lone = mbt.RevoluteJoint("lone", tree.world_frame, tree.bodies[1].body_frame, Z)
        for joint in (alien, lone):
            for pair in ((joint, tree.joints[0]), (tree.joints[0], joint)):
                with pytest.raises(mbt.ForeignElementError, match=r"joint[01]"):
                    tree.add_constraint(mbt.CouplerConstraint("gear", *pair))
        assert tree.constraints == ()

    def test_not_after_finalize(self, tree: mbt.MultibodyTree) -> None:
        tree.finalize()
        with pytest.raises(mbt.AlreadyFinalizedError, match="add_constraint"):
            tree.add_constraint(couple(tree))


class TestLookUps:
    def test_by_name_and_index(self, tree: mbt.MultibodyTree) -> None:
        gear, left = tree.add_constraint(couple(tree)), tree.add_constraint(couple(tree, 3, 0, name="cable"))
        assert tree.get_constraint(0) is tree.get_constraint_by_name("gear") is gear
        assert tree.get_constraint_by_name("cable", left.model_instance) is left
        assert tree.has_constraint_named("cable")
        assert not tree.has_constraint_named("cable", gear.model_instance)
        assert left.scoped_name == "left::cable"

    def test_what_is_not_there(self, tree: mbt.MultibodyTree) -> None:
        tree.add_constraint(couple(tree))
        with pytest.raises(mbt.UnknownNameError, match="gear"):
            tree.get_constraint_by_name("gaer")
        with pytest.raises(mbt.ElementIndexError, match="constraint"):
            tree.get_constraint(1)

    def test_a_name_of_two_needs_its_instance(self, tree: mbt.MultibodyTree) -> None:
        tree.add_constraint(couple(tree, 3, 0))
        right = tree.add_constraint(couple(tree, 4, 0))
        with pytest.raises(mbt.MbtError, match="gear"):
            tree.get_constraint_by_name("gear")
        assert tree.get_constraint_by_name("gear", right.model_instance) is right

    def test_by_model_instance(self, tree: mbt.MultibodyTree) -> None:
        gear = tree.add_constraint(couple(tree))
        left = tree.add_constraint(couple(tree, 3, 0))
        instances = [tree.get_model_instance(i).constraints for i in range(tree.num_model_instances)]
        assert instances == [(), (gear,), (left,), ()]


COPIES: dict[str, Callable[[mbt.MultibodyTree], Any]] = {
    "clone": lambda tree: tree.clone(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda tree: pickle.loads(pickle.dumps(tree)),
    "double": lambda tree: tree.clone_to_scalar("double"),
    "autodiff": lambda tree: tree.to_autodiff(),
    "sympy": lambda tree: tree.to_symbolic(),
    "edit": lambda tree: tree.edit(),
}


@pytest.mark.parametrize("name", COPIES)
def test_all_copies_of_a_tree_have_them(tree: mbt.MultibodyTree, name: str) -> None:
    tree.add_constraint(couple(tree, 0, 1, -2, 0.5))
    tree.add_constraint(couple(tree, 4, 3, 3, name="cable"))
    tree.finalize()
    twin = COPIES[name](tree)
    assert [repr(constraint) for constraint in twin.constraints] == [repr(c) for c in tree.constraints]
    for constraint in twin.constraints:
        assert (
            constraint.parent_tree is constraint.joint0.parent_tree is constraint.joint1.parent_tree is twin
        )
        assert constraint.joint0 is twin.joints[constraint.joint0.index]


@pytest.mark.parametrize("name", ["clone", "autodiff", "sympy"])
def test_the_variant_of_a_clone(tree: mbt.MultibodyTree, name: str) -> None:
    gear = tree.add_constraint(couple(tree))
    tree.finalize()
    twin = COPIES[name](tree)
    assert twin.get_variant(gear) is twin.constraints[0]
    assert twin.get_variant(gear) is not gear


def test_pickles_of_a_constraint_bring_its_tree(tree: mbt.MultibodyTree) -> None:
    gear = tree.add_constraint(couple(tree, 0, 1, -2, 0.5))
    tree.finalize()
    twin = pickle.loads(pickle.dumps(gear))
    assert twin.parent_tree is not tree
    assert twin is twin.parent_tree.constraints[0]
    assert repr(twin) == repr(gear)


def test_damaged_pickles_are_refused(tree: mbt.MultibodyTree) -> None:
    for attribute, value in (
        ("_joint0", None),
        ("_joint1", -1),
        ("_joint1", 0),
        ("_defaults", "fast"),
        ("_defaults", np.zeros(3)),
    ):
        damaged = tree.clone()
        gear = damaged.add_constraint(couple(damaged))
        vars(gear)[attribute] = damaged.joints[value] if isinstance(value, int) else value
        with pytest.raises(mbt.ArgumentValueError, match=f"{attribute[1:]} of a CouplerConstraint is"):
            pickle.loads(pickle.dumps(damaged))


def test_forward_dynamics_obeys_them(tree: mbt.MultibodyTree) -> None:
    tree.add_constraint(couple(tree, 0, 1, -2, 0.5))
    tree.finalize()
    vdot = mbt.functional.forward_dynamics(tree, tree.default_positions, np.zeros(8), np.arange(1.0, 9.0))
    assert vdot[0] == pytest.approx(-2.0 * vdot[1])


def test_reports_tell_them(tree: mbt.MultibodyTree) -> None:
    assert "constraint" not in repr(tree)
    tree.add_constraint(couple(tree, 0, 1, -2, 0.5))
    assert "1 constraint, no gravity, not finalized" in repr(tree)
    tree.add_constraint(couple(tree, 3, 0))
    tree.finalize()
    assert "2 constraints" in repr(tree)
    lines = str(tree.finalize_report).splitlines()
    start = lines.index("Constraints, which forward dynamics obeys: 2")
    assert lines[start + 1 : start + 3] == [
        "  'gear': q(turn0) = -2 q(turn1) +0.5",
        "  'left::gear': q(left::turn0) = 1 q(turn0)",
    ]
    assert "2 q(turn1) +0.5" in tree.finalize_report._repr_html_()
