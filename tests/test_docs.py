"""Code on the pages of the documentation works as shown."""

from __future__ import annotations

import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mbt

DOCS = Path(__file__).parents[1] / "docs"


def blocks_of(kinds: str) -> dict[str, list[str]]:
    return {
        page.relative_to(DOCS).as_posix(): re.findall(
            rf"```(?:{kinds})\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL
        )
        for page in sorted(DOCS.rglob("*.md"))
    }


PAGES = blocks_of("python")
#: Pages whose blocks are independent of each other: test_cookbook.py.
ELSEWHERE = {"cookbook.md"}
#: With the blocks that need packages of the extras `oracle`, `engines`, `viz`, `crocoddyl`, and Ray.
PAGES_WITH_ORACLES, PAGES_WITH_ENGINES, PAGES_WITH_VIEWERS, PAGES_WITH_CROCODDYL, PAGES_WITH_RAY = (
    {name: blocks for name, blocks in blocks_of(f"python|python {kind}").items() if blocks != PAGES[name]}
    for kind in ("oracle", "engine", "viewer", "crocoddyl", "ray")
)


def run(page: str, blocks: list[str]) -> None:
    names: dict[str, object] = {"__name__": page}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize("page", [name for name, blocks in PAGES.items() if blocks and name not in ELSEWHERE])
