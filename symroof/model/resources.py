"""What a program keeps busy on a chip: arithmetic, vector arithmetic and a memory, and for how long.

    T_math(h)   = flops(h)/peak          T_lower = the maximum of the sums: everything overlaps
    T_vector(h) = ops(h)/peak.vector     T_steps = the sum over statements, fuses and blocks of the maximum of theirs
    T_HBM(h)    = bytes(h)/bandwidth     T_upper = the sum of everything: nothing overlaps

Each contraction runs at the peak of its own widest input type. A statement is one with those that join it.

Where latency counts, an exchange takes the longer of its bytes and its hops, T_X(h) and T_hops(h): T_steps and T_upper are
over these, and T_lower has beside the bytes of each link T_latency, the longest that hops take one time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import chain

from sympy import Add, Expr, Integer

from symroof.formula import Call, Formula, Frozen, Name, Number, Quotient, number, product, total
from symroof.model.chip_costs import busy_links, chip_costs
from symroof.model.collectives import BACK, NETWORKS, is_latency
from symroof.model.hardware import Accelerator, Spec, nearest_name
from symroof.model.kernels import costs_of, is_idle
from symroof.model.pipeline_stages import pipeline_of, stages_in, time_with_wait, wait_time
from symroof.model.program import Program
from symroof.model.program_tree import EXCHANGE
from symroof.model.quantities import NAMELESS, PEAK, hops_over, of_statement, sent_over, time_name
from symroof.symbols import expression

MATH, VECTOR, COMMS, LATENCY = "math", "vector", "comms", "latency"
# The hops of an exchange, in all turns.
HOPS = "hops"
# The peak of the vector unit, where a chip has it.
OF_VECTOR = "peak.vector"


class Rates(Frozen):
    """The figure that each contraction runs at by the name of its result, that of the vector unit (None where the chip
    has none, or where there is nothing for it to do beside), the memory that is read and written, and the links that are
    sent over on a mesh, each with its figure. ``comms`` is the one of them that T_comms is the time of; where they are
    ``joint``, no link is named, and T_comms is the longest time of the memory and all links. The memory of a statement
    without a name, on one chip, is all that there is beside the arithmetic: its time is T_comms, ``called`` by its name too.
    ``idle`` are the arithmetic and the memory of a program that gives them nothing to do. Where latency counts,
    ``waits`` are the exchanges with what they take in all turns: their link, their statement, the names of the times of
    their bytes and of their hops; ``latencies`` what hops take one time that may take longest, and ``hops`` the figures
    of all of them."""

    peaks: tuple[tuple[str, str], ...]
    vector: str | None = None
    memory: str = "HBM"
    links: tuple[tuple[str, str], ...] = ()
    comms: str = "HBM"
    joint: bool = False
    called: str = ""
    idle: tuple[str, ...] = ()
    waits: tuple[tuple[str, str, str, str], ...] = ()
    latencies: tuple[Formula, ...] = ()
    hops: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The figures of arithmetic, each once: ``peak`` alone where every contraction has the same."""
        return tuple(dict.fromkeys(name for _, name in self.peaks))

    @property
    def mixed(self) -> bool:
        """Whether contractions run at several peaks, so that no intensity tells which side is longer."""
        return len(self.names) > 1

    @property
    def compared(self) -> str:
        """The time that an intensity stands for: that of the memory, where T_comms is the longest of several."""
        return time_name(self.comms) if self.joint else "T_comms"

    @property
    def resources(self) -> tuple[str, ...]:
        """What can be busy, in the order of reading."""
        links = (name for name in (self.memory, *(name for name, _ in self.links)) if name != self.comms)
        result = (MATH, *self.roofless, *links, self.comms)
        return tuple(name for name in result if name not in self.idle)

    @property
    def moving(self) -> tuple[str, ...]:
        """The memory and the links, as far as they can be busy, and the hops."""
        resources = (self.memory, *(link for link, _ in self.links), *(r for r in self.roofless if r != VECTOR))
        return tuple(name for name in resources if name not in self.idle)

    @property
    def roofless(self) -> tuple[str, ...]:
        """What may take longest and has no roof: the vector unit, and hops."""
        return (*((VECTOR,) if self.vector else ()), *((LATENCY,) if self.latencies else ()))

    def waiting(self, resource: str, name: str | None = None) -> tuple[Formula, ...]:
        """What the exchanges over a link take, of one statement or of all: each the longer of its bytes and its hops."""
        rows = (row for row in self.waits if row[0] == resource and name in (None, row[1]))
        return tuple(Call("max", (Name(moved), Name(hops))) for _, _, moved, hops in rows)

    @property
    def busy_figures(self) -> tuple[str, ...]:
        """The figures of the memory and the links that can be busy."""
        return tuple(self.rate(name) for name in self.resources if name not in (MATH, VECTOR, LATENCY))

    def rate(self, resource: str) -> str:
        """The figure of a memory or a link: that of the link of the problem is ``bandwidth``, whichever axis is on it."""
        figures = dict(self.links)
        figure, compared = (figures.get(name, name) for name in (resource, self.comms))
        return "bandwidth" if figure == compared else figure


