"""Colours that colour-blind people can tell apart, on light and on dark backgrounds."""

from __future__ import annotations

__all__ = ["BLUE", "CYCLE", "GREEN", "GREY", "ORANGE", "PURPLE", "SKY", "VERMILION"]

# From Okabe and Ito, "Color Universal Design" (2008), without black and yellow: black is lost on a dark page,
# yellow on a white page.
BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
ORANGE = "#E69F00"
SKY = "#56B4E9"
#: The order of use.
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
GREY = "#808080"
