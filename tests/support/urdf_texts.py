"""Small URDF texts, composed of pieces, for the tests of the parser."""

from __future__ import annotations

from mbt.parsing.description import ModelDescription
from mbt.parsing.formats import read_description
from mbt.parsing.options import ReadOptions
from mbt.parsing.sources import read_source

BOX = '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.04"/>'


def describe(source: str | bytes, **options: object) -> ModelDescription:
    """Return the description that the parser makes of a source."""
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
    """Each part is on a line of its own; the first is on line 2."""
    return "\n".join([f'<robot name="{name}">', *parts, "</robot>"])


def chain(count: int, kind: str = "continuous") -> str:
    """Return a chain of `count` links in addition to its base."""
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


#: Close `four_bar` by a ball, as Drake writes it, or by a hinge.
PIN = (
    '<drake:ball_constraint><drake:ball_constraint_body_A name="base"/>'
    '<drake:ball_constraint_body_B name="rocker"/><drake:ball_constraint_p_AP value="0.7 0 0"/>'
    '<drake:ball_constraint_p_BQ value="0.5 0 0"/></drake:ball_constraint>'
)
HINGE = (
    '<loop_joint name="pin"><link1 link="rocker" xyz="0.5 0 0" rpy="0 0 0"/>'
    '<link2 link="base" xyz="0.7 0 0" rpy="{half_pi} 0 0"/><axis xyz="0 0 1"/></loop_joint>'
)


def four_bar(half_pi: str = "1.5707963267948966", closing: str = PIN) -> str:
    """Return three bars in the x-z plane, as by an exporter that rotates the frame of each joint."""
    parts, inboard, reach = [link("base")], "base", 0.0
    rows = (("crank", 0.3, "", "0 0 1"), ("coupler", 0.8, "-", "0 -1 0"), ("rocker", 0.5, "", "0 0 1"))
    for name, length, sign, axis in rows:
        across = length**3 / 12
        inertia = f'<inertia ixx="1e-4" iyy="{across}" izz="{across}" ixy="0" ixz="0" iyz="0"/>'
        place = f'<origin xyz="{reach} 0 0" rpy="{sign}{half_pi} 0 0"/><axis xyz="{axis}"/>'
        parts += [
            link(name, length, inertia, f'<origin xyz="{length / 2} 0 0"/>'),
            joint(f"{name}_pin", inboard, name, inside=place),
        ]
        inboard, reach = name, length
    return robot(*parts, closing.format(half_pi=half_pi))
