"""The declarations of PDUs against the sources: a struct exists where somebody names it."""

import pathlib
import re

# Each PDU of these layers is a case of the layer's Message, and structures are fields of PDUs.
WHOLE_LAYERS = {"LLControl", "LMP", "L2CAPSignaling", "ATT", "SMP", "SDP", "Structures"}
# Names of PDUs as literals that are left: those of the rooms that follow links, and texts that only look like one.
NAMES_LEFT = {"Capture": 1, "Conformance": 1, "L2CAP": 1, "Packets": 3}
LITERAL = re.compile(r'"([^"\\]*)"')
# Fields of other PDUs have the names of structures.
WITHOUT_NAMES = {"Structures"}
# A struct that is written by hand states its name.
OWN_NAME = "static var name: String {"
NAMED = re.compile(r"\b([A-Z]\w+)\.([A-Z]\w+)")


def plain(name):
    """A name of the specification and its Swift name have the same letters and digits."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def prefixes(folder):
    """Layer to the prefix that its PDUs drop."""
    layers = re.findall(r"^  (\w+): \{(.*)\}", (folder / "Layers.yaml").read_text(encoding="utf-8"), re.M)
    return {name: plain(match.group(1)) if (match := re.search(r"prefix: (\w+)", facts)) else "" for name, facts in layers}


def declarations(path):
    """Layer, name, line and codec of each PDU in a file."""
    layer, default, pdu, result = "", "generated", None, []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if match := re.match(r"layer: (\w+)", line):
            layer = match.group(1)
        elif match := re.match(r"codec: (\w+)", line):
            default = match.group(1)
        elif match := re.match(r'  ("?)([A-Za-z0-9][^"]*?)\1:$', line):
            result.append([layer, match.group(2), number, default])
        elif (match := re.match(r"    codec: (\w+)", line)) and result:
            result[-1][3] = match.group(1)
    return result if layer else []


def check(root, swift_files, violation):
    folder = root / "Sources/Packets/PDUs"
    dropped = prefixes(folder)
    named = set()
    for path in swift_files:
        named.update((layer, plain(name)) for layer, name in NAMED.findall(path.read_text(encoding="utf-8")))
    for path in sorted(folder.rglob("*.yaml")):
        for layer, pdu, line, codec in declarations(path):
            if layer in WHOLE_LAYERS or codec == "hand":
                continue
            name = plain(pdu)
            names = {name, name.removeprefix(dropped.get(layer, ""))}
            is_named = any((layer, name) in named for name in names)
            if codec == "none" and is_named:
                violation(path, line, f"the sources name {layer}'s {pdu}: remove its `codec: none`, or say `codec: generated` in a file of them")
            if codec != "none" and not is_named:
                violation(path, line, f"nobody names the struct of {pdu}: say `codec: none`")


def check_names(root, rooms, swift_files, violation):
    """A PDU's name in Swift is a generated member, so that a name that is declared nowhere does not compile."""
    known = {pdu for path in (root / "Sources/Packets/PDUs").rglob("*.yaml") for layer, pdu, *_ in declarations(path) if layer not in WITHOUT_NAMES}
    for room in rooms:
        found = []
        for path in swift_files(root / "Sources" / room):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if OWN_NAME not in line:
                    found += [(path, number, name) for name in LITERAL.findall(line.split("//", 1)[0]) if name in known]
        allowed = NAMES_LEFT.get(room, 0)
        for path, number, name in found if len(found) > allowed else []:
            violation(path, number, f"{name} is a PDU: name its type's `name` or `id`")
        if len(found) < allowed:
            violation(root / ".ci/declared.py", 1, f"{room} has only {len(found)} names of PDUs as literals now: lower its number in NAMES_LEFT")
