import BBHCI
import BBPackets
import BBTransportUSB

/// Workarounds for a dongle, combined from the matching table rows.
public struct DongleWorkarounds: Sendable, Hashable {
    public var controller = ControllerWorkarounds()
    public var usb = USBWorkarounds()
    /// The bench cannot use the controller in this mode.
    public var isUnusable = false
    /// Usable, but not as a reference for judging others.
    public var isUnfitAsReference = false

    public init() {}

    public init(_ rows: [KnownDongle]) {
        for row in rows {
            for name in row.workarounds { _ = set(name) }
            for name in row.avoided {
                guard let command = PDUCatalog.declaration(layer: .hciCommands, name: name) else { continue }
                controller.avoidedCommands.insert(UInt16(truncatingIfNeeded: command.code))
            }
        }
    }

    /// True if a workaround applies before the controller has reported its version.
    var isDecidedBeforeCommands: Bool { usb != USBWorkarounds() || isUnusable }

    /// Names allowed in a table, including those that take a value.
    static var names: [String] {
        ControllerWorkarounds.names.keys.sorted() + USBWorkarounds.names.keys.sorted() + [
            unusable, unfit, "voice-buffers=OCTETSxPACKETS", "avoided-voice-setting=N", "transparent-voice-setting=N",
        ]
    }

    private static let unusable = "not-usable"
    private static let unfit = "is-unfit-as-reference"

    /// Sets a workaround by name; false if the name is unknown.
    mutating func set(_ text: String) -> Bool {
        if text == Self.unusable {
            isUnusable = true
            return true
        }
        if text == Self.unfit {
            isUnfitAsReference = true
            return true
        }
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return controller.set(text) || usb.set(text) }
        switch parts[0] {
        case "avoided-voice-setting":
            guard let setting = UInt8(parts[1]), 1...6 ~= setting else { return false }
            usb.avoidedVoiceSettings.insert(setting)
        case "transparent-voice-setting":
            guard let setting = UInt8(parts[1]), 1...6 ~= setting else { return false }
            usb.transparentVoiceSetting = setting
        case "voice-buffers":
            let numbers = parts[1].split(separator: "x").compactMap { Int($0) }
            guard numbers.count == 2, numbers.allSatisfy({ (1...1_024).contains($0) }) else { return false }
            controller.voiceBuffers = ControllerWorkarounds.VoiceBuffers(octets: numbers[0], packets: numbers[1])
        default: return false
        }
        return true
    }

    /// Active workarounds, as written in the table.
    public var namesInUse: [String] {
        let avoided = controller.avoidedCommands.compactMap { PDUCatalog.command(opcode: $0)?.name }.sorted().map { "avoids \($0)" }
        let buffers = controller.voiceBuffers.map { ["voice-buffers=\($0.octets)x\($0.packets)"] } ?? []
        let settings =
            usb.avoidedVoiceSettings.sorted().map { "avoided-voice-setting=\($0)" }
            + (usb.transparentVoiceSetting.map { ["transparent-voice-setting=\($0)"] } ?? [])
        let verdicts = (isUnfitAsReference ? [Self.unfit] : []) + (isUnusable ? [Self.unusable] : [])
        return controller.namesInUse + usb.namesInUse + buffers + settings + avoided + verdicts
    }
}
