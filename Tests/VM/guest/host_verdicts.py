#!/usr/bin/python3
"""Checks the verdicts of the cases for hosts on the kernel's host: it fails what is listed here, and nothing else. docs/design/peers.md has the sections.

usage: host_verdicts.py RESULTS LEAST-NUMBER-OF-PASS
"""

import json
import sys

FAULTS = {
    "host-gap/general-discoverable[mode=connectable": "no Flags without other advertising data",
    "host-sm/repeated-attempts": "no waiting interval after failures",
}
"""Beginnings of case names, with what Linux 6.1 does not do as the specification says."""


def is_fault(case):
    return case["id"].startswith(tuple(FAULTS))


def main(path, least):
    with open(path) as file:
        cases = json.load(file)["cases"]
    problems = [f"{case['id']}: {case['message']}" for case in cases if case["verdict"] not in ("PASS", "N/A", "FAIL" if is_fault(case) else "PASS")]
    problems += [f"{case['id']} does not FAIL any more" for case in cases if case["verdict"] == "PASS" and is_fault(case)]
    passed = sum(case["verdict"] == "PASS" for case in cases)
    if passed < int(least):
        problems.append(f"{passed} PASS, at least {least} were expected")
    for problem in problems:
        print("= NOT OK:", problem)
    faults = sum(map(is_fault, cases))
    print(f"{'= ok: ' if not problems else ''}{passed} of {len(cases)} cases pass on the kernel's host, {faults} FAIL as listed")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
