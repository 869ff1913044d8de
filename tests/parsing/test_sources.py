"""Paths, texts and bytes are told apart; unreadable sources raise an error that says why."""

import importlib
import os
import sys

import pytest

import mbt
from mbt.errors import ArgumentTypeError, ParseError
from mbt.parsing import sources
from mbt.parsing.sources import read_source
from support.urdf_texts import TWO_LINKS, robot

TEXT = robot(*TWO_LINKS)


@pytest.fixture
def urdf_file(tmp_path):
    path = tmp_path / "my bot.urdf"
    path.write_text(TEXT)
    return path


def test_paths_texts_and_bytes(urdf_file):
    for source in (urdf_file, str(urdf_file)):
        read = read_source(source)
        assert (read.data, read.file, read.stem) == (TEXT.encode(), str(urdf_file), "my bot")
    assert read_source(TEXT).data == TEXT.encode()
    assert read_source(TEXT).file == "<text>"
    for source in (TEXT.encode(), bytearray(TEXT.encode()), memoryview(TEXT.encode())):
        assert read_source(source).data == TEXT.encode()


def test_relative_paths(urdf_file, monkeypatch):
    monkeypatch.chdir(urdf_file.parent)
    assert read_source("my bot.urdf").data == TEXT.encode()
    with pytest.raises(ParseError, match=r"other\.urdf: there is no such file") as caught:
        read_source("other.urdf")
    assert str(urdf_file.parent) in caught.value.hint


def test_text_after_blanks_and_a_byte_order_mark_keeps_its_lines():
    assert read_source("\ufeff\n\n <robot/>").data == b"\n\n<robot/>"
    assert read_source("\n<?xml version='1.0'?><robot/>").data == b"\n<robot/>"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "the source is empty"),
        ("   ", "the source is empty"),
        ("robot\n<link/>", "neither a path nor XML or JSON text, which begins with '<' or '{'"),
        ("a\0b", "neither a path nor XML or JSON text, which begins with '<' or '{'"),
        ("x" * 100_000, "the file cannot be read"),
        ("<robot name='\ud800'/>", "surrogate"),
        (os.sep + "no" + os.sep + "such.urdf", "there is no such file"),
    ],
)
def test_sources_that_cannot_be_read(source, message):
    with pytest.raises(ParseError, match=message):
        read_source(source)


def test_folders_are_no_files(tmp_path):
    with pytest.raises(ParseError, match="this is a folder"):
        read_source(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ParseError, match="not a regular file"):
            read_source(path)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="this user may read everything")
def test_unreadable_files(urdf_file):
    urdf_file.chmod(0)
    with pytest.raises(ParseError, match="cannot be read: Permission denied"):
        read_source(urdf_file)


def test_size_is_bounded(urdf_file, monkeypatch):
    monkeypatch.setattr(sources, "MAX_BYTES", 10)
    with pytest.raises(ParseError, match="larger than the limit of"):
        read_source(urdf_file)


@pytest.mark.parametrize("source", [None, 1, 1.5, ["<robot/>"], object()])
def test_other_types_are_refused(source):
    with pytest.raises(ArgumentTypeError, match="source: expected a path, XML or JSON text, or bytes, got"):
        read_source(source)
    with pytest.raises(ArgumentTypeError, match="path_or_text_or_bytes: expected a path"):
        mbt.load_model(source)


def test_open_files_are_not_read(urdf_file):
    with urdf_file.open() as file, pytest.raises(ArgumentTypeError, match=r"pass file.read\(\) or its path"):
        read_source(file)


@pytest.mark.parametrize("address", ["http://robots.org/r.urdf", "https://a/b", "file:///tmp/r.urdf"])
def test_nothing_is_fetched(address):
    with pytest.raises(ParseError, match="is a URL: nothing is downloaded"):
        read_source(address)


