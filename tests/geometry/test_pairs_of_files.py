"""Pairs that MJCF lets collide: its bits and exclusions, even in included files, as in MuJoCo."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt
from support.shapes import BODY

# The warning that contacts of the files do not act.
pytestmark = pytest.mark.filterwarnings("ignore::mbt.ModelWarning")

ROBOT = """<mujoco>
  <default><geom size="0.05" mass="1"/></default>
  <include file="parts/rules.xml"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1" conaffinity="7"/>
    <geom name="post" pos="0 3 1" contype="2" conaffinity="0"/>
    <body name="base" pos="0 0 1"><geom name="base" pos="0 0 -0.1"/>
      <body name="upper" pos="0 0 0.2"><joint name="j1" axis="0 1 0"/>
        <joint name="j1b" axis="1 0 0"/><geom name="upper"/>
        <body name="lower" pos="0 0 0.3"><joint name="j2" axis="0 1 0"/>
          <geom name="lower" contype="2" conaffinity="1"/><geom name="shell" contype="4" conaffinity="0"/>
          <body name="tool" pos="0 0 0.3"><geom name="tool" contype="1" conaffinity="2"/>
            <body name="left" pos="0.1 0 0"><joint name="j3" type="slide"/><geom name="left"/></body>
            <body name="right" pos="-0.1 0 0"><joint name="j4" type="slide"/><geom name="right"/></body>
          </body></body></body></body>
    <body name="ball" pos="0 1 1"><freejoint/><geom name="ball" conaffinity="3"/>
      <geom name="painted" contype="0" conaffinity="0"/></body>
    <body name="other" pos="1 1 1"><freejoint/><geom name="other" contype="0" conaffinity="4"/></body>
  </worldbody>
</mujoco>"""
RULES = """<mujocoinclude><contact>
  <exclude body1="left" body2="right"/><exclude body1="world" body2="ball"/>
</contact></mujocoinclude>"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "rules.xml").write_text(RULES, encoding="utf-8")
    (tmp_path / "robot.xml").write_text(ROBOT, encoding="utf-8")
    return tmp_path / "robot.xml"


def pairs_of(scene: mbt.CollisionModel) -> set[frozenset[tuple[str, str]]]:
    """Return pairs by names of geometries: results may use the body's name for a shape."""
    named = {}
    for body in scene.tree.bodies:
        count = len(body.collisions)
        for shape in body.collisions:
            named[body.name if count == 1 else f"{body.name}/{shape.name}"] = shape.name
    return {frozenset(named[name] for name in pair) for pair in scene.pairs}


def pairs_of_mujoco(m: Any) -> set[frozenset[str]]:
    """Return the pairs that MuJoCo tests, by names of geometries."""
    import mujoco

    # Make every tested pair count as near.
    m.geom_margin[:] = 100.0
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_MIDPHASE)
    data = mujoco.MjData(m)
    mujoco.mj_forward(m, data)
    return {frozenset(m.geom(int(g)).name for g in pair) for pair in data.contact.geom}


@pytest.mark.oracle
def test_pairs_are_those_that_mujoco_tests(path: Path) -> None:
    mujoco: Any = pytest.importorskip("mujoco")
    tested = pairs_of_mujoco(mujoco.MjModel.from_xml_path(str(path)))
    tree = mbt.load_model(path)
    scene = mbt.CollisionModel(tree)
    # The base is welded to World: mbt treats it as a link's parent, MuJoCo as World.
    assert pairs_of(scene) == tested - {frozenset(("base", "upper"))}
    assert pairs_of(mbt.CollisionModel(tree, "mjcf")) == tested
    assert len(tested) > 15
    # Copies, pickles and JSON keep the rules.
    again = mbt.load_model(mbt.save_model(tree, format="json"))
    for twin in (copy.deepcopy(tree), pickle.loads(pickle.dumps(tree)), again):
        assert mbt.CollisionModel(twin).pairs == scene.pairs
    # An explicit list of pairs overrides the rules.
    assert mbt.CollisionModel(tree, [("left", "upper"), ("ball", "other")]).num_pairs == 2


