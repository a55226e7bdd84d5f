import BBMisbehaviour
import BBPackets

extension DongleQuirk {
    /// LMP feature bit "RSSI with inquiry results". Core Vol 2, Part C, 3.3.
    private static let rssiWithInquiryResults: UInt64 = 1 << 30
    private static let ownVersion = "Core Vol 4, Part E, 7.4.1: the manufacturer and version of the controller"

    /// Values of read commands.
    static let valueQuirks: [DongleQuirk] = identityQuirks + abilityQuirks + addressQuirks

    private static func version(
        _ name: String, _ range: ClosedRange<Int>, standard: String? = nil, _ what: String,
        _ change: @escaping @Sendable (inout HCICommands.ReadLocalVersionInformation.Return, Int) -> Void
    ) -> DongleQuirk {
        DongleQuirk(
            name, .number(range), standard: standard, knownOf: "every manufacturer", allowedBy: ownVersion, "reports this \(what)",
            .rule { value in PacketRule.returns(of: HCICommands.ReadLocalVersionInformation.self) { change(&$0, value.number) } })
    }

    private static let identityQuirks: [DongleQuirk] = [
        version("hci-version", 0...255, "HCI_Version") { $0.hciVersion = UInt8($1) },
        version("hci-revision", 0...0xFFFF, "HCI_Subversion") { $0.hciSubversion = UInt16($1) },
        version("lmp-version", 0...255, "LMP_Version") { $0.lmpVersion = UInt8($1) },
        version("lmp-subversion", 0...0xFFFF, "LMP_Subversion") { $0.lmpSubversion = UInt16($1) },
        version("company", 0...0xFFFF, "company identifier") { $0.companyIdentifier = UInt16($1) },
    ]

    private static let abilityQuirks: [DongleQuirk] = [
        DongleQuirk(
            "commands", .octets, knownOf: "every manufacturer", "reports these octets as Supported_Commands",
            .rule { value in
                PacketRule.returns(of: HCICommands.ReadLocalSupportedCommands.self) { $0.supportedCommands = value.octets.padded(to: 64) }
            }),
        DongleQuirk(
            "le-features", .octets, knownOf: "every manufacturer", "claims these LE features, the least significant octet first",
            .rule { value in
                PacketRule.returns(of: HCICommands.LEReadLocalSupportedFeatures.self) {
                    $0.leFeatures = LEFeatures(rawValue: value.octets.padded(to: 8).little64)
                }
            }),
        DongleQuirk(
            "lmp-features", .octets, knownOf: "every manufacturer", "claims these features of BR/EDR, the least significant octet first",
            .rule { value in
                let features = value.octets.padded(to: 8).little64
                return RuleGroup([
                    PacketRule.returns(of: HCICommands.ReadLocalSupportedFeatures.self) { $0.lmpFeatures = features },
                    PacketRule.returns(of: HCICommands.ReadLocalExtendedFeatures.self) {
                        if $0.pageNumber == 0 { $0.extendedLMPFeatures = features }
                    },
                ])
            }),
        DongleQuirk(
            "supported-states", .octets, knownOf: "every manufacturer", "claims these LE states, the least significant octet first",
            .rule { value in
                PacketRule.returns(of: HCICommands.LEReadSupportedStates.self) { $0.leStates = value.octets.padded(to: 8).little64 }
            }),
        DongleQuirk(
            "unclaimed-rssi-inquiry", knownOf: "Silicon Wave", "supports inquiry with RSSI, but does not claim the feature",
            .rule { _ in
                PacketRule.returns(of: HCICommands.ReadLocalSupportedFeatures.self) { $0.lmpFeatures &= ~rssiWithInquiryResults }
            }),
        DongleQuirk(
            "unclaimed-le-commands", knownOf: "MediaTek in a phone", "supports LE commands, but claims none in octets 25 to 28",
            .rule { _ in
                PacketRule.returns(of: HCICommands.ReadLocalSupportedCommands.self) {
                    guard $0.supportedCommands.count > 28 else { return }
                    $0.supportedCommands.replaceSubrange(25...28, with: [0, 0, 0, 0])
                }
            }),
        DongleQuirk(
            "features-without-commands", knownOf: "Qualcomm 4.x", "claims LL Privacy without its commands",
            .rule { _ in
                let commands = [
                    HCICommands.LEAddDeviceToResolvingList.opcode, HCICommands.LERemoveDeviceFromResolvingList.opcode,
                    HCICommands.LEClearResolvingList.opcode, HCICommands.LEReadResolvingListSize.opcode,
                    HCICommands.LESetAddressResolutionEnable.opcode,
                ]
                return RuleGroup([
                    UnclaimedCommands(Set(commands)),
                    PacketRule.returns(of: HCICommands.LEReadLocalSupportedFeatures.self) { $0.leFeatures.insert(.llPrivacy) },
                ])
            }),
        DongleQuirk(
            "absurd-sco-buffers", .buffers, standard: "0x0", knownOf: "BCM2035, BCM2045", "reports impossible voice buffers",
            .rule { value in
                PacketRule.returns(of: HCICommands.ReadBufferSize.self) {
                    $0.synchronousDataPacketLength = UInt8(clamping: value.buffers.length)
                    $0.totalNumSynchronousDataPackets = UInt16(clamping: value.buffers.count)
                }
            }),
    ]

