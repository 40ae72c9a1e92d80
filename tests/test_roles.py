"""The parts of an answer: a closed set, each of them said somewhere and asked for somewhere."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from symroof.model.quantities import OF_PROGRAMS
from symroof.proof.step import Role

ROOT = Path(__file__).parent.parent
ROLES = set(get_args(Role)) - {""}
# Methods of an answer that look a part up.
ASKING = {"all", "step", "formula", "value", "known", "numbers", "number", "solution", "whole", "divisor", "said"}
# What makes a step, and where in its arguments a role may stand.
SAYING = {"Step": 8, "replace": 9, "_rooted": 4, "_with_figures": 2, "said": 0, "carried": 4, "grows": 4, "append": 0}
ASKED_IN_TEMPLATES = re.compile(r"""(?:\.said|answer\.step|answer\.formula|said\.formula)\("([^"]+)"\)""")


def texts_of(node):
    return {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and n.value in ROLES}


def calls():
    for path in (ROOT / "symroof").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and path.name != "step.py":
                yield node


def test_templates_ask_for_parts_that_there_are():
    asked = {
        name for path in (ROOT / "templates").rglob("*.j2") for name in ASKED_IN_TEMPLATES.findall(path.read_text())
    }
    assert len(asked) > 15
    assert asked <= ROLES | OF_PROGRAMS.keys()


@pytest.mark.thorough
def test_every_part_that_is_looked_up_is_said_somewhere():
    said, asked = set(), set()
    for call in calls():
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        roles = [keyword.value for keyword in call.keywords if keyword.arg == "role"]
        if name in ASKING and len(call.args) == 1:
            asked |= texts_of(call.args[0])
        elif name in SAYING:  # the section, and what formulas hold, come before the role
            said |= set().union(*(texts_of(part) for part in (*call.args[SAYING[name] :], *roles)))
    amounts = {
        "T_math",
        "T_comms",
        "T_lower",
        "T_upper",
        "T_steps",
        "flops",
        "flops_exact",
        "reads",
        "writes",
        "bytes",
        "ops",
    }
    assert len(asked) > 30
    assert asked - said - amounts - OF_PROGRAMS.keys() == set()


@pytest.mark.parametrize("role", sorted(ROLES))
def test_no_part_is_a_name_that_nobody_uses(role):
    text = "\n".join(p.read_text("utf-8") for p in (ROOT / "symroof").rglob("*.py") if p.name != "step.py")
    assert f'"{role}"' in text
