"""Using one Context from two threads at once raises and does no harm; threads may share a tree."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mbt


class Waiting(mbt.ForceElement):
    """A force element during whose computation other threads get their turn."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun = threading.Event()
        self.may_end = threading.Event()

    def do_declare_parameters(self) -> None:
        self.declare_numeric_parameter([1.0])

    def do_declare_discrete_state(self) -> None:
        self.declare_discrete_state([1.0])

    def do_calc_and_add_force_contribution(self, context: Any, pc: Any, vc: Any, forces: Any) -> None:
        self._wait()
        forces.generalized_forces[..., 0] += 1.0

    def do_calc_potential_energy(self, context: Any, pc: Any) -> Any:
        self._wait()
        return 0.0 * context.q[..., 0]

    def _wait(self) -> None:
        self.has_begun.set()
        assert self.may_end.wait(30)


def make_tree() -> tuple[mbt.MultibodyTree, Waiting]:
    tree = mbt.MultibodyTree()
    ball = tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_joint(
        mbt.RevoluteJoint,
        "pin",
        tree.world_body,
        None,
        ball,
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]],
        axis=[0, 1, 0],
    )
    tree.add_joint_actuator("motor", tree.get_joint_by_name("pin"))
    element = tree.add_force_element(Waiting())
    tree.finalize()
    return tree, element


@contextmanager
def computing(element: Waiting, call: Callable[[], Any]) -> Iterator[list[Any]]:
    """Keep another thread within a call until the block ends; then return its result."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(call()))
    element.may_end.clear()
    element.has_begun.clear()
    thread.start()
    try:
        assert element.has_begun.wait(30)
        yield results
    finally:
        element.may_end.set()
        thread.join()


SHAPES = [(), (3,)]
USES: dict[str, Callable[[mbt.MultibodyTree, Any], Any]] = {
    "calc_mass_matrix": lambda tree, c: tree.calc_mass_matrix(c),
    "calc_forward_dynamics": lambda tree, c: tree.calc_forward_dynamics(c),
    "eval_position_kinematics": lambda tree, c: tree.eval_position_kinematics(c),
    "eval_pose": lambda tree, c: tree.bodies[1].eval_pose_in_world(c),
    "q": lambda tree, c: setattr(c, "q", [2.0]),
    "v": lambda tree, c: setattr(c, "v", [2.0]),
    "time": lambda tree, c: setattr(c, "time", 2.0),
    "actuation": lambda tree, c: setattr(c, "actuation", [2.0]),
    "applied_forces": lambda tree, c: setattr(c, "applied_forces", mbt.MultibodyForces(tree, c.batch_shape)),
    "set_mass": lambda tree, c: tree.bodies[1].set_mass(c, 2.0),
    "set_numeric_parameter": lambda tree, c: c.set_numeric_parameter(0, [3.0]),
    "set_discrete_state": lambda tree, c: c.set_discrete_state(0, [3.0]),
    "lock": lambda tree, c: tree.joints[0].lock(c),
    "set_positions": lambda tree, c: tree.set_positions(c, np.full((*c.batch_shape, 1), 2.0)),
    "set_default_context": lambda tree, c: tree.set_default_context(c),
    "clone": lambda tree, c: c.clone(),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", USES)
def test_a_second_thread_is_refused(name: str, shape: tuple[int, ...]) -> None:
    tree, element = make_tree()
    context = tree.create_default_context(shape)
    context.q = [0.5]
    element.may_end.set()
    wanted, state = tree.calc_forward_dynamics(context), pickle.dumps(context._get_state())
    element.has_begun.clear()
    with (
        computing(element, lambda: tree.calc_forward_dynamics(context)) as results,
        pytest.raises(mbt.ConcurrentUseError, match="one Context per thread"),
    ):
        USES[name](tree, context)
    # Neither call has changed anything.
    np.testing.assert_array_equal(results, [wanted])
    assert pickle.dumps(context._get_state()) == state
    np.testing.assert_array_equal(tree.calc_forward_dynamics(context), wanted)
    # And the Context is free again.
    element.may_end.set()
    USES[name](tree, context)


def test_mobilizers_of_a_batch_keep_others_out() -> None:
    """With a batch they compute for longer; with one state they only read positions, once."""
    tree, element = make_tree()
    context = tree.create_default_context(3)
    with (
        computing(element, lambda: tree.calc_forward_dynamics(context)),
        pytest.raises(mbt.ConcurrentUseError),
    ):
        tree.mobilizers[0].calc_n_matrix(context)


FORK = """
import os, sys, threading
sys.path.insert(0, sys.argv[1])
from hygiene.test_concurrent_use import computing, make_tree
tree, element = make_tree()
context = tree.create_default_context(int(sys.argv[2]) or ())
with computing(element, lambda: tree.calc_forward_dynamics(context)):
    child = os.fork()
    if child == 0:
        tree.calc_mass_matrix(context)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork()")
@pytest.mark.parametrize("size", [0, 3])
def test_a_forked_child_has_a_free_context(size: int) -> None:
    """The thread that was computing does not exist in the child."""
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-W", "ignore", "-c", FORK, tests, str(size)]
    subprocess.run(command, check=True, timeout=60)


