"""Pickles that another version or process reads, and pickles that are damaged."""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import itertools
import os
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.tree.pickling import FORMAT, FrozenArray
from support.build import build_tree
from support.copies import model, some_state
from support.isas import usable_isas
from support.random_trees import CATALOGUE


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("mbt.tree", "DoorHinge"),
        ("mbt.tree.force_elements", "DoorHingeConfig"),
        ("mbt.tree.mobilizer", "MobilizerTopology"),
    ],
)
def test_names_where_older_pickles_look_for_them(module: str, name: str) -> None:
    found = pickle.loads(f"c{module}\n{name}\n.".encode())
    assert found.__name__ == name
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'Nothing'"):
        getattr(importlib.import_module(module), "Nothing")  # noqa: B009


@pytest.mark.parametrize("model", ["mixed8", "one_curvilinear"])
def test_a_pickle_has_nothing_that_a_tree_remembers_of_its_use(model: str) -> None:
    tree = build_tree(CATALOGUE[model]())
    new = pickle.dumps(tree)
    context = tree.create_default_context()
    tree.calc_forward_dynamics_derivatives(context)
    tree.dict_from_q(context.q)
    tree.to_autodiff().create_default_context()
    str(tree.finalize_report)
    assert len(pickle.dumps(tree)) == len(new)


