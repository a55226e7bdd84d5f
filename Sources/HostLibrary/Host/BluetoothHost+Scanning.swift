import BBHost
public import BBPackets
import BBTiming

/// A running scan, from `BluetoothHost.scan(isActive:onAdvertisement:)`.
public final class Scan {
    private let inner: BBHost.Scan

    fileprivate init(_ inner: BBHost.Scan) { self.inner = inner }

    public var isRunning: Bool { inner.isRunning }

    /// Stops scanning; does nothing if the scan has ended.
    public func stop() async throws { try await BluetoothError.translating { try await inner.stop() } }
}

extension BluetoothHost {
    /// Starts a scan; a controller runs one at a time. Core Vol 3, Part C, 9.2.
    ///
    /// - Parameters:
    ///   - isActive: sends scan requests, so that devices add their scan response data.
    ///   - onAdvertisement: called for each packet, with what is known of its device so far.
    public func scan(isActive: Bool = true, onAdvertisement: @escaping (Advertisement) -> Void) async throws -> Scan {
        var settings = ScanSettings()
        settings.isActive = isActive
        let devices = SeenDevices()
        return try await BluetoothError.translating {
            Scan(try await inner.scan(settings) { report in if let seen = devices.add(report) { onAdvertisement(seen) } })
        }
    }

    /// Scans for a time.
    ///
    /// - Returns: the devices in the order in which they were first received.
    public func scan(for duration: Duration, isActive: Bool = true) async throws -> [Advertisement] {
        let seen = Ordered()
        let scan = try await scan(isActive: isActive) { seen.add($0) }
        try await whileScanning(scan) { try await bench.sleep(for: duration) }
        return seen.all
    }

    /// Scans until a device is received that meets a condition.
    ///
    /// - Throws: `BluetoothError` with the reason `timedOut` if there is none within the limit.
    public func find(
        within limit: Duration = .seconds(10), where matches: @escaping (Advertisement) -> Bool
    ) async throws -> Advertisement {
        let found = Promise<Advertisement>(on: bench.loop)
        let deadline = bench.loop.now + Microseconds(limit)
        let scan = try await scan { if matches($0) { found.fulfil($0) } }
        return try await whileScanning(scan) {
            do { return try await found.value(until: deadline) } catch is TimeOut {
                throw BluetoothError(.environment, .timedOut, "no such device was received within \(limit)")
            }
        }
    }

    /// Scans until a device with a name is received.
    public func find(named name: String, within limit: Duration = .seconds(10)) async throws -> Advertisement {
        try await find(within: limit) { $0.name == name }
    }

    /// Scans until a device that advertises a service is received.
    public func find(service: BluetoothUUID, within limit: Duration = .seconds(10)) async throws -> Advertisement {
        try await find(within: limit) { $0.services.contains(service) }
    }

    /// Stops the scan after the body, even if that throws or is cancelled.
    private func whileScanning<Value>(_ scan: Scan, _ body: () async throws -> Value) async throws -> Value {
        do {
            let value = try await body()
            try await scan.stop()
            return value
        } catch {
            await bench.loop.cleanUp(within: .seconds(1)) { try await scan.stop() }
            throw error
        }
    }
}

/// Devices of a scan. Beyond the limit, packets of further devices are reported one by one.
private final class SeenDevices {
    private var devices: [DeviceAddress: Advertisement] = [:]
    private static let limit = 4_096

    func add(_ report: AdvertisingReport) -> Advertisement? {
        guard let address = report.address else { return nil }
        guard var device = devices[address] else {
            let device = Advertisement(report)
            if devices.count < Self.limit { devices[address] = device }
            return device
        }
        device.add(report)
        devices[address] = device
        return device
    }
}

/// The last advertisement of each device, in the order of the first ones.
private final class Ordered {
    private(set) var all: [Advertisement] = []
    private var places: [DeviceAddress: Int] = [:]

    func add(_ advertisement: Advertisement) {
        if let place = places[advertisement.address] {
            all[place] = advertisement
        } else if all.count < 4_096 {
            places[advertisement.address] = all.count
            all.append(advertisement)
        }
    }
}
