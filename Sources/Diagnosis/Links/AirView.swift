import BBCapture
import BBCases
import BBPackets
import BBTraffic

/// Follows the LE links on the air.
struct AirView {
    /// One link as the sniffer receives it.
    fileprivate struct Heard {
        var link: Int
        var fromCentral = 0
        var fromPeripheral = 0
        var fromUnknown = 0
        var lastCentral: Int64?
        var lastPeripheral: Int64 = 0
        var sequence = SequenceNumbers()
    }

    private var links: [UInt32: Heard] = [:]

    private static let most = 1_024
    /// Longest time between a central's packet and the reply: the longest packet on LE 1M and T_IFS, in microseconds.
    fileprivate static let longestExchange: Int64 = 3_000

    mutating func receive(_ frame: AirFrame, _ decoded: DecodedPacket, _ book: inout LinkBook) {
        guard !frame.isBroken, let pdu = frame.pdu else { return }
        switch pdu.kind {
        case .advertising, .auxiliary: if let pdu = decoded.pdu, pdu.layer == .advertising { advertising(pdu, &book) }
        case .data: data(frame, pdu, decoded, &book)
        case .isochronous: break
        }
    }

    // MARK: Advertising

    private mutating func advertising(_ pdu: DecodedLayer, _ book: inout LinkBook) {
        let address = pdu.fields.named("AdvA")
        if pdu.name == "CONNECT_IND" || pdu.name == "AUX_CONNECT_REQ" {
            connect(pdu, address, &book)
        } else {
            book.receive(pdu, from: nil, link: nil)
            guard let value = address?.integer, !links.isEmpty else { return }
            for heard in links.values where book[heard.link]?.peer?.value == UInt64(truncatingIfNeeded: value) {
                book[heard.link]?.lastAdvertised = book.time
            }
        }
    }

    private mutating func connect(_ pdu: DecodedLayer, _ address: DecodedField?, _ book: inout LinkBook) {
        let data = pdu.fields.named("LLData")?.children ?? []
        guard let accessAddress = data.named("AA")?.int else { return book.receive(pdu, from: .central, link: nil) }
        let key = UInt32(truncatingIfNeeded: accessAddress)
        if let before = links[key] { end(before, &book) }
        if links.count >= Self.most { links.removeAll() }
        let peer = address?.integer.map {
            DeviceAddress(value: UInt64(truncatingIfNeeded: $0), kind: address?.addressKind ?? .public)
        }
        let link = book.openLink(.le, peer: peer, isComplete: true, isOnAir: true)
        var heard = Heard(link: link)
        heard.lastPeripheral = book.time
        links[key] = heard
        let (packet, time) = (book.packet, book.time)
        book[link]?.report.set(
            .init(
                packet: packet, time: time, interval: data.named("Interval")?.int ?? 0, latency: data.named("Latency")?.int ?? 0,
                timeout: data.named("Timeout")?.int ?? 0))
        book.receive(pdu, from: .central, link: link)
    }

    // MARK: Data

    private mutating func data(_ frame: AirFrame, _ pdu: AirFrame.PDU, _ decoded: DecodedPacket, _ book: inout LinkBook) {
        let key = pdu.accessAddress
        if links[key] == nil {
            if links.count >= Self.most { links.removeAll() }
            links[key] = Heard(link: book.openLink(.le, peer: nil, isComplete: false, isOnAir: true))
        }
        guard var heard = links[key] else { return }
        let payload = frame.bytes[pdu.payload]
        let sender = heard.note(frame.channel, &book)
        if pdu.length != payload.count, !pdu.hasToneExtension, frame.flags.contains(.crcValid), !frame.flags.contains(.decrypted) {
            book.conclude(
                .lengthMismatch, [("Length", .number(pdu.length)), ("Octets", .number(payload.count))],
                packet: book.packet, link: heard.link)
        }
        if decoded.isEncrypted { book[heard.link]?.forgetRequests() }
        if frame.flags.contains(.micChecked), !frame.flags.contains(.micValid), !payload.isEmpty {
            book.conclude(.micInvalid, packet: book.packet, link: heard.link)
        }
        let isRepeated = heard.sequence.isRepeated(pdu.sequenceNumber, payload, sender)
        links[key] = heard
        if !isRepeated, !payload.isEmpty { book.receive(decoded.layers, from: sender, link: heard.link) }
        if book[heard.link]?.isClosed == true {
            book.close(heard.link)
            links[key] = nil
        }
    }

