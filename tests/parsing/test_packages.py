"""Packages and meshes are found where users keep them, and never outside of what they name."""

import os
from pathlib import Path

import pytest

import mbt
from mbt.errors import ArgumentTypeError, ArgumentValueError, ParseError
from mbt.parsing import resolve_mesh
from mbt.parsing.packages import find_in_packages, find_package

ADDRESS = "package://bot_description/meshes/arm.stl"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)


def make_package(folder: Path, name: str = "bot_description") -> Path:
    """Make a package with a mesh, and return where the mesh is."""
    meshes = folder / name / "meshes"
    meshes.mkdir(parents=True)
    (meshes / "arm.stl").write_text("")
    return (meshes / "arm.stl").resolve()


def mesh(address: str = ADDRESS, folder: Path | None = None) -> mbt.Shape:
    return mbt.Shape("mesh", mesh=address, folder=None if folder is None else str(folder))


def test_package_paths_are_packages_or_hold_them(tmp_path):
    found = make_package(tmp_path)
    for folder in (tmp_path, tmp_path / "bot_description", str(tmp_path)):
        assert resolve_mesh(mesh(), [folder]) == found
        assert resolve_mesh(mesh(ADDRESS.replace("package", "model")), [folder]) == found
        assert resolve_mesh(mesh(ADDRESS.replace("//", "///", 1)), [folder]) == found
        assert resolve_mesh(mesh(f"  {ADDRESS} "), ["/elsewhere", folder]) == found


@pytest.mark.parametrize("inside", [".", "src", "src/repository"])
def test_packages_of_a_workspace(tmp_path, monkeypatch, inside):
    found = make_package(tmp_path / inside)
    searched = tmp_path / "src" if inside.startswith("src") else tmp_path
    monkeypatch.setenv("ROS_PACKAGE_PATH", os.pathsep.join(["/nowhere", str(searched)]))
    assert resolve_mesh(mesh()) == found


def test_packages_of_an_installation(tmp_path, monkeypatch):
    found = make_package(tmp_path / "share")
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join([str(tmp_path / "other"), str(tmp_path)]))
    assert resolve_mesh(mesh()) == found
    assert find_package("bot_description", []) == found.parents[1]


def test_the_package_of_the_file_itself(tmp_path):
    found = make_package(tmp_path)
    folder = found.parents[1] / "urdf" / "variants"
    assert resolve_mesh(mesh(folder=folder)) == found


def test_the_nearest_word_counts(tmp_path, monkeypatch):
    places = {name: make_package(tmp_path / name) for name in ("given", "ros", "ament/share", "own")}
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "ros"))
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "ament"))
    own = places["own"].parent
    assert resolve_mesh(mesh(folder=own), [tmp_path / "given"]) == places["given"]
    assert resolve_mesh(mesh(folder=own)) == places["ros"]
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    assert resolve_mesh(mesh(folder=own)) == places["ament/share"]
    # Where the first package lacks the file, others are looked into.
    places["ament/share"].unlink()
    assert resolve_mesh(mesh(folder=own)) == places["own"]


@pytest.mark.parametrize("value", ["", ":", ".", "relative:../x", "/" + "x" * 5000, "/dev/null", "\udcff:~"])
@pytest.mark.parametrize("variable", ["ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"])
def test_bad_environments_are_harmless(tmp_path, monkeypatch, variable, value):
    make_package(tmp_path)
    make_package(tmp_path / "share")
    monkeypatch.chdir(tmp_path)  # What is not absolute is not looked at.
    monkeypatch.setenv(variable, value)
    with pytest.raises(ParseError, match="was not found") as caught:
        resolve_mesh(mesh())
    assert len(str(caught.value)) < 1500
    assert resolve_mesh(mesh(), [tmp_path]).name == "arm.stl"


def test_what_was_searched_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_PACKAGE_PATH", "/opt/ros_one")
    with pytest.raises(ParseError) as caught:
        resolve_mesh(mesh(folder=tmp_path / "urdf"), ["/opt/given"])
    for part in (ADDRESS, "/opt/given", "ROS_PACKAGE_PATH: /opt/ros_one", "AMENT_PREFIX_PATH: none", "urdf"):
        assert part in str(caught.value)


