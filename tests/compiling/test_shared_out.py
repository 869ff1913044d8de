"""Large batches of native code on threads: without further threads available, and after errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.compiling import calls
from support.description import Array

COUNT = 40 * calls._PIECE


@pytest.fixture(autouse=True)
def four_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(calls, "_pools", {})
    before = mbt.get_num_threads()
    mbt.set_num_threads(4)
    yield
    mbt.set_num_threads(before)


def run(call_many: Any) -> Array:
    (result,) = calls.call_on_states(
        call_many, {"x": (1,)}, (np.arange(float(COUNT))[:, None],), {"out": None}, ((1,),), np.float64
    )
    return np.asarray(result)


def double(inputs: Any, outputs: Any, count: int) -> None:
    np.multiply(inputs[0], 2.0, out=outputs[0])


@pytest.mark.parametrize("to_be_had", [0, 1, 9])
def test_goes_on_with_the_threads_that_it_gets(monkeypatch: pytest.MonkeyPatch, to_be_had: int) -> None:
    start, started = threading.Thread.start, [0]

    def start_some(thread: threading.Thread) -> None:
        started[0] += 1
        if started[0] > to_be_had:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_some)
    for _ in range(3):
        np.testing.assert_array_equal(run(double)[:, 0], 2.0 * np.arange(COUNT))


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["here", "there"])
def test_nothing_is_written_after_an_error(error: type[BaseException], where: str) -> None:
    here, running, begun = threading.current_thread(), set[int](), []

    def call_many(inputs: Any, outputs: Any, count: int) -> None:
        first = int(inputs[0][0, 0])
        begun.append(first)
        if len(begun) > 8 and (threading.current_thread() is here) == (where == "here"):
            raise error
        running.add(first)
        time.sleep(0.002)
        running.discard(first)

    with pytest.raises(error):
        run(call_many)
    assert not running
    so_far = len(begun)
    assert so_far < 40
    time.sleep(0.02)
    assert len(begun) == so_far
