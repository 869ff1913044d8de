"""Packages and meshes are found where users keep them, and never outside the folders they name."""

import os
import pickle
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
    # If the first package lacks the file, others are searched.
    places["ament/share"].unlink()
    assert resolve_mesh(mesh(folder=own)) == places["own"]


@pytest.mark.parametrize("value", ["", ":", ".", "relative:../x", "/" + "x" * 5000, "/dev/null", "\udcff:~"])
@pytest.mark.parametrize("variable", ["ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"])
def test_bad_environments_are_harmless(tmp_path, monkeypatch, variable, value):
    make_package(tmp_path)
    make_package(tmp_path / "share")
    monkeypatch.chdir(tmp_path)  # relative paths are ignored
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
    with pytest.raises(ParseError, match="nothing is downloaded"):
        resolve_mesh(mesh(address, tmp_path))


@pytest.mark.parametrize("address", ["", "\0", "x" * 5000, "file://[/x", ".", "/"])
def test_meshes_that_are_nowhere(tmp_path, address):
    with pytest.raises(ParseError, match=r"was not found|is not a valid URL"):
        resolve_mesh(mesh(address, tmp_path))


def test_only_meshes_are_resolved():
    with pytest.raises(ArgumentValueError, match="expected a mesh, got a box"):
        resolve_mesh(mbt.Shape("box", [1, 1, 1]))
    with pytest.raises(ArgumentTypeError, match=r"expected an mbt\.Shape, got str"):
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
    """A user who reads that a mesh is missing needs to know where it was searched for."""
    long = "_".join(["a_folder_with_a_long_name"] * 4)
    address = f"package://{long}/meshes/{long}.stl"
    with pytest.raises(ParseError) as caught:
        resolve_mesh(mesh(address), [tmp_path / long])
    assert f"'{address}' was not found (searched: package_paths: {tmp_path / long};" in str(caught.value)


# Meshes outside of a description's own folders --------------------------------------------------------------

URDF = (
    '<robot name="r"><link name="a"><visual><geometry><mesh filename="{}"/></geometry></visual>'
    "</link></robot>"
)
SDF = (
    '<sdf version="1.9"><model name="r"><link name="a"><visual name="v"><geometry><mesh><uri>{}</uri></mesh>'
    "</geometry></visual></link></model></sdf>"
)


def mesh_of(source):
    return next(body for body in mbt.load_model(source).bodies if body.visuals).visuals[0]


@pytest.fixture
def places(tmp_path):
    """A description in ``robot/urdf``, and a private mesh elsewhere."""
    folder = tmp_path / "robot" / "urdf"
    folder.mkdir(parents=True)
    secret = tmp_path / "private" / "secret.stl"
    secret.parent.mkdir()
    secret.write_text("")
    (folder / "link.stl").symlink_to(secret)
    (folder / "away").symlink_to(secret.parent)
    (folder / "here.stl").write_text("")
    (folder / "again.stl").symlink_to(folder / "here.stl")
    return folder, secret


@pytest.mark.parametrize("text", [URDF, SDF])
@pytest.mark.parametrize("is_file", [True, False])
def test_no_description_leads_to_meshes_elsewhere(places, text, is_file):
    folder, secret = places
    addresses = [str(secret), f"file://{secret}", f"file:{secret}"]
    if is_file:
        addresses += ["link.stl", "away/secret.stl", "../../private/secret.stl", "package://away/secret.stl"]
    for address in addresses:
        source = text.format(address)
        if is_file:
            (folder / "robot.xml").write_text(source)
            source = folder / "robot.xml"
        shape = mesh_of(source)
        with pytest.raises(ParseError, match=r"leads out of|was not found") as caught:
            resolve_mesh(shape)
        assert caught.value.hint
        if not address.startswith(("package", "..", "link", "away")):
            # Allowed once the caller says so.
            assert resolve_mesh(shape, [secret.parent]) == secret
        with pytest.raises(ParseError, match=r"leads out of|was not found"):
            resolve_mesh(shape, [folder])


