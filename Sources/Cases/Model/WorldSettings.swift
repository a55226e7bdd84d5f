import Packets

/// The names and limits of the settings that mutants and variants may use for controllers, dongles, hosts and accessories.
public struct WorldSettings: Sendable {
    /// Settings of controllers that take names of commands or events.
    package var lists: [String: Layer] = [:]
    /// The settings that a conforming controller may have; all others are defects.
    package var legal: Set<String> = []
    /// The defects of a host.
    package var hostFaults: Set<String> = []
    /// The settings of the bench's accessory with the ranges of their numbers.
    package var accessories: [String: ClosedRange<Int>] = [:]
    /// The names of a dongle's chips.
    package var chips: [String] = []
    /// Returns the reason why a dongle cannot have a setting of this name and text, or nil.
    package var dongleMistake: @Sendable (_ name: String, _ text: String) -> String? = { _, _ in nil }
    /// Returns the defects that a dongle's setting includes.
    package var dongleDefects: @Sendable (ControllerSetting) -> [String] = { _ in [] }

    public init() {}
}
