import BBCases
import BBHCI
import BBPackets
import BBTraffic

/// The sizes of lists, sets and data that a controller has told, against the commands of its host.
/// Core Vol 4, Part E, 7.8.14, 7.8.41, 7.8.57 and 7.8.58.
struct Capacities {
    private struct Data: Hashable {
        var opcode: UInt16
        var set: UInt8
    }

    private var limits: [UInt16: Int] = [:]
    /// Octets of the advertising data of each set, with the fragments before.
    private var octets: [Data: Int] = [:]
    private var sets: Set<UInt8> = []
    /// Entries of the filter accept list and of the resolving list.
    private var accepted: Set<[UInt8]> = []
    private var resolving: Set<[UInt8]> = []
    private var last: (opcode: UInt16, parameters: [UInt8], sent: Moment)?

    private static let most = 256
    private static let (dataLength, numberOfSets) = (
        HCICommands.LEReadMaximumAdvertisingDataLength.opcode, HCICommands.LEReadNumberOfSupportedAdvertisingSets.opcode
    )
    private static let (acceptList, resolvingList) = (
        HCICommands.LEReadFilterAcceptListSize.opcode, HCICommands.LEReadResolvingListSize.opcode
    )
    private static let (advertisingData, scanResponse) = (
        HCICommands.LESetExtendedAdvertisingData.opcode, HCICommands.LESetExtendedScanResponseData.opcode
    )
    private static let setParameters = HCICommands.LESetExtendedAdvertisingParameters.opcode
    private static let reasons: [ErrorCode] = [
        .memoryCapacityExceeded, .invalidHCICommandParameters, .packetTooLong, .limitReached, .connectionRejectedDueToLimitedResources,
    ]
    /// Operations of advertising data that begin anew: first fragment, complete.
    private static let beginning: [UInt8] = [1, 3]
    private static let addressOctets = 7

    mutating func sent(_ command: HCIPacket, at now: Moment) {
        guard let opcode = command.commandOpcode else { return }
        let parameters = Array(command.parameters)
        last = nil
        switch opcode {
        case HCICommands.Reset.opcode: self = Capacities()
        case HCICommands.LEClearFilterAcceptList.opcode: accepted = []
        case HCICommands.LEClearResolvingList.opcode: resolving = []
        case HCICommands.LERemoveDeviceFromFilterAcceptList.opcode: accepted.remove(Array(parameters.prefix(Self.addressOctets)))
        case HCICommands.LERemoveDeviceFromResolvingList.opcode: resolving.remove(Array(parameters.prefix(Self.addressOctets)))
        case HCICommands.LEClearAdvertisingSets.opcode: sets = []
        case HCICommands.LERemoveAdvertisingSet.opcode: if let set = parameters.first { sets.remove(set) }
        case Self.advertisingData, Self.scanResponse:
            guard parameters.count >= 4 else { return }
            let data = Data(opcode: opcode, set: parameters[0])
            if octets.count >= Self.most { octets = [:] }
            octets[data] = (Self.beginning.contains(parameters[1]) ? 0 : octets[data] ?? 0) + Int(parameters[3])
            last = (opcode, parameters, now)
        case Self.setParameters, HCICommands.LEAddDeviceToFilterAcceptList.opcode, HCICommands.LEAddDeviceToResolvingList.opcode:
            last = (opcode, parameters, now)
        default: break
        }
    }

    /// - Returns: the limit that a refused command exceeds.
    mutating func received(_ event: HCIPacket) -> Observation? {
        guard event.eventCode == HCIEvents.CommandComplete.code, let answer = (try? CommandAnswer(event: event)) ?? nil else { return nil }
        if [Self.dataLength, Self.numberOfSets, Self.acceptList, Self.resolvingList].contains(answer.opcode) {
            guard answer.status == .success, answer.returns.count >= 2 else { return nil }
            let isWide = answer.opcode == Self.dataLength && answer.returns.count >= 3
            limits[answer.opcode] = Int(answer.returns[1]) | (isWide ? Int(answer.returns[2]) << 8 : 0)
            return nil
        }
        guard let (opcode, parameters, sent) = last, opcode == answer.opcode, let first = parameters.first else { return nil }
        last = nil
        let address = Array(parameters.prefix(Self.addressOctets))
        guard answer.status == .success else {
            return Self.reasons.contains(answer.status) ? exceeded(opcode, first, address, sent) : nil
        }
        switch opcode {
        case Self.setParameters: sets.insert(first)
        case HCICommands.LEAddDeviceToFilterAcceptList.opcode: if accepted.count < Self.most { accepted.insert(address) }
        case HCICommands.LEAddDeviceToResolvingList.opcode: if resolving.count < Self.most { resolving.insert(address) }
        default: break
        }
        return nil
    }

    private func exceeded(_ opcode: UInt16, _ set: UInt8, _ address: [UInt8], _ sent: Moment) -> Observation? {
        let (field, got, limit): (String, Int, UInt16)
        switch opcode {
        case Self.setParameters: (field, got, limit) = ("number of advertising sets", sets.union([set]).count, Self.numberOfSets)
        case HCICommands.LEAddDeviceToFilterAcceptList.opcode:
            (field, got, limit) = ("number of devices", accepted.union([address]).count, Self.acceptList)
        case HCICommands.LEAddDeviceToResolvingList.opcode:
            (field, got, limit) = ("number of devices", resolving.union([address]).count, Self.resolvingList)
        default: (field, got, limit) = ("number of octets of data", octets[Data(opcode: opcode, set: set)] ?? 0, Self.dataLength)
        }
        guard let most = limits[limit], got > most, let command = PDUCatalog.command(opcode: opcode),
            let reader = PDUCatalog.command(opcode: limit)
        else { return nil }
        return Observation(
            .parameterInvalid,
            [
                ("Command", .text(command.name)), ("Field", .text(field)), ("Expected", .text("at most \(most) (\(reader.name))")),
                ("Got", .text("\(got)")),
            ], packet: sent.packet)
    }
}
