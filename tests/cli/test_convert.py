"""``mbt convert``: formats, files, and messages on standard error."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

import mbt
from mbt.cli import main
from mbt.models import model_path

ARM = str(model_path("mbt_arm"))
Captured = pytest.CaptureFixture[str]


def test_to_json_and_back(tmp_path: Path, capsys: Captured) -> None:
    assert main(["convert", ARM, "--to", "json"]) == 0
    text = capsys.readouterr().out
    assert text == mbt.save_model(mbt.load_model(ARM), format="json")
    path = tmp_path / "arm.json"
    path.write_text(text, encoding="utf-8")
    assert main(["convert", str(path), "-o", str(tmp_path / "arm.urdf")]) == 0
    assert capsys.readouterr() == ("", "")
    twin = mbt.load_model(tmp_path / "arm.urdf")
    assert twin.position_names == mbt.load_model(ARM).position_names


def test_from_the_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    text = mbt.save_model(mbt.load_model(ARM, gravity=None), format="json")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(["convert", "-", "--to", "json"]) == 0
    assert capsys.readouterr().out == text, "gravity is as it was"


def test_the_base_is_as_the_file_says(capsys: Captured) -> None:
    assert main(["convert", ARM, "--to", "json", "--base", "floating"]) == 0
    assert mbt.load_model(capsys.readouterr().out).num_velocities == 12


def test_losses_and_repairs_are_told(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "odd.urdf"
    path.write_text(
        '<robot name="odd"><link name="a"/><link name="b"><inertial><mass value="1"/></inertial></link>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/></joint></robot>',
        encoding="utf-8",
    )
    assert main(["convert", str(path), "--to", "json"]) == 0
    assert "it is revolute without <limit>" in capsys.readouterr().err
    tree = mbt.load_model(ARM).edit()
    tree.add_force_element(mbt.RevoluteSpring(tree.joints[1], 0.0, 1.0))
    saved = tmp_path / "arm.json"
    mbt.save_model(tree, saved)
    assert main(["convert", str(saved), "--to", "urdf"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("mbt: URDF cannot hold all of this model (JSON can):")
    assert "a RevoluteSpring, which is left out" in captured.err
    assert captured.out.startswith("<?xml")
    assert main(["convert", str(saved), "--to", "urdf", "--strict"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([ARM], "give --to json or --to urdf, or an --output that ends in .json or .urdf"),
        ([ARM, "-o", "arm.sdf"], "the suffix of 'arm.sdf' is neither"),
        ([ARM, "-o", "/no/such/folder/arm.json"], "cannot be written: No such file or directory"),
        (["nothing.urdf", "--to", "json"], "there is no such file"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: Captured) -> None:
    assert main(["convert", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


def test_info_reads_json(tmp_path: Path, capsys: Captured) -> None:
    mbt.save_model(mbt.load_model(ARM, base="floating"), tmp_path / "arm.json")
    assert main(["info", str(tmp_path / "arm.json")]) == 0
    assert "12 velocities" in capsys.readouterr().out
