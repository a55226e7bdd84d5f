import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// Compares the devices that a host dials with those that its controller hears.
struct Dials {
    private struct Dial {
        /// One device, or those of the filter accept list.
        var targets: [DeviceAddress]
        var usesList: Bool
        var sent: Moment
    }

    /// The advertising of an address.
    private struct Heard {
        var kind: DeviceAddress.Kind
        var connectable = 0
        var others = 0
        var first: Int
    }

    /// The advertising that the capture shows of the address that was dialled.
    enum Sign: String {
        case connectable = "Connectable"
        case notConnectable = "Not_Connectable"
        /// A private address is on the air that a key in the capture resolves to the one that was dialled.
        case isPrivate = "Private"
        /// The same address with the other type.
        case otherType = "Other_Type"
        /// Other devices were heard, and this one was not.
        case absent = "Absent"
        /// The capture has no advertising reports.
        case unknown = "Unknown"
    }

    private var dial: Dial?
    /// The last command to connect, until its status.
    private var asked: Dial?
    /// The start of a scan that has not reported anything.
    private var scan: Moment?
    private var accepted: [DeviceAddress] = []
    /// The identities in the resolving list, and whether the controller resolves.
    private var resolving: Set<DeviceAddress> = []
    private var resolves = false
    private var heard: [UInt64: Heard] = [:]

    private static let most = (heard: 4_096, devices: 64)
    /// Advertisers are heard within seconds where there are any.
    private static let silence: Int64 = 10_000_000
    /// Peer_Address of Initiator_Filter_Policy. Core Vol 4, Part E, 7.8.12.
    private static let oneAddress: UInt8 = 0

    /// True while the controller tries to connect.
    var isDialling: Bool { dial != nil }

    // MARK: Commands

    mutating func sent(_ command: HCIPacket, _ identities: Identities, at now: Moment) -> Observation? {
        switch command.id {
        case HCICommands.LECreateConnection.id:
            guard let pdu = try? command.command(as: HCICommands.LECreateConnection.self) else { return nil }
            note(pdu.initiatorFilterPolicy, pdu.peerAddress, pdu.peerAddressType, now)
        case HCICommands.LEExtendedCreateConnection.id:
            guard let pdu = try? command.command(as: HCICommands.LEExtendedCreateConnection.self) else { return nil }
            note(pdu.initiatorFilterPolicy, pdu.peerAddress, pdu.peerAddressType, now)
        case HCICommands.LEAddDeviceToResolvingList.id:
            guard let pdu = try? command.command(as: HCICommands.LEAddDeviceToResolvingList.self) else { return nil }
            guard resolving.count < Self.most.devices else { return nil }
            resolving.insert(DeviceAddress(pdu.peerIdentityAddress, kind: pdu.peerIdentityAddressType.kind))
        case HCICommands.LERemoveDeviceFromResolvingList.id:
            guard let pdu = try? command.command(as: HCICommands.LERemoveDeviceFromResolvingList.self) else { return nil }
            resolving.remove(DeviceAddress(pdu.peerIdentityAddress, kind: pdu.peerIdentityAddressType.kind))
        case HCICommands.LEClearResolvingList.id: resolving = []
        case HCICommands.LESetAddressResolutionEnable.id:
            resolves = (try? command.command(as: HCICommands.LESetAddressResolutionEnable.self))?.addressResolutionEnable != 0
        case HCICommands.LECreateConnectionCancel.id: return ended(identities, at: now)
        case HCICommands.LESetScanEnable.id:
            guard let pdu = try? command.command(as: HCICommands.LESetScanEnable.self) else { return nil }
            return scans(pdu.leScanEnable != 0, now)
        case HCICommands.LESetExtendedScanEnable.id:
            guard let pdu = try? command.command(as: HCICommands.LESetExtendedScanEnable.self) else { return nil }
            return scans(pdu.enable != 0, now)
        case HCICommands.LEAddDeviceToFilterAcceptList.id:
            guard let pdu = try? command.command(as: HCICommands.LEAddDeviceToFilterAcceptList.self) else { return nil }
            let device = DeviceAddress(pdu.address, kind: pdu.addressType.kind)
            if !accepted.contains(device), accepted.count < Self.most.devices { accepted.append(device) }
        case HCICommands.LERemoveDeviceFromFilterAcceptList.id:
            guard let pdu = try? command.command(as: HCICommands.LERemoveDeviceFromFilterAcceptList.self) else { return nil }
            accepted.removeAll { $0 == DeviceAddress(pdu.address, kind: pdu.addressType.kind) }
        case HCICommands.LEClearFilterAcceptList.id: accepted = []
        case HCICommands.Reset.id: (scan, dial, asked, accepted, resolving, resolves) = (nil, nil, nil, [], [], false)
        default: break
        }
        return nil
    }

    private mutating func scans(_ isOn: Bool, _ now: Moment) -> Observation? {
        defer { scan = isOn ? scan ?? now : nil }
        guard !isOn, let scan, now.time - scan.time >= Self.silence else { return nil }
        return Observation(.scanSilent, [("Waited", .milliseconds(now.time - scan.time))], packet: scan.packet)
    }

