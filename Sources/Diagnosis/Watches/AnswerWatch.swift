import BBCases
import BBPackets
import BBTraffic

/// Compares the answers of a server with the requests: errors, lists and parts of long values, and the queue of prepared writes.
/// Core Vol 3, Part F, 3.4.
struct AnswerWatch {
    /// A part of a long value.
    private struct Part {
        var handle: UInt16
        var offset: Int
        var octets: ArraySlice<UInt8>
    }

    /// The requests of one client, and the queue that its server keeps for it.
    private struct Client {
        /// The last request, opcode first.
        var request: ArraySlice<UInt8> = []
        /// The part of a value that was read last.
        var part: Part?
        /// An execution was answered, and nothing was prepared since.
        var isEmptied = false
        /// The refusal for lack of room in the queue, after which the client has not sent ATT_EXECUTE_WRITE_REQ.
        var full: Moment?
        var isReported = false
        /// Requests that were answered without an error.
        var answered: Set<UInt8> = []
    }

    private var clients: [PacketSender: Client] = [:]

    /// PDUs that ask for nothing and answer nothing.
    private static let unasked = [ATT.HandleValueNtf.opcode, ATT.WriteCmd.opcode, ATT.HandleValueInd.opcode, ATT.HandleValueCfm.opcode]
    private static let executeWrite = ATT.ExecuteWriteReq.opcode

    /// - Parameter isAlone: true if the server has no other client that the capture shows.
    mutating func note(_ pdu: DecodedLayer, from sender: PacketSender, isAlone: Bool, at now: Moment) -> Observation? {
        let octets = pdu.bytes[pdu.range]
        guard let opcode = octets.first, !Self.unasked.contains(opcode), let id = pdu.id else { return nil }
        if id.isRequest {
            clients[sender, default: Client()].request = octets
            if opcode == Self.executeWrite { clients[sender]?.full = nil }
            return nil
        }
        guard var client = clients[sender.other] else { return nil }
        defer { clients[sender.other] = client }
        if opcode != ATT.ErrorRsp.opcode, let request = client.request.first { client.answered.insert(request) }
        switch opcode {
        case ATT.ErrorRsp.opcode: return Self.error(octets, &client, isAlone, now)
        case ATT.ReadRsp.opcode, ATT.ReadBlobRsp.opcode: return Self.read(octets, &client)
        case ATT.FindInformationRsp.opcode, ATT.FindByTypeValueRsp.opcode, ATT.ReadByTypeRsp.opcode, ATT.ReadByGroupTypeRsp.opcode:
            return Self.problem(inList: octets, client.request).map { Self.invalid(pdu.name, $0) }
        case ATT.PrepareWriteRsp.opcode:
            (client.isEmptied, client.full) = (false, nil)
            guard client.request.first == ATT.PrepareWriteReq.opcode, !octets.dropFirst().elementsEqual(client.request.dropFirst()) else {
                return nil
            }
            return Self.invalid(pdu.name, "does not repeat the handle, offset and value of the request")
        case ATT.ExecuteWriteRsp.opcode: client.isEmptied = true
        default: break
        }
        return nil
    }

    private static func invalid(_ name: String, _ problem: String) -> Observation {
        Observation(.answerInvalid, [("PDU", .text(name)), ("Problem", .text(problem))])
    }

    // MARK: Errors

    private static func error(_ octets: ArraySlice<UInt8>, _ client: inout Client, _ isAlone: Bool, _ now: Moment) -> Observation? {
        guard octets.count >= 5 else { return nil }
        let start = octets.startIndex
        let (request, code) = (octets[start + 1], octets[start + 4])
        if code == 0 { return invalid(ATT.ErrorRsp.name, "has the error code 0x00, which means no error") }
        if request == executeWrite { client.isEmptied = true }
        if code == ATTErrorCode.requestNotSupported.rawValue, client.answered.contains(request),
            let name = PDUCatalog.declaration(layer: .att, code: Int(request))?.name
        {
            return Observation(
                .refusedThoughSupported, [("Request", .text(name)), ("Handle", .text(Hex.number(number(octets, at: 2))))])
        }
        guard request == ATT.PrepareWriteReq.opcode, code == ATTErrorCode.prepareQueueFull.rawValue, !client.isReported else { return nil }
        let handle = [("Handle", CaseValue.text(Hex.number(number(octets, at: 2))))]
        if client.isEmptied, isAlone {
            client.isReported = true
            return Observation(.queueKept, handle)
        }
        if let full = client.full {
            client.isReported = true
            return Observation(.queueLeft, handle, packet: full.packet)
        }
        client.full = now
        return nil
    }

