import BBPackets
import BBTransport

/// The modes of HCI over USB. Core Vol 4, Part B, 1.
public enum USBMode: String, Sendable, CaseIterable {
    /// The legacy mode, and Bulk Serialization mode once the host needs ISO data, for which the legacy mode defines no way.
    case auto
    /// Commands, events, data and voice on endpoints of their own.
    case legacy
    /// Bulk Serialization mode: everything on the bulk endpoints.
    case serialised
}

/// Selects the mode of a dongle.
struct USBModeControl {
    private let choice: USBMode
    private(set) var offers: Bool
    private(set) var isSerialised = false
    /// The mode that is selected at the start.
    private(set) var startsSerialised: Bool
    private var reason: String

    init(_ choice: USBMode, offers: Bool, _ workarounds: USBWorkarounds = USBWorkarounds()) {
        (self.choice, self.offers) = (choice, offers && !workarounds.avoidsSerialisedMode)
        startsSerialised = choice == .serialised && self.offers
        reason = Self.reason(choice)
    }

    /// The reason why a dongle cannot be opened in the mode of the user's choice; nil if it can.
    static func refusal(_ choice: USBMode, offers: Bool, _ workarounds: USBWorkarounds) -> String? {
        guard choice == .serialised else { return nil }
        guard !workarounds.avoidsSerialisedMode else { return "its Bulk Serialization mode is known to fail; use --usb-mode legacy" }
        guard !offers else { return nil }
        return "it has no Bulk Serialization mode: alternate setting 1 of its HCI interface, with two bulk endpoints only, is missing; "
            + "use --usb-mode legacy"
    }

    private static func reason(_ choice: USBMode) -> String { choice == .auto ? "the host needs no ISO data" : "--usb-mode" }

    /// The mode and the reason for it; nil for a dongle with the legacy mode only.
    var text: String? { offers ? "\(isSerialised ? "Bulk Serialization mode" : "legacy mode") (\(reason))" : nil }

    /// The dongle has re-enumerated, and begins in the legacy mode.
    mutating func returned(offers: Bool) {
        self.offers = offers
        startsSerialised = offers && (startsSerialised || isSerialised)
        isSerialised = false
    }

    /// True if a command needs Bulk Serialization mode. Isochronous data has no defined way in the legacy mode. Core Vol 4, Part B, 1.
    mutating func isNeeded(by command: HCIPacket) -> Bool {
        guard choice == .auto, offers, !isSerialised, command.commandOpcode == HCICommands.LESetupISODataPath.opcode,
            let path = try? HCICommands.LESetupISODataPath(parameters: Array(command.parameters)), path.dataPathID == Self.pathOverHCI
        else { return false }
        reason = "the host needs ISO data"
        return true
    }

    /// Data_Path_ID of data over HCI. Core Vol 4, Part E, 7.8.109.
    private static let pathOverHCI: UInt8 = 0

    mutating func settled(_ isSerialised: Bool) { self.isSerialised = isSerialised }

    mutating func refused(_ refusal: String) { reason = "Bulk Serialization mode was refused: \(refusal)" }
}
