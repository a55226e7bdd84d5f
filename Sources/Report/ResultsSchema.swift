import BBConformance
import Foundation

/// A JSON Schema (draft 7) of `results.json`. Other versions of the program only add fields, so unknown fields are allowed.
public enum ResultsSchema {
    private typealias Schema = [String: Any]

    public static var text: String {
        var schema = object(
            "A whole file.",
            ["format": whole, "run": reference("RunFacts"), "summary": reference("Summary"), "cases": rows("Case")],
            optional: ["scorecard": rows("CommandRow")])
        schema["$schema"] = "http://json-schema.org/draft-07/schema#"
        schema["title"] = "Results"
        schema["definitions"] = definitions
        let options: JSONSerialization.WritingOptions = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? JSONSerialization.data(withJSONObject: schema, options: options) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }

    private static var definitions: Schema {
        [
            "RunFacts": run, "Summary": summary, "Case": testCase, "Device": device, "DeviceNumbers": numbers, "Evidence": evidence,
            "FailedStep": failedStep, "StepRecord": stepRecord, "Packet": packet, "Attempt": attempt, "Command": command,
            "CommandRow": commandRow, "Verdict": words(Verdict.allCases),
            "Loss": object(
                "A period without the device.", ["at_ms": number, "reason": line],
                optional: ["away_ms": number, "device": line, "startup": line]),
            "Learned": object("Unusual behaviour that was observed.", ["kind": line, "text": line, "count": whole]),
            "Product": object(
                "The device under test over the air.", ["address": line],
                optional: ["name": line, "firmware": line, "description": line, "change": line, "notRun": line]),
            "ExpectedFailure": object(
                "A failure that does not fail the run: the id of a case or of a public test case, and all its cases.",
                ["id": line, "reason": line, "cases": lines]),
            "Selection": object(
                "The cases that were divided into shards.", ["filters": lines, "count": whole, "digest": line]),
            "GivenOption": object(
                "An option of the bench and where its value is from: the command line or a file.", ["option": line, "origin": line],
                optional: ["value": line]),
            "USB": object(
                "Counters of libusb after the end of the run.",
                [
                    "handles_opened": whole, "transfers_submitted": whole, "handles_open": whole, "transfers_allocated": whole,
                    "transfers_in_flight": whole,
                ]),
            "LogLine": object("A line of the product's log.", ["at_ms": number, "text": line]),
            "Swap": object(
                "A FAIL that was repeated with exchanged dongles.",
                ["verdict": verdict, "message": line, "finding": words(SwapOutcome.Finding.allCases)]),
        ]
    }

    // MARK: The run

    private static var run: Schema {
        object(
            "Properties of the run.", ["seed": seed, "tester": line, "subject": line, "interrupted": truth],
            optional: [
                "shuffle": seed, "ending": line, "shard": line, "missing_shards": ["type": "array", "items": count] as Schema,
                "fail_on_flaky": mark, "selection": reference("Selection"), "slack_ms": number, "date": line, "host": line, "build": line,
                "arguments": lines, "options": rows("GivenOption"), "labels": ["type": "object", "additionalProperties": line] as Schema,
                "product": reference("Product"),
                "expected_failures": rows("ExpectedFailure"), "devices": rows("Device"), "usb": reference("USB"),
            ])
    }

    private static var summary: Schema {
        object(
            "Numbers of cases by verdict.", ["pass": whole, "fail": whole, "inconc": whole, "na": whole, "error": whole],
            optional: ["flaky": count, "not_run": count])
    }

    private static var device: Schema {
        object(
            "A real device of the run, with its statistics.",
            [
                "side": side, "device": line, "known": lines, "workarounds": lines, "learned": rows("Learned"), "discarded": whole,
                "held": whole, "worst_wait_ms": number, "dropped": whole, "cleared_halts": whole, "losses": rows("Loss"),
            ],
            optional: ["product": line, "controller": line, "numbers": reference("DeviceNumbers"), "startup": line, "usb_mode": line])
    }

