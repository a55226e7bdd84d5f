import BBBenchTesting
import BBCapture
import BBHost
import BBPackets
import BBSimulation
import BBTiming
import BBTransport
import Foundation

@testable import BBSessions

/// A screen that keeps what it is shown, and answers questions with given lines.
final class RecordedScreen: Screen {
    private(set) var lines: [String] = []
    private(set) var messages: [String] = []
    private(set) var waits: [String] = []
    private var answers: [String?]
    private(set) var isForgotten = false
    var showsProgress: Bool { false }

    init(answers: [String?] = []) { self.answers = answers }

    func line(_ text: String) { lines.append(text) }
    func write(_ text: String) { lines.append(text.trimmingCharacters(in: .newlines)) }
    func complain(_ text: String) { messages.append(text) }
    func progress(_ text: String) {}
    func ask(_ answer: @escaping (String?) -> Void) { if !answers.isEmpty { answer(answers.removeFirst()) } }
    func forgetQuestion() { isForgotten = true }
    func wait(for text: String, until deadline: Microseconds) { waits.append(text) }
    func endWait() {}
}

/// A folder for one test, with files.
func withFolder<Value>(_ files: [String: String] = [:], _ body: (String) throws -> Value) throws -> Value {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sessions-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    for (name, text) in files {
        let file = folder.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: file, atomically: true, encoding: .utf8)
    }
    if files.isEmpty { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
    return try body(folder.path)
}

extension World {
    /// A started host on a virtual controller for both transports, closed after the test.
    func addHost(_ number: UInt64, database: GATTDatabase = GATTDatabase(deviceName: "peer")) async throws -> BBHost.Host {
        var configuration = ControllerConfiguration(address: DeviceAddress(value: 0x02BB_0000_0000 + number, kind: .public))
        configuration.profile = .dual
        let host = BBHost.Host(loop: loop, transport: try simulation.addController(configuration).host, database: database, seed: number)
        host.keys = KeyStore()
        atEnd { host.close() }
        try await host.start()
        return host
    }
}

/// Packets of one device: two commands with their answers, of which the second is refused, data of a connection, and a command without one.
let sampleRecords: [CaptureRecord] = {
    let packets: [(HCIPacket, CaptureDirection)] = [
        (HCIPacket(.command, [0x03, 0x0C, 0x00]), .hostToController),
        (HCIPacket(.event, [0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]), .controllerToHost),
        (HCIPacket(.command, [0x30, 0x20, 0x02, 0x40, 0x00]), .hostToController),
        (HCIPacket(.event, [0x0E, 0x08, 0x01, 0x30, 0x20, 0x02, 0x40, 0x00, 0x00, 0x00]), .controllerToHost),
        (HCIPacket(.acl, [0x40, 0x20, 0x07, 0x00, 0x03, 0x00, 0x04, 0x00, 0x0A, 0x03, 0x00]), .hostToController),
        (HCIPacket(.command, [0x09, 0x10, 0x00]), .hostToController),
    ]
    return packets.enumerated().map { index, entry in
        CaptureRecord(time: .virtualEpoch + Microseconds(Int64(index) * 1_500), content: .hci(entry.0, entry.1))
    }
}()

extension LiveStore {
    /// The store of a page with the sample's packets repeated.
    static func sample(repeated count: Int = 1) -> LiveStore {
        let interface = CaptureInterface(name: "dongle", linkType: .h4WithDirection)
        let store = LiveStore([interface], names: true, rules: [], notes: CaptureNotes())
        for _ in 0..<count { for record in sampleRecords { _ = store.add(record) } }
        return store
    }

    /// A view that has judged every packet.
    func view(_ fields: [String: String]) throws -> LiveView {
        let view = LiveView(try PacketSelection(LiveQuery(fields).text), self)
        while !view.isDone { view.scan(self) }
        return view
    }
}
