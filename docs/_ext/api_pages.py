"""Pages of the API, made from the public names of `mbt`: one page per class, one per module.

`mbt.__all__` groups its names under headings, which become those of the index by class. `MultibodyTree` has
too many members for one page: each task of `api/by_task.md` gets a page with the members that it names.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

import mbt

MODULES = [name for name in mbt.__all__ if inspect.ismodule(getattr(mbt, name))]
MEMBERS = "   :members:\n   :inherited-members:\n"


def public_names(module: ModuleType) -> list[str]:
    """Return the dotted public names of a module, without its modules."""
    names = [f"{module.__name__}.{name}" for name in module.__all__]
    return [name for name in names if not inspect.ismodule(thing_of(name))]


def thing_of(dotted: str) -> Any:
    """Return the object with a dotted name."""
    module, _, name = dotted.rpartition(".")
    return getattr(importlib.import_module(module), name)


def groups_of_mbt() -> dict[str, list[str]]:
    """Return the names of `mbt.__all__` by the comment above them, without modules; elements by room."""
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
    ordered: dict[str, list[str]] = {}
    for title, listed in groups.items():
        ordered[title] = listed
        if "mbt.Joint" in listed:
            ordered |= types_of_elements()
    return ordered


def types_of_elements() -> dict[str, list[str]]:
    """Return the names of element types, as listed in their rooms."""
    rooms = {
        room: [f"mbt.{name}" for name in importlib.import_module(f"mbt.tree.{room}").__all__]
        for room in ("joints", "force_elements", "constraints", "sensors")
    }
    mobilizers = [name for name in rooms["joints"] if name.endswith("Mobilizer")]
    return {
        "Joints": [name for name in rooms["joints"] if name not in mobilizers],
        "Mobilizers": mobilizers,
        "Force elements": rooms["force_elements"],
        "Constraints": rooms["constraints"],
        "Sensors": rooms["sensors"],
    }


def kind_of(dotted: str) -> str:
    """Return the directive that documents a name."""
    thing = thing_of(dotted)
    if inspect.isclass(thing):
        return "exception" if issubclass(thing, BaseException) else "class"
    return "function" if inspect.isroutine(thing) else "data"


def entry(dotted: str) -> str:
    """Return the directive for a name, with its members."""
    kind = kind_of(dotted)
    return f".. auto{kind}:: {dotted}\n{MEMBERS if kind == 'class' else ''}"


def heading(text: str, line: str = "=") -> str:
    """Return a heading of reStructuredText."""
    return f"{text}\n{line * len(text)}\n"


def table(names: list[str]) -> str:
    """Return a table of names with their first lines."""
    return ".. autosummary::\n\n" + "".join(f"   {name}\n" for name in names)


def toctree(pages: list[str]) -> str:
    """Return a table of contents for the sidebar."""
    return ".. toctree::\n   :hidden:\n\n" + "".join(f"   {page}\n" for page in pages)


def members_of_tree_by_task(by_task: str) -> dict[str, list[str]]:
    """Return the members of `MultibodyTree` by the headings of the page `by_task`, including unnamed ones."""
    tasks: dict[str, list[str]] = {}
    for section in by_task.split("\n## ")[1:]:
        if members := re.findall(r"~mbt\.MultibodyTree\.(\w+)", section):
            tasks[section.partition("\n")[0]] = members
    named = {member for members in tasks.values() for member in members}
    if others := [name for name in dir(mbt.MultibodyTree) if name[0] != "_" and name not in named]:
        tasks["More members"] = others
    return tasks


def member_entry(name: str) -> str:
    """Return the directive for a member of `MultibodyTree`."""
    member = inspect.getattr_static(mbt.MultibodyTree, name)
    kind = "method" if inspect.isroutine(getattr(mbt.MultibodyTree, name)) else "attribute"
    return f".. auto{'property' if isinstance(member, property) else kind}:: mbt.MultibodyTree.{name}\n"


def pages_of_tree(by_task: str) -> dict[str, str]:
    """Return the page of `MultibodyTree`, which has tables, and one page per task."""
    made: dict[str, str] = {}
    index = [heading("mbt.MultibodyTree"), ".. autoclass:: mbt.MultibodyTree\n"]
    for task, members in members_of_tree_by_task(by_task).items():
        page = "mbt.MultibodyTree." + re.sub(r"\W+", "_", task.lower())
        names = [f"~mbt.MultibodyTree.{member}" for member in members]
        index += [heading(task, "-"), f":doc:`Descriptions <{page}>` of\n", table(names)]
        text = "Methods and properties of :class:`mbt.MultibodyTree`."
        made[page] = "\n".join([heading(task), text, "", *map(member_entry, members)])
    index.append(toctree(list(made)))
    return {**made, "mbt.MultibodyTree": "\n".join(index)}


@cache
def overloads_of_tree() -> dict[str, list[str]]:
    """Return the signatures of overloaded methods of `MultibodyTree`, without annotations."""
    [tree] = ast.parse(inspect.cleandoc(inspect.getsource(mbt.MultibodyTree))).body
    found: dict[str, list[str]] = {}
    for node in tree.body if isinstance(tree, ast.ClassDef) else []:
        if isinstance(node, ast.FunctionDef) and any(map(_is_overload, node.decorator_list)):
            arguments = node.args
            del (arguments.posonlyargs or arguments.args)[0]
            for argument in ast.walk(arguments):
                if isinstance(argument, ast.arg):
                    argument.annotation = None
            found.setdefault(node.name, []).append(f"({ast.unparse(arguments)})")
    return found


def _is_overload(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id == "overload"


def show_overloads(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, annotation: str
) -> tuple[str, str] | None:
    """Show each signature of an overloaded method, not `*args, **kwargs`."""
    tree, _, method = name.rpartition(".")
    if tree.endswith("MultibodyTree") and method in overloads_of_tree():
        return f"\nMultibodyTree.{method}".join(overloads_of_tree()[method]), annotation
    return None


def pages(by_task: str) -> dict[str, str]:
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
    made |= pages_of_tree(by_task)
    of_mbt = [thing_of(name) for name in public_names(mbt)]
    for short in MODULES:
        module = importlib.import_module(f"mbt.{short}")
        # Names that `mbt` also exports have their pages there.
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
    """Write the pages that have changed, and remove those of deleted names."""
    folder = Path(app.srcdir) / "api" / "generated"
    folder.mkdir(exist_ok=True)
    by_task = folder.with_name("by_task.md").read_text(encoding="utf-8")
    made = {f"{name}.rst": text for name, text in pages(by_task).items()}
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
    app.connect("autodoc-process-signature", show_overloads)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
