"""Products that are independent of the bench: small Bumble peripherals are tested over the simulated air, without a fault and with one each."""

import json
import os
import re

import pytest

from products import ADDRESS, DUAL, NAMES
from support import Process, PythonPeer, bluebench, dongles, run_bench
from test_pairing_faults import OF_BUMBLE as OF_ITS_SECURITY_MANAGER

# Faults of Bumble, with the section in docs/design/peers.md.
OF_BUMBLE = {
    "accessory-att/declaration-not-written", "accessory-att/not-permitted[request=prepare]", "accessory-att/not-permitted[request=read]",
    "accessory-att/unknown-request", "accessory-att/not-permitted[request=write]", "accessory-change/features-kept",
    "accessory-discovery/within-range[request=find-by-type-value]",
    "accessory-discovery/within-range[request=read-by-group-type]", "accessory-link/in-pieces", "accessory-link/parameters-asked-of-it",
    "accessory-gatt/client-features", "accessory-subscribe/configuration-length", "accessory-subscribe/kept-for-a-bond",
    "accessory-subscribe/bond-keeps-all", "accessory-subscribe/kept-before-pairing", "accessory-subscribe/sent-to-a-bond",
    "accessory-security/legacy-reconnects", "accessory-security/requests-refused-in-clear[request=read-multiple]",
    "accessory-security/requests-refused-in-clear[request=read-multiple-variable]",
    "accessory-channel/closes", "accessory-channel/credits-beyond-65535", "accessory-channel/disconnection-of-no-channel",
    "accessory-channel/enhanced-source-cid-taken", "accessory-channel/opens-again",
    *(f"accessory-channel/source-cid-invalid[cid={cid}]" for cid in (4, 63, 128)),
    *(f"accessory-channel/enhanced-source-cid-invalid[cid={cid}]" for cid in (63, 128)),
    *(f"accessory-channel/enhanced-parameters[mtu={mtu},mps={mps}]" for mtu, mps in ((63, 64), (64, 63))),
}


def is_of_bumble(case):
    return case in OF_BUMBLE or case.split("[")[0] in OF_BUMBLE | OF_ITS_SECURITY_MANAGER


SOAK = "SOAK" in os.environ
"""A product is tested in real time, for minutes: `make test` runs a sample, `make soak` all."""

