"""`save_model` itself: formats, files, and what is refused."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

import mbt

ARM = mbt.models.model_path("mbt_arm")


@pytest.fixture
def arm() -> mbt.MultibodyTree:
    return mbt.load_model(ARM)


@pytest.mark.parametrize("suffix", ["json", "urdf", "URDF"])
def test_the_suffix_tells_the_format(arm: mbt.MultibodyTree, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"arm.{suffix}"
    text = mbt.save_model(arm, str(path))
    assert path.read_text(encoding="utf-8") == text == mbt.save_model(arm, format=suffix.lower())  # type: ignore[arg-type]
    assert mbt.load_model(path).position_names == arm.position_names
    other = tmp_path / "model.txt"
    assert mbt.save_model(arm, other, format="json") == other.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ([], {}, mbt.ArgumentValueError, "format: expected 'json' or 'urdf' if no path determines it"),
        (["arm.sdf"], {}, mbt.ArgumentValueError, "the suffix of 'arm.sdf' is neither"),
        ([], {"format": "sdf"}, mbt.ArgumentValueError, "format: expected 'json' or 'urdf', got 'sdf'"),
        ([], {"format": 3}, mbt.ArgumentTypeError, "format: expected 'json' or 'urdf', got int"),
        ([3], {}, mbt.ArgumentTypeError, "path: expected the path of a file, got int"),
        ([], {"format": "json", "strict": "no"}, mbt.ArgumentTypeError, "strict"),
        ([], {"format": "json", "user_elements": 2}, mbt.ArgumentTypeError, "user_elements"),
        (["no/such/arm.json"], {}, mbt.ArgumentValueError, "cannot be written: No such file or directory"),
        (["bad\0.json"], {}, mbt.ArgumentValueError, "cannot be written"),
    ],
)
def test_bad_arguments(
    arm: mbt.MultibodyTree,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[Any],
    options: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        mbt.save_model(arm, *arguments, **options)
    assert not list(tmp_path.iterdir())


def test_what_is_not_a_tree() -> None:
    with pytest.raises(mbt.ArgumentTypeError, match=r"tree: expected an mbt\.MultibodyTree, got str"):
        mbt.save_model("arm.urdf", format="json")  # type: ignore[arg-type]


def test_a_failure_leaves_the_old_file(
    arm: mbt.MultibodyTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "arm.json"
    path.write_text("old", encoding="utf-8")

    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    for function in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, function, fail)
            with pytest.raises(mbt.ArgumentValueError, match=r"arm\.json' cannot be written: No space left"):
                mbt.save_model(arm, path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]
    tree = arm.edit()
    tree.add_force_element(mbt.RevoluteSpring(tree.joints[1], 0.0, 1.0))
    urdf = tmp_path / "arm.urdf"
    with pytest.raises(mbt.ArgumentValueError, match="RevoluteSpring"):
        mbt.save_model(tree, urdf, strict=True)
    assert not urdf.exists()


def test_what_is_not_a_file_stays(arm: mbt.MultibodyTree, tmp_path: Path) -> None:
    pipe, link, folder = tmp_path / "pipe.json", tmp_path / "link.json", tmp_path / "folder.json"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    folder.mkdir()
    for path, reason in ((pipe, "not a regular file"), (link, "not a regular file"), (folder, "a folder")):
        with pytest.raises(mbt.ArgumentValueError, match=f"cannot be written: it is {reason}"):
            mbt.save_model(arm, path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(tmp_path.iterdir()) == [folder, link, pipe]


def test_permissions_and_links_stay(arm: mbt.MultibodyTree, tmp_path: Path) -> None:
    path, link = tmp_path / "arm.json", tmp_path / "link.json"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    link.symlink_to(path)
    mbt.save_model(arm, link)
    assert link.is_symlink()
    assert path.read_text(encoding="utf-8").startswith("{")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_may_have_the_longest_name(arm: mbt.MultibodyTree, tmp_path: Path) -> None:
    path = tmp_path / ("a" * 250 + ".json")
    text = mbt.save_model(arm, path)
    assert path.read_text(encoding="utf-8") == text == mbt.save_model(arm, path)
    with pytest.raises(mbt.ArgumentValueError, match=f"cannot be written: {os.strerror(errno.ENAMETOOLONG)}"):
        mbt.save_model(arm, tmp_path / ("a" * 251 + ".json"))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("function", ["fsync", "chmod", "replace"])
def test_an_interrupt_leaves_nothing_behind(
    arm: mbt.MultibodyTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    path = tmp_path / "arm.json"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o600)
    modes = []

    def interrupt(*arguments: object) -> None:
        modes.extend(stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(os, function, interrupt)
    before = os.umask(0)
    try:
        with pytest.raises(KeyboardInterrupt):
            mbt.save_model(arm, path)
    finally:
        os.umask(before)
    assert modes == [0o600, 0o600], "a draft is readable to nobody who may not read the file"
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text(encoding="utf-8") == "old"


def test_a_new_file_has_the_permissions_of_the_process(arm: mbt.MultibodyTree, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        mbt.save_model(arm, tmp_path / "arm.json")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "arm.json").stat().st_mode) == 0o640
