"""Small URDF texts, put together from pieces, for the tests of the reader."""

from __future__ import annotations

from mbt.parsing.description import ModelDescription
from mbt.parsing.formats import read_description
from mbt.parsing.options import ReadOptions
from mbt.parsing.sources import read_source

BOX = '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/>'


def describe(source: str | bytes, **options: object) -> ModelDescription:
    """The description that the reader makes of a source."""
    return read_description(read_source(source), ReadOptions(**options))


def link(name: str, mass: float | str | None = 1.0, inertia: str = BOX, origin: str = "") -> str:
    if mass is None:
        return f'<link name="{name}"/>'
    return f'<link name="{name}"><inertial>{origin}<mass value="{mass}"/>{inertia}</inertial></link>'


def joint(
    name: str, parent: str, child: str, kind: str = "continuous", inside: str = '<axis xyz="0 0 1"/>'
) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'
    )


def transmission(
    joint_name: str, inside: str = "", kind: str = "transmission_interface/SimpleTransmission"
) -> str:
    return (
        f'<transmission name="{joint_name}_drive"><type>{kind}</type><joint name="{joint_name}"/>'
        f'<actuator name="{joint_name}_motor">{inside}</actuator></transmission>'
    )


def robot(*parts: str, name: str = "bot") -> str:
    """Each part stands on a line of its own; the first is on line 2."""
    return "\n".join([f'<robot name="{name}">', *parts, "</robot>"])


def chain(count: int, kind: str = "continuous") -> str:
    """A chain of `count` links besides its base."""
    parts = [link("link_0")]
    for i in range(1, count + 1):
        parts.append(link(f"link_{i}"))
        parts.append(
            joint(
                f"joint_{i}", f"link_{i - 1}", f"link_{i}", kind, '<origin xyz="0 0 0.1"/><axis xyz="0 1 0"/>'
            )
        )
    return robot(*parts)


TWO_LINKS = (link("base"), link("arm"), joint("hinge", "base", "arm"))