class TestBadPickles:
    @pytest.mark.parametrize(
        ("change", "error", "text"),
        [
            (lambda state: state.pop("catch_width"), mbt.ArgumentValueError, "truncated: no catch_width"),
            (lambda state: state.update(catch_width=-1.0), mbt.ArgumentValueError, "catch_width"),
            (lambda state: state.update(catch_width="wide"), mbt.ArgumentTypeError, "catch_width"),
        ],
    )
    def test_a_damaged_configuration(self, change: Any, error: type[Exception], text: str) -> None:
        config = mbt.DoorHingeConfig(catch_width=0.5)
        assert pickle.loads(pickle.dumps(config)) == config
        state = vars(config).copy()
        change(state)
        with pytest.raises(error, match=text):
            mbt.DoorHingeConfig.__new__(mbt.DoorHingeConfig).__setstate__(state)

    @pytest.mark.parametrize("what", ["tree", "element", "context", "forces"])
    def test_another_version(self, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
        tree = build_tree(CATALOGUE["one_revolute"]())
        thing = {
            "tree": tree,
            "element": mbt.RigidBody("loose", mbt.SpatialInertia.zero()),
            "context": tree.create_default_context(),
            "forces": mbt.MultibodyForces(tree),
        }[what]
        monkeypatch.setattr("mbt.tree.pickling.FORMAT", FORMAT + 1)
        data = pickle.dumps(thing)
        monkeypatch.undo()
        with pytest.raises(mbt.ArgumentValueError, match=f"reads format {FORMAT}, .* format {FORMAT + 1}"):
            pickle.loads(data)

    @pytest.mark.parametrize(
        "what",
        [
            "tree",
            "element",
            "frame",
            "context",
            "forces",
            "array",
            "report",
            "forest",
            "base parameters",
            "inertia",
        ],
    )
    def test_something_else_in_place_of_a_part(self, what: str) -> None:
        """The function that rebuilds the object gets it: an error, or an object that can be shown."""
        tree = build_tree(CATALOGUE["mixed8"]())
        inertia = mbt.SpatialInertia.solid_sphere_with_mass(2.0, 0.1)
        body = mbt.RigidBody("loose", inertia)
        thing = {
            "tree": tree,
            "element": body,
            "frame": tree.bodies[1].body_frame,
            "context": tree.create_default_context(),
            "forces": mbt.MultibodyForces(tree),
            "array": FrozenArray(np.zeros(3)),
            "report": tree.finalize_report,
            "forest": tree.finalize_report.forest,
            "base parameters": tree.calc_base_parameters(),
            "inertia": inertia,
        }[what]
        make, args, *_ = thing.__reduce_ex__(2)
        others = [None, True, -1, 2**40, np.nan, "x", b"x", (), [], {}, object, np.zeros(3), ["a"], (1, 2, 3)]
        for i, wrong in itertools.product(range(len(args)), others):
            with contextlib.suppress(mbt.MbtError):
                made = make(*args[:i], copy.copy(wrong), *args[i + 1 :])
                if what in ("report", "forest", "base parameters", "inertia"):
                    assert repr(made)
                    assert str(made)

    @pytest.mark.parametrize("part", ["elements", "registry", "tree"])
    def test_a_truncated_tree(self, part: str) -> None:
        tree = build_tree(CATALOGUE["one_revolute"]())
        make, args, state = tree.__reduce_ex__(2)
        del state[part]
        with pytest.raises(mbt.ArgumentValueError, match=f"truncated: no {part}"):
            make(*args).__setstate__(state)
        make, args, state = tree.__reduce_ex__(2)
        key = next(iter(state[part]))
        del state[part][key]
        with pytest.raises(mbt.ArgumentValueError, match=f"truncated: no {key}"):
            make(*args).__setstate__(state)
        make, args, state = tree.__reduce_ex__(2)
        state["elements"]["bodies"].pop()
        with pytest.raises(mbt.ArgumentValueError, match="truncated: 2 bodies"):
            make(*args).__setstate__(state)
        with pytest.raises(mbt.ArgumentValueError, match="truncated"):
            make(*args).__setstate__(None)
        args[2].pop("joints")
        with pytest.raises(mbt.ArgumentValueError, match="truncated: no joints"):
            make(*args)

    def test_classes_that_do_not_belong(self) -> None:
        make, (format_, tree_type, classes), _ = build_tree(CATALOGUE["arm7"]()).__reduce_ex__(2)
        with pytest.raises(mbt.ArgumentTypeError, match="RigidBody"):
            make(format_, tree_type, {**classes, "bodies": [int]})
        with pytest.raises(mbt.ArgumentTypeError, match="its class"):
            make(format_, int, classes)

    def test_a_truncated_context(self) -> None:
        context = build_tree(CATALOGUE["arm7"]()).create_default_context()
        restore, (format_, kind, tree, state) = context.__reduce_ex__(2)
        for key in state:
            with pytest.raises(mbt.MbtError, match=rf"truncated.*{key}"):
                restore(format_, kind, tree, {k: v for k, v in state.items() if k != key})
        with pytest.raises(mbt.ShapeError, match="q: "):
            restore(format_, kind, tree, {**state, "q": np.zeros(3)})
        with pytest.raises(mbt.ShapeError, match="parameters: "):
            restore(format_, kind, tree, {**state, "parameters": np.zeros(3)})

    def test_a_live_tree_takes_no_state(self) -> None:
        tree = model()
        state = tree.__reduce_ex__(2)[2]
        with pytest.raises(mbt.ArgumentValueError, match="has its state already"):
            tree.__setstate__(state)


CHILD = """
import pickle, sys
import numpy as np
import mbt
tree, context, gravity = pickle.load(sys.stdin.buffer)
assert gravity is tree.gravity_field and context.tree is tree
result = tree.calc_forward_dynamics(context)
sys.stdout.buffer.write(pickle.dumps((mbt._core.isa, result)))
"""


@pytest.mark.parametrize("isa", usable_isas())
def test_another_process_reads_it(isa: str) -> None:
    """Whichever instruction set that process uses: all that are built are tried."""
    tree = build_tree(CATALOGUE["mixed8"]())
    context = some_state(tree)
    data = io.BytesIO(pickle.dumps((tree, context, tree.gravity_field))).getvalue()
    child = subprocess.run(
        [sys.executable, "-c", CHILD], input=data, capture_output=True, check=True,
        env={**os.environ, "MBT_ISA": isa},
    )  # fmt: skip
    used, result = pickle.loads(child.stdout)
    assert used == isa
    np.testing.assert_allclose(result, tree.calc_forward_dynamics(context), rtol=1e-10, atol=1e-10)
