"""``mbt check`` as a user and a build server see it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

import mbt
from mbt.cli import main
from mbt.cli.terminal import paint
from mbt.models import model_path

BAD = """<robot name="bot">
<link name="base"/>
<link name="arm"><inertial><mass value="1"/>
  <inertia ixx="1" iyy="1" izz="3" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/>
  <axis xyz="0 0 2"/><limit lower="-90" upper="90" effort="1" velocity="1"/></joint>
</robot>"""


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.urdf"
    path.write_text(BAD, encoding="utf-8")
    return path


def test_a_clean_file(capsys):
    path = str(model_path("mbt_arm"))
    assert main(["check", path]) == 0
    assert capsys.readouterr().out == f"{path}: nothing found\n"


@pytest.mark.parametrize(("fail_on", "code"), [("error", 1), ("warning", 1), ("note", 1), ("never", 0)])
def test_findings_are_lines_that_editors_jump_to(bad, capsys, fail_on, code):
    assert main(["check", str(bad), "--fail-on", fail_on]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{bad}:3: error: link 'arm': no physical body has this inertia")
    assert lines[-1] == f"{bad}: 1 error, 1 warning, 1 note"


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1)])
def test_what_makes_it_fail(tmp_path, capsys, fail_on, code):
    path = tmp_path / "degrees.urdf"
    path.write_text(BAD.replace('izz="3"', 'izz="1"'), encoding="utf-8")
    assert main(["check", str(path), "--fail-on", fail_on, "--quiet"]) == code
    out = capsys.readouterr().out
    assert "look like degrees" in out
    assert "note:" not in out


def test_several_files_and_one_that_is_not_there(bad, capsys):
    assert main(["check", str(model_path("mbt_arm")), str(bad), "none.urdf"]) == 2
    out = capsys.readouterr().out
    assert "none.urdf: error: there is no such file [unreadable]" in out
    assert out.splitlines()[-1] == "none.urdf: 1 error"


def test_json(bad, capsys):
    assert main(["check", str(bad), "--json"]) == 1
    value = json.loads(capsys.readouterr().out)
    assert value["exit_code"] == 1
    (file,) = value["files"]
    assert file["counts"] == {"error": 1, "warning": 1, "note": 1}
    assert file["findings"] == [finding.__dict__ for finding in mbt.check_model(bad).findings]


def test_fix_writes_a_repaired_file_and_tells_what_is_left(bad, tmp_path, capsys):
    out = tmp_path / "good.urdf"
    assert main(["check", str(bad), "--fix", str(out), "--fail-on", "error"]) == 0
    assert main(["check", str(bad), "--fix", str(out)]) == 1
    text = capsys.readouterr().out
    assert f"{out}: written, 2 repaired" in text
    assert "line 4: link 'arm': inertia replaced by the nearest possible one" in text
    assert text.splitlines()[-1] == f"{out}: 1 warning"
    assert mbt.load_model(out, strict=True).num_positions == 1
    assert main(["check", str(bad), str(out), "--fix", "x.urdf"]) == 2
    assert "--fix: expected one FILE, got 2" in capsys.readouterr().err


def test_fix_of_what_cannot_be_repaired(tmp_path, capsys):
    tree = mbt.load_model(model_path("mbt_arm"))
    mbt.save_model(tree, tmp_path / "arm.json")
    assert main(["check", str(tmp_path / "arm.json"), "--fix", str(tmp_path / "out.urdf"), "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["type"] == "ParseError"
    assert not (tmp_path / "out.urdf").exists()
    assert main(["check", "none.urdf", "--fix", str(tmp_path / "out.urdf")]) == 2
    assert not (tmp_path / "out.urdf").exists()


def test_the_standard_input(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert main(["check", "-"]) == 1
    assert capsys.readouterr().out.startswith("<stdin>:3: error: ")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_alone(bad, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert paint("a", "red", io.StringIO()) == "a"
    assert paint("a", "red", None) == "a"
    assert paint("a", "red", Terminal()) == "\x1b[31ma\x1b[0m"
    monkeypatch.setattr(sys, "stdout", Terminal())
    main(["check", str(bad)])
    assert "\x1b[31merror\x1b[0m: " in sys.stdout.getvalue()
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            patch.setattr(sys, "stdout", Terminal())
            main(["check", str(bad)])
            assert "\x1b" not in sys.stdout.getvalue()
