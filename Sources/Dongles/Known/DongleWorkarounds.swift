import HCI
import Packets
import TransportUSB

/// What the bench does for a dongle, put together from the rows that it fits.
public struct DongleWorkarounds: Sendable, Hashable {
    public var controller = ControllerWorkarounds()
    public var usb = USBWorkarounds()
    /// It is no controller that the bench can use, in this mode.
    public var isUnusable = false
    /// Fit for use, but not as the reference that others are judged against.
    public var isUnfitAsReference = false

    public init() {}

    public init(_ rows: [KnownDongle]) {
        for row in rows {
            for name in row.workarounds { _ = set(name) }
            for name in row.avoided {
                guard let command = PDUCatalog.declaration(layer: "HCICommands", name: name) else { continue }
                controller.avoidedCommands.insert(UInt16(truncatingIfNeeded: command.code))
            }
        }
    }

    /// Something of it is done before a controller says any number of its own.
    var isDecidedBeforeCommands: Bool { usb != USBWorkarounds() || isUnusable }

    /// What a table may name; those that take a value are written with one.
    static var names: [String] {
        ControllerWorkarounds.names.keys.sorted() + USBWorkarounds.names.keys.sorted() + [
            unusable, unfit, "voice-buffers=OCTETSxPACKETS", "avoided-voice-setting=N", "transparent-voice-setting=N",
        ]
    }

    private static let unusable = "not-usable"
    private static let unfit = "is-unfit-as-reference"

    /// Sets what is named; false when there is no such thing.
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

    /// What is in use, in words of the table.
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
