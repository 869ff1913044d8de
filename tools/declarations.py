"""Declarations that Cython reads once for many modules."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from Cython.Compiler import Errors, FusedNode
from Cython.Compiler.Main import Context
from Cython.Compiler.Scanning import FileSourceDescriptor
from Cython.Compiler.Symtab import Entry

#: Imports of a source: `from mbt._core.scalars cimport T`, `cimport numpy as cnp`.
CIMPORT = re.compile(r"^\s*(?:from\s+(\S+)\s+cimport|cimport\s+([\w.]+))", re.MULTILINE)


def copy_fused(function: Any) -> Any:
    """Return the copy of a fused function that Cython specializes. A single one takes over the body.

    The fused function itself is never compiled. Copying bodies takes a quarter of the time for declarations.
    """
    is_single = all(len(fused.types) == 1 for fused in function.type.get_fused_types())
    return copy.deepcopy(function, {id(function.body): function.body} if is_single else {})


FusedNode.copy = SimpleNamespace(deepcopy=copy_fused)


class Marks:
    """Replaces the attribute `used` of Cython's entries, and records whose declarations set it."""

    def __init__(self) -> None:
        self.being_read: list[Any] = []  # scopes, innermost last
        self.of: dict[Any, dict[Any, Any]] = {}  # by scope: entries and their marks

    def __get__(self, entry: Any, kind: Any) -> Any:
        return entry.__dict__.get("used", 0)

    def __set__(self, entry: Any, mark: Any) -> None:
        entry.__dict__["used"] = mark
        if self.being_read:
            self.of[self.being_read[-1]][entry] = mark


class Declarations(Context):  # type: ignore[misc]
    """A context of Cython that reads declarations before a module needs them.

    Cython writes into a module everything that the declarations of its context define or use. Declarations
    that are read here are hidden, and the entries they use are not marked as used; a module gets them when it
    looks them up, in the order in which it would have read them itself. A context serves only one module,
    because compiling changes it: each module runs in its own fork of the process that read the declarations.
    For other scalars, declarations are read again, but not parsed again.
    """

    _parsed: ClassVar[dict[str, Any]] = {}  # by file: the parsed tree, for one other context

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._marks = Marks()
        self._needs: dict[Any, list[Any]] = {}  # by scope: the scopes that its declarations looked up
        self._hidden: dict[Any, Any] = {}  # by scope: its tree
        self._hides = False
        self._keeps = False

    def read(self, sources: list[Path]) -> bool:
        """Read the imports of `sources`. Returns False if they have errors, which a module must report."""
        Errors.init_thread()
        Errors.reset()
        Errors.open_listing_file(path=None, echo_to_stderr=False)
        used, Entry.used = Entry.used, self._marks
        self._keeps = True
        try:
            for path in sources:
                place = (FileSourceDescriptor(str(path)), 1, 0)
                for package, name in CIMPORT.findall(path.read_text(encoding="utf-8")):
                    self.find_module(package or name, pos=place)
        finally:
            Entry.used = used
            self._keeps = False
        for marks in self._marks.of.values():
            for entry in marks:
                entry.used = used
        self.pxds.clear()
        self._hides = True
        return bool(Errors.get_errors_count() == 0)

    def parse(self, source: Any, scope: Any, pxd: bool, full_module_name: str) -> Any:
        """Return the tree of a file."""
        if not pxd:
            return super().parse(source, scope, pxd, full_module_name)
        if source.filename in self._parsed:
            scope.cpp = self.cpp
            return self._parsed.pop(source.filename)
        if self._keeps:
            self._parsed[source.filename] = super().parse(source, scope, pxd, full_module_name)
        return super().parse(source, scope, pxd, full_module_name)

    def process_pxd(self, source: Any, scope: Any, name: str) -> Any:
        """Read the declarations of a module."""
        self._needs[scope], self._marks.of[scope] = [], {}
        self._marks.being_read.append(scope)
        try:
            error, result = super().process_pxd(source, scope, name)
        finally:
            self._marks.being_read.pop()
        if not self._hides and not error:
            self._hidden[scope] = result
        return error, result

    def find_module(self, *arguments: Any, **keywords: Any) -> Any:
        """Return the scope of a module; reads its declarations if necessary."""
        scope = super().find_module(*arguments, **keywords)
        if self._marks.being_read:
            self._needs[self._marks.being_read[-1]].append(scope)
        if self._hides:
            self._show(scope)
        return scope

    def _show(self, scope: Any) -> None:
        tree = self._hidden.pop(scope, None)
        if tree:
            for needed in self._needs[scope]:
                self._show(needed)
            self.pxds[scope.qualified_name] = tree
            for entry, mark in self._marks.of[scope].items():
                entry.used = entry.used or mark
