"""Numbers of the force element types, shared with Python."""


def is_on_joint(int type):
    """Whether an element acts on one dof, not between two frames."""
    return bool(acts_on_joint(type))


def count_parameters(int type):
    """Numbers of one element."""
    return num_parameters_of(type)
