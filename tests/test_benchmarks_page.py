"""Figures and pictures on the benchmarks page are the stored measurements."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest

from support.taking_long import taking_long

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
BENCHMARKS = ROOT / "benchmarks"
PICTURES = DOCS / "_static" / "benchmarks"
PAGE = (DOCS / "benchmarks.md").read_text(encoding="utf-8")


def module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


stored = module("stored")


@pytest.mark.parametrize("name", stored.TABLES)
def test_tables_are_what_is_stored(name: str) -> None:
    """If they differ: `python benchmarks/page.py`."""
    between = dict(stored.marked(PAGE))[name]
    assert between == stored.TABLES[name]()
    assert len(between) > 100


def test_writing_the_page_again_changes_nothing() -> None:
    assert stored.with_tables(PAGE) == PAGE
    table = dict(stored.marked(PAGE))["batches"]
    assert stored.with_tables(PAGE.replace(table, table.replace("0.", "1."))) == PAGE
    with pytest.raises(ValueError, match="no place for 'batches' on the page"):
        stored.with_tables(PAGE.replace("<!-- batches -->", ""))


def test_writing_the_first_pages_again_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    page = module("page")
    for path, change in ((DOCS / "index.md", page.first_page), (ROOT / "README.md", page.readme)):
        text = path.read_text(encoding="utf-8")
        assert change(text) == text
        processor = stored.results("calls")["machine"]["processor"]
        assert change(text.replace(processor, "abacus")) == text


@pytest.mark.parametrize("name", stored.SERIES)
def test_pictures_show_what_is_stored(name: str) -> None:
    path = PICTURES / f"{name}.svg"
    assert f"](_static/benchmarks/{path.name})" in PAGE
    [text] = ET.parse(path).getroot().iter("{http://purl.org/dc/elements/1.1/}description")
    assert text.text is not None
    assert json.loads(text.text) == json.loads(json.dumps(stored.rounded(stored.SERIES[name]())))


def test_every_picture_is_on_the_page() -> None:
    shown = re.findall(r"\]\(_static/benchmarks/(\w+)\.svg\)", PAGE)
    assert sorted(shown) == sorted(stored.SERIES) == sorted(path.stem for path in PICTURES.glob("*.svg"))


# Matplotlib takes a second for each.
LARGE = ("roofline", "ratios_by_size", "ratios_by_model", "latency_and_throughput", "history")


@pytest.mark.parametrize("name", taking_long(stored.SERIES, *LARGE))
def test_pictures_draw_their_numbers(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With other numbers the picture itself changes, not only its metadata."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    draw = module("draw")
    drawings = []
    for series in (stored.SERIES[name](), scaled(stored.SERIES[name]())):
        draw.draw(name, series, tmp_path)
        drawings.append(drawing_of(tmp_path / f"{name}.svg"))
    assert drawings[0] != drawings[1]


def scaled(value: object) -> object:
    """Return measurements with scaled numbers."""
    if isinstance(value, dict):
        return {key: scaled(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [scaled(one) for one in value]
    return 1.37 * value if isinstance(value, float) else value


def drawing_of(path: Path) -> str:
    """Return a picture without its metadata."""
    return re.sub(r"<metadata>.*?</metadata>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_ratios_are_those_of_the_times() -> None:
    """One ratio by hand, from the file to the number on the page."""
    kept = json.loads((BENCHMARKS / "results" / "calls.json").read_text(encoding="utf-8"))
    row = {name: pair[0] for name, pair in kept["models"]["arm7"]["times"]["mass matrix"]["4096"].items()}
    wanted = min(row["pin"], row["dynibo"], row["mujoco"]) / row["mbt"]
    line = next(line for line in stored.batches().splitlines() if line.startswith("| mass matrix | arm7 |"))
    assert line.endswith(f"| {wanted:.1f} |")
    drawn = stored.ratios_by_model()
    assert drawn["ratios"]["4096"]["mass matrix"][drawn["models"].index("arm7")] == pytest.approx(wanted)


def test_instructions_and_what_they_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    effect_of = module("operations").effect_of
    for instruction, effect in {
        "vfmadd231pd 0x20(%rax,%rbx,8),%ymm1,%ymm2": {"operations": 8, "loads": 1},
        "vfnmadd213sd %xmm0,%xmm1,%xmm2": {"operations": 2},
        "vaddpd %xmm0,%xmm1,%xmm2": {"operations": 2},
        "vdivpd (%rax),%ymm1,%ymm2": {"operations": 4, "loads": 1},
        "vsqrtsd %xmm0,%xmm0,%xmm0": {"operations": 1},
        "vmovupd %ymm1,(%rdi)": {"stores": 1},
        "vmovupd (%rdi),%ymm1": {"loads": 1},
        "vbroadcastsd 0x8(%rsp),%ymm3": {"loads": 1},
        "vunpcklpd %ymm1,%ymm2,%ymm3": {},
        "lea 0x8(%rsp,%rax,4),%rdi": {},
        "cmp %rax,0x18(%rsp)": {"loads": 1},
        "add %rax,(%rdi)": {"loads": 1, "stores": 1},
        "mov $0x0,0x8(%rsp)": {"stores": 1},
        "vextractf128 $0x1,%ymm0,(%rdi)": {"stores": 1},
        "ret": {},
    }.items():
        assert dict(effect_of(instruction)) == effect, instruction


def test_the_page_begins_with_the_ratios_of_its_table() -> None:
    rows = [row.split(" | ") for row in dict(stored.marked(PAGE))["means"].splitlines()[2:]]
    one, many = ([float(row[i]) for row in rows] for i in (1, 3))
    beginning = " ".join(PAGE[:500].split())
    assert f"mbt is {min(one)} to {max(one)} times as fast as the fastest of" in beginning
    assert f"in batches of 256 states {min(many)} to {max(many)} times" in beginning
