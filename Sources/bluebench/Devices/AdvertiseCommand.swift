import ArgumentParser
import Conformance
import Host
import Timing

/// `bluebench advertise`: runs an accessory on a device.
struct AdvertiseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "advertise", abstract: "Be an accessory for phones and other stacks: advertise, serve and notify.",
        discussion: "The accessories are described in docs/guide/accessory.md. Advertises again after each connection until Ctrl-C.")

    @Argument(help: "The device: usb:VID:PID[/serial], usb:<bus>-<port>, tcp:host:port, unix:path or serial:path.") var device: String
    @Option(name: .customLong("as"), help: "Which accessory: heart-rate, keyboard, thermometer, serial or reference.")
    var kind = AccessoryKind.reference
    @Option(help: "End after so many seconds.", transform: Arguments.whole(1...86_400)) var seconds: Int?
    @Option(help: ArgumentHelp("Keep bonds in this file; without one nobody is remembered.", valueName: "file"), completion: .file())
    var bonds: String?
    @Flag(name: .customLong("private"), help: "Go by resolvable private addresses, which only bonded peers know.") var isPrivate = false
    @OptionGroup var firmware: FirmwareOptions

    func run() throws {
        let (kind, seconds, isPrivate) = (kind, seconds ?? 365 * 86_400, isPrivate)
        let file = try bonds.map { try BondOptions.open($0) }
        let prepare = { (host: Host) in
            guard let keys = file?.keys else { return }
            host.keys = keys
            host.addressChoice = keys.identityAddress.map { .fixed($0) } ?? .drawn
        }
        try HostSession.run(on: device, firmware: firmware, database: kind.database, prepare: prepare) { host in
            if file != nil { host.keys.identityAddress = host.address }
            if isPrivate { try await host.enablePrivacy() }
            let accessory = ServedAccessory(kind, on: host)
            await accessory.start()
            Console.line("advertising '\(kind.name)' at \(host.address.argument)")
            // Ctrl-C ends the command normally.
            do { try await host.loop.sleep(for: .seconds(seconds)) } catch {}
            await accessory.stop()
            try file?.check()
        }
    }
}

extension AccessoryKind: ExpressibleByArgument {}