# A planted fault, the product with it, and the case that finds it.
PLANTED = [
    ("battery-187", "heart-rate", "accessory-values/formats", "Battery Level: the level is 187"),
    ("location-9", "heart-rate", "accessory-values/formats", "Body Sensor Location: the location is 9"),
    ("model-no-text", "serial", "accessory-values/formats", "Model Number String: the text is not UTF-8"),
    ("pnp-source-3", "keyboard", "accessory-values/formats", "PnP ID: the vendor's source is 3"),
    ("report-map-cut", "keyboard", "accessory-values/formats", "Report Map: the report descriptor is cut short"),
    ("appearance-of-three", "serial", "accessory-advertising/data[rule=sizes]", "type 25 with 3 octets"),
    ("flags-both", "heart-rate", "accessory-advertising/data[rule=flags]", "limited and general"),
    ("response-flags", "keyboard", "accessory-advertising/data[rule=flags]", "the scan response has flags"),
    ("power-of-two", "serial", "accessory-advertising/data[rule=sizes]", "type 10 with 2 octets"),
    ("name-twice", "heart-rate", "accessory-advertising/data[rule=once]", "2 local names"),
    ("name-differs", "serial", "accessory-advertising/name", "Expected a start of"),
    ("handle-zero-read", "serial", "accessory-att/handle-zero[request=read]", "Expected ATT_ERROR_RSP, got ATT_READ_RSP"),
    ("blob-beyond-empty", "serial", "accessory-att/offset-beyond-all", "Expected ATT_ERROR_RSP, got ATT_READ_BLOB_RSP"),
    ("mtu-ignored", "serial", "accessory-att/mtu-of-client", "expected"),
    ("mtu-of-20", "heart-rate", "accessory-att/mtu", "23"),
    ("answers-twice", "heart-rate", "accessory-att/one-answer", "must not come"),
    ("error-handle-zero", "keyboard", "accessory-att/handle-beyond[request=read]", "Attribute_Handle_In_Error: expected 0xFFFF"),
    ("unknown-command-answered", "serial", "accessory-att/unknown-command", "must not come"),
    ("declaration-moves", "serial", "accessory-discovery/declared[by=characteristic-declaration]", "Attribute_Value: expected"),
    ("service-by-uuid-shifted", "heart-rate", "accessory-discovery/service-by-uuid", "Handles_Information_List"),
    ("beyond-found", "serial", "accessory-discovery/beyond-the-last", "Expected ATT_ERROR_RSP, got ATT_FIND_INFORMATION_RSP"),
    ("group-of-any-type", "heart-rate", "accessory-discovery/unknown-group", "Error_Code: expected Unsupported_Group_Type"),
    ("configuration-forgotten", "heart-rate", "accessory-subscribe/subscribes[kind=notifications]", "expected 01 00"),
    ("subscribed-at-first", "keyboard", "accessory-subscribe/default", "expected 00 00"),
    ("groups-cut", "serial", "accessory-discovery/everything", "Each request is answered by a valid response"),
    ("discovery-stands-still", "heart-rate", "accessory-discovery/everything", "Each request is answered by a valid response"),
    ("notifies-unasked", "heart-rate", "accessory-subscribe/silent-at-first", "must not come"),
    ("restarts-at-garbage", "serial", "accessory-robust/survives[pdu=att-cut-read]", "the connection was lost, Connection_Timeout"),
]

# The same for the rules of profiles.
PLANTED_FOR_PROFILES = [
    ("asks-latency-40", "serial", "connection[rule=peripheral-latency]", "the latency is 40, expected at most 30"),
    ("asks-timeout-4-s", "heart-rate", "connection[rule=supervision-timeout]", "the supervision timeout is 4 s, expected 6 s to 18 s"),
    ("asks-interval-7.5", "serial", "interval[rule=minimum]", "Interval_Min is 7500 us, expected at least 15 ms"),
    ("asks-interval-20", "keyboard", "interval[rule=multiple]", "Interval_Min is 20 ms, expected a multiple of 15 ms"),
    ("asks-span-7.5", "serial", "interval[rule=span]", "expected them 15 ms apart"),
    ("asks-effective-7-s", "serial", "connection[rule=effective-interval]", "expected at most 6 s"),
    ("asks-margin-6-s", "heart-rate", "connection[rule=timeout-margin]", "expected more than Interval_Max x (latency + 1) x 3"),
    ("asks-again-and-again", "serial", "renegotiation", "expected at most 3"),
    ("colon-in-name", "heart-rate", "name-characters", "expected not"),
    ("interval-100", "serial", "advertising-interval", "the interval is "),
    ("fast-for-4-s", "serial", "fast-advertising", "expected every 20 ms for 30 s"),
    ("no-power", "keyboard", "advertising[rule=tx-power]", "expected an element that is TX_Power_Level"),
    ("no-services", "serial", "advertising[rule=services]", "expected an element"),
    ("services-in-response", "heart-rate", "advertising[rule=services-placed]", "expected a length of at least 1"),
    ("information-advertised", "keyboard", "device-information-hidden", "expected not 180A"),
    ("asks-for-pairing", "serial", "pairing-unasked", "must not come, but packet"),
    ("mtu-before-length", "serial", "length-before-mtu", "must not come, but packet"),
    ("discovery-protected", "serial", "discovery-unpaired", "$refused"),
    ("no-software-revision", "serial", "device-information", "expected not Attribute_Not_Found"),
    ("long-maker", "keyboard", "device-information-lengths", "expected a length of at most 26"),
    ("services-move", "heart-rate", "cache", "expected"),
    ("psm-of-nothing", "serial", "published-psm", "got Refused_SPSM_Not_Supported"),
    ("psm-of-bredr", "serial", "published-psm", "dynamic range"),
]