    private static var numbers: Schema {
        let number: Schema = ["type": "string", "pattern": "^[0-9a-f]{4}$"]
        return object(
            "Numbers that identify a dongle's model and firmware. Text is hexadecimal.",
            ["hci_version": whole, "hci_revision": number, "lmp_version": whole, "lmp_subversion": number, "company": whole],
            optional: ["usb": ["type": "string", "pattern": "^[0-9a-f]{4}:[0-9a-f]{4}$"] as Schema, "release": number, "firmware": line])
    }

    private static var commandRow: Schema {
        object(
            "An HCI command with the cases that send it.", ["command": line, "passed": lines, "failed": lines, "other": lines],
            optional: ["claimed": truth])
    }

    // MARK: A case

    private static var testCase: Schema {
        object(
            "The result of a case.",
            [
                "id": line, "title": line, "verdict": verdict, "covers": lines, "duration_ms": number, "virtual_ms": number, "seed": seed,
                "evidence": rows("Evidence"), "message": line,
            ],
            optional: [
                "covers_partly": lines, "worst_scheduling_delay_ms": number, "capture": line, "step": reference("FailedStep"),
                "notes": lines, "lacks": lines,
                "swap": reference("Swap"), "first_packet": whole, "last_packet": whole, "steps": rows("StepRecord"), "started": line,
                "attempts": rows("Attempt"), "commands": rows("Command"), "log": rows("LogLine"), "log_omitted": count,
                "log_omitted_at": count, "flaky": mark, "not_run": mark, "file": line, "purpose": line, "reference": line, "tags": lines,
                "packets": rows("Packet"), "packets_omitted": count, "packets_omitted_at": count,
            ])
    }

    private static var evidence: Schema {
        object("A packet on which the verdict rests.", ["packet": whole, "side": line, "text": line], optional: ["at_ms": number])
    }

    private static var failedStep: Schema {
        object(
            "The step that failed.", ["position": line, "step": line],
            optional: ["requirement": line, "expected": line, "got": line, "packet": whole])
    }

    private static var stepRecord: Schema {
        object(
            "The execution of a step.",
            [
                "part": words(StepRecord.Part.allCases), "depth": whole, "position": line, "step": line,
                "outcome": words(StepRecord.Outcome.allCases), "times": whole,
            ],
            optional: ["requirement": line, "began_ms": number, "ended_ms": number])
    }

    private static var packet: Schema {
        object(
            "A packet of a case that did not pass, or several similar ones.",
            [
                "packet": whole, "side": side, "way": words(PacketTrace.Way.allCases), "at_ms": number, "name": line, "fields": lines,
                "times": whole,
            ])
    }

    private static var attempt: Schema {
        object(
            "One of several attempts at a case.",
            ["verdict": verdict, "message": line, "seed": seed, "duration_ms": number, "evidence": rows("Evidence")],
            optional: ["first_packet": whole, "last_packet": whole])
    }

    private static var command: Schema {
        object(
            "A command of the user around a case.",
            [
                "occasion": words(CommandReport.Occasion.allCases), "attempt": whole, "duration_ms": number, "output": line,
                "output_omitted": whole,
            ],
            optional: ["exit_code": whole, "problem": line])
    }

    // MARK: Parts

    private static var line: Schema { ["type": "string"] }
    private static var lines: Schema { ["type": "array", "items": line] }
    private static var truth: Schema { ["type": "boolean"] }
    private static var whole: Schema { ["type": "integer"] }
    private static var number: Schema { ["type": "number"] }
    private static var seed: Schema { ["type": "string", "pattern": "^[0-9]+$"] }
    private static var side: Schema { ["enum": ["tester", "subject"]] }
    private static var verdict: Schema { reference("Verdict") }
    /// Zero and false are not written.
    private static var count: Schema { ["type": "integer", "default": 0] }
    private static var mark: Schema { ["type": "boolean", "default": false] }

    private static func words<Word: RawRepresentable>(_ all: [Word]) -> Schema where Word.RawValue == String {
        ["enum": all.map(\.rawValue)]
    }

    private static func reference(_ name: String) -> Schema { ["$ref": "#/definitions/\(name)"] }
    private static func rows(_ name: String) -> Schema { ["type": "array", "items": reference(name)] }

    private static func object(_ description: String, _ required: Schema, optional: Schema = [:]) -> Schema {
        [
            "type": "object", "description": description, "required": required.keys.sorted(),
            "properties": required.merging(optional) { first, _ in first },
        ]
    }
}