    private static let addressQuirks: [DongleQuirk] = [
        DongleQuirk(
            "default-address", .choice(FactoryAddress.named.keys.sorted()), standard: "bcm43430",
            knownOf: "Broadcom and Intel without a programmed address",
            "has the default address of its chip",
            .controller { $0.address = DeviceAddress(value: FactoryAddress.named[$1.word] ?? 0) }),
        DongleQuirk(
            "shared-address", knownOf: "CSR and clones of one batch", "has the same address as other dongles",
            .controller { configuration, _ in
                configuration.address = DeviceAddress(value: FactoryAddress.named["csr-clone"] ?? 0)
            }),
        DongleQuirk(
            "address-command", .choice(AddressCommand.allCases.map(\.rawValue)), standard: "broadcom", knownOf: "every manufacturer",
            allowedBy: "Core Vol 4, Part E, 5.4.1: OGF 0x3F is for vendors", "supports the vendor's command to set its address",
            .rule { AddressByVendorCommand(AddressCommand(rawValue: $0.word) ?? .broadcom, keepsOld: false) }),
        DongleQuirk(
            "address-command-lies", .choice(AddressCommand.allCases.map(\.rawValue)), standard: "csr", knownOf: "CSR clones",
            "answers the vendor's command to set its address with success, but keeps the old one",
            .rule { AddressByVendorCommand(AddressCommand(rawValue: $0.word) ?? .csr, keepsOld: true) }),
    ]
}

/// Rejects commands and does not report them as supported.
final class UnclaimedCommands: ConductRule {
    private let opcodes: Set<UInt16>

    init(_ opcodes: Set<UInt16>) { self.opcodes = opcodes }

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let opcode = packet.commandOpcode, opcodes.contains(opcode) else { return packet }
        wire.answer(HCIPacket(statusOpcode: opcode, .unknownHCICommand))
        return nil
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        packet.changingReturns(of: HCICommands.ReadLocalSupportedCommands.self) { returns in
            for bit in opcodes.compactMap({ PDUCatalog.command(opcode: $0)?.supportedCommandsBit })
            where returns.supportedCommands.indices.contains(bit.octet) {
                returns.supportedCommands[bit.octet] &= ~(1 << UInt8(bit.bit))
            }
        }
    }
}

extension [UInt8] {
    /// The first `count` octets, padded with zeros.
    func padded(to count: Int) -> [UInt8] { Array(prefix(count)) + [UInt8](repeating: 0, count: Swift.max(0, count - self.count)) }

    var little64: UInt64 { prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}
