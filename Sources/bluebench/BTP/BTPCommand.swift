import ArgumentParser
import BBBluetoothCrypto
import BBHost
import BBTiming
import BBTransport
import BBUpperTester

/// `bluebench btp`: serves our host to a tester that speaks the Bluetooth Test Protocol.
struct BTPCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "btp", abstract: "Serve our host to a tester over the Bluetooth Test Protocol (BTP).",
        discussion: """
            The tester is the BTP client: auto-pts, `bluebench run --btp`, or another. Services: core, GAP with pairing, GATT server and \
            client, L2CAP credit-based channels. Ends when the tester closes the connection.
            Example: bluebench btp usb:1-2 --btp unix:/tmp/bt-stack-tester
            """)

    @Argument(help: .device) var device: String
    @Option(
        help: ArgumentHelp(
            "Where the tester is: unix:PATH or tcp:HOST:PORT, where it listens; serial:PATH; unix-listen:PATH or tcp-listen:PORT to wait for it.",
            valueName: "socket"))
    var btp: String
    @Flag(help: "Use BR/EDR, too: a dual-mode host under the public address of the device.") var dualMode = false
    @OptionGroup var firmware: FirmwareOptions

    func run() throws {
        let place = try BTPPlace(btp)
        let isDualMode = dualMode
        let prepare: (Host) -> Void = { if !isDualMode { $0.addressChoice = .drawn } }
        let database = { (loop: RunLoop) in
            var secrets = SecretSource(seed: 0, label: "advertising keys", on: loop)
            return GATTDatabase(deviceName: "bluebench", advertisingKeys: AdvertisingKeyMaterial(drawnFrom: &secrets))
        }
        try HostSession.run(on: device, firmware: firmware, database: database, prepare: prepare) { host in
            let pipe = try await place.pipe(on: host.loop) { Console.line("waiting for a BTP tester on \($0)") }
            let server = BTPServer(host: host, isDualMode: isDualMode)
            let left = Promise<Void>(on: host.loop)
            try server.serve(pipe) { _ in left.fulfil(()) }
            Console.line("serving \(host.address) to the BTP tester on \(pipe.name)")
            // A signal ends the wait, too.
            _ = try? await left.value()
            await server.stop()
            pipe.close()
        }
    }
}
