"""Shows models in a browser: `view`, or `record` for a page that plays by itself. Needs the extra ``viz``."""

from mbt.viewer.model import ViewedModel
from mbt.viewer.recording import record
from mbt.viewer.viewer import Viewer, view

__all__ = ["ViewedModel", "Viewer", "record", "view"]
