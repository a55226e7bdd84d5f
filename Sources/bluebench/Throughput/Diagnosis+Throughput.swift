import BBDiagnosis
import BBPackets
import BBThroughput
import BBTraffic

extension Diagnosis {
    /// The flows of the LE connections as rows of a measurement, one for each direction and each set of conditions.
    ///
    /// The tester of a row is the local device, or the central on the air.
    var throughputRows: [ThroughputRow] {
        links.flatMap { link in
            link.spans.flatMap { span in
                [
                    link.row(span.flows.forth, span.conditions, isForth: true),
                    link.row(span.flows.back, span.conditions.turned, isForth: false),
                ]
                .compactMap { row in
                    guard var row else { return nil }
                    row.place = .init(link: link.number, links: links.count)
                    return row
                }
            }
        }
    }
}

extension LinkReport {
    fileprivate func row(_ flow: Flow, _ conditions: FlowConditions, isForth: Bool) -> ThroughputRow? {
        guard let limit = limit(of: flow, conditions), let parameters = conditions.link(of: flow) else { return nil }
        var link = parameters
        link.isFromCentral = isForth && localRole != nil || isForth && isOnAir
        let isFromLocal = isMerged || isOnAir || localRole == nil ? isForth : isForth == (localRole == .central)
        let direction = isFromLocal ? FlowDirection.toSubject : .fromSubject
        var request =
            flow.kind == .channel
            ? ThroughputRow.Request(
                channel: direction, phy: link.phy, dataLength: link.octets, sdu: flow.longest, mps: link.channels?.mps,
                interval: link.interval)
            : ThroughputRow.Request(
                over: flow.kind.flowKind, direction: direction, phy: link.phy, dataLength: link.octets, mtu: link.mtu,
                interval: link.interval)
        request.isEncrypted = conditions.isEncrypted
        var row = ThroughputRow(request)
        let ceiling = Ceiling(link)
        (row.link, row.ceiling) = (link, ceiling)
        (row.begin, row.end) = (Microseconds(flow.begin), Microseconds(flow.begin + flow.active))
        row.events = Int(flow.active / max(1, link.interval.rawValue))
        (row.packets, row.octets) = (flow.packets, flow.octets)
        row.limit = limit.limit
        row.missing = [
            .init(cause: .interval, kbps: Self.tenths(ceiling.backToBack - ceiling.perInterval), text: "whole exchanges in an interval"),
            .init(cause: limit.limit, kbps: Self.tenths(ceiling.perInterval - row.goodput), text: limit.detail),
        ].filter { $0.kbps > 0 }
        return row
    }

    private static func tenths(_ value: Double) -> Double { (value * 10).rounded() / 10 }
}

extension DataKind {
    fileprivate var flowKind: FlowKind {
        switch self {
        case .notification: .notify
        case .command: .write
        case .request, .read: .request
        case .channel: .channel
        }
    }
}
