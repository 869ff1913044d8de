"""``python -m mbt``: inspect robot descriptions, and see what mbt does."""

from __future__ import annotations

import sys

from mbt.cli import main

if __name__ == "__main__":
    sys.exit(main())
