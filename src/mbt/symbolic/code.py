"""Makes Python and C functions of arrays of SymPy expressions that compute common subexpressions once."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mbt.errors import ArgumentTypeError, ArgumentValueError, ShapeError, quote

__all__ = ["PythonFunction", "make_c_code", "make_python_function"]


class PythonFunction:
    """A function of arrays made from expressions by `make_python_function`.

    Attributes
    ----------
    name : str
        Name of the function.
    source : str
        Text of a Python module that defines the function; it needs `math` and NumPy.
    shapes : dict of str to tuple of int
        Shapes of the arguments, by name.
    """

    def __init__(self, name: str, source: str, shapes: dict[str, tuple[int, ...]]) -> None:
        self.name = name
        self.source = source
        self.shapes = shapes
        namespace: dict[str, Any] = {}
        exec(compile(source, f"<generated {name}>", "exec"), namespace)
        self._function: Callable[..., Any] = namespace[name]

    def __call__(self, *arguments: Any) -> Any:
        """Return an array, or a tuple of arrays if there are several outputs; float64.

        Raises
        ------
        ShapeError
            When the number of arguments, or the shape of one, is wrong.
        """
        if len(arguments) != len(self.shapes):
            raise ShapeError(
                f"{self.name}: expected {len(self.shapes)} arguments ({', '.join(self.shapes)}), "
                f"got {len(arguments)}"
            )
        arrays = [np.asarray(argument, dtype=np.float64) for argument in arguments]
        for (name, shape), array in zip(self.shapes.items(), arrays, strict=True):
            if array.shape != shape:
                raise ShapeError(f"{name}: expected shape {shape}, got {array.shape}")
        return self._function(*arrays)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the source."""
        return PythonFunction, (self.name, self.source, self.shapes)

    def __repr__(self) -> str:
        """Return a text with name and arguments."""
        return f"<PythonFunction {self.name}({', '.join(self.shapes)})>"


