import ArgumentParser
import BBTransportUSB
import Foundation

/// `bluebench extcap`: the external capture interface of Wireshark.
struct ExtcapCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extcap", abstract: "Capture for Wireshark: called by its extcap interface.",
        discussion: """
            Wireshark lists USB dongles, a device of any kind between a program and its controller, and the simulated air. Install the script \
            share/bluebench/wireshark/bluebench in Wireshark's folder for extcap programs (Help, About, Folders).
            """)

    @Flag(help: "Print the version and the interfaces.") var extcapInterfaces = false
    @Option(help: ArgumentHelp("Wireshark's version.", valueName: "version")) var extcapVersion: String?
    @Flag(help: "Print the link types of an interface.") var extcapDlts = false
    @Flag(help: "Print the options of an interface.") var extcapConfig = false
    @Flag(help: "Capture until a signal comes or the pipe is closed.") var capture = false
    @Option(help: ArgumentHelp("Interface, as bluebench-air.", valueName: "name")) var extcapInterface: String?
    @Option(help: ArgumentHelp("With --capture: the pipe to write to.", valueName: "path"), completion: .file()) var fifo: String?
    @Option(help: ArgumentHelp("Capture filter; there is none.", valueName: "filter", visibility: .hidden)) var extcapCaptureFilter: String?

    @Option(help: ArgumentHelp("Device of bluebench-device: tcp:HOST:PORT, unix:PATH, serial:PATH, usb:...", valueName: "device"))
    var device: String?
    @Option(
        help: ArgumentHelp(
            "Socket for the program that uses the device: tcp-listen:7001. Empty: listen to advertisers.", valueName: "socket"))
    var between: String?
    @Option(help: ArgumentHelp("First TCP port of the virtual dongles on bluebench-air.", valueName: "port")) var tcp: UInt16 = 7001
    @Option(help: ArgumentHelp("Number of virtual dongles on bluebench-air.", valueName: "n"), transform: Arguments.whole(1...64))
    var count = 2

    func run() throws {
        if extcapInterfaces { return printInterfaces() }
        guard let extcapInterface else {
            throw CommandFailure(
                .usage, "missing request: give --extcap-interfaces, or --extcap-interface with --extcap-dlts, --extcap-config or --capture")
        }
        guard let interface = Self.interfaces.first(where: { $0.name == extcapInterface }) else {
            throw CommandFailure(.usage, "there is no interface '\(extcapInterface)'; --extcap-interfaces lists them")
        }
        if extcapDlts {
            Console.line("dlt {number=\(interface.linkType)}{name=\(interface.linkName)}{display=\(interface.linkDisplay)}")
        } else if extcapConfig {
            for (number, argument) in interface.arguments.enumerated() { Console.line("arg {number=\(number)}\(argument)") }
        } else if capture, let fifo {
            try capture(interface, into: fifo)
        } else {
            throw CommandFailure(.usage, "--extcap-interface needs --extcap-dlts, --extcap-config, or --capture with --fifo PATH")
        }
    }

    private func printInterfaces() {
        Console.line("extcap {version=\(Bluebench.version)}{help=https://www.wireshark.org/docs/man-pages/extcap.html}{display=Bluebench}")
        for interface in Self.interfaces { Console.line("interface {value=\(interface.name)}{display=\(Self.safe(interface.display))}") }
    }

    private func capture(_ interface: Interface, into fifo: String) throws {
        if interface.kind == .air {
            // The command prints the ports of the dongles.
            let command = try DongleCommand.parse(["--tcp", "\(tcp)", "--count", "\(count)", "--profile", "dual", "--air", fifo])
            return try command.run()
        }
        guard let device = interface.device ?? device, !device.isEmpty else {
            throw CommandFailure(.usage, "\(interface.name) needs --device tcp:HOST:PORT, unix:PATH, serial:PATH or usb:...")
        }
        var words = ["--write=\(fifo)", "--quiet"]
        if let between, !between.isEmpty { words.append("--between=\(between)") }
        let command = try CaptureCommand.parse(words + ["--", device])
        try command.run()
    }

    // MARK: Interfaces

    private struct Interface {
        enum Kind { case air, device }

        var name: String
        var display: String
        var kind: Kind
        /// The selector, if the interface implies it.
        var device: String?

        var linkType: Int { kind == .air ? 256 : 201 }
        var linkName: String { kind == .air ? "BLUETOOTH_LE_LL_WITH_PHDR" : "BLUETOOTH_HCI_H4_WITH_PHDR" }
        var linkDisplay: String { kind == .air ? "Bluetooth Low Energy air" : "Bluetooth HCI" }

        /// The options that Wireshark asks the user for.
        var arguments: [String] {
            if kind == .air {
                return [
                    "{call=--tcp}{display=First TCP port}{tooltip=Programs use the virtual dongles over H4 on this port and the next ones}"
                        + "{type=integer}{range=1,65535}{default=7001}",
                    "{call=--count}{display=Virtual dongles}{tooltip=Number of virtual dongles}{type=integer}{range=1,64}{default=2}",
                ]
            }
            let between =
                "{call=--between}{display=Socket for a program}{tooltip=tcp-listen:PORT or unix-listen:PATH, where a program connects to "
                + "use the device; empty to listen to advertisers}{type=string}{placeholder=tcp-listen:7001}"
            guard device == nil else { return [between] }
            return [
                "{call=--device}{display=Device}{tooltip=tcp:HOST:PORT, unix:PATH, serial:PATH or usb:BUS-PORT; "
                    + "bluebench share serves one on another machine}{type=string}{required=true}{placeholder=tcp:127.0.0.1:7002}", between,
            ]
        }
    }

    /// The dongles on USB, any other device, and the simulated air.
    private static var interfaces: [Interface] {
        let dongles = (try? USBEnumeration.dongles()) ?? []
        return dongles.map { dongle in
            let selector = "\(dongle.location)"
            let name = "bluebench-" + String(selector.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
            return Interface(
                name: name, display: "Bluebench: \(dongle.productName ?? "dongle") at \(selector)", kind: .device, device: selector)
        } + [
            Interface(name: "bluebench-device", display: "Bluebench: a device, also a shared one", kind: .device),
            Interface(name: "bluebench-air", display: "Bluebench: simulated air with virtual dongles", kind: .air),
        ]
    }

    /// Text from a device without the characters of the format.
    private static func safe(_ text: String) -> String { text.filter { !"{}".contains($0) } }
}
