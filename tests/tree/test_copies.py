"""Clones, deep copies and pickles of trees and elements: everything comes back, and is independent."""

from __future__ import annotations

import copy
import pickle
import pickletools
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np
import pytest

import mbt
from support.build import build_tree
from support.copies import COPIERS, Copier, all_elements, by_pickle, model, some_state
from support.element_cases import ELEMENT_CASES, get_element_case
from support.element_trees import build_element_tree
from support.force_element_types import make_everything
from support.joint_types import random_state
from support.random_trees import CATALOGUE
from support.user_elements import Flange, NamedGravity, Robot, Sensor


@pytest.fixture(params=COPIERS.values(), ids=COPIERS)
def copier(request: pytest.FixtureRequest) -> Copier:
    return request.param  # type: ignore[no-any-return]


def attributes(thing: object) -> dict[str, Any]:
    """Attributes of an element in a comparable form: elements by kind and index."""

    def plain(value: Any) -> Any:
        if isinstance(value, mbt.MultibodyElement):
            return (type(value).__name__, value.kind, value._index)
        if isinstance(value, mbt.MultibodyTree):
            return "tree"
        if isinstance(value, np.ndarray):
            return (value.tolist(), value.flags.writeable)
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        return value

    return {name: plain(value) for name, value in vars(thing).items()}


@pytest.fixture(scope="module")
def deep_tree() -> mbt.MultibodyTree:
    tree = mbt.MultibodyTree()
    body = tree.world_body
    frame: mbt.Frame = tree.world_frame
    inertia = mbt.SpatialInertia.point_mass(1.0, [1.0, 0.0, 0.0])
    for i in range(3 * sys.getrecursionlimit()):
        link = tree.add_body(mbt.RigidBody(f"link{i}", inertia))
        tree.add_joint(mbt.RevoluteJoint, f"joint{i}", body, None, link, None, axis=[0, 0, 1])
        frame = tree.add_frame(mbt.FixedOffsetFrame(f"frame{i}", frame))
        body = link
    tree.finalize()
    return tree


