"""Instructions of the hot calls by version: those recorded in the repository, and the present ones.

    python benchmarks/history.py

The counts that each commit recorded in `instruction_counts.json`, from version 0.1.0 on, and those that
`instruction_counts.py` finds for the installed mbt. Only instructions of mbt itself, for x86-64-v3, which
repeat on every machine with the same compiler. Stored in `benchmarks/results/history.json`; `page.py` draws
them. Needs git, and everything that `instruction_counts.py` needs. `versions.py` compares the times of two
versions.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from typing import Any

import machine
from instruction_counts import RECORDS, measure_counts
from record import RESULTS, as_text

#: Commits that represent a version; history begins with the first of them.
VERSIONS = {"3fd3f7e": "0.1.0"}


def git(*arguments: str) -> str:
    """Return the output of git."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=RECORDS.parent, capture_output=True, text=True, check=True).stdout


def recorded(key: str) -> list[dict[str, Any]]:
    """Return the records of a compiler and Python version, oldest first."""
    found: list[dict[str, Any]] = []
    for line in git("log", "--reverse", "--format=%h %as", "--abbrev=7", "--", RECORDS.name).splitlines():
        commit, date = line.split()
        if not found and commit not in VERSIONS:
            continue
        record = json.loads(git("show", f"{commit}:./{RECORDS.name}")).get(key, {})
        counts = record.get("own")
        if counts and (not found or counts != found[-1]["counts"]):
            name = VERSIONS.get(commit, f"{date[5:]}, {commit}")
            found.append({"name": name, "date": date, "commit": commit, "counts": counts})
    return found


def main() -> None:
    """Collect, count and store."""
    before, start = os.getloadavg()[0], time.perf_counter()
    key, record = measure_counts()
    now = {"name": "now", "date": time.strftime("%Y-%m-%d"), "counts": record["own"]}
    here = machine.description()
    here["load"] = [round(x, 1) for x in (before, os.getloadavg()[0])]
    here["seconds"] = round(time.perf_counter() - start)
    found = {"machine": here, "key": key, "versions": [*recorded(key), now]}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "history.json").write_text(as_text(found), encoding="utf-8")


if __name__ == "__main__":
    main()