    private mutating func note(_ policy: UInt8, _ address: BDADDR, _ type: AddressType, _ now: Moment) {
        let usesList = policy != Self.oneAddress
        asked = Dial(targets: usesList ? accepted : [DeviceAddress(address, kind: type.kind)], usesList: usesList, sent: now)
        // Without a status, as in a capture of commands alone, it is taken as accepted.
        if dial == nil { dial = asked }
    }

    /// The command by which the controller tries to connect.
    var openDial: Moment? { dial?.sent }

    private static let dialling = [HCICommands.LECreateConnection.opcode, HCICommands.LEExtendedCreateConnection.opcode]

    /// - Returns: an attempt that was refused because another one is open. Core Vol 4, Part E, 7.8.12 and 7.8.66.
    private mutating func answered(_ event: HCIPacket) -> Observation? {
        guard let answer = (try? CommandAnswer(event: event)) ?? nil, Self.dialling.contains(answer.opcode), let asked else { return nil }
        self.asked = nil
        guard let open = dial, open.sent != asked.sent else {
            if answer.status != .success { dial = nil }
            return nil
        }
        guard answer.status != .success else {
            dial = asked
            return nil
        }
        guard let command = PDUCatalog.command(opcode: answer.opcode) else { return nil }
        return Observation(
            .dialRepeated, [("Command", .text(command.name)), ("Open", .number(open.sent.packet))], packet: asked.sent.packet,
            device: asked.targets.first)
    }

    // MARK: Events

    mutating func received(_ event: HCIPacket, at now: Moment) -> Observation? {
        guard event.leSubevent != nil else { return event.eventCode == HCIEvents.CommandStatus.code ? answered(event) : nil }
        switch event.id {
        case HCIEvents.LEAdvertisingReport.id:
            scan = nil
            for report in (try? event.event(as: HCIEvents.LEAdvertisingReport.self))?.reports ?? [] {
                // ADV_IND and ADV_DIRECT_IND; a scan response says nothing. Core Vol 4, Part E, 7.7.65.2.
                guard report.eventType.rawValue != 4 else { continue }
                hear(report.address, report.addressType, isConnectable: report.eventType.rawValue <= 1, now)
            }
        case HCIEvents.LEExtendedAdvertisingReport.id:
            scan = nil
            for report in (try? event.event(as: HCIEvents.LEExtendedAdvertisingReport.self))?.reports ?? [] {
                // Bit 0: connectable; bit 3: a scan response. Core Vol 4, Part E, 7.7.65.13.
                guard report.eventType & 8 == 0 else { continue }
                hear(report.address, report.addressType, isConnectable: report.eventType & 1 == 1, now)
            }
        case HCIEvents.LEConnectionComplete.id, HCIEvents.LEEnhancedConnectionComplete.id, HCIEvents.LEEnhancedConnectionCompleteV2.id:
            dial = nil
        default: break
        }
        return nil
    }

    private mutating func hear(_ address: BDADDR, _ type: AddressType, isConnectable: Bool, _ now: Moment) {
        // An anonymous advertiser has no address.
        guard type.rawValue != 0xFF else { return }
        let value = DeviceAddress(address, kind: type.kind).value
        if heard[value] == nil {
            if heard.count >= Self.most.heard { heard.removeAll() }
            heard[value] = Heard(kind: type.kind, first: now.packet)
        }
        if isConnectable { heard[value]?.connectable += 1 } else { heard[value]?.others += 1 }
    }

    // MARK: The end of a dial

    /// Concludes at the end of the capture that an attempt had no result.
    mutating func finish(_ identities: Identities, at now: Moment) -> Observation? {
        guard let dial, now.time - dial.sent.time >= Self.silence else { return nil }
        return ended(identities, at: now)
    }

    private mutating func ended(_ identities: Identities, at now: Moment) -> Observation? {
        guard let dial else { return nil }
        self.dial = nil
        for target in dial.targets {
            let (sign, packet) = sign(of: target, identities)
            // A host may wait for devices of a list as long as it likes: they are absent most of the time.
            if dial.usesList, [.connectable, .notConnectable, .absent, .unknown].contains(sign) { continue }
            return Observation(
                .dialCancelled,
                [
                    ("Waited", .milliseconds(now.time - dial.sent.time)), ("Sign", .text(sign.rawValue)), ("Heard", .number(packet ?? 0)),
                ], packet: dial.sent.packet, device: target)
        }
        return nil
    }

    private func sign(of target: DeviceAddress, _ identities: Identities) -> (Sign, packet: Int?) {
        if let own = heard[target.value] {
            if own.kind != target.kind { return (.otherType, own.first) }
            return (own.connectable > 0 ? .connectable : .notConnectable, own.first)
        }
        // The controller resolves it, and does not hear it now.
        if resolves, resolving.contains(target) { return (.absent, nil) }
        for (value, heard) in heard.sorted(by: { $0.value.first < $1.value.first })
        where identities.identity(of: DeviceAddress(value: value, kind: heard.kind)) == target {
            return (.isPrivate, heard.first)
        }
        return (heard.isEmpty ? .unknown : .absent, nil)
    }
}
