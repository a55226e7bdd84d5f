import BBHost
public import BBPackets

/// An advertising device: its advertising data and, if it was received, its scan response data. Core Vol 3, Part C, 11.
public struct Advertisement: Sendable, Hashable {
    public let address: DeviceAddress
    /// dBm of the last packet; 127 if unknown.
    public internal(set) var rssi: Int
    public internal(set) var isConnectable: Bool
    /// AD structures as received.
    public internal(set) var data: [UInt8] = []
    public internal(set) var scanResponse: [UInt8] = []

    init?(_ report: AdvertisingReport) {
        guard let address = report.address else { return nil }
        (self.address, rssi, isConnectable) = (address, Int(report.rssi), report.isConnectable)
        add(report)
    }

    /// Takes over what a later packet of the same device has.
    mutating func add(_ report: AdvertisingReport) {
        rssi = Int(report.rssi)
        if report.isScanResponse {
            scanResponse = report.octets
        } else {
            (data, isConnectable) = (report.octets, report.isConnectable)
        }
    }

    private var structures: AdvertisingData {
        AdvertisingData(AdvertisingData(octets: data).elements + AdvertisingData(octets: scanResponse).elements)
    }

    /// The complete local name, otherwise the shortened one.
    public var name: String? { structures.localName }
    /// UUIDs of services, from complete and incomplete lists.
    public var services: [BluetoothUUID] { structures.serviceUUIDs }
    /// Transmit power in dBm.
    public var txPower: Int? {
        for case .txPowerLevel(let level) in structures.elements { return Int(level) }
        return nil
    }

    /// Manufacturer specific data without the company identifier. Assigned Numbers, 7.1.
    public func manufacturerData(company: UInt16) -> [UInt8]? { structures.manufacturerData(company: company) }

    /// Service data of a UUID.
    public func serviceData(_ uuid: BluetoothUUID) -> [UInt8]? { structures.serviceData(uuid) }
}
