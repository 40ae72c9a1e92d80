"""For MkDocs: the plugin ``symroof`` writes blocks and values while the site is built; with ``check: true`` it fails
where what stands in a page is stale, and changes nothing. With ``mathml: true`` the formulas of a page, those of its author
as well, are typeset as MathML, which a browser shows without a script and without a network.

    plugins:
      - symroof:
          check: false
          mathml: true
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.base import Config
from mkdocs.config.config_options import Optional, Type
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin
from mkdocs.structure.files import File

from symroof.api.authoring import build
from symroof.errors import SymroofError
from symroof.rendering.formulas.mathml import typeset

FRAME = re.compile(r'(<iframe [^>]*?src=")([^":?#]+)"')


class SymroofConfig(Config):
    """The settings of the plugin."""

    check = Type(bool, default=False)
    mathml = Type(bool, default=False)
    dialect = Optional(Type(str))


class SymroofPlugin(BasePlugin[SymroofConfig]):
    """Blocks and values of every page; pictures are files of the site."""

    def on_page_markdown(self, markdown: str, /, *, page: Any, config: Any, files: Any) -> str:
        path = page.file.abs_src_path
        try:
            built = build(markdown, path=path, dialect=self.config.dialect)
        except SymroofError as error:
            raise PluginError(f"symroof: {error}") from None
        for block in built.blocks:
            if block.error is not None:
                raise PluginError(f"symroof: {block.error}")
            if self.config.check and block.status != "same":
                raise PluginError(f"symroof: {built.says(block)}; symroof build {page.file.src_uri} writes it anew")
        for picture, data in built.files.items():
            folder = Path(config.docs_dir).resolve()
            if not picture.is_relative_to(folder):
                raise PluginError(f"symroof: {page.file.src_uri}: {picture} is not in {folder}")
            name = picture.relative_to(folder).as_posix()
            if files.get_file_from_path(name) is None:
                files.append(File.generated(config, name, content=data))
        try:
            return typeset(built.text) if self.config.mathml else built.text
        except SymroofError as error:
            raise PluginError(f"symroof: {page.file.src_uri}: {error}") from None

    def on_page_content(self, html: str, /, *, page: Any, config: Any, files: Any) -> str:
        """Frames lead to files of the site, whatever the address of their page is: MkDocs follows links and pictures alone."""

        def led(frame: re.Match[str]) -> str:
            name = posixpath.normpath(posixpath.join(posixpath.dirname(page.file.src_uri), frame[2]))
            file = files.get_file_from_path(name)
            return frame[0] if file is None else f'{frame[1]}{file.url_relative_to(page.file)}"'

        return FRAME.sub(led, html)
