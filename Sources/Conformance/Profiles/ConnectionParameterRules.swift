import BBCases
import BBPackets
import BBTiming

/// The check of requested connection parameters against the rules of a profile.
struct ConnectionParameterRules {
    let minimum: Microseconds
    let maximum: Microseconds
    let latency: Int
    let timeout: Microseconds
    /// True if the device offers HID over GATT, for which a shorter interval is allowed.
    let isHID: Bool

    /// The longest time between two events that the peripheral must use.
    private var effective: Microseconds { maximum * (latency + 1) }

    private typealias Judge = @Sendable (Self, CaseRecord) -> String?

    private static let judges: [String: Judge] = [
        "peripheral-latency": { asked, rule in
            let most = rule["most"]?.asNumber ?? .max
            return asked.latency > most
                ? "the latency is \(asked.latency), expected at most \(most)" : nil
        },
        "supervision-timeout": { asked, rule in
            guard let least = rule.time("least"), let most = rule.time("most"),
                !(least...most).contains(asked.timeout)
            else { return nil }
            return
                "the supervision timeout is \(asked.timeout.text), expected \(least.text) to \(most.text)"
        },
        "interval-minimum": { asked, rule in
            guard let least = rule.time("least"), asked.minimum < least, !asked.isShort(rule) else {
                return nil
            }
            return "Interval_Min is \(asked.minimum.text), expected at least \(least.text)"
        },
        "interval-multiple": { asked, rule in
            guard let unit = rule.time("of"), asked.minimum.rawValue % unit.rawValue != 0,
                !asked.isShort(rule)
            else { return nil }
            return "Interval_Min is \(asked.minimum.text), expected a multiple of \(unit.text)"
        },
        "interval-span": { asked, rule in
            guard let apart = rule.time("apart"), asked.maximum < asked.minimum + apart,
                !asked.isShort(rule)
            else { return nil }
            let both = rule.time("orBoth")
            if let both, asked.minimum == both, asked.maximum == both { return nil }
            return
                "the intervals are \(asked.minimum.text) to \(asked.maximum.text), expected them \(apart.text) apart"
                + (both.map { " or both \($0.text)" } ?? "")
        },
        "interval-longest": { asked, rule in
            guard let most = rule.time("most"), asked.minimum > most else { return nil }
            return "Interval_Min is \(asked.minimum.text), expected at most \(most.text)"
        },
        "effective-interval": { asked, rule in
            guard let most = rule.time("most"), asked.effective > most else { return nil }
            return
                "Interval_Max x (latency + 1) is \(asked.effective.text), expected at most \(most.text)"
        },
        "timeout-margin": { asked, rule in
            guard let times = rule["times"]?.asNumber, asked.timeout <= asked.effective * times else {
                return nil
            }
            let least = asked.effective * times
            return
                "the supervision timeout is \(asked.timeout.text), expected more than Interval_Max x (latency + 1) x \(times), \(least.text)"
        },
    ]

    static var names: [String] { judges.keys.sorted() }

    /// Returns true for 11.25 ms in both limits if the rule has an exception for HID over GATT.
    private func isShort(_ rule: CaseRecord) -> Bool {
        isHID && rule.time("ofHID") == minimum && minimum == maximum
    }

    /// Returns the violation of a rule; empty if there is none. Nil if the rule is not about connection parameters.
    func fault(_ rule: AccessoryProfile.Rule) -> String? {
        Self.judges[rule.name].map { $0(self, rule.values) ?? "" }
    }
}

/// Judges the parameters that a device requests by the rule of the case.
enum JudgeParameters: NamedAction {
    static let name = "judge parameters"
    static let about =
        "compares requested connection parameters with the rule of the case"
    static let minimum = TypedArgument.number("minimum", 0...0xFFFF, "N x 1.25 ms")
    static let maximum = TypedArgument.number("maximum", 0...0xFFFF, "N x 1.25 ms")
    static let latency = TypedArgument.number("latency", 0...0xFFFF, "connection events")
    static let timeout = TypedArgument.number("timeout", 0...0xFFFF, "N x 10 ms")
    static var arguments: [ActionArgument] {
        [minimum.declaration, maximum.declaration, latency.declaration, timeout.declaration]
    }
    /// - Throws: `ActionFinding`.
    static func run(_ context: ActionContext) async throws -> CaseRecord {
        let (minimum, maximum) = (try context(minimum), try context(maximum))
        let hid = BluetoothUUID(0x1812)
        let rules = ConnectionParameterRules(
            minimum: Microseconds(Int64(minimum) * 1_250), maximum: Microseconds(Int64(maximum) * 1_250),
            latency: try context(latency),
            timeout: .milliseconds(try context(timeout) * 10),
            isHID: context.bench.device?.offers(hid) ?? false)
        guard let fault = rules.fault(try context.rule()) else {
            throw StepFailure(
                .bench,
                "the rule of this case is not about connection parameters: \(ConnectionParameterRules.names)"
            )
        }
        guard fault.isEmpty else { throw ActionFinding(text: fault) }
        return CaseRecord()
    }
}
