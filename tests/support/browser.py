"""Chromium without a screen, and the colours of its pictures."""

from __future__ import annotations

import io
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

WIDTH, HEIGHT = 900, 420
# Pictures are drawn without a graphics card. Nothing is looked up, fetched or kept.
_OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)  # fmt: skip
# Long enough for a busy machine; a working page takes seconds.
PATIENCE = 120.0


@contextmanager
def open_page(profile: Path) -> Iterator[Any]:
    """Open an empty page in a separate browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=shutil.which("chromium"),
            headless=True,
            viewport={"width": WIDTH, "height": HEIGHT},
            args=list(_OPTIONS),
        )
        browser.set_default_timeout(1000 * PATIENCE)
        try:
            yield browser.new_page()
        finally:
            browser.close()


def take_picture(page: Any) -> np.ndarray:
    """Return a picture of the scene alone, shape (height, width, 3)."""
    from PIL import Image

    # Click all at once: notifications may also close by themselves.
    page.locator(".mantine-Notification-closeButton").evaluate_all(
        "buttons => buttons.forEach(b => b.click())"
    )
    box = page.locator("canvas").first.bounding_box()
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    left, top, width, height = (round(box[key]) for key in ("x", "y", "width", "height"))
    return np.asarray(image, dtype=float)[top : top + height, left : left + width]


def project(point: np.ndarray, camera: Any, picture: np.ndarray) -> tuple[int, int]:
    """Return the row and column at which a camera of viser, with z upwards, sees a point."""
    z = camera.position - camera.look_at
    z = z / np.linalg.norm(z)
    x = np.cross([0.0, 0.0, 1.0], z)
    x /= np.linalg.norm(x)
    seen = np.stack([x, np.cross(z, x), z]) @ (point - camera.position)
    height, width = picture.shape[:2]
    scale = height / 2 / np.tan(camera.fov / 2) / -seen[2]
    return round(height / 2 - scale * seen[1]), round(width / 2 + scale * seen[0])


def color_at(picture: np.ndarray, place: tuple[int, int]) -> str:
    """Return the dominant colour around a pixel: red, green, grey, dark or white."""
    row, column = place
    red, green, blue = picture[row - 1 : row + 2, column - 1 : column + 2].mean(axis=(0, 1))
    if red - max(green, blue) > 60:
        return "red"
    if green - max(red, blue) > 40:
        return "green"
    return "white" if min(red, green, blue) > 200 else "grey"


def wait_for(page: Any, is_so: Callable[[np.ndarray], bool], keep: Path) -> np.ndarray:
    """Return the first picture that satisfies a condition; keep the last one in a file."""
    from PIL import Image

    end = time.monotonic() + PATIENCE
    while True:
        picture = take_picture(page)
        if is_so(picture) or time.monotonic() > end:
            Image.fromarray(picture.astype(np.uint8)).save(keep)
            assert is_so(picture), f"not within {PATIENCE:g} s: {keep}"
            return picture
        time.sleep(0.2)
