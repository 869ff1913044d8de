"""Pairs of a model, its queries, and its refusals."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import mbt
from mbt import functional
from mbt.models import model_path
from support.random_trees import random_pose

BODY = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
WALL = mbt.Shape("box", [0.2, 4.0, 4.0], mbt.math.make_pose([1.2, 0, 0]), name="wall")
FLOOR = mbt.Shape("plane", [], mbt.math.make_pose([0, 0, -0.3]))


def arm(num_links: int = 4) -> mbt.MultibodyTree:
    """A base welded to World, and a chain of hinges with a capsule on each link."""
    tree = mbt.MultibodyTree()
    base = tree.add_body(mbt.RigidBody("base", BODY)).add_collision(mbt.Shape("box", [0.3, 0.3, 0.2]))
    tree.add_joint(mbt.WeldJoint, "foot", tree.world_body, None, base, None)
    capsule = mbt.Shape("capsule", [0.05, 0.3], mbt.math.make_pose([0, 0, 0.25]))
    inboard = base
    for i in range(1, num_links + 1):
        link = tree.add_body(mbt.RigidBody(f"link{i}", BODY)).add_collision(capsule)
        X = mbt.math.make_pose([0, 0, 0.1 if i == 1 else 0.5], rpy=[0.3 * i, 0, 0])
        tree.add_joint(mbt.RevoluteJoint, f"j{i}", inboard, X, link, None, axis=[0, 1, 0])
        inboard = link
    pad = tree.add_body(mbt.RigidBody("pad", BODY)).add_collision(mbt.Shape("sphere", [0.06]))
    tree.add_joint(mbt.WeldJoint, "glue", inboard, mbt.math.make_pose([0, 0, 0.6]), pad, None)
    tree.finalize()
    return tree


def test_pairs_move_against_each_other_and_are_not_adjacent() -> None:
    tree = arm(3)
    assert mbt.CollisionModel(tree).pairs == (
        ("base", "link2"), ("base", "link3"), ("link1", "link3"), ("base", "pad"), ("link1", "pad"),
    )  # fmt: skip
    everything = mbt.CollisionModel(tree, "all").pairs
    # Welded: link3 and pad.
    assert len(everything) == 5 * 4 // 2 - 1
    scene = mbt.CollisionModel(tree, obstacles=[WALL, FLOOR])
    assert scene.num_pairs == len(scene.pairs) == 5 + 2 * 4
    # The base never moves: no pairs with obstacles.
    assert ("base", "wall") not in scene.pairs
    assert ("link1", "wall") in scene.pairs
    assert ("pad", "obstacle[1]") in scene.pairs
    assert repr(scene) == "<CollisionModel: 7 shapes, 13 pairs>"
    assert scene.tree is tree


def test_what_a_joint_of_several_axes_connects_is_adjacent() -> None:
    tree = mbt.MultibodyTree()
    inertia = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)
    inboard = None
    for name in ("trunk", "hip1", "hip2", "thigh", "ankle", "foot"):
        # Of the bodies between joint axes, only the ankle has mass.
        is_part = name.startswith("hip")
        body = tree.add_body(mbt.RigidBody(name, mbt.SpatialInertia.zero() if is_part else inertia))
        if not is_part and name != "ankle":
            body.add_collision(mbt.Shape("sphere", [0.2]))
        if inboard is not None:
            tree.add_joint(mbt.RevoluteJoint, f"to {name}", inboard, None, body, None, axis=[1, 0, 0])
        inboard = body
    tree.finalize()
    assert mbt.CollisionModel(tree).pairs == (("trunk", "foot"), ("thigh", "foot"))
    assert len(mbt.CollisionModel(tree, "all").pairs) == 3


def test_a_joint_on_world_itself_makes_nothing_adjacent() -> None:
    """Floating boxes are paired with the floor on World, a table welded to it, and each other."""
    tree = mbt.MultibodyTree()
    tree.world_body.add_collision(FLOOR)
    table = tree.add_body(mbt.RigidBody("table", BODY)).add_collision(mbt.Shape("box", [1, 1, 0.1]))
    tree.add_joint(mbt.WeldJoint, "w", tree.world_body, None, table, None)
    for name in ("one", "two"):
        tree.add_body(mbt.RigidBody(name, BODY)).add_collision(mbt.Shape("sphere", [0.1]))
    tree.finalize()
    world = tree.world_body.name
    assert set(mbt.CollisionModel(tree).pairs) == {
        (world, "one"), (world, "two"), ("table", "one"), ("table", "two"), ("one", "two"),
    }  # fmt: skip


def test_pairs_are_chosen_and_left_out_by_name() -> None:
    tree = arm(3)
    scene = mbt.CollisionModel(
        tree, [("link1", "link2"), (tree.get_body_by_name("pad"), "wall")], obstacles=[WALL]
    )
    assert scene.pairs == (("link1", "link2"), ("pad", "wall"))
    scene = mbt.CollisionModel(
        tree,
        obstacles=[WALL],
        exclude=[("base", "link2"), ("wall", "pad"), (tree.get_body_by_name("link1"), "pad")],
    )
    assert not {("base", "link2"), ("pad", "wall"), ("link1", "pad")} & set(scene.pairs)
    assert len(scene.pairs) == 5 + 4 - 3


def test_several_shapes_of_a_body_have_names() -> None:
    tree = mbt.MultibodyTree()
    hand = tree.add_body(mbt.RigidBody("hand", BODY))
    for name in ("thumb", "", "pad", "pad"):
        hand.add_collision(mbt.Shape("sphere", [0.01], name=name))
    tree.finalize()
    names = [a for a, _ in mbt.CollisionModel(tree, obstacles=[WALL]).pairs]
    assert names == ["hand/thumb", "hand[1]", "hand[2]", "hand[3]"]


SRDF = """<robot name="arm"><group name="g"/>
  <disable_collisions link1="base" link2="link2" reason="Never"/>
  <disable_collisions link1="pad" link2="link1" reason="User"/>
  <disable_collisions link1="pad" link2="camera" reason="User"/>
