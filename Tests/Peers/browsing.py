"""Debian's Chromium, headless and without a network, with reports to open in it."""

import contextlib
import pathlib
import shutil

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from support import ROOT, TIMEOUT, run_bench

CHROMIUM = pathlib.Path("/usr/bin/chromium")
CASES = ROOT / "Conformance"


@contextlib.contextmanager
def chromium():
    """A browser. The test fails if there is none."""
    assert CHROMIUM.is_file(), "no Chromium to look at the report with: run .ci/setup"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def opened(browser, report, fragment="", width=1280, **options):
    """The report in a new tab. Script errors and external requests fail the test."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **options)
    context.set_default_timeout(TIMEOUT * 1_000)
    page = context.new_page()
    faults, wanted = [], []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: wanted.append(request.url))
    page.goto(report.as_uri() + fragment)
    try:
        yield page
        assert not faults
        assert {url.split("#")[0] for url in wanted} == {report.as_uri()}, "the page stands alone"
    finally:
        context.close()


def serious(page):
    """The serious and critical findings of axe, each with its position."""
    return [
        f"{rule['id']}: {node['target']}" for rule in Axe().run(page).response["violations"] if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


def altered(text, old, new):
    assert old in text, f"the case has no '{old}' any more"
    return text.replace(old, new)


def cases_with_faults(folder):
    """Cases of the bench, and some that a correct subject fails."""
    folder.mkdir()
    for name in ("procedures", "phy", "dle"):
        shutil.copytree(CASES / name, folder / name)
    good = (CASES / "phy/central-asks-2m.yaml").read_text()
    last = "where: {Status: Success, Connection_Handle: $link.subject, TX_PHY: LE_2M"
    expected = "  - expect: LE_PHY_Update_Complete\n    as: subject\n    where: {Status: Success, Connection_Handle: $link.subject, TX_PHY: LE_2M, RX_PHY: LE_2M}"
    variants = {
        "wrong-field": altered(good, last, last.replace("LE_2M", "LE_Coded")),
        "nothing-came": altered(good, expected, "  - expect: LE_Data_Length_Change\n    as: subject"),
        "refused": altered(good, "    with: {Connection_Handle: $link.tester, TX", "    answer: {Status: Command_Disallowed}\n    with: {Connection_Handle: $link.tester, TX"),
    }
    for name, text in variants.items():
        (folder / "phy" / f"{name}.yaml").write_text(text)


def many_cases(folder, count):
    """Short cases in twenty suites, of which every 50th fails."""
    text = """\
title: Case {number} reads the buffers
purpose: LE_Read_Buffer_Size is answered.
reference: Core Vol 4, Part E, 7.8.2
tags: [usb]
steps:
  - send: LE_Read_Buffer_Size
    as: subject
    answer: {{Status: {status}}}
    states: The command is answered by {status}.
"""
    folder.mkdir()
    for number in range(count):
        suite = folder / f"suite-{number % 20:02}"
        suite.mkdir(exist_ok=True)
        status = "Page_Timeout" if number % 50 == 49 else "Success"
        (suite / f"case-{number:04}.yaml").write_text(text.format(number=number, status=status))


def report_of(folder, cases, *options):
    """The page of a run with FAILs."""
    run_bench("run", "--cases", cases, "--report", folder, *options, expected=1)
    return folder / "index.html"