QUICK = [
    "battery-187", "appearance-of-three", "response-flags", "handle-zero-read", "mtu-of-20", "answers-twice", "beyond-found", "subscribed-at-first",
    "groups-cut", "restarts-at-garbage",
]


QUICK_FOR_PROFILES = ["asks-timeout-4-s", "interval-100", "services-in-response"]


def judge(kind, folder, *cases, fault=(), options=()):
    """The verdicts of cases on a product, with their messages."""
    results = folder / "results.json"
    peer = ADDRESS if "colon-in-name" in fault else NAMES[kind]
    arguments = [*cases, "--subject-port", "tcp-listen:0", "--wait-for-host", "120", "--virtual-time", "--peer", peer, "--json", results, *options]
    with Process(bluebench(), "run", *arguments) as bench:
        [port] = bench.wait_for(r"waiting .*127\.0\.0\.1:(\d+)")
        with PythonPeer("products.py", f"virtual:127.0.0.1:{port.group(1)}", kind, *fault):
            code = bench.wait()
    assert code in (0, 1), bench.text
    return {case["id"]: (case["verdict"], case.get("message", "")) for case in json.loads(results.read_text())["cases"]}


@pytest.mark.corpus("legal, Bumble's server")
@pytest.mark.parametrize("kind", NAMES)
def test_a_product_without_a_fault_fails_nothing(kind, tmp_path):
    suites = ["accessory"] if SOAK else ["accessory-advertising", "accessory-gatt", "accessory-subscribe", "accessory-values"]
    cases = judge(kind, tmp_path, *suites)
    assert not {case: message for case, (verdict, message) in cases.items() if verdict == "FAIL" and not is_of_bumble(case)}
    assert sum(verdict == "PASS" for verdict, _ in cases.values()) >= (70 if SOAK else 8)


@pytest.mark.corpus("legal, Bumble's server")
def test_a_product_with_a_channel_is_opened_and_fed(tmp_path):
    """The product publishes a PSM and returns what it gets; a product without a channel runs none of the cases."""
    cases = judge("serial", tmp_path, "accessory-channel")
    failed = {case for case, (verdict, _) in cases.items() if verdict == "FAIL"}
    assert failed == {case for case in OF_BUMBLE if case.startswith("accessory-channel/")}, cases
    passed = {case.split("/")[1].split("[")[0] for case, (verdict, _) in cases.items() if verdict == "PASS"}
    assert {
        "opens", "opens-twice", "opens-after-reconnection", "fed", "other-service", "sdu-beyond-mtu", "source-cid", "credits-given",
        "credits-ignored", "frames-beyond-length", "enhanced-opens", "enhanced-closes-one", "enhanced-other-service",
    } <= passed, cases


@pytest.mark.corpus("defects, Bumble's server")
@pytest.mark.parametrize("fault, kind, case, text", [row for row in PLANTED if SOAK or row[0] in QUICK], ids=lambda value: value)
def test_a_planted_fault_is_found_by_its_rule(fault, kind, case, text, tmp_path):
    verdict, message = judge(kind, tmp_path, case, fault=[fault])[case]
    assert verdict == "FAIL" and text in message, (verdict, message)


@pytest.mark.corpus("defects, profile rules")
@pytest.mark.parametrize(
    "fault, kind, case, text", [row for row in PLANTED_FOR_PROFILES if SOAK or row[0] in QUICK_FOR_PROFILES], ids=lambda value: value)
