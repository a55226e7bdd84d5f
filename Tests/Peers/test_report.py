"""The report in a browser: reading, searching, printing and keyboard use; at any width, in light and dark mode, and without its script."""

import json
import os
import re

import pytest

from browsing import cases_with_faults, chromium, many_cases, opened, report_of, serious
from support import once, run_bench

FAILED, SILENT, REFUSED, PASSED = "phy/wrong-field", "phy/nothing-came", "phy/refused", "phy/read"
MANY = 2_000
MOST_OCTETS = 24 << 20


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    def make(folder):
        cases_with_faults(folder / "cases")
        report_of(folder / "run", folder / "cases", "--throughput")

    return once(tmp_path_factory, "report", make) / "run" / "index.html"


@pytest.fixture(scope="module")
def results(report):
    return {case["id"]: case for case in json.loads((report.parent / "results.json").read_text())["cases"]}


@pytest.fixture
def page(browser, report):
    with opened(browser, report) as found:
        yield found


def part(page, name):
    return page.locator(f'[id="{name}"]')


def shown(page):
    """The ids of the cases that the filters display."""
    return page.evaluate("[...document.querySelectorAll('details.case')].filter(part => !part.hidden).map(part => part.id)")


def ids(results, **wanted):
    return {name for name, case in results.items() if all(case[key] == value for key, value in wanted.items())}


