"""Numbers of the force element types, shared with Python."""


def is_on_joint(int type):
    """Whether an element acts on one dof, not between two frames."""
    return bool(acts_on_joint(type))


def takes_parameters(int type, int count):
    """Whether an element of a type may have so many numbers."""
    return bool(takes_num_parameters(type, count))
