"""Pipelines: the turns of a repeat shared out over the chips of an axis. Against a simulation of stages that send one another
messages, against the same program without stages, and against what the plan of a producer may not say."""

import heapq
import random
from fractions import Fraction

import pytest
from effort import is_thorough
from test_gate import _nothing_is_remembered  # noqa: F401 (a fixture)
from test_training import random_program, trained
from texts import refused

import symroof as sr
from symroof.errors import CheckError, ModelError, ReadingError
from symroof.model import chip_costs, kernels, pipeline_stages as stages, placement, program_quantities, resources
from symroof.model.program_quantities import amounts, traffic_of_tensors
from symroof.reading.problems import read_problem
from symroof.reading.programs import read_program

BODY = "h = x * W -> bf16[B, F]; a = gelu(h); y = a * V -> bf16[B, D]"
HEAD = "input x: bf16[B, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; "
LAYERS = HEAD + f"accumulate M {{ repeat L over P as x = y {{ {BODY} }} }}"
WITH_ENDS = (
    "input t: bf16[B, C]; weight E: bf16[C, D]; weight W: bf16[D, F]; weight V: bf16[F, D]; weight U: bf16[D, C]; "
    f"accumulate M {{ x = t * E -> bf16[B, D]; repeat L over P as x = y {{ {BODY} }}; l = y * U -> bf16[B, C] }}"
)
MEGATRON = (
    HEAD.replace("[D, F]", "[D, F_X]").replace("[F, D]", "[F_X, D]")
    + f"accumulate M {{ repeat L over P as x = y {{ {BODY.replace('B, F]', 'B, F_X]')} }} }}"
)
SHARDED = (
    "input x: bf16[B_X, D]; weight W: bf16[D_X, F]; weight V: bf16[F, D_X]; "
    f"accumulate M {{ repeat L over P as x = y {{ {BODY.replace('[B', '[B_X')} }} }}"
)
NESTED = HEAD + f"accumulate M {{ repeat L over P as x = z {{ repeat K as x = y {{ {BODY} }}; z = silu(y) }} }}"
FUSED = (
    "input x: bf16[B, T, D]; weight Q: bf16[D, N, H]; weight K: bf16[D, N, H]; weight O: bf16[N, H, D]; accumulate M { "
    "repeat L over P as x = y { q = x * Q -> bf16[B, T, N, H]; k = x * K -> bf16[B, T, N, H]; "
    "fuse { s = q * k[T -> S] -> bf16[B, N, T, S]; p = softmax(s, S); o = p * k[T -> S] -> bf16[B, T, N, H] }; "
    "u = o * O -> bf16[B, T, D]; y = x + u } }"
)
AGAIN = HEAD + f"accumulate M {{ repeat L over P as x = y {{ recompute {{ {BODY} }} }} }}"
PROGRAMS = {
    "layers": (LAYERS, "P on ICI"),
    "with ends": (WITH_ENDS, "P on ICI"),
    "megatron": (MEGATRON, "P on DCN; X on ICI"),
    "sharded": (SHARDED, "P on DCN; X on ICI"),
    "nested": (NESTED, "P on ICI"),
    "fused": (FUSED, "P on ICI"),
    "made again": (AGAIN, "P on ICI"),
    "one microbatch": (LAYERS.replace("accumulate M", "accumulate 1"), "P on ICI"),
    "one batch": (LAYERS.replace("accumulate M { ", "").removesuffix(" }"), "P on ICI"),
}
# What every run goes through, the others only a thorough one.
QUICK = ("layers", "with ends")
EACH = [name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in PROGRAMS]
NUMBERS = {"B": 8, "D": 16, "F": 32, "C": 64, "T": 16, "S": 16, "N": 4, "H": 8, "K": 3, "M": 6, "L": 12, "P": 4, "X": 2}


def program_of(name, training=False, **options):
    text, mesh = PROGRAMS[name]
    return sr.derive({"operation": text, "mesh": mesh, "hardware": "tpu-v5p", "training": training, **options})


