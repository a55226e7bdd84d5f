import BBCases
import BBPackets

/// A case without Own_Address_Type uses the address in `$subject.address`, whether it is public or random.
extension CaseRun {
    private static let ownAddressType = "Own_Address_Type"

    /// Returns the fields of a command with the type of the device's own address if the case omits it.
    func withOwnAddress(_ fields: CaseRecord, of command: String, at end: Endpoint) -> CaseRecord {
        guard leavesOwnAddress(fields, of: command), let address = end.address, address.kind == .random else { return fields }
        var fields = fields
        fields[Self.ownAddressType] = .number(Int(OwnAddressType.randomDevice.rawValue))
        return fields
    }

    private func leavesOwnAddress(_ fields: CaseRecord, of command: String) -> Bool {
        guard fields[Self.ownAddressType] == nil else { return false }
        let declaration = PDUCatalog.declaration(layer: .hciCommands, name: command)
        return declaration.map { $0.fields.flat.contains { $0.name == Self.ownAddressType } } ?? false
    }

    /// Sets the random address again after a reset, and for a new advertising set, which has its own address.
    /// Core Vol 4, Part E, 7.3.2 and 7.8.52.
    ///
    /// - Parameter fields: the fields in the case.
    func restoreOwnAddress(after command: String, _ fields: CaseRecord, _ reply: Endpoint.Reply, at end: Endpoint) async throws {
        guard let address = end.address, address.kind == .random, reply.parameters.first == ErrorCode.success.rawValue else { return }
        switch PDUCodec.opcode(of: command) {
        case HCICommands.Reset.opcode: _ = try await end.ask(HCICommands.LESetRandomAddress(randomAddress: address.bdADDR))
        case HCICommands.LESetExtendedAdvertisingParameters.opcode, HCICommands.LESetExtendedAdvertisingParametersV2.opcode:
            guard leavesOwnAddress(fields, of: command) else { return }
            let set = UInt8(truncatingIfNeeded: fields["Advertising_Handle"]?.asNumber ?? 0)
            _ = try await end.ask(HCICommands.LESetAdvertisingSetRandomAddress(advertisingHandle: set, randomAddress: address.bdADDR))
        default: return
        }
    }
}
