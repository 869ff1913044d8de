"""Whatever the text, a reader either reads it or says why not: no other exception, no hang."""

import random
import re
import warnings

import numpy as np
import pytest

import mbt
from mbt.errors import ParseError
from mbt.models import model_names, model_path
from support.urdf_texts import BOX, describe, joint, link, robot, transmission

EVERYTHING = robot(
    link("world", None),
    link("base", 3.0, BOX, '<origin xyz="0 0 0.1" rpy="0 0 1"/>'),
    link("arm"),
    link("tip", 0.5),
    link("free"),
    joint(
        "hinge",
        "base",
        "arm",
        inside='<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="3" velocity="2"/>',
    ),
    joint(
        "slide",
        "arm",
        "tip",
        "prismatic",
        '<origin xyz="1 0 0"/><limit lower="0" upper="1"/><mimic joint="hinge" multiplier="2"/>',
    ),
    joint("mount", "world", "base", "fixed", '<dynamics damping="1" friction="2"/>'),
    joint("float", "world", "free", "floating"),
    transmission("hinge", '<drake:rotor_inertia value="1e-4"/>'),
    '<frame name="tcp" link="tip" xyz="0 0 1"/>',
)
SEEDS = [EVERYTHING, *(model_path(name).read_text() for name in model_names())]
TOKEN = re.compile(r"\"[^\"]*\"|[\w:.-]+|\s+|.", re.DOTALL)
STRANGE = [
    '""', '"nan"', '"1e999"', '"-1"', '"0"',
    '"1e-320"', '"1e300"', '"world"', '"base"', '"hinge"', '"  "', '"1 2"', '"${x}"',
    "<", ">", "/", "&amp;", "&x;", "&nbsp;", "&", "--", "\n\n<?xml version='1.0' encoding='big5'?>",
    "\ufeff", "\u0085", "<!--", "-->", "<![CDATA[", "]]>", "<?x?>", "é", "\x01",
]  # fmt: skip


def must_be_finite(text):
    """What is loaded has a finite mass matrix, or says that it may have none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            tree = mbt.load_model(text)
        except mbt.MbtError:
            return
    assert {warning.category for warning in caught} <= {mbt.ModelWarning}
    told = any("mass matrix is not finite" in str(warning.message) for warning in caught)
    with np.errstate(over="ignore", invalid="ignore"):
        M = tree.calc_mass_matrix(tree.create_default_context())
    assert told or np.isfinite(M).all()


def must_read_or_refuse(data):
    for strict in (False, True):
        try:
            text = str(describe(data, strict=strict).report)
        except ParseError as error:
            text = str(error)
            too_long = len(text) > 2000
        else:
            too_long = False
        assert text
        assert not too_long


@pytest.mark.parametrize("seed", range(300))
def test_mutated_bytes(seed):
    rng = random.Random(seed)
    data = bytearray(rng.choice(SEEDS).encode())
    for _ in range(rng.choice([1, 1, 2, 5, 30])):
        position = rng.randrange(len(data) or 1)
        action = rng.randrange(4)
        if not data:
            break
        if action == 0:
            data[position] = rng.randrange(256)
        elif action == 1:
            del data[position : position + rng.choice([1, 2, 50])]
        elif action == 2:
            data[position:position] = data[rng.randrange(len(data)) :][: rng.choice([1, 10, 200])]
        else:
            data = data[: max(position, 1)]
    must_read_or_refuse(bytes(data))


@pytest.mark.parametrize("seed", range(600))
def test_mutated_tokens(seed):
    rng = random.Random(seed)
    tokens = TOKEN.findall(rng.choice(SEEDS))
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        position = rng.randrange(len(tokens))
        action = rng.randrange(5)
        if action == 0:
            tokens[position] = rng.choice(STRANGE)
        elif action == 1:
            tokens[position] = rng.choice(tokens)
        elif action == 2:
            del tokens[position : position + rng.choice([1, 3])]
        elif action == 3:
            other = rng.randrange(len(tokens))
            tokens[position], tokens[other] = tokens[other], tokens[position]
        else:
            tokens[position:position] = tokens[rng.randrange(len(tokens)) :][: rng.choice([1, 9, 40])]
    must_read_or_refuse("".join(tokens).encode("utf-8"))


@pytest.mark.parametrize("seed", range(200))
def test_exchanged_attribute_values(seed):
    """These stay well-formed, so they come further than most."""
    rng = random.Random(seed)
    text = rng.choice(SEEDS)
    values = [match.span() for match in re.finditer(r"(?<==)\"[^\"]*\"", text)]
    for _ in range(rng.choice([1, 2, 3])):
        (a, b), (c, d) = rng.choice(values), rng.choice(values)
        replacement = rng.choice([text[c:d], *STRANGE[:13]])
        text = text[:a] + replacement + text[b:]
        values = [match.span() for match in re.finditer(r"(?<==)\"[^\"]*\"", text)]
    must_read_or_refuse(text)
    must_be_finite(text)


def test_the_seeds_themselves_are_read():
    for text in SEEDS:
        describe(text, strict=True)
