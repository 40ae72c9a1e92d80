"""Networks of two levels: nodes of GPUs that a faster switch joins, what each level carries, and where a wiring is known from."""

import json
import shlex
from dataclasses import replace

import pytest
from texts import cases

import symroof as sr
from symroof.derivation import premises
from symroof.derivation.pipeline import first_draft
from symroof.errors import CheckError
from symroof.model.collectives import NETWORKS, MeshAxis
from symroof.proof.check import establish
from symroof.proof.exchange_plans import FAST, SWITCHES
from symroof.proof.step import Reason
from symroof.reading.chips import catalogue, chip

STEP = "input x: bf16[B_GM, D]; weight W: bf16[D, F]; y = x * W -> bf16[B_GM, F]"
SUMMED = "bf16[B, D_X] * bf16[D_X, F] -> bf16[B, F]"
NODES = "G=8 on NVLink; M=16 on InfiniBand"


def words_of(page):
    return " ".join(page.split())


def sent_of(**options):
    return json.loads(sr.derive(STEP, on="h100", training=True, **options).to_json())["answer"]


def test_both_engines_know_the_same_networks():
    """Each has a table of its own."""
    assert tuple(NETWORKS) == FAST
    assert tuple(name for name, switched in NETWORKS.items() if switched) == SWITCHES


@pytest.mark.parametrize("mesh", [NODES, "M=16 on InfiniBand; G=8 on NVLink"])
def test_gradients_of_nodes(mesh):
    """2DF bytes: NVLink scatters 7/8 of them and gathers as much; a GPU then all-reduces its eighth, 15/16 of 2DF/8 twice."""
    answer = sent_of(mesh=mesh)
    assert answer["sent_over"] == {"NVLink": "7*D*F/2", "InfiniBand": "15*D*F/32"}
    # 6BDF/128 FLOPs of a chip at 9.89e14 against 15DF/32 bytes at 5.0e10: B > 10 * 9.89e14/5.0e10
    assert answer["thresholds"]["InfiniBand"]["exact"] == "B > 197800"
    # against 7DF/2 bytes at 4.5e11: B > 224/3 * 9.89e14/4.5e11
    assert answer["thresholds"]["NVLink"]["exact"] == "B > 4430720/27"
    moved = [e for s in answer["statements"] for e in s["exchanges"]]
    reduced = sorted((e["axes"][0], e["payload"]) for e in moved if e["collective"] == "all-reduce")
    assert (len(moved), reduced) == (2, [("G", "2*D*F"), ("M", "D*F/4")])


@pytest.mark.thorough
def test_gradients_over_axes_of_any_size():
    answer = sent_of(mesh="G on NVLink; M on InfiniBand")
    assert answer["sent_over"] == {"NVLink": "4*D*F*(G - 1)/G", "InfiniBand": "4*D*F*(M - 1)/(G*M)"}


SPLIT = "input x: bf16[B_GM, D]; weight W: bf16[D_GM, F]; y = x * W -> bf16[B_GM, F]"


@pytest.mark.thorough
@pytest.mark.parametrize(("tokens", "bound"), [(1024, "InfiniBand"), (262144, "InfiniBand"), (320000, "compute")])
def test_weights_gathered_across_nodes_at_numbers(tokens, bound):
    """D = F = 8192, 2**27 bytes: a GPU takes 15/16 of an eighth of them at 5.0e10 in 315 us, and 7/8 of all in 261 us.

    Arithmetic takes 2 * tokens * 2**26/(128 * 9.89e14): as long at 15 * 19780 = 296700 tokens.
    """
    d = sr.derive(SPLIT, on="h100", mesh=NODES, at=f"B={tokens},D=F=8192")
    [point] = json.loads(d.to_json())["answer"]["at"]
    [row] = point["times"]
    assert row["T_InfiniBand"] == row["T_comms"] == pytest.approx(15 / 16 * 2**24 / 5.0e10)
    assert row["T_NVLink"] == pytest.approx(7 / 8 * 2**27 / 4.5e11)
    assert row["T_math"] == pytest.approx(2 * tokens * 2**26 / (128 * 9.89e14))
    assert point["outcome"] == ("always compute-bound" if tokens > 296700 else "never compute-bound")
    assert row["bound_by"] == ("compute" if bound == "compute" else bound)
    for page in (d.to_text(width=160, full=True), d.to_markdown(full=True)):
        rows = [line.strip(" |") for line in page.splitlines()]
        heads = (f"{tokens} ", f"{tokens} |", f"**{tokens}**")
        assert [line.split()[-1] for line in rows if line.startswith(heads)] == [bound], page
        (longest,) = (line.split()[0] for line in d.to_text().splitlines() if line.endswith(" longest"))
        assert longest == {"compute": "T_math"}.get(bound, f"T_{bound}")
        there = page.partition("ridge ")[2] or page
        assert ("compute-bound" if bound == "compute" else "bound by the link") in there.splitlines()[0]


