"""Build the documentation site, and check it.

    python tools/site.py [OUT]

Warnings are errors, and cells of tutorials run. In the result, by default `build/site`, every public name of
`mbt` has an entry, every link within the site has a target, and nothing is loaded from elsewhere, so the site
can be read offline. Links to other sites are written to `external_links.txt` in OUT, each with the pages that
contain it. Only their form is checked, because this program does not use the network.

Needs `pip install ".[docs]"`.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
#: Elements that make a browser load the target of an attribute.
LOADS = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}


class Page(HTMLParser):
    """The link targets in a page, its links, and the resources that it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record one element."""
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADS and values.get("rel") not in ("canonical", "index", "search", "next", "prev"):
            self.loads += [values[LOADS[tag]]] if LOADS[tag] in values else []


def missing_names(out: Path) -> Iterator[str]:
    """Yield a message for each public name without an entry."""
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((out / "objects.inv").read_bytes(), uri="")
    documented = {
        name for kind, entries in inventory.data.items() if kind.startswith("py:") for name in entries
    }
    things = {id(_thing(name)) for name in documented}
    mbt = importlib.import_module("mbt")
    public = [getattr(mbt, name) for name in mbt.__all__]
    for module in [mbt, *filter(inspect.ismodule, public)]:
        for name in module.__all__:
            if id(getattr(module, name)) not in things and f"{module.__name__}.{name}" not in documented:
                yield f"no entry for {module.__name__}.{name}"


def _thing(dotted: str) -> object:
    """Return the object with a documented name, or None for members of classes."""
    module, _, name = dotted.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError:
        return None


def broken_links(out: Path) -> Iterator[str]:
    """Yield a message for each broken link within the site, and for each resource from elsewhere."""
    pages = {path.resolve(): Page(path) for path in out.rglob("*.html")}
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            where = f"{path.relative_to(out.resolve())}: {link}"
            if parts.scheme or parts.netloc:
                if link in page.loads and parts.scheme != "data":
                    yield f"{where} is loaded from elsewhere"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                yield f"{where} leads nowhere"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{where} has no such place"


def external_links(out: Path) -> dict[str, list[str]]:
    """Return links to other sites, in alphabetical order, each with the pages that contain it."""
    found: dict[str, set[str]] = {}
    for path in out.rglob("*.html"):
        for link in Page(path).links:
            if urlsplit(link).scheme or urlsplit(link).netloc:
                found.setdefault(link, set()).add(str(path.relative_to(out)))
    return {link: sorted(found[link]) for link in sorted(found)}


def malformed_links(links: dict[str, list[str]]) -> Iterator[str]:
    """Yield a message for each impossible link to another site: not https, no host name, or blanks."""
    for link, pages in links.items():
        parts = urlsplit(link)
        if parts.scheme != "https" or "." not in (parts.hostname or "") or any(map(str.isspace, link)):
            yield f"{pages[0]}: {link} is not a link to another site: https://host/path"


def main() -> int:
    """Build, check, and return the exit code."""
    from sphinx.cmd.build import build_main

    # Pages run in parallel: BLAS threads would wait for each other for longer than a cell may take.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site")
    doctrees = out.with_name(out.name + "_doctrees")
    arguments = ["-q", "-W", "--keep-going", "-n", "-j", "auto", "-b", "html", "-d", str(doctrees)]
    if build_main([*arguments, str(ROOT / "docs"), str(out)]):
        return 1
    links = external_links(out)
    text = "".join(f"{link}\n" + "".join(f"    {page}\n" for page in pages) for link, pages in links.items())
    (out / "external_links.txt").write_text(text, encoding="utf-8")
    faults = [*missing_names(out), *broken_links(out), *malformed_links(links)]
    told = f"{len(list(out.rglob('*.html')))} pages in {out}, with {len(links)} links to other sites"
    print("\n".join(faults) or told)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
