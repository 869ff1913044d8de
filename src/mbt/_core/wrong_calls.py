"""Messages for wrong calls of compiled functions, which ask for one when they cannot read their arguments."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["explain"]

#: What other libraries, or people, call our arguments.
_SYNONYMS = {
    "tau": ("torque", "torques", "effort", "force", "forces", "generalized_forces", "u"),
    "vdot": ("a", "qdd", "qddot", "ddq", "acc", "acceleration", "accelerations", "vd"),
    "v": ("qd", "qdot", "dq", "velocity", "velocities", "qvel"),
    "q": ("position", "positions", "configuration", "qpos"),
    "qdot": ("dq", "qd"),
    "context": ("ctx", "data", "state"),
    "tree": ("model", "plant", "robot"),
    "body": ("link",),
    "frame": ("frame_F", "frame_B", "link"),
    "with_respect_to": ("wrt",),
    "out": ("output", "result"),
}


def explain(name: str, parameters: str, num_positional: int, keywords: Iterable[str] | None) -> str | None:
    """Return what is wrong with a call, or None if no keyword is unknown and no argument missing.

    `parameters` are those of the function, as ``"q v / tau= * frame out="``; the call is given by the number
    of its positional arguments and its keywords.
    """
    positional: list[str] = []
    by_keyword: list[str] = []
    required: list[str] = []
    words = parameters.split()
    reads_positional = True
    for word in words:
        parameter = word.rstrip("=")
        if word == "/":
            by_keyword.clear()
        elif word.startswith("*"):
            reads_positional = False
        else:
            by_keyword.append(parameter)
            if reads_positional:
                positional.append(parameter)
            if not word.endswith("="):
                required.append(parameter)
    given = tuple(keywords or ())
    by_position = positional[:num_positional]
    unknown = [key for key in given if key not in by_keyword]
    if unknown and "**others" not in words:
        free = [key for key in by_keyword if key not in by_position and key not in given]
        return (
            f"{name}() got an unexpected keyword argument {unknown[0]!r}{_hint(unknown[0], free, by_keyword)}"
        )
    if num_positional > len(positional) and "*more" not in words:
        return None  # too many arguments, as the caller's message says
    missing = [repr(key) for key in required if key not in by_position and key not in given]
    if not missing:
        return None
    listed = " and ".join([", ".join(missing[:-1]), missing[-1]] if missing[1:] else missing)
    return f"{name}() missing required argument{'s' if missing[1:] else ''}: {listed}"


def _hint(keyword: str, free: list[str], known: list[str]) -> str:
    """Return a hint which argument an unknown keyword means, or which keywords there are."""
    import difflib  # Here, because most programs never need it.

    meant = [name for name in free if keyword.lower() in _SYNONYMS.get(name, ())]
    # The time to compare grows with the product of the lengths, and nobody mistypes so long a name.
    meant = meant or (difflib.get_close_matches(keyword, free, n=1) if len(keyword) <= 200 else [])
    if meant:
        return f"; did you mean {meant[0]!r}?"
    return f"; keywords are {', '.join(map(repr, known))}" if known else ""
