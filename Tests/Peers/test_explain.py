"""A case as a message sequence: every arrow has its ends and its values, in text and in Mermaid."""

import re

import pytest

from support import ROOT, run_bench

LANES = ("testerHost", "testerController", "subjectController", "subjectHost")
ROW = re.compile(
    rf"    (?:({'|'.join(LANES)})->>({'|'.join(LANES)}): .+|Note over (?:{'|'.join(LANES)})(?:,subjectHost)?: .+|(loop|alt|par)(?: .*)?|(else|and)|(end))")


def case_with(word):
    """The first case with a step of a kind."""
    for path in sorted((ROOT / "Conformance").glob("*/*.yaml")):
        text = path.read_text()
        if re.search(rf"^ *- (?:{word}:|\w+: {word})", text, re.M) and text.startswith("title:") and "\nsteps:" in text and "rounds:" not in text:
            return f"{path.parent.name}/{path.stem}"
    raise AssertionError(f"no case has {word}")


def test_values_stand_beside_the_arrows():
    lines = run_bench("explain", "phy/central-asks-2m", "--sequence").stdout.splitlines()
    asked = lines.index("|-------------->|               |               |               LE_Set_PHY  Connection_Handle $link.tester, TX_PHYs 2, RX_PHYs 2")
    told = [line for line in lines[asked:] if "LE_PHY_Update_Complete" in line]
    assert told[0].startswith("|<--------------|") and "Status Success" in told[0] and "within 40 s" in told[0]
    assert told[1].startswith("|               |               |-------------->|") and "TX_PHY LE_2M, RX_PHY LE_2M" in told[1]
    assert any(line.endswith("=> The subject reports the new PHY to its host.") for line in lines)


@pytest.mark.parametrize("word", ["parallel", "either", "repeat", "air", "ATT_"])
def test_mermaid_has_rows_that_it_knows(word):
    case = case_with(word)
    first, title, *rows = run_bench("explain", case, "--mermaid").stdout.splitlines()
    assert first == "sequenceDiagram" and case in title
    assert [row.split()[1] for row in rows[:4]] == list(LANES)
    depth = 0
    for row in rows[4:]:
        found = ROW.fullmatch(row)
        assert found, row
        depth += bool(found[3]) - bool(found[5])
        assert depth >= (1 if found[4] else 0)
    assert depth == 0 and len(rows) > len(LANES)


def test_what_has_no_one_sequence_is_refused():
    assert "several cases" in run_bench("explain", "phy", "--sequence", expected=2).stderr
    run_bench("explain", "phy/read", "--sequence", "--mermaid", expected=2)
