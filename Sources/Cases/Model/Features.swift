import BBPackets
import BBTiming

/// The features of a controller by their names in case files: the declared LE features, BR/EDR, and the supported commands.
package enum Features {
    /// Support for BR/EDR, from the LMP features.
    package static let classic = "BR_EDR"

    /// The LE feature bits. Core Vol 6, Part B, 4.6.
    private static let bits = PDUCatalog.type(named: "LEFeatures")?.values ?? []

    package static let names: Set<String> = Set(bits.map(\.name) + [classic])

    /// The USB side of a dongle: it is reached over USB, offers Bulk Serialization mode, is one function of several, and has settings for
    /// voice.
    package static let usb: Set<String> = ["USB", "USB_Serialised", "USB_Composite", "USB_Voice"]

    /// The commands with a bit in the Supported_Commands mask.
    package static let commands: Set<String> = Set(commandBits.map(\.name))

    /// Commands that each controller with LE has, as the bench asks them before a case. Without their bit a controller is at fault, and no
    /// case is left out for it. Core Vol 4, Part E, 3.1.
    package static let mandatory: Set<String> = [
        HCICommands.Disconnect.name, HCICommands.SetEventMask.name, HCICommands.Reset.name, HCICommands.ReadLocalVersionInformation.name,
        HCICommands.ReadLocalSupportedFeatures.name, HCICommands.ReadBDADDR.name, HCICommands.LESetEventMask.name,
        HCICommands.LEReadBufferSize.name, HCICommands.LEReadLocalSupportedFeatures.name, HCICommands.LEReadSupportedStates.name,
    ]

    private static let commandBits: [(name: String, bit: SupportedCommandsBit)] = PDUCatalog.all.compactMap { declaration in
        guard declaration.layer == .hciCommands, let bit = declaration.supportedCommandsBit else { return nil }
        return (declaration.name, bit)
    }

    /// The bits of the commands in Supported_Commands, counted from the first octet on.
    static let positionsOfCommands = Dictionary(commandBits.map { ($0.name, 8 * Int($0.bit.octet) + Int($0.bit.bit)) }) { first, _ in first
    }

    package static func commands(in mask: SupportedCommands) -> [String] { commandBits.filter { mask.contains($0.bit) }.map(\.name) }

    /// The names of the commands of both sides as conditions of cases write them: `subject.LE_Set_PHY`. Each case asks for them, and all
    /// cases of a run have the same controllers, so the set is kept.
    package static func commands(of masks: [Side: SupportedCommands]) -> Set<String> {
        sets(masks) { Set(masks.flatMap { side, mask in commands(in: mask).map { "\(side.rawValue).\($0)" } }) }
    }

    private static let sets = Memo<[Side: SupportedCommands], Set<String>>()

    package static func names(in mask: UInt64) -> [String] { bits.filter { mask >> UInt64($0.value) & 1 == 1 }.map(\.name) }
}
