import Foundation

extension Diagnosis {
    /// The explanation as JSON with sorted keys.
    ///
    /// - Throws: never in practice; the encoder's signature.
    public func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(Document(self)), as: UTF8.self)
    }

    private struct Document: Encodable {
        var packets: Int
        var seconds: Double
        var devices: [String]
        var cause: String?
        var examined: String
        var findings: [Match]
        var provoked: Int?
        var connections: [Connection]

        init(_ diagnosis: Diagnosis) {
            packets = diagnosis.packets
            seconds = Double(diagnosis.duration) / 1e6
            devices = diagnosis.devices
            cause = diagnosis.causes.first?.rule.id
            examined = diagnosis.coverage.text
            findings = diagnosis.findings.map(Match.init)
            provoked = diagnosis.provoked > 0 ? diagnosis.provoked : nil
            connections = diagnosis.links.map(Connection.init)
        }
    }

    private struct Match: Encodable {
        var rule, severity, message: String
        var section, advice, consequenceOf: String?
        var connection, device: Int?
        /// All connections of the matches, if there are several.
        var connections: [Int]?
        var packets: [Int]
        var count: Int
        var seconds: Double

        init(_ finding: Finding) {
            (rule, severity, message) = (finding.rule.id, finding.rule.severity.rawValue, finding.message)
            (section, advice, consequenceOf) = (finding.rule.section, finding.rule.advice, finding.cause)
            (connection, device) = (finding.link, finding.device)
            (packets, count) = (finding.packets, finding.count)
            connections = finding.links.count > 1 ? finding.links.sorted() : nil
            seconds = Double(finding.time) / 1e6
        }
    }

    private struct Connection: Encodable {
        struct Change: Encodable {
            var packet: Int
            var text: String
        }
        struct Parameters: Encodable {
            var packet, interval, latency, timeout: Int
        }
        struct Data: Encodable {
            var values, octets: Int
            var kbps, ceilingKbps: Double?
            var limit, detail: String?

            init(_ flow: Flow, _ limit: FlowLimit?) {
                (values, octets, kbps) = (flow.packets, flow.octets, flow.rate)
                (ceilingKbps, self.limit, detail) = (limit?.ceiling, limit?.limit.rawValue, limit?.detail)
            }
        }

        var number: Int
        var kind: String
        var device: Int?
        var localRole: String?
        var openedAt, lastPacket: Int
        var isComplete: Bool
        var mtu: Int?
        var parameters: [Parameters]
        var dataLength, phy, security: [Change]
        var services: [String]
        var fromCentral, fromPeripheral: Data
        var end: Change?

        init(_ link: LinkReport) {
            (number, kind, device, localRole) = (link.number, link.kind.words, link.device, link.localRole?.rawValue)
            (openedAt, lastPacket, isComplete) = (link.opened.packet, link.lastPacket.packet, link.isComplete)
            mtu = link.mtu?.octets
            parameters = link.parameters.map {
                Parameters(packet: $0.packet, interval: $0.interval, latency: $0.latency, timeout: $0.timeout)
            }
            func changes(_ list: [LinkReport.Change]) -> [Change] { list.map { Change(packet: $0.packet, text: $0.text) } }
            (dataLength, phy, security) = (changes(link.dataLengths), changes(link.phys), changes(link.security))
            services = link.services
            fromCentral = Data(link.flows.forth, link.forthLimit)
            fromPeripheral = Data(link.flows.back, link.backLimit)
            end = link.end.map { Change(packet: $0.packet, text: $0.text) }
        }
    }
}
