"""Textbook LaTeX: what is read, and what is refused with its place."""

import pytest

from symroof.errors import ReadingError
from symroof.formula import Gap
from symroof.reading.latex import read_latex, read_latex_expression
from symroof.reading.latex_phrases import Dialect
from symroof.reading.latex_tokens import scan_latex
from symroof.reading.macros import definitions
from symroof.reading.markup import spelling
from symroof.reading.name_scope import Scope
from symroof.rendering.formulas.plain import PlainPrinter
from symroof.verification.formula_claims import read_formula

NAMES = ("T_math", "T_comms", "T_lower", "flops", "bytes", "intensity", "ridge", "peak", "bandwidth")
DIALECT = Dialect(Scope(NAMES, open=True, indices=True), {"Rechenaufwand": "flops"})


def side(formula):
    return "?" if isinstance(formula, Gap) else PlainPrinter().print(formula)


def chain(c):
    return side(c.sides[0]) + "".join(f" {r} {side(s)}" for r, s in zip(c.relations, c.sides[1:], strict=True))


def shown(claim):
    parts = [" and ".join(map(chain, proposition)) for proposition in claim.propositions]
    text = parts[0] + "".join(f" {c} {p}" for c, p in zip(claim.connectives, parts[1:], strict=True))
    return text + (" as " + ", ".join(map(side, claim.regime)) if claim.regime else "")


# Strings as textbooks write them.
READ = [
    (r"\frac{2BDF}{2BD + 2DF + 2BF} = \frac{BDF}{BD + DF + BF}", "2BDF/(2BD + 2DF + 2BF) = BDF/(BD + DF + BF)"),
    (
        r"\frac{N + N - 1}{2N + 2N + 2} = \frac{2N - 1}{4N + 2} \rightarrow \frac{1}{2}",
        "(N + N - 1)/(2N + 2N + 2) = (2N - 1)/(4N + 2) -> 1/2",
    ),
    (r"B > \frac{1.97e14}{8.20e11}", "B > 1.97e14/8.20e11"),
    (r"B > \frac{1.97 \times 10^{14}}{8.20 \times 10^{11}}", "B > 1.97e14/8.20e11"),
    (r"T_\text{math} = \frac{2BDF}{1.97e14}", "T_math = 2BDF/1.97e14"),
    (r"\max(T_\text{math}, T_\text{comms})", "max(T_math, T_comms)"),
    (r"T_\text{lower} = \max(T_\text{math}, T_\text{comms})", "T_lower = max(T_math, T_comms)"),
    (r"\frac{D}{2} > 4377", "D/2 > 4377"),
    (r"BF \times (2D - 1)", "BF(2D - 1)"),
    (r"2 \cdot B \cdot D \cdot F", "2BDF"),
    (r"\frac{B}{X} > \frac{C}{W_\text{ici}}", "B/X > C/W_ici"),
    (r"\frac{BDF}{DF} = B", "BDF/(DF) = B"),
    (r"2BDF / (BD + DF + BF)", "2BDF/(BD + DF + BF)"),
    (r"F > 8 \cdot D", "F > 8D"),
    (r"B \ll D", "B << D"),
    (r"\frac{2 B D F}{X Y C}", "2BDF/(XYC)"),
    (r"{BD \over B + D} \approxeq B", "BD/(B + D) ~ B"),
    (r"\dfrac{1}{2} \le \tfrac12 \geqslant \cfrac{1}{3}", "1/2 <= 1/2 >= 1/3"),
    (r"T_{\mathrm{math}} \leq 10{,}000\,\text{ms}", "T_math <= 10000 ms"),
    (r"T_math \ge T_{comms}", "T_math >= T_comms"),
    (r"\left\lceil \frac{N}{2} \right\rceil \geq \lfloor N \rfloor", "ceil(N/2) >= floor(N)"),
    (r"2\max\left\{A, B\right\} \simeq A", "2 max(A, B) ~ A"),
    (r"x^{2} + y_1^3 = \sqrt{x^{y+1}}", "x^2 + y_1^3 = sqrt(x^(y + 1))"),
    (r"\log_2 (N) = \ln(N)", "log2(N) = log(N)"),
    (r"\text{FLOPs} = \text{Rechenaufwand}", "flops = flops"),
    (r"\text{Intensity}(\text{matmul}) > \text{Intensity}(\text{TPU})", "intensity > ridge"),
    (r"\frac{\text{FLOPs}}{\text{peak FLOPs/s}} < 1.5\times10^{-3}\text{ s}", "flops/peak < 1.5e-3 s"),
    (r"a \to \infty", "a -> oo"),
    (r"\frac{2N-1}{4N+2} \to \frac{1}{2} \quad \text{as } N \to \infty.", "(2N - 1)/(4N + 2) -> 1/2 as N -> oo"),
    (r"A > 1 \implies B > 1 \iff C > 1", "A > 1 => B > 1 <=> C > 1"),
    (r"A = 1 \text{ and } B = 2", "A = 1 and B = 2"),
    (r"\alpha \beta_2 = \Omega", "α β_2 = Ω"),
    (r"\begin{equation} \label{eq:x} I = \frac{1}{2} \tag{3} \end{equation}", "I = 1/2"),
    (r"12.5\% < 0.5", "12.5% < 0.5"),
    (r"-B^2 < -(-B)", "-B^2 < -(-B)"),
    (r"B D_X = D_X B", "B D_X = D_X B"),
    (r"x' + x^\prime_1 = 2T''", "x' + x_1' = 2 T''"),
    (r"X^* = X^\star + Y^{\ast}_2", "X_star = X_star + Y_2_star"),
    (r"\lim_{N\to\infty} \frac{N}{N+2} = 1", "limit(N/(N + 2), N -> oo) = 1"),
    (r"B \gtrsim 240 \div 2", "B >= 240/2"),
    (r"\boxed{\frac{1}{2} = 0.5}", "1/2 = 0.5"),
    (r"\therefore\; x = \boxed{2^{3}}\ \checkmark", "x = 2^3"),
    (r"s = 9.14\times", "s = 9.14"),
    (r"2 \cdot 3 = 6 \to", "2*3 = 6"),
    (r"x = 2**10", "x = 2^10"),
    (r"\frac np\beta = \sqrt pq", "(n/p)β = sqrt(p) q"),
    (r"\bar s = \hat{x}_1 + \dot y", "s_bar = x_hat_1 + y_dot"),
    (r"\frac{\#ops}{\#\text{bytes moved}} = 1", '"#ops"/"#bytes moved" = 1'),
    (r"36 / 9 \cdot 10^2 = 36 \text{ B} / 9 \times 10^{-2}", "(36/9)*10^2 = 36B/9e-2"),
    (r"989\text{e}12 = 5.12\,\mathrm{\mu s}", "989e12 = 5.12 us"),
]


