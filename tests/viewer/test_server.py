"""A running viewer, without a browser: what it draws, when, and for whom."""

from __future__ import annotations

import json
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
import warnings
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

import mbt
from mbt.cli import main
from mbt.models import model_path
from mbt.viewer.scene import Item
from mbt.viewer.triangles import Mesher
from support.linkages import calc_four_bar_angles, four_bar
from support.pictures import box_on_the_ground, pendulum

pytestmark = pytest.mark.viewer


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60.0
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def drawn_q(viewer: mbt.Viewer) -> float:
    """Return the drawn angle of the pendulum, from what was sent for its body."""
    handle = viewer.models[0]._drawing._bodies[1]
    w, x, _, _ = handle.wxyz
    return float(2.0 * np.arctan2(x, w))


def test_the_address_is_on_this_machine_alone() -> None:
    with mbt.view(pendulum(), open_browser=False) as viewer:
        parts = urlsplit(viewer.url)
        assert parts.hostname == "127.0.0.1"
        with urllib.request.urlopen(viewer.url) as answer:
            assert b"<html" in answer.read()
        # Another address of the same machine: a server for everyone would answer.
        with pytest.raises(OSError, match=r"refused"):
            socket.create_connection(("127.0.0.2", parts.port or 0), timeout=10.0)
    with pytest.raises(OSError, match=r"refused"):
        socket.create_connection(("127.0.0.1", parts.port or 0), timeout=10.0)


def ask(url: str, *headers: str, is_socket: bool = True) -> str:
    """Return the first line of a server's answer to a browser that opens a WebSocket, or a page."""
    parts = urlsplit(url)
    lines = ["GET / HTTP/1.1", *headers]
    if is_socket:
        lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
        lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=10.0) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        return connection.recv(4096).decode(errors="replace").splitlines()[0]


def test_pages_of_others_cannot_read_the_scene() -> None:
    """Neither from their Origin nor by a host name of theirs that resolves to this machine."""
    with mbt.view(pendulum(), open_browser=False, allowed_hosts=["hub.example.org"]) as viewer:
        own = viewer.url.removeprefix("http://")
        port = own.partition(":")[2]
        for headers in (
            [f"Host: {own}"],
            [f"Host: {own}", f"Origin: {viewer.url}"],
            [f"Host: localhost:{port}", f"Origin: http://localhost:{port}"],
            ["Host: localhost:9000", "Origin: http://localhost:9000"],
            ["Host: hub.example.org", "Origin: https://hub.example.org"],
        ):
            assert ask(viewer.url, *headers) == "HTTP/1.1 101 Switching Protocols"
            assert ask(viewer.url, *headers, is_socket=False) == "HTTP/1.1 200 OK"
        for headers in (
            [f"Host: {own}", "Origin: https://evil.example"],
            [f"Host: {own}", "Origin: http://localhost:3000"],
            [f"Host: {own}", "Origin: null"],
            [f"Host: evil.example:{port}"],
            [f"Host: evil.example:{port}", f"Origin: http://evil.example:{port}"],
        ):
            for is_socket in (True, False):
                assert ask(viewer.url, *headers, is_socket=is_socket) == "HTTP/1.1 403 Forbidden"
    with pytest.raises(mbt.ArgumentTypeError, match="allowed_hosts"):
        mbt.view(pendulum(), open_browser=False, allowed_hosts="hub.example.org")


def test_show_waits_for_nobody_and_the_latest_is_drawn() -> None:
    with mbt.view(pendulum(), open_browser=False) as viewer:
        model = viewer.models[0]
        drawn = []
        draw = model._drawing.draw
        model._drawing.draw = lambda snapshot: (drawn.append(snapshot), draw(snapshot))  # type: ignore[method-assign]
        with viewer._drawing:  # While somebody else draws.
            for i in range(1000):
                viewer.show([0.0005 * i])
        wait_until(lambda: abs(drawn_q(viewer) - 0.4995) < 1e-6)
        assert len(drawn) <= 2, "what came in between is not drawn"
        assert viewer.q == pytest.approx([0.4995])


def test_what_is_nowhere_is_not_drawn_and_ends_nothing() -> None:
    with mbt.view(pendulum(), [0.1], open_browser=False) as viewer:
        for q in (np.nan, np.inf):
            viewer.show([q])
            time.sleep(0.1)
            assert drawn_q(viewer) == pytest.approx(0.1)
        viewer.show([0.2])
        wait_until(lambda: abs(drawn_q(viewer) - 0.2) < 1e-6)