    /// Concludes which links are silent or never started.
    mutating func check(_ book: inout LinkBook, isEnd: Bool) {
        for (key, heard) in links {
            guard let state = book[heard.link] else {
                links[key] = nil
                continue
            }
            let silence = book.time - heard.lastPeripheral
            let timeout = max(state.timeout, 6 * Int64(state.report.parameters.last?.interval ?? 0) * 1_250)
            if isEnd || (timeout > 0 && silence > 2 * timeout && book.time - (heard.lastCentral ?? 0) > timeout) {
                end(heard, &book)
                links[key] = nil
            }
        }
    }

    /// The end of a link without LL_TERMINATE_IND.
    private func end(_ heard: Heard, _ book: inout LinkBook) {
        guard let state = book[heard.link] else { return }
        if heard.fromPeripheral == 0, heard.fromUnknown == 0, state.report.isComplete, !book.hasController {
            // A capture of a run leaves empty packets out.
            book.conclude(
                .linkNeverStarted,
                [
                    ("Waited", Conclusions.milliseconds(book.time - state.report.opened.time)),
                    ("From_Central", .number(heard.fromCentral)),
                ], packet: state.report.opened.packet, link: heard.link)
        } else if let last = heard.lastCentral, state.timeout > 0, last - heard.lastPeripheral > state.timeout {
            book.conclude(
                .linkLost,
                [
                    ("Silence", Conclusions.milliseconds(last - heard.lastPeripheral)),
                    ("Timeout", Conclusions.milliseconds(state.timeout)), ("Limit", state.limit),
                    ("Advertised", .number(state.lastAdvertised == nil ? 0 : 1)),
                ], packet: state.lastSign.packet, link: heard.link)
        }
        book.close(heard.link)
    }
}

extension AirView.Heard {
    /// Counts a packet and returns its sender.
    fileprivate mutating func note(_ channel: AirFrame.Channel, _ book: inout LinkBook) -> DiagnosisEvent.Sender? {
        switch channel {
        case .dataFromCentral:
            fromCentral += 1
            lastCentral = book.time
            return .central
        case .dataFromPeripheral:
            // A peripheral only replies; without the packet before it, a receiver cannot count the packets of an encrypted link.
            if book[link]?.report.isEncrypted == true, let last = lastCentral, book.time - last > AirView.longestExchange {
                book.conclude(.captureGap, packet: book.packet, link: link)
            }
            fromPeripheral += 1
            lastPeripheral = book.time
            let now = (book.packet, book.time)
            book[link]?.lastSign = now
            return .peripheral
        default:
            fromUnknown += 1
            lastPeripheral = book.time
            return nil
        }
    }
}

/// Recognises retransmissions by SN. Core Vol 6, Part B, 4.5.9.
///
/// Programs that write captures without a sniffer may leave SN constant: after several different PDUs with the same SN it is ignored.
private struct SequenceNumbers {
    private struct Side {
        var number: UInt8?
        var payload: [UInt8] = []
        var contradictions = 0
    }

    private var sides: [DiagnosisEvent.Sender: Side] = [:]
    private var unknown = Side()
    private static let proof = 3

    mutating func isRepeated(_ number: UInt8, _ payload: ArraySlice<UInt8>, _ sender: DiagnosisEvent.Sender?) -> Bool {
        var side = sender.map { sides[$0] ?? Side() } ?? unknown
        defer { if let sender { sides[sender] = side } else { unknown = side } }
        let isSame = side.number == number
        let isEqual = side.payload.elementsEqual(payload)
        if isSame, !isEqual, !payload.isEmpty, !side.payload.isEmpty { side.contradictions += 1 }
        side.number = number
        side.payload = Array(payload)
        guard side.contradictions < Self.proof else { return false }
        return isSame && isEqual
    }
}