def rates_of(
    program: Program, chip: Accelerator | None, compute: object, memory: str, comms: str = "", joint: bool = False
) -> Rates:
    """The rates of a program; ``compute`` is the type that all arithmetic is said to run at, None for each its own."""
    if program.alone:
        return Rates(((NAMELESS, "peak"),), memory=COMMS, comms=COMMS, called=memory)
    products = {line.statement.name: line.statement.product for line in program.lines if line.statement.contracts}
    forced = compute is not None
    peaks = {
        name: _peak(chip, product.compute) for name, product in products.items() if product is not None and not forced
    }
    if len(set(peaks.values())) < 2:
        peaks = dict.fromkeys(costs_of(program) if program.vector else products, "peak")
    figures = {name: str(a.link) for a in program.mesh for name in (a.name, a.name + BACK, str(a.link))}
    figures |= {name: name for a in program.mesh if a.tree for name in a.links}
    links = tuple((name, figures[name]) for name in busy_links(program))
    result = Rates(tuple(peaks.items()), vector_peak(program, chip), memory, links, comms or memory)
    result = _waiting(program, result) if program.latency else result
    joint = joint and bool(result.moving[1:])
    if is_idle(program):
        nothing_moves = all(cost.loads == () == cost.stores for cost in costs_of(program).values())
        idle = (MATH, memory) if nothing_moves else (MATH,)
        return replace(result, peaks=(), vector=None, joint=joint and not nothing_moves, idle=idle)
    return replace(result, joint=joint and len(set(peaks.values())) == 1)


def _waiting(program: Program, rates: Rates) -> Rates:
    """The rates with the exchanges, each of which takes its bytes or its hops."""
    waits, longest = list[tuple[str, str, str, str]](), dict[frozenset[tuple[str, Expr]], Formula]()
    for name, cost in chip_costs(program).items():
        for exchange in cost.exchanges:
            hops = tuple(product(_hops_formula(n), Name(figure)) for figure, n in exchange.hops.items())
            longest.setdefault(frozenset(exchange.hops.items()), total(*hops))
            for resource in exchange.sent:
                moved = time_name(resource, exchange.label if len(cost.over(resource)) > 1 else name)
                waits.append((resource, name, moved, time_name(HOPS, exchange.label)))
    most = [kind for kind in longest if not any(_more(dict(other), dict(kind)) for other in longest)]
    figures = tuple(dict.fromkeys(figure for kind in longest for figure, _ in sorted(kind, key=str)))
    return replace(rates, waits=tuple(waits), latencies=tuple(longest[kind] for kind in most), hops=figures)


def _more(hops: Mapping[str, Expr], other: Mapping[str, Expr]) -> bool:
    """Whether hops are more than others of the same links, whatever their latency."""
    gaps = [hops.get(figure, Integer(0)) - other.get(figure, Integer(0)) for figure in {*hops, *other}]
    return hops != other and all(gap.is_Rational and gap >= 0 for gap in gaps)


def slowest(rates: Rates, figures: Mapping[Expr, Expr]) -> Rates:
    """The rates with what hops take that take longest as the figures are, where these are known of all."""
    values = {latency: expression(latency).subs(figures) for latency in rates.latencies}
    if len(values) < 2 or not all(value.is_Rational for value in values.values()):
        return rates
    return replace(rates, latencies=(max(values, key=lambda latency: values[latency]),))


def _hops_formula(hops: Expr) -> Formula:
    """A number of hops: half of axes whose numbers are open, and a number."""
    number_, rest = hops.as_coeff_Add()
    terms: list[Formula] = [] if number_ == 0 else [number(Fraction(str(number_)))]
    for term in Add.make_args(rest) if rest != 0 else ():
        by, axis = term.as_coeff_Mul()
        times = by.p if by.p != 1 else None
        multiple: Formula = Name(str(axis)) if times is None else product(number(times), Name(str(axis)))
        terms.append(multiple if by.q == 1 else Quotient(multiple, number(by.q)))
    return total(*terms)


def vector_peak(program: Program, chip: Accelerator | None) -> str | None:
    """The figure of the vector unit; None where the chip has none, where nothing is done for it, or where there are no
    contractions, whose peak it then is."""
    works = not program.vector and any(cost.ops != 0 for cost in costs_of(program).values())
    return OF_VECTOR if works and chip is not None and OF_VECTOR in chip.figures else None


def _peak(chip: Accelerator | None, compute: object) -> str:
    """The name of the figure of a type: ``peak`` itself overrides them all."""
    return "peak" if chip is not None and "peak" in chip.figures else f"peak.{compute}"


