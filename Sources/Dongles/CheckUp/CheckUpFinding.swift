/// A result of a check-up about a dongle.
public struct CheckUpFinding: Sendable, Hashable {
    public enum Weight: String, Sendable, Hashable, Codable {
        /// Violates the specification, or makes the dongle unusable for a host.
        case fault
        /// Allowed, but worth knowing.
        case note
    }

    /// Stable lower-case name: the virtual dongle's switch with this behaviour, if there is one.
    public var name: String
    public var weight: Weight
    /// Observation.
    public var text: String
    /// Advice for the user; empty if there is none.
    public var advice: String

    public init(_ name: String, _ weight: Weight, _ text: String) {
        (self.name, self.weight, self.text) = (name, weight, text)
        advice = CheckUpAdvice.of(name)
    }
}

extension CheckUpFinding: Codable {}

/// Advice by name of finding.
enum CheckUpAdvice {
    static func of(_ name: String) -> String {
        texts[name] ?? (name.hasPrefix("no-") || name == "refuses" || name == "silent" ? optional : "")
    }

    private static let optional = "The bench leaves the command out; cases about it are N/A with this dongle."
    private static let noReference = "Do not use it as a reference."

    private static let texts: [String: String] = [
        "csr-clone": "Expect refused commands. \(noReference)",
        "deaf-rom":
            "Load its firmware: put it into a firmware folder, or let the kernel load it and do not reset the port afterwards. \(noReference)",
        "hears-nothing": "If a device advertises nearby: plug it in again, try another port away from USB 3, or load its firmware.",
        "acl-dead": "Let the kernel suspend it once (power/control auto), or use another port. \(noReference)",
        "data-in-dead": "Let the kernel suspend it once (power/control auto), or use another port. \(noReference)",
        "waits-for-zlp":
            "Add a row to the table of known dongles with needs-zero-length-packets, or update its firmware. \(noReference)",
        "stray-octet": "Nothing: the octet is dropped.",
        "class-request-stalls": "Nothing: the command is sent again.",
        "reenumerates-on-reset": "Name it by its port, usb:BUS-PORT.",
        "credit-zero": "The bench goes on after four seconds without a credit; newer firmware may cure it.",
        "reset-first": "Nothing: the bench resets every dongle first.",
        "first-reset-unanswered": "Nothing: the bench repeats HCI_Reset. If it happens at every start, use another port.",
        "second-open-deaf": "Nothing: the bench resets the port.",
        "port-reset-needed": "Nothing: the bench resets the port. A slow plug or a hub may be the cause.",
        "stale-data": "Nothing: what is left of the past is thrown away.",
        "mute-after-commands": "Plug it in again; if it falls silent again, do not use it.",
        "hardware-error": "Its firmware crashed: load another, or do not use it.",
        "coredump": "Its firmware crashed: load another, or do not use it.",
        "acl-dump": "Its firmware crashed: load another, or do not use it.",
        "credits-missing": "Avoid data of this length; newer firmware may cure it. \(noReference)",
        "credits-never": "Plug it in again. \(noReference)",
        "credits-excess": noReference,
        "credits-after-disconnect": "Nothing: credits of closed links are discarded.",
        "completed-packets-masked": "Nothing: the bench sets bit 18 of the event mask.",
        "acl-size-hole": "Avoid data of this length, or update its firmware. \(noReference)",
        "event-size-hole": "Update its firmware. \(noReference)",
        "acl-debug": "Nothing: the log of the chip is kept apart.",
        "default-address": "Use --tester-address random: two such dongles in a run would be one device.",
        "shared-address": "Use --tester-address random: other units have the same address.",
        "zero-address": "Nothing: the bench uses a static address.",
        "one-le-role": "Put the second role on a second dongle. \(noReference)",
        "le-states-lie": "Probe the combination that is needed. \(noReference)",
        "no-ext-scan": "Legacy scanning after HCI_Reset; cases about extended scanning are N/A. \(noReference)",
        "no-ext-create": "Legacy connecting after HCI_Reset; cases about it are N/A.",
        "strict-duplicates": "Scan without the filter for duplicates; the bench does, or filters them itself.",
        "max-links": "Cases and products with more links at once need another dongle.",
        "no-scan-beside-links": "Scan on a second dongle.",
        "links-starve-scan": "Longer connection intervals before scanning, or a second dongle.",
        "legacy-scan-unanswered": "Extended scanning only. \(noReference)",
        "coded-deaf": "No LE Coded with this dongle; scan on LE 1M alone.",
        "reports-own-address": "Its reports do not show the advertiser: do not use it.",
        "report-228-lost": "Update its firmware, or avoid advertising data of this length.",
        "reserved-phy-bits": "Nothing: reserved bits are masked.",
        "reserved-report-bits": "Nothing: reserved bits are masked.",
        "advertising-sets": "Legacy advertising only.",
        "encryption-change-masked": "Nothing: the bench leaves page 2 of the event mask alone.",
        "payload-timeout-breaks-pairing": "Nothing: the bench does not write the timeout by itself.",
        "status-for-complete": "Nothing: either event is accepted as the answer. \(noReference)",
        "wrong-opcode": "Nothing: the answer is recognised by its time.",
        "event-filter-locks": "Plug it in again now; the bench does not clear event filters. \(noReference)",
        "no-erroneous-data-reporting":
            "The bench leaves the command out; it may have locked the dongle up: plug it in again. \(noReference)",
        "unclaimed-le-commands": "Do not judge it by its supported commands.",
    ]
}
