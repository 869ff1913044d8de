"""Update the figures of the documentation from `benchmarks/results`: `python benchmarks/page.py`.

Rewrites the tables of `docs/benchmarks.md`, between their marks; its pictures in `docs/_static/benchmarks`;
the figures of the README and of the first page, and the picture that both show. With `--png FOLDER`, also
writes the pictures there, as PNG. Nothing is measured. Needs matplotlib.
"""

from __future__ import annotations

import argparse
import re
import runpy
from pathlib import Path

from draw import PICTURES, draw
from stored import SERIES, figure, machine_of, results, times, with_tables

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PICTURES_FOLDER = DOCS / "_static" / "benchmarks"
SHOWN = {
    "inverse dynamics": "inverse dynamics",
    "mass matrix": "mass matrix",
    "forward dynamics": "forward dynamics",
    "derivatives of forward dynamics": "forward dynamics derivatives",
}


def ours_and_best(model: str, function: str) -> tuple[float, float]:
    """Return the time of a single call of mbt, and the minimum of the others."""
    row = times(model, function, "1")
    return row["mbt"], min(time for name, time in row.items() if not name.startswith("mbt"))


def first_page(page: str) -> str:
    """Return docs/index.md with updated figures."""
    for title, function in SHOWN.items():
        pairs = [ours_and_best(model, function) for model in ("arm7", "humanoid")]
        row = " | ".join(f"{ours:.2f} ({best:.2f})" for ours, best in pairs)
        page = re.sub(rf"^\| {title} \|.*$", f"| {title} | {row} |", page, flags=re.MULTILINE)
    # As the table of batches shows them: rounding twice must not make two figures of one.
    arm, humanoid = (
        float(figure(times(model, "forward dynamics", "4096")["mbt"])) for model in ("arm7", "humanoid")
    )
    page = re.sub(
        r"a state costs [\d.]+ µs and [\d.]+ µs", f"a state costs {arm:.2f} µs and {humanoid:.2f} µs", page
    )
    processor = results("calls")["machine"]["processor"]
    return re.sub(r"from Python on an .*?, the minimum", f"from Python on an {processor}, the minimum", page)


def readme(page: str) -> str:
    """Return the README with updated figures."""
    ours, best = ours_and_best("humanoid", "forward dynamics")
    page = re.sub(r"takes [\d.]+ microseconds, that", f"takes {ours:.2f} microseconds, that", page)
    processor = results("calls")["machine"]["processor"]
    page = re.sub(r"of many runs, on an .*?(?=\. \[Bench)", f"of many runs, on an {processor}", page)
    return re.sub(r"(that of other libraries\s+)[\d.]+ and", rf"\g<1>{best:.2f} and", page)


def main() -> None:
    """Update everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--png", type=Path, metavar="FOLDER")
    options = parser.parse_args([] if __name__ != "__main__" else None)
    for path, change in (
        (DOCS / "benchmarks.md", with_tables), (DOCS / "index.md", first_page), (ROOT / "README.md", readme),
    ):  # fmt: skip
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    PICTURES_FOLDER.mkdir(exist_ok=True)
    for name in PICTURES:
        series = SERIES[name]()
        draw(name, series, PICTURES_FOLDER)
        if options.png:
            options.png.mkdir(parents=True, exist_ok=True)
            draw(name, series, options.png, "png")
    runpy.run_path(str(ROOT / "tools" / "pictures.py"), run_name="__main__")
    print(f"written; single calls and batches: {machine_of('calls')}")


if __name__ == "__main__":
    main()
