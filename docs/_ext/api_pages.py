"""Pages of the API, made from what `mbt` says is public: one a class, one a module.

`mbt.__all__` has its names under headings, which are those of the index by class.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

import mbt

MODULES = [name for name in mbt.__all__ if inspect.ismodule(getattr(mbt, name))]
MEMBERS = "   :members:\n   :inherited-members:\n"


def public_names(module: ModuleType) -> list[str]:
    """Return the dotted names that a module offers, its modules left out."""
    names = [f"{module.__name__}.{name}" for name in module.__all__]
    return [name for name in names if not inspect.ismodule(thing_of(name))]


def thing_of(dotted: str) -> Any:
    """Return what a dotted name stands for."""
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


def groups_of_mbt() -> dict[str, list[str]]:
    """Return the names of `mbt.__all__` by the comment above them, without modules."""
    text = inspect.getsource(mbt)
    text = text[text.index("__all__ = [") :]
    groups: dict[str, list[str]] = {}
    for heading, name in re.findall(
        r'^    (?:# (.+)|"(\w+)",)$', text[: text.index("\n]")], flags=re.MULTILINE
    ):
        if heading:
            names = groups[heading] = []
        elif f"mbt.{name}" in public_names(mbt):
            names.append(f"mbt.{name}")
    return groups


def kind_of(dotted: str) -> str:
    """Return the directive that documents a name."""
    thing = thing_of(dotted)
    if inspect.isclass(thing):
        return "exception" if issubclass(thing, BaseException) else "class"
    return "function" if inspect.isroutine(thing) else "data"


def entry(dotted: str) -> str:
    """Return the directive with what it documents."""
    kind = kind_of(dotted)
    return f".. auto{kind}:: {dotted}\n{MEMBERS if kind == 'class' else ''}"


def heading(text: str, line: str = "=") -> str:
    """Return a heading of reStructuredText."""
    return f"{text}\n{line * len(text)}\n"


def table(names: list[str]) -> str:
    """Return a table of names with their first lines."""
    return ".. autosummary::\n\n" + "".join(f"   {name}\n" for name in names)


def toctree(pages: list[str]) -> str:
    """Return a table of contents for the side bar."""
    return ".. toctree::\n   :hidden:\n\n" + "".join(f"   {page}\n" for page in pages)


def pages() -> dict[str, str]:
    """Return the text of each generated page by its name."""
    made: dict[str, str] = {}
    index = [heading("By class")]
    for group, names in groups_of_mbt().items():
        index += [heading(group, "-"), table(names)]
        classes = [name for name in names if kind_of(name) == "class"]
        others = [name for name in names if name not in classes]
        made |= {name: f"{heading(name)}\n{entry(name)}" for name in classes}
        if others:
            page = group.lower().replace(" ", "_")
            made[page] = "\n".join([heading(group), *(entry(name) for name in others)])
    index.append(toctree(sorted(made, key=str.lower)))
    of_mbt = [thing_of(name) for name in public_names(mbt)]
    for short in MODULES:
        module = importlib.import_module(f"mbt.{short}")
        # What `mbt` offers too has its page there.
        names = [name for name in public_names(module) if thing_of(name) not in of_mbt]
        text = f".. automodule:: {module.__name__}\n   :no-members:\n\n.. currentmodule:: None\n"
        made[module.__name__] = "\n".join(
            [heading(module.__name__), text, table(names), *(entry(name) for name in names)]
        )
    made["by_class"] = "\n".join(index)
    modules = [f"mbt.{name}" for name in sorted(MODULES)]
    made["by_module"] = f"{heading('By module')}\n{table(modules)}\n{toctree(modules)}"
    return made


def write(app: Sphinx) -> None:
    """Write the pages that have changed, and remove those of names that are gone."""
    folder = Path(app.srcdir) / "api" / "generated"
    folder.mkdir(exist_ok=True)
    made = {f"{name}.rst": text for name, text in pages().items()}
    for path in folder.glob("*.rst"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before Sphinx looks for its sources."""
    app.connect("builder-inited", write, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