@pytest.mark.oracle
def test_what_the_first_link_carries_is_adjacent_to_it() -> None:
    mujoco: Any = pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1"/>
      <body name="first"><joint name="j1" axis="0 1 0"/><geom name="first" size="0.1"/>
        <body name="second"><joint name="j2" axis="0 1 0"/><geom name="second" size="0.1"/>
          <body name="third"><joint name="j3" axis="0 1 0"/><geom name="third" size="0.1"/>
          </body></body></body></worldbody></mujoco>"""
    tree = mbt.load_model(text)
    tested = pairs_of_mujoco(mujoco.MjModel.from_xml_string(text))
    assert frozenset(("first", "third")) in tested
    for rule in ("mjcf", "not adjacent"):
        assert pairs_of(mbt.CollisionModel(tree, rule)) == tested


@pytest.mark.oracle
def test_default_bits_are_not_written() -> None:
    pytest.importorskip("mujoco")
    text = ROBOT.replace('<include file="parts/rules.xml"/>', "")
    for bits in ("7", "2", "1", "3", "4", "0"):
        text = text.replace(f'contype="{bits}"', "").replace(f'conaffinity="{bits}"', "")
    tree = mbt.load_model(text)
    assert not tree.collision_exclusions
    assert all(shape.contact_bits is None for body in tree.bodies for shape in body.collisions)


@pytest.mark.oracle
@pytest.mark.parametrize("inline", [True, False])
def test_height_fields_of_mjcf(tmp_path: Path, inline: bool) -> None:
    mujoco: Any = pytest.importorskip("mujoco")
    rng = np.random.default_rng(3)
    heights = rng.uniform(0.0, 2.0, (5, 7))
    heights[0, 0], heights[1, 1] = 0.0, 2.0
    numbers = " ".join(map(str, heights.ravel()))
    if inline:
        data = f'nrow="5" ncol="7" elevation="{numbers}"'
    else:
        (tmp_path / "assets").mkdir()
        flat = heights.astype(np.float32)
        (tmp_path / "assets" / "f.bin").write_bytes(np.array([5, 7], np.int32).tobytes() + flat.tobytes())
        data = 'file="f.bin" content_type="image/vnd.mujoco.hfield"'
    (tmp_path / "m.xml").write_text(
        f"""<mujoco><compiler meshdir="assets"/><asset><hfield name="f" size="1.5 1 0.4 0.1" {data}/></asset>
        <worldbody><geom name="ground" type="hfield" hfield="f" pos="0.1 0.2 0.3" euler="10 0 20"/>
        <body name="ball" pos="0 0 2"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>""",
        encoding="utf-8",
    )
    tree = mbt.load_model(tmp_path / "m.xml")
    [field] = tree.world_body.collisions
    assert field.size == (3.0, 2.0)
    m = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    # MuJoCo subtracts the lowest height, and scales the largest to that of `size`.
    wanted = 0.2 * (heights[::-1] if inline else heights)  # Texts begin with the row at the largest y.
    np.testing.assert_allclose(field.heights, wanted, atol=1e-7)
    np.testing.assert_allclose(field.heights, 0.4 * m.hfield_data.reshape(5, 7), atol=0)
    data = mujoco.MjData(m)
    scene = mbt.CollisionModel(tree)
    q = np.tile([0.0, 0, 0, 1, 0, 0, 0], (30, 1))
    q[:, :3] = rng.uniform([-1.2, -0.8, 0.65], [1.2, 0.8, 0.8], (30, 3))
    order = [*range(3, 7), *range(3)]
    mine = scene.distances(q[:, order])[:, 0]
    m.geom_margin[:] = 10.0
    for one, state in zip(mine, q, strict=True):
        data.qpos[:] = state
        mujoco.mj_forward(m, data)
        # One contact for each prism under the ball: the nearest belongs to the nearest triangle.
        near = data.contact.dist.min() if data.ncon else np.inf
        assert near >= one - 1e-6
        if 0.0 < one < 0.05:
            assert near <= one + 1e-6
    assert ((mine > 0.0) & (mine < 0.05)).sum() >= 2


@pytest.mark.oracle
def test_a_height_field_whose_file_is_missing_is_left_out() -> None:
    pytest.importorskip("mujoco")
    tree = mbt.load_model(
        """<mujoco><asset><hfield name="f" size="1 1 1 1" file="no.png"/></asset><worldbody>
        <geom type="hfield" hfield="f"/><body><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""
    )
    assert tree.world_body.collisions == ()
    assert tree.parse_reports[0].ignored["geom/hfield"] == 1