def test_a_working_directory_that_is_gone(tmp_path, monkeypatch):
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(ParseError, match="there is no such file") as caught:
        read_source("x.urdf")
    assert "the working directory, which does not exist" in caught.value.hint
    with pytest.raises(ParseError, match=r"p/x\.urdf' (cannot be|was not) found"):
        read_source("package://p/x.urdf", ["."])


def test_links_that_form_a_loop(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "x.urdf").symlink_to("x.urdf")
    (tmp_path / "q").symlink_to("q")
    for folder in (tmp_path, tmp_path / "p", tmp_path / "q"):
        with pytest.raises(ParseError, match=r"p/x\.urdf' (cannot be|was not) found"):
            read_source("package://p/x.urdf", [folder])


def test_long_paths_are_shortened():
    path = "/" + "x/" * 2500 + "r.urdf"
    for source, folders in ((path, ()), ("package://p/x.urdf", [path] * 30)):
        with pytest.raises(ParseError) as caught:
            read_source(source, folders)
        assert len(str(caught.value)) < 3000


def test_a_malformed_declaration_of_a_text_is_a_repair():
    with pytest.raises(ParseError, match="the XML declaration is malformed"):
        mbt.load_model("<?xml verzion='7'?>" + TEXT, strict=True)
    assert mbt.load_model(" <?xml version='1.0' encoding='klingon'?>" + TEXT, strict=True).is_finalized


def test_package_uris(tmp_path):
    package = tmp_path / "bot_description"
    (package / "urdf").mkdir(parents=True)
    (package / "urdf" / "bot.urdf").write_text(TEXT)
    (tmp_path / "secret.urdf").write_text(TEXT)
    uri = "package://bot_description/urdf/bot.urdf"
    for folders in ([package], [tmp_path], (str(tmp_path), "/elsewhere")):
        assert read_source(uri, folders).data == TEXT.encode()
    with pytest.raises(ParseError, match="was not found"):
        read_source(uri)
    with pytest.raises(ParseError, match="leads out of the package"):
        read_source("package://bot_description/../secret.urdf", [tmp_path])
    for broken in ("package://", "package://x", "package:///x", "package://../secret.urdf"):
        with pytest.raises(ParseError):
            read_source(broken, [tmp_path])


@pytest.mark.parametrize("package_paths", ["folder", b"folder", None, 3, [3]])
def test_package_paths_are_folders(package_paths):
    with pytest.raises(ArgumentTypeError, match="package_paths: expected"):
        read_source(TEXT, package_paths)


class NoPath:
    def __fspath__(self):
        return 3


class EndlessPath:
    def __fspath__(self):
        return self.__fspath__()


class FailingPath:
    def __fspath__(self):
        raise KeyError("x" * 1000)


@pytest.mark.parametrize("path_type", [NoPath, EndlessPath, FailingPath])
def test_paths_that_are_none(path_type):
    """Whatever a foreign class does, the error names the argument."""
    with pytest.raises(
        ArgumentTypeError, match=f"source: expected a path, got a {path_type.__name__}"
    ) as caught:
        read_source(path_type())
    assert len(str(caught.value)) < 300
    with pytest.raises(
        ArgumentTypeError, match=f"package_paths: expected a path, got a {path_type.__name__}"
    ):
        read_source(TEXT, [path_type()])


@pytest.mark.parametrize("module", ["gzip", "bz2", "lzma"])
def test_packed_files_are_named(tmp_path, module):
    path = tmp_path / "bot.urdf"
    path.write_bytes(importlib.import_module(module).compress(TEXT.encode()))
    name = {"bz2": "bzip2", "lzma": "xz"}.get(module, module)
    for source in (path, path.read_bytes()):
        with pytest.raises(ParseError, match=f"this is {name}, not XML text") as caught:
            read_source(source)
        assert caught.value.hint == "unpack it first"


def test_lines_after_blanks_and_a_declaration():
    text = "\n\n<?xml version='1.0'\n?>\n<robot>\n<link/></robot>"
    assert read_source(text).data.count(b"\n") == text.count("\n")
    assert read_source(text).data.index(b"<robot") == 4
