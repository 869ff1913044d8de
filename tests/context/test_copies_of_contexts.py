"""Clones, deep copies and pickles of Contexts and forces: what belongs together stays together."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import mbt
from support.copies import COPIERS, Copier, by_pickle, model, some_state


@pytest.fixture(params=COPIERS.values(), ids=COPIERS)
def copier(request: pytest.FixtureRequest) -> Copier:
    return request.param  # type: ignore[no-any-return]


class TestContexts:
    def check_same(self, twin: mbt.Context, context: mbt.Context) -> None:
        for name in ("q", "v", "actuation", "time"):
            np.testing.assert_array_equal(getattr(twin, name), getattr(context, name))
        np.testing.assert_array_equal(
            twin.tree.calc_forward_dynamics(twin), context.tree.calc_forward_dynamics(context)
        )
        for array in (twin.q, twin.v, twin.actuation):
            assert not array.flags.writeable

    def test_all_values_come_back(self, copier: Copier) -> None:
        tree = model()
        context = some_state(tree)
        tree.gravity_field.set_gravity_vector(context, [1.0, 2.0, 3.0])
        tree.bodies[1].set_mass(context, 7.0)
        twin = copier(context)
        self.check_same(twin, context)
        assert twin.tree.bodies[1].get_mass(twin) == 7.0
        # Independent of each other.
        q = context.q.copy()
        twin.q = np.ones(tree.num_positions)
        twin.applied_forces.set_zero()
        twin.tree.bodies[1].set_mass(twin, 8.0)
        np.testing.assert_array_equal(context.q, q)
        assert context.applied_forces.body_forces.any()
        assert tree.bodies[1].get_mass(context) == 7.0

    def test_switches_come_back(self, copier: Copier) -> None:
        tree = model()
        context = some_state(tree)
        locked = next(joint for joint in tree.joints if joint.num_velocities == 1)
        locked.lock(context)
        tree.gravity_field.set_enabled_in(context, tree.bodies[1].model_instance, False)
        twin = copier((tree, context))[1]
        self.check_same(twin, context)
        joint = twin.tree.joints[locked.index]
        assert joint.is_locked(twin)
        assert twin.tree.calc_forward_dynamics(twin)[joint.velocity_start] == 0.0
        assert not twin.tree.gravity_field.is_enabled_in(twin, tree.bodies[1].model_instance)
        joint.unlock(twin)
        assert locked.is_locked(context)

    def test_defaults_cost_nothing(self) -> None:
        tree = model()
        context = tree.create_default_context()
        size = len(pickle.dumps((tree, context))) - len(pickle.dumps(tree))
        assert size < 2000
        tree.bodies[1].set_mass(context, 7.0)
        assert len(pickle.dumps((tree, context))) - len(pickle.dumps(tree)) > 8 * 100

    @pytest.mark.parametrize("make_copy", [mbt.Context.clone, copy.copy, copy.deepcopy])
    def test_alone_it_shares_the_tree(self, make_copy: Copier) -> None:
        context = some_state(model())
        twin = make_copy(context)
        assert twin.tree is context.tree
        self.check_same(twin, context)

    def test_what_belongs_together_stays_together(self, copier: Copier) -> None:
        tree = model()
        context, other = some_state(tree), some_state(tree, 6)
        forces = mbt.MultibodyForces(tree)
        forces.body_forces[1] = 2.0
        things = {"tree": tree, "context": context, "body": tree.bodies[2], "forces": forces, "other": other}
        orders = (list(things), list(things)[::-1], ["context", "body", "other", "tree", "forces"])
        for order in orders:
            twins = dict(zip(order, copier([things[name] for name in order]), strict=True))
            assert twins["tree"] is not tree
            for name in ("context", "forces", "other"):
                assert twins[name].tree is twins["tree"]
            assert twins["body"] is twins["tree"].bodies[2]
            assert twins["context"].applied_forces.tree is twins["tree"]
            self.check_same(twins["context"], context)
            self.check_same(twins["other"], other)
            np.testing.assert_array_equal(
                twins["tree"].calc_inverse_dynamics(twins["context"], context.v, twins["forces"]),
                tree.calc_inverse_dynamics(context, context.v, forces),
            )

    def test_caches_of_a_copy_are_fresh(self) -> None:
        tree = model()
        context = some_state(tree)
        pc = tree.eval_position_kinematics(context)
        twin_tree, twin = by_pickle((tree, context))
        with pytest.raises(mbt.ContextMismatchError):
            twin_tree.calc_inverse_dynamics(twin, twin.v, pc=pc)
        loaded = by_pickle([context, context.clone()])
        assert loaded[0].tree is loaded[1].tree
        pc = loaded[0].tree.eval_position_kinematics(loaded[0])
        with pytest.raises(mbt.StaleCacheError):
            loaded[0].tree.calc_inverse_dynamics(loaded[1], loaded[1].v, pc=pc)

    def test_caches_refuse(self, copier: Copier) -> None:
        tree = model()
        context = some_state(tree)
        for cache in (
            tree.eval_position_kinematics(context),
            tree.eval_velocity_kinematics(context),
            tree.calc_acceleration_kinematics_cache(context, context.v),
            tree.eval_frame_body_poses(context),
        ):
            message = f"a {type(cache).__name__} cannot be copied.*Context"
            with pytest.raises(mbt.ArgumentTypeError, match=message):
                copier(cache)

    @pytest.mark.parametrize("batch_shape", [(), (3,)])
    def test_forces(self, batch_shape: tuple[int, ...], copier: Copier) -> None:
        forces = mbt.MultibodyForces(model(), batch_shape)
        forces.body_forces[...] = 2.0
        twin = copier(forces)
        assert twin.batch_shape == batch_shape
        twin.body_forces[...] += 1.0
        np.testing.assert_array_equal(twin.body_forces, 3.0)
        np.testing.assert_array_equal(forces.body_forces, 2.0)