def test_an_element_that_fails_is_told_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with mbt.view(pendulum(), [0.1], open_browser=False) as viewer:
        model = viewer.models[0]
        draw, tried = model._draw, threading.Event()

        def fail(elapsed: float | None) -> bool:
            tried.set()
            raise RuntimeError("the spring broke")

        monkeypatch.setattr(model, "_draw", fail)
        viewer.show([0.2])
        assert tried.wait(60.0)
        monkeypatch.setattr(model, "_draw", draw)
        viewer.show([0.3])
        wait_until(lambda: abs(drawn_q(viewer) - 0.3) < 1e-6)


def test_numbers_without_measure_end_nothing() -> None:
    with mbt.view(pendulum(), open_browser=False) as viewer:
        slider = viewer._panels[0]._sliders[0]
        for q in (1e308, -1e308, 1e20):
            viewer.show([q])
            wait_until(lambda: not viewer.models[0]._wanted)
            wait_until(lambda: slider.value in (slider.min, slider.max))
            viewer.show([0.3])
            wait_until(lambda: abs(drawn_q(viewer) - 0.3) < 1e-6)


def test_the_thread_goes_on_whatever_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with mbt.view(pendulum(), open_browser=False) as viewer:
        failed = threading.Event()

        def fail() -> None:
            failed.set()
            raise MemoryError

        monkeypatch.setattr(viewer._panels[0], "follow", fail)
        viewer.show([0.2])
        assert failed.wait(60.0)
        monkeypatch.undo()
        viewer.show([0.3])
        wait_until(lambda: abs(drawn_q(viewer) - 0.3) < 1e-6)
        wait_until(lambda: viewer._panels[0]._sliders[0].value == 0.3)


LIMITS = [(-1e308, 1e308), (1e308, 1.7e308), (-1e308, 0.0), (0.0, 5e-324), (1e17, 1.0000000000000002e17)]


@pytest.mark.parametrize("limits", LIMITS)
def test_limits_without_measure(limits: tuple[float, float]) -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    tree.add_joint(mbt.PrismaticJoint("slide", tree.world_frame, body.body_frame, [0, 0, 1], *limits))
    tree.finalize()
    with mbt.view(tree, open_browser=False) as viewer:
        slider = viewer._panels[0]._sliders[0]
        assert slider.min < slider.max
        viewer.show([min(max(0.1, limits[0]), limits[1])])
        viewer.show([0.0])
        wait_until(lambda: slider.value == min(max(0.0, slider.min), slider.max))


# Nothing is left empty without a message.


def chain_without(mass: bool, mesh: str | None) -> mbt.MultibodyTree:
    """Two links on a hinge and a slide, without mass, or each with a mesh that does not exist."""
    tree = mbt.MultibodyTree()
    parent: mbt.RigidBody = tree.world_body
    inertia = mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1) if mass else mbt.SpatialInertia.zero()
    for i, (kind, axis) in enumerate([(mbt.RevoluteJoint, [0, 1, 0]), (mbt.PrismaticJoint, [1, 0, 0])]):
        body = tree.add_body(mbt.RigidBody(f"link{i}", inertia))
        frame = tree.add_frame(mbt.FixedOffsetFrame(parent.body_frame, mbt.math.make_pose([0, 0, 0.5])))
        tree.add_joint(kind(f"joint{i}", frame, body.body_frame, axis))
        if mesh is not None:
            body.add_visual(mbt.Shape("mesh", mesh=f"package://robot/{mesh}{i}.stl"))
        parent = body
    tree.finalize()
    return tree


def test_a_model_without_mass_is_drawn() -> None:
    tree = chain_without(mass=False, mesh=None)
    with mbt.view(tree, [0.3, 0.1], open_browser=False) as viewer:
        drawing = viewer.models[0]._drawing
        assert len(drawing._handles["skeleton"]) == 3
        np.testing.assert_allclose(drawing._bodies[1].wxyz, [np.cos(0.15), 0, np.sin(0.15), 0], atol=1e-12)
        # It has no centre of mass.
        viewer.models[0]._show_layer("centre of mass", True)
        assert not drawing._handles["centre of mass"][0].visible
        viewer.show([0.5, 0.0])
        wait_until(lambda: abs(drawing._bodies[1].wxyz[2] - np.sin(0.25)) < 1e-9)


