"""Functions of the package that note by themselves that they are called.

A statement is added to the code of each, in memory. Functions called in other processes are not
seen.
"""

import ast
import builtins
import contextlib
import gc
import importlib
import pkgutil
from collections import defaultdict
from pathlib import Path
from types import CodeType, FunctionType

CALLED = "_called_functions"  # a set among the built-in names


def functions_by_file() -> dict[str, list[FunctionType]]:
    """All functions that exist, by the file of their code."""
    found = defaultdict(list)
    for function in gc.get_objects():
        if isinstance(function, FunctionType):
            found[function.__code__.co_filename].append(function)
    return found


def exchange_code(functions: list[FunctionType], old: CodeType, new: CodeType) -> None:
    """Give the functions of an imported module the code of another version of it.

    The versions have the same functions in the same lines; those of one name in one line, such as
    the lambdas of a table, are told apart by their order.
    """
    old_codes, new_codes = _codes_by_place(old), _codes_by_place(new)
    for function in functions:
        place = function.__code__.co_qualname, function.__code__.co_firstlineno
        position = 0
        if len(old_codes[place]) > 1:
            columns = [_last_column(code) for code in old_codes[place]]
            position = columns.index(_last_column(function.__code__))
        function.__code__ = new_codes[place][position]


def _codes_by_place(module: CodeType) -> dict[tuple[str, int], list[CodeType]]:
    """Codes of all functions by name and line, from left to right."""
    found = defaultdict(list)
    waiting = [module]
    while waiting:
        code = waiting.pop()
        found[code.co_qualname, code.co_firstlineno].append(code)
        waiting += [const for const in code.co_consts if isinstance(const, CodeType)]
    return {place: sorted(codes, key=_last_column) for place, codes in found.items()}


def _last_column(code: CodeType) -> int:
    return max(column or 0 for _, _, column, _ in code.co_positions())


def noting_calls(text: str, path: Path, package: Path) -> CodeType:
    """The code of a module whose functions note that they are called."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            (note,) = ast.parse(f"{CALLED}.add('{path.relative_to(package)}:{node.name}')").body
            for part in ast.walk(note):
                ast.copy_location(part, node.body[0])
            node.body.insert(ast.get_docstring(node) is not None, note)
    return compile(tree, str(path), "exec")


def note_calls(package: Path) -> set[str]:
    """Have all functions of the package note their calls, as ``path/in/package.py:name``."""
    module = importlib.import_module(package.name)
    for info in pkgutil.walk_packages(module.__path__, f"{package.name}."):
        with contextlib.suppress(ImportError):  # an extra that is not installed
            importlib.import_module(info.name)
    called: set[str] = set()
    setattr(builtins, CALLED, called)
    found = functions_by_file()
    for path in package.rglob("*.py"):
        text = path.read_text()
        plain = compile(text, str(path), "exec")
        exchange_code(found[str(path)], plain, noting_calls(text, path, package))
    return called