def plain(text):
    return text.replace(" over P", "")


def at(value, **other):
    put = {**NUMBERS, **other}
    return Fraction(str(value.subs({s: put[s.name] for s in value.free_symbols})))


# A simulation that shares nothing with the package: stages are processes with a queue, and messages take no time.
def simulated(chips, microbatches, times, schedule, back):
    """When all is done, how long each stage works, of how many microbatches one keeps something, and the messages that each link
    carries in each direction."""
    forward, backward = times
    ready = [set() for _ in range(chips)]
    ready[0] = {("f", i) for i in range(microbatches)}
    done, busy = [[] for _ in range(chips)], [Fraction(0)] * chips
    kept, most, messages, events = [0] * chips, 0, {}, []
    running = [None] * chips

    def chosen(stage):
        """One forward, one back where the pipe is full; a stage at the end goes back at once."""
        ahead = sum(what == "f" for what, _ in done[stage]) - sum(what == "b" for what, _ in done[stage])
        backs = sorted(i for what, i in ready[stage] if what == "b")
        fores = sorted(i for what, i in ready[stage] if what == "f")
        if schedule == "gpipe":
            if fores:
                return "f", fores[0]
            all_forward = sum(what == "f" for what, _ in done[stage]) == microbatches
            return ("b", backs[0]) if backs and all_forward else None
        if backs:
            return "b", backs[0]
        return ("f", fores[0]) if fores and (not back or ahead < chips - stage) else None

    def start(stage, now):
        nonlocal most
        if running[stage] is None and (work := chosen(stage)) is not None:
            running[stage] = work
            ready[stage].discard(work)
            if work[0] == "f" and back:
                kept[stage] += 1
                most = max(most, max(kept))
            took = forward if work[0] == "f" else backward
            busy[stage] += took
            heapq.heappush(events, (now + took, stage))

    start(0, Fraction(0))
    now = Fraction(0)
    while events:
        now, ended = events[0][0], []
        while events and events[0][0] == now:  # what ends together
            ended.append(heapq.heappop(events)[1])
        for stage in ended:
            what, i = running[stage]
            running[stage] = None
            done[stage].append((what, i))
            if what == "f" and stage + 1 < chips:
                ready[stage + 1].add(("f", i))
                messages[stage, stage + 1] = messages.get((stage, stage + 1), 0) + 1
            elif what == "f" and back:
                ready[stage].add(("b", i))
            if what == "b":
                kept[stage] -= 1
                if stage:
                    ready[stage - 1].add(("b", i))
                    messages[stage, stage - 1] = messages.get((stage, stage - 1), 0) + 1
        for one in range(chips):
            start(one, now)
    assert all(len(each) == microbatches * (2 if back else 1) for each in done)
    return now, busy, most, messages


