"""Small SDF texts, composed of pieces, for the tests of the parser."""

from __future__ import annotations

INERTIA = (
    "<inertial><pose>0.1 -0.2 0.3 0.4 0.5 0.6</pose><mass>{}</mass><inertia>"
    "<ixx>0.2</ixx><iyy>0.3</iyy><izz>0.4</izz><ixy>0.01</ixy><ixz>-0.02</ixz><iyz>0.03</iyz>"
    "</inertia></inertial>"
)


def pose(text: str, **attributes: str) -> str:
    written = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<pose{written}>{text}</pose>"


def link(name: str, inside: str = "", mass: float = 2.0) -> str:
    return f'<link name="{name}">{inside}{INERTIA.format(mass)}</link>'


def joint(
    name: str,
    parent: str,
    child: str,
    kind: str = "revolute",
    inside: str = "<axis><xyz>0 0 1</xyz></axis>",
) -> str:
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def model(name: str, *parts: str, attributes: str = "") -> str:
    """Each part is on a line of its own."""
    return "\n".join([f'<model name="{name}" {attributes}>', *parts, "</model>"])


def sdf(*parts: str, version: str = "1.11") -> str:
    """The contents of `parts` begin on line 2."""
    return "\n".join([f'<sdf version="{version}" xmlns:drake="http://drake.mit.edu">', *parts, "</sdf>"])


def robot(*parts: str, version: str = "1.11", attributes: str = "") -> str:
    """A document with one model, whose parts begin on line 3."""
    return sdf(model("bot", *parts, attributes=attributes), version=version)


def world(*parts: str, version: str = "1.11") -> str:
    return sdf('<world name="hall">', *parts, "</world>", version=version)
