"""The commands: the options of each, and the function that it runs, imported on the call."""

from __future__ import annotations

import argparse
import json
from typing import Any

from mbt.cli.terminal import complain

__all__ = ["COMMANDS"]


# Each function adds a command with the function that runs it: it takes the options, and returns the text to
# print and the exit code.


def _add_info(commands: Any) -> None:
    info = commands.add_parser(
        "info",
        help="show the contents of a robot description",
        description="Show the bodies, joints, limits, masses and actuators of a file, and ignored content.",
        allow_abbrev=False,
    )
    add_reading_options(info)
    form = info.add_mutually_exclusive_group()
    form.add_argument("--all", action="store_true", help="show every body and joint, with full names")
    form.add_argument("--json", action="store_true", help="print one JSON object, errors too")
    info.set_defaults(run=_run_info)


def _run_info(options: argparse.Namespace) -> tuple[str, int]:
    from mbt.cli.info import describe, load

    tree = load(options.file, **reading_options(options))
    if options.json:
        from mbt.cli.info_json import describe_as_json

        return describe_as_json(tree), 0
    return describe(tree, show_all=options.all), 0


def _add_check(commands: Any) -> None:
    check = commands.add_parser(
        "check",
        help="look for faults in robot descriptions",
        description="Look for impossible inertias; for units, limits, names, masses and sizes that do not "
        "fit; and for models without forward dynamics. Exit code 0: nothing found, 1: findings of the "
        "severity of --fail-on or worse, 2: a file cannot be read.",
        allow_abbrev=False,
    )
    check.add_argument("files", metavar="FILE", nargs="+", help="URDF, SDF, MJCF or JSON file, or -")
    check.add_argument("--base", choices=("fixed", "floating"), help="as in mbt info")
    check.add_argument(
        "--package-path", action="append", default=[], metavar="FOLDER",
        help="where to look for packages and their meshes; may be repeated",
    )  # fmt: skip
    check.add_argument(
        "--fail-on", choices=("error", "warning", "note", "never"), default="warning",
        help="lowest severity that makes the exit code 1 (default: warning)",
    )  # fmt: skip
    check.add_argument("--quiet", action="store_true", help="do not show notes")
    check.add_argument(
        "--selftest", action="store_true",
        help="check identities of the dynamics of each model on this machine; a failure makes the exit "
        "code 1",
    )  # fmt: skip
    check.add_argument("--fix", metavar="OUT", help="write a repaired URDF, and report its remaining faults")
    check.add_argument("--json", action="store_true", help="print one JSON object, errors too")
    check.set_defaults(run=_run_check)


def _run_check(options: argparse.Namespace) -> tuple[str, int]:
    from mbt.cli.check import run_check

    return run_check(options)


def _add_convert(commands: Any) -> None:
    convert = commands.add_parser(
        "convert",
        help="write a robot description in another format",
        description="Read a robot description and write it as JSON, which loses nothing, or as URDF.",
        allow_abbrev=False,
    )
    add_reading_options(convert)
    convert.add_argument("--to", choices=("json", "urdf"), help="the format (default: by the suffix of OUT)")
    convert.add_argument("-o", "--output", metavar="OUT", help="file to write, completely or not at all")
    convert.add_argument("--json", action="store_true", help="print one JSON object, with text and remarks")
    convert.set_defaults(run=_run_convert)


def _run_convert(options: argparse.Namespace) -> tuple[str, int]:
    from mbt.cli.convert import convert

    text, remarks = convert(options.file, options.output, options.to, **reading_options(options))
    if options.json:
        value = {"file": options.file, "output": options.output, "text": text or None, "remarks": remarks}
        return json.dumps(value, indent=2) + "\n", 0
    for remark in remarks:
        complain(remark)
    return text, 0


