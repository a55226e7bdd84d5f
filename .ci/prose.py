"""The rules of docs/style.md that a program can check: words, doc comments, and the shape of the pages. Used by .ci/lint."""

import functools
import pathlib
import re
import subprocess

LEFT = pathlib.Path(__file__).resolve().parent / "prose-left.txt"
LONGEST_LINE = 120
LONGEST_PARAGRAPH = 600
"""Six lines of 100 characters."""

# Each with the plain word for it. The left side is searched in comments, documentation, help texts and messages.
WORDS = [
    (r"manieth", "every n-th"),
    (r"told to the host", "reported to the host"),
    (r"patience", "timeout"),
    (r"obstacles?", "impediment"),
    (r"wish(es)?", "request, requirement"),
    (r"witness(es)?", "tester, reliability"),
    (r"ledgers?", "log"),
    (r"(each )?so many", "a number: N packets, every n-th"),
    (r"(run's|its) own time", "simulated time"),
    (r"who (tests|is tested)", "tester device, device under test"),
    (r"(none|nobody|anybody)'s", "say which one"),
    (r"(comes|came|come) of (it|them|this|that)", "result, outcome"),
    (r"as often as wanted", "can be repeated"),
    (r"say of themselves|says of itself", "reports"),
]
WORD = re.compile(r"\b(" + "|".join(f"(?P<w{index}>{pattern})" for index, (pattern, _) in enumerate(WORDS)) + r")\b", re.IGNORECASE)
# Messages and help texts: these are searched in the strings of Sources alone.
MESSAGE_WORDS = [
    (r"(?<!there )(?:is|are) (?:no|none)\b(?! longer| more)", "is not a ..., unknown ..., or the option that it needs"),
    (r"(?:is|are) of\b", "has, belongs to, needs"),
    (r"nobody", "no device, no peer, no client"),
    (r"(?:came|comes|come) about", "was made"),
]
OPENING = re.compile(r"///\s*(What|Whether|How|Where|Who|Whose|Whom|Tells|Of the|For what)\b")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
MESSAGES = [(re.compile(rf"\b{pattern}", re.IGNORECASE), plain) for pattern, plain in MESSAGE_WORDS]
PATH = re.compile(r"\bdocs/[\w./-]+\.(?:md|png)\b")
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
# These show the words.
EXEMPT = [".ci/prose.py", "docs/style.md"]


def folder(path):
    """The part of the tree that an allowance is for: Sources/Host, Tests/Peers, docs."""
    depth = 2 if path.parts[0] in ("Sources", "Tests") else 1
    return "/".join(path.parts[:depth])


def prose(path, line):
    """What people read in a line of a file."""
    if path.suffix != ".swift":
        return line
    text, _, comment = line.partition("//")
    return " ".join([comment, *STRING.findall(text)])


def messages(path, text):
    """Line number and message of each word in a message that docs/style.md replaces."""
    if path.suffix != ".swift" or path.parts[0] != "Sources":
        return
    within = False
    for number, line in enumerate(text.splitlines(), 1):
        code = line.partition(" //")[0] if not line.strip().startswith("//") else ""
        parts = [line] if within and '"""' not in line else STRING.findall(code)
        within ^= code.count('"""') % 2 == 1
        for pattern, plain in MESSAGES:
            for match in pattern.finditer("\n".join(parts)):
                yield number, f"“{match.group()}” in a message: write {plain}"


def words(path, text):
    """Line number and message of each word and opening that docs/style.md replaces."""
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        for match in WORD.finditer(prose(path, line)):
            index = next(index for index in range(len(WORDS)) if match.group(f"w{index}"))
            yield number, f"“{match.group()}”: write {WORDS[index][1]}"
        stripped = line.strip()
        if path.suffix == ".swift" and stripped.startswith("///"):
            opening = None if before.startswith("///") else OPENING.match(stripped)
            if opening:
                yield number, f"a doc comment begins with the thing, not with “{opening.group(1)}”"
        before = stripped


def shape(text):
    """Line number and message of each line and paragraph of a page that is too long."""
    start, length, fenced = 0, 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if len(line) > LONGEST_LINE:
            yield number, f"{len(line)} characters in a line; {LONGEST_LINE} are allowed"
        if line.startswith("```"):
            fenced = not fenced
        begins = re.match(r"\s*([-*]|\d+\.) ", line)
        if not fenced and line.strip() and not begins and not line.startswith(("```", "|", "#", "    ")):
            start, length = (start or number), length + len(line.strip()) + 1
            continue
        if length > LONGEST_PARAGRAPH:
            yield start, f"{length} characters in a paragraph; {LONGEST_PARAGRAPH} are allowed"
        start, length = (number, len(line.strip()) + 1) if begins and not fenced else (0, 0)


