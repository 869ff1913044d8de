"""Calls on one state and on many."""

# asv calls the methods; their names say what they are.
# ruff: noqa: D102

from __future__ import annotations

import mbt
from compare import make_batch, make_states
from contenders import DERIVATIVES, MASS_MATRIX, PLAIN_FUNCTIONS, Functional, InBatches, WithContext
from models import make_model

MODELS = ("chain2", "arm7", "chain30", "chain100")
SIZES = (1, 8, 64, 512, 4096)
MAX_NUMBERS = 2**24  # of one result: 128 MiB


class Single:
    """A call on one state."""

    params = (("mbt", "mbt Context"), PLAIN_FUNCTIONS, MODELS)
    param_names = ("interface", "function", "model")

    def setup(self, interface: str, function: str, name: str) -> None:
        model = make_model(name)
        tree = mbt.load_model(model.urdf)
        contender = {"mbt": Functional, "mbt Context": WithContext}[interface](model, tree)
        self.call = contender.as_function(function, make_states(tree, floating=False)[0])

    def time_call(self, *_: str) -> None:
        self.call()


class Batch:
    """A call on many states: the time of all of them."""

    params = (PLAIN_FUNCTIONS, MODELS, SIZES)
    param_names = ("function", "model", "states")

    def setup(self, function: str, name: str, size: int) -> None:
        model = make_model(name)
        tree = mbt.load_model(model.urdf)
        numbers = size * tree.num_velocities ** (2 if function in (MASS_MATRIX, *DERIVATIVES) else 1)
        if numbers > MAX_NUMBERS:
            raise NotImplementedError(f"the result would take {8 * numbers / 2**20:.0f} MiB")
        contender = InBatches(model, tree, size)
        self.call = contender.as_function(function, make_batch(make_states(tree, floating=False), size))

    def time_call(self, *_: object) -> None:
        self.call()
