"""A coverage-guided fuzzer for the readers: python tests/fuzz_readers.py -max_total_time=60"""

import sys


def main():
    import atheris

    with atheris.instrument_imports(include=["symroof.reading"]):
        from symroof.errors import SymroofError
        from symroof.reading.claims import read_claim
        from symroof.reading.documents import read_text
        from symroof.reading.latex import read_latex
        from symroof.reading.latex_phrases import Dialect
        from symroof.reading.macros import definitions
        from symroof.reading.scope import Scope
        from symroof.verification.claims_read import read_formula

    scope = Scope(("B", "D", "F", "flops", "T_math"), open=True, indices=True, letters=frozenset("bsk"))
    macros = {one.name: one.macro for one in definitions(r"\newcommand{\a}[2][x]{\b{#1}+#2} \def\b#1{#1#1}")}

    def one(data):
        text = atheris.FuzzedDataProvider(data).ConsumeUnicodeNoSurrogates(len(data))
        for read in (
            lambda: read_claim(text, scope),
            lambda: read_latex(text, Dialect(scope)),
            lambda: read_formula(text, [Dialect(scope, {}, macros)]),
            lambda: read_text(text),
            lambda: read_text(text, tex=True),
        ):
            try:
                read()
            except SymroofError as error:
                if not str(error):
                    raise AssertionError("an error without a message") from error

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
