"""``mbt.record``: writes a page that plays by itself."""

from __future__ import annotations

import html
import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mbt.context.checks import compile_copy
from mbt.errors import ArgumentValueError, ModelWarning, quote
from mbt.math.arrays import as_positive
from mbt.math.poses import IDENTITY
from mbt.saving.files import as_path, write_file
from mbt.viewer.clock import Clock
from mbt.viewer.drawing import Drawing
from mbt.viewer.films import Film, touching_of
from mbt.viewer.model import ViewedModel
from mbt.viewer.scene import ModelScene, check_scene
from mbt.viewer.servers import start_server, stop_server
from mbt.viewer.stage import Stage
from mbt.viewer.triangles import Mesher

if TYPE_CHECKING:
    import numpy.typing as npt

    from mbt.geometry import CollisionModel
    from mbt.motion.trajectory import Trajectory
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["record"]

# A line over the picture on what is not drawn.
_LINE = (
    '<div style="position: fixed; left: 1em; right: 1em; bottom: 4em; z-index: 1000; pointer-events: none; '
    'font: 0.85em sans-serif; color: #555">{}</div>'
)
# A page with more pictures is too large for browsers.
_MOST_PICTURES = 1_000_000
# The number of moments that the view of the camera must contain.
_MOMENTS_IN_VIEW = 25


def record(
    tree: MultibodyTree,
    trajectory: Trajectory | npt.ArrayLike,
    path: str | os.PathLike[str],
    *,
    dt: float | None = None,
    speed: float = 1.0,
    fps: float = 60.0,
    package_paths: Sequence[str | os.PathLike[str]] = (),
    scene: CollisionModel | None = None,
) -> None:
    """Write a page that plays a trajectory by itself, in one file that needs no other files and no network.

    It plays in a loop, with a time line, in any browser; the mouse turns the view.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    trajectory : Trajectory or array_like, shape (..., n, num_positions)
        The motion. The first state of a batch is drawn solid and the others as ghosts.
    path : path
        The file to write, such as ``"fall.html"``. It is written completely or not at all.
    dt : float, optional
        For an array: the time from one row to the next [s].
    speed : float, optional
        Simulated seconds per second.
    fps : float, optional
        Pictures per second.
    package_paths : sequence of paths, optional
        Where to look for packages of meshes; see `view`. A line in the page says which meshes are missing.
    scene : CollisionModel, optional
        Its obstacles are drawn, and shapes that are near or overlap are marked, as in `view`.

    Warns
    -----
    ModelWarning
        When a mesh is missing, or nothing can be drawn.

    Raises
    ------
    MissingPackageError
        When viser is not installed: ``pip install "multibodytree[viz]"``.
    NotFinalizedError, ArgumentTypeError, ArgumentValueError, ShapeError
        When an argument cannot be used, the page would hold more than a million pictures, or the file cannot
        be written.

    See Also
    --------
    view : A page with sliders.
    """
    compile_copy(tree)
    target = as_path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ArgumentValueError(f"path: expected a file .html, got {quote(str(target))}")
    film = Film(tree, trajectory, dt)
    speed, fps = as_positive(speed, "speed"), as_positive(fps, "fps")
    num_pictures = film.duration * fps / speed
    if not num_pictures <= _MOST_PICTURES:
        raise ArgumentValueError(
            f"trajectory: {film.duration:g} s, at speed={speed:g} and fps={fps:g}, make {num_pictures:.3g} "
            f"pictures, but a page holds at most {_MOST_PICTURES}: use a higher speed or fewer fps"
        )
    period = speed / fps
    model_scene = ModelScene(tree, check_scene(tree, scene), touching_of(tree, trajectory))
    mesher = Mesher(package_paths, model_scene.extent)
    mesher.is_quiet = True  # One line reports all that is missing.
    server = start_server(0, "record", "mbt")
    try:
        drawing = Drawing(server.scene, "/model", model_scene, mesher, IDENTITY)
        model = ViewedModel(model_scene, "model", drawing, Clock(), _nobody)
        page = _record(server, model, film, period, 1.0 / fps)
    finally:
        stop_server(server)
    missing = drawing.describe_missing()
    if missing:
        warnings.warn(missing, ModelWarning, stacklevel=2)
        # Others will see the page: it must not reveal the folders searched here.
        line = html.escape(drawing.describe_missing(with_details=False))
        page = page.replace("<body>", f"<body>{_LINE.format(line)}", 1)
    write_file(target, page)


def _record(server: Any, model: ViewedModel, film: Film, period: float, sleep: float) -> str:
    """Return the page of a film that advances by `period` from one picture to the next."""
    model._play(film)
    seen = []
    for elapsed in np.linspace(0.0, film.duration, _MOMENTS_IN_VIEW)[::-1]:  # The first moment is drawn last.
        model._draw(float(elapsed))
        seen.append(model._corners())
    model._tell_of_nothing()
    Stage(server).fit([(model._scene, np.concatenate(seen[::-1]))])
    serializer = server.get_scene_serializer()
    for i in range(1, int(film.duration / period * (1 + 1e-12)) + 1):
        serializer.insert_sleep(sleep)
        model._draw(i * period)
    if film.duration > 0.0:
        serializer.insert_sleep(sleep)
    page: str = serializer.as_html()
    return page.replace("<title>Viser</title>", "<title>mbt</title>")


def _nobody() -> None:
    """Do nothing: the recording itself draws."""
