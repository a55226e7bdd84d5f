"""The page of a running capture: in Chromium, and against hostile clients."""

import contextlib
import json
import os
import re
import signal

import pytest

from browsing import chromium, serious
from live_page import READ_BD_ADDR, RESET, UNKNOWN, Host, captured
from support import TIMEOUT, Process, bluebench, dongles, run_bench, wait_until

pytestmark = pytest.mark.wall_time

USAGE = 2


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@contextlib.contextmanager
def opened(browser, url, width=1280, height=900, **options):
    """The page in a new tab. Script errors and requests to other hosts fail the test."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    context.set_default_timeout(TIMEOUT * 1_000)
    tab = context.new_page()
    faults, wanted = [], []
    tab.on("pageerror", lambda error: faults.append(str(error)))
    tab.on("console", lambda message: faults.append(message.text) if message.type == "error" and "400" not in message.text else None)
    tab.on("request", lambda request: wanted.append(request.url))
    tab.goto(url)
    tab.wait_for_selector("html[data-ready]")
    try:
        yield tab
        assert not faults
        assert all(address.startswith((url.split("?")[0], "data:")) for address in wanted), wanted
    finally:
        context.close()


def until(tab, expression, argument=None):
    """Waits for an expression of the page. Playwright's own way needs `eval`, which the page forbids."""
    wait_until(lambda: tab.evaluate(expression, argument))


def texts(tab):
    return tab.locator("#rows .x").all_text_contents()


@contextlib.contextmanager
def session():
    """A session with a GATT client, 4,000 commands more, and a device with a hostile name."""
    name = "\x1b[31mred<script>alert(1)</script>"
    with captured() as (process, page, (address,)):
        host = Host(address)
        host.command(RESET)
        for _ in range(1_999):
            host.command(READ_BD_ADDR)
        host.command(0x0C13, name.encode().ljust(248, b"\0"))
        host.command(UNKNOWN)
        yield process, page, host


# MARK: The browser


@pytest.fixture(scope="module")
def live():
    with session() as found:
        yield found


def test_the_list_follows_and_scrolls(browser, live):
    _, page, host = live
    with opened(browser, page.url) as tab:
        until(tab, "document.querySelector('#title').textContent.includes(' packets')")
        until(tab, f"[...document.querySelectorAll('#rows .n')].some(n => n.textContent === '{host.packets}')")
        assert tab.locator("#rows li").count() < 80, "the page holds a window of the list"
        host.command(READ_BD_ADDR)
        until(tab, f"[...document.querySelectorAll('#rows .n')].some(n => n.textContent === '{host.packets}')")
        tab.locator("#scroller").focus()
        tab.keyboard.press("Home")
        until(tab, "document.querySelector('#rows .n')?.textContent === '1'")
        assert tab.locator("#follow").get_attribute("aria-pressed") == "false"
        assert texts(tab)[0].startswith("Reset")
        tab.locator("#scroller").evaluate("e => { e.scrollTop = 1000 * 24 }")
        until(tab, "document.querySelector('#rows .n')?.textContent === '1001'")


def test_conditions_words_and_mistakes(browser, live):
    _, page, _ = live
    with opened(browser, page.url) as tab:
        tab.fill("#condition", "Status != Success")
        until(tab, "document.querySelector('#tally').textContent.startsWith('2 of')")
        until(tab, "document.querySelectorAll('#rows li').length === 2")
        assert "Unknown_HCI_Command" in texts(tab)[0] and tab.locator("#rows li").first.get_attribute("class") == "k-failure"
        tab.fill("#condition", "Status != Sucess")
        until(tab, "document.querySelector('#refusal').checkVisibility() && document.querySelector('#refusal').textContent.includes('did you mean Success?')")
        tab.fill("#condition", "")
        tab.fill("#words", "local_name !status")
        until(tab, "document.querySelectorAll('#rows li').length === 1")
        assert "<script>alert(1)" in texts(tab)[0] and "\x1b" not in texts(tab)[0], "names are text"
        tab.reload()
        until(tab, "document.querySelectorAll('#rows li').length === 1")
        assert tab.input_value("#words") == "local_name !status", "the address keeps the selection"
        tab.keyboard.press("Escape")
        until(tab, "document.querySelectorAll('#rows li').length > 20")
        tab.fill("#words", "/Local_Name.*(script|nothing)/")
        until(tab, "document.querySelectorAll('#rows li').length === 1")
        tab.fill("#words", "/Local_Name(/")
        tab.wait_for_selector("#refusal:not([hidden])")


