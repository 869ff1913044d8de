"""Code in the README works as shown."""

import re
from pathlib import Path

import numpy as np
import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
PYTHON_BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("block", PYTHON_BLOCKS, ids=range(len(PYTHON_BLOCKS)))
def test_python_block_runs_as_it_stands(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder: it needs no file that a reader does not have."""
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})


def test_the_torques_that_hold_the_robot_hold_it() -> None:
    names: dict[str, np.ndarray] = {}
    exec(compile(PYTHON_BLOCKS[0], "README.md", "exec"), names)
    assert abs(names["tau"]).max() > 10.0
    # Rounding of torques of some 50 N m, over inertias of some 0.03 kg m^2.
    np.testing.assert_allclose(names["vdot"], 0.0, atol=1e-12)


def test_the_package_of_a_stranger_is_named_as_such() -> None:
    assert re.search(
        r"distribution is called `multibodytree`.*package named `mbt`[^.]*is not", README, re.DOTALL
    )


def test_the_two_commands() -> None:
    assert re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL) == [
        "pip install . && python -m mbt demo\n",
        'pip install ".[test]" && python -m pytest\n',
    ]


def test_the_picture_and_all_links_are_there() -> None:
    root = Path(__file__).parents[1]
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert "docs/_static/overview.svg" in links
    assert [link for link in links if not (root / link).is_file()] == []
