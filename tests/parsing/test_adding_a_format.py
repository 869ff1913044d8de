"""A file format is added in a copy of the package: one new file, and its row in the table of formats."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import mbt

READER = """
from mbt.parsing.urdf import read_urdf


def read_crate(root, report, options, source):
    return read_urdf(root.require_first("robot"), report, options)
"""
IMPORT = "from mbt.parsing.crate import read_crate\n"
ROW = '    "crate": Format("CRATE", "label", read_crate),\n'
PROGRAM = """
import mbt

tree = mbt.load_model('<crate label="box"><robot name="r"><link name="a"/></robot></crate>')
(report,) = tree.parse_reports
print(mbt.__file__, tree.num_bodies, report.format, report.model_name)
try:
    mbt.load_model("<barrel/>")
except mbt.ParseError as error:
    print(error)
"""


def test_a_format_touches_two_files(tmp_path: Path) -> None:
    package = Path(mbt.__file__).parent
    copy = tmp_path / "mbt"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "parsing" / "crate.py").write_text(READER)
    table = copy / "parsing" / "formats.py"
    text = table.read_text(encoding="utf-8")
    first, row = "from mbt.parsing.description", '    "sdf": Format('
    assert text.count(first) == text.count(row) == 1
    table.write_text(text.replace(first, IMPORT + first).replace(row, ROW + row), encoding="utf-8")

    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True
    )
    loaded, message = run.stdout.splitlines()[:2]
    assert loaded == f"{copy / '__init__.py'} 2 CRATE box"
    assert "<crate> (CRATE)" in message

    changed = [
        path.relative_to(copy).as_posix()
        for path in copy.rglob("*.py")
        if not (old := package / path.relative_to(copy)).exists() or old.read_bytes() != path.read_bytes()
    ]
    assert sorted(changed) == ["parsing/crate.py", "parsing/formats.py"]