def test_rules_follow_what_a_file_includes(path: Path) -> None:
    """Even without MuJoCo."""
    tree = mbt.MultibodyTree()
    for name in ("left", "right", "tool"):
        tree.add_body(mbt.RigidBody(name, BODY)).add_collision(mbt.Shape("sphere", [0.1]))
    tree.finalize()
    assert mbt.CollisionModel(tree, rules=path).pairs == (("left", "tool"), ("right", "tool"))
    (path.parent / "parts" / "rules.xml").unlink()
    with pytest.raises(mbt.ParseError, match="there is no file"):
        mbt.CollisionModel(tree, rules=path)


def test_exclusions_of_a_tree() -> None:
    tree = mbt.MultibodyTree()
    balls = [tree.add_body(mbt.RigidBody(name, BODY)) for name in "abc"]
    for ball in balls:
        ball.add_collision(mbt.Shape("sphere", [0.1]))
    tree.exclude_collisions(balls[0], balls[1])
    tree.exclude_collisions(balls[2], balls[0])
    with pytest.raises(mbt.ArgumentTypeError, match="second: expected a RigidBody, got 'c'"):
        tree.exclude_collisions(balls[0], "c")
    with pytest.raises(mbt.ForeignElementError):
        tree.exclude_collisions(balls[0], mbt.RigidBody("d", BODY))
    tree.finalize()
    assert mbt.CollisionModel(tree).pairs == (("b", "c"),)
    work = tree.edit()
    work.remove_subtree(work.get_body_by_name("b"))
    assert [tuple(body.name for body in pair) for pair in work.collision_exclusions] == [("c", "a")]
    work.finalize()
    assert mbt.CollisionModel(work).num_pairs == 0
    with pytest.raises(mbt.AlreadyFinalizedError):
        work.exclude_collisions(*work.bodies[1:3])


@pytest.mark.parametrize(
    ("bits", "wanted"),
    [
        ((1, 0), ("b", "c")),
        ((0, 0), ()),
        ((-1, -1), ("b", "c", "d")),
        ((4, 2), ("d",)),
        (None, ("b", "c", "d")),
    ],
)
def test_bits_of_shapes(bits: tuple[int, int] | None, wanted: tuple[str, ...]) -> None:
    tree = mbt.MultibodyTree()
    for name, own in zip("abcd", (bits, (0, 1), (8, 1), (2**32 - 2, 0)), strict=True):
        body = tree.add_body(mbt.RigidBody(name, BODY))
        body.add_collision(mbt.Shape("sphere", [0.1], contact_bits=own))
    tree.finalize()
    found = mbt.CollisionModel(tree).pairs
    assert tuple(b for a, b in found if a == "a") == wanted
    for wrong in ((1,), "12", (1.5, 2), (True, 1), 3):
        with pytest.raises(mbt.ArgumentTypeError, match="contact_bits: expected contype and conaffinity"):
            mbt.Shape("sphere", [0.1], contact_bits=wrong)
    with pytest.raises(mbt.ArgumentValueError, match="contact_bits: expected contype and conaffinity"):
        mbt.Shape("sphere", [0.1], contact_bits=(2**32, 0))