FORK_WITHIN = """
import os, sys, threading
import mbt

class Forking(mbt.ForceElement):
    def do_calc_and_add_force_contribution(self, context, pc, vc, forces):
        if not done:
            done.append(os.fork())
            if done[0] == 0 and sys.argv[1] == "within":
                thread = threading.Thread(target=tree.calc_mass_matrix, args=[context])
                thread.start()
                thread.join()

done = []
tree = mbt.MultibodyTree()
tree.add_body(mbt.RigidBody("ball", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
tree.add_force_element(Forking())
tree.finalize()
context = tree.create_default_context()
tree.calc_forward_dynamics(context)
errors = []

def use():
    try:
        tree.calc_forward_dynamics(context)
    except Exception as error:
        errors.append(error)

for _ in range(2):
    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
use()
if done[0] == 0:
    os._exit(7 if not errors else 1)
assert not errors, errors
assert os.waitstatus_to_exitcode(os.waitpid(done[0], 0)[1]) == 7
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork()")
@pytest.mark.parametrize("when", ["within", "behind"])
def test_a_child_forked_within_a_computation_has_a_free_context(when: str) -> None:
    """Whichever thread of the child computes next, even while the rest of that computation runs."""
    command = [sys.executable, "-W", "ignore", "-c", FORK_WITHIN, when]
    subprocess.run(command, check=True, timeout=60)


@pytest.mark.parametrize("shape", SHAPES)
def test_energies_and_cache_entries_keep_others_out(shape: tuple[int, ...]) -> None:
    tree, element = make_tree()
    context = tree.create_default_context(shape)
    with (
        computing(element, lambda: tree.calc_potential_energy(context)),
        pytest.raises(mbt.ConcurrentUseError),
    ):
        tree.calc_kinetic_energy(context)
    with (
        computing(element, lambda: element.calc_potential_energy(context)),
        pytest.raises(mbt.ConcurrentUseError),
    ):
        tree.calc_kinetic_energy(context)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_tree_and_other_contexts_are_free(shape: tuple[int, ...]) -> None:
    tree, element = make_tree()
    context, other = tree.create_default_context(shape), tree.create_default_context(shape)
    with computing(element, lambda: tree.calc_forward_dynamics(context)):
        assert tree.calc_mass_matrix(other).shape == (*shape, 1, 1)
        mbt.functional.mass_matrix(tree, [0.0])


@pytest.mark.parametrize("shape", SHAPES)
def test_an_error_frees_the_context(shape: tuple[int, ...]) -> None:
    tree, element = make_tree()
    context = tree.create_default_context(shape)
    element.do_calc_and_add_force_contribution = None  # type: ignore[method-assign, assignment]
    with pytest.raises(TypeError):
        tree.calc_forward_dynamics(context)
    thread = threading.Thread(target=lambda: setattr(context, "q", [0.25]))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(context.q, np.full((*shape, 1), 0.25))


def test_a_large_batch_is_kept_from_others() -> None:
    """Its kernels run without the GIL: the other thread gets an error or the right result."""
    tree = mbt.MultibodyTree()
    parent = tree.world_body
    for i in range(10):
        body = tree.add_body(mbt.RigidBody(f"b{i}", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
        tree.add_joint(
            mbt.RevoluteJoint, f"j{i}", parent, None, body, mbt.math.make_pose([0, 0, 1]), axis=[0, 1, 0]
        )
        parent = body
    tree.finalize()
    context = tree.create_default_context(20000)
    states = np.linspace(0.0, 1.0, 5)
    wanted = [tree.calc_mass_matrix(_at(tree, q)) for q in states]
    errors, wrong = [], []
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for q in states:
                try:
                    context.q = np.full(10, q)
                except mbt.ConcurrentUseError as error:
                    errors.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    out = np.empty((20000, 10, 10))
    for _ in range(30):
        try:
            tree.calc_mass_matrix(context, out=out)
        except mbt.ConcurrentUseError as error:
            errors.append(error)
        else:
            if not any(np.allclose(out, M) for M in wanted):
                wrong.append(out.copy())
    stop.set()
    thread.join()
    assert not wrong
    assert errors


def _at(tree: mbt.MultibodyTree, q: float) -> mbt.Context:
    context = tree.create_default_context()
    context.q = np.full(tree.num_positions, q)
    return context


def test_one_of_several_threads_finalizes() -> None:
    """The tree is finalized once; other threads get an error that says so."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(60):
            tree = mbt.MultibodyTree()
            for i in range(20):
                ball = tree.add_body(mbt.RigidBody(f"b{i}", mbt.SpatialInertia.point_mass(1.0, [0, 0, 0.1])))
                tree.add_joint(mbt.RevoluteJoint, f"j{i}", tree.world_body, None, ball, None, axis=[1, 0, 0])
            outcomes: list[object] = []

            def finalize(tree: mbt.MultibodyTree = tree, outcomes: list[object] = outcomes) -> None:
                try:
                    outcomes.append(tree.finalize())
                except mbt.MbtError as error:
                    outcomes.append(type(error))

            threads = [threading.Thread(target=finalize) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert outcomes.count(None) == 1
            assert set(outcomes) <= {None, mbt.ConcurrentUseError, mbt.AlreadyFinalizedError}
            assert (len(tree.mobilizers), tree.num_positions) == (20, 20)
            assert tree.calc_mass_matrix(tree.create_default_context()).shape == (20, 20)
    finally:
        sys.setswitchinterval(interval)
