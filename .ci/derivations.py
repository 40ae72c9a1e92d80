"""For MkDocs: the derivations of the examples are pages of the site, each below the file that asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

EXAMPLES = Path(__file__).parent.parent / "examples"
SECTION = "Whole derivations"


def on_files(files: Files, config: Any) -> Files:
    """A page for each entry of the section, with the title that it has there."""
    for entry in next(part[SECTION] for part in config["nav"] if SECTION in part):
        ((title, page),) = entry.items()
        path = EXAMPLES / Path(page).name
        asked = path.with_suffix(".toml")
        derivation = path.read_text("utf-8").replace("\n### ", "\n## ").replace("### ", "## ", 1)
        text = f'# {title}\n\n```toml title="{asked.name}"\n{asked.read_text("utf-8")}```\n\n{derivation}'
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A link to a derivation in the repository leads to its page."""
    return markdown.replace("](../examples/", "](examples/")
