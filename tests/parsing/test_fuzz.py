"""A reader either reads a text or says why not: it raises no other exception and never hangs."""

import pytest

from mbt.models import model_names, model_path
from support.fuzzing import (
    STRANGE,
    damage_bytes,
    damage_tokens,
    exchange_values,
    generators,
    groups,
    must_be_finite,
    must_read_or_refuse,
)
from support.urdf_texts import BOX, describe, joint, link, robot, transmission

SHAPES = """<link name="shaped">
  <visual name="v"><origin xyz="0 0 1"/>
    <geometry><mesh filename="package://p/a.stl" scale="1 1 -1"/></geometry>
    <material name="red"><color rgba="1 0 0 1"/></material></visual>
  <visual><geometry><cylinder radius="1" length="2"/></geometry><material name="red"/></visual>
  <collision><geometry><box size="1 2 3"/></geometry></collision>
  <collision><geometry><drake:ellipsoid a="1" b="2" c="3"/></geometry></collision>
</link>"""
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
    SHAPES,
    joint("hold", "tip", "shaped", "fixed", ""),
    transmission("hinge", '<drake:rotor_inertia value="1e-4"/>'),
    '<frame name="tcp" link="tip" xyz="0 0 1"/>',
)
SEEDS = [EVERYTHING, *(model_path(name).read_text() for name in model_names())]


@pytest.mark.parametrize("seeds", groups(300), ids=str)
def test_mutated_bytes(seeds):
    for rng in generators(seeds):
        must_read_or_refuse(damage_bytes(rng.choice(SEEDS), rng))


@pytest.mark.parametrize("seeds", groups(600), ids=str)
def test_mutated_tokens(seeds):
    for rng in generators(seeds):
        must_read_or_refuse(damage_tokens(rng.choice(SEEDS), rng))


@pytest.mark.parametrize("seeds", groups(200), ids=str)
def test_exchanged_attribute_values(seeds):
    """Mutations that keep the text well-formed, so they get further than most."""
    for rng in generators(seeds):
        text = exchange_values(rng.choice(SEEDS), rng, r"(?<==)\"[^\"]*\"", STRANGE[:13])
        must_read_or_refuse(text)
        must_be_finite(text)


def test_the_seeds_themselves_are_read():
    for text in SEEDS:
        describe(text, strict=True)