def test_of_a_robot_without_its_meshes_the_skeleton_is_drawn(tmp_path: Path) -> None:
    tree = chain_without(mass=True, mesh="link")
    words = (
        r"2 of 2 shapes cannot be drawn, and the skeleton is drawn\. To see them, add the folder 'robot', "
        r"or the one that contains it, to package_paths: 'package://robot/link0\.stl' was not found "
        r".*, and 1 more"
    )
    with pytest.warns(mbt.ModelWarning, match=words) as told:
        viewer = mbt.view(tree, open_browser=False)
    assert len(told) == 1
    with viewer:
        drawing = viewer.models[0]._drawing
        assert drawing.shown["skeleton"]
        assert drawing.shown["inertia"]
        assert len(drawing._handles["skeleton"]) == 3
    page = tmp_path / "still.html"
    with pytest.warns(mbt.ModelWarning, match=words):
        mbt.record(tree, np.zeros((2, 2)), page, dt=0.1)
    text = page.read_text(encoding="utf-8")
    assert "add the folder &#x27;robot&#x27;, or the one that contains it, to package_paths.<" in text
    assert "searched" not in text[: text.index("__VISER_EMBED_DATA__")] + text[text.index("<body>") :][:2000]


def test_what_a_file_says_is_text_in_the_page(tmp_path: Path) -> None:
    """It is neither HTML nor a script in the line about what is missing."""
    tree = chain_without(mass=True, mesh="<img src=x onerror=alert(1)>{alert(1)}")
    tree = tree.edit()
    for body in tree.bodies[1:]:
        body.add_visual(mbt.Shape("mesh", mesh="package://<img src=x onerror=alert(1)>/a.stl"))
    tree.finalize()
    page = tmp_path / "still.html"
    with pytest.warns(mbt.ModelWarning, match="cannot be drawn"):
        mbt.record(tree, np.zeros((2, 2)), page, dt=0.1)
    text = page.read_text(encoding="utf-8")
    assert "&lt;img src=x" in text
    assert "<img src=x" not in text


def test_of_a_model_of_nothing_frames_are_drawn() -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("link", mbt.SpatialInertia.zero()))
    tree.add_joint(mbt.WeldJoint("weld", tree.world_frame, body.body_frame))
    tree.finalize()
    with mbt.view(tree, open_browser=False) as viewer:
        assert viewer.models[0]._drawing.shown["frames"]
        assert viewer.models[0]._drawing._handles["frames"]


def test_what_is_no_page_is_not_written(tmp_path: Path) -> None:
    for name in ("fall.mp4", "fall.gif", "fall"):
        with pytest.raises(mbt.ArgumentValueError, match=rf"path: expected a file \.html, got '.*{name}'"):
            mbt.record(pendulum(), [[0.0], [0.1]], tmp_path / name, dt=0.1)
    assert not list(tmp_path.iterdir())


def test_positions_that_are_nowhere_are_told(tmp_path: Path) -> None:
    with pytest.warns(mbt.ModelWarning, match="model: nothing is drawn: its positions are not finite"):
        viewer = mbt.view(pendulum(), [np.nan], open_browser=False)
    viewer.close()
    with pytest.warns(mbt.ModelWarning, match="nothing is drawn"):
        mbt.record(pendulum(), [[np.nan], [np.nan]], tmp_path / "nothing.html", dt=0.1)


@pytest.mark.parametrize(
    "settings",
    [{"dt": 1e308}, {"dt": 1e9}, {"dt": 0.1, "fps": 1e300}, {"dt": 0.1, "speed": 1e-300}],
    ids=["endless", "years", "fps", "speed"],
)
def test_a_page_of_too_many_pictures_is_refused(tmp_path: Path, settings: dict[str, float]) -> None:
    path = tmp_path / "long.html"
    with pytest.raises(mbt.ArgumentValueError, match="pictures, but a page holds at most 1000000: use"):
        mbt.record(pendulum(), [[0.0], [0.1], [0.2]], path, **settings)
    assert not path.exists()
    mbt.record(pendulum(), [[0.0], [1e308]], path, dt=0.01)
    assert path.exists()