def test_a_planted_fault_is_found_by_the_rule_of_a_profile(fault, kind, case, text, tmp_path):
    case = f"accessory-profile/{case}"
    verdict, message = judge(kind, tmp_path, case, fault=[fault], options=["--profile", "adg-r31"])[case]
    assert verdict == "FAIL" and text.lower() in message.lower() and "[adg-r31 " in message, (verdict, message)
    assert "packet" in message, message


@pytest.mark.parametrize("fault, text", [
    ((), ""), (("no-link-key",), "The pairing over LE gives a link key"), (("link-key-forgotten",), "The link key authenticates and encrypts the link"),
], ids=lambda value: value[0] if value else "")
def test_a_product_with_both_transports_is_paired_once(fault, text, tmp_path):
    results = tmp_path / "results.json"
    with dongles(2, "--profile", "dual", virtual_time=True) as ports, PythonPeer("products.py", f"virtual:127.0.0.1:{ports[1]}", "speaker", *fault) as product:
        product.wait_for("advertising")
        run_bench(
            "run", "accessory-profile/one-pairing", "--profile", "adg-r31", "--tester", f"tcp:127.0.0.1:{ports[0]},virtual-time", "--peer", DUAL["speaker"],
            "--bonds", "none", "--json", results, expected=1 if fault else 0)
    [case] = json.loads(results.read_text())["cases"]
    assert case["verdict"] == ("FAIL" if fault else "PASS") and text in case.get("message", ""), case


def described(kind, folder, fault=()):
    """The description of the product from a survey."""
    path = folder / "wire.yaml"
    with dongles(2, virtual_time=True) as ports, PythonPeer("products.py", f"virtual:127.0.0.1:{ports[1]}", kind, *fault) as product:
        product.wait_for("advertising")
        path.write_text(run_bench("survey", f"tcp:127.0.0.1:{ports[0]},virtual-time", "--peer", NAMES[kind], "--bonds", "none").stdout)
    return path


def judge_by(description, kind, folder, *cases, fault=(), expected=0):
    """The results of a product by a stored description, what was printed, and what was written to the product."""
    results = folder / "results.json"
    results.unlink(missing_ok=True)
    with dongles(2, virtual_time=True) as ports, PythonPeer("products.py", f"virtual:127.0.0.1:{ports[1]}", kind, *fault) as product:
        product.wait_for("advertising")
        done = run_bench(
            "run", *cases, "--tester", f"tcp:127.0.0.1:{ports[0]},virtual-time", "--peer", NAMES[kind], "--device", description, "--bonds", "none",
            "--build", "nightly-7", "--label", "line=b", "--json", results, "--junit", folder / "junit.xml", expected=expected)
        writes = [line for line in product.lines if line.startswith(("write ", "written"))]
    return json.loads(results.read_text()) if results.exists() else None, done.stdout + done.stderr, writes


def test_an_old_description_does_no_harm_to_a_product(tmp_path):
    description = described("serial", tmp_path)
    # An additional service before the others: the same cases apply, and none fails but Bumble's own.
    cases = ["accessory-gatt", "accessory-subscribe/default", "accessory-att/rewritten", "accessory-att/command-unanswered", "accessory-values"]
    document, told, writes = judge_by(description, "serial", tmp_path, *cases, fault=["service-before"], expected=1)
    assert "not as in wire.yaml: service 181A is new and not touched; the handles of " in told, told
    assert {case["id"] for case in document["cases"] if case["verdict"] == "FAIL"} <= OF_BUMBLE, document["cases"]
    assert writes and not [line for line in writes if line.startswith("written")], writes
    product = document["run"]["product"]
    assert (product["name"], product["firmware"], product["description"]) == ("Wire", "1.0", "wire.yaml"), product
    assert product["address"] == ADDRESS + "/random" and "181A is new" in product["change"]
    assert document["run"]["labels"] == {"build": "nightly-7", "line": "b"}
    assert 'name="product.name" value="Wire"' in (tmp_path / "junit.xml").read_text()


