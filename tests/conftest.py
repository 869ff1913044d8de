"""Settings of the whole suite."""

from __future__ import annotations

import gc
import os
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import chain, groupby
from operator import attrgetter
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import find, settings
from hypothesis.strategies import none

# The same examples in every run and on every machine; slow machines do not fail.
settings.register_profile("mbt", derandomize=True, deadline=None)
settings.load_profile("mbt")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """The whole suite runs on all processors, single files on one; `-n` overrides this."""
    if hasattr(config, "workerinput") or not config.pluginmanager.hasplugin("xdist"):
        return
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if is_whole and config.option.numprocesses is None:
        config.option.numprocesses = "auto"
    if config.option.numprocesses and config.option.dist == "no":
        # If every process used all processors for NumPy's linear algebra, all would wait for each other.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # Otherwise every worker and every process that a test starts would compile all its imports again.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        # Neighbours stay together, so that most setups of a file run only once, and no worker waits
        # for a long file. Schedulers that keep whole files together search all tests for each one.
        config.option.dist = "worksteal"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Nearly all objects made during collection stay, so the garbage collector is off meanwhile."""
    # Hypothesis once asks the collector who refers to its random numbers: do this while there are few
    # objects, and before any are frozen, since it would not find those.
    find(none(), lambda _: True)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


class Backwards:
    """In a first run, half of the workers go backwards, so that tests and packages compile from both ends."""

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        report: Any = yield
        if isinstance(collector, pytest.Directory):
            report.result.reverse()
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        files = [list(group) for _, group in groupby(items, key=attrgetter("path"))]
        items[:] = chain.from_iterable(reversed(files))


def pytest_configure(config: pytest.Config) -> None:
    worker = getattr(config, "workerinput", {}).get("workerid", "gw0")
    if len(config.args) == 1 and worker[-1] in "13579":
        config.pluginmanager.register(Backwards())


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option for builds that differ little from one for which every test runs."""
    told = "run one test of N, the same ones each time"
    parser.addoption("--one-of", type=int, default=1, metavar="N", help=told)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """No test id contains an address: parallel workers would not collect the same tests."""
    if named := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"tests whose ids hold an address: {', '.join(named)}")
    number = config.getoption("--one-of")
    if number > 1:
        kept, left = [], []
        for item in items:
            (left if zlib.crc32(item.nodeid.encode()) % number else kept).append(item)
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def pytest_collection_finish() -> None:
    """Freeze objects, so that collections that some tests ask for skip every test and module."""
    gc.collect()
    gc.freeze()


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker reports a passed test once, not five times, unless more is to be shown."""
    config = item.config
    shows_more = [config.getoption(name, None) for name in ("durations", "xmlpath")]
    if any(shows_more) or config.getoption("verbose") > 0 or not hasattr(config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line for each reason of skipped tests; `-rs` lists the tests."""
    reports = terminalreporter.stats.get("skipped", [])
    if not reports or terminalreporter.hasopt("skipped"):
        return
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    terminalreporter.section("why tests were skipped (-rs: which)", sep="-")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count:6d}  {reason}")


@pytest.fixture(scope="module", autouse=True)
def _drawings_are_closed() -> None:
    """Close figures of earlier test files and of examples, so that this file starts with none."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="module", autouse=True)
def _old_objects_are_left_alone() -> None:
    """Freeze objects that earlier test files left, finally a gigabyte, so that collections skip them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _nothing_stays_at_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        # Other workers need not compile again what one has compiled.
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MBT_CACHE_DIR", str(folder / "home" / "compiled"))
        yield
