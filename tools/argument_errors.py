"""Patches Cython: errors of wrong calls of compiled functions name the argument that is missing or was meant.

Cython reports "f() takes exactly 4 positional arguments (3 given)". If, and only if, reading the arguments
has failed, the functions that Cython writes request a better message from `mbt._core.wrong_calls`.
"""

from __future__ import annotations

from typing import Any

from Cython.Compiler import Naming
from Cython.Compiler.Code import UtilityCode
from Cython.Compiler.Nodes import DefNodeWrapper

EXPLAIN = UtilityCode(
    proto="""
static void mbt_explain_wrong_call(
    const char* name, const char* parameters, Py_ssize_t num_positional, PyObject* keywords); /*proto*/
""",
    impl="""
// An error whose message cannot be improved stays as it is.
static void mbt_explain_wrong_call(
    const char* name, const char* parameters, Py_ssize_t num_positional, PyObject* keywords) {
  PyObject *type, *value, *traceback, *words_of, *words = NULL;
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return;
  PyErr_Fetch(&type, &value, &traceback);
  words_of = PyImport_ImportModule("mbt._core.wrong_calls");
  if (words_of) {
    words = PyObject_CallMethod(
        words_of, "explain", "ssnO", name, parameters, num_positional, keywords ? keywords : Py_None);
    Py_DECREF(words_of);
  }
  if (!words || words == Py_None) {
    PyErr_Restore(type, value, traceback);
  } else {
    PyErr_SetObject(PyExc_TypeError, words);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
  }
  Py_XDECREF(words);
}
""",
    name="mbt_explain_wrong_call",
)

#: Methods of Cython that are replaced. They are not a public interface, and may be missing in another
#: version.
PATCHED = ("generate_argument_parsing_code", "generate_argument_values_cleanup_code")
_parse, _clean_up = (getattr(DefNodeWrapper, name, None) for name in PATCHED)


def parameters_of(wrapper: Any) -> str:
    """Return the parameters of a function as in its `def`, with `=` after those that have a default."""
    arguments = [
        arg for arg in wrapper.args if arg.is_generic and not arg.is_self_arg and not arg.is_type_arg
    ]
    words = []
    for number, arg in enumerate(arguments):
        before = arguments[number - 1] if number else None
        if before and before.pos_only and not arg.pos_only:
            words.append("/")
        if arg.kw_only and not (before and before.kw_only) and not wrapper.star_arg:
            words.append("*")
        words.append(f"{arg.entry.name}=" if arg.default else arg.entry.name)
        last_positional = not arg.kw_only and (number + 1 == len(arguments) or arguments[number + 1].kw_only)
        if last_positional and arg.pos_only:
            words.append("/")
        if last_positional and wrapper.star_arg:
            words.append("*more")
    return " ".join([*words, "**others"] if wrapper.starstar_arg else words)


def parse(wrapper: Any, *arguments: Any) -> None:
    """Write the code that reads the arguments."""
    wrapper.is_reading_arguments = True
    _parse(wrapper, *arguments)
    wrapper.is_reading_arguments = False


def clean_up(wrapper: Any, code: Any) -> None:
    """Write the code that releases the arguments: within `parse`, the path taken on an error."""
    if wrapper.is_reading_arguments and wrapper.needs_values_cleanup:
        code.globalstate.use_utility_code(EXPLAIN)
        name = wrapper.name.as_c_string_literal()
        given = f"{Naming.nargs_cname}, {Naming.kwds_cname}"
        code.putln(f'mbt_explain_wrong_call({name}, "{parameters_of(wrapper)}", {given});')
    _clean_up(wrapper, code)


if _parse and _clean_up:
    DefNodeWrapper.is_reading_arguments = False
    DefNodeWrapper.generate_argument_parsing_code = parse
    DefNodeWrapper.generate_argument_values_cleanup_code = clean_up
else:
    print("this Cython reads arguments elsewhere: wrong calls are reported by its own messages", flush=True)
