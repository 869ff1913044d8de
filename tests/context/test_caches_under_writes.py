"""After writes to a Context and reads between them, in any order, results are those of a new Context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.strategies import integers, lists, sampled_from, tuples

from support.kinds import make_context
from support.writes import WRITES, make_watched_tree

RESULTS: dict[str, Callable[[Any, Any], Any]] = {
    "X_WB": lambda t, c: t.eval_position_kinematics(c).X_WB,
    "M_Bo_W": lambda t, c: t.eval_position_kinematics(c).M_Bo_W,
    "X_BF": lambda t, c: t.eval_frame_body_poses(c).X_BF,
    "V_WB": lambda t, c: t.eval_velocity_kinematics(c).V_WB,
    "A_WB": lambda t, c: t.eval_acceleration_kinematics(c).A_WB,
    "vdot": lambda t, c: t.eval_acceleration_kinematics(c).vdot,
    "tip": lambda t, c: t.get_frame_by_name("tip").calc_spatial_acceleration_in_world(c),
    "reactions": lambda t, c: t.calc_reaction_forces(c),
    "mass matrix": lambda t, c: t.calc_mass_matrix(c),
    "tau": lambda t, c: t.calc_inverse_dynamics(c, [1, 2], include_force_elements=True),
    "potential energy": lambda t, c: t.calc_potential_energy(c),
    "power": lambda t, c: t.calc_non_conservative_power(c),
    **{
        name: lambda t, c, name=name: c.eval_cache_entry(getattr(t.force_elements[2], name))
        for name in ("everything", "settings", "motion", "both")
    },
}


class Machine(RuleBasedStateMachine):
    """Writes, reads, and comparisons with a new Context that has the same values."""

    kind: ClassVar[str]

    @initialize(seed=integers(0, 2**32 - 1))
    def make(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.context = make_context(make_watched_tree(), self.kind)
        self.tree = self.context.tree
        self.is_changed = True

    @rule(
        steps=lists(
            tuples(sampled_from(sorted(WRITES)), sampled_from(sorted(RESULTS))), min_size=1, max_size=3
        )
    )
    def write(self, steps: list[tuple[str, str]]) -> None:
        """Write, and compute something in between, so that some caches are fresh and some are not."""
        for i, (write, result) in enumerate(steps):
            if i:
                RESULTS[result](self.tree, self.context)
            WRITES[write](self.tree, self.context, self.rng)
        self.is_changed = True

    @rule(force=integers(-3, 3))
    def change_what_an_element_reads(self, force: int) -> None:
        self.tree.force_elements[3].force = float(force)
        self.is_changed = True

    @precondition(lambda self: self.is_changed)
    @invariant()
    def is_like_new(self) -> None:
        fresh = type(self.context)._of_state(self.tree, self.context._get_state())
        for name, calc in RESULTS.items():
            got, wanted = (np.asarray(calc(self.tree, c)) for c in (self.context, fresh))
            np.testing.assert_array_equal(got, wanted, err_msg=name)
        self.is_changed = False


class OneState(Machine):
    """A Context of one state."""

    kind = "double"


class ManyStates(Machine):
    """A Context of a batch."""

    kind = "batch"


def _settings(examples: int, steps: int) -> Any:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )


class TestOneState(OneState.TestCase):  # type: ignore[misc]
    settings = _settings(12, 12)


class TestManyStates(ManyStates.TestCase):  # type: ignore[misc]
    settings = _settings(8, 12)


@pytest.mark.exhaustive
class TestOneStateForLong(OneState.TestCase):  # type: ignore[misc]
    settings = _settings(300, 60)


@pytest.mark.exhaustive
class TestManyStatesForLong(ManyStates.TestCase):  # type: ignore[misc]
    settings = _settings(150, 60)
