"""No circle of imports: what a module imports when it is loaded never leads back to it."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "interpose").rglob("*.py")
}


def _at_load(tree: ast.Module) -> list[ast.stmt]:
    """Statements that run when the module is loaded, those for type checkers left out."""
    found: list[ast.stmt] = []
    todo = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        found.append(node)
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            todo += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    return found


def imports(name: str) -> set[str]:
    package = name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in _at_load(ast.parse(FILES[name].read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, *filter(None, [node.module])])
            for alias in node.names:
                whole = f"{base}.{alias.name}"
                found.add(whole if whole in FILES else base)
    return {module for module in found if module in FILES and module != name}


def test_no_circle() -> None:
    tuple(TopologicalSorter({name: imports(name) for name in FILES}).static_order())
