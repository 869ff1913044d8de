"""One line of the report lists what a description contains that does not act."""

from __future__ import annotations

from typing import Any

import pytest

import mbt
from support import sdf_texts, urdf_texts

LIMIT = '<limit lower="-1" upper="1" effort="3" velocity="2"/>'


def urdf(collisions: tuple[int, int] = (0, 0), limits: int = 0, frictions: int = 0, more: str = "") -> str:
    """A chain of links with shapes, and of joints with limits or friction."""
    count = max(limits, frictions, 1)
    links = [urdf_texts.link(f"link_{i}") for i in range(count + 1)]
    box = "<collision><geometry><box size='1 1 1'/></geometry></collision>"
    for i, number in enumerate(collisions):
        links[i] = links[i].replace("</link>", box * number + "</link>")
    joints = [
        urdf_texts.joint(
            f"joint_{i}",
            f"link_{i}",
            f"link_{i + 1}",
            "revolute" if i < limits else "continuous",
            LIMIT * (i < limits) + '<dynamics friction="0.5"/>' * (i < frictions),
        )
        for i in range(count)
    ]
    return urdf_texts.robot(*links, *joints, more)


def sdf() -> str:
    def shape(name: str, geometry: str) -> str:
        return f'<collision name="{name}"><geometry>{geometry}</geometry></collision>'

    axis = "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>2</upper></limit>"
    axis += "<dynamics><friction>0.5</friction></dynamics></axis>"
    floor = sdf_texts.link("ground", shape("grass", "<plane/>"))
    return sdf_texts.world(
        sdf_texts.model("hall", "<static>true</static>", floor),
        sdf_texts.model(
            "arm",
            sdf_texts.link("a", shape("a", "<sphere><radius>1</radius></sphere>")),
            sdf_texts.link("b", shape("b", "<sphere><radius>1</radius></sphere>") * 2),
            sdf_texts.joint("ab", "a", "b", inside=axis),
        ),
    )


CASES: dict[str, tuple[dict[str, Any], dict[str, int], str]] = {
    "nothing": ({}, {}, ""),
    "a limit": (
        {"limits": 1},
        {"limits": 1},
        "Read but not applied: limits of 1 joint (only implicit steps enforce them)",
    ),
    "limits": (
        {"limits": 3},
        {"limits": 3},
        "Read but not applied: limits of 3 joints (only implicit steps enforce them)",
    ),
    "shapes of one link": ({"collisions": (2, 0)}, {}, ""),
    "shapes": ({"collisions": (2, 1)}, {"contacts": 3}, "Read but not applied: contacts of 3 shapes"),
    "friction": (
        {"frictions": 1},
        {"frictions": 1},
        "Read but not applied: friction of 1 joint (only implicit steps apply it)",
    ),
    "all": (
        {"collisions": (1, 1), "limits": 2, "frictions": 3},
        {"contacts": 2, "limits": 2, "frictions": 3},
        "Read but not applied: contacts of 2 shapes, limits of 2 joints (only implicit steps enforce them), "
        "friction of 3 joints (only implicit steps apply it)",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_urdf(name: str) -> None:
    options, counts, line = CASES[name]
    report = mbt.load_model(urdf(**options)).parse_reports[0]
    assert report.inactive == counts
    assert report.summarize_inactive() == line
    lines = str(report).splitlines()
    assert lines[1].startswith(line or "Nothing was ignored or changed.")
    assert ("Nothing was ignored or changed." in lines) is not bool(counts)


def test_friction_that_is_asked_for_acts() -> None:
    report = mbt.load_model(urdf(frictions=2), joint_friction=True).parse_reports[0]
    assert report.inactive == {}


def test_sdf() -> None:
    report = mbt.load_model(sdf()).parse_reports[0]
    assert report.inactive == {"contacts": 4, "limits": 1, "frictions": 1}
    joints = (
        "limits of 1 joint (only implicit steps enforce them), "
        "friction of 1 joint (only implicit steps apply it)"
    )
    line = f"contacts of 4 shapes (the floor 'grass' among them), {joints}"
    assert report.summarize_inactive() == f"Read but not applied: {line}"


def test_it_is_in_front_of_warnings() -> None:
    """Colours cause many warnings; what changes the motion is listed before them."""
    colors = "".join(f'<material name="m{i}"><color rgba="1 2 3"/></material>' for i in range(15))
    with pytest.warns(mbt.ModelWarning) as caught:
        mbt.load_model(urdf(limits=2, more=colors))
    lines = str(caught[0].message).splitlines()
    assert len(lines) > 2
    assert lines[1] == "  Read but not applied: limits of 2 joints (only implicit steps enforce them)"
    assert [line for line in lines if "Read but not applied" in line] == [lines[1]]


def test_json() -> None:
    """A saved model reports the same limits and shapes; its friction acts."""
    tree = mbt.load_model(urdf(collisions=(1, 2), limits=2, frictions=3), joint_friction=True)
    report = mbt.load_model(mbt.save_model(tree, format="json")).parse_reports[0]
    assert report.inactive == {"contacts": 3, "limits": 2}
    hall = mbt.load_model(sdf())
    report = mbt.load_model(mbt.save_model(hall, format="json")).parse_reports[0]
    assert report.floors == ["grass"]
