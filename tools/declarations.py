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

#: What a source asks for: `from mbt._core.scalars cimport T`, `cimport numpy as cnp`.
CIMPORT = re.compile(r"^\s*(?:from\s+(\S+)\s+cimport|cimport\s+([\w.]+))", re.MULTILINE)


def copy_fused(function: Any) -> Any:
    """Return the copy of a fused function that Cython makes specific. The only one takes over the body.

    The function itself is never compiled. Copies of bodies are a quarter of the time that declarations take.
    """
    is_single = all(len(fused.types) == 1 for fused in function.type.get_fused_types())
    return copy.deepcopy(function, {id(function.body): function.body} if is_single else {})


FusedNode.copy = SimpleNamespace(deepcopy=copy_fused)


class Marks:
    """Stands for the attribute `used` of Cython's entries, and keeps whose declarations set it."""

    def __init__(self) -> None:
        self.being_read: list[Any] = []  # scopes, innermost last
        self.of: dict[Any, dict[Any, Any]] = {}  # of a scope: entries and their marks

    def __get__(self, entry: Any, kind: Any) -> Any:
        return entry.__dict__.get("used", 0)

    def __set__(self, entry: Any, mark: Any) -> None:
        entry.__dict__["used"] = mark
        if self.being_read:
            self.of[self.being_read[-1]][entry] = mark


class Declarations(Context):  # type: ignore[misc]
    """A context of Cython that has read declarations before a module asks for them.

    Cython writes into a module what the declarations of its context define, and what those use. Declarations
    that are read here are hidden, and what they use is not marked; a module gets them as it finds them, in
    the order in which it would have read them itself. A context serves one module, for compiling changes it:
    each in its own fork of the process that read them. For other scalars declarations are read anew, but not
    parsed.
    """

    _parsed: ClassVar[dict[str, Any]] = {}  # of a file: its tree as parsed, for one other context

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._marks = Marks()
        self._needs: dict[Any, list[Any]] = {}  # of a scope: those that its declarations found
        self._hidden: dict[Any, Any] = {}  # of a scope: its tree
        self._hides = False
        self._keeps = False

    def read(self, sources: list[Path]) -> bool:
        """Read what `sources` ask for. Returns False if that has errors, which a module is to report."""
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
        """Return the scope of a module; its declarations are read if they were not."""
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
