"""Dataclasses of `results.json`, made from its schema (`bluebench schema --results`) by .ci/results-classes.

docs/guide/results.md describes the fields. `other` has the fields that a newer program adds.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from .results_methods import CaseMethods, ResultsMethods


Verdict = Literal["PASS", "FAIL", "INCONC", "N/A", "ERROR"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attempt:
    """One of several attempts at a case."""

    duration_ms: float
    evidence: list[Evidence]
    message: str
    seed: str
    verdict: Verdict
    first_packet: int | None = None
    last_packet: int | None = None
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case(CaseMethods):
    """The result of a case."""

    covers: list[str]
    duration_ms: float
    evidence: list[Evidence]
    id: str
    message: str
    seed: str
    title: str
    verdict: Verdict
    virtual_ms: float
    attempts: list[Attempt] = dataclasses.field(default_factory=list)
    capture: str | None = None
    commands: list[Command] = dataclasses.field(default_factory=list)
    covers_partly: list[str] = dataclasses.field(default_factory=list)
    file: str | None = None
    first_packet: int | None = None
    flaky: bool = False
    lacks: list[str] = dataclasses.field(default_factory=list)
    last_packet: int | None = None
    log: list[LogLine] = dataclasses.field(default_factory=list)
    log_omitted: int = 0
    log_omitted_at: int = 0
    not_run: bool = False
    notes: list[str] = dataclasses.field(default_factory=list)
    packets: list[Packet] = dataclasses.field(default_factory=list)
    packets_omitted: int = 0
    packets_omitted_at: int = 0
    purpose: str | None = None
    reference: str | None = None
    started: str | None = None
    step: FailedStep | None = None
    steps: list[StepRecord] = dataclasses.field(default_factory=list)
    swap: Swap | None = None
    tags: list[str] = dataclasses.field(default_factory=list)
    worst_scheduling_delay_ms: float | None = None
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Command:
    """A command of the user around a case."""

    attempt: int
    duration_ms: float
    occasion: Literal["before-case", "after-case", "power-cycle"]
    output: str
    output_omitted: int
    exit_code: int | None = None
    problem: str | None = None
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CommandRow:
    """An HCI command with the cases that send it."""

    command: str
    failed: list[str]
    other_cases: list[str] = dataclasses.field(metadata={"name": "other"})
    passed: list[str]
    claimed: bool | None = None
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Device:
    """A real device of the run, with its statistics."""

    cleared_halts: int
    device: str
    discarded: int
    dropped: int
    held: int
    known: list[str]
    learned: list[Learned]
    losses: list[Loss]
    side: Literal["tester", "subject"]
    workarounds: list[str]
    worst_wait_ms: float
    controller: str | None = None
    numbers: DeviceNumbers | None = None
    product: str | None = None
    startup: str | None = None
    usb_mode: str | None = None
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceNumbers:
    """Numbers that identify a dongle's model and firmware. Text is hexadecimal."""

    company: int
    hci_revision: str
    hci_version: int
    lmp_subversion: str
    lmp_version: int
    firmware: str | None = None
    release: str | None = None
    usb: str | None = None
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Evidence:
    """A packet on which the verdict rests."""

    packet: int
    side: str
    text: str
    at_ms: float | None = None
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExpectedFailure:
    """A failure that does not fail the run: the id of a case or of a public test case, and all its cases."""

    cases: list[str]
    id: str
    reason: str
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FailedStep:
    """The step that failed."""

    position: str
    step: str
    expected: str | None = None
    got: str | None = None
    packet: int | None = None
    requirement: str | None = None
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GivenOption:
    """An option of the bench and where its value is from: the command line or a file."""

    option: str
    origin: str
    value: str | None = None
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Learned:
    """Unusual behaviour that was observed."""

    count: int
    kind: str
    text: str
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class LogLine:
    """A line of the product's log."""

    at_ms: float
    text: str
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Loss:
    """A period without the device."""

    at_ms: float
    reason: str
    away_ms: float | None = None
    device: str | None = None
    startup: str | None = None
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Packet:
    """A packet of a case that did not pass, or several similar ones."""

    at_ms: float
    fields: list[str]
    name: str
    packet: int
    side: Literal["tester", "subject"]
    times: int
    way: Literal["down", "up", "air"]
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Product:
    """The device under test over the air."""

    address: str
    change: str | None = None
    description: str | None = None
    firmware: str | None = None
    name: str | None = None
    not_run: str | None = dataclasses.field(default=None, metadata={"name": "notRun"})
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunFacts:
    """Properties of the run."""

    interrupted: bool
    seed: str
    subject: str
    tester: str
    arguments: list[str] = dataclasses.field(default_factory=list)
    build: str | None = None
    date: str | None = None
    devices: list[Device] = dataclasses.field(default_factory=list)
    ending: str | None = None
    expected_failures: list[ExpectedFailure] = dataclasses.field(default_factory=list)
    fail_on_flaky: bool = False
    host: str | None = None
    labels: dict[str, str] = dataclasses.field(default_factory=dict)
    missing_shards: list[int] = dataclasses.field(default_factory=list)
    options: list[GivenOption] = dataclasses.field(default_factory=list)
    product: Product | None = None
    selection: Selection | None = None
    shard: str | None = None
    shuffle: str | None = None
    slack_ms: float | None = None
    usb: USB | None = None
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Selection:
    """The cases that were divided into shards."""

    count: int
    digest: str
    filters: list[str]
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepRecord:
    """The execution of a step."""

    depth: int
    outcome: Literal["done", "skipped", "stopped", "not-reached"]
    part: Literal["setup", "steps", "teardown"]
    position: str
    step: str
    times: int
    began_ms: float | None = None
    ended_ms: float | None = None
    requirement: str | None = None
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Summary:
    """Numbers of cases by verdict."""

    error: int
    fail: int
    inconc: int
    na: int
    passed: int = dataclasses.field(metadata={"name": "pass"})
    flaky: int = 0
    not_run: int = 0
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Swap:
    """A FAIL that was repeated with exchanged dongles."""

    finding: Literal["went with the dongle", "did not go with the dongle", "cannot be told"]
    message: str
    verdict: Verdict
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class USB:
    """Counters of libusb after the end of the run."""

    handles_open: int
    handles_opened: int
    transfers_allocated: int
    transfers_in_flight: int
    transfers_submitted: int
    other: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Results(ResultsMethods):
    """A whole file."""

    cases: list[Case]
    format: int
    run: RunFacts
    summary: Summary
    scorecard: list[CommandRow] = dataclasses.field(default_factory=list)
    other: dict[str, Any] = dataclasses.field(default_factory=dict)
