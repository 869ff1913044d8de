"""The rows of element types: what they state is true, and is stated nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import mbt
from mbt._core.model.element_types import ConstraintType, ForceElementType, MobilizerType, Orientation

RECORDED = (Path(__file__).parents[1] / "data" / "every_element.json").read_text()
SOURCES = Path(__file__).parents[2] / "src" / "mbt"


@pytest.fixture(scope="module")
def tree() -> mbt.MultibodyTree:
    """A tree with an element of each kind."""
    return mbt.load_model(RECORDED)


def test_all_types_are_there(tree: mbt.MultibodyTree) -> None:
    assert {m._type for m in tree.mobilizers} == set(MobilizerType)
    assert {e._type for e in tree.force_elements if hasattr(e, "_defaults")} == set(ForceElementType)
    assert {c._type for c in tree.constraints} == set(ConstraintType)


@pytest.mark.parametrize("kind", MobilizerType)
def test_rows_of_mobilizers(tree: mbt.MultibodyTree, kind: MobilizerType) -> None:
    mobilizer = next(m for m in tree.mobilizers if m._type is kind)
    context = tree.create_default_context()
    assert (kind.num_positions, kind.row.num_velocities) == (
        mobilizer.num_positions,
        mobilizer.num_velocities,
    )
    assert mobilizer.calc_hinge_matrix(context).shape == (6, kind.row.num_velocities)
    constants = mobilizer._constants()
    assert kind.takes_constants(constants)
    assert not kind.takes_constants(np.append(constants, 0.0))
    assert len(constants) == 0 or not kind.takes_constants(constants[:-1])
    assert kind.row.has_axis == hasattr(mobilizer, "_axis")
    if kind.row.has_axis:
        assert np.linalg.norm(constants[:3]) == pytest.approx(1.0)
    # Velocities are rates of positions unless they begin with an orientation.
    N = mobilizer.calc_n_matrix(context)
    assert (kind.row.orientation == Orientation.PLAIN) == mobilizer.is_velocity_equal_to_qdot
    assert N.shape == (kind.num_positions, kind.row.num_velocities)


def test_a_contact_has_at_least_one_point() -> None:
    assert [n for n in range(20) if ForceElementType.POINT_CONTACT.takes_parameters(n)] == [8, 11, 14, 17]


def files_that_spell(pattern: str) -> list[str]:
    """Return the sources that name a type, except those of file formats, which list what they can hold."""
    return [
        str(path.relative_to(SOURCES))
        for path in sorted(SOURCES.rglob("*"))
        if path.suffix in (".py", ".pyx", ".pxd", ".hpp")
        and path.parent.name not in ("parsing", "saving")
        and re.search(pattern, path.read_text(encoding="utf-8"))
    ]


def test_a_joint_type_is_told_in_four_files() -> None:
    assert files_that_spell(r"\bPLANAR\b|\bPlanar(Joint|Mobilizer)\b") == [
        "_core/joints/mobilizers.pxd",
        "_core/model/element_types.py",
        "tree/joints/__init__.py",
        "tree/joints/planar.py",
    ]


def test_a_force_element_is_told_in_four_files() -> None:
    assert files_that_spell(r"\b(LINEAR_BUSHING_RPY|LinearBushingRollPitchYaw)\b") == [
        "_core/forces/force_elements.pxd",
        "_core/model/element_types.py",
        "tree/force_elements/__init__.py",
        "tree/force_elements/linear_bushing_roll_pitch_yaw.py",
    ]