@pytest.mark.parametrize(("text", "expected"), READ)
def test_textbook_strings_read_right(text, expected):
    try:
        (claim,) = read_latex(text, DIALECT)
    except ReadingError:
        assert side(read_latex_expression(text, DIALECT)) == expected
    else:
        assert shown(claim) == expected


def test_rows_go_on_with_a_chain_or_begin_another():
    text = r"\begin{align*} I &= \frac{A}{B} \\ &\approx A, \\[1em] B &> A \\ \end{align*}"
    for end in (", ", "; ", ". ", " "):
        assert [shown(c) for c in read_latex(text.replace("A, ", f"A{end}"), DIALECT)] == ["I = A/B ~ A", "B > A"]


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        (r"x = \foo{3}", 5, r"unknown command \foo"),
        (r"x = \prod_{i=1}^{N} i", 5, r"unknown command \prod"),
        (r"\text{Fehler} = 3", 1, "unknown words 'Fehler'"),
        (r"10^14 = x", 4, "several digits stands in braces"),
        (r"x' = O(n)", 6, "order of growth"),
        (r"x = \lim_{N \to 3} N", 17, "unexpected '3'"),
        (r"1e5 \times 10^{3} = x", 1, "two exponents"),
        (r"\frac{1}{2", 11, "ends too early"),
        (r"x = \sqrt[3]{8}", 10, "only square roots"),
        (r"x = 1/2 B", 9, "two readings"),
        (r"\frac A = 1", 9, "unexpected '='"),
        ("x = " + "{" * 80 + "1" + "}" * 80, None, "nested too deeply"),
        ("x = $1", 5, "unexpected character '$'"),
    ],
)
def test_what_is_not_known_is_refused_at_its_place(text, column, problem):
    with pytest.raises(ReadingError) as caught:
        read_latex(text, DIALECT)
    assert problem in str(caught.value)
    if column is not None:
        assert caught.value.column == column


