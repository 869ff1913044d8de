"""Objects whose constructor never ran: every class of mbt, made by `__new__` alone, and used in every way.

Exceptions are fine, crashes are not. Compiled classes raise an error of mbt, or a TypeError.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHILD = r"""
import copy, enum, importlib, pickle, pkgutil, sys
import mbt
import mbt._core

import mbt.cli, mbt.symbolic, mbt.autodiff
# What PyInstaller runs has no classes, and looks through everything that is installed.
programs = ("__main__", "hook-mbt")
names = {m.name for m in pkgutil.walk_packages(mbt.__path__, "mbt.") if not m.name.endswith(programs)}
# Editable installations find compiled modules in other ways.
names |= {name for name in sys.modules if name.startswith("mbt.")}
modules = []
for name in sorted(names):
    try:
        modules.append(importlib.import_module(name))
    except ImportError as error:
        # Of an extra that is not installed. Whatever is missing of mbt itself is an error.
        if (error.name or "").startswith("mbt"):
            raise
classes = {
    value for module in modules for value in vars(module).values()
    if isinstance(value, type) and (value.__module__ or "").startswith("mbt")
}
assert len(classes) > 150, len(classes)
of_python = {module.__name__ for module in modules if (module.__file__ or "").endswith(".py")}

class Stub:
    pass

ARGUMENTS = [(), (None,), (0,), (Stub(), None), (-1, -1, -1)]
ERRORS = (mbt.MbtError, TypeError, ValueError, AttributeError, IndexError)

def attempt(what, f, *args):
    # What is about to run, for who reads of a crash.
    sys.stderr.write(what + "\n")
    try:
        return f(*args)
    except Exception as error:
        if is_compiled and not isinstance(error, ERRORS):
            raise AssertionError(f"{what}: {error!r}") from error
        return None

def use(thing, name, depth):
    for f in (repr, str, hash, len, bool, iter, copy.copy, copy.deepcopy, pickle.dumps, vars, dir, list):
        attempt(f"{name} {f.__name__}", f, thing)
    attempt(f"{name} ==", lambda: thing == thing)
    for attribute in dir(type(thing)):
        # The last is what a thread does until it is told to end.
        if attribute in ("__class__", "__init_subclass__", "__subclasshook__", "mro", "_work"):
            continue
        value = attempt(f"{name}.{attribute}", getattr, thing, attribute)
        if not callable(value) or isinstance(value, type):
            continue
        if getattr(type(thing), attribute, None) is getattr(object, attribute, ...):
            continue
        for args in ARGUMENTS:
            result = attempt(f"{name}.{attribute}{args!r:.60}", value, *args)
            if depth and result is not None and type(result) in classes and type(result) is not type(thing):
                use(result, f"{name}.{attribute}()", depth - 1)
    for attribute in list(getattr(thing, "__dict__", {})) + ["q", "v", "time", "name", "_methods"]:
        attempt(f"{name}.{attribute} = None", setattr, thing, attribute, None)

import warnings
warnings.simplefilter("ignore")
for cls in sorted(classes, key=lambda c: (c.__module__, c.__qualname__)):
    is_compiled = cls.__module__.startswith("mbt._core") and cls.__module__ not in of_python
    if issubclass(cls, (type, enum.Enum)):
        continue
    name = f"{cls.__module__}.{cls.__qualname__}"
    ways = (
        (), (None,), (Stub(),), (None, None), (0,), (-1,), ((-1,),), ((1,) * 70,), (mbt.MultibodyTree(),)
    )
    # That of `object` looks at no argument.
    for args in ways[:1] if cls.__new__ is object.__new__ else ways:
        sys.stderr.write(f"{name}.__new__{args!r:.60}\n")
        try:
            blank = cls.__new__(cls, *args)
        except Exception as error:
            if is_compiled:
                assert isinstance(error, (mbt.MbtError, TypeError, ValueError, MemoryError)), repr(error)
            continue
        use(blank, name, 1 if is_compiled else 0)
        del blank
print(len(classes))
"""


def test_no_class_crashes_without_its_constructor(tmp_path: Path) -> None:
    # Some methods write a file; the arguments tried here would fill megabytes.
    path = tmp_path / "tried.txt"
    with path.open("w") as tried:
        run = subprocess.run(
            [sys.executable, "-c", CHILD], stderr=tried, check=False, timeout=240, cwd=tmp_path
        )
    assert run.returncode == 0, f"exit code {run.returncode} after\n{path.read_text()[-1500:]}"