def test_a_value_is_judged_as_it_is_now(tmp_path):
    description = described("heart-rate", tmp_path)
    document, _, _ = judge_by(description, "heart-rate", tmp_path, "accessory-values/formats", fault=["battery-187"], expected=1)
    [case] = document["cases"]
    assert case["verdict"] == "FAIL" and re.search(r"Battery Level: the level is 187, not 0 to 100 \(packet \d+\)", case["message"]), case
    same, _, _ = judge_by(description, "heart-rate", tmp_path, "accessory-gatt/device-name")
    other, earlier = tmp_path / "other.json", tmp_path / "earlier.json"
    earlier.write_text(json.dumps(same))
    same["run"]["product"]["name"] = "Keys 60"
    other.write_text(json.dumps(same))
    told = run_bench("compare", earlier, other, expected=2).stderr
    assert "the product" in told and "Keys 60" in told, told


def test_a_device_whose_discovery_is_malformed_is_no_other_device(tmp_path):
    """The description names services that are not found; the cases go on and name the malformed response."""
    description = described("serial", tmp_path)
    document, told, _ = judge_by(description, "serial", tmp_path, "accessory-discovery", fault=["groups-cut"], expected=1)
    assert "missing, as the discovery is malformed (services: " in told, told
    [case] = [case for case in document["cases"] if case["id"] == "accessory-discovery/everything"]
    assert case["verdict"] == "FAIL" and "valid response" in case["message"], case


def test_another_product_is_not_written_to(tmp_path):
    description = described("serial", tmp_path)
    document, told, writes = judge_by(description, "keyboard", tmp_path, "accessory", expected=3)
    assert document is None and writes == [], (document, writes)
    assert "this is not the device of wire.yaml: service 6E400001" in told and "service 1812 is new" in told, told


def test_the_revision_of_a_profile_decides(tmp_path):
    cases = judge(
        "heart-rate", tmp_path, "accessory-profile/connection[rule=supervision-timeout]", "accessory-profile/interval[rule=longest]", fault=["asks-timeout-4-s"],
        options=["--profile", "adg-r17"])
    assert cases["accessory-profile/connection[rule=supervision-timeout]"][0] == "PASS", cases
    assert cases["accessory-profile/interval[rule=longest]"] == ("N/A", "adg-r17 has no rule 'interval-longest'")


@pytest.mark.parametrize("kind", NAMES if SOAK else ["serial"])
def test_a_product_without_a_fault_keeps_the_rules_of_a_profile(kind, tmp_path):
    wanted = ["accessory-profile"] if SOAK else [f"accessory-profile/{name}" for name in ("advertising-interval", "cache", "device-information")]
    cases = judge(kind, tmp_path, *wanted, fault=["asks-well"] if SOAK else (), options=["--profile", "adg-r31"])
    assert not [case for case in cases.items() if case[1][0] not in ("PASS", "N/A")], cases
    assert sum(verdict == "PASS" for verdict, _ in cases.values()) >= (20 if SOAK else 3), cases


def test_cases_that_do_not_concern_a_product_are_not_run(tmp_path):
    description = described("heart-rate", tmp_path)
    document, told, _ = judge_by(description, "heart-rate", tmp_path, "smp-sc", "accessory-gatt", expected=1)
    assert not [case["id"] for case in document["cases"] if case["id"].startswith("smp-sc/") and case["verdict"] == "N/A"], document["cases"]
    assert re.search(r"not run  \d+ about a controller, \d+ about the reference accessory", told), told
    assert document["run"]["product"]["notRun"] in told
    assert f'tests="{len(document["cases"])}"' in (tmp_path / "junit.xml").read_text()
    named, _, _ = judge_by(description, "heart-rate", tmp_path, "smp-sc/just-works", expected=3)
    assert [case["verdict"] for case in named["cases"]] == ["N/A"], named["cases"]
    listed = run_bench("run", "smp-sc", "accessory-gatt", "--device", description, "--list").stdout
    assert "about the reference accessory" in listed and "smp-sc/just-works" not in listed, listed