@pytest.mark.thorough
@pytest.mark.part(1)
@pytest.mark.parametrize("schedule", stages.SCHEDULES)
@pytest.mark.parametrize("back", [False, True])
def test_the_bubble_and_what_is_kept_are_those_of_stages_that_wait_for_one_another(schedule, back):
    chosen = random.Random(f"{schedule} {back}")
    for _ in range(12 if is_thorough() else 1):
        chips, microbatches = chosen.randint(2, 8), chosen.randint(1, 20)
        times = Fraction(chosen.randint(1, 9)), Fraction(chosen.randint(1, 9))
        whole, busy, most, messages = simulated(chips, microbatches, times, schedule, back)
        text = LAYERS.replace("repeat L", f"repeat {3 * chips}").replace("accumulate M", f"accumulate {microbatches}")
        found = sr.derive(
            text, on="tpu-v5p", mesh=f"P={chips}", training=back, schedule=schedule, at={"B": 8, "D": 16, "F": 32}
        )
        assert found.value("bubble") == pytest.approx(float(1 - busy[0] / whole)), (chips, microbatches, times)
        assert {*busy} == {microbatches * (times[0] + (times[1] if back else 0))}
        sent = {found.value("sent(P)"), *({found.value("sent(P_back)")} if back else ())}
        assert sent == {count * 8 * 16 * 2 for count in messages.values()}
        if back:
            turns = 3 * chips
            one = trained(plain(text))
            kept = at(amounts(one, "fma")["saved"]) / turns
            assert found.value("saved_per_chip") == most * (turns // chips) * kept, (chips, microbatches)


@pytest.mark.part(1)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", EACH)
def test_a_stage_does_its_part_of_what_all_turns_do(name, training):
    """Beside stages every chip does all; of what stands in the turns a chip does a P-th. What the other axes split is split."""
    text, mesh = PROGRAMS[name]
    others = "; ".join(axis for axis in mesh.split("; ") if not axis.startswith("P"))
    here = read_problem({"operation": text, "mesh": mesh, "hardware": "tpu-v5p", "training": training})
    asked = {"operation": plain(text), "hardware": "tpu-v5p", "training": training}
    there = read_problem(asked | ({"mesh": others} if others else {}))
    one, other = (amounts(sr.derive(p).setting.problem.operation, "fma") for p in (here, there))
    each = "_per_chip" if others else ""
    program = sr.derive(here).setting.problem.operation
    inside = {line.statement.name for line in program.lines if stages.stages_in(line.repeats)}
    assert inside
    for owner in kernels.costs_of(program):
        for what in ("flops", "ops", "bytes"):
            part = NUMBERS["P"] if owner in inside else 1
            alone = at(other[f"{what}{each}({owner})"])
            assert at(one[f"{what}_per_chip({owner})"]) * part == alone, (owner, what)
    for what in ("weights", "gradients") if training else ("weights",):
        sizes = {t: at(other[f"size({t.name})"] * program.turns(t)) for t in program.declared_as("weight")}
        total = sum(size / (NUMBERS["P"] if program.copies(t) else 1) for t, size in sizes.items())
        if not others:
            assert at(one[f"{what}_per_chip"]) == total, what
    moved = traffic_of_tensors(program)
    assert sum(map(at, moved.values())) == at(one["bytes_per_chip"])


@pytest.mark.part(1)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", EACH)
def test_every_line_of_a_pipeline_is_proved_and_its_times_wait(name, training):
    sizes = {n: NUMBERS[n] for n in read_program(PROGRAMS[name][0]).dimensions}
    mesh = PROGRAMS[name][1].replace("P on", "P=4 on").replace("X on", "X=2 on")
    found = program_of(name, training, mesh=mesh, at=sizes)
    assert found.counts()["sampled"] == 0
    program, bubble = found.setting.problem.operation, found.value("bubble")
    many = 1 if name.startswith("one ") else NUMBERS["M"]
    assert bubble == pytest.approx(3 / (many + 3))
    inside = resources.stage_statements(program)
    groups = resources.times_of_groups(program, found.setting.rates)

    upper = steps = 0.0
    taken = {}
    for owners in groups:
        each = {r: sum(amount(found, r, n) for n in owners) for r in found.setting.rates.resources}
        wait = 1 / (1 - float(bubble)) if owners[0] in inside else 1
        steps += wait * max(each.values())
        upper += wait * sum(each.values())
        for r, time in each.items():
            taken[r] = taken.get(r, 0) + time
    lower = max(taken.values())
    for what, told in (("T_steps", steps), ("T_upper", upper), ("T_lower", lower)):
        function = found.function(what)
        value = function(**{n: x for n, x in sizes.items() if n in function.parameters})
        assert value == pytest.approx(told, rel=1e-9), what


def amount(found, resource, name):
    """The time of a resource for a statement, from its amounts."""
    setting = found.setting
    program = setting.problem.operation
    known = amounts(program, "fma")
    figures = {n: float(f.value) for n, f in setting.figures.items()}
    if resource == "math":
        return float(at(known[f"flops_per_chip({name})"])) / figures["peak"]
    if resource == "vector":
        return float(at(known[f"ops_per_chip({name})"])) / figures["peak.vector"]
    if resource == setting.rates.memory:
        return float(at(known[f"bytes_per_chip({name})"])) / figures[setting.rates.rate(resource)]
    return float(at(known.get(f"sent_{resource}({name})", known["params"] * 0))) / figures[setting.rates.rate(resource)]


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 16))])
def test_random_turns_in_stages(seed):
    """What a random program makes of its first input goes through stages: every line is proved, in training where nothing else
    that its turns take from outside has a gradient."""
    lines = random_program(seed).split("\n")
    declared = [line for line in lines if line.startswith(("input", "weight"))]
    first = next(line for line in declared if line.startswith("input"))
    outside = [line if line == first or line.startswith("weight") else f"frozen {line}" for line in declared]
    name, turn = first.removeprefix("input ").partition(":")[0], [line for line in lines if line not in declared]
    repeat = ["accumulate M {", f"repeat L over Z as {name} = back {{", *turn, f"back = {name} + {name}", "}", "}"]
    for training in (False, True):
        found = sr.derive("\n".join([*outside, *repeat]), on="h100", mesh="Z on InfiniBand", training=training)
        assert found.counts()["sampled"] == 0
        assert stages.pipeline_of(found.setting.problem.operation) is not None


