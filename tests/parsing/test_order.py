"""Index, row and velocity order agree, whatever the order of the file."""

import random
from contextlib import nullcontext

import numpy as np
import pytest

import mbt
from support.urdf_texts import joint, link, robot, transmission

KINDS = ("continuous", "continuous", "prismatic", "fixed", "planar")
LIMITS = '<axis xyz="0 1 0"/><limit lower="-1" upper="1"/>'


def random_robot(rng, *, roots=1, name="bot"):
    """A forest of random joints, its elements in random order."""
    count = rng.randrange(roots, 12)
    parts, drives = [], []
    for i in range(count):
        mass = 1.0 + rng.random()
        parts.append(link(f"l{i}", mass, origin=f'<origin xyz="{rng.random()} 0.1 {rng.random()}"/>'))
        if i >= roots:
            kind = rng.choice(KINDS)
            parts.append(joint(f"j{i}", f"l{rng.randrange(i)}", f"l{i}", kind, LIMITS))
            if kind in ("continuous", "prismatic"):
                drives.append(transmission(f"j{i}"))
    parts += drives
    rng.shuffle(parts)
    return robot(*parts, name=name)


def warned_of_roots(roots):
    """Expect a warning if there are several roots."""
    return pytest.warns(mbt.ModelWarning, match="no joint connects") if roots > 1 else nullcontext()


def check_order(tree):
    """Bodies by row, joints and actuators by velocity; each joint moves the next body."""
    assert [body.node_index for body in tree.bodies] == list(range(tree.num_bodies))
    held = [joint for joint in tree.joints if not joint.is_ephemeral]
    starts = [joint.velocity_start for joint in held if joint.num_velocities]
    assert starts == sorted(starts)
    driven = [actuator.joint.velocity_start for actuator in tree.joint_actuators]
    assert driven == sorted(driven)
    rows = [max(joint.parent_body.node_index, joint.child_body.node_index) for joint in held]
    assert rows == sorted(rows)


@pytest.mark.parametrize("actuators", ["declared", "all"])
@pytest.mark.parametrize("seed", range(40))
def test_random_orders(seed, actuators):
    rng = random.Random(seed)
    base, roots = rng.choice(["fixed", "floating", None]), rng.choice([1, 1, 2, 3])
    with warned_of_roots(roots):
        tree = mbt.load_model(random_robot(rng, roots=roots), base=base, actuators=actuators)
    check_order(tree)


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("seed", range(10))
def test_several_models_in_one_tree(seed, base):
    rng = random.Random(seed)
    tree = mbt.MultibodyTree()
    for i in range(3):
        roots = rng.choice([1, 2])
        with warned_of_roots(roots):
            mbt.parsing.add_model(tree, random_robot(rng, roots=roots, name=f"bot{i}"), base=base)
    tree.finalize()
    check_order(tree)


@pytest.mark.parametrize("seed", range(10))
def test_the_order_of_a_file_changes_no_result(seed):
    """The same robot with its lines shuffled has the same mass matrix, by joint names."""
    rng = random.Random(seed)
    text = random_robot(rng)
    head, *parts, tail = text.split("\n")
    rng.shuffle(parts)
    first, second = (mbt.load_model(text), mbt.load_model("\n".join([head, *parts, tail])))
    q = {
        name: [0.1 * i + 0.1] * first.get_joint_by_name(name).num_positions
        for i, name in enumerate(names(first))
    }
    matrices = []
    for tree in (first, second):
        check_order(tree)
        order = [n for name in sorted(names(first)) for n in velocities(tree.get_joint_by_name(name))]
        M = mbt.functional.mass_matrix(tree, tree.q_from_dict(q))
        matrices.append(M[np.ix_(order, order)])
    np.testing.assert_allclose(*matrices, atol=1e-13)


def names(tree):
    return [joint.name for joint in tree.joints if joint.num_velocities]


def velocities(joint):
    return range(joint.velocity_start, joint.velocity_start + joint.num_velocities)


def test_children_come_in_the_order_of_the_file():
    text = robot(
        link("tip_of_b"),
        link("b"),
        link("a"),
        link("base"),
        joint("base_to_b", "base", "b"),
        joint("b_to_tip", "b", "tip_of_b"),
        joint("base_to_a", "base", "a"),
        transmission("b_to_tip"),
        transmission("base_to_a"),
        transmission("base_to_b"),
    )
    tree = mbt.load_model(text)
    assert [body.name for body in tree.bodies[1:]] == ["base", "b", "tip_of_b", "a"]
    assert [joint.name for joint in tree.joints] == ["base_to_world", "base_to_b", "b_to_tip", "base_to_a"]
    assert [actuator.joint.name for actuator in tree.joint_actuators] == [
        "base_to_b",
        "b_to_tip",
        "base_to_a",
    ]


def test_actuation_drives_the_joint_of_its_place():
    """A common use: with a motor on each joint, pass torques in the order of v as the actuation."""
    parts = [link(f"l{i}", 1.0 + i) for i in range(6)]
    parts += [
        joint(f"j{i}", f"l{parent}", f"l{i}", inside=LIMITS) for i, parent in enumerate([0, 0, 1, 2, 1], 1)
    ]
    parts += [transmission(f"j{i}") for i in (4, 2, 5, 1, 3)]
    tree = mbt.load_model(robot(*parts[::-1]), gravity=None)
    context = tree.create_default_context()
    tau = np.arange(1.0, 6.0)
    by_argument = tree.calc_forward_dynamics(context, tau)
    context.actuation = tau
    np.testing.assert_allclose(tree.calc_forward_dynamics(context), by_argument, rtol=1e-13)


def test_world_in_the_midst_of_a_model():
    """Whatever hangs on World comes first, even if its joint points towards World."""
    text = robot(
        link("loose"),
        link("tip"),
        link("arm"),
        joint("tip_joint", "arm", "tip"),
        joint("foot", "arm", "world"),
    )
    with pytest.warns(mbt.ModelWarning, match="no joint connects 2 parts of the model.*World, 'loose'"):
        tree = mbt.load_model(text)
    check_order(tree)
    assert [body.name for body in tree.bodies] == ["world", "arm", "tip", "loose"]
