"""Strange but legal Python must return or raise, never crash the interpreter.

Each case runs in a process of its own: a crash is then one failed test.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PRELUDE = """
import copy, pickle, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
import mbt
from support.case import get_case
case = get_case("mixed8")
tree, context = case.tree, case.context(case.state())
q, v, ones = case.state().q, case.state().v, np.ones(case.tree.num_velocities)
desired = tree.calc_mass_matrix(context).copy()
def refused(f):
    try:
        f()
    except Exception:
        return
    raise AssertionError("not refused")
"""

CASES = {
    "context of an unfinished tree": """
refused(lambda: mbt.Context(mbt.MultibodyTree()))
""",
    "context of something else": """
for thing in (None, 3, "tree", object()):
    refused(lambda: mbt.Context(thing))
""",
    "context without constructor": """
try:
    empty = mbt.Context.__new__(mbt.Context)
except TypeError:
    sys.exit()
refused(lambda: tree.calc_mass_matrix(empty))
refused(lambda: setattr(empty, "q", q))
""",
    "context constructed twice": """
for name in ("mixed40", "one_floating", "mixed8"):
    other = get_case(name)
    try:
        context.__init__(other.tree)
    except Exception:
        pass
    if context.tree is not other.tree:
        continue
    for _ in range(50):
        context.q, context.v = other.state().q, other.state().v
        V_WB = other.tree.eval_velocity_kinematics(context).V_WB
        fresh = other.context(other.state())
        np.testing.assert_array_equal(V_WB, other.tree.eval_velocity_kinematics(fresh).V_WB)
        del V_WB
        other.tree.calc_coriolis_matrix(context)
""",
    "resized state": """
for size in (1, 10**6):
    for name in ("q", "v", "actuation"):
        # Nobody else holds the array now, so that NumPy allows it.
        try:
            getattr(context, name).resize(size)
        except ValueError:
            pass
        for _ in range(50):
            context.q, context.v = q, v
            junk = [np.full(n, np.nan) for n in range(1, 30)]
        np.testing.assert_array_equal(context.q, q)
        np.testing.assert_array_equal(tree.calc_mass_matrix(context), desired)
""",
    "reshaped state": """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy 2.5, for setting a shape or a dtype
try:
    context.q.shape = (1, -1)
except (ValueError, AttributeError):
    pass
assert context.q.shape == q.shape
try:
    context.q.dtype = np.int64
except (ValueError, AttributeError):
    pass
np.testing.assert_array_equal(context.q, q)
""",
    "state written by force": """
try:
    context.q.flags.writeable = True
    context.q[0] = 100.0
except ValueError:
    pass
np.testing.assert_array_equal(context.q, q)
""",
    "resized forces": """
forces = mbt.MultibodyForces(tree)
for name in ("body_forces", "generalized_forces"):
    try:
        getattr(forces, name).resize(1)
    except ValueError:
        pass
for _ in range(50):
    try:
        tree.calc_force_elements_contribution(context, forces)
        tree.calc_inverse_dynamics(context, ones, forces)
        tree.calc_forward_dynamics(context, ones, forces)
    except ValueError:
        pass
    junk = [np.full(n, np.nan) for n in range(1, 30)]
""",
    "copies": """
for thing in (tree, context, tree.eval_position_kinematics(context), tree.eval_velocity_kinematics(context)):
    for copier in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        try:
            twin = copier(thing)
        except Exception:
            continue
        if thing is context:
            np.testing.assert_array_equal(twin.tree.calc_mass_matrix(twin), desired)
        elif thing is tree:
            fresh = twin.create_default_context()
            fresh.q = q
            np.testing.assert_array_equal(twin.calc_mass_matrix(fresh), desired)
            assert twin.world_body.parent_tree is twin
        else:
            raise AssertionError("a cache was copied")
""",
    "tree constructed twice": """
try:
    tree.__init__()
except Exception:
    pass
np.testing.assert_array_equal(tree.calc_mass_matrix(context), desired)
assert tree.num_bodies == len(case.model.bodies) + 1
""",
    "garbage": """
import gc
X_WB = tree.eval_position_kinematics(context).X_WB
kept = X_WB.copy()
fresh = mbt.MultibodyTree()
fresh.finalize()
x = fresh.create_default_context()
x.q
del case, tree, context, fresh, x
get_case.cache_clear()
gc.collect()
junk = [np.full(n, np.nan) for n in range(1, 300)]
np.testing.assert_array_equal(X_WB, kept)
""",
    "a force element that misbehaves": """
