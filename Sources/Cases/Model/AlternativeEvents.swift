import BBPackets

/// Versions of an event of which a controller sends one, depending on its version and the event mask. Core Vol 4, Part E, 7.7.65.10.
package enum AlternativeEvents {
    package static let connectionComplete = any(HCIEvents.LEConnectionComplete.name)

    /// The events that open an LE connection and have later versions, each with these.
    package static let all: [String: [String]] = Dictionary(
        uniqueKeysWithValues: PDUCatalog.all.lazy.filter { $0.layer == .hciEvents && $0.id.effect == .opens(.le) }.compactMap { event in
            let versions = event.id.versions.drop { $0 != event.id }
            return versions.count > 1 ? (any(event.name), versions.map(\.name)) : nil
        })

    private static func any(_ name: String) -> String { "Any_" + name }

    /// Returns true if an expectation of `name` includes the event `event`.
    package static func matches(_ name: String, _ event: String) -> Bool { name == event || all[name]?.contains(event) == true }
}
