"""For Sphinx: the directive ``symroof-derive`` and the role ``symroof``. Documents in reStructuredText and in MyST.

    extensions = ["symroof.sphinx"]

    .. symroof-derive:: bf16[B, D] * bf16[D, F] -> bf16[B, F]
       :id: mm
       :hardware: tpu-v5e
       :assume: B << D, F

    A product is compute-bound from :symroof:`mm.smallest_integer` rows on.

The options are the keys of a block, in TOML where they are no plain text. Comments with blocks and values, as ``symroof
build`` writes them, need no extension.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective, SphinxRole

from symroof import __version__
from symroof.api.authoring import build_with
from symroof.building.block_contents import OWN
from symroof.building.build import BuiltDocument
from symroof.building.settings import SAID, Settings, settings_of
from symroof.errors import SymroofError
from symroof.rendering.figures.picture_digest import is_own

DISPLAY = re.compile(r"^\$\$\n.*?\n\$\$$", re.DOTALL | re.MULTILINE)
MATH = re.compile(r"\$([^$]+)\$")
# What an option says in TOML; anything else is text.
TOML = re.compile(r"\d+|true|false|[\[{\"'].*", re.DOTALL)


class symroof_value(nodes.Inline, nodes.TextElement):  # noqa: N801 (the names of nodes are in small letters)
    """A value that is put in once the whole document is read, for a block may stand behind it."""


def block(verb: str, options: Mapping[str, str], operation: str, rst: bool) -> str:
    """The block that a directive stands for.

    >>> print(block("derive", {"hardware": "tpu-v5e", "heading": "2"}, "dot", rst=True))
    .. symroof derive
       hardware = "tpu-v5e"
       heading = 2
       operation = "dot"
    <BLANKLINE>
    """
    lines = [f"{key} = {value if TOML.fullmatch(value) else json.dumps(value)}" for key, value in options.items()]
    lines += [f"operation = {json.dumps(operation)}"] if operation else []
    return (
        "\n   ".join((f".. symroof {verb}", *lines)) + "\n"
        if rst
        else "\n".join((f"<!-- symroof {verb}", *lines, "-->"))
    )


def built(text: str, path: Path, settings: Settings) -> BuiltDocument:
    """The document with its pictures written."""
    document = build_with(text, path=path, settings=settings)
    for file, data in document.files.items():
        if not file.is_file() or file.read_bytes() != data:
            file.write_bytes(data)
    return document


def _blocks(env: Any) -> dict[str, str]:
    """The blocks of the document that is being read, by their names or numbers."""
    blocks: dict[str, str] = env.temp_data.setdefault("symroof", {})
    return blocks


class SymroofDirective(SphinxDirective):
    """A block whose content stands in the document tree alone."""

    verb: ClassVar[str]
    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        operation = "\n".join((*self.arguments, *self.content)).strip()
        source = Path(self.env.doc2path(self.env.docname))
        rst = source.suffix == ".rst"
        unlabelled = {key: value for key, value in self.options.items() if key != "label"}
        blocks = _blocks(self.env)
        name = self.options.get("id") or str(len(blocks))
        if name in blocks:
            raise self.error(f"id: {name} is the name of another block")
        try:
            settings = settings_of(source, "rst" if rst else "dollar")
            own = self.options if rst else unlabelled
            document = built(block(self.verb, own, operation, rst), source, settings)
        except SymroofError as error:
            raise self.error(str(error)) from None
        if document.blocks[0].error is not None:
            raise self.error(document.blocks[0].error)
        blocks[name] = block(self.verb, unlabelled, operation, rst=False)
        holder = nodes.container()
        text = document.blocks[0].text
        if "label" in self.options and not rst:
            text = labelled(text, self.options["label"])
        lines = text.split("\n")
        self.state.nested_parse(StringList(lines, str(source)), self.content_offset, holder)
        return holder.children


def labelled(text: str, label: str) -> str:
    """Text of MyST with labels behind its displays; the second has a 2 behind it.

    >>> labelled("$$\\nB\\n$$\\n\\n$$\\nD\\n$$", "eq")
    '$$\\nB\\n$$ (eq)\\n\\n$$\\nD\\n$$ (eq-2)'
    """
    names = chain([label], (f"{label}-{number}" for number in count(2)))
    return DISPLAY.sub(lambda match: f"{match[0]} ({next(names)})", text)


class SymroofRole(SphinxRole):
    """A value of a block of the document."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        value = symroof_value(self.rawtext, self.text)
        value.source, value.line = self.get_source_info()
        return [value], []


class ValuesPutIn(SphinxTransform):
    """Values in place of what asks for them, for all of a document at once."""

    default_priority = 200

    def apply(self, **options: object) -> None:
        asking = list(self.document.findall(symroof_value))
        if not asking:
            return
        values = (f"value <!-- symroof = {node.astext()} --><!-- / -->" for node in asking)
        text = "\n\n".join((*_blocks(self.env).values(), *values))
        source = Path(self.env.doc2path(self.env.docname))
        try:
            document = built(text, source, replace(settings_of(source), form="markdown", dialect="dollar"))
        except SymroofError as error:
            self.document.reporter.error(f"symroof: {error}", base_node=asking[0])
            for node in asking:
                node.replace_self(nodes.problematic(node.astext(), node.astext()))
            return
        for node, value in zip(asking, document.blocks[-len(asking) :], strict=True):
            if value.error is not None:
                self.document.reporter.error(f"symroof: {value.error}", base_node=node)
            parts = MATH.split(value.text or node.astext())
            node.replace_self([nodes.math(p, p) if i % 2 else nodes.Text(p) for i, p in enumerate(parts) if p])


def pages_copied(app: Any, exception: Exception | None) -> None:
    """Pages that answer go into the site, beside the documents that frame them: Sphinx copies pictures alone."""
    if exception is not None or app.builder.format != "html":
        return
    source, output = Path(app.srcdir), Path(app.outdir)
    for page in source.rglob("*.html"):
        if not page.is_relative_to(output) and is_own(page.read_bytes(), "html"):
            place = output / page.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(page, place)


def setup(app: Any) -> dict[str, Any]:
    """What Sphinx calls."""
    for verb, own in OWN.items():
        spec = dict.fromkeys(("id", "problem", *own, *SAID), directives.unchanged)
        kind = type(f"Symroof{verb.title()}", (SymroofDirective,), {"verb": verb, "option_spec": spec})
        app.add_directive(f"symroof-{verb}", kind)
    app.add_role("symroof", SymroofRole())
    app.add_transform(ValuesPutIn)
    app.connect("build-finished", pages_copied)
    return {"version": __version__, "parallel_read_safe": True, "parallel_write_safe": True}
