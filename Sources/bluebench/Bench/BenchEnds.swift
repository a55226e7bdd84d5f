import BBTransport

/// The devices of a run: `--tester`, `--subject` and `--subject-port`.
struct BenchEnds {
    enum Subject: Equatable {
        case device(DeviceSelector)
        /// A device with its own host, found over the air.
        case overTheAir
        /// A device with its own host, which connects to a virtual controller served here.
        case port(SocketAddress)
    }

    /// The option's value for a subject with its own host that is found over the air.
    static let overTheAir = "air"

    let tester: DeviceSelector
    let subject: Subject

    /// - Parameter isAlone: true to test the subject without a tester.
    init(tester: String, subject: String, port: String?, isAlone: Bool = false) throws {
        do { self.tester = try DeviceSelector(tester) } catch { throw CommandFailure(error) }
        if let port {
            guard self.tester == .virtual else {
                throw CommandFailure(
                    .usage, "--subject-port needs a virtual tester, because the host's controller is simulated: leave --tester out")
            }
            self.subject = .port(try Self.listeningAddress(port))
            return
        }
        do {
            self.subject = subject == Self.overTheAir ? .overTheAir : .device(try DeviceSelector(subject))
        } catch { throw CommandFailure(error) }
        guard self.tester == .virtual || self.subject != .device(self.tester) else {
            throw CommandFailure(.usage, "tester and subject are the same device, \(self.tester): a bench needs two")
        }
        guard isAlone || (self.tester == .virtual) == (self.subject == .device(.virtual)) else {
            throw CommandFailure(
                .usage,
                self.tester == .virtual
                    ? "--subject \(subject) is a real device, but the tester is virtual: name a real tester with --tester, or no device"
                    : "--tester \(tester) is a real device, but the DUT is virtual: name a real DUT with --subject or --peer, or no device")
        }
    }

    /// True if both devices are virtual and in this process.
    var areVirtual: Bool { subject == .device(.virtual) }

    /// The subject's selector, if the bench uses its controller.
    var subjectDevice: DeviceSelector? {
        if case .device(let selector) = subject { selector } else { nil }
    }

    /// Parses a socket to listen on.
    ///
    /// - Throws: a usage error that names the option.
    static func listeningAddress(_ text: String, option: String = "--subject-port") throws -> SocketAddress {
        if text.hasPrefix("unix-listen:") { return .unix(path: String(text.dropFirst("unix-listen:".count))) }
        let parts = text.split(separator: ":").map(String.init)
        guard parts.count >= 2, parts[0] == "tcp-listen", let port = UInt16(parts[parts.count - 1]) else {
            throw CommandFailure(.usage, "\(option) takes tcp-listen:PORT, tcp-listen:HOST:PORT or unix-listen:PATH, not '\(text)'")
        }
        return .tcp(host: parts.count > 2 ? parts[1..<(parts.count - 1)].joined(separator: ":") : "127.0.0.1", port: port)
    }
}