def test_a_packet_with_its_tree_and_note(browser, live):
    _, page, host = live
    with opened(browser, page.url) as tab:
        tab.fill("#condition", "Status != Success")
        chosen = [row["number"] for row in page.settled(where="Status != Success")["list"]]
        until(tab, f"(rows => rows.length && rows.every(n => {chosen}.includes(+n.textContent)))([...document.querySelectorAll('#rows .n')])")
        tab.locator("#rows li").first.click()
        tab.wait_for_selector("#detail:not([hidden])")
        assert "Status = Unknown_HCI_Command" in tab.text_content("#tree")
        tab.fill("#comment", "who asks? \x1b[31m <b>")
        tab.check("#flag", force=True)
        tab.click("#note button")
        until(tab, "document.querySelector('#saved').textContent === 'saved'")
        tab.keyboard.press("Escape")
        tab.check("#flagged", force=True)
        until(tab, "document.querySelectorAll('#rows li').length === 1")
        assert "who asks?" in tab.text_content("#rows .o")
    page.note(page.packets(flagged=1)["list"][0]["number"], comment="", isFlagged=False)
    assert page.packets(flagged=1)["rows"] == 0


def test_pause_keys_and_ladder(browser, live):
    _, page, host = live
    with opened(browser, page.url) as tab:
        until(tab, f"[...document.querySelectorAll('#rows .n')].some(n => n.textContent === '{host.packets}')")
        tab.locator("#scroller").focus()
        tab.keyboard.press("p")
        assert tab.get_attribute("#pause", "aria-pressed") == "true"
        before = host.packets
        host.command(READ_BD_ADDR)
        until(tab, f"document.querySelector('#title').textContent.replace(',', '').startsWith('{host.packets} ')")
        assert str(host.packets) not in tab.locator("#rows .n").all_text_contents() and str(before) in tab.locator("#rows .n").all_text_contents()
        tab.keyboard.press("p")
        until(tab, f"[...document.querySelectorAll('#rows .n')].some(n => n.textContent === '{host.packets}')")
        tab.keyboard.press("j")
        tab.wait_for_selector("#rows [aria-selected=true]")
        first = tab.text_content("#detail-title")
        tab.keyboard.press("k")
        until(tab, "old => document.querySelector('#detail-title').textContent !== old", first)
        tab.click("#ladder")
        tab.wait_for_selector("#rows .t-down .row")
        assert tab.locator("#rows .t-up .name").first.text_content().startswith("Command_Complete")


@pytest.mark.parametrize("form", ["pcapng", "btsnoop", "pklg", "txt", "json", "csv"])
def test_a_selection_is_exported(live, tmp_path, form):
    _, page, host = live
    path = tmp_path / f"part.{form}"
    path.write_bytes(page.get("export", **{"as": form, "words": "unknown"}))
    text = run_bench("show", path, "--json").stdout if form in ("pcapng", "btsnoop", "pklg") else path.read_text()
    lines = [line for line in text.splitlines() if not line.startswith("number,")]
    assert len(lines) == page.settled(words="unknown")["rows"] and all("nknown" in line for line in lines)
    whole = tmp_path / "whole.pcapng"
    whole.write_bytes(page.get("export"))
    assert len(run_bench("show", whole).stdout.splitlines()) == page.packets()["rows"]


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_the_window_and_everything_is_accessible(browser, live, width, scheme):
    _, page, _ = live
    with opened(browser, page.url, width=width, color_scheme=scheme) as tab:
        tab.wait_for_selector("#rows li")
        tab.locator("#rows li").last.click()
        tab.wait_for_selector("#detail:not([hidden])")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert serious(tab) == []


