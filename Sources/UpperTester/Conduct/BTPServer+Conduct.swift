import BBBTP
import BBHost
import BBMisbehaviour
import BBPackets
import BBTiming

extension BTPFrame {
    /// The message as rules for packets see it.
    fileprivate var packet: [UInt8] { [UInt8(truncatingIfNeeded: code), UInt8(truncatingIfNeeded: code >> 8)] + data }

    fileprivate func with(_ packet: [UInt8]) -> BTPFrame {
        BTPFrame(service, opcode, index: index, data: Array(packet.dropFirst(2)))
    }
}

extension UpperTesterQuirks {
    /// Publishes the services of the host itself.
    func publish(in database: GATTDatabase) {
        if protectsParameters { protectParameters(in: database) }
        for _ in 0..<servicesBefore { _ = database.add(ServiceDefinition(0x180A)) }
    }

    /// Replaces the Generic Access service by one with Peripheral Preferred Connection Parameters that need encryption.
    private func protectParameters(in database: GATTDatabase) {
        let name = [UInt8](database.deviceName.utf8)
        if let plain = database.services.first(where: { $0.uuid == .genericAccess }) { database.remove(plain) }
        let parameters = CharacteristicDefinition(
            0x2A04, properties: .read, permissions: [.read, .readEncrypted], value: [0x18, 0, 0x28, 0, 0, 0, 0x90, 0x01])
        database.add(
            ServiceDefinition(
                .genericAccess,
                characteristics: [
                    CharacteristicDefinition(.deviceName, properties: .read, value: name),
                    CharacteristicDefinition(.appearance, properties: .read, value: [0, 0]), parameters,
                ]))
    }
}

extension BTPServer {
    /// Applies the rules to a command; nil if it is not performed.
    func arriving(_ frame: BTPFrame) -> BTPFrame? {
        switch quirks.commandRewrites.arrival(of: frame.packet, .btpCommands) {
        case .carryOut(let packet): return frame.with(packet)
        case .ignore: return nil
        case .pretend:
            deliver(BTPFrame(success: frame, data: emptyResponse(to: frame)))
            return nil
        }
    }

    /// The data of a response of a command that is not performed: the settings as they are, otherwise zero.
    private func emptyResponse(to frame: BTPFrame) -> [UInt8] {
        guard let name = PDUCatalog.declaration(layer: .btpResponses, code: frame.code)?.name else { return [] }
        let settings = DynamicField("Current_Settings", .integer(Int128(gap.settings.rawValue)))
        let isOfSettings = PDUCatalog.declaration(layer: .btpResponses, code: frame.code)?.field(named: settings.name) != nil
        let response = try? DynamicPDU(layer: .btpResponses, name: name, isOfSettings ? [settings] : [])
        return (try? response?.parameters()) ?? []
    }

    /// Sends a message, or what the rules make of it, after the delay of its kind.
    func deliver(_ frame: BTPFrame) {
        let delay = frame.isEvent ? quirks.eventDelay : quirks.answerDelay
        let layer: Layer = frame.isEvent ? .btpEvents : .btpResponses
        guard let replacements = quirks.rewrites.replacements(of: frame.packet, layer) else { return send(frame, after: delay) }
        for replacement in replacements { send(frame.with(replacement.bytes), after: delay + replacement.delay) }
    }

    private func send(_ frame: BTPFrame, after delay: Microseconds) {
        guard delay > .zero else { return output(frame) }
        start { [unowned self] in
            try await host.loop.sleep(for: delay)
            output(frame)
        }
    }

    /// The function that writes messages to a pipe, whole, in pieces or several together.
    func writer(to pipe: any BTPPipe) -> (BTPFrame) -> Void {
        let length = quirks.pieceLength
        let time = quirks.collectionTime
        if length > 0 {
            return { [unowned pipe] frame in
                let octets = frame.bytes
                for start in stride(from: 0, to: octets.count, by: length) { pipe.send(Array(octets[start...].prefix(length))) }
            }
        }
        guard time > .zero else { return { [unowned pipe] in pipe.send($0.bytes) } }
        var collected: [UInt8] = []
        return { [unowned self, unowned pipe] frame in
            let isFirst = collected.isEmpty
            collected += frame.bytes
            guard isFirst else { return }
            start { [unowned self] in
                try await host.loop.sleep(for: time)
                pipe.send(collected)
                collected = []
            }
        }
    }

    /// Starts the procedures of an application that acts by itself; the peer's answers are ignored.
    func startOwnProcedures(on link: Connection) {
        let quirks = quirks
        if quirks.exchangesMTU { start { _ = try? await link.gatt.exchangeMTU() } }
        guard !link.isCentral else { return }
        if quirks.asksForParameters {
            let request = ConnectionParameterRequest(intervalMin: 16, intervalMax: 40, latency: 0, supervisionTimeout: 300)
            start { try? await link.requestParameters(request) }
        }
        if quirks.asksForSecurity { start { _ = try? await link.pair() } }
    }
}
