"""Textbook LaTeX: what is read, and what is refused with its place."""

import pytest

from symroof.errors import ReadingError
from symroof.reading.expressions import Scope
from symroof.reading.latex import read_latex, read_latex_expression
from symroof.reading.latex_tokens import Dialect
from symroof.rendering.formulas.plain import PlainPrinter

NAMES = ("T_math", "T_comms", "T_lower", "flops", "bytes", "intensity", "ridge", "peak", "bandwidth")
DIALECT = Dialect(Scope(NAMES, open=True, indices=True), {"Rechenaufwand": "flops"})


def shown(claim):
    printer = PlainPrinter()

    def chain(c):
        return printer.print(c.sides[0]) + "".join(f" {r} {printer.print(s)}" for r, s in zip(c.relations, c.sides[1:], strict=True))

    parts = [" and ".join(map(chain, proposition)) for proposition in claim.propositions]
    text = parts[0] + "".join(f" {c} {p}" for c, p in zip(claim.connectives, parts[1:], strict=True))
    return text + (" as " + ", ".join(printer.print(r) for r in claim.regime) if claim.regime else "")


# Sixteen strings as textbooks write them.
TEXTBOOK = [
    (r"\frac{2BDF}{2BD + 2DF + 2BF} = \frac{BDF}{BD + DF + BF}", "2BDF/(2BD + 2DF + 2BF) = BDF/(BD + DF + BF)"),
    (r"\frac{N + N - 1}{2N + 2N + 2} = \frac{2N - 1}{4N + 2} \rightarrow \frac{1}{2}", "(N + N - 1)/(2N + 2N + 2) = (2N - 1)/(4N + 2) -> 1/2"),
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
]
FURTHER = [
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
]


@pytest.mark.parametrize(("text", "expected"), TEXTBOOK + FURTHER)
def test_textbook_strings_read_right(text, expected):
    try:
        (claim,) = read_latex(text, DIALECT)
    except ReadingError:
        assert PlainPrinter().print(read_latex_expression(text, DIALECT)) == expected
    else:
        assert shown(claim) == expected


def test_rows_go_on_with_a_chain_or_begin_another():
    text = r"\begin{align*} I &= \frac{A}{B} \\ &\approx A, \\[1em] B &> A \\ \end{align*}"
    with pytest.raises(ReadingError):  # a comma inside is no punctuation at the end
        read_latex(text, DIALECT)
    assert [shown(c) for c in read_latex(text.replace("A, ", "A "), DIALECT)] == ["I = A/B ~ A", "B > A"]


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        (r"x = \foo{3}", 5, r"unknown command \foo"),
        (r"x = \prod_{i=1}^{N} i", 5, r"unknown command \prod"),
        (r"\text{Fehler} = 3", 1, "unknown words 'Fehler'"),
        (r"10^14 = x", 4, "several digits stands in braces"),
        (r"x' = 3", 2, 'unexpected "\'"'),
        (r"1e5 \times 10^{3} = x", 1, "two exponents"),
        (r"\frac{1}{2", 11, "ends too early"),
        (r"x = \sqrt[3]{8}", 10, "only square roots"),
        (r"x = 1/2 B", 9, "two readings"),
        (r"\frac AB = 1", 7, "unexpected 'AB'"),
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
