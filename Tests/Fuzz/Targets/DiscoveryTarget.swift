import BBPackets

@testable import BBHost

extension FuzzTarget {
    /// SDP without a channel: requests to a server, responses to a client with a pending request, and data elements, which are re-encoded
    /// as they were. Kinds: 0 a complete PDU, 1 a PDU with a correct length, 2 a response to the client, 3 a data element.
    static let serviceDiscovery = FuzzTarget(
        name: "sdp", layer: { _ in nil },
        seeds: {
            let requests = [
                "02 0001 0008 3503 191101 0001 00", "04 0005 000c 00010001 0100 3503 090001 00",
                "06 0008 000d 3503 191101 0100 3503 090001 00",
                "04 0007 000e 00010002 0007 3505 0a0000ffff 00", "06 0008 000f 3503 190100 0030 3505 0a0000ffff 00",
                "02 0003 000a 3505 1a00001101 0002 00", "02 0001 0016 3511 1c0000110100001000800000805f9b34fb 0001 00",
            ]
            let responses = [
                "05 0001 0005 0002 3500 00", "07 0001 0007 0004 35023500 00", "05 0001 0005 0001 35 01aa|05 0002 0004 0001 00 00",
                "03 0001 0009 0001 0001 00010001 00", "01 0001 0002 0003", "07 0001 0010 000d 350b 3509 090001 35 04 1a00001101 00",
            ]
            let elements = [
                "35 05 19 0100 28 00", "3d 03 19 0003", "0c 00000000000000000000000000000001", "26 0003 616263", "35 04 35 02 35 00",
            ]
            return Seeds.written(requests, .init(end: 0, kind: 0)) + Seeds.written(requests, .init(end: 0, kind: 1))
                + Seeds.written(responses, .init(end: 0, kind: 2)) + Seeds.written(elements, .init(end: 0, kind: 3))
        },
        run: { input in
            var table = DiscoveryTable(mtu: 48 + Int(input.first ?? 0) * 4)
            for frame in Frames(input).list { try table.take(frame) }
        })
}

private struct DiscoveryTable {
    private var server = SDPServer()
    private var client = SDPClient(maximumOctets: 64)
    private let mtu: Int

    init(mtu: Int) {
        self.mtu = mtu
        server.add(.attributeService(from: 1, to: 9))
        server.add(.serialPort(channel: 1))
        server.add(.audio(isSink: true))
        server.add(.handsFree(channel: 7, features: 0x3F))
    }

    mutating func take(_ frame: Frames.Frame) throws {
        switch frame.action.kind {
        case 0: try ask(frame.packet)
        case 1:
            let rest = frame.packet.dropFirst(SDPPDU.headerOctets)
            try ask([UInt8](frame.packet.prefix(3)) + [UInt8(rest.count >> 8 & 0xFF), UInt8(rest.count & 0xFF)] + rest)
        case 2: try answer(frame.packet)
        default: try element(frame.packet)
        }
    }

    private func ask(_ request: [UInt8]) throws {
        guard let octets = server.receive(request, mtu: mtu) else {
            return try promise(SDP.Message.isResponse(request.first ?? 0), "a request without an answer")
        }
        try promise(octets.count <= mtu, "\(octets.count) octets, the MTU is \(mtu)")
        let response = try SDPPDU(octets)
        try promise(response.transaction == SDPPDU.transaction(of: request), "the answer of another transaction")
        try promise(SDP.Message.isResponse(octets.first ?? 0), "a request for a request")
    }

    /// Partial responses end.
    private mutating func answer(_ response: [UInt8]) throws {
        if !client.isBusy { _ = client.start(.attributes(0x0001_0000, [.all]), at: 0) }
        let isBusy = client.isBusy
        let actions = client.receive(response, at: 0)
        try promise(isBusy && actions.count <= 1, "\(actions.count) actions for a response")
        try promise(client.isBusy == (client.deadline != nil), "a deadline that nobody waits for")
    }

    private func element(_ octets: [UInt8]) throws {
        var reader = ByteReader(octets.span.bytes)
        guard let element = try? SDPDataElement(from: &reader) else { return }
        let written = element.octets
        var again = ByteReader(written.span.bytes)
        try promise(try SDPDataElement(from: &again) == element && again.remaining == 0, "what was read is not what was written")
        _ = SDPRecord(list: element)?.psm
    }
}