def test_a_profile_that_is_not_there_is_told():
    told = run_bench("run", "accessory", "--profile", "xyz", "--list", expected=2).stderr
    assert "there is no profile of this name" in told and "adg-r31" in told
    assert "accessory-profile" not in run_bench("run", "accessory", "--list").stdout


def test_a_product_that_is_not_there_is_told_at_once(tmp_path):
    with Process(bluebench(), "run", "accessory", "--subject-port", "tcp-listen:0", "--wait-for-host", "120", "--virtual-time", "--peer", "Nobody") as bench:
        [port] = bench.wait_for(r"waiting .*127\.0\.0\.1:(\d+)")
        with PythonPeer("products.py", f"virtual:127.0.0.1:{port.group(1)}", "serial"):
            assert bench.wait() == 3
    assert re.search(r"'Nobody' was not found within 10 s; seen instead: .*'Wire'", bench.text), bench.text


OWN_CASE = """
title: The rate is told once subscribed
purpose: A product's own rule, with our procedures.
reference: Core Vol 3, Part G, 4.10
subject: accessory
needs: device.notifying
limits: {step: 60 s}
setup:
  - do: meet device
    limit: 20 s
    saveAs: link
steps:
  - each: $device.notifying
    called: it
    steps:
      - send: ATT_WRITE_REQ
        on: $link.handle
        with: {Attribute_Handle: $it.cccd, Attribute_Value: "01 00"}
      - expect: ATT_WRITE_RSP
        states: The subscription is taken.
  - expect: ATT_HANDLE_VALUE_NTF
    since: start
    within: 3 s
    states: A value is told within three seconds.
  - use: device-answers
    with: {link: $link.handle}
"""


def test_a_case_of_ones_own_needs_no_copy_of_ours(tmp_path):
    (tmp_path / "mine" / "product").mkdir(parents=True)
    (tmp_path / "mine" / "product" / "rate.yaml").write_text(OWN_CASE)
    run_bench("check", tmp_path / "mine")
    told = run_bench("run", "--cases", tmp_path / "mine", "--accessory", "heart-rate").stdout
    assert "PASS    product/rate" in told
    told = run_bench("run", "--cases", tmp_path / "mine", "--accessory", "thermometer", expected=None).stdout
    assert "FAIL    product/rate" in told or "N/A     product/rate" in told


def test_cases_of_ones_own_stand_beside_ours(tmp_path):
    (tmp_path / "mine" / "product").mkdir(parents=True)
    (tmp_path / "mine" / "product" / "rate.yaml").write_text(OWN_CASE)
    told = run_bench("run", "product", "accessory-gatt", "--cases", tmp_path / "mine", "--accessory", "heart-rate").stdout
    assert "PASS    product/rate" in told and "PASS    accessory-gatt/handles-in-order" in told
    listed = run_bench("run", "accessory", "--cases", tmp_path / "mine", "--list").stdout
    assert "product/rate" in listed and "accessory-link/reconnects" in listed


def test_a_device_on_another_dongle_is_surveyed_and_described(tmp_path):
    with dongles(2) as ports, Process(
            bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]}", "--as", "thermometer", "--seconds", 60) as accessory:
        accessory.wait_for("advertising 'Bluebench Thermometer'")
        description = run_bench("survey", f"tcp:127.0.0.1:{ports[0]}", "--peer", "1809", "--bonds", "none").stdout
    assert 'name: "Bluebench Thermometer"' in description and 'uuid: "2A1C"' in description and "remarks: []" in description


