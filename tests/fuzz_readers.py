"""A coverage-guided fuzzer for the readers: python tests/fuzz_readers.py -max_total_time=60"""

import sys

import atheris

with atheris.instrument_imports(include=["symroof.reading"]):
    from symroof.errors import SymroofError
    from symroof.reading.claims import read_claim
    from symroof.reading.documents import read_text
    from symroof.reading.expressions import Scope
    from symroof.reading.latex import read_latex
    from symroof.reading.latex_tokens import Dialect

SCOPE = Scope(("B", "D", "F", "flops", "T_math"), open=True, indices=True)


def one(data):
    text = atheris.FuzzedDataProvider(data).ConsumeUnicodeNoSurrogates(len(data))
    for read in (lambda: read_claim(text, SCOPE), lambda: read_latex(text, Dialect(SCOPE)), lambda: read_text(text), lambda: read_text(text, tex=True)):
        try:
            read()
        except SymroofError as error:
            if not str(error):
                raise AssertionError("an error without a message") from error


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
