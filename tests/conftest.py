"""Shared fixtures: the command line in this process, and golden files."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import io
import os
import shutil
import sys
import time
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from effort import decide, is_thorough, left_out
from hypothesis import settings

ROOT = Path(__file__).parent.parent

# Compiled tests stay for the next run, and for the processes that tests start: to rewrite them takes as long as to run some.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def pytest_addoption(parser):
    parser.addoption("--renew", action="store_true", help="write golden files anew; review them as diffs")
    parser.addoption(
        "--thorough",
        action="store_true",
        help="every case and every draw of every law, as the continuous integration does",
    )


class Collecting:
    """A module is imported for its examples only where it has some, and a file of thorough tests only for a thorough run."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path, parent):
        found = yield
        if file_path.suffix != ".py":
            return found
        text = file_path.read_text("utf-8")
        if not is_thorough() and "\npytestmark = [pytest.mark.thorough" in text:
            named = (Path(argument.split("::")[0]).resolve() for argument in parent.config.args)
            return found if file_path in named else []
        return [one for one in found if ">>>" in text or not isinstance(one, DoctestModule)]


def pytest_configure(config):
    decide(config)
    if not is_thorough():
        settings.register_profile("part", max_examples=25, deadline=None)
        settings.load_profile("part")
    config.pluginmanager.register(Collecting())


def pytest_collectstart():
    gc.disable()


def pytest_collection_modifyitems(config, items):
    if not is_thorough():
        out = left_out(items)
        config.hook.pytest_deselected(items=list(out))
        items[:] = [item for item in items if item not in out]


def pytest_collection_finish():
    """What was imported and collected stays until the end: looking through it again and again is a tenth of the time."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    before = time.process_time()
    try:
        return (yield)
    finally:
        item.user_properties.append(("processor time", time.process_time() - before))


def pytest_terminal_summary(terminalreporter):
    """A quick run says which tests take more than a second of processor time: those belong to a thorough one."""
    if is_thorough():
        return
    passed = (report for report in terminalreporter.getreports("passed") if report.when == "call")
    slow = {report.nodeid: seconds for report in passed for _, seconds in report.user_properties if seconds > 1}
    for name in sorted(slow, key=slow.get, reverse=True):
        terminalreporter.write_line(f"over a second: {slow[name]:.1f} s {name}")


class Run:
    """What a run of the command line printed, and its exit status."""

    def __init__(self, out: str, err: str, code: int) -> None:
        self.out, self.err, self.code = out, err, code


class Stream(io.StringIO):
    encoding = "utf-8"


@pytest.fixture
def run():
    """Run ``symroof`` with arguments."""
    from symroof.cli import main

    def call(*arguments: str) -> Run:
        out, err = Stream(), Stream()
        code = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main(list(arguments))
            except SystemExit as end:
                code = int(end.code or 0)
        return Run(out.getvalue(), err.getvalue(), code)

    return call


@pytest.fixture
def golden(request):
    """Compare text with a committed file; ``--renew`` writes it."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--renew"):
            path.write_text(text, "utf-8")
        assert path.exists(), f"{path.name} is missing: pytest --renew"
        assert text == path.read_text("utf-8"), f"{path.name} has changed: review it, then pytest --renew"

    return compare


@pytest.fixture(scope="module")
def browser():
    """Chromium, without a network; skipped where there is none."""
    from test_rendering_engines import require

    require(importlib.util.find_spec("playwright"), "playwright is not installed")
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chrome"))), None)
    require(path, "there is no Chromium")
    with sync_playwright() as engine:
        found = engine.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()
