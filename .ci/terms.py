"""Writes docs/terms.md: every module with what it is, and its public classes. With --check it says whether the page is current."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "terms.md"
HEAD = """# Terms

Every module of the package by its room, with what it is and the classes that it defines. The page is written by `python .ci/terms.py`.
"""


def sentence(node: ast.Module) -> str:
    """The first sentence of a docstring, on one line."""
    text = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".").replace("``", "`").replace("|", r"\|")


def page() -> str:
    rooms: dict[str, list[str]] = {}
    for path in sorted((ROOT / "symroof").rglob("*.py")):
        place, tree = path.relative_to(ROOT / "symroof"), ast.parse(path.read_text("utf-8"))
        room = place.parent.as_posix().replace(".", "symroof")
        if path.stem == "__init__":
            rooms.setdefault(room, []).insert(
                0, f"\n## {room}\n\n{sentence(tree)}.\n\n| module | what it is | classes |\n|:--|:--|:--|"
            )
            continue
        names = [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
        row = f"| `{path.stem}` | {sentence(tree)} | {', '.join(f'`{name}`' for name in names)} |"
        rooms.setdefault(room, []).append(row)
    return HEAD + "\n".join(row for rows in rooms.values() for row in rows) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(PAGE.read_text("utf-8") != page() and "docs/terms.md is stale: python .ci/terms.py")
    PAGE.write_text(page(), "utf-8")