    // MARK: Long values

    /// Octets that are too alike may be repeated in the value itself.
    private static let leastVariety = 5

    private static func read(_ octets: ArraySlice<UInt8>, _ client: inout Client) -> Observation? {
        let (request, value) = (client.request, octets.dropFirst())
        let isPart = request.first == ATT.ReadBlobReq.opcode
        guard isPart || request.first == ATT.ReadReq.opcode, request.count >= (isPart ? 5 : 3) else { return nil }
        let part = Part(handle: number(request, at: 1), offset: isPart ? Int(number(request, at: 3)) : 0, octets: value)
        defer { client.part = part }
        guard let before = client.part, before.handle == part.handle, part.offset > before.offset, Set(value).count >= leastVariety,
            value.elementsEqual(before.octets)
        else { return nil }
        return Observation(.offsetIgnored, [("Handle", .text(Hex.number(part.handle))), ("Offset", .number(part.offset))])
    }

    // MARK: Lists

    /// The reason why a list answers no request; nil if it does.
    private static func problem(inList octets: ArraySlice<UInt8>, _ request: ArraySlice<UInt8>) -> String? {
        guard let layout = Layout(octets) else { return "has no list" }
        let list = octets.dropFirst(layout.header)
        guard layout.entry >= layout.least else { return "has entries of \(layout.entry) octets, which hold no handle and value" }
        guard !list.isEmpty else { return "has an empty list" }
        guard list.count.isMultiple(of: layout.entry) else {
            return "has a list of \(list.count) octets, not a multiple of its entries of \(layout.entry) octets"
        }
        guard request.count >= 5 else { return nil }
        var (least, last) = (number(request, at: 1), number(request, at: 3))
        if least > last { last = .max }
        for index in 0..<list.count / layout.entry {
            let handle = number(list, at: index * layout.entry)
            if handle < least || handle > last {
                let order = index == 0 ? "outside the range of the request" : "out of order or range"
                return
                    "has the handle \(Hex.number(handle)), which is \(order), \(Hex.number(number(request, at: 1))) to \(Hex.number(last))"
            }
            if let problem = layout.problem(list.dropFirst(index * layout.entry), handle, request) { return problem }
            least = handle == .max ? handle : handle + 1
        }
        return nil
    }

    /// The layout of the entries of a list.
    private struct Layout {
        /// The octets before the list.
        var header = 2
        var entry: Int
        var least: Int

        private var opcode: UInt8

        private static let characteristic: [UInt8] = [0x03, 0x28]

        /// A group that ends before it begins, or a characteristic whose value stands before its declaration.
        /// Core Vol 3, Part F, 3.4.4.10; Part G, 3.3.
        func problem(_ rest: ArraySlice<UInt8>, _ handle: UInt16, _ request: ArraySlice<UInt8>) -> String? {
            switch opcode {
            case ATT.ReadByGroupTypeRsp.opcode, ATT.FindByTypeValueRsp.opcode:
                let end = AnswerWatch.number(rest, at: 2)
                return end < handle ? "has a group that begins at \(Hex.number(handle)) and ends at \(Hex.number(end))" : nil
            case ATT.ReadByTypeRsp.opcode where entry >= 7 && request.dropFirst(5).elementsEqual(Self.characteristic):
                let value = AnswerWatch.number(rest, at: 3)
                guard value <= handle else { return nil }
                return "declares a characteristic at \(Hex.number(handle)) whose value stands at \(Hex.number(value)), before it"
            default: return nil
            }
        }

        init?(_ octets: ArraySlice<UInt8>) {
            guard octets.count >= 2, let opcode = octets.first else { return nil }
            self.opcode = opcode
            let second = Int(octets[octets.startIndex + 1])
            switch opcode {
            case ATT.FindInformationRsp.opcode: (entry, least) = (second == 1 ? 4 : 18, 4)
            case ATT.FindByTypeValueRsp.opcode: (header, entry, least) = (1, 4, 4)
            case ATT.ReadByTypeRsp.opcode: (entry, least) = (second, 2)
            default: (entry, least) = (second, 4)
            }
        }
    }

    fileprivate static func number(_ octets: ArraySlice<UInt8>, at offset: Int) -> UInt16 {
        let start = octets.startIndex + offset
        return UInt16(octets[start]) | UInt16(octets[start + 1]) << 8
    }
}
