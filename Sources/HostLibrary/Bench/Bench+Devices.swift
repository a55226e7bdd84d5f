import BBBench
import BBHost
public import BBPackets
import BBSimulation
import BBTiming
import BBTransport

extension Bench {
    /// Adds a host with a simulated controller of its own to the air.
    ///
    /// - Parameters:
    ///   - name: the Device Name of its GATT database.
    ///   - address: the controller's public address; nil for a new one.
    public func simulated(_ name: String, address: DeviceAddress? = nil) async throws -> BluetoothHost {
        let (configuration, pipe) = (nextController(address), InProcessTransport.pair(name: name, on: loop))
        let transport = try recorded(pipe.host, as: name)
        return try await BluetoothError.translating {
            try simulation.addController(configuration, on: pipe.controller)
            let database = GATTDatabase(deviceName: name)
            return try await started(Host(loop: loop, transport: transport, database: database, seed: nextSeed), name)
        }
    }

    /// Opens a device: loads its firmware if it needs one, and starts a host on it that works around what is known of its controller.
    ///
    /// | selector | device | time |
    /// |---|---|---|
    /// | `virtual` | a simulated controller on the bench's air | any |
    /// | `usb`, `usb:1-2.3`, `usb:0BDA:8771/SERIAL` | a USB dongle: the only one, by its port, by vendor and product | real |
    /// | `tcp:HOST:PORT`, `unix:PATH` | a controller behind H4 on a socket; with `,token` the token is in the environment | real |
    /// | `serial:PATH,SPEED` | a controller on a serial line | real |
    /// | `tcp:HOST:PORT,virtual-time` | a controller of `bluebench dongle --virtual-time` | virtual |
    ///
    /// - Parameters:
    ///   - selector: one of the forms above.
    ///   - name: the Device Name of the host's GATT database.
    ///   - bonds: path of a file for the keys of bonded peers, which is created; nil to forget them with the host.
    /// - Throws: `BluetoothError`: origin `caller` for a selector that cannot be used in the bench's time, `environment` for a device that
    ///   is not there or cannot be used; the text says what to do.
    public func open(_ selector: String, named name: String = "Bluebench", bonds: String? = nil) async throws -> BluetoothHost {
        let device = try Self.parse(selector)
        guard device != .virtual else {
            let host = try await simulated(name)
            if let bonds { try host.keepBonds(in: bonds) }
            return host
        }
        guard device.isInVirtualTime == (time == .virtual) else {
            let needed = time == .virtual ? "real" : "virtual"
            throw BluetoothError(.caller, .other, "\(selector) needs a bench in \(needed) time: Bench(.\(needed))")
        }
        return try await BluetoothError.translating {
            let opened = try DeviceOpener().device(device, on: loop)
            try await opened.prepare()
            let observed = try opened.observed { try recorded($0, as: name) }
            let host = observed.host(on: loop, database: GATTDatabase(deviceName: name), seed: nextSeed)
            return try await started(host, name, bonds: bonds)
        }
    }

    private func started(_ inner: Host, _ name: String, bonds: String? = nil) async throws -> BluetoothHost {
        let host = BluetoothHost(inner, named: name, on: self)
        if let bonds { try host.keepBonds(in: bonds) }
        try await inner.start()
        hosts.append(host)
        return host
    }

    /// Properties of the next simulated controller.
    func nextController(_ address: DeviceAddress? = nil) -> ControllerConfiguration {
        controllers += 1
        return ControllerConfiguration(address: address ?? DeviceAddress(value: 0x02_BB_10_00_00_00 + controllers))
    }

    private var nextSeed: UInt64 { seed &* 1_000 &+ UInt64(hosts.count + 1) }
}
