"""The command line as a user sees it: output, messages, exit codes."""

import io
import itertools
import json
import os
import subprocess
import sys

import pytest

import mbt
from mbt.cli import main
from mbt.cli.terminal import line_width
from mbt.models import model_path
from support import sdf_texts
from support.urdf_texts import TWO_LINKS, chain, joint, link, robot, transmission


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "mbt", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        **options,
    )


@pytest.fixture(autouse=True)
def _width(monkeypatch):
    """Fix the width, whatever the terminal of the tests."""
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def info(tmp_path, capsys):
    """Return a function that writes a URDF and returns the output of ``mbt info``."""

    def describe(text, *options):
        path = tmp_path / "bot.urdf"
        path.write_text(text, encoding="utf-8")
        assert main(["info", str(path), *options]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        if "--all" not in options and "--json" not in options:
            assert max(map(len, captured.out.splitlines())) <= line_width()
        return captured.out

    return describe


def test_without_a_command_there_is_help(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "info" in out
    assert "demo" in out


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mbt {mbt.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["info"], ["info", "a", "--base", "loose"], ["--no-such"], ["--vers"]]
)
def test_wrong_arguments(arguments, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "usage: mbt" in captured.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot", "not well-formed XML"),
        ("<html/>", "this is not a robot description"),
        (robot(link("a"), link("a")), 'bot.urdf:3: <link name="a">: there is a link of this name already'),
    ],
)
def test_bad_files_are_one_message_and_exit_code_2(tmp_path, capsys, text, message):
    path = tmp_path / "bot.urdf"
    path.write_text(text)
    assert main(["info", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("mbt: ")
    assert message in captured.err
    assert "Traceback" not in captured.err


def test_missing_files(capsys):
    assert main(["info", "no such file.urdf"]) == 2
    assert "no such file.urdf: there is no such file" in capsys.readouterr().err


def test_info_on_the_arm(info):
    out = info(model_path("mbt_arm").read_text())
    rows = [line.split() for line in out.splitlines()]
    assert ["1", "shoulder", "y", "-2", "2", "rad", "2.5", "150", "2.5", "1.8"] in rows
    for expected in (
        "mbt_arm · ",
        "8 bodies of 18.05 kg · 8 joints, 6 moving · 6 positions · 6 velocities · 6 actuators",
        "world\n  └─ base ",
        "Read but not applied: limits of 5 joints (only implicit steps enforce them)",
    ):
        assert expected in out
    assert "Warnings" not in out


def test_info_on_a_floating_base(info):
    out = info(robot(*TWO_LINKS), "--base", "floating")
    assert "2 bodies of 2 kg · 2 joints, 2 moving · 8 positions · 7 velocities · 0 actuators" in out
    assert "(base)" in out
    assert "quaternion floating  0-6" in out
    assert "Nothing in the file was ignored or changed." in out


def test_info_tells_what_is_unusual(info):
    part = sdf_texts.model("m", sdf_texts.link("base"))
    assert "gravity" not in info(sdf_texts.world("<gravity>0 0 -9.81</gravity>", part))
    text = sdf_texts.world("<gravity>0.1 0 -1.62</gravity>", part)
    assert " · 0 actuators · gravity 0.1 0 -1.62" in info(text)
    assert json.loads(info(text, "--json"))["gravity"] == [0.1, 0, -1.62]


def test_info_on_sdf(info):
    """The content determines the format."""
    parts = sdf_texts.link("base"), sdf_texts.link("arm"), sdf_texts.joint("hinge", "base", "arm")
    said = info(sdf_texts.robot(*parts), "--base", "fixed")
    assert "2 bodies of 4 kg" in said
    assert "hinge" in said


def test_info_warns(info):
    inertia = '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="5"/>'
    text = robot(
        link("base", 1, inertia),
        link("tip"),
        joint("j", "base", "tip", inside='<axis xyz="1 1 0"/>'),
        transmission("j"),
    )
    out = info(text)
    assert "Warnings\n  1 link has an inertia that no physical body has, loaded as written: 'base'" in out
    assert "0.71 0.71 0" in out


def test_info_draws_branches(info):
    parts = [link("base"), *(link(name) for name in "abcd")]
    parts += [
        joint("ja", "base", "a"),
        joint("jb", "a", "b", "prismatic"),
        joint("jc", "base", "c", "fixed"),
        joint("jd", "c", "d", "floating"),
    ]
    drawing = [line.split("  j")[0].rstrip() for line in info(robot(*parts)).splitlines()[4:10]]
    assert drawing == [
        "  world",
        "  └─ base     base_to_world  weld                              1",
        "     ├─ a",
        "     │  └─ b",
        "     └─ c",
        "        └─ d",
    ]


def test_info_when_nothing_moves(info):
    assert "Nothing moves." in info(robot(link("base")))


def test_info_on_a_long_chain_and_a_wide_star(info):
    out = info(chain(300))
    assert "… 287 more" in out
    assert "more joints (--all shows them)" in out
    wide = robot(link("hub"), *(link(f"l{i}") + joint(f"j{i}", "hub", f"l{i}") for i in range(300)))
    assert "… 182 more bodies (--all shows them)" in info(wide)
    assert info(wide, "--all").count("└─") + info(wide, "--all").count("├─") == 301


def test_all_shows_every_name(info):
    names = [
        f"a_link_with_a_name_that_is_rather_long_as_robots_of_many_parts_have_them_{i}" for i in range(40)
    ]
    links = "".join(link(name) for name in names)
    joints = "".join(joint(f"joint_of_{b}", a, b) for a, b in itertools.pairwise(names))
    text = robot(links, joints)
    words = info(text, "--all").replace("\n", " ").split(" ")
    assert set(names) | {f"joint_of_{name}" for name in names[1:]} <= set(words)
    assert "…" not in words
    assert not set(names) & set(info(text).split())
    # Deep branches are listed with their depth.
    assert f"  15: {names[14]} " in info(text, "--all")


def test_the_last_line_wraps(info, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    out = info(robot(link("base"), link("tip"), joint("hinge", "base", "tip")))
    assert out.endswith("\nNothing in the file was ignored or\nchanged.\n")


@pytest.mark.parametrize("columns", [60, 140])
def test_columns_is_obeyed(info, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    name = "l" * 200
    out = info(robot(link("base"), link(name), joint("hinge", "base", name)))
    assert max(map(len, out.splitlines())) == columns


def test_dash_is_the_standard_input(info):
    text = robot(link("base"), link("tip"), joint("hinge", "base", "tip"))
    result = run("info", "-", input=text)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[0] == "bot · <stdin>"
    assert result.stdout.splitlines()[1:] == info(text).splitlines()[1:]  # the first line names the file
    refused = run("info", "-", input="<robot>")
    assert refused.returncode == 2
    assert "mbt: <stdin>:1: not well-formed XML: no element found" in refused.stderr


def or_null(limits):
    return [x if abs(x) < float("inf") else None for x in limits.tolist()]


def test_json_holds_what_the_tree_has():
    result = run("info", str(model_path("mbt_arm")), "--json")
    assert (result.returncode, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    tree = mbt.load_model(model_path("mbt_arm"), gravity=None)
    assert found["model"] == tree.parse_reports[0].model_name
    assert (found["num_positions"], found["num_velocities"]) == (tree.num_positions, tree.num_velocities)
    assert found["mass"] == pytest.approx(sum(body.default_mass for body in tree.bodies))
    assert found["bodies"] == [
        {
            "name": body.name,
            "node_index": body.node_index,
            "inboard_body": body.inboard_mobilizer.inboard_body.name if body.inboard_mobilizer else None,
            "inboard_joint": body.inboard_joint.name if body.inboard_joint else None,
            "mass": body.default_mass,
            "num_visuals": len(body.visuals),
            "num_collisions": len(body.collisions),
        }
        for body in tree.bodies
    ]
    assert found["joints"] == [
        {
            "name": joint_of_tree.name,
            "type": joint_of_tree.type_name,
            "parent": joint_of_tree.parent_body.name,
            "child": joint_of_tree.child_body.name,
            "position_start": joint_of_tree.position_start,
            "num_positions": joint_of_tree.num_positions,
            "velocity_start": joint_of_tree.velocity_start,
            "num_velocities": joint_of_tree.num_velocities,
            "position_lower_limits": or_null(joint_of_tree.position_lower_limits),
            "position_upper_limits": or_null(joint_of_tree.position_upper_limits),
            "velocity_upper_limits": or_null(joint_of_tree.velocity_upper_limits),
            "effort_limit": None
            if joint_of_tree.effort_limit == float("inf")
            else joint_of_tree.effort_limit,
            "damping": joint_of_tree.default_damping_vector.tolist(),
        }
        for joint_of_tree in tree.joints
    ]
    assert [(one["name"], one["joint"], one["effort_limit"]) for one in found["actuators"]] == [
        (motor.name, motor.joint.name, motor.effort_limit) for motor in tree.joint_actuators
    ]
    assert sum(body["num_visuals"] for body in found["bodies"]) == 7
    assert (found["warnings"], found["massless_branches"], found["constraints"]) == ([], [], [])


def test_constraints_are_told(info):
    mimic = '<mimic joint="hinge" multiplier="-2" offset="0.5"/>'
    parts = (*TWO_LINKS, link("tip"), joint("follower", "arm", "tip", inside=mimic))
    out = info(robot(*parts))
    assert "Constraints, which forward dynamics obeys\n  follower: q(follower) = -2 q(hinge) +0.5\n" in out
    (constraint,) = json.loads(info(robot(*parts), "--json"))["constraints"]
    assert constraint == {
        "name": "follower",
        "type": "CouplerConstraint",
        "num_equations": 1,
        "equation": "q(follower) = -2 q(hinge) +0.5",
    }


def test_of_many_constraints_the_first_are_shown(info):
    parts = [link("l0"), link("l1"), joint("j0", "l0", "l1")]
    for i in range(1, 131):
        parts += [link(f"l{i + 1}"), joint(f"j{i}", f"l{i}", f"l{i + 1}", inside='<mimic joint="j0"/>')]
    out = info(robot(*parts))
    assert "q(j120) = " in out
    assert "q(j121) = " not in out
    assert "  … 10 more constraints (--all shows them)" in out
    assert "q(j130) = " in info(robot(*parts), "--all")


def test_json_says_what_is_wrong(info, tmp_path, capsys):
    found = json.loads(info(robot(link("base"), link("tip", None), joint("hinge", "base", "tip")), "--json"))
    hinge = next(one for one in found["joints"] if one["name"] == "hinge")
    assert hinge["position_upper_limits"] == [None]
    assert "hinge" in found["massless_branches"][0]

    path = tmp_path / "broken.urdf"
    path.write_text("<robot>")
    assert main(["info", str(path), "--json"]) == 2
    captured = capsys.readouterr()
    error = json.loads(captured.out)["error"]
    assert error["type"] == "ParseError"
    assert captured.err == f"mbt: {error['message']}\n"


def test_strict(tmp_path, capsys):
    path = tmp_path / "bot.urdf"
    path.write_text(robot(link("base", 1, '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="5"/>')))
    assert main(["info", str(path), "--strict"]) == 2
    assert "No physical body has this inertia" in capsys.readouterr().err


def test_names_cannot_steer_the_terminal(info, capsys):
    out = info(robot(link("a\x9b2Jb"), link("tip"), joint("\u202ej", "a\x9b2Jb", "tip")))
    assert "\x9b" not in out
    assert "\u202e" not in out
    assert main(["info", "a\x1b[2J"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_ascii_terminals():
    result = run("info", str(model_path("mbt_arm")), env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0
    assert result.stdout.isascii()
    assert "`- base" in result.stdout


def test_a_reader_that_goes_away():
    code = "import sys; from mbt.cli import main; sys.exit(main(['info', sys.argv[1]]))"
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as broken:
        result = subprocess.run(
            [sys.executable, "-c", code, str(model_path("mbt_arm"))],
            stdout=broken,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    assert result.returncode == 1
    assert result.stderr == b""


ARM = ["info", str(model_path("mbt_arm"))]


@pytest.mark.parametrize(
    ("stream", "arguments", "message"),
    [
        ("stdin", ["info", "-"], "mbt: <stdin>: the standard input is closed\n"),
        ("stdout", ARM, "mbt: the output cannot be written: the standard output is closed\n"),
        ("stdout", [], "mbt: the output cannot be written: the standard output is closed\n"),
        ("stdout", ["info", "no.urdf", "--json"], "the standard output is closed\n"),
        ("stderr", ["info", "no.urdf"], ""),
        ("stderr", ["nonsense"], ""),
    ],
)
def test_closed_streams(stream, arguments, message, monkeypatch, capsys):
    """Python has None in place of a closed stream."""
    monkeypatch.setattr(sys, stream, None)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.endswith(message)
    assert len(captured.err.splitlines()) == bool(message)
    assert captured.out == ""


def test_an_input_that_cannot_be_read(tmp_path, monkeypatch, capsys):
    with (tmp_path / "file").open("w") as for_writing:
        monkeypatch.setattr(
            sys, "stdin", io.TextIOWrapper(io.FileIO(for_writing.fileno(), "w", closefd=False))
        )
        assert main(["info", "-"]) == 2
    assert capsys.readouterr().err.startswith("mbt: <stdin>: the standard input cannot be read")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no device that is full")
@pytest.mark.parametrize("arguments", [ARM, [], ["--help"]])
def test_an_output_that_is_full(arguments, monkeypatch, capsys):
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(arguments) == 2
    assert capsys.readouterr().err == "mbt: the output cannot be written: No space left on device\n"


def test_demo():
    result = run("demo")
    assert result.returncode == 0
    assert result.stderr == ""
    assert max(map(len, result.stdout.splitlines())) <= 100
    for expected in (
        "└─ turret",
        "Mass matrix",
        "Torques that hold",
        "the first second of the fall",
        "inverse dynamics",
        " ns",
    ):
        assert expected in result.stdout


def test_main_writes_where_stdout_points(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    assert main([]) == 0
    assert "usage: mbt" in out.getvalue()
