import BBCapture
import BBPackets
import BBTraffic
import Foundation

/// A temporary file for one test.
func withTemporaryFile<Value>(_ ending: String, _ body: (String) throws -> Value) throws -> Value {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("capture-\(UUID().uuidString).\(ending)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try body(path)
}

func contents(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(fileURLWithPath: path))) }
func put(_ octets: some Sequence<UInt8>, into path: String) throws { try Data(octets).write(to: URL(fileURLWithPath: path)) }

/// Packets of every kind in both directions, as a host and a controller might exchange them.
let sampleRecords: [CaptureRecord] = {
    let packets: [(HCIPacket, CaptureDirection)] = [
        (HCIPacket(.command, [0x03, 0x0C, 0x00]), .hostToController),
        (HCIPacket(.event, [0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]), .controllerToHost),
        (HCIPacket(.acl, [0x40, 0x20, 0x03, 0x00, 1, 2, 3]), .hostToController),
        (HCIPacket(.acl, [0x40, 0x20, 0x01, 0x00, 9]), .controllerToHost),
        (HCIPacket(.sco, [0x41, 0x00, 0x02, 7, 7]), .hostToController),
        (HCIPacket(.sco, [0x41, 0x00, 0x00]), .controllerToHost),
        (HCIPacket(.iso, [0x42, 0x20, 0x04, 0x00, 1, 2, 3, 4]), .hostToController),
        (HCIPacket(.iso, [0x42, 0x20, 0x00, 0x00]), .controllerToHost),
        (HCIPacket(.event, []), .controllerToHost),
    ]
    return packets.enumerated().map { index, entry in
        CaptureRecord(time: .virtualEpoch + Microseconds(index * 625), content: .hci(entry.0, entry.1))
    }
}()

let sampleFrame = AirFrame(
    rfChannel: 39, signalPower: -42, noisePower: -99, referenceAccessAddress: 0x8E89_BED6,
    flags: [.dewhitened, .signalPowerValid, .noisePowerValid, .referenceAccessAddressValid, .crcChecked, .crcValid],
    channel: .dataFromPeripheral,
    modulation: .leCoded, bytes: [0xD6, 0xBE, 0x89, 0x8E, 0, 2, 0, 0xAA, 0xBB, 0xCC])

let sampleBasebandFrame = BasebandFrame(
    rfChannel: 78, signalPower: -42, transport: .acl, lap: 0x9E_8B33, referenceUAP: 0, packetHeader: 0x2_1234,
    flags: [.dewhitened, .signalPowerValid, .payloadPresent, .hecChecked, .hecValid], payload: [1, 2, 3, 4])

extension BasebandFrame {
    func noted(isFromCentral: Bool, onAir: [UInt8]) -> BasebandFrame {
        var frame = self
        (frame.isFromCentral, frame.onAir) = (isFromCentral, onAir)
        return frame
    }
}

func write(_ records: [CaptureRecord], to path: String, interfaces: [CaptureInterface] = []) throws {
    let writer = try CaptureWriter(path: path)
    for interface in interfaces { _ = try writer.addInterface(interface) }
    for record in records { try writer.write(record) }
    try writer.finish()
}