def make_python_function(name: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> PythonFunction:
    """Return a Python function of arrays of SymPy expressions.

    Parameters
    ----------
    name : str
        Name of the function.
    inputs : mapping of str to array_like of sympy.Symbol
        The arguments, by name and in this order.
    outputs : mapping of str to array_like of sympy.Expr
        The results, in this order.

    Returns
    -------
    PythonFunction
        A function of arrays with the shapes of the inputs; ``.source`` is its source.

    Raises
    ------
    ArgumentTypeError
        When an entry is not an expression, or an input not a symbol.
    ArgumentValueError
        When a name is invalid, an input occurs twice, or outputs depend on symbols that are not inputs or on
        functions that the language does not have; the message names them.

    Examples
    --------
    >>> import mbt
    >>> from sympy.abc import a, b
    >>> f = mbt.symbolic.make_python_function("f", {"x": [a, b]}, {"y": [(a + b) ** 2, a + b]})
    >>> f([1, 2])
    array([9., 3.])
    >>> print(f.source)
    import math
    <BLANKLINE>
    import numpy as np
    <BLANKLINE>
    <BLANKLINE>
    def f(x):
        x_0, x_1 = np.ravel(x).tolist()
        t0 = x_0 + x_1
        return np.array([t0**2, t0])
    <BLANKLINE>
    """
    program = _Program(name, inputs, outputs, {*keyword.kwlist, "math", "np"})
    lines = ["import math", "", "import numpy as np", "", "", f"def {name}({', '.join(program.shapes)}):"]
    for array in program.shapes:
        if symbols := program.symbols_of(array):
            lines.append(f"    {', '.join(symbols)}{',' * (len(symbols) == 1)} = np.ravel({array}).tolist()")
    lines += [f"    {variable} = {text}" for variable, text in program.print_steps(_python_printer())]
    results = []
    for array, texts in program.print_outputs(_python_printer()).items():
        shape = np.shape(program.outputs[array])
        text = f"np.array([{', '.join(texts)}])" if texts else "np.zeros(0)"
        results.append(text if len(shape) == 1 else f"{text}.reshape({shape})")
    lines.append(f"    return {', '.join(results)}")
    return PythonFunction(name, "\n".join(lines) + "\n", program.shapes)


def make_c_code(name: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> str:
    """Return a C function of arrays of SymPy expressions.

    Parameters and errors are those of `make_python_function`.

    Returns
    -------
    str
        A C99 file that needs only the mathematical library and defines ``void name(const double* input,
        ..., double* output, ...)``, with inputs and outputs in their order, and arrays in C order. Outputs
        must not overlap inputs.

    Examples
    --------
    >>> import mbt
    >>> from sympy.abc import a, b
    >>> print(mbt.symbolic.make_c_code("f", {"x": [a, b]}, {"y": [(a + b) ** 2, a + b]}))
    #include <math.h>
    <BLANKLINE>
    /* x: (2,), y: (2,) */
    void f(const double* x, double* y) {
      const double t0 = x[0] + x[1];
      y[0] = (t0*t0);
      y[1] = t0;
    }
    <BLANKLINE>
    """
    printer = _c_printer()
    program = _Program(name, inputs, outputs, _words_of_c(printer), "{}[{}]")
    shapes = program.shapes | {key: np.shape(value) for key, value in program.outputs.items()}
    arguments = [f"const double* {array}" for array in program.shapes]
    arguments += [f"double* {array}" for array in program.outputs]
    lines = [
        "#include <math.h>",
        "",
        f"/* {', '.join(f'{array}: {shape}' for array, shape in shapes.items())} */",
        f"void {name}({', '.join(arguments)}) {{",
    ]
    lines += [f"  const double {variable} = {text};" for variable, text in program.print_steps(printer)]
    for array, texts in program.print_outputs(printer).items():
        lines += [f"  {array}[{i}] = {text};" for i, text in enumerate(texts)]
    return "\n".join([*lines, "}"]) + "\n"


class _Program:
    """Checked expressions, and the steps that compute them."""

    def __init__(
        self, name: str, inputs: Mapping[str, Any], outputs: Mapping[str, Any],
        reserved: set[str], form: str = "{}_{}",
    ) -> None:  # fmt: skip
        import sympy as sp

        arrays = {key: _as_objects(value, f"inputs[{quote(key)}]") for key, value in inputs.items()}
        self.outputs = {key: _as_objects(value, f"outputs[{quote(key)}]") for key, value in outputs.items()}
        self.shapes = {key: array.shape for key, array in arrays.items()}
        for what, word in [
            ("name", name),
            *(("inputs", key) for key in arrays),
            *(("outputs", key) for key in self.outputs),
        ]:
            if not (isinstance(word, str) and word.isascii() and word.isidentifier()) or word in reserved:
                raise ArgumentValueError(f"{what}: expected an identifier of the language, got {quote(word)}")
        if both := [key for key in arrays if key in self.outputs]:
            raise ArgumentValueError(f"outputs: {quote(both[0])} is the name of an input")
        self._names: dict[str, list[str]] = {}
        renamed = {}
        for key, array in arrays.items():
            self._names[key] = [form.format(key, i) for i in range(array.size)]
            for symbol, variable in zip(array.ravel(), self._names[key], strict=True):
                if not isinstance(symbol, sp.Symbol):
                    raise ArgumentTypeError(
                        f"inputs[{quote(key)}]: expected symbols of SymPy, got {quote(symbol)}"
                    )
                if symbol in renamed:
                    raise ArgumentValueError(f"inputs[{quote(key)}]: {symbol} occurs twice")
                renamed[symbol] = sp.Symbol(variable)
        entries = [sp.sympify(entry) for array in self.outputs.values() for entry in array.ravel()]
        atoms = _atoms_of(entries)
        unknown = {atom for atom in atoms if atom.is_Symbol} - renamed.keys()
        if unknown:
            raise ArgumentValueError(
                f"outputs: depend on {', '.join(sorted(map(str, unknown)))}, not among the inputs"
            )
        renamed.update({atom: sp.Float(atom, 17) for atom in atoms if atom.is_NumberSymbol})
        taken = {name, *arrays, *self.outputs} | {n for names in self._names.values() for n in names}
        variables = (t for t in sp.numbered_symbols("t") if t.name not in taken)
        # Sorting terms, which only improves the looks, would take most of the time.
        steps, results = sp.cse(entries, symbols=variables, order="none")
        self._steps = [(variable, _renamed(step, renamed)) for variable, step in steps]
        self._results = [_renamed(result, renamed) for result in results]

    def symbols_of(self, array: str) -> list[str]:
        """Return the names of the entries of an input."""
        return self._names[array]

    def print_steps(self, printer: Any) -> list[tuple[str, str]]:
        """Return assignments of variables, in the order of computation."""
        return [(variable.name, _print(printer, step)) for variable, step in self._steps]

    def print_outputs(self, printer: Any) -> dict[str, list[str]]:
        """Return the texts of the entries of each output."""
        texts = iter([_print(printer, result) for result in self._results])
        return {key: [next(texts) for _ in range(array.size)] for key, array in self.outputs.items()}


def _as_objects(value: Any, name: str) -> Any:
    """Return an array of expressions."""
    import sympy as sp

    if isinstance(value, (sp.MatrixBase, sp.NDimArray)):
        array = np.empty(value.shape, dtype=object)
        array.reshape(-1)[:] = list(value)
    else:
        array = np.array(value, dtype=object)
    for entry in array.ravel():
        if not isinstance(entry, (sp.Expr, int, float, np.integer, np.floating)):
            raise ArgumentTypeError(f"{name}: expected expressions of SymPy, got {type(entry).__name__}")
    return array


def _atoms_of(expressions: list[Any]) -> set[Any]:
    """Return the atoms of expressions. SymPy's own search visits shared subexpressions repeatedly."""
    seen = set(expressions)
    waiting = list(seen)
    while waiting:
        more = set(waiting.pop().args) - seen
        seen |= more
        waiting.extend(more)
    return {expression for expression in seen if not expression.args}


def _renamed(expression: Any, names: Mapping[Any, Any]) -> Any:
    return expression.xreplace({atom: names[atom] for atom in expression.atoms() if atom in names})


def _print(printer: Any, expression: Any) -> str:
    _, missing, text = printer.doprint(expression)
    if missing:
        functions = ", ".join(sorted({str(function.func) for function in missing}))
        raise ArgumentValueError(f"outputs: {functions} has no translation into the language")
    return str(text)


def _words_of_c(printer: Any) -> set[str]:
    """Return the reserved words of C, and the functions of its mathematical library."""
    functions = printer.known_functions.values()
    texts = {
        entry[-1] if isinstance(entry, tuple) else entry
        for f in functions
        for entry in (f if isinstance(f, list) else [f])
    }
    return {"main", *printer.reserved_words, *(text for text in texts if isinstance(text, str))}


def _python_printer() -> Any:
    from sympy.printing.pycode import PythonCodePrinter

    return PythonCodePrinter({"human": False})


def _c_printer() -> Any:
    """Return a printer of squares and cubes as products: `pow` takes as long as twenty multiplications."""
    from sympy.printing.c import C99CodePrinter

    class Printer(C99CodePrinter):  # type: ignore[misc]
        def _print_Pow(self, expression: Any) -> Any:
            base, exponent = expression.as_base_exp()
            if base.is_Symbol and exponent in (2, 3):
                return "(" + "*".join([self._print(base)] * int(exponent)) + ")"
            return super()._print_Pow(expression)

    return Printer({"human": False})
