import ArgumentParser
import Host
import Packets
import Timing
import Transport
import TransportUSB

/// What the interactive tools share: a host on one device in wall time, and errors as one line with an exit code.
enum BenchTool {
    /// Opens the device, starts a host on it, runs `body` and closes.
    static func withHost(on device: String, firmware: FirmwareOptions, _ body: @escaping (Host) async throws -> Void) throws {
        let loop = RunLoop(mode: .wall)
        do {
            let transport = try open(DeviceSelector(device), firmware: firmware, on: loop)
            let host = Host(loop: loop, transport: transport, seed: UInt64(loop.origin.rawValue))
            try loop.run {
                do {
                    try await host.start()
                    try await body(host)
                    host.close()
                } catch {
                    host.close()
                    throw error
                }
            }
        } catch {
            throw failure(for: error)
        }
    }

    /// Opens a device. A dongle gets its firmware; another device only when a folder is named, as not every controller likes to be asked.
    static func open(_ selector: DeviceSelector, firmware: FirmwareOptions, on loop: RunLoop) throws -> any HCITransport {
        let pipe: any HCITransport
        switch selector {
        case .socket(let address): pipe = try H4Transport.connect(to: address, on: loop)
        case .serial(let path, let speed): pipe = try H4Transport.serial(path, speed: speed, on: loop)
        case .virtual:
            throw CommandFailure(
                .usage, "a virtual device has nobody else on its air: serve some with `bluebench dongle --tcp 0 --count 2` and use tcp:")
        case .usb(let selector):
            let transport = try FirmwareTransport.open(selector, folders: firmware.folders, on: loop)
            if case .loaded? = transport.outcome, let outcome = transport.outcome { Console.line("\(transport.name): \(outcome)") }
            return transport
        }
        guard firmware.firmware != nil else { return pipe }
        let transport = FirmwareTransport(pipe, folders: firmware.folders, on: loop)
        let outcome = try loop.run { try await transport.prepare() }
        Console.line("\(transport.name): \(outcome)")
        return transport
    }

    static func failure(for error: any Error) -> CommandFailure {
        switch error {
        case let failure as CommandFailure: failure
        case let error as SelectorError: CommandFailure(.usage, error.description)
        case HostError.misuse(let misuse): CommandFailure(.usage, HostError.misuse(misuse).description)
        case HostError.peer(let fault): CommandFailure(.fail, HostError.peer(fault).description)
        default: CommandFailure(.bench, "\(error)")
        }
    }

    /// `C0:B1:BE:00:00:01`, with `/public` or `/random`; without either, random.
    static func address(_ text: String) throws -> DeviceAddress {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let octets = parts[0].split(separator: ":", omittingEmptySubsequences: false).map { $0.count == 2 ? UInt8($0, radix: 16) : nil }
        let kinds: [Substring: DeviceAddress.Kind] = ["public": .public, "random": .random]
        guard parts.count <= 2, octets.count == 6, let kind = parts.count == 2 ? kinds[parts[1]] : .random else {
            throw CommandFailure(.usage, "'\(text)' is no device address: write C0:B1:BE:00:00:01/random or 00:1B:DC:00:00:01/public")
        }
        var value: UInt64 = 0
        for octet in octets {
            guard let octet else { throw CommandFailure(.usage, "'\(text)' is no device address: two hexadecimal digits in each place") }
            value = value << 8 | UInt64(octet)
        }
        return DeviceAddress(value: value, kind: kind)
    }

    /// `1m,2m,coded` as a mask.
    static func phys(_ text: String) throws -> PHYs {
        let names: [Substring: PHYs] = ["1m": .le1M, "2m": .le2M, "coded": .leCoded]
        return try text.lowercased().split(separator: ",").reduce(into: PHYs(rawValue: 0)) { mask, name in
            guard let phy = names[name] else { throw CommandFailure(.usage, "'\(name)' is no PHY: 1m, 2m or coded") }
            mask.formUnion(phy)
        }
    }

    static func name(_ phy: PHY) -> String {
        switch phy {
        case .le1M: "1M"
        case .le2M: "2M"
        case .leCoded: "Coded"
        }
    }
}
