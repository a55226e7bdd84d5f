import BBHost
import BBPackets
import BBTiming

/// Searches for a device among those that advertise.
package struct DeviceFinder {
    private let host: Host

    /// The reason why a device was not found, with the devices that were.
    package struct NotFound: Error, CustomStringConvertible {
        package var peer: PeerSelector
        package var limit: Microseconds
        package var others: [Sighting]

        /// The text without the devices that were found, whose names and addresses may be private.
        package var brief: String { "\(peer) was not found within \(limit.text)" }

        package var description: String {
            let heard = others.isEmpty ? "no device advertises" : "seen instead: " + others.prefix(8).map(\.text).joined(separator: "; ")
            let more = others.count > 8 ? "; and \(others.count - 8) more" : ""
            return "\(brief); \(heard)\(more)\(hint)"
        }

        /// The only device whose name contains the text of the selector.
        private var hint: String {
            guard case .name(let text) = peer, !text.isEmpty else { return "" }
            let names = Set(others.compactMap(\.name).filter { $0.lowercased().contains(text.lowercased()) })
            guard let name = names.first, names.count == 1 else { return "" }
            return "; a name must be whole: '\(PlainText.escaped(name))'"
        }
    }

    /// The time limit between advertising and its scan response.
    private static let responseLimit = Microseconds.milliseconds(500)
    /// The number of remembered devices.
    private static let mostDevices = 256

    package init(host: Host) { self.host = host }

    /// Scans until the device is found, and for the time `more` afterwards.
    ///
    /// - Parameters:
    ///   - connectable: true to ignore advertising that is not connectable.
    ///   - isActive: true to request scan responses.
    ///   - waitsForResponse: true to wait briefly for a scan response that is missing.
    /// - Throws: `NotFound`, `HostError`.
    package func find(
        _ peer: PeerSelector, until deadline: Microseconds, connectable: Bool = true,
        more: Microseconds = .zero, isActive: Bool = true,
        waitsForResponse: Bool = true
    ) async throws -> Sighting {
        let began = host.loop.now
        let heard = Heard(peer, connectable: connectable, on: host.loop)
        var settings = ScanSettings()
        settings.isActive = isActive
        let scan = try await host.scan(settings) { report in heard.add(report) }
        do {
            let key = try await heard.found.value(until: deadline)
            let misses = waitsForResponse && isActive && heard.devices[key]?.response == nil
            try await host.loop.sleep(for: max(more, misses ? Self.responseLimit : .zero))
            try await scan.stop()
            guard let sighting = heard.devices[key] else { throw CancellationError() }
            return sighting
        } catch is TimeOut {
            try await scan.stop()
            let others = heard.devices.values.sorted { ($0.rssi == 127 ? -128 : $0.rssi) > ($1.rssi == 127 ? -128 : $1.rssi) }
            throw NotFound(peer: peer, limit: deadline - began, others: others)
        }
    }

    /// Scans passively for a time after the device is found.
    ///
    /// - Parameter isEnough: called repeatedly with the times of reception; returns true to end the scan.
    /// - Throws: `NotFound`, `HostError`.
    package func follow(
        _ peer: PeerSelector, for length: Microseconds, until deadline: Microseconds,
        isEnough: ([Microseconds]) -> Bool
    ) async throws -> [Microseconds] {
        let began = host.loop.now
        // The name may be only in the scan response.
        let sighting = try await find(peer, until: min(deadline, began + Surveyor.timeout), connectable: false, waitsForResponse: false)
        let address = sighting.address.map { PeerSelector.address($0.value, $0.kind) } ?? peer
        let heard = Heard(address, connectable: false, on: host.loop)
        var settings = ScanSettings()
        settings.isActive = false
        let scan = try await host.scan(settings) { report in heard.add(report) }
        do {
            let key = try await heard.found.value(until: min(deadline, began + Surveyor.timeout))
            let end = min(deadline, host.loop.now + length)
            while host.loop.now < end, !isEnough(heard.devices[key]?.times ?? []) {
                try await host.loop.sleep(for: min(.milliseconds(100), end - host.loop.now))
            }
            try await scan.stop()
            return heard.devices[key]?.times ?? []
        } catch is TimeOut {
            try await scan.stop()
            throw NotFound(peer: peer, limit: host.loop.now - began, others: Array(heard.devices.values))
        }
    }

    /// Connects to an advertising device; repeats the attempt if CONNECT_IND was lost.
    package func connect(_ peer: PeerSelector, interval: UInt16 = 12, until deadline: Microseconds)
        async throws -> (Connection, Sighting)
    {
        let sighting = try await find(peer, until: deadline, waitsForResponse: false)
        guard let address = sighting.address else {
            throw NotFound(peer: peer, limit: .zero, others: [sighting])
        }
        var settings = ConnectSettings()
        settings.parameters = ConnectionParameterRequest(interval: interval, supervisionTimeout: 300)
        if sighting.primaryPHY == .leCoded { settings.phys = .leCoded }
        for _ in 0..<5 {
            // An advertising interval may be 10.24 s.
            settings.limit = max(ConnectSettings().limit, deadline - host.loop.now)
            let link = try await host.connect(to: address, settings)
            // A new connection is abandoned after six intervals without a packet. Core Vol 6, Part B, 4.5.2.
            try await host.loop.sleep(for: .connectionIntervals(interval) * 8)
            if link.isConnected { return (link, sighting) }
        }
        throw HostError.peer(.timedOut(.connection))
    }

    /// The devices found so far, and whether the wanted one is among them.
    private final class Heard {
        let found: Promise<DeviceAddress>
        private(set) var devices: [DeviceAddress: Sighting] = [:]
        private let peer: PeerSelector
        private let connectable: Bool
        private let loop: RunLoop

        init(_ peer: PeerSelector, connectable: Bool, on loop: RunLoop) {
            self.peer = peer
            self.connectable = connectable
            self.loop = loop
            found = Promise(on: loop)
        }

        func add(_ report: AdvertisingReport) {
            guard let address = report.address, devices[address] != nil || devices.count < DeviceFinder.mostDevices else { return }
            if devices[address]?.add(report, at: loop.now) == nil { devices[address] = Sighting(report, at: loop.now) }
            guard let sighting = devices[address], !connectable || sighting.isConnectable, peer.matches(sighting) else { return }
            found.fulfil(address)
        }
    }
}

extension PeerSelector {
    /// Returns the address under which the device advertises as connectable.
    ///
    /// - Throws: `SurveyFailure` if it was not found; `HostError`.
    public func find(with host: Host) async throws -> DeviceAddress {
        do {
            let sighting = try await DeviceFinder(host: host).find(self, until: host.loop.now + Surveyor.timeout, waitsForResponse: false)
            guard let address = sighting.address else { throw SurveyFailure(description: "\(self) advertises without an address") }
            return address
        } catch let error as DeviceFinder.NotFound {
            throw SurveyFailure(description: error.description)
        }
    }
}
