"""Catches the warnings of MuJoCo's compiler, which would otherwise print them and write a file."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mbt.errors import shorten
from mbt.parsing.report import ParseReport

__all__ = ["warnings_of_mujoco"]

# MuJoCo has a single warning function for all threads.
_LOCK = threading.Lock()
# Words in warnings that concern only the appearance.
_LOOKS = re.compile(
    r"\b(textures?|materials?|rgba|colou?rs?|skins?|lights?|cameras?|visuals?)\b", re.IGNORECASE
)


@contextmanager
def warnings_of_mujoco(mujoco: Any, report: ParseReport) -> Iterator[None]:
    """Add warnings of MuJoCo to the report, in addition to its own handling of them."""
    texts: dict[str, None] = {}
    with _LOCK, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(lambda text: texts.setdefault(text))
        try:
            yield
        finally:
            mujoco.set_mju_user_warning(before)
            texts.update(dict.fromkeys(str(warning.message) for warning in caught))
    for text in texts:
        said = shorten("; ".join(text.strip().splitlines()), 300)
        report.warn(f"MuJoCo says: {said}", about="looks" if _LOOKS.search(text) else "")
