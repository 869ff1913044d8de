"""The SDF reader either reads a text or says why not: it raises no other exception and never hangs."""

import pytest

from support.fuzzing import (
    damage_bytes,
    damage_tokens,
    exchange_values,
    generators,
    groups,
    must_be_finite,
    must_read_or_refuse,
)
from support.sdf_texts import joint, link, model, pose, sdf
from support.urdf_texts import describe

GEOMETRIES = (
    "<box><size>1 2 3</size></box>",
    "<sphere><radius>1</radius></sphere>",
    "<plane><normal>0 1 0</normal></plane>",
    "<mesh><uri>x</uri></mesh>",
    "<capsule><radius>1</radius><length>2</length></capsule>",
)
MATERIAL = "<material><diffuse>1 0 0 1</diffuse></material>"
VISUALS, COLLISIONS = (
    "".join(
        f'<{tag} name="s">{pose("0 0 1 0 0 1", relative_to="f")}<density>500</density>'
        f"<geometry>{geometry}</geometry>{MATERIAL}</{tag}>"
        for geometry in GEOMETRIES
    )
    for tag in ("visual", "collision")
)
DYNAMICS = (
    "<dynamics><damping>1</damping><friction>1</friction><spring_stiffness>2</spring_stiffness></dynamics>"
)
LIMIT = "<limit><lower>-1</lower><upper>1e16</upper><effort>3</effort><velocity>-1</velocity></limit>"
AXIS = f'<axis><xyz expressed_in="f">0 1 1</xyz>{DYNAMICS}{LIMIT}</axis>'
PARTS = (
    pose("0 0 1 0 0 0"),
    link("a", pose("1 2 3 0.1 0.2 0.3") + "<gravity>false</gravity>"),
    link("b", pose("0 0 1 0 0 0", relative_to="j") + VISUALS + COLLISIONS),
    f'<link name="c"><inertial auto="true"/>{COLLISIONS}</link>',
    link("d", pose("1 2 3 10 20 30", degrees="true")),
    '<frame name="f" attached_to="a">' + pose("0 0 1 0 0 0", relative_to="__model__") + "</frame>",
    joint("j", "a", "b", "revolute", pose("1 0 0 0 0 1", relative_to="a") + AXIS),
    joint("k", "b", "c", "universal", AXIS + "<axis2><xyz>1 0 0</xyz></axis2>"),
    joint("l", "f", "inner::e", "prismatic", AXIS + "<drake:rotor_inertia>1</drake:rotor_inertia>"),
    joint("m", "c", "d", "screw", "<axis/><screw_thread_pitch>0.1</screw_thread_pitch>"),
    joint("n", "inner", "o", "ball", pose("0 0 0  0 0 0 1", rotation_format="quat_xyzw")),
    joint("p", "d", "q", "revolute", '<axis><mimic joint="j"><multiplier>2</multiplier></mimic></axis>'),
    joint("r", "b", "d", "gearbox", AXIS + "<gearbox_reference_body>a</gearbox_reference_body>"),
    link("o"),
    link("q"),
)
INNER = model("inner", link("e"), attributes='placement_frame="e" canonical_link="e"')
SEEDS = [
    sdf(model("bot", *PARTS, INNER)),
    sdf(model("bot", *PARTS, INNER), version="1.6"),
    sdf(
        '<world name="w">',
        "<gravity>0 0 -9.8</gravity>",
        model("bot", *PARTS, INNER),
        model("still", "<static>1</static>", link("a")),
        "</world>",
    ),
]
STRANGE = [
    "",
    "nan",
    "inf",
    "1e999",
    "-1",
    "0",
    "1e-320",
    "1e300",
    "world",
    "a",
    "f",
    "__model__",
    "true",
    "1 2",
    "inner::e",
]


@pytest.mark.parametrize("seeds", groups(100), ids=str)
def test_damaged_bytes(seeds):
    for rng in generators(seeds):
        must_read_or_refuse(damage_bytes(rng.choice(SEEDS), rng))


@pytest.mark.parametrize("seeds", groups(200), ids=str)
def test_damaged_tokens(seeds):
    for rng in generators(seeds):
        must_read_or_refuse(damage_tokens(rng.choice(SEEDS), rng))


@pytest.mark.parametrize("seeds", groups(200), ids=str)
def test_exchanged_values(seeds):
    """Mutations that keep the text well-formed, so they get further than most."""
    for rng in generators(seeds):
        values = rng.choice([r"(?<=>)[^<>\n]+(?=<)", r"(?<==\")[^\"]*(?=\")"])
        text = exchange_values(rng.choice(SEEDS), rng, values, STRANGE)
        must_read_or_refuse(text)
        must_be_finite(text)


def test_the_seeds_themselves_are_read():
    for text in SEEDS:
        assert len(describe(text).joints) >= 6