from support.joint_types import add_random_body

class Bad(mbt.ForceElement):
    mischief = None
    def __init__(self):
        super().__init__(mbt.default_model_instance())
    def do_calc_and_add_force_contribution(self, context, pc, vc, forces):
        if Bad.mischief:
            Bad.mischief(self, context, pc, vc, forces)
    def do_calc_potential_energy(self, context, pc):
        return "much"

bad = mbt.MultibodyTree()
for i in range(3):
    add_random_body(bad, np.random.default_rng(i), f"body{i}")
element = bad.add_force_element(Bad())
bad.finalize()
x = bad.create_default_context()
ones = np.ones(bad.num_velocities)
wanted = bad.calc_forward_dynamics(x, ones)

def again(element, context, pc, vc, forces):
    bad.calc_forward_dynamics(x, ones)
def writes(element, context, pc, vc, forces):
    context.q = 2.0 * context.q
def locks(element, context, pc, vc, forces):
    bad.joints[0].lock(context)
def resizes(element, context, pc, vc, forces):
    forces.body_forces.resize(1)
def raises(element, context, pc, vc, forces):
    raise KeyboardInterrupt
def exits(element, context, pc, vc, forces):
    raise SystemExit
def replaces(element, context, pc, vc, forces):
    forces.body_forces = np.zeros(3)
def recomputes(element, context, pc, vc, forces):
    bad.calc_position_kinematics_cache(context, pc)

for mischief in (again, writes, locks, resizes, raises, exits, replaces, recomputes):
    for compute in (
        lambda: bad.calc_forward_dynamics(x, ones),
        lambda: bad.calc_inverse_dynamics(x, ones, include_force_elements=True),
        lambda: bad.calc_force_elements_contribution(x, mbt.MultibodyForces(bad)),
        lambda: bad.calc_non_conservative_power(x),
        lambda: mbt.functional.forward_dynamics(bad, np.tile(x.q, (3, 1)), ones, ones),
        lambda: bad.eval_acceleration_kinematics(x),
    ):
        Bad.mischief = mischief
        sys.setrecursionlimit(200)
        try:
            compute()
        except BaseException:
            pass
        sys.setrecursionlimit(1000)
        Bad.mischief = None
        bad.set_default_context(x)
        np.testing.assert_array_equal(bad.calc_forward_dynamics(x, ones), wanted)
refused(lambda: bad.calc_potential_energy(x))
""",
    "mobilizers": """
from support.force_element_types import make_everything
tree = make_everything()
x = tree.create_default_context()
y = context
for m in tree.mobilizers:
    for method in (
        m.calc_across_mobilizer_spatial_velocity,
        m.calc_across_mobilizer_spatial_acceleration,
        m.project_spatial_force,
        m.map_velocity_to_qdot,
        m.map_qdot_to_velocity,
    ):
        for argument in (None, "x", 3.0, np.zeros((2, 50)), [np.zeros(2)], np.zeros(7, complex)):
            refused(lambda: method(x, argument))
        refused(lambda: method(y, np.zeros(6)))
        refused(lambda: method(None, np.zeros(6)))
    for method in (m.calc_across_mobilizer_transform, m.calc_n_matrix, m.calc_nplus_dot_matrix):
        refused(lambda: method(y))
        refused(lambda: method(None))
loose = mbt.RevoluteMobilizer(tree.world_frame, tree.bodies[1].body_frame, [0, 0, 1])
refused(lambda: loose.calc_across_mobilizer_transform(x))
""",
    "a lock of no Context": """
kind = type(context._exclusive())
refused(lambda: kind().__enter__())
refused(lambda: kind(None))
with context._exclusive():
    pass
""",
    "a compiled model is made once": """
compiled = tree._compiled
refused(lambda: type(compiled)())
compiled.__init__(parent_node=[])
np.testing.assert_array_equal(tree.calc_mass_matrix(context), desired)
refused(lambda: type(compiled.defaults)(compiled, np.zeros(3)))
""",
    "a subclass with indices of its own": """
class Liar(mbt.RigidBody):
    lie = None
    node_index = property(lambda self: Liar.lie if Liar.lie is not None else super().node_index)
    index = property(lambda self: Liar.lie if Liar.lie is not None else super().index)
class LyingFrame(mbt.FixedOffsetFrame):
    index = property(lambda self: Liar.lie if Liar.lie is not None else super().index)
class LyingJoint(mbt.RevoluteJoint):
    position_start = property(lambda self: Liar.lie if Liar.lie is not None else super().position_start)
    velocity_start = position_start
    index = position_start