def test_a_bonded_device_with_a_private_address_is_judged_by_its_identity(tmp_path):
    bonds = ["--bonds", tmp_path / "bonds.json"]
    with dongles(2) as ports, Process(
            bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]}", "--as", "keyboard", "--private", "--bonds", tmp_path / "device.json",
            "--seconds", 300) as accessory:
        accessory.wait_for("advertising 'Bluebench Keyboard'")
        tester = f"tcp:127.0.0.1:{ports[0]}"
        seen = run_bench("scan", tester, "--seconds", 2, "--bonds", "none").stdout
        address = re.search(r"((?:[0-9A-F]{2}:){5}[0-9A-F]{2}).*'Bluebench Keyboard'", seen).group(1)
        run_bench("pair", tester, "--peer", f"{address}/random", "--accept", "--no-mitm", *bonds)
        [bond] = json.loads(run_bench("bonds", "list", "--json", *bonds).stdout)
        assert address not in bond["peer"]
        case = ["run", "accessory-att/mtu", "--tester", tester, "--peer", bond["peer"]]
        assert "PASS    accessory-att/mtu" in run_bench(*case, *bonds).stdout
        assert "was not found" in run_bench(*case, "--bonds", "none", expected=3).stderr


@pytest.mark.parametrize("kind, flow, limit", [
    ("heart-rate", ["--notify", "2A37", "--seconds", 3], "product"),
    ("serial", ["--write", "B1BE0031-7E57-4ACC-9D3A-0B5E55ED0001", "--seconds", 1], None),
])
def test_a_product_is_measured_by_what_it_has(kind, flow, limit, tmp_path):
    with dongles(2) as ports, Process(
            bluebench(), "advertise", f"tcp:127.0.0.1:{ports[1]}", "--as", kind, "--seconds", 120) as accessory:
        accessory.wait_for("advertising 'Bluebench")
        measure = ["throughput", "--tester", f"tcp:127.0.0.1:{ports[0]}", "--interval", 30, "--phy", "1m"]
        name = "Bluebench Heart Rate" if kind == "heart-rate" else "Bluebench Serial"
        told = run_bench(*measure, "--peer", name, *flow, "--explain", "--json", tmp_path / "rows.json").stdout
        [row] = json.loads((tmp_path / "rows.json").read_text())["rows"]
        # The count may hold one connection event more than its time has, and what a busy machine hands on late.
        begin, end = row["window"]["begin_us"], row["window"]["end_us"]
        more = 1 + (30 + row["machine_delay_ms"]) * 1_000 / (end - begin)
        assert 0 < row["goodput_kbps"] <= more * row["ceiling_kbps"], row
        assert limit is None or (row["limit"] == limit and "only the product knows" in told), row
        told = run_bench(*measure, "--peer", name, flow[0], "2A00", expected=None)
        assert told.returncode == 1 and "does not" in told.stdout, told
    assert "one of --notify, --write and --psm" in run_bench("throughput", "--tester", "tcp:127.0.0.1:1", "--peer", name, expected=2).stderr


def test_values_that_nobody_subscribed_to_are_named_by_survey_and_explain(tmp_path):
    fault = ("notifies-unasked",)
    text = described("heart-rate", tmp_path, fault).read_text()
    assert "it sent values of 2A19 (handle " in text and "Core Vol 3, Part G, 3.3.3.3" in text
    assert "# `declares:` could say, where it is so:" in text and 'sends: [{characteristic: "2A37", within: 2 s}' in text
    assert "remarks: []" in described("heart-rate", tmp_path).read_text()
    capture = tmp_path / "run.pcapng"
    _, message = judge(
        "heart-rate", tmp_path, "accessory-subscribe/silent-at-first", "accessory-att", fault=fault, options=("--capture", capture)
    )["accessory-subscribe/silent-at-first"]
    assert re.search(r"brought it for handle \d+ \(2A19\)", message), message
    explained, everything = (run_bench("explain", capture, *options).stdout for options in ((), ("--provoked",)))
    assert "value-perhaps-unsubscribed: ATT_HANDLE_VALUE_NTF of handle" in explained and "that a tester provokes" in explained
    assert "att-refused" not in explained and "att-refused" in everything and "--provoked" not in everything
