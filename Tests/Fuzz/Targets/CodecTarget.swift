import BBPackets

extension FuzzTarget {
    private static let layers: [Layer] = [.hciCommands, .hciEvents, .llControl, .att, .smp, .l2capSignaling, .hciData, .lmp]

    /// Any octets as PDUs of any layer: decoding by name and encoding gives the same octets, as do generated structs.
    static let codec = FuzzTarget(
        name: "codec", layer: { layers[$0.kind << 1 | $0.end] },
        seeds: { Seeds.declared { layers[$0.kind << 1 | $0.end] } },
        run: { input in
            for frame in Frames(input).list { try reread(frame.packet, as: layers[frame.action.kind << 1 | frame.action.end]) }
        })

    private static func reread(_ bytes: [UInt8], as layer: Layer) throws {
        let pdu = DynamicPDU(layer: layer, bytes: bytes)
        _ = pdu.description
        try promise(try pdu.bytes() == bytes, "\(pdu) of \(Hex.octets(bytes)) is written as \(Hex.octets((try? pdu.bytes()) ?? []))")
        guard let declaration = pdu.declaration, let type = PDUCatalog.type(of: declaration), let parameters = try? pdu.parameters() else {
            return
        }
        guard let once = recoded(type, parameters) else { return }
        try promise(
            recoded(type, once) == once,
            "\(declaration.name) reads \(Hex.octets(parameters)), writes \(Hex.octets(once)), and differs again")
    }

    private static func recoded<Struct: PDU>(_ type: Struct.Type, _ bytes: [UInt8]) -> [UInt8]? {
        (try? Struct(parameters: bytes))?.parameters
    }
}