@pytest.mark.parametrize(
    ("options", "joined"),
    [
        ({"operation": SUMMED, "mesh": "X=16", "link": "NVLink"}, "X=16"),
        ({"operation": SUMMED, "mesh": "X", "at": "X=16", "link": "NVLink"}, "X=16"),
        ({"operation": STEP, "mesh": "G=16 on NVLink; M=2 on InfiniBand"}, "G=16"),
        ({"operation": STEP, "mesh": "G, M=4 on NVLink", "at": "G=4"}, "G=4 x M=4"),
    ],
)
def test_a_node_has_no_more_chips(options, joined):
    with pytest.raises(sr.SymroofError, match=f"NVLink joins 8 H100 SXM, and on the mesh it joins {joined}") as raised:
        sr.derive(hardware="h100", **options)
    assert raised.value.expected == "at most 8 chips on NVLink"


@pytest.mark.thorough
def test_the_cure_is_a_mesh_that_works(run):
    text = "input x: bf16[B_G, D]; weight W: bf16[D_G, F]; y = x * W -> bf16[B_G, F]"
    asked = "derive", text, "--on", "h100", "--brief"
    done = run(*asked, "--mesh", "G=32 on NVLink")
    assert done.code == 2
    cure = shlex.split(done.err[done.err.index("--mesh") :])[1].rstrip(",")
    assert cure == "G=8 on NVLink; M=4 on InfiniBand"
    cured = run(asked[0], asked[1].replace("_G", "_GM"), *asked[2:], "--mesh", cure)
    assert "32 H100 SXM" in cured.out
    assert "sent over InfiniBand  3DF/16" in cured.out
    assert run(*asked, "--mesh", "G=32 on NVLink switch").code == 0
    assert run(*(word if word != "h100" else "gb200" for word in asked), "--mesh", "G=32 on NVLink").code == 0


@pytest.mark.parametrize("said", ["IB", "ib", "infiniband", "Infiniband", "NDR"])
def test_what_people_call_the_network(said):
    step = {"operation": STEP, "mesh": f"G=8 on NVLink; M=16 on {said}", "training": True}
    for asked in (step, {"operation": SUMMED, "mesh": "X=8", "link": said}):
        with pytest.raises(sr.SymroofError) as raised:
            sr.derive(asked, on="h100")
        assert raised.value.hint == "did you mean InfiniBand?"


def test_nodes_of_the_catalogue():
    """A node of eight sends 4e11 bytes/s, and a rack of seventy-two 3.6e12."""
    joined = {name: one for name, one in catalogue().items() if one.domain and "InfiniBand" in one.figures}
    out = {name: one.domain.value * one.figures["InfiniBand"].value for name, one in joined.items()}
    eights = dict.fromkeys(("h100-sxm", "h200", "h800", "b200"), 4 * 10**11)
    assert out == {"a100": 2 * 10**11, "gb200": 36 * 10**11, **eights}
    for one in catalogue().values():
        for known in filter(None, (one.wraparound, one.domain)):
            assert "https://" in known.source, one.name


def test_own_chips_say_so_with_a_source_or_without(tmp_path):
    file = tmp_path / "c.toml"
    text = '[sources]\ns = {{ title = "A sheet" }}\n[mine]\nwraparound = {}\ndomain = {}\n[mine.figures]\nHBM = ["1e12", "s"]\n'
    file.write_text(text.format(8, '[16, "s: a rack"]'), "utf-8")
    mine = chip("mine", str(file))
    assert (mine.closing, mine.domain.value, mine.wraparound.source) == (8, 16, "given")
    assert mine.domain.source.startswith("A sheet (")
    assert mine.domain.source.endswith(": a rack")
    file.write_text(text.format(8, '[16, "t"]'), "utf-8")
    with pytest.raises(sr.SymroofError, match="unknown source 't' of domain"):
        chip("mine", str(file))


ON_RINGS = (STEP, {"on": "tpu-v5p", "mesh": "G=16, M=6 on ICI", "training": True})
A_PRODUCT = (SUMMED, {"on": "tpu-v5e", "mesh": "X=16", "link": "ICI"})
OTHERWISE = [(ON_RINGS, one) for one in ({"origin": "said"}, {"origin": "open"}, {"closing": 8}, {"link": "DCN"})]
OTHERWISE += [(A_PRODUCT, one) for one in ({"origin": "said"}, {"closing": 4}, {"wiring": "line"})]