def _add_simulate(commands: Any) -> None:
    simulate = commands.add_parser(
        "simulate",
        help="simulate a robot",
        description="Simulate a robot description, by default from rest at the default positions.",
        allow_abbrev=False,
    )
    add_reading_options(simulate)
    simulate.add_argument("--duration", type=float, default=1.0, metavar="S", help="seconds (default: 1)")
    simulate.add_argument(
        "--dt", type=float, default=1e-3, metavar="S", help="length of a step (default: 0.001)"
    )
    simulate.add_argument(
        "--method",
        help="implicit, semi_implicit_euler, rk4, or a solver of SciPy: RK45, DOP853, Radau, ... (default: "
        "implicit for robots with limits, servos, damping, friction or contact, else semi_implicit_euler)",
    )
    for name, what in (
        ("position", "initial position of a joint [rad, m]"),
        ("velocity", "initial velocity of a joint [rad/s, m/s]"),
        ("torque", "constant torque or force on a joint [N m, N]"),
    ):
        simulate.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="JOINT=VALUE",
            help=f"{what}; VALUE,VALUE,... for several coordinates; may be repeated",
        )
    simulate.add_argument(
        "--limit-efforts", action=argparse.BooleanOptionalAction,
        help="clip torques to the limits of the file (by default in implicit steps)",
    )  # fmt: skip
    simulate.add_argument(
        "--contacts", action="store_true",
        help="let the collision shapes of the file touch (convex hulls of meshes), with the friction in "
        "the file; in implicit steps only",
    )  # fmt: skip
    simulate.add_argument(
        "--floor", type=float, metavar="Z", help="with --contacts: a floor at this height [m]"
    )
    simulate.add_argument(
        "--friction",
        type=float,
        metavar="MU",
        help="with --contacts: friction coefficient of all pairs (default: as in the file, else 0.8)",
    )
    simulate.add_argument("--save", metavar="OUT", help="write the trajectory to OUT.npz or OUT.csv")
    simulate.add_argument("--plot", metavar="OUT", help="draw it to OUT.png, .svg or .pdf, with matplotlib")
    simulate.add_argument("--json", action="store_true", help="print one JSON object, errors too")
    simulate.set_defaults(run=_run_simulate)


def _run_simulate(options: argparse.Namespace) -> tuple[str, int]:
    from mbt.cli.simulate import run_simulation

    text, complaint = run_simulation(options, **reading_options(options))
    if complaint is not None:
        complain(complaint)
    return text, 0 if complaint is None else 2


def _add_ik(commands: Any) -> None:
    ik = commands.add_parser(
        "ik",
        help="find joint positions that bring a frame to a pose",
        description="Solve the inverse kinematics of one frame: find joint positions, within limits, that "
        "bring it to the goal. The exit code is 1 if none are found.",
        allow_abbrev=False,
    )
    add_reading_options(ik)
    ik.add_argument("--frame", required=True, help="name of a frame or of a link")
    ik.add_argument(
        "--goal", required=True, nargs="+", type=float, metavar="NUMBER",
        help="X Y Z in World [m], or X Y Z ROLL PITCH YAW [m, rad]",
    )  # fmt: skip
    ik.add_argument(
        "--position",
        action="append",
        default=[],
        metavar="JOINT=VALUE",
        help="start of the search [rad, m]; VALUE,VALUE,... for several coordinates; may be repeated",
    )
    ik.add_argument("--seeds", type=int, default=128, metavar="N", help="most attempts (default: 128)")
    ik.add_argument("--all", action="store_true", help="show all distinct solutions that N attempts find")
    ik.add_argument("--json", action="store_true", help="print one JSON object, errors too")
    ik.set_defaults(run=_run_ik)


def _run_ik(options: argparse.Namespace) -> tuple[str, int]:
    from mbt.cli.ik import run_ik

    return run_ik(options, **reading_options(options))


