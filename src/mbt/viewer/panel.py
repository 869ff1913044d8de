"""The panel next to the picture: sliders, check boxes, a time line."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mbt.viewer.controls import make_controls

if TYPE_CHECKING:
    from mbt.viewer.clock import Clock
    from mbt.viewer.model import ViewedModel
    from mbt.viewer.scene import ModelScene

__all__ = ["ModelPanel", "TimePanel"]

_SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)


class ModelPanel:
    """Sliders for the joints of a model, and check boxes for its layers.

    Parameters
    ----------
    gui : GuiApi
        User interface of a viser server.
    model : ViewedModel
        The model that they change.
    scene : ModelScene
        What is drawn of the model.
    shown : dict of str to bool
        Whether each layer is shown.
    show_layer : callable
        ``show_layer(layer, is_shown)``.
    missing : str
        A line on what is not drawn; empty if everything is drawn.
    """

    def __init__(
        self,
        gui: Any,
        model: ViewedModel,
        scene: ModelScene,
        shown: dict[str, bool],
        show_layer: Callable[[str, bool], None],
        missing: str = "",
    ) -> None:
        self._model = model
        self._controls = make_controls(model.tree, scene.extent)
        with gui.add_folder(model.name):
            if missing:
                # Not Markdown, which viser compiles as a program: file names are not trusted.
                gui.add_html(f'<div style="padding: 0 0.8em; font-size: 0.85em">{html.escape(missing)}</div>')
            with gui.add_folder("Show", expand_by_default=False):
                for layer, is_shown in shown.items():
                    if scene.has(layer):
                        self._add_check_box(gui, layer, is_shown, show_layer)
            self._sliders = [self._add_slider(gui, i) for i in range(len(self._controls))]
            if self._controls:
                button = gui.add_button("Default positions")
                button.on_click(lambda event: model.show(model.tree.default_positions))

    def _add_check_box(
        self, gui: Any, layer: str, is_shown: bool, show_layer: Callable[[str, bool], None]
    ) -> None:
        box = gui.add_checkbox(layer, is_shown)
        box.on_update(lambda event: show_layer(layer, box.value))

    def _add_slider(self, gui: Any, i: int) -> Any:
        control = self._controls[i]
        slider = gui.add_slider(
            control.label,
            control.round(control.lower),
            control.round(control.upper),
            10.0**-control.digits,
            self._value_of(i),
            hint=f"{control.label} [{control.unit}]" if control.unit else control.label,
        )

        def move(event: Any) -> None:
            if event.client is not None:  # Not when the slider itself is moved by `follow`.
                self._model._move(control, slider.value)

        slider.on_update(move)
        return slider

    def _value_of(self, i: int) -> float:
        q = self._model.q
        value = self._controls[i].get(q.reshape(-1, q.shape[-1])[0])
        return self._controls[i].round(value if math.isfinite(value) else 0.0)

    def follow(self) -> None:
        """Move the sliders to the positions that are shown."""
        for i, slider in enumerate(self._sliders):
            slider.value = self._value_of(i)


class TimePanel:
    """A time line with a button that plays and pauses."""

    def __init__(self, gui: Any, clock: Clock, wake: Callable[[], None]) -> None:
        self._clock = clock
        self._wake = wake
        with gui.add_folder("Time", order=-1.0):
            self._slider = gui.add_slider("time [s]", 0.0, max(clock.duration, 1e-3), 1e-3, 0.0)
            self._button = gui.add_button("Pause")
            names = tuple(f"{speed:g}x" for speed in sorted({*_SPEEDS, clock.speed}))
            self._speed = gui.add_dropdown("speed", names, initial_value=f"{clock.speed:g}x")
        self._slider.on_update(self._seek)
        self._button.on_click(self._toggle)
        self._speed.on_update(self._change_speed)

    def follow(self) -> None:
        """Show the time of the clock."""
        self._slider.max = max(self._clock.duration, 1e-3)
        self._slider.value = round(min(self._clock.elapsed, self._slider.max), 3)
        label = "Pause" if self._clock.is_running else "Play"
        if self._button.label != label:
            self._button.label = label

    def _seek(self, event: Any) -> None:
        if event.client is not None:
            self._clock.is_running = False
            self._clock.set(self._slider.value)
            self._wake()

    def _toggle(self, event: Any) -> None:
        if self._clock.is_running:
            self._clock.stop()
        else:
            self._clock.start()
        self._wake()

    def _change_speed(self, event: Any) -> None:
        self._clock.change_speed(float(self._speed.value.rstrip("x")))
