/// Names and limits of what mutants and variants can set on controllers, dongles, hosts and accessories.
public struct WorldSettings: Sendable {
    /// Settings of controllers that take names of commands or events.
    package var lists: [String: Vocabulary.PDU.Layer] = [:]
    /// Settings that a conforming controller may have; all others are defects.
    package var legal: Set<String> = []
    /// Defects of a host.
    package var hostFaults: Set<String> = []
    /// Settings of our own accessory, with the numbers that each takes.
    package var accessories: [String: ClosedRange<Int>] = [:]
    /// Names of the chips that a dongle can have.
    package var chips: [String] = []
    /// Why a dongle cannot have a setting of this name and text; nil if it can.
    package var dongleMistake: @Sendable (_ name: String, _ text: String) -> String? = { _, _ in nil }
    /// The defects that a dongle's setting includes.
    package var dongleDefects: @Sendable (ControllerSetting) -> [String] = { _ in [] }

    public init() {}
}
