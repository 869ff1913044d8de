"""Functions that a fuzzer calls with arbitrary bytes: each target checks what must hold for any input.

`tools/fuzz.py` runs them guided by coverage; tests/fuzz runs them on the inputs it kept.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import random
import warnings
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import mbt
from support.force_element_types import make_everything
from support.fuzzing import STRANGE, damage_bytes, damage_tokens, exchange_values

#: Inputs that found an error, or that reach code no other input does: a folder for each target.
CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus"


def read(data: bytes) -> None:
    """A description is read, or rejected with a message; the model computes, and survives being saved."""
    for options in ({}, {"strict": True}, {"base": "fixed", "actuators": "all"}):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                tree = mbt.load_model(data, **options)
            except mbt.MbtError as error:
                refusal = str(error)
            else:
                refusal = ""
        if refusal:
            assert len(refusal) < 4000
            continue
        assert {warning.category for warning in caught} <= {mbt.ModelWarning}
        told = any("mass matrix is not finite" in str(warning.message) for warning in caught)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", mbt.ModelWarning)
            _use(tree, must_be_finite=not told)


def _use(tree: mbt.MultibodyTree, must_be_finite: bool) -> None:
    assert str(tree)
    assert str(tree.finalize_report)
    for report in tree.parse_reports:
        assert str(report)
    context = tree.create_default_context()
    with np.errstate(all="ignore"):
        M = tree.calc_mass_matrix(context)
        tree.calc_bias_term(context)
        tree.eval_position_kinematics(context)
    assert not must_be_finite or np.isfinite(M).all()
    # A model that was read can be saved and read again.
    text = mbt.save_model(tree, format="json")
    assert mbt.save_model(mbt.load_model(text), format="json") == text


class _OnlyData(pickle.Unpickler):
    """Loads only functions that pickles of mbt need: code that a fuzzer makes up is never executed."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] == "mbt" or (module, name) in _NEEDED:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} is not data")


@cache
def _whole_pickle() -> bytes:
    tree = make_everything(user_written=False).edit()
    tree.add_constraint(mbt.CouplerConstraint("coupler", tree.joints[0], tree.joints[2], -2.0, 0.25))
    tree.finalize()
    context = tree.create_default_context()
    context.v = np.linspace(-1, 1, tree.num_velocities)
    tree.bodies[1].set_mass(context, 3.0)
    tree.joints[2].lock(context)
    return pickle.dumps((tree, context, context.applied_forces.clone()), protocol=2)


@cache
def _instructions() -> list[tuple[str, int, int]]:
    operations = list(pickletools.genops(_whole_pickle()))
    return [(first[0].name, first[2], second[2]) for first, second in pairwise(operations)]


def _globals() -> set[tuple[str, str]]:
    operations = pickletools.genops(_whole_pickle())
    return {tuple(value.split(" ")) for operation, value, _ in operations if operation.name == "GLOBAL"}


_NEEDED = {entry for entry in _globals() if entry[0].partition(".")[0] != "mbt"}
#: Values that replace others.
_VALUES = (
    b"I-1\n", b"I0\n", b"I1\n", b"I2\n", b"I7\n", b"I2147483648\n", b"L" + b"9" * 30 + b"L\n", b"N", b"I01\n",
    b"I00\n", b"]", b"}", b")", b"Fnan\n", b"F0.5\n", b"F1e999\n", b"V\n", b"Vx\n",
)  # fmt: skip


