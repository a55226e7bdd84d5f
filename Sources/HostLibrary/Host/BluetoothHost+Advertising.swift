import BBHost
public import BBPackets
import BBTiming

/// Content and parameters of advertising. Core Vol 3, Part C, 9.2 and 11.
public struct AdvertisingOptions: Sendable, Hashable {
    /// The local name; nil for the name of the host. It is in the scan response data if the advertising data has no room.
    public var name: String?
    public var services: [BluetoothUUID] = []
    /// Manufacturer specific data by company identifier.
    public var manufacturerData: [UInt16: [UInt8]] = [:]
    /// False for a broadcaster, to which no device can connect.
    public var isConnectable = true
    /// 20 ms...10.24 s, rounded to a multiple of 0.625 ms.
    public var interval = Duration.milliseconds(100)
    /// AD structures in place of those for flags, services, manufacturer and name.
    public var data: [UInt8]?
    public var scanResponse: [UInt8]?

    public init(services: [BluetoothUUID] = [], name: String? = nil) { (self.services, self.name) = (services, name) }

    /// Octets of advertising data, and of scan response data, with legacy advertising. Core Vol 6, Part B, 2.3.1.
    private static let room = 31

    fileprivate func settings(of host: BluetoothHost) -> AdvertisingSettings {
        var elements: [AdvertisingElement] = [.flags([.generalDiscoverable, .brEDRNotSupported])]
        for width in [2, 4, 16] {
            let uuids = services.filter { $0.octetCount == width }
            if !uuids.isEmpty { elements.append(.services(uuids)) }
        }
        for (company, data) in manufacturerData.sorted(by: { $0.key < $1.key }) {
            elements.append(.manufacturerData(company: company, data))
        }
        let name = AdvertisingElement.completeLocalName(self.name ?? host.name)
        let fits = AdvertisingData(elements + [name]).octets.count <= Self.room
        var settings = AdvertisingSettings()
        settings.data = data ?? AdvertisingData(fits ? elements + [name] : elements).octets
        settings.scanResponse = scanResponse ?? (fits || data != nil ? [] : AdvertisingData([name]).octets)
        settings.properties = isConnectable ? [.legacy, .connectable, .scannable] : [.legacy, .scannable]
        let units = UInt32(interval.units(of: 625, in: 0x20...0x4000))
        (settings.intervalMin, settings.intervalMax) = (units, units)
        return settings
    }
}

/// Advertising that was started by `BluetoothHost.advertise(_:)`. It ends with `stop()` or with a connection.
public final class Advertising {
    private let inner: AdvertisingSet
    private let host: BluetoothHost

    fileprivate init(_ inner: AdvertisingSet, of host: BluetoothHost) { (self.inner, self.host) = (inner, host) }

    public var isRunning: Bool { inner.isRunning }

    /// Waits for the connection that ends the advertising; it may have ended itself since.
    ///
    /// - Throws: `BluetoothError` with the reason `timedOut` if no device connects within the limit.
    public func connection(within limit: Duration = .seconds(30)) async throws -> Connection {
        try await BluetoothError.translating { host.connection(of: try await inner.connected(within: Microseconds(limit))) }
    }

    /// Stops advertising; does nothing if it has ended.
    public func stop() async throws { try await BluetoothError.translating { try await inner.stop() } }
}

extension BluetoothHost {
    /// Starts to advertise with legacy PDUs. A host advertises one set at a time.
    ///
    /// - Throws: `BluetoothError`, for example if the data has more than 31 octets.
    public func advertise(_ options: AdvertisingOptions = AdvertisingOptions()) async throws -> Advertising {
        try await BluetoothError.translating { Advertising(try await inner.advertise(options.settings(of: self)), of: self) }
    }

    /// Advertises a service under the name of the host.
    public func advertise(service: BluetoothUUID) async throws -> Advertising {
        try await advertise(AdvertisingOptions(services: [service]))
    }
}