class TestTrees:
    @pytest.mark.parametrize("shape", CATALOGUE)
    def test_every_shape_computes_the_same(self, shape: str, copier: Copier) -> None:
        tree = build_tree(CATALOGUE[shape]())
        twin = copier(tree)
        q = np.random.default_rng(1).normal(size=tree.num_positions)
        np.testing.assert_array_equal(
            mbt.functional.mass_matrix(twin, q), mbt.functional.mass_matrix(tree, q)
        )

    def test_every_joint_and_force_element(self, copier: Copier) -> None:
        tree = make_everything()
        context = random_state(tree, np.random.default_rng(3))
        twin_tree, twin = copier((tree, context))
        np.testing.assert_array_equal(
            twin_tree.calc_forward_dynamics(twin), tree.calc_forward_dynamics(context)
        )
        np.testing.assert_array_equal(
            twin_tree.calc_reaction_forces(twin), tree.calc_reaction_forces(context)
        )
        assert twin_tree.calc_potential_energy(twin) == tree.calc_potential_energy(context)
        assert [repr(e) for e in all_elements(twin_tree)] == [repr(e) for e in all_elements(tree)]

    @pytest.mark.parametrize("case", ELEMENT_CASES)
    def test_reference_models(self, case: str) -> None:
        tree = build_element_tree(get_element_case(case).description)
        context = tree.create_default_context()
        twin_tree, twin = by_pickle((tree, context))
        clone = tree.clone()
        for copied, state in ((twin_tree, twin), (clone, clone.create_default_context())):
            for calc in ("calc_bias_term", "calc_mass_matrix", "calc_gravity_generalized_forces"):
                np.testing.assert_array_equal(getattr(copied, calc)(state), getattr(tree, calc)(context))

    @pytest.mark.parametrize("finalize", [True, False])
    def test_everything_comes_back(self, finalize: bool, copier: Copier) -> None:
        tree = model(finalize=finalize)
        tree.add_model_instance("spare") if not finalize else None
        twin = copier(tree)
        assert twin is not tree
        assert repr(twin) == repr(tree)
        ours, theirs = all_elements(tree), all_elements(twin)
        assert len(ours) == len(theirs) > 20
        for one, other in zip(ours, theirs, strict=True):
            assert other is not one
            assert other.parent_tree is twin
            assert repr(other) == repr(one)
            assert attributes(other) == attributes(one)
        assert twin.topology == tree.topology if finalize else not twin.is_finalized
        assert twin.num_model_instances == tree.num_model_instances
        assert twin.get_body_by_name("body3") is twin.bodies[tree.get_body_by_name("body3").index]

    def test_a_copy_of_an_unfinalized_tree_goes_its_own_way(self, copier: Copier) -> None:
        tree = model(finalize=False)
        twin = copier(tree)
        body = twin.add_body(mbt.RigidBody("extra", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        twin.add_joint(mbt.RevoluteJoint, "hinge", twin.world_body, None, body, None, axis=[0, 0, 1])
        with pytest.raises(mbt.TopologyError, match="connects already"):
            twin.add_joint(mbt.WeldJoint, "again", body, None, twin.world_body, None)
        twin.finalize()
        assert not tree.is_finalized
        assert not tree.has_body_named("extra")
        tree.finalize()
        assert twin.num_velocities == tree.num_velocities + 1

    def test_a_pickle_has_nothing_compiled(self) -> None:
        tree = model()
        some_state(tree)
        loaded = by_pickle(tree)
        assert loaded._compiled is None
        assert loaded.is_finalized
        # Nor does it name a compiled module.
        names = {
            argument for _, argument, _ in pickletools.genops(pickle.dumps(tree)) if isinstance(argument, str)
        }
        assert not [name for name in names if name.startswith("mbt._core")]

    def test_what_compiles_a_copy(self) -> None:
        q, v = np.zeros(1), np.zeros(1)
        tree = build_tree(CATALOGUE["one_revolute"]())
        for use in (
            lambda t: t.create_default_context(),
            lambda t: mbt.Context(t),
            lambda t: mbt.functional.mass_matrix(t, q),
            lambda t: mbt.functional.inverse_dynamics(t, q, v, v),
            lambda t: t.set_default_context(t.create_default_context()),
        ):
            twin = tree.clone()
            assert twin._compiled is None
            use(twin)
            assert twin._compiled is not None
        with pytest.raises(mbt.NotFinalizedError):
            mbt.functional.mass_matrix(model(finalize=False).clone(), q)

    def test_threads_may_share_a_copy_at_once(self) -> None:
        tree = model()
        q = np.random.default_rng(1).normal(size=tree.num_positions)
        desired = mbt.functional.mass_matrix(tree, q)
        num_threads = 8
        for _ in range(5):
            twin, barrier = tree.clone(), threading.Barrier(num_threads)

            def work(twin: mbt.MultibodyTree = twin, barrier: threading.Barrier = barrier) -> mbt.Context:
                barrier.wait()
                np.testing.assert_array_equal(mbt.functional.mass_matrix(twin, q), desired)
                return twin.create_default_context()

            with ThreadPoolExecutor(num_threads) as pool:
                contexts = [f.result() for f in [pool.submit(work) for _ in range(num_threads)]]
            # All of them belong to one compiled tree.
            pc = twin.calc_position_kinematics_cache(contexts[0])
            for context in contexts:
                twin.calc_position_kinematics_cache(context, pc)

    def test_a_copied_tree_stays_finalized(self, copier: Copier) -> None:
        twin = copier(model())
        with pytest.raises(mbt.AlreadyFinalizedError):
            twin.add_model_instance("late")
        with pytest.raises(mbt.AlreadyFinalizedError):
            twin.finalize()
        with pytest.raises(mbt.AlreadyFinalizedError):
            twin.__init__()

    def test_shallow_copy_is_a_clone(self) -> None:
        tree = model()
        twin = copy.copy(tree)
        assert twin.bodies[1].parent_tree is twin
        assert twin.bodies[1] is not tree.bodies[1]

    def test_parse_reports_and_names_survive(self, copier: Copier) -> None:
        text = (
            '<robot name="r"><link name="base"/><link name="tip"><visual/></link>'
            '<joint name="j" type="fixed"><parent link="base"/><child link="tip"/><surprise/></joint></robot>'
        )
        tree = mbt.load_model(text)
        twin = copier(tree)
        assert twin.parse_reports == tree.parse_reports
        assert twin.parse_reports[0] is not tree.parse_reports[0]
        assert twin.get_body_by_name("tip").scoped_name == tree.get_body_by_name("tip").scoped_name

    @pytest.mark.parametrize(
        ("start", "copier"),
        [*product(("tree", "body", "joint"), (by_pickle, copy.deepcopy)), ("context", by_pickle)],
    )
    def test_depth_does_not_matter(self, start: str, copier: Copier, deep_tree: mbt.MultibodyTree) -> None:
        tree = deep_tree
        if start == "tree":
            twin = copier(tree)
        elif start == "context":
            twin = copier(tree.create_default_context()).tree
        else:
            twin = copier(tree.bodies[-1] if start == "body" else tree.joints[-1]).parent_tree
        assert twin.tree_height == len(tree.bodies)
        assert twin.frames[-1].body is twin.world_body
        assert twin.joints[-1].parent_body is twin.bodies[-2]


class TestElements:
    @pytest.mark.parametrize("finalize", [True, False])
    @pytest.mark.parametrize("kind", ["bodies", "frames", "joints", "force_elements", "joint_actuators"])
    def test_an_element_brings_its_tree(self, kind: str, finalize: bool, copier: Copier) -> None:
        tree = model(finalize=finalize)
        element = getattr(tree, kind)[-1]
        twin = copier(element)
        assert type(twin) is type(element)
        assert twin is getattr(twin.parent_tree, kind)[-1]
        assert repr(twin.parent_tree) == repr(tree)
        assert twin.name == element.name

    def test_mobilizers(self, copier: Copier) -> None:
        tree = model()
        twin = copier(tree.mobilizers[3])
        assert twin is twin.parent_tree.mobilizers[3]
        assert twin.joint is twin.parent_tree.joints[tree.mobilizers[3].joint.index]
        assert twin.outboard_body.inboard_mobilizer is twin

    def test_elements_of_two_trees(self, copier: Copier) -> None:
        a, b = model(), model(finalize=False)
        a1, b1, a2, b2 = copier([a.bodies[1], b.joints[0], a.frames[2], b.bodies[4]])
        assert a1.parent_tree is a2.parent_tree
        assert b1.parent_tree is b2.parent_tree
        assert a1.parent_tree is not b1.parent_tree
        assert a1 is a1.parent_tree.bodies[1]
        assert b1 is b1.parent_tree.joints[0]

    def test_the_world_frame_alone(self, copier: Copier) -> None:
        frame = copier(mbt.MultibodyTree().world_frame)
        assert frame.is_world_frame
        assert frame.body.body_frame is frame

    def test_an_element_without_a_tree(self, copier: Copier) -> None:
        body = mbt.RigidBody("loose", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1))
        twin = copier(body)
        assert not twin.has_parent_tree
        assert twin.body_frame is not body.body_frame
        assert twin.body_frame.body is twin
        tree = mbt.MultibodyTree()
        tree.add_body(twin)
        assert body.default_spatial_inertia == twin.default_spatial_inertia
        assert not body.has_parent_tree

    def test_a_joint_that_is_not_added_yet(self, copier: Copier) -> None:
        tree = mbt.MultibodyTree()
        link = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        joint = mbt.RevoluteJoint("hinge", tree.world_frame, link.body_frame, [0, 0, 2])
        twin = copier(joint)
        copied_tree = twin.child_body.parent_tree
        assert copied_tree is not tree
        copied_tree.add_joint(twin)
        assert copied_tree.num_joints == 1
        with pytest.raises(ValueError, match="read-only"):
            twin.revolute_axis[0] = 1.0

    def test_shallow_copies(self) -> None:
        tree = mbt.MultibodyTree()
        body = mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1))
        twin = copy.copy(body)
        assert twin.body_frame.body is twin
        tree.add_body(body)
        with pytest.raises(mbt.ForeignElementError, match=r"'link'.*tree\.clone\(\)"):
            copy.copy(body)
        joint = mbt.RevoluteJoint("hinge", tree.world_frame, body.body_frame, [0, 0, 1])
        assert copy.copy(joint).frame_on_child is body.body_frame

    def test_read_only_arrays_stay_so(self, copier: Copier) -> None:
        twin = copier(model())
        for array in (
            twin.joints[1].revolute_axis if hasattr(twin.joints[1], "revolute_axis") else np.zeros(0),
            *(joint.default_positions for joint in twin.joints),
            *(joint.position_lower_limits for joint in twin.joints),
            *(joint.default_damping_vector for joint in twin.joints),
            *(body.default_com for body in twin.bodies),
            twin.gravity_field.gravity_vector,
        ):
            assert not array.flags.writeable or array.size == 0