def figures_of(rates: Rates, chip: Accelerator | None) -> dict[str, Spec]:
    """The known figures that only the times of programs need, by name."""
    carriers = (name for name in rates.busy_figures if name != "bandwidth")
    used = (*(rates.names if rates.mixed else ()), *((rates.vector,) if rates.vector else ()), *carriers, *rates.hops)
    open_ = chip is None or (chip.name == "given" and not any(name.startswith("peak") for name in chip.figures))
    if chip is None or open_:
        return {}
    links = {figure for _, figure in rates.links}
    networks = [link for link in chip.links if link in NETWORKS]
    other = f"write the mesh on {' or '.join(networks)}, or " if networks else ""

    def hint(name: str) -> str | None:
        if is_latency(name):
            return f"say --given {name}=1us"
        return (nearest_name(name, chip.figures) or f"{other}say --given {name}=…") if name in links else None

    unsaid = {rates.memory} - {*chip.figures} if chip.name == "given" else set[str]()  # it stays open, as on no chip
    return {name: chip.figure(name, hint(name)) for name in used if name not in unsaid}


def time_names(program: Program, memory: str, chip: Accelerator | None) -> tuple[str, ...]:
    """The times that only programs have, by name; a statement without a name has on one chip that of its memory."""
    if program.alone:
        return (time_name(memory),)
    vector = (VECTOR,) if vector_peak(program, chip) else ()
    resources = (*(() if is_idle(program) else (MATH,)), *vector, memory, *busy_links(program))
    times = [time_name(r, name) for name in costs_of(program) for r in resources]
    if program.latency and any(cost.exchanges for cost in chip_costs(program).values()):
        resources = (*resources, LATENCY)
        for cost in chip_costs(program).values():
            times += [time_name(r, send.label) for send in cost.exchanges for r in send.sent if len(cost.over(r)) > 1]
            times += [time_name(HOPS, send.label) for send in cost.exchanges]
    return (*dict.fromkeys(times), *(time_name(r) for r in resources if r != MATH), "T_steps")


def times_of(program: Program, rates: Rates) -> dict[str, Formula]:
    """What each time of a program is, but for T_steps: those of its statements, their sums, and the two bounds."""
    result = _times_of_statements(program, rates)
    suffix = "_per_chip" if program.axes else ""
    parts = tuple(Name(time_name(MATH, name)) for name, _ in rates.peaks)
    if MATH not in rates.idle:
        result["T_math"] = total(*parts) if rates.mixed else Quotient(Name(f"flops{suffix}"), PEAK)
    if rates.memory not in rates.idle:
        result[time_name(rates.memory)] = Quotient(Name(f"bytes{suffix}"), Name(rates.rate(rates.memory)))
    for link, _ in rates.links:
        result[time_name(link)] = Quotient(Name(sent_over(link)), Name(rates.rate(link)))
    if rates.latencies:
        longest = rates.latencies
        result[time_name(LATENCY)] = Call("max", longest) if len(longest) > 1 else longest[0]
    moving = tuple(Name(time_name(name)) for name in rates.moving)
    result["T_comms"] = Call("max", moving) if rates.joint else result[time_name(rates.comms)]
    if rates.vector is not None:
        result["T_vector"] = Quotient(Name(f"ops{suffix}"), Name(rates.vector))
    if rates.called:
        result[time_name(rates.called)] = result["T_comms"]
    sums = tuple(Name(time_name(resource)) for resource in rates.resources)
    waits = (rates.waiting(r) or ((Name(time_name(r)),) if r != LATENCY else ()) for r in rates.resources)
    upper = total(*chain(*waits), *_wait(program, rates, result))
    return result | {"T_lower": Call("max", sums) if len(sums) > 1 else sums[0], "T_upper": upper}


def _times_of_statements(program: Program, rates: Rates) -> dict[str, Formula]:
    """The times of each statement, and of each exchange where messages wait for one another.

    A statement that has nothing to do for a resource takes none of its time.
    """
    at, owners, ops = dict(rates.peaks), costs_of(program), program.vector
    result: dict[str, Formula] = {}
    suffix = "_per_chip" if program.axes else ""
    for name, cost in owners.items():
        chip = chip_costs(program).get(name, cost)  # what is exchanged moves on chips alone
        flops, moved = cost.ops if ops else cost.flops, (*chip.loads, *chip.stores)
        work = of_statement(f"{'ops' if ops else 'flops'}{suffix}", name)
        if MATH not in rates.idle:
            result[time_name(MATH, name)] = _over(work, at.get(name, "peak"), flops != 0)
        if rates.vector is not None:
            result[time_name(VECTOR, name)] = _over(of_statement(f"ops{suffix}", name), rates.vector, cost.ops != 0)
        if rates.memory not in rates.idle:
            bytes_moved = of_statement(f"bytes{suffix}", name)
            result[time_name(rates.memory, name)] = _over(bytes_moved, rates.rate(rates.memory), bool(moved))
        for link, _ in rates.links:
            sends = chip_costs(program)[name].sent.get(link, 0) != 0
            result[time_name(link, name)] = _over(sent_over(link, name), rates.rate(link), sends)
        for send in chip_costs(program)[name].exchanges if rates.latencies else ():
            several = [link for link in send.sent if len(chip_costs(program)[name].over(link)) > 1]
            result |= {
                time_name(r, send.label): Quotient(Name(sent_over(r, send.label)), Name(rates.rate(r))) for r in several
            }
            hops = (product(Name(hops_over(figure, send.label)), Name(figure)) for figure in send.hops)
            result[time_name(HOPS, send.label)] = total(*hops)
    return result


