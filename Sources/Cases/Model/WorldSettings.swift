import BBMisbehaviour

/// The quirks that cases, mutants and variants may use for controllers, hosts and accessories.
public struct WorldSettings: Sendable {
    /// Quirks of controllers, by name.
    package var controllers: [String: QuirkDeclaration] = [:]
    package var hosts: [String: QuirkDeclaration] = [:]
    package var accessories: [String: QuirkDeclaration] = [:]
    /// The quirks of USB devices, which no simulation has.
    package var usbQuirks: Set<String> = []
    /// Returns the names of a dongle's chips, which only the schema needs.
    package var chips: @Sendable () -> [String] = { [] }
    /// Returns the reason why a dongle cannot be a chip, or nil.
    package var chipMistake: @Sendable (_ name: String) -> String? = { _ in nil }
    /// Returns the defects that a setting includes.
    package var defects: @Sendable (QuirkSetting) -> [String] = { _ in [] }

    public init() {}
}
