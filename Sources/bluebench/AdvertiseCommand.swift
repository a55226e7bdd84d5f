import ArgumentParser
import Conformance
import Host
import Timing

/// `bluebench advertise`: an accessory of ours on a device.
struct AdvertiseCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "advertise", abstract: "Be an accessory for phones and other stacks: advertise, serve and notify.",
        discussion: "The accessories are those of docs/accessory.md. It advertises again after each connection, and serves until Ctrl-C.")

    @Argument(help: "The device: usb:VID:PID[/serial], usb:<bus>-<port>, tcp:host:port, unix:path or serial:path.") var device: String
    @Option(name: .customLong("as"), help: "Which accessory: heart-rate, keyboard, thermometer, serial or reference.")
    var kind = AccessoryKind.reference
    @Option(help: "End after so many seconds.", transform: Arguments.whole(1...86_400)) var seconds: Int?
    @OptionGroup var firmware: FirmwareOptions

    func run() throws {
        let (kind, seconds) = (kind, seconds ?? 365 * 86_400)
        try HostSession.run(on: device, firmware: firmware, database: kind.database) { host in
            let accessory = ServedAccessory(kind, on: host)
            await accessory.start()
            Console.line("advertising '\(kind.name)' at \(host.address.argument)")
            try await host.loop.sleep(for: .seconds(seconds))
            await accessory.stop()
        }
    }
}

extension AccessoryKind: ExpressibleByArgument {}
