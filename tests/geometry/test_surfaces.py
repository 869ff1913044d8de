"""How the surfaces of two shapes determine a pair's contact parameters, and how files set surfaces."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import mbt
from support.shapes import BODY

ROUGH = mbt.Surface(friction=0.9, stiffness=3e5, dissipation=2.0)
SMOOTH = mbt.Surface(friction=0.3, stiffness=1.5e5)


def make_contacts(own: mbt.Surface | None, other: mbt.Surface | None, **options: Any) -> mbt.ShapeContact:
    tree = mbt.MultibodyTree()
    tree.add_body(mbt.RigidBody("ball", BODY).add_collision(mbt.Shape("sphere", [0.1], surface=own)))
    tree.finalize()
    floor = mbt.Shape("plane", name="floor", surface=other)
    return mbt.ShapeContact(mbt.CollisionModel(tree, obstacles=[floor]), **options)


@pytest.mark.parametrize(
    ("own", "other", "friction", "stiffness", "dissipation"),
    [
        (None, None, 0.8, 1e5, 10.0),
        (ROUGH, None, 0.9, 3e5, 2.0),
        (ROUGH, SMOOTH, 2 * 0.9 * 0.3 / 1.2, 1e5, 2.0),
        (ROUGH, mbt.Surface(0.3, combine="least"), 0.3, 3e5, 2.0),
        (mbt.Surface(0.5, combine="least"), mbt.Surface(0.7, combine="largest"), 0.7, 1e5, 10.0),
        (ROUGH, mbt.Surface(0.1, 3e5, 4.0, priority=1), 0.1, 1.5e5, 4.0),
        (ROUGH, mbt.Surface(None, None, 4.0), 0.9, 3e5, 3.0),
        (mbt.Surface(0.0), mbt.Surface(0.0), 0.0, 1e5, 10.0),
    ],
)
def test_pairs_of_surfaces(
    own: mbt.Surface | None,
    other: mbt.Surface | None,
    friction: float,
    stiffness: float,
    dissipation: float,
) -> None:
    for pair in ((own, other), (other, own)):
        contacts = make_contacts(*pair)
        assert contacts.friction == pytest.approx(friction, abs=1e-15)
        assert contacts.stiffness == pytest.approx(stiffness)
        assert contacts.dissipation == pytest.approx(dissipation)


def test_arguments_come_first() -> None:
    contacts = make_contacts(ROUGH, SMOOTH, friction=0.2, stiffness={"floor": 7e4})
    assert (contacts.friction[0], contacts.stiffness[0], contacts.dissipation[0]) == (0.2, 7e4, 2.0)
    # An empty mapping keeps the numbers of the surfaces.
    assert make_contacts(ROUGH, None, friction={}).friction[0] == 0.9


def test_wrong_surfaces() -> None:
    for name in ("friction", "stiffness", "dissipation", "margin"):
        with pytest.raises(mbt.ArgumentValueError, match=f"Surface: {name}: expected a finite number >= 0"):
            mbt.Surface(**{name: -1.0})
        with pytest.raises(mbt.ArgumentTypeError, match=f"Surface: {name}"):
            mbt.Surface(**{name: "rough"})  # type: ignore[arg-type]
    with pytest.raises(mbt.ArgumentTypeError, match=r"priority: expected an integer, got 1\.5"):
        mbt.Surface(priority=1.5)  # type: ignore[arg-type]
    with pytest.raises(mbt.ArgumentValueError, match="combine: expected 'mean', 'least', 'largest', got"):
        mbt.Surface(combine="product")
    with pytest.raises(mbt.ArgumentTypeError, match=r"surface: expected an mbt\.Surface, got 0\.5"):
        mbt.Shape("sphere", [0.1], surface=0.5)  # type: ignore[arg-type]


def test_surfaces_stay_with_their_shapes() -> None:
    contacts = make_contacts(mbt.Surface(0.7, 1e6, 3.0, priority=2, combine="largest", margin=1e-3), ROUGH)
    [shape] = contacts.tree.get_body_by_name("ball").collisions
    text = mbt.save_model(contacts.tree, format="json")
    for tree in (
        mbt.load_model(text),
        pickle.loads(pickle.dumps(contacts.tree)),
        copy.deepcopy(contacts.tree),
    ):
        assert tree.get_body_by_name("ball").collisions == (shape,)
    assert mbt.Shape("sphere", [0.1], surface=ROUGH) != mbt.Shape("sphere", [0.1], surface=SMOOTH)
    again = mbt.CollisionModel.from_json(contacts.tree, contacts.scene.to_json())
    assert again.obstacles == contacts.scene.obstacles
    wrong = text.replace('"largest"', '"product"')
    assert wrong != text
    with pytest.raises(mbt.ParseError, match="combine"):
        mbt.load_model(wrong)


BALL = """<link name="ball"><inertial><mass>1</mass></inertial>{}</link>"""
COLLISION = "<collision name='a'><geometry><sphere><radius>0.1</radius></sphere></geometry>{}</collision>"
FLOOR = """<model name="floor"><static>true</static><link name="floor"><collision name="b">
  <geometry><plane><normal>0 0 1</normal></plane></geometry>
  <surface><friction><ode><mu>0.5</mu></ode></friction></surface></collision></link></model>"""


@pytest.mark.parametrize(
    ("surface", "friction"),
    [
        ("", 0.5),
        ("<surface><friction><ode><mu>0.3</mu><mu2>0.3</mu2></ode></friction></surface>", 0.3),
        ("<surface><friction><ode/></friction></surface>", 0.5),
        ("<surface><contact><ode><kp>1e6</kp></ode></contact></surface>", 0.5),
    ],
)
def test_friction_of_sdf(surface: str, friction: float) -> None:
    ball = BALL.format(COLLISION.format(surface))
    text = f'<sdf version="1.9"><world name="w">{FLOOR}<model name="m">{ball}</model></world></sdf>'
    tree, contacts = mbt.load_model(text, contacts=True)
    assert isinstance(tree, mbt.MultibodyTree)
    assert contacts.tree is tree
    assert contacts.friction.tolist() == [friction]
    assert "contacts" not in tree.parse_reports[0].inactive
    assert "contacts" in mbt.load_model(text).parse_reports[0].inactive


URDF = """<robot name="ball"><link name="ball"><inertial><mass value="1"/>
  <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.004" iyz="0" izz="0.004"/></inertial>
  <collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>"""


def test_contacts_of_urdf() -> None:
    tree, contacts = mbt.load_model(URDF, base="floating", contacts=True)
    assert contacts.pairs == ()
    ice = mbt.Shape("plane", name="ice", surface=mbt.Surface(0.05))
    tree, contacts = mbt.load_model(URDF, base="floating", contacts=True, obstacles=[ice])
    assert (contacts.pairs, contacts.friction.tolist()) == ((("ball", "ice"),), [0.05])
    saved = mbt.save_model(tree, format="json")
    _, contacts = mbt.load_model(saved, contacts=True, obstacles=[ice])
    assert contacts.pairs == (("ball", "ice"),)
    with pytest.raises(mbt.ArgumentValueError, match="obstacles: nothing touches them without contacts=True"):
        mbt.load_model(URDF, obstacles=[ice])
    with pytest.raises(mbt.ArgumentTypeError, match="contacts: expected True or False, got 1"):
        mbt.load_model(URDF, contacts=1)  # type: ignore[call-overload]
    with pytest.raises(mbt.ArgumentTypeError, match=r"obstacles\[0\]: expected an mbt.Shape"):
        mbt.load_model(URDF, contacts=True, obstacles=["floor"])  # type: ignore[list-item]
    tree = mbt.load_model(URDF)
    for obstacles in (ice, 3):
        with pytest.raises(mbt.ArgumentTypeError, match=r"obstacles: expected a list of mbt\.Shape"):
            mbt.load_model(URDF, obstacles=obstacles)  # type: ignore[call-overload]
        with pytest.raises(mbt.ArgumentTypeError, match=r"obstacles: expected a list of mbt\.Shape"):
            mbt.CollisionModel(tree, obstacles=obstacles)  # type: ignore[arg-type]


DRAKE = {
    "mu_static": "1.0",
    "mu_dynamic": "0.6",
    "point_contact_stiffness": "2e5",
    "hunt_crossley_dissipation": "1.5",
}


def test_proximity_properties_of_drake() -> None:
    wanted = mbt.Surface(0.6, 2e5, 1.5)
    parts = "".join(f'<drake:{tag} value="{x}"/>' for tag, x in DRAKE.items())
    own = f"<drake:proximity_properties>{parts}</drake:proximity_properties>"
    tree = mbt.load_model(URDF.replace("</collision>", f"{own}</collision>"), strict=True)
    [shape] = tree.get_body_by_name("ball").collisions
    assert shape.surface == wanted
    ignored = {"link/collision/drake:proximity_properties/drake:mu_static": 1}
    assert tree.parse_reports[0].ignored == ignored
    parts = "".join(f"<drake:{tag}>{x}</drake:{tag}>" for tag, x in DRAKE.items())
    ball = BALL.format(COLLISION.format(f"<drake:proximity_properties>{parts}</drake:proximity_properties>"))
    tree = mbt.load_model(f'<sdf version="1.9"><model name="m">{ball}</model></sdf>')
    [shape] = tree.get_body_by_name("ball").collisions
    assert shape.surface == wanted
    for wrong in ("-1", "rough", "nan"):
        broken = URDF.replace("</collision>", own.replace('"0.6"', f'"{wrong}"') + "</collision>")
        with pytest.warns(mbt.ModelWarning, match="expected a finite number >= 0, got"):
            tree = mbt.load_model(broken)
        [shape] = tree.get_body_by_name("ball").collisions
        assert shape.surface == mbt.Surface(None, 2e5, 1.5)


def test_margins() -> None:
    own, other = mbt.Surface(margin=0.01, priority=1), mbt.Surface(margin=0.002)
    assert make_contacts(own, None).margin.tolist() == [0.01]
    contacts = make_contacts(own, other)
    assert contacts.margin == pytest.approx([0.012])
    assert make_contacts(own, other, margin=0.0).margin.tolist() == [0.0]
    named = make_contacts(own, other, margin={"ball": 0.03})
    assert named.margin.tolist() == [0.03]
    assert pickle.loads(pickle.dumps(named)).margin.tolist() == [0.03]
    q = [1, 0, 0, 0, 0, 0, 0.11]
    found = contacts.points(q)
    assert found.gap == pytest.approx([-0.002])
    assert contacts.scene.distances(q) == pytest.approx([0.01])
    assert not len(make_contacts(None, None).points(q).gap)


PAIRS = """<mujoco><option cone="elliptic"/>
<worldbody>
  <geom name="floor" type="plane" size="3 3 1" margin="0.004"/>
  <body name="a" pos="0 0 0.1"><freejoint/>
    <geom name="a" size="0.1" margin="0.01" gap="0.02" mass="1"/></body>
  <body name="b" pos="1 0 0.1"><freejoint/><geom size="0.05" pos="0 0 9" mass="1"/>
    <geom name="b" size="0.1" mass="2" margin="0.5"/></body>
  <body name="c" pos="2 0 0.1"><freejoint/>
    <geom name="c" size="0.1" mass="3" contype="0" conaffinity="0"/></body>
  <body name="d" pos="2 0 0.3"><freejoint/>
    <geom name="d" size="0.1" mass="1" contype="0" conaffinity="0" group="4"/></body>
  <body name="e" pos="-1 0 0.1"><freejoint/>
    <geom name="e" size="0.1" mass="1" contype="0" conaffinity="0"/></body>
