import ArgumentParser
import Host
import Packets
import Timing

/// `bluebench gatt`: connect to a peer and show what its server offers.
struct GATTCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gatt", abstract: "Connect to a peer, show its services, read what can be read.",
        discussion: "What is asked of the link is printed with what came of it. Writes are done after the discovery, in the order given.")

    @Argument(help: "The device: tcp:host:port, unix:path or serial:path.") var device: String
    @Option(help: "The peer, by address: C0:B1:BE:00:00:01/random.") var peer: String
    @Option(help: "Connection interval in ms.") var interval = 30.0
    @Option(help: "MTU to offer.") var mtu: Int?
    @Option(help: "PHY to ask for: 1m, 2m or coded.") var phy: String?
    @Option(name: .customLong("data-length"), help: "TX octets to ask for, 27...251.") var dataLength: UInt16?
    @Option(help: "Ask for another interval after the connection, in ms.") var update: Double?
    @Option(help: ArgumentHelp("Write a value with response.", valueName: "uuid=hex")) var write: [String] = []
    @Option(help: ArgumentHelp("Subscribe and show so many values.", valueName: "uuid=n")) var subscribe: [String] = []
    @OptionGroup var firmware: FirmwareOptions

    func run() throws {
        let command = self
        let address = try BenchTool.address(peer)
        let phys = try phy.map(BenchTool.phys)
        let writes = try write.map(Self.writing)
        let subscriptions = try subscribe.map(Self.subscription)
        try BenchTool.withHost(on: device, firmware: firmware) { host in
            let own = host.drawStaticAddress()
            try await host.setRandomAddress(own)
            var settings = ConnectSettings()
            settings.ownAddressType = .randomDevice
            settings.parameters = ConnectionParameterRequest(interval: Self.units(command.interval))
            let link = try await host.connect(to: address, settings)
            Console.line("connected to \(link.peer), interval \(Self.text(link.parameters.interval)) ms")
            try await command.tune(link, phys)
            let characteristics = try await Self.discover(link)
            for (uuid, value) in writes { try await Self.write(value, to: uuid, characteristics, link) }
            for (uuid, count) in subscriptions { try await Self.listen(to: uuid, count, characteristics, writes, link) }
            Console.line("disconnected: \(try await link.disconnect())")
        }
    }

    private func tune(_ link: Link, _ phys: PHYs?) async throws {
        if let mtu { Console.line("mtu \(try await link.gatt.exchangeMTU(mtu))") }
        if let dataLength {
            let agreed = try await link.updateDataLength(txOctets: dataLength)
            Console.line("data length \(agreed.txOctets) octets \(agreed.txTime) us out, \(agreed.rxOctets) octets \(agreed.rxTime) us in")
        }
        if let phys {
            let agreed = try await link.updatePHY(tx: phys, rx: phys)
            Console.line("phy \(BenchTool.name(agreed.tx)) out, \(BenchTool.name(agreed.rx)) in")
        }
        if let update {
            let agreed = try await link.updateParameters(ConnectionParameterRequest(interval: Self.units(update)))
            Console.line("interval \(Self.text(agreed.interval)) ms")
        }
    }

    private static func discover(_ link: Link) async throws -> [RemoteCharacteristic] {
        var all: [RemoteCharacteristic] = []
        for service in try await link.gatt.discoverServices() {
            Console.line("service \(service.uuid), handles \(service.handle)...\(service.endHandle)")
            for characteristic in try await link.gatt.discoverCharacteristics(in: service) {
                all.append(characteristic)
                Console.line(
                    "  characteristic \(characteristic.uuid), handle \(characteristic.value): \(try await value(of: characteristic, link))")
                for descriptor in try await link.gatt.discoverDescriptors(of: characteristic) {
                    Console.line(
                        "    descriptor \(descriptor.uuid), handle \(descriptor.handle): \(try await read(descriptor.handle, link))")
                }
            }
        }
        return all
    }

    private static func value(of characteristic: RemoteCharacteristic, _ link: Link) async throws -> String {
        guard characteristic.properties.contains(.read) else { return "not readable" }
        return try await read(characteristic.value, link)
    }

    private static func read(_ handle: UInt16, _ link: Link) async throws -> String {
        do {
            return Hex.octets(try await link.gatt.readLong(handle))
        } catch HostError.peer(.att(_, _, let code)) {
            return "\(code)"
        }
    }

    private static func write(_ value: [UInt8], to uuid: BluetoothUUID, _ all: [RemoteCharacteristic], _ link: Link) async throws {
        let characteristic = try find(uuid, all)
        do {
            if value.count > link.mtu - 3 {
                try await link.gatt.writeLong(characteristic.value, value)
            } else {
                try await link.gatt.write(characteristic.value, value)
            }
            Console.line("wrote \(value.count) octets to \(uuid)")
        } catch HostError.peer(.att(_, _, let code)) {
            Console.line("writing \(uuid): \(code)")
        }
    }

    /// Subscribes, does the writes again so that they can cause values, and waits for these.
    private static func listen(
        to uuid: BluetoothUUID, _ count: Int, _ all: [RemoteCharacteristic], _ writes: [(BluetoothUUID, [UInt8])], _ link: Link
    ) async throws {
        let characteristic = try find(uuid, all)
        let (values, continuation) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingOldest(4096))
        let kind: AttributeValueKind = characteristic.properties.contains(.notify) ? .notification : .indication
        try await link.gatt.subscribe(characteristic, kind) { _, _, value in
            continuation.yield(value.withUnsafeBytes { [UInt8]($0) })
        }
        for (uuid, value) in writes { try await write(value, to: uuid, all, link) }
        var shown = 0
        for await value in values {
            Console.line("value of \(uuid): \(Hex.octets(value))")
            shown += 1
            if shown == count { break }
        }
    }

    private static func find(_ uuid: BluetoothUUID, _ all: [RemoteCharacteristic]) throws -> RemoteCharacteristic {
        guard let found = all.first(where: { $0.uuid == uuid }) else {
            throw CommandFailure(.fail, "the peer has no characteristic \(uuid)")
        }
        return found
    }

    private static func units(_ milliseconds: Double) -> UInt16 { UInt16(clamping: Int((milliseconds / 1.25).rounded())) }
    private static func text(_ interval: UInt16) -> String { "\(Double(interval) * 1.25)" }

    private static func writing(_ text: String) throws -> (BluetoothUUID, [UInt8]) {
        let (uuid, rest) = try split(text)
        guard let value = Hex.parse(rest) else { throw CommandFailure(.usage, "'\(text)': the value is not hexadecimal") }
        return (uuid, value)
    }

    private static func subscription(_ text: String) throws -> (BluetoothUUID, Int) {
        let (uuid, rest) = try split(text)
        guard let count = Int(rest), count > 0 else { throw CommandFailure(.usage, "'\(text)': how many values?") }
        return (uuid, count)
    }

    private static func split(_ text: String) throws -> (BluetoothUUID, String) {
        let parts = text.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, let uuid = BluetoothUUID(String(parts[0])) else {
            throw CommandFailure(.usage, "'\(text)': write UUID=VALUE")
        }
        return (uuid, String(parts[1]))
    }
}
