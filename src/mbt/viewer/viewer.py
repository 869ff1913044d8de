"""``mbt.view``: shows models on a page in the browser."""

from __future__ import annotations

import os
import threading
import time
import warnings
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from mbt.context.checks import compile_copy
from mbt.context.context import Context
from mbt.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    ModelWarning,
    UnknownNameError,
    quote,
    unknown_name_error,
)
from mbt.math.arrays import as_bool, as_positive
from mbt.math.poses import IDENTITY, as_pose
from mbt.motion.trajectory import Trajectory
from mbt.viewer.clock import Clock
from mbt.viewer.drawing import Drawing
from mbt.viewer.films import Film, touching_of
from mbt.viewer.handles import Handles, check_handles
from mbt.viewer.model import ViewedModel
from mbt.viewer.panel import ModelPanel, TimePanel
from mbt.viewer.scene import ModelScene, check_scene
from mbt.viewer.servers import address_of, start_server, stop_server
from mbt.viewer.stage import Stage
from mbt.viewer.triangles import Mesher

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Self

    from mbt.geometry import CollisionModel
    from mbt.kinematics import InverseKinematics
    from mbt.math.arrays import FloatArray
    from mbt.tree.multibody_tree import MultibodyTree

__all__ = ["Viewer", "view"]

# Seconds between two pictures, and between two updates of the sliders.
_PERIOD, _PERIOD_OF_PANELS = 1.0 / 60.0, 0.1


