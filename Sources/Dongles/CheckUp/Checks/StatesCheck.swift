import BBHCI
import BBPackets
import BBTiming

/// An activity that a controller can start without a peer.
enum Role: CaseIterable {
    case advertising
    case connectableAdvertising
    case scanning
    case initiating
}

extension CheckUp {
    /// Combinations of two states in LE_Read_Supported_States, with their bit and description. Core Vol 4, Part E, 7.8.27.
    private static let pairs: [(first: Role, second: Role, bit: UInt64, text: String)] = [
        (.advertising, .scanning, 8, "non-connectable advertising and passive scanning"),
        (.connectableAdvertising, .scanning, 10, "connectable advertising and passive scanning"),
        (.advertising, .initiating, 16, "non-connectable advertising and initiating"),
        (.scanning, .initiating, 22, "passive scanning and initiating"),
    ]

    /// Enters the reported combinations of states with legacy commands.
    func checkStates() async throws {
        guard let states = try await link.returns(HCICommands.LEReadSupportedStates())?.leStates else { return }
        let claimed = Self.pairs.filter { states >> $0.bit & 1 == 1 }
        var refused: [String] = []
        for pair in claimed {
            _ = try await link.ask(HCICommands.Reset())
            guard try await enter(pair.first) == .success else { continue }
            if let status = try await enter(pair.second), status != .success { refused.append("\(pair.text) (\(status))") }
            if link.has("legacy-scan-unanswered") { break }
        }
        _ = try await link.ask(HCICommands.Reset())
        guard let first = refused.first else { return }
        if claimed.count > 1, refused.count == claimed.count {
            link.note("one-le-role", "its supported states name \(claimed.count) pairs of roles, and each second role is refused: \(first)")
        } else {
            link.note("le-states-lie", "its supported states include what it refuses: \(refused.joined(separator: ", "))")
        }
    }

    /// Status of the command that starts the activity; nil if there is no answer.
    func enter(_ role: Role) async throws -> ErrorCode? {
        switch role {
        case .advertising, .connectableAdvertising:
            let type: LegacyAdvertisingType = role == .advertising ? .advNonconnInd : .advInd
            let parameters = HCICommands.LESetAdvertisingParameters(
                advertisingIntervalMin: 0xA0, advertisingIntervalMax: 0xA0, advertisingType: type, advertisingChannelMap: 7)
            let reply = try await link.ask(parameters)
            guard reply.isSuccess else { return reply.status }
            return try await link.ask(HCICommands.LESetAdvertisingEnable(advertisingEnable: 1)).status
        case .scanning:
            let parameters = HCICommands.LESetScanParameters(leScanInterval: 0x60, leScanWindow: 0x30)
            let reply = try await link.ask(parameters)
            guard reply.isSuccess else { return reply.status }
            let enabled = try await link.ask(HCICommands.LESetScanEnable(leScanEnable: 1))
            if enabled.answer == nil { link.note("legacy-scan-unanswered", "LE_Set_Scan_Enable is not answered") }
            return enabled.status
        case .initiating: return try await link.ask(Self.create(toward: Self.nobody, interval: 0x60)).status
        }
    }

    /// An unused address.
    static let nobody = DeviceAddress(value: 0xC0DE_0000_0001, kind: .random)

    static func create(toward peer: DeviceAddress, interval: UInt16) -> HCICommands.LECreateConnection {
        HCICommands.LECreateConnection(
            leScanInterval: interval, leScanWindow: interval / 2, peerAddressType: AddressType(rawValue: peer.kind.rawValue),
            peerAddress: peer.bdADDR, connectionIntervalMin: 24, connectionIntervalMax: 24, supervisionTimeout: 200)
    }
}