def test_nothing_leads_out_of_a_package(tmp_path):
    inside = make_package(tmp_path)
    (tmp_path / "secret.stl").write_text("")
    (inside.parent / "link.stl").symlink_to(tmp_path / "secret.stl")
    (inside.parent / "own.stl").symlink_to(inside)
    (inside.parent / "loop.stl").symlink_to(inside.parent / "loop.stl")
    for path in (
        "../secret.stl",
        "meshes/../../secret.stl",
        "meshes/link.stl",
        "/../secret.stl",
    ):
        with pytest.raises(ParseError, match="leads out of the package 'bot_description'"):
            resolve_mesh(mesh(f"package://bot_description/{path}"), [tmp_path])
    for path in ("meshes/loop.stl", "/" + str(tmp_path / "secret.stl")):
        with pytest.raises(ParseError, match="was not found"):
            resolve_mesh(mesh(f"package://bot_description/{path}"), [tmp_path])
    assert resolve_mesh(mesh("package://bot_description/meshes/own.stl"), [tmp_path]) == inside


@pytest.mark.parametrize(
    "address", ["package://", "package://bot_description", "package:///a", "package://../a", "package://./a"]
)
def test_addresses_without_a_package_or_a_path(tmp_path, address):
    make_package(tmp_path)
    with pytest.raises(ParseError, match="expected package://name/path"):
        find_in_packages(address, [tmp_path])


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "bot_description/meshes", "a\0b", "x" * 5000, "other"]
)
def test_packages_that_are_none(tmp_path, name):
    make_package(tmp_path)
    with pytest.raises(ParseError, match="was not found"):
        find_package(name, [tmp_path])


def test_paths_count_from_the_folder_of_the_description(tmp_path):
    found = make_package(tmp_path)
    folder = found.parents[1] / "urdf"
    folder.mkdir()
    assert resolve_mesh(mesh("../meshes/arm.stl", folder)).resolve() == found
    for address in (str(found), f"file://{found}", f"file:{found}", f"file://localhost{found}"):
        assert resolve_mesh(mesh(address)) == found
    spaced = found.with_name("an arm.stl")
    spaced.write_text("")
    assert resolve_mesh(mesh(f"file://{spaced.parent}/an%20arm.stl")) == spaced
    with pytest.raises(ParseError, match="the shape has no folder"):
        resolve_mesh(mesh("../meshes/arm.stl"))
    with pytest.raises(ParseError, match=r"'no\.stl' was not found \(searched: .*urdf"):
        resolve_mesh(mesh("no.stl", folder))


@pytest.mark.parametrize(
    "address", ["http://a.org/arm.stl", "https://a.org/b", "ftp:x", "file://host/arm.stl"]
)
def test_nothing_is_fetched(tmp_path, address):
    with pytest.raises(ParseError, match="nothing is fetched"):
        resolve_mesh(mesh(address, tmp_path))


@pytest.mark.parametrize("address", ["", "\0", "x" * 5000, "file://[/x", ".", "/"])
def test_meshes_that_are_nowhere(tmp_path, address):
    with pytest.raises(ParseError, match=r"was not found|is not an address"):
        resolve_mesh(mesh(address, tmp_path))


def test_only_meshes_are_resolved():
    with pytest.raises(ArgumentValueError, match="expected a mesh, got a box"):
        resolve_mesh(mbt.Shape("box", [1, 1, 1]))
    with pytest.raises(ArgumentTypeError, match=r"expected a mbt\.Shape, got str"):
        resolve_mesh("arm.stl")
    with pytest.raises(ArgumentTypeError, match="package_paths: expected a sequence of folders"):
        resolve_mesh(mesh(), "folder")


@pytest.mark.parametrize("address", ["package:///{}", "package://{}", "model:////{}"])
@pytest.mark.parametrize("slashes", ["/", "//", "///"])
def test_a_slash_too_many(address, slashes, tmp_path):
    file = make_package(tmp_path)
    inside = "/".join(file.parts[-2:])
    assert resolve_mesh(mesh(address.format(f"bot_description{slashes}{inside}")), [tmp_path]) == file


def test_folders_are_shown_whole(tmp_path):
    """Who reads that a mesh is missing needs to know where it was looked for."""
    long = "_".join(["a_folder_with_a_long_name"] * 4)
    address = f"package://{long}/meshes/{long}.stl"
    with pytest.raises(ParseError) as caught:
        resolve_mesh(mesh(address), [tmp_path / long])
    assert f"'{address}' was not found (searched: package_paths: {tmp_path / long};" in str(caught.value)
