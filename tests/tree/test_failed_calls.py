"""A call that fails changes nothing, and its error says what is wrong with which element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ElementIndexError,
    ForeignElementError,
    MbtError,
    ShapeError,
    TopologyError,
)
from mbt.math import SpatialInertia, make_pose
from mbt.tree import (
    FixedOffsetFrame,
    JointActuator,
    MultibodyTree,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    RevoluteMobilizer,
    RigidBody,
    UniformGravityFieldElement,
    WeldJoint,
    WeldMobilizer,
)

Z = [0.0, 0.0, 1.0]
X = make_pose([1.0, 2.0, 3.0])
M_BBo_B = SpatialInertia.solid_sphere_with_mass(1.0, 0.1)


def make_model() -> MultibodyTree:
    """World, `upper` on a revolute joint, `lower` on a weld, `ball` free, in two model instances."""
    tree = MultibodyTree()
    arm = tree.add_model_instance("arm")
    upper = tree.add_body(RigidBody("upper", M_BBo_B, arm))
    lower = tree.add_body(RigidBody("lower", M_BBo_B, arm))
    tree.add_body(RigidBody("ball", M_BBo_B))
    shoulder = tree.add_joint(RevoluteJoint, "shoulder", tree.world_body, X, upper, X, Z)
    tree.add_joint(WeldJoint, "elbow", upper, X, lower, None)
    tree.add_frame(FixedOffsetFrame("tool", lower, X))
    tree.add_force_element(UniformGravityFieldElement())
    tree.add_joint_actuator("motor", shoulder)
    return tree


def snapshot(tree: MultibodyTree) -> dict[str, Any]:
    """Everything a failed call could have changed."""
    return {
        "elements": (
            *tree.bodies,
            *tree.frames,
            *tree.joints,
            *tree.mobilizers,
            *tree.force_elements,
            *tree.joint_actuators,
        ),
        "reprs": [repr(e) for e in (*tree.bodies, *tree.frames, *tree.joints, *tree.mobilizers)],
        "instances": [tree.get_model_instance_name(i) for i in range(tree.num_model_instances)],
        "names": [
            (dict(collection._only), {name: dict(found) for name, found in collection._several.items()})
            for collection in (tree._elements.bodies, tree._elements.frames, tree._elements.joints)
        ],
        "connections": list(tree._elements.connections),
        "edges": list(tree._elements.graph.edges),
        "graph bodies": list(tree._elements.graph.body_names),
        "finalized": tree.is_finalized,
    }


other = make_model()

Call = Callable[[MultibodyTree], object]


def add_joint(joint_type: Any = RevoluteJoint, **arguments: Any) -> Call:
    """A call that adds a joint to `ball`, with some arguments changed; bodies are given by name."""

    def call(tree: MultibodyTree) -> object:
        given = {"name": "j", "parent": "world", "X_PF": X, "child": "ball", "X_BM": X, **arguments}
        for argument in ("parent", "child"):
            if isinstance(given[argument], str):
                given[argument] = tree.get_body_by_name(given[argument])
        if joint_type is RevoluteJoint:
            given.setdefault("axis", Z)
        return tree.add_joint(joint_type, **given)

    return call


def body_frame(tree: MultibodyTree, name: str) -> Any:
    return tree.get_body_by_name(name).body_frame


FAILURES: list[tuple[str, Call, type[MbtError], str]] = [
    # Names
    (
        "body name",
        lambda t: t.add_body(RigidBody("ball", M_BBo_B)),
        ArgumentValueError,
        "a body named 'ball' already",
    ),
    (
        "body name that a frame has",
        lambda t: t.add_body(RigidBody("tool", M_BBo_B, t.get_model_instance_by_name("arm"))),
        ArgumentValueError,
        "add_body: there is a frame named 'tool' already",
    ),
    (
        "frame name",
        lambda t: t.add_frame(FixedOffsetFrame("tool", t.get_body_by_name("upper"))),
        ArgumentValueError,
        "there is a frame named 'tool' already in model instance 'arm': <FixedOffsetFrame 'tool'",
    ),
    (
        "frame name empty",
        lambda t: t.add_frame(FixedOffsetFrame("", t.world_body)),
        ArgumentValueError,
        "not empty",
    ),
    (
        "joint name",
        add_joint(name="elbow", child="lower", parent="world"),
        ArgumentValueError,
        "add_joint: there is a joint named 'elbow' already in model instance 'arm': <WeldJoint 'elbow'",
    ),
    (
        "joint name without frames",
        add_joint(name="elbow", child="lower", parent="world", X_PF=None, X_BM=None),
        ArgumentValueError,
        "add_joint: there is a joint named 'elbow' already",
    ),
    (
        "joint name empty",
        add_joint(name=""),
        ArgumentValueError,
        "add_joint: name: expected a name that is not empty",
    ),
    (
        "joint name missing",
        add_joint(name=None),
        ArgumentTypeError,
        "add_joint: name: expected text, got NoneType",
    ),
    (
        "actuator name",
        lambda t: t.add_joint_actuator("motor", t.get_joint_by_name("shoulder")),
        ArgumentValueError,
        "a joint actuator named 'motor' already in model instance 'arm'",
    ),
    (
        "instance name",
        lambda t: t.add_model_instance("arm"),
        ArgumentValueError,
        "add_model_instance: there is a model instance named 'arm' already, <ModelInstance 'arm' index=2",
    ),
    (
        "instance renamed to a name in use",
        lambda t: t.rename_model_instance(2, "DefaultModelInstance"),
        ArgumentValueError,
        "rename_model_instance: there is a model instance named 'DefaultModelInstance' already",
    ),
    # Joints
    (
        "joint to itself",
        add_joint(parent="ball"),
        TopologyError,
        "joint 'j' would connect body 'ball' to itself",
    ),
    (
        "second joint",
        add_joint(parent="lower", child="upper"),
        TopologyError,
        "joint 'arm::j' would connect bodies 'arm::lower' and 'arm::upper', which joint 'arm::elbow' "
        "connects already",
    ),
    (
        "no child",
        add_joint(child=None),
        ArgumentTypeError,
        "joint 'j': child: expected a RigidBody or a Frame, got NoneType",
    ),
    ("bad X_PF", add_joint(X_PF=2 * np.eye(4)), ArgumentValueError, "joint 'j': X_PF: expected a pose"),
    ("bad X_BM", add_joint(X_BM=np.eye(3)), ShapeError, "joint 'j': X_BM: expected shape (4, 4), got (3, 3)"),
    (
        "zero axis",
        add_joint(axis=[0, 0, 0]),
        ArgumentValueError,
        "joint 'j': axis: expected a nonzero vector",
    ),
    ("axis of two", add_joint(axis=[0, 1]), ShapeError, "joint 'j': axis: expected shape (3,), got (2,)"),
    (
        "axis NaN",
        add_joint(axis=[0, 0, np.nan]),
        ArgumentValueError,
        "joint 'j': axis: expected finite numbers",
    ),
    (
        "damping < 0",
        add_joint(damping=-1),
        ArgumentValueError,
        "joint 'j': damping: expected numbers >= 0, got [-1.0]",
    ),
    (
        "damping NaN",
        add_joint(damping=np.nan),
        ArgumentValueError,
        "joint 'j': damping: expected finite numbers",
    ),
    ("damping text", add_joint(damping="1"), ArgumentTypeError, "joint 'j': damping: expected real numbers"),
    (
        "limits",
        add_joint(pos_lower_limit=1, pos_upper_limit=-1),
        ArgumentValueError,
        "joint 'j': position limits: expected lower <= upper, not both inf or -inf, got lower [1.0] and",
    ),
    (
        "limits at infinity",
        add_joint(pos_lower_limit=np.inf, pos_upper_limit=np.inf),
        ArgumentValueError,
        "joint 'j': position limits: expected lower <= upper, not both inf or -inf, got lower [inf]",
    ),
    ("limit NaN", add_joint(pos_upper_limit=np.nan), ArgumentValueError, "joint 'j': position limits"),
    (
        "bad X_FM",
        add_joint(WeldJoint, X_FM=np.zeros((4, 4))),
        ArgumentValueError,
        "joint 'j': X_FM: expected a pose",
    ),
    (
        "floating damping",
        add_joint(QuaternionFloatingJoint, translational_damping=-1),
        ArgumentValueError,
        "joint 'j': damping",
    ),
    # Elements of other trees
    (
        "foreign parent",
        add_joint(parent=other.world_body),
        ForeignElementError,
        "joint 'j': parent: body 'world' belongs to another tree. Use elements of this tree: it has "
        "a body of that name too, tree.get_body_by_name('world')",
    ),
    (
        "new child",
        add_joint(child=RigidBody("new", M_BBo_B)),
        ForeignElementError,
        "joint 'j': child: body 'new' belongs to no tree yet: add it first, with tree.add_body()",
    ),
    (
        "foreign frame in joint",
        lambda t: t.add_joint(WeldJoint("j", other.get_frame_by_name("tool"), body_frame(t, "ball"))),
        ForeignElementError,
        "joint 'j': frame 'tool' belongs to another tree",
    ),
    (
        "new frame in joint",
        lambda t: t.add_joint(WeldJoint("j", FixedOffsetFrame("new", t.world_body), body_frame(t, "ball"))),
        ForeignElementError,
        "joint 'j': frame 'new' belongs to no tree yet: add it first, with tree.add_frame()",
    ),
    (
        "foreign joint",
        lambda t: t.add_joint(other.get_joint_by_name("elbow")),
        ForeignElementError,
        "add_joint: joint 'elbow' belongs to another tree. "
        "Construct a new one for this tree, or remove it there first",
    ),
    (
        "the same joint again",
        lambda t: t.add_joint(t.get_joint_by_name("elbow")),
        ForeignElementError,
        "add_joint: joint 'elbow' belongs to this tree already. Add each element once",
    ),
    (
        "joint between frames on one body",
        lambda t: t.add_joint(WeldJoint("j", body_frame(t, "lower"), t.get_frame_by_name("tool"))),
        TopologyError,
        "joint 'j' would connect body 'lower' to itself: body frame 'lower' and frame 'tool' are both on it",
    ),
    (
        "foreign frame in frame",
        lambda t: t.add_frame(FixedOffsetFrame("f", other.get_frame_by_name("tool"))),
        ForeignElementError,
        "frame 'f': frame 'tool' belongs to another tree",
    ),
    (
        "frame on new body",
        lambda t: t.add_frame(FixedOffsetFrame("f", RigidBody("new", M_BBo_B))),
        ForeignElementError,
        "frame 'f': body frame 'new' belongs to no tree yet: add it first, with tree.add_body()",
    ),
    (
        "foreign frame in mobilizer",
        lambda t: t.add_mobilizer(RevoluteMobilizer(other.world_frame, body_frame(t, "ball"), Z)),
        ForeignElementError,
        "RevoluteMobilizer: body frame 'world' belongs to another tree",
    ),
    (
        "foreign joint in actuator",
        lambda t: t.add_joint_actuator("a", other.get_joint_by_name("shoulder")),
        ForeignElementError,
        "joint actuator 'a': joint 'shoulder' belongs to another tree",
    ),
    # Mobilizers
    (
        "one frame",
        lambda t: t.add_mobilizer(RevoluteMobilizer, t.world_frame, t.world_frame, Z),
        TopologyError,
        "RevoluteMobilizer: expected two different frames, got body frame 'world' for both",
    ),
    (
        "one body",
        lambda t: t.add_mobilizer(WeldMobilizer, body_frame(t, "lower"), t.get_frame_by_name("tool")),
        TopologyError,
        "two different bodies, but body frame 'lower' and frame 'tool' are both on body 'lower'",
    ),
    (
        "axis not unit",
        lambda t: t.add_mobilizer(RevoluteMobilizer, t.world_frame, body_frame(t, "ball"), [0, 0, 1.00001]),
        ArgumentValueError,
        "RevoluteMobilizer: axis_F: expected a unit vector",
    ),
    (
        "mobilizer beside a joint",
        lambda t: t.add_mobilizer(RevoluteMobilizer, t.world_frame, body_frame(t, "upper"), Z),
        TopologyError,
        "would connect bodies 'world' and 'arm::upper', which joint 'arm::shoulder' connects already",
    ),
    (
        "mobilizer's instance",
        lambda t: t.add_mobilizer(WeldMobilizer, t.world_frame, body_frame(t, "ball"), model_instance=7),
        ElementIndexError,
        "model_instance",
    ),
    # Actuators and forces
    (
        "actuator on a weld",
        lambda t: t.add_joint_actuator("a", t.get_joint_by_name("elbow")),
        ArgumentValueError,
        "joint actuator 'a': expected a joint with one degree of freedom, but joint 'elbow' (weld) has 0",
    ),
    (
        "actuator on no joint",
        lambda t: t.add_joint_actuator("a", t.world_body),  # type: ignore[call-overload]
        ArgumentTypeError,
        "joint actuator 'a': joint: expected a Joint, got <RigidBody 'world'",
    ),
    (
        "effort limit",
        lambda t: t.add_joint_actuator("a", t.get_joint_by_name("shoulder"), -1.0),
        ArgumentValueError,
        "joint actuator 'a': effort_limit: expected a number >= 0, got -1.0",
    ),
    (
        "effort limit NaN",
        lambda t: t.add_joint_actuator("a", t.get_joint_by_name("shoulder"), np.nan),
        ArgumentValueError,
        "effort_limit",
    ),
    (
        "rotor inertia",
        lambda t: t.add_joint_actuator(JointActuator, "a", t.get_joint_by_name("shoulder"), rotor_inertia=-1),
        ArgumentValueError,
        "joint actuator 'a': rotor_inertia",
    ),
    (
        "gear ratio",
        lambda t: t.add_joint_actuator("a", t.get_joint_by_name("shoulder"), gear_ratio=np.inf),
        ArgumentValueError,
        "joint actuator 'a': gear_ratio: expected a finite number, got inf",
    ),
    (
        "second gravity",
        lambda t: t.add_force_element(UniformGravityFieldElement()),
        ArgumentValueError,
        "at most one UniformGravityFieldElement",
    ),
    (
        "gravity NaN",
        lambda t: t.add_force_element(UniformGravityFieldElement, [0, 0, np.nan]),
        ArgumentValueError,
        "UniformGravityFieldElement: g_W: expected finite numbers",
    ),
    (
        "slider limit reversed",
        add_joint(PrismaticJoint, axis=Z, pos_lower_limit=0.5, pos_upper_limit=0.4),
        ArgumentValueError,
        "joint 'j': position limits",
    ),
]


@pytest.mark.parametrize(
    ("call", "error", "message"), [f[1:] for f in FAILURES], ids=[f[0] for f in FAILURES]
)
def test_failed_call(call: Call, error: type[MbtError], message: str) -> None:
    tree = make_model()
    before = snapshot(tree)
    with pytest.raises(error) as raised:
        call(tree)
    assert message in str(raised.value)
    assert snapshot(tree) == before
    # And the tree still works: the call succeeds once it is corrected.
    tree.add_joint(RevoluteJoint, "j", tree.world_body, X, tree.get_body_by_name("ball"), X, Z)
    tree.finalize()


def test_failed_finalize_of_a_loop() -> None:
    """
    World -shoulder> upper -elbow> lower <wrist- ball <thread- World
    """
    tree = make_model()
    ball = tree.get_body_by_name("ball")
    tree.add_joint(WeldJoint, "wrist", ball, None, tree.get_body_by_name("lower"), None)
    tree.add_joint(WeldJoint, "thread", tree.world_body, None, ball, None)
    before = snapshot(tree)
    for _ in range(2):
        with pytest.raises(TopologyError) as raised:
            tree.finalize()
        joints = ("arm::shoulder", "arm::elbow", "arm::wrist", "thread")
        for name in (*joints, "arm::upper", "arm::lower", "ball", "world"):
            assert f"'{name}'" in str(raised.value)
        assert snapshot(tree) == before


def test_failed_finalize_of_a_mobilizer_towards_world() -> None:
    tree = make_model()
    extra = tree.add_body(RigidBody("extra", M_BBo_B))
    tree.add_mobilizer(WeldMobilizer(extra.body_frame, body_frame(tree, "upper")))
    before = snapshot(tree)
    with pytest.raises(TopologyError) as raised:
        tree.finalize()
    assert (
        "mobilizer 'upper': its outboard body 'arm::upper' is nearer World than its inboard body 'extra'"
        in str(raised.value)
    )
    assert snapshot(tree) == before


def test_failed_setters_of_a_joint() -> None:
    joint = make_model().get_joint_by_name("shoulder")
    assert isinstance(joint, RevoluteJoint)
    joint.set_position_limits([-1], [1]).set_velocity_limits([-2], [2]).set_default_positions([0.5])
    for call in (
        lambda: joint.set_position_limits([2], [1]),
        lambda: joint.set_velocity_limits([-1], [1, 2]),
        lambda: joint.set_acceleration_limits([np.nan], [1]),
        lambda: joint.set_default_positions([np.nan]),
        lambda: joint.set_default_angle("zero"),  # type: ignore[arg-type]
        lambda: joint.set_default_damping(-1),
    ):
        with pytest.raises(MbtError, match="joint 'shoulder'"):
            call()
    assert (joint.position_lower_limit, joint.position_upper_limit) == (-1, 1)
    assert (joint.velocity_lower_limit, joint.velocity_upper_limit) == (-2, 2)
    assert joint.acceleration_upper_limits.tolist() == [np.inf]
    assert joint.default_angle == 0.5
    assert joint.default_damping == 0.0


def test_a_frame_that_has_the_name_a_joint_needs() -> None:
    tree = make_model()
    world, ball = tree.world_body, tree.get_body_by_name("ball")
    tree.add_frame(FixedOffsetFrame("rail_child", ball, X))
    before = snapshot(tree)
    with pytest.raises(ArgumentValueError) as caught:
        tree.add_joint(PrismaticJoint, "rail", world, X, ball, X, Z)
    assert "joint 'rail' needs a frame 'rail_child', but there is a frame named" in str(caught.value)
    assert snapshot(tree) == before
