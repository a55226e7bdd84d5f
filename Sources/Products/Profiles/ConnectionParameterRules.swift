import BBCases
import BBPackets
import BBTiming

/// The check of requested connection parameters against the rules of a profile.
package struct ConnectionParameterRules {
    package let minimum: Microseconds
    package let maximum: Microseconds
    package let latency: Int
    package let timeout: Microseconds
    /// True if the device offers HID over GATT, for which a shorter interval is allowed.
    package let isHID: Bool

    package init(minimum: Microseconds, maximum: Microseconds, latency: Int, timeout: Microseconds, isHID: Bool) {
        (self.minimum, self.maximum, self.latency, self.timeout, self.isHID) = (minimum, maximum, latency, timeout, isHID)
    }

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

    /// The violation of the limits that each connection has; nil if there is none. Equality of the supervision timeout and its least value is
    /// allowed: Core Vol 3, Part A, 4.20 and Vol 6, Part B, 4.5.2 differ there.
    package var faultOfCore: String? {
        let (shortest, longest) = (Microseconds.connectionIntervals(6), Microseconds.connectionIntervals(3200))
        guard minimum >= shortest, minimum <= maximum, maximum <= longest else {
            return "the intervals are \(minimum.text) to \(maximum.text), expected \(shortest.text) to \(longest.text), the least one first"
        }
        guard latency <= 499 else { return "the latency is \(latency), expected at most 499" }
        guard (Microseconds.milliseconds(100)...Microseconds.milliseconds(32_000)).contains(timeout) else {
            return "the supervision timeout is \(timeout.text), expected 100 ms to 32 s"
        }
        guard timeout >= effective * 2 else {
            return
                "the supervision timeout is \(timeout.text), expected at least Interval_Max x (latency + 1) x 2, \((effective * 2).text)"
        }
        return nil
    }

    package static var names: [String] { judges.keys.sorted() }

    /// Returns true for 11.25 ms in both limits if the rule has an exception for HID over GATT.
    private func isShort(_ rule: CaseRecord) -> Bool {
        isHID && rule.time("ofHID") == minimum && minimum == maximum
    }

    /// Returns the violation of a rule; empty if there is none. Nil if the rule is not about connection parameters.
    package func fault(_ rule: AccessoryProfile.Rule) -> String? {
        Self.judges[rule.name].map { $0(self, rule.values) ?? "" }
    }
}