</worldbody>
<contact>
  <exclude body1="world" body2="b"/>
  <pair geom1="b" geom2="floor" margin="0.02" solref="0.05 1" friction="0.3 0.3 0.1 0.1 0.1"/>
  <pair geom1="c" geom2="floor" condim="1"/>
  <pair geom1="c" geom2="d" solref="-2000 -90" friction="0.4 0.2 0.1 0.1 0.1" condim="6"/>
</contact></mujoco>"""


@pytest.mark.oracle
def test_margins_and_pairs_of_mjcf_are_those_of_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco")
    tree, contacts = mbt.load_model(PAIRS, contacts=True, prefix="my_")
    numbers = zip(contacts.pairs, contacts.friction, contacts.margin, strict=True)
    found = {names: (mu, margin) for names, mu, margin in numbers}
    # A pair has its own numbers, which replace those of both geometries.
    assert found["world", "my_b/b"] == (0.3, 0.02)
    assert found["world", "my_c"] == (0.0, 0.0)
    assert found["my_c", "my_d"] == (0.4, 0.0)
    assert found["world", "my_a"] == (1.0, 0.014)
    assert not any("my_e" in names for names in found)
    assert not any(names == ("world", "my_b[0]") for names in found)
    lost = {"contact/pair@condim": 1, "contact/pair@friction": 1}
    assert tree.parse_reports[0].ignored == lost
    model = mujoco.MjModel.from_xml_string(PAIRS)
    data = mujoco.MjData(model)
    for _ in range(1500):
        mujoco.mj_step(model, data)
    context = tree.create_default_context()
    motion = mbt.simulate(tree, context, 3.0, 5e-3, method="implicit", contacts=contacts)
    X_WB = mbt.functional.body_poses(tree, motion.q[-1])
    z = {name: X_WB[tree.get_body_by_name(f"my_{name}").node_index, 2, 3] for name in "abcd"}
    # Exact where a point carries only its own body; ball c carries another one.
    for name, tolerance in (("a", 1e-6), ("b", 1e-6), ("c", 3e-4), ("d", 3e-4)):
        assert z[name] == pytest.approx(data.body(name).xpos[2], abs=tolerance), name
    # A collision model built from the tree keeps its margins, but not its pairs.
    own = mbt.ShapeContact(mbt.CollisionModel(tree))
    assert ("my_c", "my_d") not in own.pairs
    assert own.margin[own.pairs.index(("world", "my_a"))] == 0.014


MJCF = """<mujoco><option timestep="0.002" cone="elliptic"/>
<default><default class="foot">
  <geom condim="6" priority="1" friction="0.6 0.02 0.01" solimp="0.5 0.95 0.005"/></default></default>
