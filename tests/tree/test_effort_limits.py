"""Effort limits: of joints, and of the rows of a tree."""

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import mbt

Z = [0.0, 0.0, 1.0]
PATH = mbt.math.PiecewiseConstantCurvatureTrajectory([0.0, 1.0], [0.5], [1, 0, 0], Z, [0, 0, 0])


def add_link(tree: mbt.MultibodyTree, name: str) -> mbt.RigidBody:
    return tree.add_body(mbt.RigidBody(name, mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))


def make_hinge(**kwargs: Any) -> mbt.RevoluteJoint:
    tree = mbt.MultibodyTree()
    link = add_link(tree, "link")
    return tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, link, None, Z, **kwargs)


class TestOfJoints:
    @pytest.mark.parametrize(
        ("joint_type", "args"),
        [
            (mbt.RevoluteJoint, (Z,)),
            (mbt.PrismaticJoint, (Z,)),
            (mbt.ScrewJoint, (Z, 0.1)),
            (mbt.CurvilinearJoint, (PATH,)),
        ],
    )
    def test_the_keyword_of_joints_with_one_degree_of_freedom(
        self, joint_type: Any, args: tuple[Any, ...]
    ) -> None:
        tree = mbt.MultibodyTree()
        ends = (tree.world_body, None, add_link(tree, "a"), None)
        limited = tree.add_joint(joint_type, "limited", *ends, *args, effort_limit=7)
        free = tree.add_joint(joint_type, "free", *ends[:2], add_link(tree, "b"), None, *args)
        assert (limited.effort_limit, free.effort_limit) == (7.0, math.inf)
        assert type(limited.effort_limit) is float

    @pytest.mark.parametrize(
        ("joint_type", "args"),
        [(mbt.WeldJoint, ()), (mbt.BallRpyJoint, ()), (mbt.QuaternionFloatingJoint, ())],
    )
    def test_others_have_none(self, joint_type: Any, args: tuple[Any, ...]) -> None:
        tree = mbt.MultibodyTree()
        joint = tree.add_joint(joint_type, "j", tree.world_body, None, add_link(tree, "a"), None, *args)
        with pytest.raises(mbt.ArgumentValueError, match=r"joint 'j': .* one degree of freedom"):
            joint.set_effort_limit(0)
        assert joint.effort_limit == math.inf

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
    def test_copies_keep_it(self, copied: Callable[[mbt.MultibodyTree], mbt.MultibodyTree]) -> None:
        tree = make_hinge(effort_limit=3.5).parent_tree
        assert copied(tree).joints[0].effort_limit == 3.5
        tree.finalize()
        for twin in (copied(tree), tree.clone(), tree.to_autodiff()):
            assert twin.joints[0].effort_limit == 3.5

    @pytest.mark.parametrize(
        ("limit", "error", "text"),
        [
            (-1.0, mbt.ArgumentValueError, "expected a number >= 0, got -1.0"),
            (math.nan, mbt.ArgumentValueError, "expected a number >= 0, got nan"),
            ("much", mbt.ArgumentTypeError, "expected real numbers"),
        ],
    )
    def test_what_is_no_limit(self, limit: Any, error: type[Exception], text: str) -> None:
        with pytest.raises(error, match=f"joint 'hinge': effort_limit: {text}"):
            make_hinge(effort_limit=limit)
        hinge = make_hinge(effort_limit=2.0)
        with pytest.raises(error, match=f"joint 'hinge': effort_limit: {text}"):
            hinge.set_effort_limit(limit)
        assert hinge.effort_limit == 2.0

    def test_before_finalize_only(self) -> None:
        hinge = make_hinge(effort_limit=2.0)
        hinge.parent_tree.finalize()
        with pytest.raises(mbt.AlreadyFinalizedError, match=r"joint 'hinge'.*effort limit"):
            hinge.set_effort_limit(3.0)
        with pytest.raises(AttributeError):
            hinge.effort_limit = 3.0  # type: ignore[misc]
        assert hinge.effort_limit == 2.0
