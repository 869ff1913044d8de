"""Several Contexts of one tree, written, cloned, pickled and dropped in any order, against dictionaries.

A dictionary records the writes to its Context. No Context sees what was written into another one, and
no array that was handed out ever changes.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.strategies import integers, sampled_from

import mbt
from support.case import get_case

COPIES: dict[str, Any] = {
    "clone": lambda context: context.clone(),
    "deepcopy": lambda context: copy.deepcopy(context),
    "pickle": lambda context: pickle.loads(pickle.dumps(context)),
}
FEW = integers(0, 3)


class Machine(RuleBasedStateMachine):
    @initialize(seed=integers(0, 2**32 - 1))
    def start(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.case = get_case("mixed8")
        self.pairs: list[tuple[Any, dict[str, Any]]] = []
        self.held: list[tuple[Any, Any]] = []
        self.new()

    def pick(self, k: int) -> tuple[Any, dict[str, Any]]:
        return self.pairs[k % len(self.pairs)]

    def keep(self, *arrays: Any) -> None:
        """Hold arrays as they are now."""
        self.held = (self.held + [(array, array.copy()) for array in arrays])[-12:]

    @rule()
    def new(self) -> None:
        tree = self.case.tree
        values = {
            "q": tree.default_positions,
            "v": np.zeros(tree.num_velocities),
            "mass": tree.bodies[1].default_mass,
            "time": 0.0,
        }
        self.pairs.append((tree.create_default_context(), values))
        del self.pairs[:-4]

    @rule(k=FEW, how=sampled_from(sorted(COPIES)))
    def copy(self, k: int, how: str) -> None:
        context, values = self.pick(k)
        self.pairs.append((COPIES[how](context), dict(values)))
        del self.pairs[:-4]

    @rule(k=FEW)
    def write_q(self, k: int) -> None:
        context, values = self.pick(k)
        self.keep(context.q)
        values["q"] = self.case.state(int(self.rng.integers(4))).q
        context.q = values["q"]

    @rule(k=FEW)
    def write_v(self, k: int) -> None:
        context, values = self.pick(k)
        self.keep(context.v)
        values["v"] = self.rng.uniform(-1.0, 1.0, context.tree.num_velocities)
        context.v = values["v"]

    @rule(k=FEW, mass=integers(1, 9))
    def write_mass(self, k: int, mass: int) -> None:
        context, values = self.pick(k)
        values["mass"] = float(mass)
        context.tree.bodies[1].set_mass(context, float(mass))

    @rule(k=FEW, time=integers(0, 9))
    def write_time(self, k: int, time: int) -> None:
        context, values = self.pick(k)
        values["time"] = float(time)
        context.time = float(time)

    @rule(k=FEW)
    def write_nonsense(self, k: int) -> None:
        context, _ = self.pick(k)
        for bad in (None, "x", np.zeros(1000), np.zeros(3, complex)):
            with pytest.raises(mbt.MbtError):
                context.q = bad

    @rule(k=FEW)
    def read(self, k: int) -> None:
        context, _ = self.pick(k)
        tree = context.tree
        positions, velocities = tree.eval_position_kinematics(context), tree.eval_velocity_kinematics(context)
        self.keep(positions.X_WB, velocities.V_WB, tree.calc_mass_matrix(context))

    @invariant()
    def each_has_what_was_written(self) -> None:
        for context, values in self.pairs:
            np.testing.assert_array_equal(context.q, values["q"])
            np.testing.assert_array_equal(context.v, values["v"])
            assert context.tree.bodies[1].get_mass(context) == values["mass"]
            assert context.time == values["time"]

    @invariant()
    def results_are_those_of_a_new_one(self) -> None:
        for context, values in self.pairs:
            tree = context.tree
            fresh = tree.create_default_context()
            fresh.q, fresh.v = values["q"], values["v"]
            tree.bodies[1].set_mass(fresh, values["mass"])
            for calc in (tree.calc_bias_term, tree.calc_mass_matrix):
                np.testing.assert_array_equal(calc(context), calc(fresh))

    @invariant()
    def what_was_handed_out_is_as_it_was(self) -> None:
        for array, then in self.held:
            np.testing.assert_array_equal(array, then)


def _settings(examples: int, steps: int) -> Any:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


class TestContexts(Machine.TestCase):  # type: ignore[misc]
    settings = _settings(15, 20)


@pytest.mark.exhaustive
class TestContextsForLong(Machine.TestCase):  # type: ignore[misc]
    settings = _settings(60, 40)
