"""Shapes: plain data that never changes, on the bodies of a tree and of all its copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.math import make_pose
from mbt.tree.shape import _PICKLED

SIZES = {
    "box": (1.0, 2.0, 3.0),
    "sphere": (0.5,),
    "cylinder": (0.1, 2.0),
    "capsule": (0.1, 2.0),
    "ellipsoid": (1.0, 2.0, 3.0),
    "plane": (),
    "mesh": (1.0, -2.0, 0.001),
}
POSE = make_pose([1, 2, 3], rpy=[0.1, 0.2, 0.3])


def make_shape(kind: str = "box", **changes: Any) -> mbt.Shape:
    arguments: dict[str, Any] = {
        "size": SIZES[kind],
        "X_BG": POSE,
        "name": "hull",
        "color": [1, 0.5, 0, 1],
        "mesh": "a.stl" if kind == "mesh" else None,
        "folder": "/robots",
    }
    return mbt.Shape(kind, **{**arguments, **changes})


def make_tree() -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_body(mbt.RigidBody("bare", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    link.add_visual(make_shape()).add_visual(make_shape("mesh")).add_collision(make_shape("sphere"))
    tree.world_body.add_visual(mbt.Shape("plane"))
    tree.finalize()
    return tree


def shapes_of(tree: mbt.MultibodyTree) -> list[tuple[Any, Any]]:
    return [(body.visuals, body.collisions) for body in tree.bodies]


@pytest.mark.parametrize("kind", SIZES)
def test_what_is_given_is_kept(kind: str) -> None:
    shape = make_shape(kind)
    assert (shape.kind, shape.size, shape.name) == (kind, SIZES[kind], "hull")
    assert (shape.color, shape.folder) == ((1.0, 0.5, 0.0, 1.0), "/robots")
    assert shape.mesh == ("a.stl" if kind == "mesh" else None)
    np.testing.assert_array_equal(shape.X_BG, POSE)
    assert kind in repr(shape)
    assert "hull" in repr(shape)


def test_what_is_not_given() -> None:
    plane, mesh = mbt.Shape("plane"), mbt.Shape("mesh", mesh="a.stl")
    assert (plane.size, mesh.size) == ((), (1.0, 1.0, 1.0))
    for shape in (plane, mesh):
        np.testing.assert_array_equal(shape.X_BG, np.eye(4))
        assert (shape.name, shape.color, shape.folder) == ("", None, None)


@pytest.mark.parametrize(
    ("kind", "changes", "error", "message"),
    [
        ("torus", {"size": ()}, mbt.ArgumentValueError, "kind: expected one of box, .*, got 'torus'"),
        (3, {"size": ()}, mbt.ArgumentValueError, "kind: expected one of box"),
        ("box", {"size": [1, 2]}, mbt.ShapeError, "size of a box"),
        ("box", {"size": None}, mbt.ShapeError, "size of a box"),
        ("box", {"size": "long"}, mbt.ArgumentTypeError, "size of a box"),
        ("box", {"size": [1, 2, np.nan]}, mbt.ArgumentValueError, "size of a box"),
        ("box", {"size": [1, 2, -3]}, mbt.ArgumentValueError, "a box cannot have length along z = -3"),
        ("sphere", {"size": [-1]}, mbt.ArgumentValueError, "a sphere cannot have radius = -1"),
        ("plane", {"size": [1]}, mbt.ShapeError, "size of a plane"),
        ("mesh", {"size": [1, 0, 1]}, mbt.ArgumentValueError, "a mesh cannot have scale along y = 0"),
        (
            "mesh",
            {"mesh": None},
            mbt.ArgumentValueError,
            "mesh: a mesh needs the path or address of its file",
        ),
        ("box", {"mesh": "a.stl"}, mbt.ArgumentValueError, "mesh: a box has no mesh"),
        ("mesh", {"mesh": 3}, mbt.ArgumentTypeError, "mesh: expected text, got int"),
        ("box", {"name": None}, mbt.ArgumentTypeError, "name: expected text, got NoneType"),
        ("box", {"folder": 3}, mbt.ArgumentTypeError, "folder: expected text, got int"),
        ("box", {"X_BG": np.zeros((4, 4))}, mbt.ArgumentValueError, "X_BG"),
        ("box", {"X_BG": np.eye(3)}, mbt.ShapeError, "X_BG"),
        ("box", {"color": [1, 1, 1]}, mbt.ShapeError, "color"),
        ("box", {"color": [1, 1, 1, 2]}, mbt.ArgumentValueError, "color: expected numbers from 0 to 1"),
        ("box", {"color": [1, 1, -1, 1]}, mbt.ArgumentValueError, "color: expected numbers from 0 to 1"),
        ("box", {"color": [1, 1, np.nan, 1]}, mbt.ArgumentValueError, "color"),
    ],
)
def test_what_makes_no_sense_is_refused(
    kind: Any, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    arguments = {"size": SIZES.get(kind), "mesh": "a.stl" if kind == "mesh" else None, **changes}
    with pytest.raises(error, match=message) as caught:
        mbt.Shape(kind, **arguments)
    assert isinstance(caught.value, mbt.MbtError)
    assert str(caught.value).startswith("Shape: ")


def test_a_shape_never_changes() -> None:
    pose, size, color = POSE.copy(), np.ones(3), np.ones(4)
    shape = make_shape(X_BG=pose, size=size, color=color)
    before, number = copy.deepcopy(shape.__reduce__()), hash(shape)
    pose[:] = size[:] = color[:] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        shape.X_BG[0, 3] = 1.0
    for name in (*mbt.Shape.__slots__, "extra"):
        with pytest.raises(AttributeError, match="never changes"):
            setattr(shape, name, None)
        with pytest.raises(AttributeError, match="never changes"):
            delattr(shape, name)
    assert repr(shape.__reduce__()) == repr(before)
    assert hash(shape) == number


CHANGES: dict[str, Any] = {
    "kind": "ellipsoid",
    "size": [1, 2, 4],
    "X_BG": np.eye(4),
    "name": "other",
    "color": None,
    "mesh": "b.stl",
    "folder": None,
}


@pytest.mark.parametrize("changed", CHANGES)
def test_equal_shapes_are_equal_in_everything(changed: str) -> None:
    kind = "mesh" if changed == "mesh" else "box"
    shape, same = make_shape(kind), make_shape(kind)
    assert shape == same
    assert hash(shape) == hash(same)
    change = {changed: CHANGES[changed]}
    other = make_shape(change.pop("kind", kind), **change)
    assert shape != other
    assert len({shape, same, other}) == 2
    assert shape != "box"


def test_copies_are_the_shape_itself_and_pickles_equal_it() -> None:
    for kind in SIZES:
        shape = make_shape(kind)
        assert copy.copy(shape) is shape
        assert copy.deepcopy([shape])[0] is shape
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            twin = pickle.loads(pickle.dumps(shape, protocol))
            assert twin == shape
            assert not twin.X_BG.flags.writeable


def test_a_damaged_pickle_is_refused() -> None:
    make, arguments = make_shape().__reduce__()
    names = _PICKLED
    for name, value in (("kind", "torus"), ("size", (np.nan,) * 3), ("X_BG", np.ones((4, 4))), ("mesh", "a")):
        damaged = [
            value if slot == name else argument for slot, argument in zip(names, arguments, strict=True)
        ]
        with pytest.raises(mbt.MbtError, match="Shape: "):
            make(*damaged)


def test_bodies_have_shapes_in_order() -> None:
    world, link, bare = make_tree().bodies
    assert link.visuals == (make_shape(), make_shape("mesh"))
    assert link.collisions == (make_shape("sphere"),)
    assert (bare.visuals, bare.collisions) == ((), ())
    assert (world.visuals, world.collisions) == ((mbt.Shape("plane"),), ())


@pytest.mark.parametrize("add", ["add_visual", "add_collision"])
def test_adding_is_checked(add: str) -> None:
    body = mbt.RigidBody("link", mbt.SpatialInertia.zero())
    for value in (None, "box", POSE, mbt.Shape):
        with pytest.raises(mbt.ArgumentTypeError, match=r"body 'link': shape: expected an mbt\.Shape"):
            getattr(body, add)(value)
    assert (body.visuals, body.collisions) == ((), ())
    assert getattr(body, add)(mbt.Shape("plane")) is body
    finalized = make_tree()
    before = shapes_of(finalized)
    with pytest.raises(mbt.AlreadyFinalizedError, match="its shapes"):
        getattr(finalized.bodies[1], add)(mbt.Shape("plane"))
    assert shapes_of(finalized) == before


@pytest.mark.parametrize(
    "copier",
    [
        lambda tree: tree.clone(),
        copy.copy,
        copy.deepcopy,
        lambda tree: pickle.loads(pickle.dumps(tree)),
        lambda tree: tree.to_autodiff(),
        lambda tree: tree.to_symbolic(),
        lambda tree: tree.edit(),
    ],
)
def test_all_copies_of_a_tree_have_them(copier: Any) -> None:
    tree = make_tree()
    twin = copier(tree)
    assert twin.bodies[1] is not tree.bodies[1]
    assert shapes_of(twin) == shapes_of(tree)


def test_another_body_like_this_one_has_them() -> None:
    body = mbt.RigidBody("link", mbt.SpatialInertia.zero())
    body.add_visual(make_shape()).add_collision(make_shape("sphere"))
    twin = copy.copy(body)
    twin.add_visual(make_shape("mesh"))
    assert body.visuals == (make_shape(),)
    assert (twin.visuals, twin.collisions) == ((make_shape(), make_shape("mesh")), body.collisions)


def test_nothing_is_computed_with_them() -> None:
    tree, bare = make_tree(), mbt.MultibodyTree()
    for body in tree.bodies[1:]:
        bare.add_body(mbt.RigidBody(body.name, body.default_spatial_inertia))
    bare.finalize()
    q = np.random.default_rng(1).standard_normal(tree.num_positions)
    M = mbt.functional.mass_matrix(tree, q)
    np.testing.assert_array_equal(M, mbt.functional.mass_matrix(bare, q))