</robot>"""
MJCF = """<mujoco><contact><exclude body1="base" body2="link2"/><exclude name="x" body1="link1" body2="pad"/>
  <pair geom1="a" geom2="b"/></contact></mujoco>"""


@pytest.mark.parametrize("text", [SRDF, MJCF], ids=["srdf", "mjcf"])
def test_files_take_pairs_out(text: str, tmp_path) -> None:
    path = tmp_path / "rules.xml"
    path.write_text(text, encoding="utf-8")
    wanted = (("base", "link3"), ("link1", "link3"), ("base", "pad"))
    for rules in (path, str(path), text):
        assert mbt.CollisionModel(arm(3), rules=rules).pairs == wanted


def test_is_free_is_what_distances_say() -> None:
    tree = arm()
    post = mbt.Shape("capsule", [0.1, 2.0], mbt.math.make_pose([-0.4, 0.2, 0]))
    scene = mbt.CollisionModel(tree, obstacles=[WALL, FLOOR, post])
    q = np.random.default_rng(0).uniform(-2.0, 2.0, (301, 4))
    d = scene.distances(q)
    for margin in (-0.05, 0.0, 0.02, 0.3):
        free = scene.is_free(q, margin=margin)
        assert 0 < free.sum() < len(q)
        np.testing.assert_array_equal(free, d.min(axis=-1) >= margin)
        assert [scene.is_free(x, margin=margin) for x in q[:40]] == free[:40].tolist()
    assert isinstance(scene.is_free(q[0]), bool)
    pair, smallest = scene.nearest(q)
    np.testing.assert_array_equal(pair, d.argmin(axis=-1))
    np.testing.assert_array_equal(smallest, d.min(axis=-1))
    assert scene.nearest(q[0]) == (pair[0], smallest[0])


def test_bodies_without_a_pair_do_not_count() -> None:
    """Nothing is computed or read for them."""
    tree = arm(3)
    scene = mbt.CollisionModel(tree, [("base", "link1")])
    q = np.random.default_rng(8).uniform(-0.1, 0.1, (9, 3))
    far = np.full((9, 2), np.nan)
    np.testing.assert_array_equal(scene.is_free(q, margin=-1.0), np.ones(9, bool))
    d = scene.distances(q)
    q[:, 1:] = far
    np.testing.assert_array_equal(scene.distances(q), d)


def test_padding_makes_shapes_larger() -> None:
    tree = arm(3)
    q = np.random.default_rng(1).uniform(-2.0, 2.0, (20, 3))
    plain = mbt.CollisionModel(tree, obstacles=[WALL])
    d, *points = plain.distances(q, witness=True)
    all_wide = mbt.CollisionModel(tree, obstacles=[WALL], padding=0.02)
    np.testing.assert_allclose(all_wide.distances(q), d - 0.04, atol=1e-15)
    some = mbt.CollisionModel(
        tree, obstacles=[WALL], padding={"wall": 0.1, tree.get_body_by_name("pad"): 0.03}
    )
    thickness = [0.1 * ("wall" in pair) + 0.03 * ("pad" in pair) for pair in plain.pairs]
    wide, *same = some.distances(q, witness=True)
    np.testing.assert_allclose(wide, d - thickness, atol=1e-15)
    for a, b in zip(points, same, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(some.is_free(q), wide.min(axis=-1) >= 0.0)


def test_parameters_of_a_context_move_shapes() -> None:
    tree = arm(3)
    scene = mbt.CollisionModel(tree, obstacles=[WALL])
    context = tree.create_default_context()
    q = np.random.default_rng(2).uniform(-2.0, 2.0, (6, 3))
    before = scene.distances(q)
    np.testing.assert_array_equal(scene.distances(q, context=context), before)
    X = random_pose(np.random.default_rng(3))
    tree.get_joint_by_name("j2").frame_on_parent.set_pose_in_parent_frame(context, X)
    context.q = q[0]
    found, _, p_WB, _, J = scene.distances(q[0], witness=True, jacobian=True, context=context)
    assert abs(found - before[0]).max() > 0.01
    # The sphere of the pad, at the pose in the Context.
    X_WB = tree.eval_position_kinematics(context).X_WB[tree.get_body_by_name("pad").node_index]
    place = scene.pairs.index(("pad", "wall"))
    center = X_WB[:3, 3]
    on_wall = np.clip(center, [1.1, -2, -2], [1.3, 2, 2])
    np.testing.assert_allclose(found[place], np.linalg.norm(center - on_wall) - 0.06, atol=1e-14)
    np.testing.assert_allclose(p_WB[place], on_wall, atol=1e-14)
    np.testing.assert_array_equal(J, scene.distance_jacobian(q[0], context=context))
    np.testing.assert_array_equal(scene.distances(q), before)
    assert scene.is_free(q[0], context=context) == (found.min() >= 0.0)


@pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 5), (0,), (2, 0, 3)])
def test_leading_axes(batch: tuple[int, ...]) -> None:
    scene = mbt.CollisionModel(arm(3), obstacles=[WALL])
    q = np.random.default_rng(4).uniform(-1.0, 1.0, (*batch, 3))
    d, p_WA, p_WB, n_W, J = scene.distances(q, witness=True, jacobian=True)
    n = scene.num_pairs
    assert d.shape == (*batch, n)
    assert p_WA.shape == p_WB.shape == n_W.shape == (*batch, n, 3)
    assert J.shape == (*batch, n, 3)
    assert np.shape(scene.is_free(q)) == batch
    if 0 not in batch:
        assert [np.shape(x) for x in scene.nearest(q)] == [batch, batch]
    np.testing.assert_array_equal(J, scene.distance_jacobian(q))
    for i in np.ndindex(*batch):
        np.testing.assert_array_equal(d[i], scene.distances(q[i]))


def test_positions_of_other_types() -> None:
    scene = mbt.CollisionModel(arm(3), obstacles=[WALL])
    q = np.array([[1.0, 0.0, -1.0], [0.5, 0.25, 2.0]])
    wanted = scene.distances(q)
    for same in (
        q.tolist(),
        q.astype(np.float32),
        q.astype(">f8"),
        np.asfortranarray(q),
        q[:, ::-1][:, ::-1],
    ):
        np.testing.assert_array_equal(scene.distances(same), wanted)
    np.testing.assert_array_equal(scene.distances([[1, 0, -1]]), wanted[:1])


def test_what_is_not_a_number_touches_nothing_else() -> None:
    tree = mbt.MultibodyTree()
    for name in ("one", "two"):
        tree.add_body(mbt.RigidBody(name, BODY)).add_collision(mbt.Shape("capsule", [0.1, 1.0]))
    tree.finalize()
    scene = mbt.CollisionModel(tree, obstacles=[WALL, FLOOR])
    q = np.tile([1.0, 0, 0, 0, 0, 0, 2.0, 1.0, 0, 0, 0, 0, 0.5, 5.0], (7, 1))
    wanted, free = scene.distances(q), scene.is_free(q)
    assert free.all()
    bad = q.copy()
    bad[2, 4] = np.nan
    bad[3, 5] = np.inf
    bad[4, :4] = 0.0  # No rotation.
    d = scene.distances(bad)
    good = [0, 1, 5, 6]
    np.testing.assert_array_equal(d[good], wanted[good])
    pair = scene.pairs.index(("one", "two"))
    for x in scene.distances(bad, witness=True, jacobian=True):
        assert np.isnan(x[2, pair]).all()
    for x in scene.distances(bad[2], witness=True, jacobian=True):
        assert np.isnan(x[pair]).all()
    assert scene.is_free(bad).tolist() == [True, True, False, False, False, True, True]
    assert [scene.is_free(x) for x in bad] == [True, True, False, False, False, True, True]


@pytest.mark.parametrize("kind", ["sphere", "box"])
def test_distances_are_right_or_nan_however_far(kind: str) -> None:
    """Squares of lengths overflow doubles at 1e154 m."""
    tree = mbt.MultibodyTree()
    for name in ("one", "two"):
        tree.add_body(mbt.RigidBody(name, BODY)).add_collision(
            mbt.Shape(kind, {"sphere": [0.1], "box": [0.1, 0.2, 0.3]}[kind])
        )
    tree.finalize()
    obstacles = [mbt.Shape("sphere", [0.1], mbt.math.make_pose([0, 1e200, 0]), name="nowhere")]
    scene = mbt.CollisionModel(tree, obstacles=obstacles)
    assert np.isnan(scene.distances(tree.create_default_context().q)[1:]).all()
    near = mbt.CollisionModel(tree)
    far = 10.0 ** np.arange(140, 308)
    q = np.tile([1.0, 0, 0, 0, 0, 0, 0], (len(far), 2))
    q[:, 4], q[:, 13] = far, far
    is_known = far < 2e153
    results = d, _, _, n, J = near.distances(q, witness=True, jacobian=True)
    np.testing.assert_allclose(d[is_known, 0], np.sqrt(2.0) * far[is_known], rtol=1e-9)
    assert all(np.isfinite(x[is_known]).all() for x in (n, J))
    assert all(np.isnan(x[~is_known]).all() for x in results)
    assert [near.distances(x)[0] for x in q[is_known]] == d[is_known, 0].tolist()
    np.testing.assert_array_equal(near.is_free(q), is_known)


def test_threads_change_nothing() -> None:
    scene = mbt.CollisionModel(arm(), obstacles=[WALL, FLOOR])
    q = np.random.default_rng(5).uniform(-2.0, 2.0, (20_011, 4))
    before = mbt.get_num_threads()
    try:
        results = []
        for n in (1, 3):
            mbt.set_num_threads(n)
            results.append([*scene.distances(q, witness=True, jacobian=True), scene.is_free(q)])
    finally:
        mbt.set_num_threads(before)
    for one, three in zip(*results, strict=True):
        np.testing.assert_array_equal(one, three)
    # Large results bypass the caches: the same numbers.
    np.testing.assert_array_equal(scene.distances(q[:50]), results[0][0][:50])


def test_pickles_and_copies() -> None:
    tree = arm(3)
    scene = mbt.CollisionModel(tree, obstacles=[WALL], exclude=[("base", "pad")], padding=0.01)
    q = np.random.default_rng(6).uniform(-1.0, 1.0, (5, 3))
    wanted = scene.distances(q)
    for twin in (pickle.loads(pickle.dumps(scene)), copy.deepcopy(scene)):
        assert twin.tree is not tree
        assert twin.pairs == scene.pairs
        np.testing.assert_array_equal(twin.distances(q), wanted)
    both = copy.deepcopy([scene, tree])
    assert both[0].tree is both[1]
    make, (own, shapes, pairs, *_) = scene.__reduce__()[:2]
    with pytest.raises(ValueError, match="unknown shape"):
        make(own, shapes, [(0, -1, 0.0)]).distances(q)
    bad = copy.copy(shapes[0])
    object.__setattr__(bad, "node", 99)
    with pytest.raises(ValueError, match="unknown kind or body"):
        make(own, [bad, *shapes[1:]], pairs).distances(q)


def test_trees_without_pairs() -> None:
    world = mbt.MultibodyTree()
    world.finalize()
    scene = mbt.CollisionModel(world, obstacles=[WALL, FLOOR])
    assert scene.pairs == ()
    d, p_WA, _, _, J = scene.distances(np.zeros((4, 0)), witness=True, jacobian=True)
    assert d.shape == (4, 0)
    assert p_WA.shape == (4, 0, 3)
    assert J.shape == (4, 0, 0)
    assert scene.is_free([]) is True
    assert scene.is_free(np.zeros((2, 0))).tolist() == [True, True]
    with pytest.raises(mbt.MbtError, match="no pair"):
        scene.nearest([])
    bare = mbt.CollisionModel(arm(6), [])
    assert bare.distances(np.zeros((3, 6))).shape == (3, 0)
    assert bare.distance_jacobian(np.zeros(6)).shape == (0, 6)


def test_bad_arguments_name_themselves() -> None:
    tree = arm(2)
    make = mbt.CollisionModel
    other = arm(2)
    for call, words in [
        (lambda: make(mbt.MultibodyTree()), "finalize"),
        (lambda: make("arm"), "str"),
        (lambda: make(tree.clone_to_scalar("fraction")), "doubles"),
        (lambda: make(tree, "adjacent"), "pairs: expected 'not adjacent', 'all', 'mjcf'"),
        (lambda: make(tree, [("base",)]), r"pairs\[0\]: expected two bodies"),
        (lambda: make(tree, ["ab"]), r"pairs\[0\]: expected two bodies"),
        (lambda: make(tree, [("base", "lnik")]), r"named 'lnik' for pairs\[0\]. Did you mean 'link"),
        (lambda: make(tree, [("base", 3)]), "expected a body"),
        (lambda: make(tree, [("link2", "link2")]), "pairs: 'link2' is paired with itself"),
        (
            lambda: make(tree, [("link2", "pad")]),
            "cannot be checked: they do not move relative to each other",
        ),
        (lambda: make(tree, [("base", other.get_body_by_name("link2"))]), "another tree"),
        (lambda: make(tree, 5), "pairs: expected pairs of bodies"),
        (lambda: make(tree, exclude="base"), "exclude: expected pairs"),
        (
            lambda: make(tree, exclude=[("base", "camera")]),
            r"no body or obstacle named 'camera' for exclude\[0\]",
        ),
        (lambda: make(tree, obstacles=WALL), "obstacles: expected a list"),
        (lambda: make(tree, obstacles=["wall"]), r"obstacles\[0\]: expected an mbt.Shape"),
        (lambda: make(tree, obstacles=[WALL, WALL]), r"obstacles\[1\]: the name 'wall' is taken"),
        (lambda: make(tree, padding=-1.0), "padding"),
        (lambda: make(tree, padding={"base": np.nan}), "padding"),
        (lambda: make(tree, padding={"camera": 0.1}), "no body or obstacle named 'camera' for padding"),
        (lambda: make(tree, hulls="yes"), "hulls"),
        (lambda: make(tree, rules="<sdf/>"), "rules: expected a file of SRDF or MJCF"),
        (lambda: make(tree, rules="<robot><disable_collisions link1='base'/></robot>"), "link2"),
        (lambda: make(tree, rules="nowhere.srdf"), "nowhere.srdf"),
    ]:
        with pytest.raises(mbt.MbtError, match=words):
            call()
    scene, context = make(tree), tree.create_default_context()
    for call, words in [
        (lambda: scene.distances([0.0]), "q: expected shape"),
        (lambda: scene.distances(["a", "b"]), "q"),
        (lambda: scene.distances([0.0, 0.0], witness=2), "witness"),
        (lambda: scene.distances([0.0, 0.0], context=5), "context: expected a Context"),
        (lambda: scene.distances([0.0, 0.0], context=other.create_default_context()), "context"),
        (lambda: scene.distance_jacobian([[0.0], [1.0]]), "q"),
        (lambda: scene.is_free([0.0, 0.0], margin="wide"), "margin"),
        (lambda: scene.is_free([0.0, 0.0], margin=np.inf), "margin"),
        (lambda: scene.nearest([0.0]), "q"),
    ]:
        with pytest.raises(mbt.MbtError, match=words):
            call()
    assert scene.distances(context.q).shape == (scene.num_pairs,)


def test_pairs_are_sets_and_arrays_too() -> None:
    tree = arm(3)
    wanted = (("link1", "link2"), ("pad", "wall"))
    for pairs in ([{"link1", "link2"}, frozenset(("wall", "pad"))], np.array(wanted), {wanted[0], wanted[1]}):
        assert mbt.CollisionModel(tree, pairs, obstacles=[WALL]).pairs == wanted
    few = mbt.CollisionModel(tree, obstacles=[WALL], exclude=np.array([["link1", "wall"]]))
    assert ("link1", "wall") not in few.pairs


def test_a_mesh_among_obstacles_is_not_of_the_tree() -> None:
    cup = mbt.Shape("mesh", mesh="cup.stl", name="cup")
    with pytest.raises(mbt.ArgumentValueError, match="obstacles: cup is a mesh"):
        mbt.CollisionModel(arm(2), obstacles=[cup])


CUBE = "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1))


def test_meshes_that_are_in_no_pair_stay_closed(tmp_path: Path) -> None:
    """A missing file, or hulls that are not allowed, matter only once a distance is needed."""
    pytest.importorskip("trimesh")
    pytest.importorskip("scipy")
    faces = "".join(f"f {i} {j} {k}\n" for i, j, k in ((1, 2, 3), (2, 3, 4), (5, 6, 7), (6, 7, 8)))
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "cube.obj").write_text(CUBE + faces, encoding="utf-8")
    tree = mbt.MultibodyTree()
    for name, file in (("cube", "cube.obj"), ("ghost", "nowhere.obj")):
        body = tree.add_body(mbt.RigidBody(name, BODY))
        body.add_collision(mbt.Shape("mesh", [0.1, 0.1, 0.1], mesh=f"package://parts/{file}"))
    tree.add_body(mbt.RigidBody("ball", BODY)).add_collision(mbt.Shape("sphere", [0.1]))
    tree.finalize()
    excluded = [("ghost", "ball"), ("ghost", "cube")]
    settings = {"hulls": True, "package_paths": [tmp_path]}
    with pytest.raises(mbt.ParseError, match="nowhere"):
        mbt.CollisionModel(tree, **settings)
    scene = mbt.CollisionModel(tree, exclude=excluded, **settings)
    assert scene.pairs == (("cube", "ball"),)
    q = np.tile([1.0, 0, 0, 0, 0, 0, 0], (3, 1))
    q[2, 4] = 0.5
    assert scene.distances(q.ravel()) == pytest.approx(0.3)
    listed = mbt.CollisionModel(tree, [("cube", "ball")], **settings)
    for again in (pickle.loads(pickle.dumps(scene)), scene.edit(), listed):
        assert again.distances(q.ravel()) == pytest.approx(0.3)
    # Nothing may be opened, and nothing needs to be.
    none = mbt.CollisionModel(tree, exclude=[*excluded, ("cube", "ball")])
    assert none.num_pairs == 0
    text = scene.to_json()
    assert mbt.CollisionModel.from_json(tree, text, package_paths=[tmp_path]).pairs == scene.pairs
    # A new pair's mesh is opened then, and found via the model's own paths.
    lonely = mbt.CollisionModel(tree, exclude=[*excluded, ("cube", "ball")], **settings)
    ghosts = [("ghost", "post")]
    post = mbt.Shape("sphere", [0.1], mbt.math.make_pose([-0.4, 0, 0]), name="post")
    d = lonely.edit(add=[post], exclude=ghosts).distances(q.ravel())
    assert d == pytest.approx([0.3, 0.7])
    with pytest.raises(mbt.ParseError, match="nowhere"):
        lonely.edit(add=[post])
    with pytest.raises(mbt.ArgumentValueError, match="tree: cube is a mesh"):
        none.edit(add=[post], exclude=ghosts)
    # The same for obstacles.
    stone = mbt.Shape("mesh", mesh="nowhere.obj", name="stone")
    pairs = [(name, "stone") for name in ("cube", "ghost", "ball")]
    assert mbt.CollisionModel(tree, exclude=[*excluded, *pairs], obstacles=[stone], **settings).num_pairs == 1


def test_a_description_need_not_have_meshes_that_touch_nothing(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    pytest.importorskip("mujoco", reason="MJCF is read with mujoco")
    (tmp_path / "model.xml").write_text(
        """<mujoco><asset><mesh name="ghost" file="nowhere.obj"/></asset><worldbody>
        <geom type="plane" size="1 1 1"/>
        <body><freejoint/><geom size="0.1"/>
        <geom type="mesh" mesh="ghost" mass="0" contype="2" conaffinity="2"/>
        </body></worldbody></mujoco>""",
        encoding="utf-8",
    )
    tree, contacts = mbt.load_model(tmp_path / "model.xml", contacts=True)
    assert contacts.scene.num_pairs == 1
    assert len(tree.get_body(1).collisions) == 2


def test_results_are_written_into_memory_that_is_given() -> None:
    tree = arm(3)
    scene = mbt.CollisionModel(tree, obstacles=[WALL])
    q = np.random.default_rng(4).uniform(-2.0, 2.0, (2, 5, 3))
    wanted = scene.distances(q, witness=True, jacobian=True)
    outs = tuple(np.full_like(x, np.nan) for x in wanted)
    got = scene.distances(q, witness=True, jacobian=True, out=outs)
    for x, out, expected in zip(got, outs, wanted, strict=True):
        assert x is out
        np.testing.assert_array_equal(out, expected)
    d, J, free = np.empty_like(wanted[0]), np.empty_like(wanted[4]), np.empty((2, 5), bool)
    some = scene.distances(q, witness=True, out=(d, None, None, outs[3]))
    assert some[0] is d
    assert some[3] is outs[3]
    np.testing.assert_array_equal(some[1], scene.distances(q, witness=True)[1])
    assert scene.distances(q, out=d) is d
    assert scene.distance_jacobian(q, out=J) is J
    assert scene.is_free(q, out=free) is free
    np.testing.assert_array_equal(d, wanted[0])
    np.testing.assert_array_equal(J, wanted[4])
    np.testing.assert_array_equal(free, d.min(axis=-1) >= 0.0)
    one = np.empty((), bool)
    assert scene.is_free(q[0, 0], out=one) is one
    memory = np.zeros(100)
    for call, words in [
        (lambda: scene.distances(q, out=np.empty(3)), "out: expected shape"),
        (lambda: scene.distances(q, out=d.tolist()), "out: expected a float64"),
        (lambda: scene.distances(q, witness=True, out=d), "out: expected a tuple of 4 arrays"),
        (lambda: scene.distances(q, witness=True, out=(d, d)), "out: expected a tuple of 4 arrays, got 2"),
        (
            lambda: scene.distances(q, witness=True, out=(*outs[:2], outs[1], outs[3])),
            r"out\[1\] and out\[2\]",
        ),
        (lambda: scene.is_free(q, out=d), "out: expected a bool"),
        (lambda: scene.distances(memory[:3], out=memory[: scene.num_pairs]), "does not overlap that of q"),
    ]:
        with pytest.raises(mbt.MbtError, match=words):
            call()


def test_parameters_of_a_batch_of_contexts() -> None:
    tree = arm(3)
    scene = mbt.CollisionModel(tree, obstacles=[WALL])
    frame = tree.get_joint_by_name("j2").frame_on_parent
    rng = np.random.default_rng(5)
    poses = np.array([random_pose(rng) for _ in range(3)])
    many = tree.create_default_context((3,))
    frame.set_pose_in_parent_frame(many, poses)
    q = rng.uniform(-2.0, 2.0, (2, 3, 3))
    got = scene.distances(q, jacobian=True, context=many)
    free = scene.is_free(q[0], context=many)
    assert scene.distances(q[0, 0], context=many).shape == (3, scene.num_pairs)
    for i, pose in enumerate(poses):
        one = tree.create_default_context()
        frame.set_pose_in_parent_frame(one, pose)
        for x, y in zip(got, scene.distances(q[:, i], jacobian=True, context=one), strict=True):
            np.testing.assert_array_equal(x[:, i], y)
        assert free[i] == scene.is_free(q[0, i], context=one)
    with pytest.raises(mbt.ShapeError, match=r"\(2,\) of q and \(3,\) of context"):
        scene.distances(q[:, 0], context=many)


def test_json_holds_a_model(tmp_path) -> None:
    tree = arm(3)
    field = mbt.Shape("height_field", [3, 2], heights=[[0, 0.1, 0.2], [0.3, 0.1, 1 / 3]])
    scene = mbt.CollisionModel(tree, obstacles=[WALL, field], exclude=[("pad", "wall")], padding={"pad": 0.1})
    text = scene.to_json()
    (tmp_path / "scene.json").write_text(text, encoding="utf-8")
    q = np.random.default_rng(6).uniform(-2.0, 2.0, (5, 3))
    for source in (text, tmp_path / "scene.json"):
        again = mbt.CollisionModel.from_json(tree, source)
        assert again.pairs == scene.pairs
        np.testing.assert_array_equal(again.distances(q), scene.distances(q))
    assert again.to_json() == text == pickle.loads(pickle.dumps(scene)).to_json()
    assert [shape.name for shape in again.obstacles] == ["wall", "obstacle[1]"]
    for old, new, words in (
        ('"mbt scene"', '"scene"', "format: expected 'mbt scene'"),
        ('"version": 1', '"version": 2', "version: expected 1, got 2"),
        ('"pad"', '"pat"', "the tree has no shape 'pat'"),
        ('"hulls": false', '"hulls": 3', "expected true or false"),
    ):
        with pytest.raises(mbt.ParseError, match=words):
            mbt.CollisionModel.from_json(tree, text.replace(old, new))


def test_obstacles_that_are_added_do_not_move() -> None:
    """Not even with the first body of the tree, which moves."""
    tree = mbt.MultibodyTree()
    cart = tree.add_body(mbt.RigidBody("cart", BODY))
    tree.add_joint(mbt.PrismaticJoint, "rail", tree.world_body, None, cart, None, axis=[1, 0, 0])
    cart.add_collision(mbt.Shape("sphere", [0.25]))
    tree.finalize()
    ball = mbt.Shape("sphere", [0.5], mbt.math.make_pose([2.0, 0.0, 0.0]), name="ball")
    scene = mbt.CollisionModel(tree).edit(add=[ball])
    assert scene.pairs == (("cart", "ball"),)
    np.testing.assert_allclose(scene.distances([[0.0], [1.0], [4.0]])[:, 0], [1.25, 0.25, 1.25], atol=1e-15)


def test_editing_makes_the_model_that_arguments_make() -> None:
    tree = arm(3)
    post = mbt.Shape("capsule", [0.1, 2.0], mbt.math.make_pose([-0.4, 0.2, 0]))
    ball = mbt.Shape("sphere", [0.2], name="ball")
    scene = mbt.CollisionModel(tree, obstacles=[WALL, FLOOR], exclude=[("base", "pad")])
    q = np.random.default_rng(8).uniform(-1.0, 1.0, (4, 3))
    before = scene.distances(q)
    edited = scene.edit(
        add=[ball, post], remove=["wall"], exclude=[("link1", "ball")], padding={"ball": 0.01, "base": 0.02}
    )
    wanted = mbt.CollisionModel(
        tree, obstacles=[FLOOR, ball, post], exclude=[("base", "pad"), ("link1", "ball")],
        padding={"ball": 0.01, "base": 0.02},
    )  # fmt: skip
    # The floor keeps its name, and the post takes the next one.
    renamed = {"obstacle[1]": "obstacle[0]", "obstacle[2]": "obstacle[2]"}
    order = [wanted.pairs.index(tuple(renamed.get(name, name) for name in pair)) for pair in edited.pairs]
    assert sorted(order) == list(range(wanted.num_pairs))
    np.testing.assert_array_equal(edited.distances(q), wanted.distances(q)[:, order])
    assert len(edited.obstacles) == 3
    np.testing.assert_array_equal(scene.distances(q), before)
    # Models read from text can be edited, too; an edit without changes gives the same model.
    again = mbt.CollisionModel.from_json(tree, edited.to_json()).edit()
    assert again.to_json() == edited.to_json()
    moved = mbt.Shape("sphere", [0.2], mbt.math.make_pose([0, 0, 0.3]), name="ball")
    there = scene.edit(add=[ball]).edit(add=[moved], remove=["ball"])
    np.testing.assert_array_equal(there.distances(q), scene.edit(add=[moved]).distances(q))
    for arguments, words in [
        ({"add": post}, "add: expected a list"),
        ({"add": [5]}, r"add\[0\]: expected an mbt.Shape"),
        ({"add": [WALL]}, r"add\[0\]: the name 'wall' is taken"),
        ({"add": [mbt.Shape("mesh", mesh="a.obj")]}, "add: .* is a mesh"),
        ({"remove": "wall"}, "remove: expected names"),
        ({"remove": [WALL]}, "remove: expected the name of an obstacle"),
        ({"remove": ["pad"]}, "no obstacle named 'pad' to remove"),
        ({"exclude": [("wall", "door")]}, "no body or obstacle named 'door' for exclude"),
        ({"padding": -1.0}, "padding"),
    ]:
        with pytest.raises(mbt.MbtError, match=words):
            scene.edit(**arguments)
    with pytest.raises(mbt.MbtError, match="padding: this model has padding"):
        edited.edit(add=[WALL])


def test_two_half_spaces_have_no_distance() -> None:
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("lid", BODY)).add_collision(mbt.Shape("plane", []))
    tree.finalize()
    with pytest.raises(
        mbt.MbtError, match=r"no distance is known between a plane \(lid\) and a plane \(obstacle\[0\]\)"
    ):
        mbt.CollisionModel(tree, obstacles=[FLOOR])
    assert mbt.CollisionModel(tree, obstacles=[FLOOR], exclude=[("lid", "obstacle[0]")]).num_pairs == 0


def test_distances_of_spheres_are_those_of_their_centers() -> None:
    """Checked through all joints of an arm, against body poses."""
    tree = mbt.load_model(model_path("mbt_arm"))
    names = [body.name for body in tree.bodies if not body.is_world][-3:]
    twin = tree.edit()
    for name in names:
        twin.get_body_by_name(name)._collisions = (mbt.Shape("sphere", [0.02]),)
    twin.finalize()
    scene = mbt.CollisionModel(twin, "all")
    keep = [i for i, pair in enumerate(scene.pairs) if set(pair) <= set(names)]
    q = np.random.default_rng(7).uniform(-1, 1, (11, 6))
    X_WB = functional.body_poses(twin, q)
    for i in keep:
        a, b = (X_WB[:, twin.get_body_by_name(name).node_index, :3, 3] for name in scene.pairs[i])
        np.testing.assert_allclose(
            scene.distances(q)[:, i], np.linalg.norm(b - a, axis=-1) - 0.04, atol=1e-14
        )


def test_tables_of_long_chains_are_made_without_lists() -> None:
    """Only what kernels read: 16 bytes for each body on the path between two others."""
    tree = arm(60)
    scene = mbt.CollisionModel(tree)
    on_the_way = sum(k * (61 - k) for k in range(2, 61))
    tracemalloc.start()
    scene.distances(np.zeros(60))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 24 * on_the_way + 400 * scene.num_pairs