def test_the_page_says_what_differs_since_a_case_passed(tmp_path, browser, report):
    then = json.loads((report.parent / "results.json").read_text())
    then["run"].update(date="2025-01-02T03:04:05", build="0.0.1")
    for case in then["cases"]:
        if case["id"] == FAILED:
            case["verdict"] = "PASS"
            for step in case["steps"]:
                step["outcome"] = "done"
    (tmp_path / "then.json").write_text(json.dumps(then))
    folder = report.parent.parent / "cases"
    run_bench("run", FAILED, SILENT, "--cases", folder, "--html", tmp_path / "page.html", "--baseline", tmp_path / "then.json", expected=1)
    with opened(browser, tmp_path / "page.html", width=400) as page:
        words = part(page, FAILED).locator(".since").inner_text()
        assert all(text in words for text in ("2025-01-02 03:04:05 UTC", "0.0.1", "PASS", "FAIL", "stopped"))
        assert part(page, SILENT).get_by_text("did not pass in the runs").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400 and serious(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_throughput_as_a_page_shows_the_events_of_a_row(tmp_path, browser, scheme):
    rows, path = tmp_path / "rows.json", tmp_path / "page.html"
    run_bench("throughput", "--links", "2", "--both", "--seconds", "0.5", "--label", "antenna=<in>", "--html", path, "--json", rows)
    with opened(browser, path, width=400, color_scheme=scheme) as page:
        assert page.locator("#rows details").count() == len(json.loads(rows.read_text())["rows"]) == 5
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")
        last = page.locator("#row-5")
        assert "fairness" in last.inner_text() and "<in>" in page.locator(".facts").inner_text()
        # Four intervals of two links, with data in both directions in each.
        lines = last.locator(".plot .bar")
        assert lines.count() == 8
        for line in lines.all():
            down, up = re.fullmatch(r"(\d+) ↓ (\d+) ↑", line.locator(".figure").inner_text()).groups()
            assert int(down) > 0 and int(up) > 0 and line.locator("rect").count() >= int(down) + int(up)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400 and serious(page) == []
        assert page.locator("script").count() == 0


# Filters.


def filter_by_verdict(page):
    page.locator(".chip.fail").click()


def filter_by_suite(page):
    page.select_option("#suite", "dle")


def filter_by_tag(page):
    page.select_option("#tag", "usb")


def filter_by(text):
    return lambda page: page.locator("#query").fill(text)


FILTERS = {
    "verdict": (filter_by_verdict, lambda case: case["verdict"] == "FAIL", "verdict=fail"),
    "suite": (filter_by_suite, lambda case: case["id"].startswith("dle/"), "suite=dle"),
    "tag": (filter_by_tag, lambda case: "usb" in case.get("tags", []), "tag=usb"),
    "text": (filter_by("wrong-FIELD"), lambda case: case["id"] == FAILED, "q=wrong-FIELD"),
    "words": (filter_by("verdict:fail suite:phy"), lambda case: case["verdict"] == "FAIL", "q="),
    "public id": (filter_by("covers:LL/CON/PER/BV-42-C"), lambda case: "LL/CON/PER/BV-42-C" in case["covers"], "q="),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_leaves_what_it_asks_for_and_stands_in_the_address(browser, report, results, page, name):
    apply, wants, state = FILTERS[name]
    wanted = {case["id"] for case in results.values() if wants(case)}
    assert 0 < len(wanted) < len(results)
    apply(page)
    page.wait_for_function("location.hash.length > 2")
    assert set(shown(page)) == wanted
    assert page.locator("#tally").inner_text() == f"{len(wanted)} of {len(results)} cases"
    assert page.locator("#tally").get_attribute("aria-live") == "polite"
    assert state in page.url
    for case in list(wanted)[:3]:
        assert part(page, case).locator("summary").first.is_visible(), "its suite is open"
    with opened(browser, report, "#" + page.url.split("#")[1]) as again:
        assert set(shown(again)) == wanted, "the address brings it back"
    page.locator("#clear").click()
    assert set(shown(page)) == set(results)


def test_filters_add_up_and_what_is_nowhere_is_said(page, results):
    filter_by_verdict(page)
    filter_by_suite(page)
    assert shown(page) == []
    assert page.locator("#nothing").is_visible()
    assert page.locator("#tally").inner_text() == f"0 of {len(results)} cases"


# A case's section.


def test_a_failed_case_says_what_was_expected_beside_what_came(page, results):
    case = part(page, FAILED)
    step = results[FAILED]["step"]
    assert (step["expected"], step["got"]) == ("LE_PHY_Update_Complete TX_PHY: LE_Coded", "LE_PHY_Update_Complete TX_PHY: LE_2M")
    expected, got = (case.locator(".versus code").nth(index) for index in (0, 1))
    assert (expected.inner_text(), got.inner_text()) == (step["expected"], step["got"])
    assert abs(expected.bounding_box()["y"] - got.bounding_box()["y"]) < 2, "side by side"
    assert case.locator(".about").inner_text().count("Core Vol 6, Part B, 5.1.10") == 1
    command = case.locator(".command").first.inner_text()
    assert command.startswith(f"bluebench run {FAILED} --seed 1") and "--cases" in command
    assert f"wireshark -g {step['packet']} " in case.inner_text()


def test_the_command_that_repeats_a_case_has_the_options_of_its_pairing(tmp_path):
    run_bench("run", PASSED, "--pair", "--io", "keyboard", "--passkey", 5, "--html", tmp_path / "page.html")
    assert f"bluebench run {PASSED} --seed 1 --pair --io keyboard --passkey 5" in (tmp_path / "page.html").read_text()


def test_steps_are_ticked_off_up_to_the_one_that_failed(page):
    marks = part(page, FAILED).locator(".steps > li:not(.part)").evaluate_all("items => items.map(item => item.className)")
    failed = marks.index("failed")
    assert marks[:failed] == ["passed"] * failed and failed > 2
    assert marks[failed + 1:] == ["open"] * (len(marks) - failed - 1) and marks[-1] == "open"
    assert all(mark == "passed" for mark in part(page, PASSED).locator(".steps > li:not(.part)").evaluate_all("items => items.map(item => item.className)"))


def test_the_ladder_goes_from_host_to_host_and_marks_the_packet(page, results):
    rows = part(page, FAILED).locator(".ladder ol > li")
    names = rows.locator(".name").all_inner_texts()
    wanted = ["LE_Create_Connection", "CONNECT_IND", "LE_Set_PHY", "LL_PHY_REQ", "LL_PHY_RSP", "LL_PHY_UPDATE_IND", "LE_PHY_Update_Complete"]
    places = [names.index(name) for name in wanted]
    assert places == sorted(places)
    failing = part(page, FAILED).locator(".ladder .failing")
    assert failing.count() == 1
    assert f"#{results[FAILED]['step']['packet']}" in failing.inner_text() and "failing" in failing.inner_text()
    assert failing.locator("ul").inner_text().split("\n")[-2:] == ["TX_PHY=LE_2M", "RX_PHY=LE_2M"], "its fields are open"
    arrows = {name: rows.nth(names.index(name)).get_attribute("class") for name in wanted}
    assert arrows["LE_Set_PHY"] == "t-down" and arrows["LL_PHY_REQ"] == "t-air" and arrows["LL_PHY_RSP"] == "s-air"
    heights = rows.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().top)")
    assert heights == sorted(heights)
    other = rows.nth(names.index("LL_PHY_REQ"))
    assert not other.locator("ul").is_visible()
    other.locator("summary").click()
    assert "TX_PHYS=LE_2M" in other.locator("ul").inner_text()


def test_what_never_came_stands_at_the_end_of_the_ladder(page):
    missing = part(page, SILENT).locator(".ladder .missing")
    assert missing.inner_text().startswith("expected LE_Data_Length_Change within 40 s")
    assert part(page, SILENT).locator(".ladder .failing").count() == 0


def test_what_needs_attention_leads_to_its_case(page):
    found = page.locator(".attention a").all_inner_texts()
    assert sorted(found) == sorted([FAILED, SILENT, REFUSED])
    page.locator(".attention a", has_text=FAILED).click()
    page.wait_for_function("document.activeElement.closest('details.case')")
    assert page.evaluate("document.activeElement.closest('details.case').id") == FAILED
    assert part(page, FAILED).locator("summary").first.is_visible()


def test_public_ids_have_the_verdict_of_their_worst_case(page):
    page.locator("#coverage summary").click()
    row = page.locator("#coverage tr", has_text="LL/CON/PER/BV-42-C").first
    assert "FAIL" in row.inner_text() and FAILED in row.inner_text()


def test_a_command_has_the_worst_verdict_of_the_cases_that_send_it(page):
    page.locator("#commands summary").click()
    row = page.locator("#commands tr", has_text="LE_Read_PHY").first
    assert row.locator("td").all_inner_texts()[:3] == ["LE_Read_PHY", "yes", "FAIL"] and PASSED in row.inner_text()
    unsent = page.locator("#commands tr", has_text="LE_Receiver_Test").first
    assert unsent.locator("td").all_inner_texts() == ["LE_Receiver_Test", "yes", "no case", ""]


def test_throughput_has_a_map_and_says_where_the_rest_went(page):
    table = page.locator(".maps table").first
    assert table.locator("thead th").all_inner_texts() == ["15 ms", "30 ms"]
    assert table.locator("tbody th").all_inner_texts() == ["1m", "2m", "coded-s2", "coded-s8"]
    for cell in table.locator("tbody td b").all_inner_texts():
        assert 95 <= int(cell.removesuffix(" %")) <= 100
    stack = page.locator("svg.chart").first
    assert stack.locator("rect.goodput").count() == 1
    assert re.search(r"of [\d.]+ kbit/s", stack.get_attribute("aria-label"))
    assert page.locator("svg.chart rect.c-interval").count() > 0


# Keys, widths, paper.


def test_keys_lead_through_the_page(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0, "it is seen when it has the focus"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "query", "past the header"
    page.locator("body").click(position={"x": 2, "y": 2})
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.type("suite:phy")
    page.wait_for_function("location.hash.includes('phy')")
    page.keyboard.press("Tab")
    focused = "document.activeElement.closest('details.case')?.id"
    visible = shown(page)
    page.evaluate("document.activeElement.blur()")
    walked = []
    for key in ["j", "j", "ArrowDown", "k"]:
        page.keyboard.press(key)
        walked.append(page.evaluate(focused))
    assert walked == [visible[0], visible[1], visible[2], visible[1]]
    was_open = part(page, visible[1]).evaluate("part => part.open")
    page.keyboard.press("Enter")
    assert part(page, visible[1]).evaluate("part => part.open") != was_open
    page.keyboard.press("Escape")
    assert page.locator("#query").input_value() == "" and "#" not in page.url


LOOKS = [(400, "dark"), (1280, "light")] + ([(400, "light"), (1280, "dark")] if os.environ.get("SOAK") else [])


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_axe_finds_nothing_serious_and_nothing_is_wider_than_the_page(browser, report, width, scheme):
    with opened(browser, report, width=width, color_scheme=scheme) as page:
        page.evaluate("for (const part of document.querySelectorAll('.suite, .coverage, .case.fail, [id=\"phy/read\"]')) part.open = true")
        page.locator(".chip.pass").click()
        page.locator(".chip.fail").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert serious(page) == []


def test_light_and_dark_differ(browser, report):
    grounds = set()
    for scheme in ("light", "dark"):
        with opened(browser, report, color_scheme=scheme) as page:
            grounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(grounds) == 2


def test_paper_has_what_matters(browser, report, tmp_path):
    with opened(browser, report, java_script_enabled=False) as page:
        page.emulate_media(media="print")
        assert part(page, FAILED).locator(".ladder").is_visible()
        assert part(page, "dle/" + sorted(page.locator("[data-suite=dle] h4").all_inner_texts())[0]).locator("summary").first.is_visible(), \
            "closed suites are open on paper"
        assert not part(page, PASSED).locator(".steps").is_visible()
        assert not page.locator(".filter").is_visible() and not page.locator("nav").is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        paper = page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    assert paper.startswith(b"%PDF") and len(re.findall(rb"/Type\s*/Page\b", paper)) >= 2


def test_it_reads_without_its_script(browser, report):
    with opened(browser, report, java_script_enabled=False) as page:
        assert not page.locator(".filter").is_visible()
        for name in (FAILED, SILENT, REFUSED):
            assert part(page, name).locator(".message").is_visible() and part(page, name).locator(".ladder").is_visible()
        page.locator("[data-suite=dle] > summary").click()
        first = page.locator("[data-suite=dle] details.case").first
        first.locator("summary").first.click()
        assert first.locator(".steps").is_visible()


def metrics(page):
    """Figures that Chromium gives of a page, by name."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    return {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}


def test_two_thousand_cases_open_without_a_layout_of_each(browser, tmp_path):
    many_cases(tmp_path / "cases", MANY)
    report = report_of(tmp_path / "run", tmp_path / "cases")
    assert report.stat().st_size < MOST_OCTETS
    with opened(browser, report) as page:
        page.wait_for_selector("html[data-ready]")
        figures = metrics(page)
        assert figures["Nodes"] < 200 * MANY and figures["LayoutObjects"] < 10 * MANY, "what is closed is not laid out"
    with opened(browser, report, "#?verdict=fail&q=case-0049") as page:
        assert shown(page) == ["suite-09/case-0049"]
        assert page.locator("#tally").inner_text() == f"1 of {MANY} cases"
        assert page.evaluate("document.querySelectorAll('.attention > li').length") == 1, "one cause, however many cases"
        assert page.locator(".attention .links a").count() == 40 == MANY // 50
