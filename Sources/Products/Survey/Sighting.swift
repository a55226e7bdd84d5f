import BBHost
import BBPackets
import BBTiming

/// The advertising of a device as received by a scanner.
public struct Sighting: Sendable, Hashable {
    public var address: DeviceAddress?
    /// The identity of a bonded device.
    public var identity: DeviceAddress?
    public var isConnectable = false
    public var isLegacy: Bool
    public var primaryPHY: PHY
    public var secondaryPHY: PHY?
    /// The last advertising data.
    public var advertising: [UInt8] = []
    /// The last scan response; nil if none was received.
    public var response: [UInt8]?
    /// True if the advertising is directed.
    public var isDirected = false
    /// Signal strength in dBm; 127 if unknown.
    public var rssi: Int8
    /// The times of received advertising events, at most `mostTimes`.
    package var times: [Microseconds] = []

    static let mostTimes = 4_096

    package init(_ report: AdvertisingReport, at time: Microseconds) {
        address = report.address
        isLegacy = report.isLegacy
        primaryPHY = report.primaryPHY
        rssi = report.rssi
        add(report, at: time)
    }

    package mutating func add(_ report: AdvertisingReport, at time: Microseconds) {
        if let identity = report.identity, identity.address != report.address { self.identity = identity.address }
        rssi = report.rssi
        secondaryPHY = report.secondaryPHY ?? secondaryPHY
        guard !report.isScanResponse else {
            response = report.octets
            return
        }
        isConnectable = isConnectable || report.isConnectable
        isDirected = isDirected || report.isDirected
        advertising = report.octets
        if times.count < Self.mostTimes { times.append(time) }
    }

    /// The AD structures of the advertising data and the scan response.
    package var data: [AdvertisingData] { [advertising, response ?? []].map { AdvertisingData(octets: $0) } }

    package var name: String? { data.lazy.compactMap(\.localName).first }

    /// The median time between two advertising events; nil if there were too few. Missed events cause longer times, which are multiples.
    package var period: Microseconds? {
        let periods = zip(times, times.dropFirst()).map { $1 - $0 }.filter { $0 > .milliseconds(5) }.sorted()
        return periods.count < 3 ? nil : periods[periods.count / 2]
    }

    /// A one-line description for an error message about another device.
    package var text: String {
        let who = address.map { "\($0)" } ?? "anonymous"
        let services = data.flatMap(\.serviceUUIDs).map(\.description)
        var words = [who]
        if let name { words.append("'\(PlainText.escaped(name))'") }
        if !services.isEmpty { words.append("with " + services.joined(separator: " ")) }
        if !isConnectable { words.append("not connectable") }
        return words.joined(separator: " ")
    }
}