<worldbody>
  <geom name="floor" type="plane" size="5 5 .1" friction="0.4"/>
  <geom name="step" type="box" size="0.3 0.3 0.05" pos="2 0 0.05"/>
  <body name="box" pos="0 0 0.101"><freejoint/>
    <geom type="box" size=".1 .1 .1" mass="2" friction="0.7"/></body>
  <body name="ball" pos="1 0 0.101"><freejoint/><geom size=".1" mass="1" solref="0.05 1"/></body>
  <body name="direct" pos="1 1 0.101"><freejoint/><geom size=".1" mass="5" solref="-3000 -90"/></body>
  <body name="rod" pos="2 0 0.151"><freejoint/>
    <geom type="capsule" size=".05 .1" euler="90 0 0" mass="3"/></body>
  <body name="ice" pos="-1 0 0.101"><freejoint/>
    <geom type="box" size=".1 .1 .1" mass="2" friction="0.1" priority="1"/></body>
  <body name="slick" pos="-2 0 0.101"><freejoint/>
    <geom type="box" size=".1 .1 .1" mass="2" condim="1" friction="0.2"/></body>
  <body name="body" pos="0 2 0.29"><freejoint/><geom type="box" size=".1 .1 .1" mass="2" pos="0 0 0.1"/>
    <body name="leg1" pos="0.08 0 0"><joint name="j1" axis="0 1 0" stiffness="300" damping="5"/>
      <geom class="foot" type="capsule" fromto="0 0 0 0 0 -.25" size="0.04" mass="0.3"/></body>
    <body name="leg2" pos="-0.08 0.08 0"><joint name="j2" axis="0 1 0" stiffness="300" damping="5"/>
      <geom class="foot" type="capsule" fromto="0 0 0 0 0 -.25" size="0.04" mass="0.3"/></body>
    <body name="leg3" pos="-0.08 -0.08 0"><joint name="j3" axis="0 1 0" stiffness="300" damping="5"/>
      <geom class="foot" type="capsule" fromto="0 0 0 0 0 -.25" size="0.04" mass="0.3"/></body>
  </body>