class Viewer:
    """A page in the browser that shows models, returned by ``mbt.view``.

    ``with mbt.view(tree) as viewer:`` closes it at the end. In a notebook it appears in the cell.

    Attributes
    ----------
    url : str
        Address of the page, which only this machine can reach.
    """

    def __init__(self, port: int = 0, title: str = "mbt", allowed_hosts: Sequence[str] = ()) -> None:
        self._server = start_server(port, "view", title, allowed_hosts)
        self.url: str = address_of(self._server)
        self._stage = Stage(self._server)
        self._models: list[ViewedModel] = []
        self._panels: list[ModelPanel] = []
        self._time_panel: TimePanel | None = None
        self._clock = Clock()
        # Guards the nodes of the scene while they are drawn. `show` never waits for it.
        self._drawing = threading.Lock()
        self._changed = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="mbt viewer", daemon=True)
        self._thread.start()

    # Models.

    @property
    def models(self) -> tuple[ViewedModel, ...]:
        """The models, in the order in which they were added."""
        return tuple(self._models)

    def add(
        self,
        tree: MultibodyTree,
        q_or_trajectory: npt.ArrayLike | Context | Trajectory | None = None,
        *,
        name: str | None = None,
        package_paths: Sequence[str | os.PathLike[str]] = (),
        X_WR: npt.ArrayLike | None = None,
        scene: CollisionModel | None = None,
        ik: InverseKinematics | None = None,
    ) -> ViewedModel:
        """Add a model to the page.

        Parameters
        ----------
        tree, q_or_trajectory, name, package_paths, scene, ik
            As in `view`.
        X_WR : array_like, shape (4, 4), optional
            Pose of the model's World in that of the viewer; by default the identity.

        Returns
        -------
        ViewedModel
            The model in the viewer: its ``show`` moves it.

        Raises
        ------
        MbtError
            As in `view`; also when there is a model with this name already.
        """
        self._check_open("add")
        compile_copy(tree)
        pose = IDENTITY if X_WR is None else as_pose(X_WR, "X_WR")
        if ik is not None:
            check_handles(tree, ik)
        label = self._name_for(tree, name)
        film = state = None
        if isinstance(q_or_trajectory, Trajectory):
            film = Film(tree, q_or_trajectory)
        else:
            state = tree.default_positions if q_or_trajectory is None else q_or_trajectory
        touching = touching_of(tree, q_or_trajectory)
        model_scene = ModelScene(tree, check_scene(tree, scene), touching)
        mesher = Mesher(package_paths, model_scene.extent)
        mesher.is_quiet = True  # One line reports all that is missing.
        with self._drawing, self._server.atomic():
            path = f"/models/{len(self._models)} {label.replace('/', '|')}"
            drawing = Drawing(self._server.scene, path, model_scene, mesher, pose)
            model = ViewedModel(model_scene, label, drawing, self._clock, self._changed.set)
            if film is not None:
                model._play(film)
            elif state is not None:
                model.show(state)
            model._draw(0.0)
            missing = drawing.describe_missing()
            model._tell_of_nothing()
            self._models.append(model)
            self._stage.fit([(m._scene, m._corners()) for m in self._models])

            def show_layer(layer: str, is_shown: bool) -> None:
                with self._drawing:
                    model._show_layer(layer, is_shown)
                told = drawing.describe_missing()
                if is_shown and told:
                    _tell(f"{label}: {told}")

            if ik is not None:
                model._handles = Handles(self._server, path, model, ik, model_scene.extent)
            panel = ModelPanel(self._server.gui, model, model_scene, drawing.shown, show_layer, missing)
            self._panels.append(panel)
        if missing:
            warnings.warn(f"{label}: {missing}", ModelWarning, stacklevel=2)
        if film is not None:
            self._start(model, film, speed=1.0, loop=True)
        return model

    def show(self, q: npt.ArrayLike | Context, v: npt.ArrayLike | None = None) -> None:
        """Show other positions of the first model; see ``ViewedModel.show``."""
        self._first().show(q, v)

    @property
    def q(self) -> FloatArray:
        """A copy of the positions of the first model, including changes by sliders."""
        return self._first().q

    # Playing.

    def play(
        self,
        trajectory: Trajectory | npt.ArrayLike,
        *,
        dt: float | None = None,
        speed: float = 1.0,
        loop: bool = True,
        model: ViewedModel | str | None = None,
    ) -> None:
        """Play a trajectory, with a time line in the page; return at once.

        Parameters
        ----------
        trajectory : Trajectory or array_like, shape (..., n, num_positions)
            The motion to play. All models with a trajectory play at the same time.
        dt : float, optional
            For an array: the time from one row to the next [s].
        speed : float, optional
            Simulated seconds per second.
        loop : bool, optional
            Whether to start again at the end.
        model : ViewedModel or str, optional
            One of several models, or its name; by default the first.

        Raises
        ------
        ArgumentTypeError, ArgumentValueError, ShapeError
            When the trajectory does not fit the model, or an option is invalid.
        UnknownNameError
            When there is no model with this name.
        """
        self._check_open("play")
        chosen = self._first() if model is None else self._find(model)
        film = Film(chosen.tree, trajectory, dt)
        self._start(chosen, film, speed=as_positive(speed, "speed"), loop=as_bool(loop, "loop"))

    def pause(self) -> None:
        """Pause at the current time."""
        self._clock.stop()

    def _start(self, model: ViewedModel, film: Film, *, speed: float, loop: bool) -> None:
        with self._drawing:
            model._play(film)
            clock = self._clock
            clock.duration = max(m._film.duration for m in self._models if m._film is not None)
            clock.speed, clock.loops = speed, loop
            clock.set(0.0)
            clock.start()
            if self._time_panel is None:
                self._time_panel = TimePanel(self._server.gui, clock, self._changed.set)
            self._time_panel.follow()
        self._changed.set()

    # Ending.

    @property
    def is_closed(self) -> bool:
        """Whether the viewer is closed."""
        return self._closed.is_set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the viewer is closed or the time is over, as at the end of a script.

        The end of the script would close the page. Ctrl-C ends the waiting with a ``KeyboardInterrupt``.
        """
        end = None if seconds is None else time.monotonic() + seconds
        # In pieces, so that an interrupt can end it on every system.
        while not self._closed.is_set() and (end is None or time.monotonic() < end):
            self._closed.wait(0.2 if end is None else min(0.2, max(end - time.monotonic(), 0.0)))

    def close(self) -> None:
        """Close the page and its address. A second call has no effect."""
        if not self._closed.is_set():
            self._closed.set()
            self._changed.set()
            if threading.current_thread() is not self._thread:
                self._thread.join(timeout=5.0)
            stop_server(self._server)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        if self.is_closed:
            return "<p>The viewer is closed.</p>"
        return f'<iframe src="{self.url}" width="100%" height="500" style="border: 0"></iframe>'

    def __repr__(self) -> str:
        """Return a text with the address."""
        return f"<Viewer {'closed' if self.is_closed else self.url}, {len(self._models)} models>"

    # The drawing thread.

    def _work(self) -> None:
        followed = 0.0
        is_behind = False
        while True:
            # Wait as long as nothing changes; after that, panels still catch up.
            is_moving = self._clock.is_running
            self._changed.wait(_PERIOD if is_moving else _PERIOD_OF_PANELS if is_behind else None)
            if self._closed.is_set():
                return
            self._changed.clear()
            start = time.perf_counter()
            try:
                with self._drawing:
                    elapsed = self._clock.advance()
                    with self._server.atomic():
                        for model in self._models:
                            is_behind |= self._try_to_draw(model, elapsed)
                    if is_behind and start - followed > _PERIOD_OF_PANELS:
                        followed, is_behind = start, False
                        self._follow()
            except Exception as error:  # The thread must live on to draw later states.
                _tell(f"the viewer could not draw: {type(error).__name__}: {error}")
            # Leave half of the time to other threads, which get the interpreter only while this one rests.
            taken = time.perf_counter() - start
            self._closed.wait(max(_PERIOD - taken, taken))

    @staticmethod
    def _try_to_draw(model: ViewedModel, elapsed: float | None) -> bool:
        """Draw a model. Errors, such as those of user-written elements, become warnings."""
        try:
            return model._draw(elapsed)
        except Exception as error:
            _tell(f"{model.name}: not drawn: {type(error).__name__}: {error}")
            return False

    def _follow(self) -> None:
        for panel in self._panels:
            panel.follow()
        if self._time_panel is not None:
            self._time_panel.follow()

    def _first(self) -> ViewedModel:
        if not self._models:
            raise ArgumentValueError("the viewer shows no model yet: viewer.add(tree)")
        return self._models[0]

    def _find(self, model: object) -> ViewedModel:
        """Return the model of this viewer that is given by itself or by name."""
        names = [known.name for known in self._models]
        if isinstance(model, str) and model not in names:
            fault = str(unknown_name_error("model", model, names))
            raise UnknownNameError(f"model: {fault[:1].lower()}{fault[1:]}")
        for known, name in zip(self._models, names, strict=True):
            if model in (known, name):
                return known
        raise ArgumentValueError(f"model: expected one of this viewer, {', '.join(map(quote, names))}")

    def _name_for(self, tree: MultibodyTree, name: str | None) -> str:
        names = {model.name for model in self._models}
        if name is not None:
            if not isinstance(name, str):
                raise ArgumentTypeError(f"name: expected text, got {type(name).__name__}")
            if name in names:
                raise ArgumentValueError(f"name: there is a model named {quote(name)} already")
            return name
        own = tree.parse_reports[0].model_name if tree.parse_reports else "model"
        return next(n for n in (own, *(f"{own} {i}" for i in range(2, len(names) + 3))) if n not in names)

    def _check_open(self, what: str) -> None:
        if self.is_closed:
            raise ArgumentValueError(f"{what}: the viewer is closed")


def view(
    tree: MultibodyTree,
    q_or_trajectory: npt.ArrayLike | Context | Trajectory | None = None,
    *,
    name: str | None = None,
    package_paths: Sequence[str | os.PathLike[str]] = (),
    port: int = 0,
    open_browser: bool | None = None,
    allowed_hosts: Sequence[str] = (),
    scene: CollisionModel | None = None,
    ik: InverseKinematics | None = None,
) -> Viewer:
    """Show a model in the browser, with sliders for its joints.

    The viewer draws the shapes and meshes of the description. If there are none, or meshes are not found, it
    draws a skeleton and ellipsoids with the inertia of the bodies. Frames, names, the centre of mass and
    collision shapes are one click away; contact points are drawn with their forces. For a trajectory with
    contact of shapes, it also draws the obstacles and the points where shapes push each other; for one of
    implicit steps, a line names the joints that a position limit holds and the servos at their effort limits.
    Only this machine can reach the page, which stays open until the viewer is closed or Python ends.

    Parameters
    ----------
    tree : MultibodyTree
        A finalized tree.
    q_or_trajectory : array_like, shape (..., num_positions), Context or Trajectory, optional
        Positions, a state, or a trajectory to play; by default the default positions. The first state of a
        batch is drawn solid and the others as ghosts.
    name : str, optional
        Name of the model in the page; by default that of its description.
    package_paths : sequence of paths, optional
        Where to look for the packages of meshes; see ``mbt.parsing.resolve_mesh``. If a mesh cannot be read,
        the skeleton is drawn; a `ModelWarning` and a line on the page name the missing mesh and the remedy.
    port : int, optional
        Port of the address; the default, 0, lets the system choose a free one. If it is in use, the next free
        one is used.
    open_browser : bool, optional
        Whether to open the page; by default only outside notebooks, which show it in the cell.
    allowed_hosts : sequence of str, optional
        Host names, such as ``"hub.example.org"``, under which a browser reaches the page through a proxy.
        Requests to other names, and from pages of other servers on this machine, get an error; otherwise any
        page in the browser could read the scene. The environment variable ``MBT_VIEWER_HOSTS`` adds more,
        separated by commas.
    scene : CollisionModel, optional
        A collision model of the tree. Its obstacles are drawn; in the first state, shapes closer than a tenth
        of the model's size, and lines between them, are drawn in yellow, and those that overlap in vermilion.
    ik : InverseKinematics, optional
        Each of its tasks gets a handle on the page, at its goal; drag it, and the model follows as far as it
        can. A line on the page reports a goal that is out of reach.

    Returns
    -------
    Viewer
        Its methods show other positions, play trajectories, and close the page.

    Raises
    ------
    MissingPackageError
        When viser is not installed: ``pip install "multibodytree[viz]"``.
    NotFinalizedError, ArgumentTypeError, ArgumentValueError, ShapeError, ContextMismatchError
        When an argument cannot be used.

    See Also
    --------
    record : Write a page that plays by itself.
    """
    opens = not _is_notebook() if open_browser is None else as_bool(open_browser, "open_browser")
    viewer = Viewer(port, "mbt", allowed_hosts)
    try:
        viewer.add(tree, q_or_trajectory, name=name, package_paths=package_paths, scene=scene, ik=ik)
    except BaseException:
        viewer.close()
        raise
    if opens:
        webbrowser.open(viewer.url)
    return viewer


def _tell(message: str) -> None:
    """Warn in a thread; suppress it if warnings are errors, which nobody could catch there."""
    with suppress(Warning):
        warnings.warn(message, ModelWarning, stacklevel=3)


def _is_notebook() -> bool:
    """Return whether this runs in a Jupyter kernel."""
    import sys

    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")
