"""The installed package: metadata, types, documented names, examples that run, an import of NumPy only."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cached_property
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest

import mbt

# All but the hook of PyInstaller, which is a separate script.
FOUND = sorted(
    (module for module in pkgutil.walk_packages(mbt.__path__, "mbt.") if "-" not in module.name),
    key=lambda module: module.name,
)
MODULES = [module.name for module in FOUND]
NO_CYTHON = {
    "mbt._core.above",
    "mbt._core.cpu",
    "mbt._core.cython_utility",
    "mbt._core.model.element_types",
    "mbt._core.quantities.names",
    "mbt._core.wrong_calls",
}
COMPILED = [
    module.name
    for module in FOUND
    if module.name.startswith("mbt._core.") and not module.ispkg and module.name not in NO_CYTHON
]
# Of extras other than `test`.
PACKAGES_OF_EXAMPLES = {
    "mbt.interop.acados": ("casadi", pytest.mark.oracle),
    "mbt.interop.casadi": ("casadi", pytest.mark.oracle),
    "mbt.interop.crocoddyl": ("crocoddyl", pytest.mark.crocoddyl),
    "mbt.interop.gymnasium": ("gymnasium", pytest.mark.engine),
    "mbt.interop.jax": ("jax", pytest.mark.engine),
    "mbt.interop.stable_baselines3": ("stable_baselines3", pytest.mark.engine),
    "mbt.interop.torch": ("torch", pytest.mark.engine),
    "mbt.symbolic.casadi_function": ("casadi", pytest.mark.oracle),
}
PUBLIC_MODULES = [mbt, mbt.functional, mbt.identification, mbt.math, mbt.parsing, mbt.symbolic]
PUBLIC_NAMES = [(module, name) for module in PUBLIC_MODULES for name in module.__all__]
PUBLIC_THINGS = [getattr(module, name) for module, name in PUBLIC_NAMES]
CLASSES = list(dict.fromkeys(thing for thing in PUBLIC_THINGS if inspect.isclass(thing)))
FUNCTIONS = list(dict.fromkeys(thing for thing in PUBLIC_THINGS if inspect.isroutine(thing)))


# Metadata -------------------------------------------------------------------------------------------------


def test_version_is_that_of_the_distribution() -> None:
    assert mbt.__version__ == metadata.version("multibodytree")


def test_needs_numpy_and_nothing_else() -> None:
    required = [entry for entry in metadata.requires("multibodytree") or [] if "extra ==" not in entry]
    assert [re.split(r"[<>=!~ ;\[]", entry)[0] for entry in required] == ["numpy"]


def test_nothing_tells_to_install_the_package_of_a_stranger() -> None:
    """On the registry `mbt` is another project: commands that install ours call it `multibodytree`."""
    root = Path(__file__).parents[1]
    old = re.compile(
        r"(?:pip|pipx|uv|poetry) \w+ [^`\n&]*?(?<![\w./-])mbt(?![\w./-])|[\"'`\s]mbt\[[a-z]|\bmbt-\d"
    )
    suffixes = (".py", ".pyx", ".pyi", ".md", ".toml", ".yml", ".sh", ".txt", "")
    paths = [root / "README.md", *root.glob("*.*")]
    for folder in (".ci", ".github", "benchmarks", "docs", "examples", "src", "tests", "tools"):
        paths += [path for path in (root / folder).rglob("*") if path.suffix in suffixes]
    found = [
        f"{path.relative_to(root)}: {match.group()}"
        for path in paths
        if path.is_file() and path != Path(__file__)
        for match in old.finditer(path.read_text(encoding="utf-8", errors="ignore"))
    ]
    assert found == []


def test_is_marked_as_typed() -> None:
    assert files("mbt").joinpath("py.typed").is_file()


@pytest.mark.parametrize("name", [*COMPILED, "mbt._core.cpu", "mbt._core.cython_utility"])
def test_compiled_module_has_a_stub(name: str) -> None:
    stub = name.removeprefix("mbt.").replace(".", "/") + ".pyi"
    assert files("mbt").joinpath(stub).is_file()


# Names and docstrings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("module", "name"), PUBLIC_NAMES, ids=lambda x: getattr(x, "__name__", x))
def test_public_name_exists_and_is_documented(module: ModuleType, name: str) -> None:
    thing = getattr(module, name)
    if inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing):
        assert inspect.getdoc(thing)


def test_public_names_are_listed_once_and_completely() -> None:
    assert len(mbt.__all__) == len(set(mbt.__all__))
    defined = {name for name, thing in vars(mbt).items() if name[0] != "_" and not inspect.ismodule(thing)}
    assert defined <= set(mbt.__all__)


def _public_members(cls: type) -> list[inspect.Attribute]:
    """Return methods and properties that mbt defines, including those of compiled base classes."""
    return [
        member
        for member in inspect.classify_class_attrs(cls)
        if member.name[0] != "_"
        and member.defining_class.__module__.startswith("mbt.")
        and (inspect.isroutine(member.object) or inspect.isdatadescriptor(member.object))
    ]


@pytest.mark.parametrize("cls", CLASSES)
def test_public_members_are_documented(cls: type) -> None:
    doc = inspect.getdoc(cls) or ""
    undocumented = {member.name for member in _public_members(cls) if not inspect.getdoc(member.object)}
    # Read-only attributes of compiled classes cannot have docstrings: the class documents them.
    assert {name for name in undocumented if not re.search(rf"^{name} : ", doc, flags=re.MULTILINE)} == set()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_have_signatures(function: Callable[..., object]) -> None:
    assert inspect.signature(function)


@pytest.mark.parametrize("cls", CLASSES)
def test_methods_have_signatures(cls: type) -> None:
    for member in _public_members(cls):
        if inspect.isroutine(member.object) and not isinstance(member.object, cached_property):
            assert inspect.signature(getattr(cls, member.name)), member.name


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if not issubclass(cls, BaseException)])
def test_constructors_name_their_arguments(cls: type) -> None:
    try:
        signature = inspect.signature(cls)
    except ValueError:
        return  # A type that only trees create.
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    assert not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}, signature


# Examples -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=PACKAGES_OF_EXAMPLES[name][1]) if name in PACKAGES_OF_EXAMPLES else name
        for name in MODULES
    ],
)
def test_examples_run(name: str) -> None:
    if name in PACKAGES_OF_EXAMPLES:
        pytest.importorskip(PACKAGES_OF_EXAMPLES[name][0])
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner()
    report: list[str] = []
    for test in doctest.DocTestFinder().find(module):
        # A run without examples only checks whether any source file that was read has changed.
        if test.examples:
            runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


def test_examples_of_compiled_modules_are_found() -> None:
    modules = map(importlib.import_module, COMPILED)
    tests = [test for module in modules for test in doctest.DocTestFinder().find(module)]
    names = {test.name for test in tests if test.examples}
    assert any(name.endswith("calc_inverse_dynamics") for name in names)
    assert "mbt._core.api.stateless.inverse_dynamics" in names


# Import ---------------------------------------------------------------------------------------------------


def _run(code: str, folder: Path) -> list[str]:
    """Run Python code in an empty folder, without bytecode; return the words it prints."""
    command = [sys.executable, "-B", "-c", code]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def test_import_brings_numpy_and_nothing_else(tmp_path: Path) -> None:
    code = "import sys; before = set(sys.modules); import mbt; print(*(set(sys.modules) - before))"
    packages = {module.partition(".")[0] for module in _run(code, tmp_path)}
    # Cython's own modules exist in memory only.
    cython = {package for package in packages if re.fullmatch(r"_cython_\w+|cython_runtime", package)}
    assert packages - cython - sys.stdlib_module_names == {"mbt", "numpy"}


@pytest.mark.parametrize("room", mbt._ROOMS)
def test_rooms_are_imported_when_they_are_asked_for(tmp_path: Path, room: str) -> None:
    code = f"import sys, mbt; print('mbt.{room}' in sys.modules, mbt.{room}.__name__)"
    assert _run(code, tmp_path) == ["False", f"mbt.{room}"]


def test_models_are_reached_through_the_package(tmp_path: Path) -> None:
    code = "import sys, mbt; print('mbt.models' in sys.modules, mbt.models.model_names()[0])"
    assert _run(code, tmp_path) == ["False", "mbt_arm"]


def test_import_and_use_write_no_file(tmp_path: Path) -> None:
    code = """
import os, sys
def watch(event, args):
    if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        print("open", args[0])
    if event in ("os.mkdir", "os.rename", "os.remove", "os.symlink", "os.link", "shutil.copyfile"):
        print(event, *args)
sys.addaudithook(watch)
import mbt, mbt.models
tree = mbt.load_model(mbt.models.model_path("mbt_arm"))
mbt.functional.mass_matrix(tree, tree.default_positions)
"""
    assert _run(code, tmp_path) == []
    assert list(tmp_path.iterdir()) == []