def anchors(text):
    """The names by which the headings of a page can be linked to."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(root, path, text):
    """Line number and message of each link and path of a page that leads nowhere."""
    for number, line in enumerate(text.splitlines(), 1):
        for target, anchor in LINK.findall(line) if path.suffix == ".md" else []:
            if "://" in target:
                continue
            page = root / path.parent / target if target else root / path
            if not page.exists():
                yield number, f"the link leads nowhere: {target}"
            elif anchor and anchor not in anchors(page.read_text(encoding="utf-8")):
                yield number, f"{target} has no heading #{anchor}"
        for target in PATH.findall(line):
            if not re.search(r"build/" + re.escape(target), line) and not (root / target).exists():
                yield number, f"there is no {target}"


CODE = re.compile(r"`[^`\n]+`")
TYPE_OR_MEMBER = re.compile(r"\b[A-Za-z]+[a-z0-9][A-Z]\w*")


def names(root, paths):
    """Page, line and message of each name in the design that no source has any more."""
    pages = [path for path in paths if path.suffix == ".md" and path.is_relative_to(root / "docs/design")]
    sources = [path for path in paths if path.suffix in (".swift", ".py", ".yaml")]
    known = {path.stem for path in paths} | {part for path in paths for part in path.parts}
    for path in sources:
        known.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    for page in pages:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            for name in TYPE_OR_MEMBER.findall(" ".join(CODE.findall(line))):
                if name not in known:
                    yield page, number, f"no source has {name} any more"


def allowances():
    entries = [line.split() for line in LEFT.read_text().splitlines() if line and not line.startswith("#")]
    return {name: int(count) for count, name in entries}


@functools.cache
def added(root):
    """The lines that are new or changed since the allowances were written down, for each file."""
    written = git(root, "log", "-1", "--format=%H", "--", LEFT.relative_to(root)).strip()
    lines, name = {}, ""
    for line in git(root, "diff", "-U0", written).splitlines() if written else []:
        if line.startswith("+++ "):
            name = line[len("+++ b/"):]
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(hunk.group(1)), int(hunk.group(2) or 1)
            lines.setdefault(name, set()).update(range(first, first + count))
    return lines


def git(root, *arguments):
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def check(root, paths, violation, lower=False):
    """Calls `violation(path, line, text)`. With `lower` the allowances become what is found, where that is less."""
    allowed, found = allowances(), {}
    for page, number, message in names(root, paths):
        violation(page, number, message)
    for path in paths:
        name = path.relative_to(root)
        if str(name) in EXEMPT or name.suffix not in (".swift", ".py", ".md", ".yaml", ".sh", ".txt", ".js", ".css", ".html"):
            continue
        text = path.read_text(encoding="utf-8")
        for number, message in links(root, name, text):
            violation(path, number, message)
        if name.suffix == ".md":
            found.setdefault(str(name), []).extend((path, number, message) for number, message in shape(text))
        if name.parts[0] != "Fixtures":
            found.setdefault(folder(name), []).extend((path, number, message) for number, message in words(name, text))
        for number, message in messages(name, text):
            violation(path, number, message)
    for name, entries in found.items():
        if len(entries) > allowed.get(name, 0):
            new = added(root)
            recent = [entry for entry in entries if entry[1] in new.get(str(entry[0].relative_to(root)), ())]
            for path, number, message in recent or entries:
                violation(path, number, f"{message} ({name} has {len(entries)} of these, {allowed.get(name, 0)} are left to it)")
    lowered = {name: min(count, len(found.get(name, []))) for name, count in allowed.items()}
    if lower:
        comments = [line for line in LEFT.read_text().splitlines() if line.startswith("#")]
        LEFT.write_text("\n".join(comments + [f"{count} {name}" for name, count in sorted(lowered.items()) if count]) + "\n")
    elif lowered != allowed:
        fewer = ", ".join(f"{name} {count}" for name, count in sorted(lowered.items()) if count != allowed[name])
        print(f"lint: note: fewer to reword than allowed; .ci/lint --lower writes it down: {fewer}")
