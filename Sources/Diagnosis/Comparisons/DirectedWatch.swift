import BBCases
import BBPackets
import BBTraffic

/// Directed advertising at a private address of a device that does not resolve addresses. Core Vol 3, Part C, 10.7 and 12.4.
struct DirectedWatch {
    private var unresolving: Set<DeviceAddress> = []
    /// The devices of the resolving list with a key, at which the controller directs private addresses.
    private var listed: Set<DeviceAddress> = []
    private var directed: (device: DeviceAddress, at: Moment)?

    private static let most = 256
    private static let parameters: Set<PDUID> = [
        HCICommands.LESetAdvertisingParameters.id, HCICommands.LESetExtendedAdvertisingParameters.id,
        HCICommands.LESetExtendedAdvertisingParametersV2.id,
    ]
    private static let ends: Set<PDUID> = [
        HCIEvents.LEConnectionComplete.id, HCIEvents.LEEnhancedConnectionComplete.id, HCIEvents.LEEnhancedConnectionCompleteV2.id,
        HCIEvents.LEAdvertisingSetTerminated.id,
    ]
    /// Advertising_Type: directed with a high and with a low duty cycle. Core Vol 4, Part E, 7.8.5.
    private static let directedTypes = [1, 4]
    /// Advertising_Event_Properties: directed. Core Vol 4, Part E, 7.8.53.
    private static let directedProperty = 0x04
    /// Own_Address_Type: a private address from the resolving list.
    private static let resolvable = [2, 3]
    private static let advertisingTimeout = 0x3C

    /// Notes whether a device has said that it resolves private addresses.
    mutating func note(_ device: DeviceAddress, resolves: Bool) {
        if resolves {
            unresolving.remove(device)
        } else if unresolving.count < Self.most {
            unresolving.insert(device)
        }
    }

    mutating func note(_ pdu: DecodedLayer, at now: Moment) -> [Observation] {
        guard let id = pdu.id else { return [] }
        switch id {
        case HCICommands.LEAddDeviceToResolvingList.id:
            guard let device = Self.device(pdu, "Peer_Identity_Address"), listed.count < Self.most else { return [] }
            if pdu.fields.named("Peer_IRK")?.octets?.contains(where: { $0 != 0 }) == true || pdu.fields.named("Peer_IRK")?.integer ?? 0 != 0
            {
                listed.insert(device)
            }
        case HCICommands.LEClearResolvingList.id, HCICommands.Reset.id: (listed, directed) = ([], nil)
        case HCICommands.LERemoveDeviceFromResolvingList.id:
            if let device = Self.device(pdu, "Peer_Identity_Address") { listed.remove(device) }
        case let id where Self.parameters.contains(id): directed = target(pdu).map { ($0, now) }
        case let id where Self.ends.contains(id):
            guard let (device, at) = directed, pdu.fields.named("Status")?.int == Self.advertisingTimeout else { return [] }
            return [Observation(.directedUnresolvable, [("Ended", .number(now.packet))], packet: at.packet, device: device)]
        default: break
        }
        return []
    }

    private func target(_ pdu: DecodedLayer) -> DeviceAddress? {
        let isDirected =
            pdu.fields.named("Advertising_Type")?.int.map { Self.directedTypes.contains($0) }
            ?? ((pdu.fields.named("Advertising_Event_Properties")?.int ?? 0) & Self.directedProperty != 0)
        guard isDirected, let own = pdu.fields.named("Own_Address_Type")?.int, Self.resolvable.contains(own),
            let device = Self.device(pdu, "Peer_Address"), unresolving.contains(device), listed.contains(device)
        else { return nil }
        return device
    }

    private static func device(_ pdu: DecodedLayer, _ name: String) -> DeviceAddress? {
        guard let field = pdu.fields.named(name), let value = field.integer else { return nil }
        return DeviceAddress(value: UInt64(truncatingIfNeeded: value), kind: field.addressKind ?? .public)
    }
}

/// The reads of Central Address Resolution on one link. Core Vol 3, Part C, 12.4.
struct ResolutionReads {
    private var asked: PacketSender?

    private static let centralAddressResolution: BluetoothUUID = 0x2AA6

    /// - Returns: the end that answers, and whether it resolves addresses.
    mutating func note(_ pdu: DecodedLayer, from sender: PacketSender) -> (server: PacketSender, resolves: Bool)? {
        if let request = pdu.content(as: ATT.ReadByTypeReq.self) {
            asked = request.attributeType == Self.centralAddressResolution ? sender : nil
        } else if let asked, asked != sender {
            if let response = pdu.content(as: ATT.ReadByTypeRsp.self) {
                self.asked = nil
                return response.attributeDataList.first?.attributeValue.first.map { (sender, $0 == 1) }
            }
            if let error = pdu.content(as: ATT.ErrorRsp.self) {
                self.asked = nil
                return error.errorCode == .attributeNotFound ? (sender, false) : nil
            }
        }
        return nil
    }
}
