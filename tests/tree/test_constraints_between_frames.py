"""Balls, welds and rods between frames as data of a tree."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mbt

M_BBo_B = mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 0.2, 0.3)


@pytest.fixture
def tree() -> mbt.MultibodyTree:
    """Two pendulums side by side, the second one of the instance "right"."""
    tree = mbt.MultibodyTree()
    for instance in (None, tree.add_model_instance("right")):
        body = tree.add_body(mbt.RigidBody("pendulum", M_BBo_B, instance))
        tree.add_joint(mbt.RevoluteJoint, "hinge", tree.world_body, None, body, None, [0, 1, 0])
        tree.add_frame(mbt.FixedOffsetFrame("tip", body, mbt.math.make_pose([0, 0, -1])))
    return tree


def tips(tree: mbt.MultibodyTree) -> tuple[mbt.Frame, mbt.Frame]:
    return tree.get_frame_by_name("tip", 1), tree.get_frame_by_name("tip", 2)


def add_all(tree: mbt.MultibodyTree) -> tuple[Any, Any, Any]:
    A, B = tips(tree)
    return (
        tree.add_constraint(mbt.BallConstraint("ball", A, B)),
        tree.add_constraint(mbt.WeldConstraint, "weld", B, tree.world_body, stabilization=(5, 0.5)),
        tree.add_constraint(mbt.DistanceConstraint("rod", A, [1, 2, 3], B, [4, 5, 6], 2.5)),
    )


def values(constraint: Any) -> tuple[Any, ...]:
    return (
        type(constraint), constraint.name, constraint.model_instance, constraint.frame_A.index,
        constraint.frame_B.index, constraint.default_stabilization.tolist(), constraint.equation,
        constraint.first_equation, [getattr(constraint, f"default_{name}", None) is not None
                                    for name in ("distance", "p_AP", "p_BQ")],
        constraint._defaults.tolist(),
    )  # fmt: skip


def test_what_is_given_is_kept(tree: mbt.MultibodyTree) -> None:
    A, B = tips(tree)
    ball, weld, rod = add_all(tree)
    assert (ball.frame_A, ball.frame_B) == (rod.frame_A, rod.frame_B) == (A, B)
    assert (weld.frame_A, weld.frame_B) == (B, tree.world_frame)
    assert ball.default_stabilization.tolist() == [20.0, 1.0]
    assert weld.default_stabilization.tolist() == [5.0, 0.5]
    assert (rod.default_distance, rod.default_p_AP.tolist(), rod.default_p_BQ.tolist()) == (
        2.5, [1.0, 2.0, 3.0], [4.0, 5.0, 6.0],
    )  # fmt: skip
    # The instance of B, unless B is on World.
    assert [constraint.model_instance for constraint in tree.constraints] == [2, 2, 2]
    assert (ball.equation, weld.equation, rod.equation) == (
        "origins of tip and right::tip coincide",
        "tip and world coincide",
        "distance of points of tip and right::tip = 2.5",
    )
    assert "right::tip" in repr(ball)


def test_rows_are_in_index_order(tree: mbt.MultibodyTree) -> None:
    all_three = add_all(tree)
    assert [constraint.num_equations for constraint in all_three] == [3, 6, 1]
    assert [constraint.first_equation for constraint in all_three] == [0, 3, 9]
    assert tree.num_constraint_equations == 10
    with pytest.raises(mbt.MbtError, match="belongs to no tree"):
        _ = mbt.BallConstraint("ball", *tips(tree)).first_equation


@pytest.mark.parametrize("argument", ["frame_A", "frame_B"])
@pytest.mark.parametrize("value", [None, "tip", 3, mbt.Frame])
def test_frames_are_frames(tree: mbt.MultibodyTree, argument: str, value: object) -> None:
    frames: dict[str, Any] = {**dict(zip(("frame_A", "frame_B"), tips(tree), strict=True)), argument: value}
    for make in (
        mbt.BallConstraint,
        mbt.WeldConstraint,
        lambda name, frame_A, frame_B: mbt.DistanceConstraint(name, frame_A, [0] * 3, frame_B, [0] * 3, 1),
    ):
        with pytest.raises(mbt.ArgumentTypeError, match=f"constraint 'lock': {argument}: expected a Frame"):
            make("lock", **frames)


def test_frames_are_of_two_bodies(tree: mbt.MultibodyTree) -> None:
    with pytest.raises(mbt.ArgumentValueError, match="'lock': expected frames on two bodies"):
        mbt.WeldConstraint("lock", tips(tree)[0], tree.bodies[1])


@pytest.mark.parametrize(
    ("argument", "value", "error"),
    [
        ("distance", 0.0, mbt.ArgumentValueError),
        ("distance", -1.0, mbt.ArgumentValueError),
        ("distance", np.nan, mbt.ArgumentValueError),
        ("p_AP", [0, 0], mbt.ShapeError),
        ("p_BQ", [0, 0, np.inf], mbt.ArgumentValueError),
        ("stabilization", (-1.0, 1.0), mbt.ArgumentValueError),
        ("stabilization", (1.0, np.nan), mbt.ArgumentValueError),
        ("stabilization", 3.0, mbt.ShapeError),
        ("stabilization", "stiff", mbt.ArgumentTypeError),
    ],
)
def test_numbers_make_sense(
    tree: mbt.MultibodyTree, argument: str, value: object, error: type[Exception]
) -> None:
    A, B = tips(tree)
    arguments: dict[str, Any] = {"p_AP": [0] * 3, "p_BQ": [0] * 3, "distance": 1.0, argument: value}
    with pytest.raises(error, match=f"constraint 'rod': {argument}"):
        mbt.DistanceConstraint("rod", A, frame_B=B, **arguments)
    rod = tree.add_constraint(mbt.DistanceConstraint("rod", A, [0] * 3, B, [0] * 3, 1.0))
    before = values(rod)
    with pytest.raises(error, match=f"constraint 'rod': {argument}"):
        getattr(rod, f"set_default_{argument}")(value)
    assert values(rod) == before


def test_defaults_are_set_until_finalize(tree: mbt.MultibodyTree) -> None:
    _, _, rod = add_all(tree)
    rod.set_default_distance(3).set_default_p_AP([0, 0, 1]).set_default_p_BQ([0, 1, 0])
    rod.set_default_stabilization([7, 0])
    assert rod._defaults.tolist() == [7, 0, 3, 0, 0, 1, 0, 1, 0]
    tree.finalize()
    for name, value in (("distance", 1), ("p_AP", [0] * 3), ("p_BQ", [0] * 3), ("stabilization", [1, 1])):
        with pytest.raises(mbt.AlreadyFinalizedError, match="constants cannot change"):
            getattr(rod, f"set_default_{name}")(value)
    assert rod.default_distance == 3.0


COPIES: dict[str, Callable[[mbt.MultibodyTree], Any]] = {
    "clone": lambda tree: tree.clone(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda tree: pickle.loads(pickle.dumps(tree)),
    "autodiff": lambda tree: tree.to_autodiff(),
    "edit": lambda tree: tree.edit(),
    "json": lambda tree: mbt.load_model(mbt.save_model(tree, format="json")),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_have_them(tree: mbt.MultibodyTree, name: str) -> None:
    add_all(tree)
    tree.finalize()
    twin = COPIES[name](tree)
    assert list(map(values, twin.constraints)) == list(map(values, tree.constraints))
    assert all(constraint.frame_A.parent_tree is twin for constraint in twin.constraints)


def test_json_leaves_out_what_is_default(tree: mbt.MultibodyTree) -> None:
    import json

    add_all(tree)
    ball, weld, _ = json.loads(mbt.save_model(tree, format="json"))["constraints"]
    assert "stabilization" not in ball
    assert weld["stabilization"] == [5.0, 0.5]


def test_they_go_with_their_bodies(tree: mbt.MultibodyTree) -> None:
    add_all(tree)
    tree.finalize()
    work = tree.edit()
    with pytest.raises(mbt.ArgumentValueError, match=r"'tip' is needed by constraint .*ball.*rod"):
        work.remove(work.get_frame_by_name("tip", 1))
    gone = work.remove_subtree(work.get_body_by_name("pendulum", 1))
    assert {"tip", "ball", "rod"} < {element.name for element in gone}
    assert [constraint.name for constraint in work.constraints] == ["weld"]
    assert work.constraints[0].first_equation == 0


def test_locking_joints_keeps_them(tree: mbt.MultibodyTree) -> None:
    add_all(tree)
    tree.finalize()
    small = mbt.lock_joints(tree, [tree.joints[0]])
    assert list(map(values, small.constraints)) == list(map(values, tree.constraints))


def test_damaged_pickles_are_refused(tree: mbt.MultibodyTree) -> None:
    for attribute, value in (("_frame_A", None), ("_frame_B", 3), ("_defaults", np.zeros(5))):
        damaged = tree.clone()
        vars(add_all(damaged)[0])[attribute] = value
        with pytest.raises(mbt.ArgumentValueError, match=f"{attribute[1:]} of a BallConstraint is"):
            pickle.loads(pickle.dumps(damaged))