def test_findings_and_throughput_come_as_the_capture_goes(browser):
    with captured(count=1) as (process, page, (address,)), opened(browser, page.url) as tab:
        assert "No packets" in tab.text_content("#title")
        run_bench("loopback", address, "--packets", 3000)
        tab.wait_for_selector("#rates svg polyline")
        assert re.search(r"0x[0-9A-F]{4}", tab.text_content("#rates .name"))
        os.kill(process.pid, signal.SIGINT)
        until(tab, "document.querySelector('#status').textContent.includes('has ended')")
        assert process.wait() == 0
        count = re.match(r"[\d,]+", tab.text_content("#title")).group().replace(",", "")
        last = "count => [...document.querySelectorAll('#rows .n')].pop()?.textContent === count"
        until(tab, last, count)
        tab.locator("#rows li").first.click()
        tab.wait_for_selector("#refusal:not([hidden])")
        tab.locator("#scroller").focus()
        tab.keyboard.press("j")
        tab.keyboard.press("Home")
        until(tab, "count => [...document.querySelectorAll('#rows .n')].pop()?.textContent !== count", count)
        assert "has ended" in tab.text_content("#refusal")
        tab.keyboard.press("End")
        until(tab, last, count)


def test_a_client_that_keeps_its_events_does_not_keep_the_capture():
    with captured() as (process, page, _):
        with page.raw(f"GET /api/events?token={page.token} HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n".encode(), wait=False) as client:
            assert b" 200 OK" in client.recv(1 << 16)
            os.kill(process.pid, signal.SIGINT)
            assert process.wait() == 0


# MARK: Programs and hostile clients


def test_the_page_and_the_file_have_every_packet(tmp_path):
    path = tmp_path / "live.pcapng"
    with captured("--write", path, count=2) as (process, page, addresses):
        hosts = [Host(address) for address in addresses]
        for number in range(1_500):
            for host in hosts:
                host.command(RESET if number == 0 else UNKNOWN if number % 100 == 50 else READ_BD_ADDR)
        total = sum(host.packets for host in hosts)
        wait_until(lambda: page.packets()["rows"] == total)
        answer = page.settled(where="Status != Success")
        assert answer["rows"] == 30 and {row["device"] for row in answer["list"]} == {0, 1}
        assert page.settled(words="STATUS=unknown_hci !reset")["rows"] == 30
        numbers = [row["number"] for first in range(0, total, 500) for row in page.packets(first=first, count=500)["list"]]
        assert numbers == list(range(1, total + 1))
        around = page.packets(around=answer["list"][0]["number"], count=1)["list"]
        assert around[0]["number"] == answer["list"][0]["number"]
        page.note(answer["list"][0]["number"], comment="first", isFlagged=True)
        assert page.packets(flagged=1)["rows"] == 1
        os.kill(process.pid, signal.SIGINT)
        assert process.wait() == 0
    lines = run_bench("show", path).stdout.splitlines()
    assert len(lines) == total + 4 and all("Reset" in line for line in lines[total:]), "both dongles are reset at the end"
    noted = run_bench("show", path, "--flagged").stdout
    assert len(noted.splitlines()) == 1 and "; first" in noted


