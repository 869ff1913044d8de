"""Numbers of the mobilizer types, shared with Python."""

from mbt._core.joints.curvilinear cimport PIECE, PIECES


def count_positions(int type):
    """Number of positions of a mobilizer."""
    return num_positions_of(type)


def count_velocities(int type):
    """Number of velocities of a mobilizer."""
    return num_velocities_of(type)


def takes_constants(int type, constants):
    """Whether a mobilizer has as many constants as there are in this array of float64."""
    if type == CURVILINEAR:
        return len(constants) > PIECES and constants[0] >= 1 and len(constants) == PIECES + PIECE*constants[0]
    if type == WELD:
        return len(constants) == 16
    if type == SCREW:
        return len(constants) == 4
    return len(constants) == (3 if moves_about_axis(type) else 0)
