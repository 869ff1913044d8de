"""Settings of the documentation site: `python tools/site.py` builds and checks it."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import mbt

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
import_module("matplotlib.font_manager")  # on first use it reports that it fills a cache

project = "mbt"
author = "the authors of mbt"
release = version = mbt.__version__

extensions = [
    "myst_nb",  # Markdown, and execution of tutorial cells
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "plain_docstrings",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "api_pages",
    "names_in_docstrings",
    "mathml",
    "repository_links",
]
exclude_patterns = ["_ext"]
nitpicky = True

# Pages.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
# Cells of the tutorials and of the gallery run in each build: an error, or a cell that takes over a minute,
# stops it.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 60
nb_execution_in_temp = True  # some write files
nb_merge_streams = True
nb_output_stderr = "warn"
nb_render_image_options = {"align": "center"}

# Docstrings.
default_role = "name"
autosummary_generate = False  # only its tables; api_pages makes the pages
autodoc_typehints = "none"  # docstrings give types, with shapes and units
autodoc_member_order = "groupwise"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# Looks.
html_theme = "furo"
html_title = "mbt"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "native"
copybutton_exclude = ".linenos, .gp, .go"