class TestUserElements:
    @pytest.fixture(params=[True, False], ids=["finalized", "unfinalized"])
    def robot(self, request: pytest.FixtureRequest) -> Robot:
        robot = Robot("0815")
        link = robot.add_body(mbt.RigidBody("link", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        joint = robot.add_joint(mbt.RevoluteJoint, "j", robot.world_body, None, link, None, axis=[1, 0, 0])
        flange = robot.add_frame(Flange("flange", link, 6))
        flange.scratch = None
        robot.tool = robot.add_frame(Sensor("sensor", flange))
        robot.add_force_element(NamedGravity("Mars", [joint], {"tree": robot, "frames": {robot.tool: 3}}))
        if request.param:
            robot.finalize()
        return robot

    def test_attributes_come_back(self, robot: Robot, copier: Copier) -> None:
        twin = copier(robot)
        assert type(twin) is Robot
        assert twin.serial_number == "0815"
        assert type(twin.tool) is Sensor
        assert twin.tool is twin.get_frame_by_name("sensor")
        assert next(twin.tool.handle) == 0
        assert twin.tool.parent_frame.bolts == 6
        gravity = twin.gravity_field
        assert type(gravity) is NamedGravity
        assert gravity.planet == "Mars"
        assert gravity.joints == [twin.joints[0]]
        assert gravity.joints is not robot.gravity_field.joints
        assert gravity.by_joint == {twin.joints[0]: 0}
        assert gravity.notes == {"tree": twin, "frames": {twin.tool: 3}}
        assert gravity.myself is gravity
        assert gravity.pair[0] is gravity.pair[1] is gravity.table
        assert not gravity.table.flags.writeable

    def test_any_of_them_may_come_first(self, robot: Robot, copier: Copier) -> None:
        for element in (robot.gravity_field, robot.tool, robot.joints[0]):
            assert element is not None
            twin = copier(element)
            assert twin.parent_tree.gravity_field.joints[0] is twin.parent_tree.joints[0]

    def test_what_pickles_itself_another_way_is_told(self, robot: Robot) -> None:
        class Stubborn(mbt.FixedOffsetFrame):
            def __reduce__(self) -> Any:
                return Stubborn, (self.name, self.parent_frame)

        if not robot.is_finalized:
            robot.add_frame(Stubborn("stubborn", robot.world_frame))
            with pytest.raises(mbt.ArgumentTypeError, match=r"'stubborn'.*__getstate__"):
                robot.clone()

    def test_a_state_without_attributes_is_told(self) -> None:
        class Odd(mbt.FixedOffsetFrame):
            def __getstate__(self) -> Any:
                return ["odd"]

        tree = mbt.MultibodyTree()
        tree.add_frame(Odd("odd", tree.world_frame))
        tree.finalize()
        for copied in (tree.clone, tree.to_autodiff, lambda: copy.deepcopy(tree), lambda: pickle.dumps(tree)):
            with pytest.raises(mbt.ArgumentTypeError, match=r"^frame 'odd': Odd.__getstate__ returned list"):
                copied()

    def test_an_element_that_keeps_a_context(self, robot: Robot) -> None:
        if not robot.is_finalized:
            return
        robot.gravity_field.notes["context"] = robot.create_default_context()
        twin = copy.deepcopy(robot)
        assert twin.gravity_field.notes["context"].tree is twin
        twin.calc_mass_matrix(twin.gravity_field.notes["context"])
        with pytest.raises(mbt.ArgumentValueError, match="__getstate__"):
            by_pickle(robot)


class TestFamilies:
    def test_variants(self) -> None:
        tree = model()
        twin, loaded = tree.clone(), by_pickle(tree)
        for other in (twin, loaded, twin.clone(), tree):
            for element in all_elements(tree):
                variant = other.get_variant(element)
                assert variant.parent_tree is other
                assert repr(variant) == repr(element)
                assert tree.get_variant(variant) is element

    def test_strangers(self) -> None:
        tree, same_again = model(), model()
        with pytest.raises(mbt.ForeignElementError, match=r"'body1'.*neither a clone"):
            tree.get_variant(same_again.get_body_by_name("body1"))
        with pytest.raises(mbt.ForeignElementError, match="no tree yet"):
            tree.get_variant(mbt.RigidBody("loose", mbt.SpatialInertia.zero()))
        with pytest.raises(mbt.ArgumentTypeError, match="element"):
            tree.get_variant("body1")

    def test_an_unfinalized_tree_has_no_variants(self) -> None:
        tree = model(finalize=False)
        twin = tree.clone()
        with pytest.raises(mbt.NotFinalizedError, match="this tree"):
            tree.get_variant(twin.bodies[0])
        tree.finalize()
        with pytest.raises(mbt.NotFinalizedError, match="world"):
            tree.get_variant(twin.bodies[0])
        twin.finalize()
        # Each might have been given other elements in between.
        with pytest.raises(mbt.ForeignElementError):
            tree.get_variant(twin.bodies[0])