@pytest.mark.parametrize(("problem", "change"), OTHERWISE)
def test_another_origin_is_refused(problem, change):
    """The second engine decides from the mesh as it was written."""
    d = sr.derive(problem[0], **problem[1])
    told = next(s for s in d.written if s.reason is Reason.CHIPS)
    ledger = first_draft(d.setting.problem).ledger
    assert establish((told,), ledger)
    axes = (replace(told.facts.axes[0], **change), *told.facts.axes[1:])
    with pytest.raises(CheckError):
        establish((replace(told, facts=replace(told.facts, axes=axes)),), ledger)


WIRED = MeshAxis.wired


@pytest.mark.parametrize("fault", [{"origin": "said"}, {"wiring": "line"}, {"wiring": "switch"}, {"origin": "open"}])
@pytest.mark.parametrize(
    ("operation", "options"),
    [(STEP, {"mesh": "G=16, M=8 on ICI", "training": True}), (SUMMED, {"mesh": "X=16", "link": "ICI"})],
)
def test_a_fault_in_the_wiring_raises(monkeypatch, fault, operation, options):
    sr.derive(operation, on="tpu-v5p", **options)
    monkeypatch.setattr(MeshAxis, "wired", lambda axis, *known: replace(WIRED(axis, *known), **fault))
    with pytest.raises(CheckError):
        sr.derive(operation, on="tpu-v5p", **options)


@pytest.mark.thorough
@cases("""
lang | words
en | which of fabric and rail is faster
ko | fabric과 rail 중 어느 것이 빠른지
zh | fabric 和 rail 中哪个更快未知
""")
def test_an_order_that_nothing_says_is_said_to_be_taken(lang, words):
    """Only where something goes over both, and neither figures nor the names of known networks tell."""

    def says(split, **options):
        operand, weight, result = split
        text = f"{{}}; input x: bf16[{operand}]; weight W: bf16[{weight}]; y = x*W -> bf16[{result}]"
        meshes = "mesh X=4 on fabric; mesh Y=8 on rail", "mesh Y=8 on rail; mesh X=4 on fabric"
        found = [sr.derive(text.format(mesh), **options) for mesh in meshes]
        pages = [words_of(getattr(d, f"to_{form}")(lang=lang)) for d in found for form in ("text", "markdown", "latex")]
        other = words.replace("fabric", "*").replace("rail", "fabric").replace("*", "rail")
        return [words in page or (other in page or "rail과 fabric" in page) for page in pages]

    both, apart = ("B, D_XY", "D_XY, F", "B, F"), ("B_Y, D_X", "D_X, F", "B_Y, F")
    assert says(both) == [True] * 6
    assert says(apart) == [False] * 6
    assert says(both, on="h100", given={"fabric": 4e11, "rail": 1e9}) == [False] * 6


@pytest.mark.parametrize("wrong", [1, 3, 4])
def test_what_sizes_come_in_is_counted_again(monkeypatch, wrong):
    """The smallest whole size on two chips is even: the second engine tells from the tensors as they were written."""
    options = {"mesh": "X=2", "on": "tpu-v5e", "link": "ICI"}
    assert "so D ≥ 8756" in sr.derive(SUMMED, **options).to_text(brief=True)
    monkeypatch.setattr("symroof.derivation.whole_sizes.stride", lambda *_: wrong)
    with pytest.raises(CheckError, match=r"whole|multiples"):
        sr.derive(SUMMED.replace("F", "E"), **options)


@pytest.mark.parametrize("mesh", [{}, {"mesh": "X=2", "link": "ICI"}])
def test_figures_are_those_of_the_names_beside_them(monkeypatch, mesh):
    """A peak, or a bandwidth, that the page would print under the name of another one."""
    operation = SUMMED if mesh else "matmul"
    tpu = chip("tpu-v5e")
    for chooser, other in (("peak_of", tpu.figures["peak.int8"]), ("bandwidth_of", tpu.figures["DCN"])):
        chosen = getattr(premises, chooser)

        def fault(*given, chosen=chosen, other=other):
            return other if isinstance(chosen(*given), type(other)) else (chosen(*given)[0], other)

        with monkeypatch.context() as m:
            m.setattr(premises, chooser, fault)
            with pytest.raises(CheckError):
                sr.derive(operation, on="tpu-v5e", **mesh)