def unpickle(data: bytes) -> None:
    """Damage a pickle of a tree, a Context and forces as the bytes say: it raises an error, or it computes.

    Four bytes are one change: two choose an instruction of the pickle, the others its replacement.
    """
    whole, instructions = _whole_pickle(), _instructions()
    changes = {}
    for i in range(0, min(len(data), 16) - 3, 4):
        at = int.from_bytes(data[i : i + 2], "little") % len(instructions)
        changes[at] = (data[i + 2], data[i + 3])
    pieces, last = [], 0
    for at in sorted(changes):
        name, start, end = instructions[at]
        kind, value = changes[at]
        if name in ("PROTO", "GLOBAL", "STOP"):
            continue
        pieces.append(whole[last:start])
        if kind < 128:
            pieces.append(_VALUES[value % len(_VALUES)])
        elif kind < 224:
            # The effect of another instruction.
            other = instructions[(at + value - 128) % len(instructions)]
            pieces.append(b"N" if other[0] in ("PROTO", "STOP") else whole[other[1] : other[2]])
        last = end
    damaged = b"".join([*pieces, whole[last:]])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            loaded = _OnlyData(io.BytesIO(damaged)).load()
        except mbt.MbtError:
            return
        except Exception as error:
            _must_be_of_others(error)
            return
        if isinstance(loaded, tuple) and [type(x) for x in loaded] == [
            mbt.MultibodyTree,
            mbt.Context,
            mbt.MultibodyForces,
        ]:
            for use in _USES:
                try:
                    use(*loaded)
                except mbt.MbtError:
                    continue
                except Exception as error:
                    _must_be_of_others(error)


def _must_be_of_others(error: Exception) -> None:
    """Pass if the error comes from pickle or NumPy, and no function of mbt was involved."""
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename.startswith(tuple(mbt.__path__)):
            raise error
        traceback = traceback.tb_next


_USES: tuple[Callable[[Any, Any, Any], object], ...] = (
    lambda tree, context, forces: (str(tree), str(tree.topology), str(context), repr(forces)),
    lambda tree, context, forces: str(tree.finalize_report),
    lambda tree, context, forces: [repr(e) for e in (*tree.bodies, *tree.frames, *tree.joints)],
    lambda tree, context, forces: tree.calc_mass_matrix(context),
    lambda tree, context, forces: tree.calc_forward_dynamics(context, np.ones(tree.num_velocities), forces),
    lambda tree, context, forces: tree.calc_inverse_dynamics_derivatives(
        context, np.ones(tree.num_velocities)
    ),
    lambda tree, context, forces: tree.calc_energy_report(context),
    lambda tree, context, forces: [body.eval_pose_in_world(context) for body in tree.bodies],
    lambda tree, context, forces: tree.create_default_context((2,)).validate(),
    lambda tree, context, forces: context.clone(),
    lambda tree, context, forces: pickle.dumps((tree.clone(), context, forces)),
)

TARGETS: dict[str, Callable[[bytes], None]] = {
    "urdf": read,
    "sdf": read,
    "json": read,
    "mjcf": read,
    "pickle": unpickle,
}

_ATTRIBUTES = r"(?<==)\"[^\"]*\""
_VALUES_OF = {
    "urdf": [_ATTRIBUTES],
    "mjcf": [_ATTRIBUTES],
    "sdf": [r"(?<=>)[^<>\n]+(?=<)", r"(?<==\")[^\"]*(?=\")"],
    "json": [r"(?<=[:\[,] )[^\[\]{},\n]+"],
}
_WORDS = {
    "json": ["null", "true", "0", "-1", "1e308", '""', '"inf"', '"nan"', '"world"', "[]", "{}", "[1, 2]"],
    "sdf": [word.strip('"') for word in STRANGE[:13]],
}


def mutate(target: str, data: bytes, seed: int) -> bytes:
    """Return a text damaged as in tests: by words and values, which random bytes rarely hit."""
    rng = random.Random(seed)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    if not text:
        return b"<"
    how = rng.randrange(4)
    try:
        if how == 1:
            return damage_tokens(text, rng)
        if how > 1:
            return exchange_values(
                text, rng, rng.choice(_VALUES_OF[target]), _WORDS.get(target, STRANGE[:13])
            ).encode()
    except (IndexError, ValueError):
        # Nothing is left to exchange.
        pass
    return damage_bytes(text, rng)