def defined(macros):
    return {one.name: one.macro for one in definitions(macros)}


def read(text, *, letters="", macros=""):
    """As much of a formula of a document as can be read, in plain text; ? for a gap."""
    scope = Scope(NAMES, open=True, indices=True, give_way=("bytes",), letters=frozenset(letters))
    claims, _ = read_formula(text, [Dialect(scope, {}, defined(macros))])
    return "; ".join(chain(one) for claim in claims for one in claim.chains)


# As documents are written: thousands, names and words, units and counts, sums, layout, gaps, and the rest.
AS_WRITTEN = [
    (r"32,768 = 2^{15}", "32768 = 2^15"),
    (r"2,240 \cdot 10 = \textbf{15,728,640,000}", "2240*10 = 15728640000"),
    (r"1{,}024 + (3,000 + 1) = 1\,024", "1024 + (3000 + 1) = 1024"),
    (r"\max(1,024) = \max[2,048, 3]", "max(1, 024) = max(2, 048, 3)"),
    (r"T_\text{FSDP comms} = T_{\text{model parallel comms}}", "T_FSDP_comms = T_model_parallel_comms"),
    (r"\text{AI}_{\text{MHA}} = 3 = 2 + 1", '"AI_MHA" = 3 = 2 + 1'),
    (r"T_\text{comms}(X) = \frac{2X}{W}", "T_comms = 2X/W"),
    (r"T = T_\text{math}(X) + T_{\text{comms}}(X/2)", 'T = "T_math(X)" + "T_comms(X/2)"'),
    (r"\text{batch size} < 240", '"batch size" < 240'),
    (r"\text{num tokens} \cdot \text{param count} = B", '"num tokens" "param count" = B'),
    (r"W_{} = W_{1,2}", "W = W_1_2"),
    (r"5 \mu s = 5000\text{ ns} = 5\,\mu\text{s}", "5 us = 5000 ns = 5 us"),
    (r"2 \text{ days} = 48 \text{ hours} < 1 \text{ year}", "2 days = 48 hours < 1 years"),
    (r"400 \text{ Gbps} = 50 \text{ GB}/\text{s} = 50 \text{ GB/second}", "400 Gbps = 50 GB/s = 50 GB/s"),
    (r"240 \text{ FLOPS/byte} = 240 \text{ FLOPs/byte}", "240 FLOPs/bytes = 240 FLOPs/bytes"),
    (r"2 \cdot 67 = ~134\text{MB} = 2\text{ kiB} = 16 \text{ bits}", "2*67 = 134 MB = 2 KiB = 16 bits"),
    (r"8192\ (T) \times 40\ (K) = 327,680", "8192*40 = 327680"),
    (r"8192 \text{ (tokens)} \cdot 2 = 3", "8192*2 = 3"),
    (r"512 \cdot 4096 = 2M = 2\text{M} = 2\text{M tokens}", "512*4096 = 2M = 2M = 2M tokens"),
    (r"16k = 16,384", "16k = 16384"),
    (r"7B \text{ parameters} \cdot 2 = 14e9", "7B*2 = 14e9"),
    (r"7B + B = 8B", "7B + B = 8B"),
    (r"\sum_{i=1}^{N} i = \sum\limits_{i=1}^N 2", "sum(i, i, 1, N) = sum(2, i, 1, N)"),
    (r"1 + 2 + \dots + N = N(N + 1)/2", "sum(i, i, 1, N) = N(N + 1)/2"),
    (r"1 + 3 + 5 + \cdots + 99 = 2500", "sum(1 + 2(i - 1), i, 1, (99 - 1)/2 + 1) = 2500"),
    (r"\small x = \mathbf{3} \cdot \tiny\displaystyle 4 \tag{1} \label{eq}", "x = 3*4"),
    (r"\begin{split} a &= b \\ &= c \end{split}", "a = b = c"),
    (r"\begin{array}{rcl} a &=& b \\ c &=& 12 \end{array}", "a = b; c = 12"),
    (r"\underbrace{2BDF}_{\text{FLOPs}} = \overbrace{B + D}^{x = 3} F", "(2BDF) = (B + D)F"),
    (r"x = \begin{cases} 1 & \text{if } N > 3 \\ 2, & \text{otherwise.} \end{cases}", "x = 1 if N > 3; 2 otherwise"),
    (r"= 16,384", "? = 16384"),
    (r"\approx 2400", "? ~ 2400"),
    (r"\frac{d}{dX} (X^2 + 3) = \frac{d}{d X} X^2", "diff((X^2 + 3), X) = diff(X^2, X)"),
    (r"\frac{\partial f}{\partial X} = \frac{dT_\text{comms}}{dX}", "diff(f, X) = diff(T_comms, X)"),
    (r"\frac{|X| - 1}{|X|} = |3 - 5|", "(X - 1)/X = abs(3 - 5)"),
    (r"\max[A, B] \ge \log_2 8 = \log_2(N)", "max(A, B) >= log2(8) = log2(N)"),
    (r"A \simeq B == C \leqslant D \le F", "A ~ B = C <= D <= F"),
    (r"12\% = x² + 10⁹ = x_1 + x₁", "12% = x^2 + 10^9 = x_1 + x_1"),
    (r"1.5·10^9 = 1.5e9 = 1.5 × 10⁹ = 1.5 \times 10^{9}", "1.5e9 = 1.5e9 = 1.5e9 = 1.5e9"),
    (r"a = \foo{x = 3} = 12 = 3 \cdot 4", "a = ? = 12 = 3*4"),
    (r"B, D = 12 = 3 \cdot 4 \neq 5 = 2 + 3", "? = 12 = ? = 2 + 3"),
    (r"a = b \\ c = \foo \\ 3 = 4 - 1", "a = b; c = ?; 3 = 4 - 1"),
    (r"a = 3 \qquad b = 4 \quad (1)", "a = 3; b = 4"),
    (r"a &= b & c &= d \\ e &= f", "a = b; c = d; e = f"),
    (r"x &= a \\ &\quad + b", "x = a + b"),
    (r"x &= a \\ - b &= c", "x = ? = c"),
    (r"x &= a \\ & \otimes b \\ 3 &= 4", "x = ?; 3 = 4"),
]