def test_python_blocks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, as a reader would run them. Some write files."""
    monkeypatch.chdir(tmp_path)
    run(page, PAGES[page])


@pytest.mark.oracle
@pytest.mark.parametrize("page", PAGES_WITH_ORACLES)
def test_python_blocks_run_with_other_packages(page: str) -> None:
    for package in re.findall(r"^import (\w+)", "\n".join(PAGES_WITH_ORACLES[page]), flags=re.MULTILINE):
        pytest.importorskip(package, reason="needs the `oracle` extra")
    run(page, PAGES_WITH_ORACLES[page])


@pytest.mark.engine
@pytest.mark.parametrize("page", PAGES_WITH_ENGINES)
def test_python_blocks_run_on_engines(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("dask.array", "gymnasium", "jax", "stable_baselines3", "torch", "zarr"):
        pytest.importorskip(package, reason="needs the extra `engines`: pip install '.[engines]'")
    monkeypatch.chdir(tmp_path)
    run(page, PAGES_WITH_ENGINES[page])


@pytest.mark.engine
@pytest.mark.parametrize("page", PAGES_WITH_RAY)
def test_python_blocks_run_on_ray(page: str, tmp_path: Path) -> None:
    """In a separate process. Ray keeps a token in the home folder."""
    pytest.importorskip("ray", reason="needs the extra `engines`: pip install '.[engines]'")
    code, environment = "\n".join(PAGES_WITH_RAY[page]), {**os.environ, "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, timeout=300)


@pytest.mark.crocoddyl
@pytest.mark.parametrize("page", PAGES_WITH_CROCODDYL)
def test_python_blocks_run_with_crocoddyl(page: str) -> None:
    pytest.importorskip("crocoddyl", reason="needs the extra `crocoddyl`, without `oracle`")
    run(page, PAGES_WITH_CROCODDYL[page])


@pytest.mark.viewer
@pytest.mark.parametrize("page", PAGES_WITH_VIEWERS)
def test_python_blocks_run_with_a_viewer(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(page, PAGES_WITH_VIEWERS[page])


def test_the_pages_that_have_examples() -> None:
    assert len(PAGES["contact.md"]) == 3
    assert len(PAGES["editing.md"]) == 8
    assert len(PAGES["extending.md"]) == 6
    assert len(PAGES["identification.md"]) == 9
    assert len(PAGES["autodiff.md"]) == 5
    assert len(PAGES["motion.md"]) == 6
    assert len(PAGES["reading.md"]) == 2
    assert len(PAGES["plots.md"]) == 4
    assert len(PAGES["rotations.md"]) == 4
    assert len(PAGES["symbols.md"]) == 4
    assert len(PAGES["ros.md"]) == 2
    assert len(PAGES["saving.md"]) == 2
    assert len(PAGES["sdf.md"]) == 2
    assert len(PAGES["sensors.md"]) == 3
    assert len(PAGES["simulation.md"]) == 10
    assert len(PAGES_WITH_ORACLES["symbols.md"]) == 6
    assert len(PAGES_WITH_ORACLES["casadi.md"]) == 3
    assert len(PAGES_WITH_ORACLES["mjcf.md"]) == 3
    assert len(PAGES_WITH_ORACLES["coming_from/mujoco.md"]) == 1
    assert len(PAGES_WITH_ORACLES["converters.md"]) == 1
    assert len(PAGES_WITH_ENGINES["batches.md"]) == 7
    assert len(PAGES_WITH_ENGINES["data.md"]) == 4
    assert len(PAGES_WITH_ENGINES["gymnasium.md"]) == 5
    assert len(PAGES_WITH_ENGINES["jax.md"]) == 2
    assert len(PAGES_WITH_ENGINES["torch.md"]) == 2
    assert len(PAGES_WITH_ENGINES["which_one.md"]) == 1
    assert len(PAGES_WITH_RAY["batches.md"]) == 8
    assert len(PAGES_WITH_VIEWERS["viewer.md"]) == 6
    assert len(PAGES_WITH_CROCODDYL["crocoddyl.md"]) == 3


def test_every_example_program_is_on_its_page() -> None:
    page = (DOCS / "examples.md").read_text(encoding="utf-8")
    programs = {path.name for path in (DOCS.parent / "examples").glob("*.py")}
    assert set(re.findall(r"^## (.+)$", page, flags=re.MULTILINE)) == programs
    assert set(re.findall(r"literalinclude\} \.\./examples/(.+)$", page, flags=re.MULTILINE)) == programs


def test_every_method_and_function_is_in_the_index_by_task() -> None:
    """Every new one needs a line in docs/api/by_task.md, where its users would look for it."""
    page = (DOCS / "api" / "by_task.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   ~?(mbt\.[\w.]+)$", page, flags=re.MULTILINE)
    methods = {f"mbt.MultibodyTree.{name}" for name in dir(mbt.MultibodyTree) if name[0] != "_"}
    functions = {f"mbt.functional.{name}" for name in mbt.functional.__all__}
    assert methods | functions <= set(listed)
    assert len(listed) == len(set(listed))
    for name in listed:
        assert pkgutil.resolve_name(name) is not None


def test_figures_on_the_first_pages_are_those_of_the_benchmarks() -> None:
    """If they change: edit docs/index.md and README.md, and run `python tools/pictures.py`."""
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    single, batches = page[page.index("## Single calls") :].split("\n## Batches\n")
    index, readme = (
        path.read_text(encoding="utf-8") for path in (DOCS / "index.md", DOCS.parent / "README.md")
    )
    rows = re.findall(
        r"^\| ([\w ]+) \| ([\d.]+) \(([\d.]+)\) \| ([\d.]+) \(([\d.]+)\) \|$", index, re.MULTILINE
    )
    assert len(rows) == 4
    for function, *shown in rows:
        name = re.sub("derivatives of (.*)", r"\1 derivatives", function)
        figures = [*ours_and_best(single, name, "arm7"), *ours_and_best(single, name, "humanoid")]
        assert [float(text) for text in shown] == pytest.approx(figures, abs=0.0051)
    ours, best = ours_and_best(single, "forward dynamics", "humanoid")
    assert f"takes {ours:.2f} microseconds, that of other libraries {best:.2f} and" in readme.replace(
        "\n", " "
    )
    arm, humanoid = (ours_and_best(batches, "forward dynamics", model)[0] for model in ("arm7", "humanoid"))
    assert f"a state costs {arm:.2f} µs and {humanoid:.2f} µs" in index


def ours_and_best(tables: str, function: str, model: str) -> tuple[float, float]:
    """Return mbt's time and the best of all other libraries, from one row of the benchmarks."""
    row = next(line for line in tables.splitlines() if line.startswith(f"| {function} | {model} |"))
    ours, _, *peers, _ = (float(cell) if cell.strip() else float("inf") for cell in row[2:-2].split("|")[2:])
    return ours, min(peers)


def test_the_tutorial_of_identification_runs() -> None:
    pytest.importorskip("scipy")
    page = (DOCS / "tutorials" / "identification.md").read_text(encoding="utf-8")
    with np.printoptions():  # The page sets print options.
        run("identification.md", re.findall(r"```\{code-cell\} python\n(.*?)```", page, flags=re.DOTALL))
