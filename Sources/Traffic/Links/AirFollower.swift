import BBHCI
import BBL2CAP
import BBPackets

/// Follows the LE links on the air.
///
/// Its memory is bounded. Links that were open before the first frame are followed from their first data on.
public struct AirFollower {
    private struct Heard {
        var link: Link
        var sequence = SequenceNumbers()
    }

    private var links: [UInt32: Heard] = [:]

    private static let mostLinks = 1_024
    /// Longest time between a central's packet and the reply: the longest packet on LE 1M and T_IFS, in microseconds.
    private static let longestExchange: Int64 = 3_000

    public init() {}

    // MARK: Advertising

    /// Follows a PDU of an advertising channel: connections begin, and peers that advertise again have lost theirs.
    public mutating func advertising(_ pdu: AirFrame.PDU, in frame: AirFrame, at moment: Moment) -> Followed {
        var followed = Followed()
        if pdu.type == Int(Advertising.ConnectInd.pduType) { followed.sender = .central }
        if let connect = frame.connectRequest(pdu) {
            let address = connect.llData.aa
            if let before = links[address]?.link { followed.before += before.end(.silent, at: moment.time) }
            let link = Link(
                .le, peer: DeviceAddress(connect.advA, kind: pdu.receiverKind), isComplete: true, isOnAir: true, at: moment)
            link.parameters = ConnectionParameters(
                interval: connect.llData.interval, latency: connect.llData.latency, supervisionTimeout: connect.llData.timeout)
            add(link, address)
            followed.link = link
            followed.before += [LinkEvent(link: link, kind: .opened), LinkEvent(link: link, kind: .parameters)]
        } else if !links.isEmpty, let advertiser = frame.advertiser(pdu) {
            for heard in links.values where heard.link.peer?.value == advertiser.rawValue { heard.link.signs.advertised = moment.time }
        }
        return followed
    }

    private mutating func add(_ link: Link, _ accessAddress: UInt32) {
        if links[accessAddress] == nil, links.count >= Self.mostLinks { links.removeAll() }
        links[accessAddress] = Heard(link: link)
    }

    // MARK: Data

    /// Follows a PDU of a connection.
    ///
    /// - Parameters:
    ///   - layers: the frame as it was decoded, with the PDUs that it completes.
    ///   - channel: the L2CAP channel of these PDUs.
    ///   - isEncrypted: true if the capture has the PDU only encrypted.
    public mutating func data(
        _ pdu: AirFrame.PDU, in frame: AirFrame, _ layers: [DecodedLayer], on channel: UInt16?, isEncrypted: Bool, at moment: Moment
    ) -> Followed {
        var followed = Followed()
        if links[pdu.accessAddress] == nil {
            let link = Link(.le, isComplete: false, isOnAir: true, at: moment)
            add(link, pdu.accessAddress)
            followed.before.append(LinkEvent(link: link, kind: .opened))
        }
        guard let link = links[pdu.accessAddress]?.link else { return followed }
        followed.link = link
        let payload = frame.bytes[pdu.payload]
        followed.sender = Self.note(pdu.direction, link, moment, &followed.after)
        if isEncrypted { link.forgetRequests() }
        followed.isRepeated = links[pdu.accessAddress]?.sequence.isRepeated(pdu.sequenceNumber, payload, pdu.direction) ?? false
        if !followed.isRepeated, !payload.isEmpty {
            followed.after += link.follow(layers, on: channel, from: followed.sender, at: moment)
        }
        if let ending = link.ending {
            links[pdu.accessAddress] = nil
            followed.after += link.end(ending, at: moment.time)
        }
        return followed
    }

    /// Counts a packet and returns its sender.
    private static func note(_ direction: LinkDirection, _ link: Link, _ moment: Moment, _ events: inout [LinkEvent]) -> PacketSender? {
        switch direction {
        case .forth:
            link.signs.fromCentral += 1
            link.signs.lastCentral = moment.time
            return .central
        case .back:
            // A peripheral only replies; without the packet before it, a receiver cannot count the packets of an encrypted link.
            if link.isEncrypted, let last = link.signs.lastCentral, moment.time - last > longestExchange {
                events.append(LinkEvent(link: link, kind: .gap))
            }
            link.signs.fromPeripheral += 1
            link.signs.lastPeripheral = moment.time
            link.signs.heard(at: moment)
            return .peripheral
        case .unknown:
            link.signs.fromUnknown += 1
            link.signs.lastPeripheral = moment.time
            return nil
        }
    }

    /// Ends the links that are silent for too long; all of them after the last frame.
    public mutating func silent(at time: Int64, isEnd: Bool) -> [LinkEvent] {
        var events: [LinkEvent] = []
        for (accessAddress, heard) in links {
            let link = heard.link
            let silence = time - link.signs.lastPeripheral
            let timeout = max(link.timeout, 6 * Int64(link.parameters?.intervalTime.rawValue ?? 0))
            guard isEnd || (timeout > 0 && silence > 2 * timeout && time - (link.signs.lastCentral ?? 0) > timeout) else { continue }
            links[accessAddress] = nil
            events += link.end(.silent, at: time)
        }
        return events
    }
}

extension AirFrame.PDU {
    /// Kind of the address of the receiver of an advertising PDU.
    fileprivate var receiverKind: DeviceAddress.Kind { header & 0x80 != 0 ? .random : .public }
}

extension AirFrame {
    /// The content of an advertising PDU that asks for a connection: CONNECT_IND and AUX_CONNECT_REQ have the same. Core Vol 6, Part B,
    /// 2.3.3.
    public func connectRequest(_ pdu: PDU) -> Advertising.ConnectInd? {
        guard pdu.kind == .advertising || pdu.kind == .auxiliary, pdu.type == Int(Advertising.ConnectInd.pduType) else { return nil }
        return content(pdu)
    }

    /// The device that advertises, or that a scanner asks.
    fileprivate func advertiser(_ pdu: PDU) -> BDADDR? {
        if pdu.type == Int(Advertising.ScanReq.pduType) { return content(pdu, as: Advertising.ScanReq.self)?.advA }
        if pdu.type < Int(Advertising.CommonExtendedAdvertisingPayload.pduType) { return content(pdu, as: Advertising.ADVInd.self)?.advA }
        return content(pdu, as: Advertising.CommonExtendedAdvertisingPayload.self)?.advA
    }

    private func content<Content: BBPackets.PDU>(_ pdu: PDU, as type: Content.Type = Content.self) -> Content? {
        var reader = ByteReader(bytes.span.bytes.extracting(pdu.payload))
        return try? Content(from: &reader)
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

    private var forth = Side()
    private var back = Side()
    private var unknown = Side()
    private static let proof = 3

    mutating func isRepeated(_ number: UInt8, _ payload: ArraySlice<UInt8>, _ direction: LinkDirection) -> Bool {
        switch direction {
        case .forth: Self.isRepeated(number, payload, &forth)
        case .back: Self.isRepeated(number, payload, &back)
        case .unknown: Self.isRepeated(number, payload, &unknown)
        }
    }

    private static func isRepeated(_ number: UInt8, _ payload: ArraySlice<UInt8>, _ side: inout Side) -> Bool {
        let isSame = side.number == number
        let isEqual = side.payload.elementsEqual(payload)
        if isSame, !isEqual, !payload.isEmpty, !side.payload.isEmpty { side.contradictions += 1 }
        side.number = number
        side.payload.removeAll(keepingCapacity: true)
        side.payload.append(contentsOf: payload)
        return side.contradictions < proof && isSame && isEqual
    }
}
