"""Nothing right is refused: of random requests each has an answer, or an error that says what is wrong with the request."""

from __future__ import annotations

import drawn_requests
import pytest

from symroof.errors import CheckError, SymroofError

REQUESTS, PARTS = 30, 16


@pytest.mark.part(1)
@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(i, marks=pytest.mark.thorough) for i in range(2, PARTS))])
def test_nothing_right_is_refused_at_an_exit(seed):
    given = 0
    for i in range(REQUESTS):
        asked = drawn_requests.request(100 * seed + i)
        try:
            given += bool(drawn_requests.answer(*asked))
        except CheckError as error:
            raise AssertionError(asked) from error
        except SymroofError:
            continue
    assert given > REQUESTS // 4
