"""A page that answers while sizes move: one file of HTML with its data, its script and its style."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from sympy import Integer

from symroof.derivation.pipeline import Derivation, derive
from symroof.derivation.premises import Setting
from symroof.errors import CheckError, SymroofError
from symroof.exploration.live_data import Live, LiveChip, LiveWiring, data_of, live
from symroof.formula import Frozen
from symroof.model.hardware import Accelerator
from symroof.model.kernels import costs_of
from symroof.model.problem import SECTIONS, Problem
from symroof.model.quantities import time_name
from symroof.model.resources import LATENCY, MATH, VECTOR
from symroof.model.splits import open_axes, splits, stride
from symroof.model.tensor_types import dtype
from symroof.model.transforms import numeric_tensors, with_types
from symroof.reading.markup import html_of
from symroof.rendering.formulas.mathml import mathml
from symroof.rendering.live_roofline import static_roofline
from symroof.rendering.pages.derivation_page import render_derivation
from symroof.rendering.pages.number_formats import sizes, to_digits
from symroof.rendering.pages.templating import render, shipped_template, words
from symroof.rendering.pages.typesetting import Style, claims_typesetter, typesetter_of
from symroof.rendering.records.json_parts import Record
from symroof.symbols import fraction, symbol

# Where a page begins, for sizes of which nobody says a number.
USUAL = {
    "B": 64,
    "D": 8192,
    "F": 8192,
    "T": 2048,
    "S": 2048,
    "K": 128,
    "G": 4,
    "H": 8,
    "L": 32,
    "V": 32768,
    "E": 8,
    "k": 2,
}
USUAL_SIZE, USUAL_CHIPS = 1024, 4
# With how many statements there are other element types on a page.
SEVERAL = 12
# How high what stands in a frame is, in pixels: without its sizes, each row of sizes, and a second line of the head.
FRAME, ROW, LINE = 548, 42, 39
# What takes less than this part of the time of the arithmetic is not in its way.
SPARE = Fraction(1, 10)
# What the script has no use for.
UNUSED = frozenset(("T_lower", "T_upper", "intensity"))
# What the formulas of a page leave to a reader of the screen.
ALTTEXT = re.compile(r' alttext="[^"]*"')
BETWEEN = re.compile(r'(</\w+>)<mo form="infix">([^<]*)</mo>(?=<m)')
# The derivation of a line: its table and its times stand on the page in numbers.
STEPS = tuple(name for name in SECTIONS if name not in ("answer", "time"))
# The title of a derivation, which the page has, and the text of its program.
ABOVE = re.compile(r"\s*(?:<h3>.*?</h3>)?\s*(<pre>.*?</pre>)?(.*)", re.DOTALL)
ROWS = re.compile(r"\n(</?(?:t[dhr]|thead|tbody|table)\b)")
WRAPPED = re.compile(r'<span class="math">(<math[ >](?:(?!</?span).)*)</span>', re.DOTALL)
STYLED = re.compile(r' style="[^"]*"')


class ShownPage(Frozen):
    """A page that answers while sizes move, of a problem on some chips.

    >>> import symroof as sr
    >>> sr.page("matmul", on="tpu-v5e, h100")
    <page of bf16[B, D] * bf16[D, F] -> bf16[B, F] on 2 chips>
    """

    problem: Problem
    chips: tuple[Accelerator, ...]

    @property
    def html(self) -> str:
        """The page in the language of its problem."""
        return self.to_html()

    def to_html(self, lang: str | None = None, title: str | None = None) -> str:
        """The page as one file of HTML; ``title`` stands above it in place of the operation."""
        return self.written(lang, title).html()

    def save(self, path: str | Path, lang: str | None = None) -> None:
        """Write the page to a file."""
        Path(path).write_text(self.to_html(lang), "utf-8")

    def data(self) -> Record:
        """What the script of the page computes with."""
        return self.written().data

    def written(self, lang: str | None = None, title: str | None = None) -> LivePage:
        """What stands on the page, in a language."""
        kinds = tuple(_kinds(self.problem, self.chips))
        fitting = next(live.chip for live in kinds[0][1].chips if not live.error)
        at = replace(self.problem, hardware=fitting, at=())
        if at.operation.line is not None:
            at = replace(at, sections=STEPS)
        return LivePage(derive(at), self.problem.at, kinds, Style(lang=lang).of(self.problem), title)

    def _repr_html_(self) -> str:
        written = self.written()
        return in_frame(written.html(), written.height)

    def __repr__(self) -> str:
        operation = self.problem.operation
        return f"<page of {operation.entry or self.problem.title or operation} on {len(self.chips)} chips>"


def in_frame(html: str, height: int) -> str:
    """A page in a frame of its own, for a notebook."""
    written = html.replace("&", "&amp;").replace('"', "&quot;")
    return f'<iframe srcdoc="{written}" width="100%" height="{height}" loading="lazy" frameborder="0"></iframe>'


# Element types beside those that are written: of the weights alone, or of everything.
OTHERS = (("int8_weights", "int8", True), ("all_int8", "int8", False), ("all_fp8", "fp8", False))


def _kinds(problem: Problem, chips: Sequence[Accelerator]) -> Iterator[tuple[str, Live]]:
    """The problem as it is written, and with other element types where its chip has figures for them; a mesh as it is."""
    yield "as_written", live(problem, chips)
    operation = problem.operation
    if operation.axes or problem.training or operation.given is not None or len(costs_of(operation)) > SEVERAL:
        return
    seen = {str(operation)}
    for label, kind, weights in OTHERS:
        weight_names = (
            [t.name for t in operation.declared_as("weight")]
            if operation.product is None
            else [list(operation.arrays)[1]]
        )
        types = dict.fromkeys(map(str, weight_names if weights else numeric_tensors(operation)), dtype(kind))
        try:
            changed = with_types(operation, types)
            if str(changed) in seen:
                continue
            other = live(replace(problem, operation=changed), chips, 1)
        except SymroofError:
            continue
        if not other.chips[0].error:
            seen.add(str(changed))
            yield label, other


class LivePage:
    """What a page says, in one language: a problem in several element types, and the derivation of the first."""

    def __init__(
        self,
        derivation: Derivation,
        at: Sequence[Mapping[str, Fraction]],
        kinds: Sequence[tuple[str, Live]],
        style: Style,
        title: str | None,
    ) -> None:
        self.derivation = derivation
        self.kinds = tuple((label, replace(kind, ways=tuple(map(_used, kind.ways)))) for label, kind in kinds)
        problem = derivation.setting.problem
        self.title = title or problem.title or problem.operation.entry or problem.operation.title
        self.put = at[0] if at else {}
        self.style = replace(style, dialect="mathml", brief=False)
        self.problem = derivation.setting.problem
        self.formulas: dict[str, int] = {}

    @property
    def live(self) -> Live:
        return self.kinds[0][1]

    @cached_property
    def words(self) -> Mapping[str, str]:
        """What the script says."""
        return {**self._words("live"), **(self._words("wired") if self.live.axes else {})}

    def _words(self, name: str) -> Mapping[str, str]:
        result: Mapping[str, str] = getattr(words(self.style.template, self.style.language, "live"), name)
        return result

    @property
    def height(self) -> int:
        """How high a frame is that holds what stands in one."""
        return FRAME + ROW * len(self.live.names) + LINE * (len(self.kinds) > 1)

    @cached_property
    def data(self) -> Record:
        """What the script computes with."""
        kinds = [self._kind(label, kind) for label, kind in self.kinds]
        first, *others = [kind["chips"] for kind in kinds]
        for kind, chips in zip(kinds[1:], others, strict=True):
            kind["chips"] = [0 if chip == usual else chip for chip, usual in zip(chips, first, strict=True)]
        return {
            "names": list(self.live.names),
            "axes": [{"n": axis.name, "said": axis.user_wiring} for axis in self.live.axes],
            "splits": list(self._splits()),
            "turned": [n for n in self.derivation.setting.turned() if n in self.live.names],
            "start": self._start,
            "chips": [self._chip(chip) for chip in self.live.chips],
            "kinds": kinds,
            "words": dict(self.words),
        }

    def _kind(self, label: str, kind: Live) -> dict[str, Any]:
        data = data_of(kind)
        del data["names"]
        for way, record in zip(kind.ways, data["ways"], strict=True):
            record |= self._way(way, kind)
        chips = [self._chip_figures(chip, data["figures"]) for chip in kind.chips]
        command = self._command(kind.ways[0].setting, kind is self.live)
        return {**data, "t": self._words("heads")[label], "chips": chips, "asked": command}

    def _command(self, setting: Setting, written: bool) -> list[str] | None:
        """The arguments of a command that derives this; None where no single line does."""
        problem, operation = setting.problem, self.problem.operation if written else setting.problem.operation
        if written and operation.entry:
            arguments = [operation.entry]
        elif problem.training or operation.given is not None or problem.let:
            return None
        else:
            arguments = ["; ".join(line.strip() for line in str(operation).split("\n") if line.strip())]
        arguments += ["--latency"] if operation.latency else []
        if problem.assume:
            arguments += ["--assume", claims_typesetter(setting.layout).condition(problem.assume)]
        arguments += ["--count", problem.count] if problem.count != "fma" else []
        return [*arguments, "--compute", str(problem.compute)] if problem.compute else arguments

    def _way(self, way: LiveWiring, kind: Live) -> Record:
        setting, times = way.setting, self._times(way)
        printer = typesetter_of("markdown", setting.layout, setting.problem.link, self.style).printer
        solved: dict[str, dict[str, int]] = {}
        for (size, resource), result in way.solved.items():
            if times[resource] >= times[MATH] * SPARE:
                text = bare_html(mathml(printer.print(result.formula), display=True))
                solved.setdefault(size, {})[resource] = self.formulas.setdefault(text, len(self.formulas))
        groups = [
            [" + ".join(names) if len(names) < 4 else f"{names[0]} … {names[-1]}", list(names)] for names in way.groups
        ]
        numbers = {axis.name: list(way.numbers(axis.name)) for axis in kind.axes}
        names = {"flops": setting.flops_name, "bytes": "bytes_per_chip" if setting.several_chips else "bytes"}
        where = [name for name in setting.problem.operation.where if name in way.values]
        return {
            "w": where,
            "l": [name for name in setting.problem.let if name in way.values],
            "r": list(_resources(setting)),
            "s": solved,
            "g": groups,
            "a": numbers,
            "k": names,
        }

    def _chip(self, live: LiveChip) -> Record:
        chip, domain = live.chip, live.chip.domain
        wired = {"l": list(live.links), "c": chip.closing, "d": domain and int(domain.value)} if self.live.axes else {}
        return {"n": chip.name, "t": chip.title, **wired}

    def _chip_figures(self, live: LiveChip, figures: Sequence[str]) -> str | list[object]:
        """A chip with one kind of element types: why it has no times; or its figures, what its peak is, and its ways."""
        if live.error:
            return live.error
        ways = {",".join(wiring): place for wiring, place in live.ways.items()}
        return [[live.figures.get(name, "") for name in (*figures, "capacity")], live.peak, ways]

    @cached_property
    def _start(self) -> dict[str, int]:
        """The sizes at which the page begins: those that are put in, else usual ones that the chips share out."""
        program = self.problem.operation
        axes = {axis.name for axis in self.live.axes}
        usual = {n: USUAL_CHIPS if n in axes else USUAL.get(n, USUAL_SIZE) for n in self.live.names}
        start = {name: int(self.put.get(name, usual[name])) for name in self.live.names}
        for name in {*start} - {*self.put} - axes:
            step = stride(program, self.problem.mesh, name, {n: Fraction(size) for n, size in start.items()})
            start[name] = -(-start[name] // step) * step
        return start

    def _splits(self) -> Iterable[list[object]]:
        """Each size that chips share out: by how many that are known, and by which axes of any number."""
        program = self.live.ways[0].setting.problem.operation
        chips = {axis.name: axis.chips or 1 for axis in program.mesh}
        free = set(open_axes(self.live.ways[0].setting.problem.mesh))
        for label, axes in splits(program) if program.axes else ():
            fixed = 1
            for axis in axes:
                fixed *= 1 if axis in free else chips[axis]
            yield [label, fixed, [axis for axis in axes if axis in free]]

    @cached_property
    def _json(self) -> str:
        return json.dumps(self.data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")

    @property
    def digest(self) -> str:
        """A digest of what the page computes with."""
        return hashlib.sha256(self._json.encode()).hexdigest()[:16]

    def html(self) -> str:
        """The whole page."""
        data, script, sheet = self._json, _shipped("live.min.js"), _shipped("live.min.css")
        written = bare_html(html_of(render_derivation(self.derivation, "markdown", replace(self.style, heading=3))))
        program, steps = ABOVE.findall(written)[0]
        way = self.live.way_at(self._start) or self.live.ways[0]
        times, first = self._times(way), way.setting
        facts = {
            "title": self.title,
            "data": data,
            "formulas": "".join(self.formulas),
            "script": script,
            "sheet": sheet,
            "policy": f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(sheet)}'; base-uri 'none'; form-action 'none'",
            "program": program,
            "derivation": steps,
            "count": sum(len(way.values) for _, kind in self.kinds for way in kind.ways),
            "steps": sum(self.derivation.counts().values()),
            "digest": self.digest,
            "w": self.words,
            "h": self._words("heads"),
            "verdict": self._verdict(way, times),
            "begins": sizes({name: Fraction(size) for name, size in self._start.items()}),
            "static": static_roofline(first, times, self._value(way, first.flops_name)),
            "chip": next(live.chip.title for live in self.live.chips if not live.error),
        }
        return render("page/live.html.j2", None, self.style.language, facts)

    def _value(self, way: LiveWiring, name: str) -> Fraction:
        """A quantity at the sizes with which the page begins, on its first chip."""
        point = {symbol(size): Integer(number) for size, number in self._start.items()}
        return fraction(way.setting.in_numbers(way.values[name].subs(point)))

    def _times(self, way: LiveWiring) -> dict[str, Fraction]:
        return {resource: self._value(way, time_name(resource)) for resource in way.setting.rates.resources}

    def _verdict(self, way: LiveWiring, times: Mapping[str, Fraction]) -> str:
        """What waits for what at the sizes with which the page begins, for readers without a script."""
        w, most = self.words, max(times.values())
        _, name, _, kind = next(row for row in _resources(way.setting) if times[row[0]] == most)
        sentence = w[f"by_{kind}"].replace("{name}", name)
        if times[MATH] < most:
            sentence += w["comma"] + w["of_peak"].replace("{share}", f"{to_digits(times[MATH] / most * 100, 3)} %")
        capacity = way.setting.known.get(f"capacity.{way.setting.rates.memory}")
        memory = [self._value(way, name) for name in ("memory_per_chip", "memory") if name in way.values]
        full = capacity and memory and memory[0] > capacity.value
        return sentence + w["semicolon"] + w["not_held"] if full else sentence


def _resources(setting: Setting) -> Iterator[list[str]]:
    """Each resource that has a time: how it is called, the name of its figure, and what it is."""
    rates = setting.rates
    figures = {MATH: "peak", VECTOR: rates.vector or "", LATENCY: next(iter(rates.hops), "")}
    for resource in rates.resources:
        shown = (rates.called or setting.link) if resource == rates.comms else resource
        kind = "link" if resource in dict(rates.links) else resource if resource in figures else "memory"
        yield [resource, shown, figures.get(resource) or rates.rate(resource), kind]


def bare_html(html: str) -> str:
    """HTML without what a policy of hashes blocks, without the LaTeX of its formulas and what is around them, and without the
    form of operators that is theirs already, between two others."""
    formulas = WRAPPED.sub(r"\1", STYLED.sub("", ALTTEXT.sub("", ROWS.sub(r"\1", html))))
    return BETWEEN.sub(r"\1<mo>\2</mo>", formulas)


def _used(way: LiveWiring) -> LiveWiring:
    """A way with the quantities that the script has a use for."""
    return replace(way, values={name: value for name, value in way.values.items() if name not in UNUSED})


def _shipped(name: str) -> str:
    result = shipped_template(f"page/{name}")
    if result is None:
        raise CheckError(f"the template {name} is not shipped")
    return result


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
