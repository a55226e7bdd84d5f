/// Events of which a controller sends one, depending on its version and the event mask. Core Vol 4, Part E, 7.7.65.10.
package enum AlternativeEvents {
    package static let connectionComplete = "Any_LE_Connection_Complete"

    package static let all: [String: [String]] = [
        connectionComplete: ["LE_Connection_Complete", "LE_Enhanced_Connection_Complete", "LE_Enhanced_Connection_Complete [v2]"],
        "Any_LE_Enhanced_Connection_Complete": ["LE_Enhanced_Connection_Complete", "LE_Enhanced_Connection_Complete [v2]"],
    ]

    /// Returns true if an expectation of `name` includes the event `event`.
    package static func matches(_ name: String, _ event: String) -> Bool { name == event || all[name]?.contains(event) == true }
}
