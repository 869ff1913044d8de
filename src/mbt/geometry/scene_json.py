"""A collision model as JSON: obstacles, and pairs by name. The tree is saved separately."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mbt.errors import ArgumentValueError, quote
from mbt.parsing.report import ParseReport
from mbt.parsing.sources import read_source
from mbt.saving.json_fields import Document, Fields
from mbt.saving.json_text import dump_model, parse_json
from mbt.saving.json_values import SHAPES

if TYPE_CHECKING:
    from mbt.geometry.placed_shapes import PlacedShape
    from mbt.tree.shape import Shape

__all__ = ["SceneFile", "read_scene", "write_scene"]

_HEADER = {"format": "mbt scene", "version": 1}


def write_scene(
    shapes: Sequence[PlacedShape],
    pairs: Sequence[tuple[int, int, float]],
    obstacles: Mapping[str, Shape],
    *,
    hulls: bool,
) -> str:
    """Return a collision model as JSON.

    Raises
    ------
    ArgumentValueError
        When two shapes have the same name.
    """
    names = [shape.name for shape in shapes]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ArgumentValueError(f"to_json: two shapes are called {quote(twice[0])}")
    written: list[Any] = SHAPES.write(tuple(obstacles.values()), None) or []  # type: ignore[arg-type]
    written = [
        {"kind": entry["kind"], "name": name, **{k: x for k, x in entry.items() if k not in ("kind", "name")}}
        for entry, name in zip(written, obstacles, strict=True)
    ]
    model = {
        **_HEADER,
        "hulls": hulls,
        "obstacles": written,
        "pairs": [[names[i], names[j]] for i, j, _ in pairs],
    }
    if any(padding for *_, padding in pairs):
        model["padding"] = [padding for *_, padding in pairs]
    return dump_model(model)


class SceneFile:
    """The contents of a file.

    Attributes
    ----------
    obstacles : list of Shape
        Obstacles.
    hulls : bool
        Whether meshes are read.
    pairs : list of (str, str)
        Names of shapes.
    padding : list of float
        Padding of each pair [m].
    """

    def __init__(self, fields: Fields) -> None:
        self._fields = fields
        for key, wanted in _HEADER.items():
            value = fields.take(key)
            if value != wanted:
                raise fields.error(key, f"expected {quote(wanted)}, got {quote(value)}")
        self.hulls = fields.take_bool("hulls")
        self.obstacles: list[Shape] = SHAPES.read(fields, "obstacles", None)  # type: ignore[arg-type]
        self.pairs = fields.take_list("pairs")
        if not all(type(x) is list and [type(name) for name in x] == [str, str] for x in self.pairs):
            raise fields.error("pairs", "expected pairs of names")
        count = len(self.pairs)
        self.padding = fields.take_numbers("padding", count) if fields.has("padding") else [0.0] * count
        fields.finish()

    def find_pairs(self, shapes: Sequence[PlacedShape]) -> list[tuple[int, int, float]]:
        """Return pairs of shapes, by their places, and their padding.

        Raises
        ------
        ParseError
            When there is no shape with a name.
        """
        places = {shape.name: i for i, shape in enumerate(shapes)}
        unknown = [name for pair in self.pairs for name in pair if name not in places]
        if unknown:
            raise self._fields.error("pairs", f"the tree has no shape {quote(unknown[0])}")
        numbers = zip(self.pairs, self.padding, strict=True)
        return [(places[first], places[second], padding) for (first, second), padding in numbers]


def read_scene(source: str | os.PathLike[str]) -> SceneFile:
    """Return the contents of a text, or of the file at a path.

    Raises
    ------
    ParseError
        When it cannot be read.
    """
    read = read_source(source, (), "source")
    document = Document(ParseReport(read.file), is_strict=True)
    return SceneFile(Fields(document, "", parse_json(read.data, read.file)))