def _add_identify(commands: Any) -> None:
    command = commands.add_parser(
        "identify",
        help="fit masses, inertias and friction to a log",
        description="Fit the inertial parameters of a robot description, and optionally friction and rotors, "
        "to measured positions and forces. The exit code is 1 if the report has warnings. Needs SciPy: "
        "pip install 'multibodytree[sim]'.",
        allow_abbrev=False,
    )
    add_reading_options(command)
    command.add_argument(
        "log",
        metavar="LOG.csv",
        help="table: a first line with names (time, q.NAME, ..., tau.NAME, ...), then numbers",
    )
    command.add_argument(
        "--friction",
        metavar="TERMS",
        help="viscous, coulomb, stribeck, offset, joined by + (default: as in the file)",
    )
    command.add_argument("--rotors", action="store_true", help="fit rotor inertias, one per joint")
    command.add_argument(
        "--cutoff", type=float, default=10.0, metavar="HZ", help="cutoff of the position filter (default: 10)"
    )
    command.add_argument(
        "--delay", type=float, default=0.0, metavar="S", help="delay of the measured forces (default: 0)"
    )
    command.add_argument(
        "--prior", type=float, default=1e-3, metavar="W", help="weight of the description (default: 0.001)"
    )
    command.add_argument(
        "--solver",
        choices=("barrier", "clarabel"),
        default="barrier",
        help="solver for the best physical fit; clarabel needs the extra identification (default: barrier)",
    )
    command.add_argument("--robust", action="store_true", help="give outliers of the forces less weight")
    command.add_argument("--save", metavar="OUT", help="write the fitted model to OUT.json or OUT.urdf")
    command.add_argument(
        "--plot", metavar="OUT", help="draw the fit to OUT.png, .svg or .pdf, with matplotlib"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object, errors too")
    command.set_defaults(run=_run_identify)


def _run_identify(options: argparse.Namespace) -> tuple[str, int]:
    from mbt.cli.identify import run_identification

    text, remarks, code = run_identification(options, **reading_options(options))
    for remark in remarks:
        complain(remark)
    return text, code


def _add_view(commands: Any) -> None:
    view = commands.add_parser(
        "view",
        help="show a robot in the browser",
        description="Show a robot description in the browser, with sliders for its joints, until Ctrl-C; "
        "or record a page that plays a trajectory by itself. Needs the extra viz.",
        allow_abbrev=False,
    )
    add_reading_options(view)
    view.add_argument(
        "--position",
        action="append",
        default=[],
        metavar="JOINT=VALUE",
        help="position of a joint [rad, m]; VALUE,VALUE,... for several coordinates; may be repeated",
    )
    view.add_argument("--trajectory", metavar="FILE", help="play what `mbt simulate --save FILE.npz` wrote")
    view.add_argument("--speed", type=float, default=1.0, metavar="S", help="playing speed (default: 1)")
    view.add_argument(
        "--ik",
        action="append",
        default=[],
        metavar="FRAME",
        help="a frame or link that gets a handle: drag it, and the robot follows; may be repeated",
    )
    view.add_argument(
        "--record", metavar="OUT", help="write a page, OUT.html, that plays the trajectory or shows the pose"
    )
    view.add_argument("--port", type=int, default=0, help="port of the address (default: any free one)")
    view.add_argument(
        "--no-browser", action="store_true", help="print the address, but do not open a browser"
    )
    view.add_argument("--json", action="store_true", help="print one JSON object, errors too")
    view.set_defaults(run=_run_view)


def _run_view(options: argparse.Namespace) -> tuple[str, int]:
    from mbt.cli.view import run_view

    return run_view(options, **reading_options(options))


def _add_bench(commands: Any) -> None:
    bench = commands.add_parser(
        "bench",
        help="measure the computing times of a robot on this machine",
        description="Time the kinematics and dynamics of a robot description on this machine, with one state "
        "per call and in batches, compared with Pinocchio, MuJoCo and Drake if they are installed.",
        allow_abbrev=False,
    )
    add_reading_options(bench)
    bench.add_argument(
        "--batch", type=int, default=1000, metavar="N", help="states in a batch (default: 1000)"
    )
    bench.add_argument("--rounds", type=int, default=20, metavar="N", help="measurements (default: 20)")
    bench.add_argument("--alone", action="store_true", help="without the other libraries")
    bench.add_argument("--json", action="store_true", help="print one JSON object, errors too")
    bench.set_defaults(run=_run_bench)


def _run_bench(options: argparse.Namespace) -> tuple[str, int]:
    from mbt.cli.bench import run_bench

    return run_bench(options, **reading_options(options))


def _add_demo(commands: Any) -> None:
    demo = commands.add_parser(
        "demo",
        help="load an arm, compute with it and let it fall",
        description="Load the arm that comes with mbt: poses, mass matrix, torques, a fall, and times.",
        allow_abbrev=False,
    )
    demo.add_argument("--json", action="store_true", help="print its figures as one JSON object")
    demo.set_defaults(run=_run_demo)


def _run_demo(options: argparse.Namespace) -> tuple[str, int]:
    from mbt.cli.demo import run_demo, run_demo_as_json

    return run_demo_as_json() if options.json else run_demo(), 0


def add_reading_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", help="URDF, SDF, MJCF or JSON file, package://name/path, or - for the standard input"
    )
    command.add_argument(
        "--base",
        choices=("fixed", "floating"),
        help="weld the root link to World, or leave it free (default: as in the file; fixed in URDF)",
    )
    command.add_argument(
        "--strict", action="store_true", help="raise an error for impossible inertias and every repair"
    )
    command.add_argument(
        "--package-path",
        action="append",
        default=[],
        metavar="FOLDER",
        help="where to look for packages; may be repeated",
    )


def reading_options(options: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments for `load_model`."""
    return {"base": options.base, "strict": options.strict, "package_paths": options.package_path}


#: In the order of the help.
COMMANDS = (
    _add_info, _add_check, _add_convert, _add_simulate, _add_ik, _add_identify, _add_view, _add_bench,
    _add_demo,
)  # fmt: skip