def test_what_is_within_is_found(places, monkeypatch):
    folder, secret = places
    own = folder / "here.stl"
    assert resolve_mesh(mesh("here.stl", folder)) == own
    assert resolve_mesh(mesh("again.stl", folder)) == own
    assert resolve_mesh(mesh(f"file://{own}", folder)) == own
    assert resolve_mesh(mesh("../urdf/here.stl", folder)) == own
    # A program may name any file itself.
    assert resolve_mesh(mesh(str(secret))) == secret
    other = folder.parent / "parts" / "arm.stl"
    other.parent.mkdir()
    other.write_text("")
    with pytest.raises(
        ParseError, match=r"'\.\./parts/arm\.stl' leads out of .*urdf', and of every package"
    ) as caught:
        resolve_mesh(mesh("../parts/arm.stl", folder))
    assert str(other.parent) in caught.value.hint
    assert "package_paths" in caught.value.hint
    assert resolve_mesh(mesh("../parts/arm.stl", folder), [folder.parent]) == other
    # A package is a folder with a package.xml, or one that the environment lists.
    (folder.parent / "package.xml").write_text("")
    assert resolve_mesh(mesh("../parts/arm.stl", folder)) == other
    (folder.parent / "package.xml").unlink()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(folder.parent))
    assert resolve_mesh(mesh(f"file://{other}", folder)) == other


def test_a_folder_of_meshes_that_is_a_link_is_none(places):
    folder, secret = places
    (folder.parent / "meshes").symlink_to(secret.parent)
    with pytest.raises(ParseError, match="leads out of"):
        resolve_mesh(mesh("../meshes/secret.stl", folder))


@pytest.mark.parametrize("scheme", ["package", "model"])
def test_a_package_that_is_a_link_out_of_its_folder_is_none(places, scheme):
    folder, secret = places
    shape = mesh(f"{scheme}://away/secret.stl")
    with pytest.raises(
        ParseError, match=r"the package 'away' in .*urdf' is a link that leads out of it"
    ) as caught:
        resolve_mesh(shape, [folder])
    assert str(folder / "away") in caught.value.hint
    assert resolve_mesh(mesh(f"{scheme}://private/secret.stl"), [secret.parent]) == secret
    (folder / "inside").symlink_to(folder.parent / "urdf")
    assert resolve_mesh(mesh(f"{scheme}://inside/here.stl"), [folder]) == folder / "here.stl"


def test_the_folder_that_a_text_of_json_names_is_not_believed(places):
    """It is trusted only if the JSON file lies in it."""
    folder, secret = places
    (folder / "robot.urdf").write_text(URDF.format("here.stl"))
    tree = mbt.load_model(folder / "robot.urdf")
    text = mbt.save_model(tree, folder / "robot.json")
    assert resolve_mesh(mesh_of(folder / "robot.json")) == folder / "here.stl"
    shape = mesh_of(text)
    assert shape == tree.bodies[1].visuals[0]
    with pytest.raises(ParseError, match="a folder that only the description names"):
        resolve_mesh(shape)
    stolen = text.replace(str(folder), str(secret.parent)).replace("here.stl", "secret.stl")
    (folder / "robot.json").write_text(stolen)
    for source in (stolen, folder / "robot.json"):
        with pytest.raises(ParseError, match="a folder that only the description names"):
            resolve_mesh(mesh_of(source))
        copy = pickle.loads(pickle.dumps(mesh_of(source)))
        with pytest.raises(ParseError, match="a folder that only the description names"):
            resolve_mesh(copy)
    near = stolen.replace("secret.stl", "package://private/secret.stl")
    with pytest.raises(ParseError, match="was not found"):
        resolve_mesh(mesh_of(near))
    assert mbt.save_model(mbt.load_model(stolen), format="json") == stolen
