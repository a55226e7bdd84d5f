import BBHCI
import BBPackets
import BBTiming

extension CheckUp {
    /// Reads identity and version numbers and evaluates them.
    func checkIdentity() async throws {
        if let version = try await link.returns(HCICommands.ReadLocalVersionInformation()) {
            (identity.hciVersion, identity.hciSubversion) = (version.hciVersion, version.hciSubversion)
            (identity.lmpVersion, identity.lmpSubversion, identity.company) = (
                version.lmpVersion, version.lmpSubversion, version.companyIdentifier
            )
        }
        if let answer = try await link.returns(HCICommands.ReadLocalSupportedFeatures()) { identity.lmpFeatures = answer.lmpFeatures }
        let commands = try await link.ask(HCICommands.ReadLocalSupportedCommands())
        if commands.isSuccess,
            let answer = commands.answer.flatMap({ try? HCICommands.ReadLocalSupportedCommands.Return(prefixOf: $0.returns) })
        {
            identity.supportedCommands = answer.supportedCommands
        } else if let status = commands.status {
            link.note("no-supported-commands", "HCI_Read_Local_Supported_Commands is answered by \(status)")
        }
        claims = SupportedCommands(identity.supportedCommands)
        try await readBuffers()
        if let answer = try await link.returns(HCICommands.ReadBDADDR()) { identity.address = DeviceAddress(answer.bdADDR, kind: .public) }
        if identity.hasLE, let answer = try await link.returns(HCICommands.LEReadLocalSupportedFeatures()) {
            identity.leFeatures = answer.leFeatures.rawValue
        }
        report.identity = identity
        judgeNumbers()
        judgeAddress()
    }

    private func readBuffers() async throws {
        if let answer = try await link.returns(HCICommands.ReadBufferSize()) {
            (identity.aclLength, identity.aclCount) = (answer.aclDataPacketLength, answer.totalNumACLDataPackets)
            (identity.scoLength, identity.scoCount) = (answer.synchronousDataPacketLength, answer.totalNumSynchronousDataPackets)
            let hasVoice =
                identity.hasBREDR && HCICommands.ReadLocalSupportedFeatures.Return(lmpFeatures: identity.lmpFeatures).supportsVoice
            if hasVoice, identity.scoLength == 0 || identity.scoCount == 0 {
                let text = "\(identity.scoCount) buffers of \(identity.scoLength) octets for voice"
                link.note("absurd-sco-buffers", identity.scoLength == 0 && identity.scoCount == 0 ? .note : .fault, text)
            }
        }
        if identity.hasLE, let answer = try await link.returns(HCICommands.LEReadBufferSize()) {
            (identity.leLength, identity.leCount) = (answer.leACLDataPacketLength, answer.totalNumLEACLDataPackets)
        }
        figure("buffers", "ACL \(identity.aclCount) x \(identity.aclLength), LE \(identity.leCount) x \(identity.leLength)")
    }

    private func judgeNumbers() {
        var numbers = DongleNumbers(identity)
        if let usb = plan.usb { (numbers.vendor, numbers.product, numbers.release) = (usb.vendor, usb.product, usb.release) }
        report.numbers = numbers
        report.known = plan.table.find(numbers).map(\.id)
        if let reason = CSRClone.reason(numbers) { link.note("csr-clone", "no genuine CSR dongle: \(reason)") }
        if RealtekROMVersions.runs(numbers) { link.note("deaf-rom", "its LMP subversion is that of the ROM: its firmware is not loaded") }
    }

    private func judgeAddress() {
        guard let address = identity.address else { return }
        if address.value == 0 {
            return link.note("zero-address", identity.hasBREDR ? .fault : .note, "it has no public address")
        }
        guard let origin = plan.table.origin(ofShared: address) else { return }
        link.note(origin.hasPrefix("default") ? "default-address" : "shared-address", "\(address): \(origin)")
    }
}

extension HCICommands.ReadLocalSupportedFeatures.Return {
    /// True if SCO or eSCO links are supported. Core Vol 2, Part C, 3.3, bits 11 and 31.
    fileprivate var supportsVoice: Bool { lmpFeatures >> 11 & 1 == 1 || lmpFeatures >> 31 & 1 == 1 }
}
