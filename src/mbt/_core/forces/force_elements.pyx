"""Numbers of the types of force elements and constraints, shared with Python."""

from mbt._core.forces.constraints cimport num_constraint_parameters_of, num_equations_of


def is_on_joint(int type):
    """Whether an element acts on one dof, not between two frames."""
    return bool(acts_on_joint(type))


def takes_parameters(int type, int count):
    """Whether an element of a type may have so many numbers."""
    return bool(takes_num_parameters(type, count))


def count_constraint_parameters(int type):
    """Numbers of one constraint."""
    return num_constraint_parameters_of(type)


def count_equations(int type):
    """Equations of one constraint."""
    return num_equations_of(type)
