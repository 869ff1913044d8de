"""The demonstration's numbers are right."""

import io
import json
import re
import sys

import numpy as np
import pytest

from mbt import functional
from mbt.cli import main
from mbt.cli.braille import draw_lines
from mbt.cli.demo import run_demo, run_demo_as_json
from mbt.models import model_names, model_path
from mbt.parsing import load_model


def test_the_fall_keeps_its_energy():
    lines = run_demo().partition("Motors off")[2].splitlines()[2:8]
    rows = np.array([line.split() for line in lines[:5]], dtype=float)
    time, kinetic, potential, lost, total = rows.T
    np.testing.assert_allclose(time, np.linspace(0, 1, 5))
    np.testing.assert_allclose(kinetic + potential + lost, total, atol=2e-4)
    np.testing.assert_allclose(total, total[0], atol=1e-4)
    assert kinetic[0] == lost[0] == 0.0
    assert (np.diff(lost) > 0.0).all()
    [drift] = re.findall(r"drifted by (\S+) J", lines[5])
    assert float(drift) < 1e-7


@pytest.mark.parametrize("name", model_names())
def test_models_are_free_of_warnings(name):
    tree = load_model(model_path(name), strict=True)
    (report,) = tree.parse_reports
    assert report.warnings == []
    assert report.ignored == {}
    assert all(body.visuals for body in tree.bodies if body.default_mass > 0.0)
    assert all(body.default_spatial_inertia.is_physically_valid() for body in tree.bodies)
    assert tree.num_actuators == tree.num_velocities


def dots_of(lines):
    """Return rows and columns of a picture's dots, from its upper left corner."""
    bits = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
    return {
        (4 * i + row, 2 * j + column)
        for i, line in enumerate(lines)
        for j, character in enumerate(line)
        for row in range(4)
        for column in range(2)
        if (ord(character) - 0x2800) & bits[row][column]
    }


def test_lines_in_dots():
    square = np.array([[[0, 0], [1, 0]], [[1, 0], [1, 1]], [[1, 1], [0, 1]], [[0, 1], [0, 0]]], dtype=float)
    dots = dots_of(draw_lines(square, 20, 5))
    # As wide as high, and as high as space allows: 20 dots.
    edge = range(20)
    assert dots == {(i, j) for i in edge for j in edge if 0 in (i, j) or 19 in (i, j)}
    # Up in the model is up in the picture.
    rising = dots_of(draw_lines(np.array([[[0.0, 0.0], [1.0, 1.0]]]), 10, 5))
    assert (19, 0) in rising
    assert (0, 19) in rising
    assert len(dots_of(draw_lines(np.zeros((1, 2, 2)), 10, 5))) == 1


def test_the_picture_is_for_terminals_that_can_show_it(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    text = run_demo()
    assert "after half of a second" in text
    assert len(dots_of(text.partition("after half of a second")[2].splitlines()[1:8])) > 60
    assert max(map(len, text.partition("after half of a second")[2].splitlines())) <= 110
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    text = run_demo()
    assert not any("\u2800" <= character <= "\u28ff" for character in text)
    assert "python -m mbt view" in text


def test_the_demo_for_programs():
    value = json.loads(run_demo_as_json())
    tree = load_model(model_path("mbt_arm"))
    np.testing.assert_allclose(value["mass_matrix"], functional.mass_matrix(tree, value["q"]))
    assert value["fall"]["energy_drift"] < 1e-7
    assert all(seconds > 0.0 for seconds in value["seconds_per_call"].values())


def test_convert_for_programs(tmp_path, capsys):
    out = tmp_path / "arm.json"
    path = str(model_path("mbt_arm"))
    assert main(["convert", path, "-o", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "file": path,
        "output": str(out),
        "text": None,
        "remarks": [],
    }
    assert main(["convert", path, "--to", "urdf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["text"].startswith("<?xml")
    assert main(["convert", "none.urdf", "--to", "urdf", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["type"] == "ParseError"
