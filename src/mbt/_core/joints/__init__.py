"""Joint types: pose, motion axes and their rates."""
