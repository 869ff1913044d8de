"""Progress of a long call."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from mbt.errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Progress"]


class Progress:
    """Reports the fraction done to a function, or to a bar of `tqdm` if that is installed.

    Parameters
    ----------
    progress : bool or callable
        True for the bar, or a function of the fraction done, from 0 to 1.
    what : str, optional
        Title of the bar.
    """

    def __init__(self, progress: bool | Callable[[float], object], what: str = "simulate") -> None:
        if not isinstance(progress, bool) and not callable(progress):
            raise ArgumentTypeError(
                "progress: expected True, False or a function of the fraction done, "
                f"got {type(progress).__name__}"
            )
        self._tell: Any = progress if callable(progress) else None
        self._wants_bar = progress is True
        self._what = what
        self._bar: Any = None

    def __enter__(self) -> Progress:
        """Show the bar."""
        if self._wants_bar:
            try:
                from tqdm.auto import tqdm
            except ImportError:  # Then no bar is shown.
                return self
            form = "{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]"
            self._bar = tqdm(total=1.0, desc=self._what, bar_format=form)
        return self

    def report(self, share: float) -> None:
        """Report the fraction done."""
        if self._tell is not None:
            self._tell(min(share, 1.0))
        elif self._bar is not None:
            self._bar.update(min(share, 1.0) - self._bar.n)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()