</worldbody></mujoco>"""


@pytest.mark.oracle
def test_models_of_mjcf_stand_as_in_mujoco() -> None:
    mujoco = pytest.importorskip("mujoco")
    tree, contacts = mbt.load_model(MJCF, contacts=True)
    assert not tree.parse_reports[0].warnings
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    coordinates = mbt.interop.MujocoCoordinates(tree, model)
    data.qvel[0], data.qvel[24] = 1.0, 1.0  # the box and the ice slide
    context = tree.create_default_context()
    context.v = coordinates.v_from_mujoco(data.qpos, data.qvel)
    motion = mbt.simulate(tree, context, 1.5, 5e-3, method="implicit", contacts=contacts)
    friction = {}
    for _ in range(750):
        mujoco.mj_step(model, data)
    for contact in data.contact:
        names = [model.body(model.geom(g).bodyid[0]).name for g in contact.geom]
        friction[tuple(sorted(names, key="world".__ne__))] = contact.friction[0] if contact.dim > 1 else 0.0
    ours = {
        tuple(name.partition("/")[0] for name in names): mu
        for names, mu in zip(contacts.pairs, contacts.friction, strict=True)
        if names[0] != "world/step" or names[1] == "rod"
    }
    assert len(friction) == 9
    friction[("world", "slick")] = 0.4  # of condim 1: mbt uses the larger friction there as well
    assert {names: ours[names] for names in friction} == pytest.approx(friction)
    assert ours["world", "leg1"] == 0.6
    depth = {
        name: np.array(gap)
        for name in ("box", "ball", "direct", "rod", "ice", "slick", "leg1")
        if len(gap := [g for n, g in zip(*_last(motion), strict=True) if n == name])
    }
    X_WB = mbt.functional.body_poses(tree, motion.q[-1])
    for name, gaps in depth.items():
        z = X_WB[tree.get_body_by_name(name).node_index, 2, 3]
        # Within the compliance: half of each body's depth.
        assert abs(z - data.body(name).xpos[2]) < 0.5 * abs(gaps).max(), name
    assert len(depth) == 7
    # The spring equals that of MuJoCo if one point carries only its own body.
    ball = X_WB[tree.get_body_by_name("ball").node_index, 2, 3]
    assert ball == pytest.approx(data.body("ball").xpos[2], abs=1e-6)
    for name, mu in (("box", 0.7), ("ice", 0.1)):
        x = [X_WB[tree.get_body_by_name(name).node_index, 0, 3], data.body(name).xpos[0]]
        x = [0.0 if name == "box" else -1.0] - np.array(x)
        assert abs(x[0] - x[1]) < 0.02
        if name == "box":
            # Steps of 5 ms at 1 m/s: 2.5 mm.
            assert -x[0] == pytest.approx(1.0 / (2 * mu * 9.81), abs=3e-3)


def _last(motion: mbt.Trajectory) -> tuple[list[str], list[float]]:
    last = motion.contacts[-1]
    return [names[1] for names in last.names], last.gap.tolist()


SPLAYED = """<mujoco><option timestep="0.002" cone="elliptic"/>
<default><geom size="0.04" friction="0.8"/><joint axis="0 1 0"/></default>
<worldbody><geom type="plane" size="5 5 .1"/>
  <body name="trunk" pos="0 0 0.5">
    <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/><joint name="y"/>
    <geom type="capsule" fromto="-.3 0 0 .3 0 0" mass="10"/>
    <body name="back" pos="-.3 0 0"><joint name="hip1" stiffness="60" damping="3"/>
      <geom type="capsule" fromto="0 0 0 -.15 0 -.4" mass="1"/></body>
    <body name="front" pos=".3 0 0"><joint name="hip2" stiffness="60" damping="3"/>
      <geom type="capsule" fromto="0 0 0 .15 0 -.4" mass="1"/></body>
  </body>
