"""Each recipe of the cookbook is short, needs only the page's setup, and asserts what it states."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "cookbook.md").read_text(encoding="utf-8")
FIRST, *SECTIONS = re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)
RECIPES = dict(zip(SECTIONS[::2], SECTIONS[1::2], strict=True))


def code_of(section: str) -> str:
    """Return the only code block of a section."""
    [code] = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    return str(code)


def test_there_are_enough_recipes() -> None:
    assert len(RECIPES) >= 20


@pytest.mark.parametrize("title", RECIPES)
def test_recipe(title: str) -> None:
    code = code_of(RECIPES[title])
    assert len(code.splitlines()) < 20
    assert isinstance(ast.parse(code).body[-1], ast.Assert)
    exec(compile(code_of(FIRST) + code, title, "exec"), {})