def stage_statements(program: Program) -> tuple[str, ...]:
    """The statements with costs of their own that stand in the turns that the stages of a pipeline share out."""
    if pipeline_of(program) is None:
        return ()
    inside = {line.statement.name for line in program.lines if stages_in(line.repeats)}
    return tuple(name for name in costs_of(program) if name in inside)


def _wait(program: Program, rates: Rates, times: Mapping[str, Formula]) -> tuple[Formula, ...]:
    """How long a chip waits for the first microbatch and after the last where nothing overlaps."""
    stage_times = [time for parts in busy_times(times, rates, stage_statements(program)).values() for time in parts]
    return (wait_time(total(*stage_times)),) if stage_times else ()


def every_time(program: Program, rates: Rates) -> dict[str, Formula]:
    """What each time of a program is; one statement overlaps with itself alone."""
    return times_of(program, rates) | ({} if program.alone else {"T_steps": steps_of(program, rates)})


def _over(amount: str, rate: str, busy: bool) -> Formula:
    return Quotient(Name(amount), Name(rate)) if busy else number(0)


def overlaps(program: Program) -> tuple[tuple[str, ...], ...]:
    """The statements that overlap as one: those of a block or a fuse, any other by itself; each under the name that its
    costs have. Of several those are left out that leave what they make where it is, and copy nothing."""
    if program.alone:
        return (tuple(costs_of(program)),)
    around = {line.statement.name: line for line in program.lines}
    groups: dict[object, list[str]] = {}
    for name in costs_of(program):
        line = around[name]
        key: object = ("block", line.block) if line.block is not None else id(line.fuse) if line.fuse else name
        groups.setdefault(key, []).append(name)

    def idle(name: str) -> bool:
        cost, statement = costs_of(program)[name], around[name].statement
        return statement.lies and statement.kind != EXCHANGE and not (cost.loads or cost.stores)

    pairs = ((group, [name for name in group if not idle(name)]) for group in groups.values())
    return tuple(tuple(busy or group) for group, busy in pairs)


def busy_times(times: Mapping[str, Formula], rates: Rates, names: Iterable[str]) -> Mapping[str, tuple[Formula, ...]]:
    """For each resource that some of these statements keep busy, their times: of exchanges whose latency counts the
    longer of their bytes and their hops."""
    names, result = tuple(names), dict[str, tuple[Formula, ...]]()
    for resource in rates.resources:
        totals = [Name(time_name(resource, name)) for name in names if resource != LATENCY]
        waits = tuple(time for name in names for time in rates.waiting(resource, name))
        result[resource] = waits or tuple(time for time in totals if not isinstance(times[time.name], Number))
    return {resource: parts for resource, parts in result.items() if parts}


def times_of_groups(program: Program, rates: Rates) -> dict[tuple[str, ...], Formula]:
    """For each group of statements that overlap as one the longest of what they keep busy; with their part of the wait
    where they are of a stage."""
    inside, result = stage_statements(program), _longest_of_groups(program, rates)
    return {names: time_with_wait(time) if names[0] in inside else time for names, time in result.items()}


def _longest_of_groups(program: Program, rates: Rates) -> dict[tuple[str, ...], Formula]:
    """For each group the longest of what it keeps busy."""
    times, result = times_of(program, rates), {}
    for names in overlaps(program):
        parts = tuple(total(*part) for part in busy_times(times, rates, names).values())
        if parts:
            result[names] = Call("max", parts) if len(parts) > 1 else parts[0]
    return result


def steps_of(program: Program, rates: Rates) -> Formula:
    """T_steps: the times of all groups of statements, one after the other; those of stages with the wait."""
    inside, groups = stage_statements(program), _longest_of_groups(program, rates)
    beside = [time for names, time in groups.items() if names[0] not in inside]
    stages = [time for names, time in groups.items() if names[0] in inside]
    return total(*beside, *((time_with_wait(total(*stages)),) if stages else ()))
