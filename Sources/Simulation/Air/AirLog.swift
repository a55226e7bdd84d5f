import BBPackets
import BBTraffic

/// Receives each transmission at its start, with the time of its first bit.
typealias AirLogSink = (_ frame: AnyAirFrame, _ start: Microseconds) -> Void

extension AirFrame {
    /// The frame as an error-free sniffer beside the sender records it.
    init(_ packet: LEPacket) {
        let pdu = packet.pdu
        var bytes: [UInt8] = []
        bytes.reserveCapacity(10 + pdu.payload.count)
        for shift in [0, 8, 16, 24] as [UInt32] {
            bytes.append(UInt8(truncatingIfNeeded: packet.tuning.accessAddress >> shift))
        }
        switch packet.phy {
        case .le1M, .le2M: break
        case .codedS8: bytes.append(0)
        case .codedS2: bytes.append(1)
        }
        let length = UInt8(truncatingIfNeeded: pdu.payload.count)
        bytes.append(pdu.header)
        bytes.append(length)
        bytes.append(contentsOf: pdu.payload)
        var crc = CRC24(initial: packet.tuning.crcInit)
        crc.add(pdu.header)
        crc.add(length)
        crc.add(pdu.payload)
        bytes.append(contentsOf: crc.octets.prefix(packet.crcOctets))
        let channel: Channel =
            switch packet.kind {
            case .advertising: .advertising
            case .auxiliary: .auxiliaryAdvertising
            case .dataFromCentral: .dataFromCentral
            case .dataFromPeripheral: .dataFromPeripheral
            }
        self.init(
            rfChannel: packet.tuning.channel.physicalChannel, signalPower: packet.power,
            referenceAccessAddress: packet.tuning.accessAddress,
            flags: [.dewhitened, .signalPowerValid, .referenceAccessAddressValid, .crcChecked, .crcValid],
            channel: channel, modulation: Modulation(packet.phy.phy), bytes: bytes)
    }
}

extension LEPacket {
    /// Header and payload before encryption; nil if sent unencrypted.
    var plain: [UInt8]? { clear.map { [pdu.header, UInt8(truncatingIfNeeded: $0.count)] + $0 } }
}

extension BasebandFrame {
    /// The frame as an error-free sniffer beside the sender records it.
    init(_ packet: BREDRPacket) {
        var flags: Flags = [.dewhitened, .signalPowerValid, .referenceLAPValid, .referenceUAPValid]
        let crc = packet.crc
        if packet.type != nil { flags.formUnion([.hecChecked, .hecValid]) }
        if crc != nil { flags.formUnion([.crcChecked, .crcValid]) }
        if crc != nil || !packet.payload.isEmpty { flags.formUnion(.payloadPresent) }
        if flags.contains(.payloadPresent), packet.isReadable { flags.formUnion(.decrypted) }
        self.init(
            rfChannel: packet.rfChannel, signalPower: packet.power, transport: Transport(packet.type), lap: packet.lap,
            referenceUAP: packet.uap, packetHeader: packet.header, flags: flags, payload: packet.payload + (crc ?? []))
        isFromCentral = packet.isFromCentral
        onAir = BREDRFrame(packet)?.octets
        switch packet.type?.format.modulation {
        case .gfsk, nil: modulation = .basicRate
        case .dqpsk: modulation = .edr2M
        case .dpsk8: modulation = .edr3M
        }
    }
}

extension BREDRPacket {
    /// True if the payload may be marked as dissectable: it is unencrypted and holds no L2CAP fragment. Wireshark 4.0 crashes when it
    /// starts to reassemble such fragments.
    fileprivate var isReadable: Bool {
        guard clear == nil, !isSealed, let width = type?.payloadHeaderLength else { return false }
        guard width > 0, let first = payload.first else { return true }
        let data = payload.dropFirst(width)
        switch first & 3 {
        case LLID.control: return true
        case LLID.start:
            let length = data.prefix(2).reversed().reduce(0) { $0 << 8 | Int($1) }
            return data.count >= 4 && data.count >= 4 + length
        default: return data.isEmpty
        }
    }
}

extension BasebandFrame.Transport {
    /// The logical transport that defines how the packet's type code is read.
    init(_ type: BREDRPacketType?) {
        switch type {
        case nil: self = .any
        case .hv1, .hv2, .hv3: self = .sco
        case .ev3, .ev4, .ev5, .twoEV3, .twoEV5, .threeEV3, .threeEV5: self = .esco
        case .null, .poll, .fhs, .dm1, .dh1, .dm3, .dh3, .dm5, .dh5, .aux1, .twoDH1, .twoDH3, .twoDH5, .threeDH1, .threeDH3, .threeDH5:
            self = .acl
        }
    }
}

extension AirFrame.Modulation {
    init(_ phy: PHY) {
        switch phy {
        case .le1M: self = .le1M
        case .le2M: self = .le2M
        case .leCoded: self = .leCoded
        }
    }
}