@pytest.mark.thorough
@pytest.mark.parametrize(("schedule", "before", "behind"), [("1f1b", 4, 1), ("gpipe", 6, 6)])
def test_what_stands_before_the_stages_waits_with_them(schedule, before, behind):
    """What comes before them is kept for all that the first stage holds, what comes behind for one, unless all go forward first."""
    sizes = {"B": 8, "C": 64, "D": 16, "F": 32, "L": 12, "M": 6}
    found = sr.derive(WITH_ENDS, on="tpu-v5p", mesh="P=4", training=True, schedule=schedule, at=sizes)
    each = {"t": 8 * 64, "y": 8 * 16}  # the rows of the embedding, and what the head is of
    turns = 12 // 4 * 8 * (16 + 2 * 32)
    assert found.value("saved_per_chip") == 2 * (before * (turns + each["t"]) + behind * each["y"])


def test_a_sum_that_is_made_again_in_a_stage():
    body = "recompute { h = x * W -> bf16[B, F]; f = h * V -> bf16[B, D]; n = x + f; y = silu(n) }"
    found = sr.derive(LAYERS.replace(BODY, body), on="tpu-v5p", mesh="P on ICI", training=True)
    assert found.counts()["sampled"] == 0


@pytest.mark.thorough
def test_an_axis_of_one_chip_shares_nothing_out():
    sizes = {"B": 8, "D": 16, "F": 32, "M": 4, "L": 6}
    one = sr.derive(LAYERS, on="tpu-v5p", mesh="P=1", training=True, at=sizes)
    other = sr.derive(plain(LAYERS), on="tpu-v5p", training=True, at=sizes)
    for what in ("flops", "bytes", "saved", "T_steps", "T_lower", "memory"):
        assert one.value(what) == other.value(what)
    with pytest.raises(ReadingError, match="does not apply"):
        one.value("bubble")


def test_written_and_read_back():
    for text, _ in PROGRAMS.values():
        program = read_program(text)
        assert "over P as" in str(program)
        assert read_program(str(program)) == program


TURNS = f"repeat L over P as x = y {{ {BODY} }}; "
test_what_stages_cannot_do_is_refused = refused(
    lambda text: sr.derive(text, on="tpu-v5p", mesh="P on ICI"),
    (LAYERS.replace("[B, D]", "[B_P, D]"), "is split over it"),
    (LAYERS.replace("weight W", "shared weight W"), "the same in all turns"),
    (HEAD + f"repeat 2 as x = z {{ {TURNS}z = silu(y) }}", "no place in a repeat"),
    (HEAD + f"{TURNS}repeat 2 over P as y = z {{ z = silu(y) }}", "two repeats are shared out"),
    (LAYERS.replace("over P as", "over as"), "an axis of the mesh"),
    (LAYERS.replace("over P", "shared over P"), "the same in all turns"),
)


