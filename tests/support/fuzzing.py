"""Texts with random damage, and what a parser must make of them."""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Iterator

import numpy as np

import mbt
from mbt.errors import ParseError
from support.urdf_texts import describe

TOKEN = re.compile(r"\"[^\"]*\"|[\w:.-]+|\s+|.", re.DOTALL)
STRANGE = [
    '""', '"nan"', '"1e999"', '"-1"', '"0"',
    '"1e-320"', '"1e300"', '"world"', '"base"', '"hinge"', '"  "', '"1 2"', '"${x}"',
    "<", ">", "/", "&amp;", "&x;", "&nbsp;", "&", "--", "\n\n<?xml version='1.0' encoding='big5'?>",
    "\ufeff", "\u0085", "<!--", "-->", "<![CDATA[", "]]>", "<?x?>", "é", "\x01",
]  # fmt: skip


def groups(count: int) -> list[range]:
    """Return ranges of `count` seeds for random texts, a few for each test."""
    return [range(first, min(first + 20, count)) for first in range(0, count, 20)]


def generators(seeds: range) -> Iterator[random.Random]:
    """Yield generators; the last seed printed is the one that fails."""
    for seed in seeds:
        print("seed", seed)
        yield random.Random(seed)


def must_be_finite(text: str) -> None:
    """A loaded model has a finite mass matrix, or a warning says that it may not."""
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


def must_read_or_refuse(data: str | bytes) -> None:
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


def damage_bytes(text: str, rng: random.Random) -> bytes:
    data = bytearray(text.encode())
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
    return bytes(data)


def damage_tokens(text: str, rng: random.Random) -> bytes:
    tokens = TOKEN.findall(text)
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
    return "".join(tokens).encode("utf-8")


def exchange_values(text: str, rng: random.Random, values: str, strange: list[str]) -> str:
    """Replace a text that matches `values` by another one. The result stays well-formed."""
    spans = [match.span() for match in re.finditer(values, text)]
    for _ in range(rng.choice([1, 2, 3])):
        (a, b), (c, d) = rng.choice(spans), rng.choice(spans)
        replacement = rng.choice([text[c:d], *strange])
        text = text[:a] + replacement + text[b:]
        spans = [match.span() for match in re.finditer(values, text)]
    return text