@pytest.mark.parametrize(("text", "expected"), AS_WRITTEN)
def test_formulas_of_documents_are_read_as_they_are_written(text, expected):
    assert read(text) == expected


def test_letters_that_stand_alone_are_names_of_their_own():
    assert read(r"11bsh + 5bs^2a = bs(11h + 5as)", letters="bsha") == "11bsh + 5bs^2a = bs(11h + 5as)"
    assert read(r"2M = 2k = 3", letters="kM") == "2M = 2k = 3"
    assert read(r"5 \text{ s} = 5 = 2 + 3", letters="s") == "5 s = 5 = 2 + 3"
    assert read(r"\frac{2PB}{P} = 2B", letters="PB") == "2P B/P = 2B"
    assert read(r"5 s = 3 = 2ms = 1 + 2", letters="ms") == "? = 3 = ? = 1 + 2"
    formulas = ["b", "s = 2048", "12lh^2", "2 k", "x_i", r"\frac{d}{dX} X", "9 GB/s"]
    assert spelling("", formulas).letters == {"X", "b", "s"}


def test_macros_of_the_document_are_put_in_and_errors_keep_their_places():
    macros = r"\newcommand{\bs}{\text{batch size}} \newcommand{\gb}[1]{#1 \text{ GB}} \def\half{\frac12} \DeclareMathOperator*{\AI}{intensity} \newcommand{\bw}[1][W]{#1_\text{hbm}}"
    assert read(r"\bs \cdot \gb{3} = \half", macros=macros) == '"batch size"*3 GB = 1/2'
    assert read(r"\AI > \bw + \bw[V]", macros=macros) == "intensity > W_hbm + V_hbm"
    assert read(r"\def\x{3} \x = 2 + 1", macros=r"\def\x{3}") == "3 = 2 + 1"
    faulty = r"\def\bad{\foo} \def\a{\b\b} \def\b{\a} \newcommand{\two}[2]{#1}"
    dialect = Dialect(Scope(open=True), {}, defined(faulty))
    for text, column, problem in (
        (r"A = B + \bad", 9, r"unknown command \foo"),
        (r"A = \two{3}", 12, "lacks an argument"),
        (r"\a = 3", None, "macros"),
    ):
        with pytest.raises(ReadingError, match=problem.replace("\\", "\\\\")) as caught:
            read_latex(text, dialect)
        assert caught.value.column == column


