import ArgumentParser
import Host
import Packets
import Timing

/// `bluebench l2cap`: opens a credit-based channel to a peer, or offers one that echoes.
struct L2CAPCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "l2cap", abstract: "Open a credit-based channel to a peer and send on it, or advertise and echo.",
        discussion: """
            With --peer: opens the channel, sends each --send as an SDU and prints the SDUs that return, until as many have come as were sent. \
            Without --peer: advertises, accepts channels and echoes every SDU. Exit code 1 when the peer refuses or closes the channel.
            """)

    @Argument(help: .device) var device: String
    @Option(help: "Peer address: C0:B1:BE:00:00:01/random.") var peer: String?
    @Option(help: "SPSM of the service, 1 to 255.", transform: Arguments.whole(1...255)) var spsm: UInt16 = 128
    @Option(help: ArgumentHelp("SDU to send. Repeatable.", valueName: "hex")) var send: [String] = []
    @Option(help: "MTU: the longest SDU to receive, 23 to 65535.", transform: Arguments.whole(23...65_535)) var mtu: UInt16 = 512
    @Option(help: "MPS: the longest K-frame payload to receive, 23 to 65533.", transform: Arguments.whole(23...65_533)) var mps: UInt16 =
        247
    @Option(help: "Initial credits of the peer, 1 to 65535.", transform: Arguments.whole(1...65_535)) var credits: UInt16 = 10
    @Option(help: "Number of channels to open in one enhanced request, 1 to 5.", transform: Arguments.whole(1...5)) var enhanced: Int?
    @Option(help: "Timeout for SDUs, in seconds.", transform: Arguments.seconds) var seconds = 10.0
    @OptionGroup var firmware: FirmwareOptions

    func run() throws {
        let command = self
        let address = try peer.map(Arguments.address)
        let sdus = try send.map {
            guard let octets = Hex.parse($0) else { throw CommandFailure(.usage, "--send \($0) is no octets in hexadecimal") }
            return octets
        }
        let prepare: (Host) -> Void = { $0.addressChoice = .drawn }
        try HostSession.run(on: device, firmware: firmware, prepare: prepare) { host in
            if let address {
                try await command.exchange(sdus, with: address, host)
            } else {
                try await command.echo(host)
            }
        }
    }

    private var settings: CreditBasedChannelSettings { CreditBasedChannelSettings(mtu: mtu, mps: mps, initialCredits: credits) }

    private func exchange(_ sdus: [[UInt8]], with address: DeviceAddress, _ host: Host) async throws {
        let link = try await host.connectAnswered(to: address)
        let channels =
            if let enhanced {
                try await link.openChannels(spsm, count: enhanced, settings)
            } else {
                [try await link.openChannel(spsm, settings)]
            }
        for channel in channels {
            Console.line(Self.title(channel) + ": open, \(channel.peerMTU) octets, \(channel.credits) credits")
            for sdu in sdus {
                try await channel.send(sdu)
                let answer = try await channel.receive(within: .seconds(seconds))
                Console.line(Self.title(channel) + ": \(Hex.octets(answer))")
            }
            channel.disconnect()
        }
        try await link.disconnect()
    }

    private func echo(_ host: Host) async throws {
        let loop = host.loop
        host.listen(spsm, settings) { channel in
            Console.line(Self.title(channel) + ": open, \(channel.peerMTU) octets, \(channel.credits) credits")
            var waiting: [Activity<Void>] = []
            channel.onReceive = { [unowned channel] sdu in
                Console.line(Self.title(channel) + ": \(Hex.octets(sdu))")
                waiting.append(loop.start { [channel] in try await channel.send(sdu) })
                waiting.removeAll(where: \.isOver)
            }
        }
        _ = try await host.advertise(AdvertisingSettings(data: AdvertisingData([.flags(.generalDiscoverable)])))
        Console.line("advertising as \(host.address), SPSM \(Hex.number(spsm))")
        try await loop.sleep(for: .seconds(seconds))
    }

    private static func title(_ channel: CreditBasedChannel) -> String { "channel \(Hex.number(channel.localCID))" }
}
