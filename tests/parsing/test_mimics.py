"""Joints that mimic others become couplers of the tree, and keep coordinates of their own."""

import copy
import pickle
import re

import numpy as np
import pytest

import mbt
from mbt.errors import ModelWarning, ParseError
from support.urdf_texts import TWO_LINKS, joint, link, robot

# Joint k follows hinge, l follows k; m is independent.
CHAIN = robot(
    *TWO_LINKS,
    link("tip"),
    joint("k", "arm", "tip", inside='<mimic joint="hinge" multiplier="-2" offset="0.5"/>'),
    link("end"),
    joint(
        "l", "tip", "end", "prismatic", '<limit lower="-1" upper="1"/><mimic joint="k" multiplier="0.01"/>'
    ),
    link("last"),
    joint("m", "end", "last"),
)
RULES = [("k", "k", "hinge", -2.0, 0.5), ("l", "l", "k", 0.01, 0.0)]


def load(text: str = CHAIN, **options: object) -> mbt.MultibodyTree:
    with pytest.warns(ModelWarning, match="it keeps its own coordinate"):
        return mbt.load_model(text, **options)


def rules(tree: mbt.MultibodyTree, model_instance: int | None = None) -> list[tuple[object, ...]]:
    found = []
    for constraint in tree.constraints:
        assert isinstance(constraint, mbt.CouplerConstraint)
        ends = constraint.joint0, constraint.joint1
        if model_instance in (None, constraint.model_instance):
            assert {joint.model_instance for joint in ends} == {constraint.model_instance}
            names = (constraint.name, *(joint.name for joint in ends))
            found.append((*names, constraint.default_gear_ratio, constraint.default_offset))
    return found


def test_each_mimic_is_a_coupler_named_like_its_joint():
    tree = load()
    assert rules(tree) == RULES
    assert tree.num_positions == 4
    k = tree.get_constraint_by_name("k")
    assert k.joint0 is tree.get_joint_by_name("k")
    assert k.scoped_name == "bot::k"
    assert k.equation == "q(k) = -2 q(hinge) +0.5"
    mimics = tree.parse_reports[0].mimic_joints
    assert [(m.joint, m.joint, m.master, m.multiplier, m.offset) for m in mimics] == RULES


def test_the_order_of_the_file_does_not_matter():
    lines = CHAIN.splitlines()
    text = "\n".join([lines[0], *reversed(lines[1:-1]), lines[-1]])
    assert sorted(rules(load(text))) == RULES


def test_strict_and_floating_and_motors():
    assert rules(load(strict=True)) == RULES
    assert rules(load(base="floating")) == RULES
    tree = load(actuators="all")
    assert rules(tree) == RULES
    assert [actuator.name for actuator in tree.joint_actuators] == ["hinge", "k", "l", "m"]


def test_two_of_one_robot_in_a_tree():
    tree = mbt.MultibodyTree()
    with pytest.warns(ModelWarning, match="'left' was loaded"):
        left = mbt.parsing.add_model(tree, CHAIN, model_name="left")
    with pytest.warns(ModelWarning, match="'right' was loaded"):
        right = mbt.parsing.add_model(tree, CHAIN, model_name="right", parent=tree.bodies[-1])
    tree.finalize()
    assert rules(tree, left) == rules(tree, right) == RULES
    assert tree.get_constraint_by_name("k", right).joint1 is tree.get_joint_by_name("hinge", right)
    assert [len(instance.constraints) for instance in map(tree.get_model_instance, range(4))] == [0, 0, 2, 2]


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [("nobody", "it mimics 'nobody'"), ("l", "it mimics itself"), ("m2", "it mimics 'm2'")],
)
def test_a_mimic_that_cannot_be_makes_no_coupler(wrong, fault):
    text = CHAIN.replace('<mimic joint="k"', f'<mimic joint="{wrong}"')
    assert rules(load(text)) == RULES[:1]
    with pytest.raises(ParseError, match=fault):
        mbt.load_model(text, strict=True)


def test_nothing_is_added_when_a_model_cannot_be_read():
    tree = mbt.MultibodyTree()
    with pytest.raises(ParseError):
        mbt.parsing.add_model(tree, CHAIN.replace('multiplier="-2"', 'multiplier="two"'))
    assert tree.constraints == ()


@pytest.mark.parametrize(
    "copier",
    [
        lambda tree: pickle.loads(pickle.dumps(tree)),
        copy.deepcopy,
        lambda tree: tree.to_autodiff(),
        lambda tree: tree.to_symbolic(),
    ],
)
def test_copies_have_them(copier):
    assert rules(copier(load())) == RULES


def test_forward_dynamics_obeys_them():
    """Accelerations obey the couplings, and only coupled joints get constraint forces."""
    tree, free = load(), mbt.load_model(re.sub("<mimic [^>]*>", "", CHAIN))
    assert free.constraints == ()
    state = np.random.default_rng(1).standard_normal((3, 4))
    vdot = mbt.functional.forward_dynamics(tree, *state)
    hinge, k, slide, _ = vdot
    np.testing.assert_allclose([k, slide], [-2.0 * hinge, 0.01 * k], rtol=1e-9)
    # Forces J' lambda, and none on the independent joint.
    force = mbt.functional.inverse_dynamics(free, state[0], state[1], vdot) - state[2]
    J = np.array([[2.0, 1.0, 0.0, 0.0], [0.0, -0.01, 1.0, 0.0]])
    multipliers = np.linalg.lstsq(J.T, force, rcond=None)[0]
    assert np.abs(multipliers).min() > 1e-3
    np.testing.assert_allclose(J.T @ multipliers, force, atol=1e-8 * np.abs(force).max())