def test_arguments() -> None:
    tree = pendulum()
    with mbt.view(tree, open_browser=False) as viewer:
        with pytest.raises(mbt.ShapeError, match=r"q: expected shape \(\.\.\., 1\), got \(2,\)"):
            viewer.show([0.0, 1.0])
        with pytest.raises(mbt.ArgumentTypeError, match="q"):
            viewer.show("up")
        with pytest.raises(mbt.ShapeError, match="v: expected shape"):
            viewer.show([0.0], [1.0, 2.0])
        with pytest.raises(mbt.ContextMismatchError):
            viewer.show(pendulum().create_default_context())
        with pytest.raises(mbt.ArgumentValueError, match="a Context has its own velocities"):
            viewer.show(tree.create_default_context(), [0.0])
        with pytest.raises(mbt.ArgumentValueError, match="a model named 'model' already"):
            viewer.add(tree, name="model")
        with pytest.raises(mbt.ArgumentValueError, match="speed"):
            viewer.play([[0.0]], dt=0.1, speed=0.0)
        with mbt.view(tree, open_browser=False) as other:
            with pytest.raises(mbt.ArgumentValueError, match="one of this viewer"):
                viewer.play([[0.0]], dt=0.1, model=other.models[0])
            assert other.url != viewer.url
        with pytest.raises(mbt.UnknownNameError, match=r"^model: there is no model named 'modl'.*'model'"):
            viewer.play([[0.0]], dt=0.1, model="modl")
        viewer.play([[0.0], [0.5]], dt=0.1, model="model")
        viewer.pause()
        viewer.show(tree.default_positions)
        assert viewer.q == pytest.approx(tree.default_positions)
        assert [model.name for model in viewer.models] == ["model"]
    with pytest.raises(mbt.ArgumentValueError, match="closed"):
        viewer.add(tree)
    with pytest.raises(mbt.ArgumentTypeError, match=r"port: expected an int.*mbt\.view\(tree\)"):
        mbt.Viewer(tree)  # type: ignore[arg-type]
    with pytest.raises(mbt.ArgumentValueError, match="port: expected 0 to 65535"):
        mbt.view(tree, port=-1)
    with pytest.raises(mbt.NotFinalizedError):
        mbt.view(mbt.MultibodyTree(), open_browser=False)
    assert not [thread for thread in threading.enumerate() if thread.name == "mbt viewer"]


def test_closing_and_notebooks() -> None:
    viewer = mbt.view(pendulum(), open_browser=False)
    assert f'<iframe src="{viewer.url}"' in viewer._repr_html_()
    viewer.wait(0.01)
    viewer.close()
    viewer.close()
    viewer.wait()
    assert viewer.is_closed
    assert "closed" in viewer._repr_html_()
    assert repr(viewer) == "<Viewer closed, 1 models>"


def test_a_context_is_shown_with_its_contacts() -> None:
    tree = box_on_the_ground()
    context = tree.create_default_context()
    context.q = [1, 0, 0, 0, 0, 0, 0.09]
    with mbt.view(tree, context, open_browser=False) as viewer:
        points, arrows = viewer.models[0]._drawing._handles["contacts"]
        np.testing.assert_allclose(points.points[:, 2], -0.01, atol=1e-6)
        directions = arrows.points[:, 1] - arrows.points[:, 0]
        assert arrows.visible
        assert (directions[:, 2] > 0.0).all()
        assert abs(directions[:, :2]).max() < 1e-9
        viewer.show([1, 0, 0, 0, 0, 0, 1.0])
        wait_until(lambda: not arrows.visible)
        np.testing.assert_allclose(points.points[:, 2], 0.9, atol=1e-6)


def test_a_batch_is_drawn_as_ghosts() -> None:
    tree = pendulum()
    angles = np.array([[0.0], [0.3], [-0.4]])
    with mbt.view(tree, angles, open_browser=False) as viewer:
        [_, ball] = viewer.models[0]._drawing._ghosts["visuals"]
        X_WB = mbt.functional.body_poses(tree, angles)[1:, 1]
        expected = X_WB @ tree.bodies[1].visuals[1].X_BG
        np.testing.assert_allclose(ball.batched_positions, expected[:, :3, 3], atol=1e-6)
        viewer.show([0.1])
        wait_until(lambda: not viewer.models[0]._drawing._ghosts)


def test_sliders_keep_loops_closed() -> None:
    tree = four_bar()
    with mbt.view(tree, open_browser=False) as viewer:
        model = viewer.models[0]
        controls = {control.joint.name: control for control in viewer._panels[0]._controls}
        name = next(iter(controls))
        model._move(controls[name], 0.3)
        context = tree.create_default_context()
        context.q = viewer.q
        assert abs(tree.calc_constraint_errors(context)).max() < 1e-9
        assert controls[name].get(viewer.q) == pytest.approx(0.3)
        np.testing.assert_allclose(np.sort(viewer.q), np.sort(calc_four_bar_angles(0.3)), atol=1e-6)


