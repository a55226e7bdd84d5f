"""The examples of the guide: each block of YAML in the pages about cases passes `bluebench check`, and each action has an example."""

import json
import re
import shutil
import subprocess

import pytest

from support import ROOT, TIMEOUT, bluebench

GUIDE = ROOT / "docs" / "guide"
PAGES = ["cases.md", "actions.md", "variants.md", "mutants.md"]
HEAD = """title: An example
purpose: It is in the guide.
reference: Core Vol 6, Part B, 4.5
"""
REQUIREMENT = "- {none: Hardware_Error, as: tester, within: 1 ms, states: The example holds.}\n"


def blocks(page):
    """Kind, number and text of each block: a complete file, or steps of a case."""
    found = re.findall(r"^```yaml ?(\w*)\n(.*?)^```", (GUIDE / page).read_text(), re.M | re.S)
    for number, (kind, text) in enumerate(found):
        yield kind or ("case" if text.startswith("title:") else "steps"), number, text


def case(kind, page, text):
    """A case with an example's steps; its setup saves the values that they use."""
    setup = "" if kind == "accessory" else "saveAs: link"
    text += REQUIREMENT + "".join(f"- {{check: ${name}, is: {{any: true}}}}\n" for name in set(re.findall(r"saveAs: (\w+)", text + setup)))
    if kind == "accessory":
        return HEAD + "subject: accessory\nrule: advertising-interval\nsteps:\n" + text
    needs = "needs: air\n" if kind == "air" else ""
    link = "do: meet, as: tester" if page == "actions.md" else "use: connected"
    return HEAD + needs + f"setup:\n- {{{link}, {setup}}}\nsteps:\n" + text


@pytest.fixture
def folder(tmp_path):
    """A copy of the cases, in which more cases may name a public test case."""
    shutil.copytree(ROOT / "Conformance", tmp_path / "Conformance")
    for table in (tmp_path / "Conformance" / "public-tests").glob("*.tsv"):
        rows = [line for line in table.read_text().splitlines() if not line.startswith("#")]
        table.write_text("".join(row.split("\t")[0] + "\n" for row in rows))
    return tmp_path


def test_examples_pass_check(folder):
    places = {"variant": "variants", "mutant": "mutants", "procedure": "procedures"}
    for page in PAGES:
        for kind, number, text in blocks(page):
            path = folder / "Conformance" / places.get(kind, "guide") / f"{page.removesuffix('.md')}-{number}.yaml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text if kind in places or kind == "case" else case(kind, page, text))
    made = subprocess.run([bluebench(), "check"], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT)
    assert made.returncode == 0, made.stdout + made.stderr


def test_each_action_has_an_example_and_its_arguments():
    schema = json.loads(subprocess.run([bluebench(), "schema"], capture_output=True, text=True, timeout=TIMEOUT, check=True).stdout)
    page = (GUIDE / "actions.md").read_text()
    steps = schema["definitions"]["step"]["anyOf"]
    actions = next(step for step in steps if "do" in step.get("properties", {}))["allOf"]
    assert len(actions) > 40
    for action in actions:
        name = action["if"]["properties"]["do"]["const"]
        assert re.search(rf"do: {re.escape(name)}[,}}]", page), f"no example of {name}"
        assert f"| `{name}` |" in page, f"no row of {name}"
        for argument in action["then"]["properties"].get("with", {}).get("properties", {}):
            assert f"`{argument}`" in page, f"{name} takes {argument}"


def commands():
    """Page, subcommand and options of each command line in README, the guide and the design."""
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for line in re.sub(r"\\\n +", "", page.read_text()).splitlines():
            for name, rest in re.findall(r"\bbluebench ([a-z][a-z0-9]+)\b([^`;|]*)", line):
                yield page.relative_to(ROOT), name, re.findall(r"(?<=\s)--[a-z][a-z-]*", rest)


def test_each_option_in_the_pages_exists():
    """The help of a command lists every option that a page uses; some belong into bench.yaml, and only --help-hidden lists them."""
    texts = {}
    for page, name, options in commands():
        if name not in texts:
            shown = subprocess.run([bluebench(), name, "--help-hidden"], capture_output=True, text=True, timeout=TIMEOUT)
            texts[name] = shown.stdout if shown.returncode == 0 and f"USAGE: bluebench {name}" in shown.stdout else ""
        if texts[name] == "":
            assert not options, f"{page}: there is no bluebench {name}"
            continue
        for option in options:
            if "SUBCOMMANDS:" not in texts[name]:
                assert re.search(rf"{option}\b(?!-)", texts[name]), f"{page}: bluebench {name} has no {option}"
