"""Places in the source that can be mutated, and the mutations."""

import ast
import copy
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "consilience"
PAIRS = [
    *[(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot)],
    *[(ast.In, ast.NotIn), (ast.And, ast.Or), (ast.BitAnd, ast.BitOr)],
    *[(ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.FloorDiv, ast.Mod)],
]
SWAPS = {**dict(PAIRS), **{b: a for a, b in PAIRS}}
# how a figure looks is not tested
COSMETIC = {
    *("capsize", "color", "figsize", "fontsize", "labelpad", "labelsize", "linewidth"),
    *("linewidths", "lw", "ms", "rotation", "zorder"),
}
MIRRORED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}


@dataclass(frozen=True)
class Site:
    """One node that can be mutated: its place in ``ast.walk`` order, its line and its function."""

    path: Path
    position: int
    line: int
    function: str

    @property
    def package(self) -> str:
        parts = self.path.relative_to(PACKAGE).parts
        return parts[0] if len(parts) > 1 else "top level"

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(PACKAGE)}:{self.line} {self.function}"


def replacements(node: ast.AST) -> list[ast.AST]:
    """Every mutation of one node, as a node to put in its place."""
    found = []
    if isinstance(node, ast.Compare):
        for table in (SWAPS, MIRRORED):
            if type(node.ops[0]) in table:
                found.append(copy.deepcopy(node))
                found[-1].ops[0] = table[type(node.ops[0])]()
    elif isinstance(node, ast.BinOp | ast.BoolOp | ast.AugAssign) and type(node.op) in SWAPS:
        found.append(copy.deepcopy(node))
        found[-1].op = SWAPS[type(node.op)]()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        found.append(node.operand)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        values = {node.value + 1, node.value - 1, node.value * 2} - {node.value}
        found += [ast.Constant(value) for value in sorted(values)]
    elif isinstance(node, ast.Return) and isinstance(node.value, ast.Compare | ast.BoolOp):
        found.append(ast.Return(ast.UnaryOp(ast.Not(), node.value)))
    return found


def code_nodes(node: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, str]]:
    """Nodes in the bodies of functions; no messages, annotations, defaults, decorators or looks."""
    is_warning = isinstance(node, ast.Call) and "warn" in ast.unparse(node.func)
    is_look = isinstance(node, ast.keyword) and node.arg in COSMETIC
    if is_warning or is_look or isinstance(node, ast.Raise | ast.JoinedStr):
        return
    if function:
        yield node, function
    if isinstance(node, ast.FunctionDef):
        children, function = iter(node.body), node.name
    elif isinstance(node, ast.AnnAssign):
        children = iter([node.value] if node.value else [])
    else:
        children = ast.iter_child_nodes(node)
    for child in children:
        yield from code_nodes(child, function)


def find_sites(packages: list[str]) -> list[Site]:
    """Sites of packages or modules in this order, or all."""
    sites = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        positions = {id(node): position for position, node in enumerate(ast.walk(tree))}
        sites += [
            Site(path, positions[id(node)], node.lineno, function)
            for statement in tree.body
            for node, function in code_nodes(statement)
            if replacements(node)
        ]
    if not packages:
        return sites
    known = {site.package for site in sites}
    return [
        site
        for wanted in dict.fromkeys(packages)
        for site in sites
        if wanted == (site.package if wanted in known else site.path.stem)
    ]


def mutate(site: Site, seed: int) -> tuple[str, str]:
    """Return the source of the module with one random mutation, and a description of it."""
    choose = random.Random(f"{seed} {site.path.relative_to(PACKAGE)} {site.position}")
    tree = ast.parse(site.path.read_text())
    target = list(ast.walk(tree))[site.position]
    replacement = choose.choice(replacements(target))
    change = f"{ast.unparse(target)}  ->  {ast.unparse(replacement)}"

    class Replace(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return replacement if node is target else self.generic_visit(node)

    return ast.unparse(ast.fix_missing_locations(Replace().visit(tree))), change
