"""The page in a browser: parts of a model appear where kinematics places them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mbt
from mbt.viewer.stage import FIELD_OF_VIEW, place_camera
from support.browser import color_at, open_page, project, wait_for
from support.pictures import LIMIT, P_GREEN, P_RED, pendulum, where

pytestmark = pytest.mark.viewer


def camera_of(viewer: mbt.Viewer) -> Any:
    return viewer._server.initial_camera


def shows(q: float, camera: Any) -> Any:
    """Return a test of whether a picture shows the pendulum at an angle: rod red, ball green."""
    tree = pendulum()

    def is_so(picture: np.ndarray) -> bool:
        rod = color_at(picture, project(where(tree, q, P_RED), camera, picture))
        ball = color_at(picture, project(where(tree, q, P_GREEN), camera, picture))
        return (rod, ball) == ("red", "green")

    return is_so


def test_a_slider_moves_what_is_seen(tmp_path: Path) -> None:
    tree = pendulum()
    with mbt.view(tree, [0.2], open_browser=False) as viewer, open_page(tmp_path / "profile") as page:
        page.goto(viewer.url)
        page.wait_for_selector("canvas")
        camera = camera_of(viewer)
        picture = wait_for(page, shows(0.2, camera), tmp_path / "before.png")
        for place in ((5, 5), (5, -5)):
            assert color_at(picture[:, 4:-4], place) == "white", "nothing but the sky up there"
        before = project(where(tree, 0.2, P_GREEN), camera, picture)

        label = page.get_by_text("swing", exact=True)
        assert label.count() == 1
        page.locator("[role=slider]").first.press("End")
        picture = wait_for(page, shows(LIMIT, camera), tmp_path / "after.png")
        assert color_at(picture, before) != "green", "it is not where it was"
        assert viewer.q == pytest.approx([LIMIT])

        page.locator("[role=slider]").first.press("Home")
        wait_for(page, shows(-LIMIT, camera), tmp_path / "other_side.png")
        page.get_by_role("button", name="Default positions").click()
        wait_for(page, shows(0.0, camera), tmp_path / "default.png")

        # Moved by the program: the slider follows.
        viewer.show([0.5])
        wait_for(page, shows(0.5, camera), tmp_path / "shown.png")
        page.wait_for_function("document.querySelector('[role=slider]').ariaValueNow == '0.5'")


def test_layers_ghosts_and_several_models(tmp_path: Path) -> None:
    tree = pendulum()
    with mbt.view(tree, [0.0], open_browser=False) as viewer, open_page(tmp_path / "profile") as page:
        right = viewer.add(tree, [0.5], name="right", X_WR=mbt.math.make_pose([0.0, 1.0, 0.0]))
        page.goto(viewer.url)
        page.wait_for_selector("canvas")
        camera = camera_of(viewer)
        ball = np.array([0.0, 1.0, 0.0]) + where(tree, 0.5, P_GREEN)

        def shows_both(picture: np.ndarray) -> bool:
            is_there = color_at(picture, project(ball, camera, picture)) == "green"
            return is_there and shows(0.0, camera)(picture)

        picture = wait_for(page, shows_both, tmp_path / "both.png")

        # The lower part of a ghost's ball at -0.6 rad is greenish, and paler than the other ball.
        ghost = where(tree, -0.6, (0.0, 0.0, -0.57))
        solid = picture[project(where(tree, 0.0, P_GREEN), camera, picture)]
        viewer.show([[0.0], [-0.6]])

        def shows_a_ghost(picture: np.ndarray) -> bool:
            red, green, blue = picture[project(ghost, camera, picture)]
            return green - max(red, blue) > 15 and min(red, blue) > min(solid) + 30

        wait_for(page, shows_a_ghost, tmp_path / "ghost.png")

        # Without visuals nothing is drawn there, in the first model only.
        page.get_by_text("Show", exact=True).first.click()
        page.get_by_label("visuals").first.click()
        wait_for(
            page,
            lambda picture: (
                color_at(picture, project(where(tree, 0.0, P_GREEN), camera, picture)) == "white"
                and color_at(picture, project(ball, camera, picture)) == "green"
            ),
            tmp_path / "hidden.png",
        )
        page.get_by_label("skeleton").first.click()
        rod = where(tree, 0.0, (0.0, 0.0, -0.15))
        wait_for(
            page,
            lambda picture: color_at(picture, project(rod, camera, picture)) == "grey",
            tmp_path / "skeleton.png",
        )
        assert right.q == pytest.approx([0.5])


def test_a_recorded_page_plays_by_itself_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = pendulum()
    cameras = []

    def place_and_tell(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        position, look_at, distance = place_camera(corners)
        cameras.append(SimpleNamespace(position=position, look_at=look_at, fov=FIELD_OF_VIEW))
        return position, look_at, distance

    monkeypatch.setattr("mbt.viewer.stage.place_camera", place_and_tell)
    # Some time on one side, then on the other.
    angles = np.r_[np.full(41, -0.5), np.full(41, 0.5)]
    folder = tmp_path / "pages"
    folder.mkdir()
    mbt.record(tree, angles[:, np.newaxis], folder / "swing.html", dt=0.05, fps=20)
    assert [path.name for path in folder.iterdir()] == ["swing.html"], "one file"
    [camera] = cameras
    with open_page(tmp_path / "profile") as page:
        requested: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        page.context.set_offline(True)
        page.goto((folder / "swing.html").as_uri())
        page.wait_for_selector("canvas")
        # Untouched, it moves by itself and begins again.
        for name, q in (("start", -0.5), ("end", 0.5), ("again", -0.5)):
            picture = wait_for(page, shows(q, camera), tmp_path / f"{name}.png")
            elsewhere = project(where(tree, -q, P_GREEN), camera, picture)
            assert color_at(picture, elsewhere) != "green"
        assert {url.partition(":")[0] for url in requested} <= {"file", "blob", "data"}


def write_textured_box(folder: Path) -> Path:
    """Write a plate of 1 m x 1 m in the plane y-z as OBJ, with a picture that is half red and half green."""
    from PIL import Image

    pixels = np.zeros((16, 16, 3), dtype=np.uint8)
    pixels[:, :8, 0], pixels[:, 8:, 1] = 255, 255
    Image.fromarray(pixels).save(folder / "halves.png")
    (folder / "plate.mtl").write_text("newmtl m\nKd 1 1 1\nmap_Kd halves.png\n")
    corners = ((-0.5, 0), (0.5, 0), (0.5, 1), (-0.5, 1))
    lines = ["mtllib plate.mtl", "usemtl m", *(f"v 0 {y} {z}" for y, z in corners)]
    lines += [f"vt {y + 0.5} {z}" for y, z in corners] + ["f 1/1 2/2 3/3", "f 1/1 3/3 4/4"]
    (folder / "plate.obj").write_text("\n".join(lines) + "\n")
    return folder / "plate.obj"


def test_a_texture_is_seen(tmp_path: Path) -> None:
    tree = mbt.MultibodyTree()
    plate = tree.add_body(mbt.RigidBody("plate", mbt.SpatialInertia.solid_box_with_mass(1.0, 0.1, 1.0, 1.0)))
    path = write_textured_box(tmp_path)
    # Twice as wide as it is high.
    plate.add_visual(mbt.Shape("mesh", [1.0, 2.0, 1.0], mesh=path.name, folder=str(tmp_path)))
    tree.add_joint(mbt.PrismaticJoint, "lift", tree.world_body, None, plate, None, axis=[0, 0, 1])
    tree.finalize()
    page_file = tmp_path / "plate.html"
    mbt.record(tree, np.zeros((1, 1)), page_file, dt=1.0)
    with mbt.view(tree, open_browser=False) as viewer, open_page(tmp_path / "profile") as page:
        camera = camera_of(viewer)
        places = {
            (0.0, y, z): "red" if y < 0 else "green" for y in (-0.8, -0.2, 0.2, 0.8) for z in (0.3, 0.8)
        }

        def is_so(picture: np.ndarray) -> bool:
            return all(
                color_at(picture, project(np.array(p), camera, picture)) == color
                for p, color in places.items()
            )

        page.goto(viewer.url)
        page.wait_for_selector("canvas")
        wait_for(page, is_so, tmp_path / "texture.png")
        page.goto(page_file.as_uri())
        page.wait_for_selector("canvas")
        wait_for(page, is_so, tmp_path / "recorded.png")