def test_playing_and_pausing() -> None:
    tree = pendulum()
    with mbt.view(tree, open_browser=False) as viewer:
        viewer.play([[0.1], [0.6]], dt=0.2, loop=False)
        wait_until(lambda: not viewer._clock.is_running)
        wait_until(lambda: abs(drawn_q(viewer) - 0.6) < 1e-6)
        wait_until(lambda: viewer._panels[0]._sliders[0].value == 0.6)
        viewer.play([[0.1], [0.6]], dt=10.0, speed=2.0)
        assert viewer._clock.is_running
        viewer.show([-0.3])
        wait_until(lambda: abs(drawn_q(viewer) + 0.3) < 1e-6)
        assert not viewer._clock.is_running, "who shows something else stops the film"
        viewer.pause()


# Meshes.


def write_stl(path: Path, *triangles: list[list[float]]) -> None:
    """Write a binary file of triangles."""
    rows = [np.array([[0.0, 0.0, 0.0], *corners], dtype="<f4").tobytes() + b"\0\0" for corners in triangles]
    path.write_bytes(bytes(80) + struct.pack("<I", len(rows)) + b"".join(rows))


A, B, C, D = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]


def item_of(mesh: str, folder: Path, scale: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Item:
    shape = mbt.Shape("mesh", scale, mesh=mesh, folder=str(folder))
    return Item("visuals", "visuals 0", 1, shape, (0.1, 0.2, 0.3, 1.0), has_color=True)


def test_a_mesh_is_read_scaled_and_mirrored(tmp_path: Path) -> None:
    write_stl(tmp_path / "corner.stl", [A, C, B], [A, B, D], [A, D, C], [B, C, D])
    mesher = Mesher((), 1.0)
    for scale in ((1.0, 1.0, 1.0), (0.1, 0.2, -0.3)):
        [part] = mesher.parts_of(item_of("corner.stl", tmp_path, scale))
        assert part.color == (0.1, 0.2, 0.3, 1.0)
        span = np.array([1.0, 2.0, 3.0]) * scale
        np.testing.assert_allclose(part.vertices.min(axis=0), np.minimum(span, 0.0), atol=1e-6)
        np.testing.assert_allclose(part.vertices.max(axis=0), np.maximum(span, 0.0), atol=1e-6)
        # The volume within is positive: no side is inside out.
        corners = part.vertices[part.faces].astype(float)
        volume = np.linalg.det(corners).sum() / 6
        assert volume == pytest.approx(abs(np.prod(span)) / 6, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("missing.stl", None, "was not found"),
        ("broken.stl", b"solid nothing", "no triangles|cannot be read"),
        ("broken.dae", b"<COLLADA", "cannot be read"),
        ("odd.xyzzy", b"?", "cannot be read"),
    ],
)
def test_a_bad_mesh_is_named_once_and_left_out(
    name: str, content: bytes | None, reason: str, tmp_path: Path
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    mesher = Mesher((), 1.0)
    with pytest.warns(mbt.ModelWarning, match=rf"not drawn: .*{name}.*({reason})"):
        assert mesher.parts_of(item_of(name, tmp_path)) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mesher.parts_of(item_of(name, tmp_path)) == []


def test_the_rest_of_a_model_with_a_bad_mesh_is_shown(tmp_path: Path) -> None:
    tree = mbt.MultibodyTree()
    body = tree.add_body(mbt.RigidBody("body", mbt.SpatialInertia.solid_sphere_with_mass(1.0, 0.1)))
    body.add_visual(mbt.Shape("mesh", mesh="package://robot/head.stl", folder=str(tmp_path)))
    body.add_visual(mbt.Shape("capsule", [0.1, 0.3]))
    tree.finalize()
    with pytest.warns(mbt.ModelWarning, match=r"package://robot/head\.stl"):
        viewer = mbt.view(tree, open_browser=False)
    with viewer:
        assert len(viewer.models[0]._drawing._handles["visuals"]) == 1
    (tmp_path / "robot").mkdir()
    write_stl(tmp_path / "robot" / "head.stl", [A, C, B], [A, B, D], [A, D, C], [B, C, D])
    with mbt.view(tree, package_paths=[tmp_path], open_browser=False) as viewer:
        assert len(viewer.models[0]._drawing._handles["visuals"]) == 2


@pytest.mark.parametrize(
    ("kind", "size", "low", "volume"),
    [
        ("box", [1, 2, 3], [-0.5, -1, -1.5], 6.0),
        ("sphere", [2], [-2, -2, -2], 32 / 3 * np.pi),
        ("ellipsoid", [1, 2, 3], [-1, -2, -3], 8 * np.pi),
        ("cylinder", [1, 4], [-1, -1, -2], 4 * np.pi),
        ("capsule", [1, 4], [-1, -1, -3], 16 / 3 * np.pi),
    ],
)
def test_plain_shapes(kind: str, size: list[float], low: list[float], volume: float) -> None:
    item = Item("visuals", "visuals 0", 1, mbt.Shape(kind, size), (1.0, 1.0, 1.0, 1.0), has_color=False)
    [part] = Mesher((), 1.0).parts_of(item)
    np.testing.assert_allclose(part.vertices.min(axis=0), low, atol=0.02)
    np.testing.assert_allclose(part.vertices.max(axis=0), -np.array(low), atol=0.02)
    corners = part.vertices[part.faces].astype(float)
    assert np.linalg.det(corners).sum() / 6 == pytest.approx(volume, rel=0.02)


def test_of_an_empty_batch_nothing_can_be_drawn() -> None:
    tree = pendulum()
    empty = tree.create_default_context((2, 0))
    with mbt.view(tree, open_browser=False) as viewer:
        for nothing in (empty, empty.q):
            with pytest.raises(mbt.ShapeError, match=r"q: expected one state or more, got a batch \(2, 0\)"):
                viewer.show(nothing)


def test_of_a_large_batch_some_are_drawn() -> None:
    """And a warning says so, once."""
    tree = pendulum()
    with mbt.view(tree, open_browser=False) as viewer:
        with pytest.warns(mbt.ModelWarning, match="of 500 states, 200 evenly spaced ones are drawn"):
            viewer.show(np.linspace(-0.5, 0.5, 500)[:, np.newaxis])
        viewer.show(np.linspace(-0.4, 0.5, 500)[:, np.newaxis])  # Warnings are errors here.
        drawing = viewer.models[0]._drawing
        wait_until(lambda: drawing._num_ghosts == 199)
        wait_until(lambda: abs(drawn_q(viewer) + 0.4) < 1e-6)
        assert viewer.q.shape == (500, 1)
        viewer.show(np.zeros((200, 1)))
        wait_until(lambda: abs(drawn_q(viewer)) < 1e-6)


# The command line.


def start_view(*options: str) -> subprocess.Popen[str]:
    """Start `mbt view` of an arm so that it can be interrupted.

    A shell's background jobs ignore SIGINT, and so would their children.
    """
    command = [sys.executable, "-m", "mbt", "view", str(model_path("mbt_arm")), "--no-browser", *options]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_command_ends_cleanly_when_interrupted() -> None:
    process = start_view()
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(line.split()[0]) as answer:
        assert answer.status == 200
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_the_command_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arm, page = str(model_path("mbt_arm")), str(tmp_path / "arm.html")
    assert main(["view", arm, "--record", page, "--json"]) == 0
    wanted = {"file": arm, "model": "mbt_arm", "output": page, "url": None, "warnings": []}
    assert json.loads(capsys.readouterr().out) == wanted
    assert main(["view", arm, "--position", "none=1", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["type"] == "UnknownNameError"
    process = start_view("--json")
    assert process.stdout is not None
    text = ""
    while not text.endswith("}\n"):
        text += process.stdout.readline()
    assert json.loads(text)["url"].startswith("http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_the_command_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arm, page, saved = str(model_path("mbt_arm")), tmp_path / "fall.html", tmp_path / "fall.npz"
    assert main(["simulate", arm, "--duration", "0.1", "--save", str(saved)]) == 0
    capsys.readouterr()
    assert main(["view", arm, "--trajectory", str(saved), "--record", str(page)]) == 0
    assert capsys.readouterr() == (f"{page}: open this page in any browser\n", "")
    assert "__VISER_EMBED_DATA__" in page.read_text(encoding="utf-8")
    assert main(["view", arm, "--position", "elbow=1", "--record", str(tmp_path / "none" / "x.html")]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert main(["view", arm, "--speed", "0", "--record", str(page)]) == 2
    assert "speed" in capsys.readouterr().err
