import BBPackets

/// A vendor command that sets the public address. Opcodes collide between manufacturers, so the manufacturer determines the command.
enum AddressCommand: String, CaseIterable {
    case broadcom, csr, intel, qualcomm, mediatek, zephyr, ericsson

    private var opcode: UInt16 {
        switch self {
        case .broadcom: 0xFC01
        case .csr: 0xFC00
        case .intel: 0xFC31
        case .qualcomm: 0xFC0B
        case .mediatek: 0xFC1A
        case .zephyr: 0xFC06
        case .ericsson: 0xFC0D
        }
    }

    /// Octets before the address.
    private var prefix: [UInt8] { self == .qualcomm ? [1, 1, 0, 6] : [] }

    /// The address that a command sets; nil for any other command.
    func address(in packet: HCIPacket) -> BDADDR? {
        guard packet.commandOpcode == opcode else { return nil }
        if self == .csr { return Self.persistentStoreAddress(packet.parameters) }
        let parameters = packet.parameters
        guard parameters.starts(with: prefix), parameters.count == prefix.count + 6 else { return nil }
        return BDADDR(Array(parameters.dropFirst(prefix.count)).little64)
    }

    /// A message of a CSR chip that writes persistent store key 1: the address is in the last eight octets as 16-bit words, the middle part
    /// first.
    private static func persistentStoreAddress(_ octets: [UInt8]) -> BDADDR? {
        let isWrite = octets.count == 25 && octets[0] == 0xC2 && octets.little16(1) == 2 && octets.little16(11) == 1
        guard isWrite else { return nil }
        let value = octets[17...]
        let base = value.startIndex
        let order = [2, 3, 0, 4, 6].map { UInt64(value[base + $0]) } + [UInt64(value[base + 7])]
        // LAP in octets 2, 3 and 0; UAP in octet 4; NAP in octets 6 and 7.
        return BDADDR(order[5] << 40 | order[4] << 32 | order[3] << 24 | order[2] << 16 | order[1] << 8 | order[0])
    }
}

/// Answers the vendor command that sets the address. Afterwards the new address is read, or still the old one.
final class AddressByVendorCommand: ConductRule {
    private let command: AddressCommand
    private let keepsOld: Bool
    private var address: BDADDR?

    init(_ command: AddressCommand, keepsOld: Bool) {
        self.command = command
        self.keepsOld = keepsOld
    }

    func fromHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let opcode = packet.commandOpcode, let address = command.address(in: packet) else { return packet }
        if !keepsOld {
            self.address = address
            // The simulated controller's own command; least significant octet first.
            wire.ownAddress(DeviceAddress(address, kind: .public))
        }
        guard command == .csr else {
            wire.answer(HCIPacket(completeOpcode: opcode, returns: [ErrorCode.success.rawValue]))
            return nil
        }
        var answer = packet.parameters
        answer[1] = 1
        wire.answer(HCIPacket(event: HCIEvents.VendorSpecific(data: answer)))
        return nil
    }

    func toHost(_ packet: HCIPacket, _ wire: ConductWire) -> HCIPacket? {
        guard let address else { return packet }
        return packet.changingReturns(of: HCICommands.ReadBDADDR.self) { $0.bdADDR = address }
    }
}

extension ConductWire {
    /// The simulated controller's own command for its address.
    private static let writeAddress: UInt16 = 0xFC06

    fileprivate func ownAddress(_ address: DeviceAddress) {
        transport.hide(Self.writeAddress, for: position)
        transport.toController(HCIPacket(opcode: Self.writeAddress, parameters: address.octets), from: position + 1)
    }
}

/// Addresses that many units share.
enum FactoryAddress {
    static let named: [String: UInt64] = [
        "broadcom": 0x0020_7002_A000,
        "bcm20702": 0x2070_02A0_0000,
        "bcm43430": 0xAAAA_AAAA_AAAA,
        "intel": 0x008B_9E19_0300,
        "csr-clone": 0x001A_7DDA_7113,
        "realtek": 0x00E0_4C23_9987,
    ]
}
