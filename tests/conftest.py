"""Settings of the whole suite."""

from __future__ import annotations

from hypothesis import settings

# The same examples in every run and on every machine; slow machines do not fail.
settings.register_profile("mbt", derandomize=True, deadline=None)
settings.load_profile("mbt")