for early in (False, True):
    for lie in (-1, 5, 10**4, 2**30, -2**31, 10**30, "x", None, 1.5):
        Liar.lie = lie if early else None
        try:
            t = mbt.MultibodyTree()
            body = t.add_body(Liar("liar", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
            frame = t.add_frame(LyingFrame("f", body.body_frame, mbt.math.make_pose([0, 0, 1])))
            joint = t.add_joint(LyingJoint("j", t.world_frame, frame, [0, 1, 0]))
            t.add_force_element(mbt.RevoluteSpring(joint, 0.1, 2.0))
            t.add_force_element(
                mbt.LinearSpringDamper(t.world_body, [1, 0, 0], body, [0, 1, 0], 1.0, 2.0, 3.0)
            )
            t.add_joint_actuator("m", joint)
            t.finalize()
            c = t.create_default_context()
        except (mbt.MbtError, TypeError, ValueError, OverflowError, IndexError):
            continue
        Liar.lie = lie
        one = np.ones(t.num_velocities)
        forces = mbt.MultibodyForces(t)
        for use in (
            lambda: t.calc_mass_matrix(c), lambda: t.calc_forward_dynamics(c, one),
            lambda: t.calc_reaction_forces(c, one), lambda: t.calc_energy_report(c),
            lambda: t.calc_jacobian_spatial_velocity(c, "v", frame, [0, 0, 0], t.world_frame, t.world_frame),
            lambda: t.calc_spatial_inertia(c, frame, [body]), lambda: t.eval_body_pose_in_world(c, body),
            lambda: t.calc_force_elements_contribution(c, forces), lambda: t.clone(),
            lambda: mbt.functional.frame_jacobian(t, frame, c.q),
            lambda: body.set_mass(c, 2.0), lambda: body.get_mass(c), lambda: body.lock(c),
            lambda: body.unlock(c), lambda: body.eval_pose_in_world(c),
            lambda: joint.set_angle(c, 0.1), lambda: joint.get_angle(c), lambda: joint.lock(c),
            lambda: joint.set_damping(c, 0.5), lambda: joint.add_in_one_force(c, 0, 1.0, forces),
            lambda: [m.calc_across_mobilizer_transform(c) for m in t.mobilizers],
            lambda: pickle.loads(pickle.dumps(t)), lambda: str(t.finalize_report), lambda: str(c),
        ):
            try:
                use()
            except Exception:
                pass
""",
    "a small stack": """
import threading
from batch.batches import CALLS, make_batch, tree_of
everything = tree_of()
one, batch = everything.create_default_context(), make_batch(everything, (17,))
autodiff = everything.to_autodiff()
seeded = autodiff.create_default_context()
seeded.q = mbt.autodiff.initialize(make_batch(everything, (1,)).q[0])
few = get_case("every_joint").tree.to_autodiff()
few_seeded = few.create_default_context()
few_seeded.q = mbt.autodiff.initialize(few.default_positions)
ones = np.ones(everything.num_velocities)
failed = []
def compute():
    try:
        for c in (one, batch):
            for name, call in CALLS(everything).items():
                if name.startswith("calc") and ("dynamics" in name or "matrix" in name):
                    call(c)
        autodiff.calc_inverse_dynamics_derivatives(seeded, ones)
        autodiff.calc_coriolis_matrix(seeded)
        # Python solves its equations, for so many dofs in seconds.
        few.calc_forward_dynamics_derivatives(few_seeded)
    except BaseException as error:
        failed.append(error)
threading.stack_size(256 * 1024)
thread = threading.Thread(target=compute)
thread.start()
thread.join()
assert not failed, failed
""",
    "nothing but World": """
world = mbt.MultibodyTree()
world.finalize()
x = world.create_default_context()
x.q, x.v = [], []
assert world.calc_mass_matrix(x).shape == (0, 0)
assert world.calc_forward_dynamics(x, []).shape == (0,)
assert world.calc_coriolis_matrix(x).shape == (0, 0)
none = np.zeros((3, 0))
assert mbt.functional.inverse_dynamics(world, none, none, none).shape == (3, 0)
refused(lambda: world.calc_center_of_mass_position_in_world(x))
""",
}


@pytest.mark.parametrize("name", CASES)
def test_survives(name: str) -> None:
    if name == "a small stack" and "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("frames with the checks of a sanitizer are several times as large")
    tests = str(Path(__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", PRELUDE + CASES[name], tests],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert run.returncode == 0, f"exit code {run.returncode}\n{run.stderr}"