</worldbody></mujoco>"""


@pytest.mark.oracle
def test_feet_that_push_outwards_stand_where_those_of_mujoco_do_that_do_not_creep() -> None:
    mujoco = pytest.importorskip("mujoco")
    tree, contacts = mbt.load_model(SPLAYED, contacts=True)
    context = tree.create_default_context()
    motion = mbt.simulate(tree, context, 2.0, 5e-3, method="implicit", contacts=contacts)
    assert abs(motion.v[-1]).max() < 5e-6
    depth = -motion.contacts[-1].gap.min()
    trunk = tree.get_body_by_name("trunk").node_index

    def stand(impratio: float, timestep: float) -> tuple[float, float]:
        """Return how much higher the trunk is in MuJoCo, and how fast it still moves."""
        model = mujoco.MjModel.from_xml_string(SPLAYED)
        model.opt.impratio, model.opt.timestep = impratio, timestep
        data = mujoco.MjData(model)
        for _ in range(round(2.0 / timestep)):
            mujoco.mj_step(model, data)
        z = mbt.functional.body_poses(tree, motion.q[-1])[trunk, 2, 3]
        return data.body("trunk").xpos[2] - z, abs(data.qvel).max()

    # By default MuJoCo's trunk sinks by millimetres, with short steps as with long ones.
    for timestep in (2e-3, 5e-4):
        higher, speed = stand(1.0, timestep)
        assert higher < -3.0 * depth
        assert speed > 8e-3
    # The less it creeps, the closer it stands.
    for impratio in (10.0, 100.0, 1000.0):
        higher, speed = stand(impratio, 2e-3)
        assert speed == pytest.approx(9.4e-3 / impratio, rel=0.02)
    assert abs(higher) < 0.5 * depth


def test_flags_of_mjcf_that_disable_contact() -> None:
    """Then nothing in the file touches anything but the caller's obstacles."""
    pytest.importorskip("mujoco")
    text = """<mujoco><option><flag {}/></option><worldbody><geom type="plane" size="1 1 1" name="floor"/>
      <body name="a" pos="0 0 1"><freejoint/><geom size="0.1"/></body></worldbody></mujoco>"""
    post = mbt.Shape("sphere", [0.1], name="post")
    for flag, count in (('gravity="enable"', 1), ('contact="disable"', 0), ('constraint="disable"', 0)):
        _, contacts = mbt.load_model(text.format(flag), contacts=True)
        assert len(contacts.pairs) == count
        tree, contacts = mbt.load_model(text.format(flag), contacts=True, obstacles=[post])
        assert len(contacts.pairs) == count + 1
        assert ("a", "post") in contacts.pairs
        assert mbt.CollisionModel(tree, "mjcf").num_pairs == 1  # distances can still be queried
