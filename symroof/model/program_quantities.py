"""What all quantities of a program are in its sizes: costs of statements, stocks, what is moved, what links carry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sympy import Add, Expr, Integer, Mul

from symroof.model.chip_costs import busy_links, chip_costs
from symroof.model.given_costs import Counting
from symroof.model.kernels import costs_of, kernel_loads, kernels_of
from symroof.model.pipeline_stages import BUBBLE, pipeline_of, stored_microbatches, turns_on_a_chip
from symroof.model.placement import kept_forms, summed_forms
from symroof.model.program import Program
from symroof.model.program_tree import EXCHANGE, Repeat, separate_repeats, turns_of
from symroof.model.quantities import MOVED, NAMELESS, STOCKS, hops_over, of_statement, sent_over
from symroof.model.splits import Split, split_of
from symroof.model.tensor_types import Tensor


def names_of_amounts(program: Program) -> tuple[str, ...]:
    """The quantities that only programs have: a statement without a name has none, but on a mesh."""
    return () if program.alone else tuple(amounts(program, "fma"))


def amounts(program: Program, count: Counting) -> dict[str, Expr]:
    """The quantities that only programs have, by name, in the sizes that define the others: costs of statements, elements
    and bytes of tensors, and stocks.

    >>> from symroof.reading.programs import read_program
    >>> found = amounts(read_program("input x: bf16[N, D]; weight W: bf16[D, F]; y = x * W -> bf16[N, F]"), "fma")
    >>> found["flops(y)"], found["params"], found["size(x)"]
    (2*D*F*N, D*F, 2*D*N)
    """
    result = _of_statements(program, count)
    weights, caches = (program.stock(role, bytes_of=True) for role in ("weight", "cache"))
    ops = Add(*(cost.ops for cost in costs_of(program).values()))
    result |= {"params": program.stock("weight"), "weights": weights, "caches": caches, "ops": ops}
    if program.training:
        result |= _of_training(program, count)
    if program.frozen:
        result["trainable"] = Add(*(program.turns(tensor) * tensor.elements for tensor in program.trainable))
    result |= _on_a_chip(program, count)
    result |= _bytes_by_owner(program)
    for suffix in ("", "_per_chip"):
        stocks = [stock for kind in STOCKS if (stock := result.get(kind + suffix, 0)) != 0]
        result |= {f"memory{suffix}": Add(*stocks)} if stocks else {}
    return {name: program.resolved(value) for name, value in result.items()}


def _of_statements(program: Program, count: Counting) -> dict[str, Expr]:
    """What each statement costs, and what each tensor holds."""
    result: dict[str, Expr] = {}
    for name, cost in costs_of(program).items():
        flops = cost.flops_exact if count == "exact" else cost.flops
        if name == NAMELESS and program.vector:
            flops = cost.ops
        loads, stores = (Add(*(amount for _, amount in moves)) for moves in (cost.loads, cost.stores))
        costs = {"flops": flops, "ops": cost.ops, "reads": loads, "writes": stores, "bytes": loads + stores}
        result |= {of_statement(kind, name): value for kind, value in costs.items()}
    for name, tensor in program.arrays.items() if program.line is None else ():
        result |= {of_statement("elements", name): tensor.elements, of_statement("size", name): tensor.bytes}
    for line in program.forward:
        if line.statement.mask is not None and line.mask is not None:
            result[of_statement("pairs", line.statement.name)] = line.statement.mask.pairs
    for tensor in program.declared_as("weight"):
        result[of_statement("params", str(tensor.name))] = program.turns(tensor) * tensor.elements
    return result


def moved_of(part: str, program: Program) -> str:
    """The name of the bytes that are moved of weights, caches, gradients or activations: on a mesh those of one chip."""
    return f"{part}_moved{'_per_chip' if program.axes else ''}"


def _bytes_by_owner(program: Program) -> dict[str, Expr]:
    """The bytes that are moved, by what they belong to: a program without weights has nothing to tell apart."""
    weights, caches = ({str(t.name) for t in program.declared_as(role)} for role in ("weight", "cache"))
    if not weights or program.line is not None:
        return {}
    backward = program.backward
    of_weights = (str(t.name) for n, t in (backward.gradients if backward else {}).items() if n in weights)
    gradients = {part for name in of_weights for part in (name, *program.memory.parts(name))}
    result = {moved_of(part, program): Integer(0) for part in MOVED}
    for moved, amount in traffic_of_tensors(program).items():
        name = program.memory.whole(moved)
        owners = zip(MOVED, (name in weights, name in caches, name in gradients, True), strict=True)
        result[moved_of(next(part for part, belongs in owners if belongs), program)] += amount
    return {name: amount for name, amount in result.items() if amount != 0}


def _on_a_chip(program: Program, count: Counting) -> dict[str, Expr]:
    """What one chip of the mesh does, statement by statement and in all, and what each of its links carries."""
    result: dict[str, Expr] = {}
    kinds = {"flops_per_chip": "flops_exact" if count == "exact" else "flops", "ops_per_chip": "ops"}
    for name, cost in chip_costs(program).items():
        result |= {of_statement(total, name): getattr(cost, kind) for total, kind in kinds.items()}
        result[of_statement("bytes_per_chip", name)] = cost.moved
        result |= {sent_over(r, name): cost.sent.get(r, Integer(0)) for r in busy_links(program)}
        for part in cost.exchanges if program.latency else ():
            result |= {hops_over(figure, part.label): part.turns * number for figure, number in part.hops.items()}
            result |= {sent_over(r, part.label): amount for r, amount in part.sent.items() if len(cost.over(r)) > 1}
    costs = chip_costs(program).values()
    if costs:
        result |= {total: Add(*(getattr(cost, kind) for cost in costs)) for total, kind in kinds.items()}
        result["flops_per_chip"] = result["ops_per_chip"] if program.vector else result["flops_per_chip"]
        result["bytes_per_chip"] = Add(*(cost.moved for cost in costs))
        result["chips"] = Mul(*(axis.size for axis in program.mesh))
        if (pipeline := pipeline_of(program)) is not None:
            result[BUBBLE.name] = pipeline.bubble
        result |= _held(program)
    for resource in busy_links(program):
        result[sent_over(resource)] = Add(*(cost.sent.get(resource, Integer(0)) for cost in costs))
    return result


def _held(program: Program) -> dict[str, Expr]:
    """The bytes that one chip holds of what stays in memory, as its tensors are split; of what is kept for the backward pass
    in the form in which it is kept, and of gradients in that in which microbatches add them up. Gathered copies of weights are
    beside that."""
    size = {axis.name: axis.size for axis in program.mesh}
    pipeline = pipeline_of(program)
    stays: dict[str, Iterable[tuple[Tensor, tuple[Repeat, ...]]]] = {
        name: [(tensor, program.copies(tensor)) for tensor in program.declared_as(role)]
        for name, role in (("weights_per_chip", "weight"), ("caches_per_chip", "cache"))
    }
    if program.training:
        stays["gradients_per_chip"] = [(tensor, program.copies(tensor)) for tensor in program.trainable]
        stays["saved_per_chip"] = kept_for_backward(program)
    forms: dict[str, Mapping[str, Split]] = {}
    if program.backward is not None:
        sums, gradients = summed_forms(program), program.backward.gradients.items()
        forms["gradients_per_chip"] = {n: sums[str(g.name)] for n, g in gradients if str(g.name) in sums}
        forms["saved_per_chip"] = kept_forms(program)

    def held(stock: str, tensor: Tensor, repeats: tuple[Repeat, ...]) -> Expr:
        split = forms.get(stock, {}).get(str(tensor.name))
        amount = tensor.bytes / Mul(*(size[axis] for _, axis in (split_of(tensor) if split is None else split)))
        if pipeline is not None and stock == "saved_per_chip":
            amount *= stored_microbatches(program, pipeline, str(tensor.name), repeats)
        return amount * turns_on_a_chip(repeats, size)

    return {name: Add(*(held(name, t, repeats) for t, repeats in tensors)) for name, tensors in stays.items()}


def other_names(program: Program) -> dict[str, str]:
    """What an axis sends and how long, by the names that its link has, or it has where the link has them: where no other
    axis is on that link.

    >>> from symroof.model.mesh_wiring import with_wiring
    >>> from symroof.reading.programs import read_program
    >>> other_names(with_wiring(read_program("mesh X on DCN; input A: int8[V_X]; o = A -> int8[V]"), None))
    {'sent(X)': 'sent(DCN)', 'T_X': 'T_DCN'}
    """
    busy, result = busy_links(program), dict[str, str]()
    for axis in program.mesh:
        pair, link = {axis.name, str(axis.link)}, axis.link
        beside = [other for other in program.mesh if other.link == link and other.name in program.axes]
        busy_names = pair & {*busy}
        if beside == [axis] and len(busy_names) == 1:
            (name,), (other,) = busy_names, pair - busy_names
            result |= {sent_over(other): sent_over(name), f"T_{other}": f"T_{name}"}
    return result


def _of_training(program: Program, count: Counting) -> dict[str, Expr]:
    """The FLOPs of each pass, the bytes that are kept for the backward pass, and those of the gradients of weights."""
    flops: dict[bool, Expr] = {False: Integer(0), True: Integer(0)}
    for cost in costs_of(program).values():
        rounded = cost.flops_exact if count == "exact" else cost.flops
        flops[cost.backward] += cost.ops if program.vector else rounded
    saved = Add(*(turns_of(repeats) * tensor.bytes for tensor, repeats in kept_for_backward(program)))
    stored = Add(*(program.turns(tensor) * tensor.bytes for tensor in program.trainable))
    return {"flops_forward": flops[False], "flops_backward": flops[True], "saved": saved, "gradients": stored}


def kept_for_backward(program: Program) -> tuple[tuple[Tensor, tuple[Repeat, ...]], ...]:
    """What the backward pass reads of the forward one, beside weights and caches: each tensor once, with the repeats in
    whose turns it is another. Of microbatches one is kept at a time."""
    makers = {line.statement.name: line for line in program.forward}
    stocks = {t.name for role in ("weight", "cache") for t in program.declared_as(role)}
    inputs = {t.name for t in program.declared_as("input")}
    memory, late = program.memory, {line.statement.name for line in program.lines if line.backward}
    lying = (line.statement for line in program.lines if line.statement.lies and line.statement.again)
    present = (s for s in lying if late.isdisjoint(memory.origins(s.name)))
    # A slice that is made again is one of what is kept; what is exchanged again is kept as it was before.
    remade = {s.name: memory.root(str(s.operands[0].name)) if s.kind == EXCHANGE else s.again for s in present}
    stays = dict[str, tuple[Tensor, tuple[Repeat, ...]]]()
    for fetch in (result for kernel in kernels_of(program) for result in kernel_loads(kernel, program)):
        line, operand = fetch.line, fetch.tensor
        name = memory.root(str(operand.name))
        name = remade.get(name, name)
        if not line.backward or memory.whole(name) in stocks or name not in (*makers, *inputs):
            continue
        around = makers[name].repeats if name in makers else ()
        reversed_ = tuple(repeat.reverses for repeat in line.repeats if repeat.reverses is not None)
        tensor, entering = program.arrays[name], {*memory.seen_as(str(operand.name), line.repeats)}
        another = tuple(r for r in separate_repeats(reversed_) if r in around or not entering.isdisjoint(r.enters))
        stays[name] = (tensor, max(stays.get(name, (tensor, ()))[1], another, key=len))
    none: tuple[None, tuple[Repeat, ...]] = (None, ())

    def leaves(repeat: Repeat, name: str) -> bool:
        return repeat in stays.get(name, none)[1] or memory.collected.get(name) in stays

    handed_on = {  # after its first turn what enters is what left before, which is kept as well
        name: tuple(
            r for r in repeats if all(memory.root(e) != name or not leaves(r, memory.root(x)) for e, x in r.carried)
        )
        for name, (_, repeats) in stays.items()
        if not stays.keys() & {*memory.wholes(name), memory.collected.get(name)}  # with what it is a part of
    }
    once = {memory.places_of(name): name for name in reversed(handed_on)}  # the places of one tensor are kept once
    return tuple((stays[name][0], turns) for name, turns in handed_on.items() if once[memory.places_of(name)] == name)


def traffic_of_tensors(program: Program) -> dict[str, Expr]:
    """The bytes of each tensor that moves, all its loads and stores together; on a mesh those of one chip.

    >>> from symroof.reading.programs import read_program
    >>> traffic_of_tensors(read_program("input x: bf16[N, D]; weight W: bf16[D, F]; y = x * W -> bf16[N, F]; z = relu(y)"))
    {'x': 2*D*N, 'W': 2*D*F, 'z': 2*F*N}
    """
    result: dict[str, Expr] = {}
    for cost in (chip_costs(program) or costs_of(program)).values():
        for name, amount in (*cost.loads, *cost.stores):
            result[name] = result.get(name, Integer(0)) + amount
    return {name: program.resolved(amount) for name, amount in result.items()}