def test_tokens_stand_where_they_were_written_beside_macros():
    source = r"A = \n + 1024 + \frac{32}{16}"
    dialect = Dialect(Scope(open=True), {}, defined(r"\def\n{4096}"))
    found = {token.text: source[token.start : token.end] for token in scan_latex(source, dialect)}
    assert [found[text] for text in ("4096", "1024", r"\frac", "32")] == [r"\n", "1024", r"\frac", "32"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (r"1 + 2 + \dots + 64 = x", "the sum has two readings"),
        (r"1 + 2 + 4 + \dots + 2^N = x", "no common step"),
        (r"1 + 2 + \dots = x", "no last term"),
        (r"1 + 2 + \dots + 2^N = x", "outside rational functions"),
        (r"1 + 3 + \dots + 8 = x", "none of its terms"),
        (r"\sum_{i=1}^N x_i = x", "depends on the index"),
        (r"\sum_{i=1}^N 2i + i = x", "where the sum ends has two readings"),
        (r"\sum_i x = x", "expected"),
        (r"\frac{d}{dX} (X^2) X = x", "where the derivative ends has two readings"),
        (r"\log_2 2 N = x", "where the logarithm ends has two readings"),
        (r"T_\text{math}(X) D = x", "two readings"),
        (r"x = |A|B|", "the text ends too early"),
        (r"\text{some words} = x", "unknown words"),
        (r"T_{i+1} = x", "is no name"),
        (r"X[32,768] = x", "unexpected"),
        (r"x = (1,024)", "unexpected ','"),
        (r"x = a\,.b", "unexpected '.'"),
        (r"x = 1,0245", "unexpected ','"),
        (r"= 3", "unexpected '='"),
    ],
)
def test_what_has_two_readings_is_refused(text, problem):
    with pytest.raises(ReadingError, match=problem):
        read_latex(text, DIALECT)


def test_what_brackets_or_a_clause_hide_is_not_gone_on_from():
    for text in (r"a = ( 3 = 4", r"3 = 4 \text{ if } x > \foo", r"\foo = 3 - "):
        with pytest.raises(ReadingError):
            read(text)


def test_a_function_is_its_name_where_it_has_the_arguments_of_its_definition():
    """T(n)/n is no T n/n: what a document defines as a function of letters is no factor before brackets anywhere in it."""
    formulas = (r"T_1(n) = 4n^3", r"\alpha(p) &= \frac{1}{p}", "S(n, p) = n", "N(N + 1) = N^2 + N")
    functions = spelling("", formulas).functions
    assert functions == {"T_1": "n", "α": "p", "S": "n,p"}
    dialect = Dialect(Scope(open=True, indices=True), functions=functions)
    cases = {
        r"T_1(n)/n = 4n^2": "T_1/n = 4n^2", r"T_1(2n) = 32n^3": '"T_1(2n)" = 32n^3', r"2\alpha(p) = 2/p": "2α = 2/p",
        r"S(n,p) = N(N+1)": "S = N(N + 1)", r"2S(16, p) = 1": '2 "S(16, p)" = 1',
    }  # fmt: skip
    for text, expected in cases.items():
        assert shown(read_latex(text, dialect)[0]).replace("\\", "") == expected


def test_letters_inside_of_a_fraction_are_no_unit():
    """Behind a number kB is a unit, and where k and B are names of the document a product: in a fraction no unit stands."""
    assert read(r"\frac{2kB}{E} = 1", letters="kBE") == "2k B/E = 1"
    assert read(r"2 T\,[L + k] = 2kT", letters="TLk") == "2T(L + k) = 2kT"