def test_only_the_token_opens_the_capture():
    with captured() as (_, page, _):
        assert b"<!DOCTYPE html>" in page.raw(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nConnection: close\r\n\r\n".encode()), "the page itself has no secrets"
        for token in "", "x" * 32, page.token[:-1], page.token + "0":
            assert page.refusal("packets", token=token)[0] == 403
        with captured() as (_, other, _):
            assert other.token != page.token


def request(page, *fields, line="GET /api/packets HTTP/1.1", token=True):
    lines = [line, *fields, f"Authorization: Bearer {page.token}" if token else "X: 1", "Connection: close"]
    return page.raw("\r\n".join(lines).encode() + b"\r\n\r\n")


def test_other_sites_are_refused():
    with captured() as (_, page, _):
        host = f"Host: 127.0.0.1:{page.port}"
        assert b" 200 OK" in request(page, host)
        assert b" 421 " in request(page, f"Host: rebound.example:{page.port}")
        assert b" 403 " in request(page, host, "Origin: http://evil.example")
        assert b" 403 " in request(page, host, "Origin: null")
        assert b" 405 " in request(page, host, line="OPTIONS /api/packets HTTP/1.1")
        assert b" 415 " in request(page, host, "Content-Type: text/plain", line="POST /api/note HTTP/1.1")
        assert b"Access-Control" not in request(page, host)
        assert b"frame-ancestors 'none'" in request(page, host)


def test_huge_and_broken_requests_are_refused():
    with captured() as (process, page, _):
        for octets, status in (
            (b"GET /" + b"a" * 100_000, 431), (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 1_000 + b"\r\n", 431), (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
            (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n", 413), (b"GET /\x1b[2J HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ):
            assert page.raw(octets).startswith(f"HTTP/1.1 {status} ".encode())
        for query in {"first": "-1"}, {"first": "9" * 40}, {"count": "x"}, {"where": "Status ="}, {"where": "(" * 5_000}, {"layer": "x"}, {"connection": "x"}, {"words": "/(/"}, \
                {"words": "/((a{1,255}){1,255}){1,255}/"}, {"words": r"/(.*)\1/"}, {"words": "/" + "a" * 5_000 + "/"}:
            assert page.refusal("packets", **query)[0] == 400, query
        assert page.refusal("packet", number=1)[0] == 404 and page.refusal("nothing")[0] == 404
        assert page.refusal("export", **{"as": "exe"})[0] == 400
        assert "\x1b" not in process.text and process.running()


def test_slow_and_many_clients_do_not_stop_others():
    with captured() as (_, page, (address,)):
        host = Host(address)
        idle = [page.raw(b"", wait=False) for _ in range(100)]
        slow = page.raw(b"GET / HTTP/1.1\r\nHost: 127.0.0.1", wait=False)
        deaf = page.raw(f"GET /api/events?token={page.token} HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\n\r\n".encode(), wait=False)
        host.command(RESET)
        assert page.packets()["rows"] == 2
        assert slow.recv(100).startswith(b"HTTP/1.1 408 ")
        for client in *idle, slow, deaf:
            client.close()
        assert page.packets()["rows"] == 2


@pytest.mark.parametrize("options, reason", [
    (["--web-host", "0.0.0.0"], "need --web PORT"), (["--web", "0", "--web-host", "0.0.0.0"], "a token of 16 to 200"),
    (["--web", "0", "--token-file", "/dev/null"], "has no token"), (["--web", "0", "--hide"], "shows whole packets"),
])
def test_mistakes_are_told(options, reason):
    with dongles(1) as ports:
        assert reason in run_bench("capture", f"tcp:127.0.0.1:{ports[0]}", *options, expected=USAGE).stderr


@pytest.mark.parametrize("width", [1280, 400])
def test_two_devices_have_short_names_with_a_legend(browser, width):
    with captured(count=2) as (_, page, addresses):
        hosts = [Host(address) for address in addresses]
        for host in hosts:
            host.command(RESET)
        with opened(browser, page.url, width=width) as tab:
            until(tab, "document.querySelectorAll('#rows li').length === 4")
            assert [line[:2] for line in texts(tab)] == ["A ", "A ", "B ", "B "]
            legend = tab.text_content("#status")
            assert re.match(r"A tcp:127\.0\.0\.1:\d+, B tcp:127\.0\.0\.1:\d+ ", legend), legend
            # At least thirty letters of the packet remain.
            assert tab.evaluate("document.querySelector('#rows .x').clientWidth") > (225 if width == 400 else 500)
        for host in hosts:
            host.close()