@pytest.mark.thorough
def test_a_gradient_that_stages_would_add_up_is_refused():
    text = HEAD + f"input e: bf16[B, D]; repeat L over P as x = z {{ {BODY}; z = y + e }}"
    assert sr.derive(text, on="tpu-v5p", mesh="P on ICI").counts()["sampled"] == 0
    with pytest.raises(ModelError, match="its gradient would be added over them"):
        sr.derive(text, on="tpu-v5p", mesh="P on ICI", training=True)
    frozen = text.replace("input e", "frozen input e")
    assert sr.derive(frozen, on="tpu-v5p", mesh="P on ICI", training=True).counts()["sampled"] == 0


test_numbers_that_contradict_what_is_taken_for_granted_are_refused = refused(
    lambda sizes: sr.derive(LAYERS, on="tpu-v5p", mesh="P=4", training=True, at={"B": 8, "D": 16, "F": 32, **sizes}),
    ({"L": 30, "M": 8}, "multiple of P = 4"),
    ({"L": 32, "M": 2}, "fewer than the 4 stages"),
)


STAGED = resources.stage_statements
FAULTS = {
    "nothing is handed on": (placement, "handover_repeat", lambda line: None),
    "all turns on every chip": (chip_costs, "turns_on_a_chip", lambda repeats, size: stages.turns_of(repeats)),
    "all layers are held": (program_quantities, "turns_on_a_chip", lambda repeats, size: stages.turns_of(repeats)),
    "Megatron's ratio": (stages.Pipeline, "bubble", property(lambda p: (p.axis.size - 1) / p.microbatches)),
    "every microbatch is kept": (stages.Pipeline, "held", property(lambda p: p.microbatches)),
    "one microbatch is kept": (stages.Pipeline, "held", property(lambda p: p.microbatches / p.microbatches)),
    "nothing waits": (resources, "time_with_wait", lambda time: time),
    "T_upper forgets the wait": (resources, "wait_time", lambda time: time),
    "only the first group waits": (resources, "stage_statements", lambda program: STAGED(program)[:1]),
    "enough is not said": (stages.Pipeline, "presumes", property(lambda p: False)),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_producer_is_refused(name, monkeypatch):
    sr.derive(LAYERS, on="tpu-v5p", mesh="P on ICI", training=True)
    monkeypatch.setattr(*FAULTS[name])
    with pytest.raises(CheckError):
        sr.derive(LAYERS, on="tpu-v5p", mesh="P on ICI", training=True)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("over", "told"),
    [
        ("P=1..8", "hands nothing on"),
        ("P=2..16", "fewer than the 16 stages"),
        ("P=2..7", "multiple of P = 7"),
        ("P=2..8", ""),
    ],
)
def test_figures_are_of_stages_that_there_are(over, told):
    asked = {"operation": LAYERS, "mesh": "P on NVLink switch", "hardware": "h100", "training": True}
    sizes = {"B": 64, "D": 512, "F": 2048, "L": 16, "M": 8}
    if told:
        with pytest.raises(ModelError, match=told):
            sr.plot(asked, kind="times", over=over, at=sizes)
        return
    rows = sr.plot(asked, kind="times", over=over, at=sizes).rows
    by_chips = {int(row["P"]): row for row in rows}
    for chips in (2, 4, 8):
        found = sr.derive({**asked, "mesh": f"P={chips} on NVLink switch"}, at=sizes)
        for time in ("T_steps", "T_lower"):
            assert by_chips[chips][time] == pytest.approx(found.value(time)), (chips, time)
