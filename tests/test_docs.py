"""What the pages of the documentation show works as shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {
    page.name: re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for page in sorted(DOCS.rglob("*.md"))
}


@pytest.mark.parametrize("page", [name for name, blocks in PAGES.items() if blocks])
def test_python_blocks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, as a reader would try them. Some write files."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page}
    for block in PAGES[page]:
        exec(compile(block, page, "exec"), names)


def test_the_pages_that_have_examples() -> None:
    assert len(PAGES["extending.md"]) == 5
    assert len(PAGES["identification.md"]) == 3
    assert len(PAGES["autodiff.md"]) == 5
