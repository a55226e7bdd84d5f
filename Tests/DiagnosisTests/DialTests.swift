import BBBluetoothCrypto
import BBCapture
import BBPackets
import BBTraffic
import Testing

@testable import BBDiagnosis

/// A host that dials a device for 21 s, twice, after a scan that heard one device.
private struct DialCase: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var heard: DeviceAddress?
    /// ADV_IND, or ADV_NONCONN_IND.
    var isConnectable = true
    var dialled: DeviceAddress
    /// The host dials the devices of its filter accept list.
    var usesList = false
    /// The identity of `irk` that the peer distributed before.
    var identity: DeviceAddress?
    var expected: String?

    init(
        _ description: String, heard: DeviceAddress?, isConnectable: Bool = true, dialled: DeviceAddress, identity: DeviceAddress? = nil,
        usesList: Bool = false, _ expected: String?
    ) {
        testDescription = description
        (self.heard, self.isConnectable, self.dialled) = (heard, isConnectable, dialled)
        (self.identity, self.usesList, self.expected) = (identity, usesList, expected)
    }
}

private let irk: UInt128 = 0x1011_1213_1415_1617_1819_1A1B_1C1D_1E1F
private let device = DeviceAddress(value: 0x0011_2200_0003)
private let other = DeviceAddress(value: 0xC000_0000_0001, kind: .random)
private let privateAddress = DeviceAddress.resolvable(irk: irk, prand: 0x4A_1122)

private let cases = [
    DialCase(
        "an identity whose private address is on the air", heard: privateAddress, dialled: device, identity: device, "dialled-identity"),
    DialCase(
        "a private address whose key is of another device", heard: privateAddress, dialled: device, identity: other,
        "connect-never-answered"),
    DialCase("a device that is not connectable", heard: device, isConnectable: false, dialled: device, "dialled-not-connectable"),
    DialCase(
        "an address of the other type", heard: device, dialled: DeviceAddress(value: device.value, kind: .random), "dialled-other-type"),
    DialCase("a device that advertises", heard: device, dialled: device, "connect-unheard-by-advertiser"),
    DialCase("a device that nobody heard", heard: other, dialled: device, "connect-never-answered"),
    DialCase(
        "an identity in the filter accept list whose private address is on the air", heard: privateAddress, dialled: device,
        identity: device,
        usesList: true, "dialled-identity"),
    DialCase("a filter accept list without a device on the air", heard: other, dialled: device, usesList: true, nil),
    DialCase("a capture without a scan", heard: nil, dialled: device, "connect-never-answered"),
]

@Suite struct DialTests {
    @Test(arguments: cases) fileprivate func whatIsDialledIsComparedWithTheAir(_ dial: DialCase) throws {
        var examiner = Examiner(rules: try DiagnosisRule.builtIn())
        var time: Int64 = 0
        func examine(_ packet: HCIPacket, _ direction: CaptureDirection, after seconds: Int64 = 1) {
            time += seconds * 1_000_000_000
            let moment = CaptureTime(nanoseconds: CaptureTime.virtualEpoch.nanoseconds + time)
            examiner.examine(CaptureRecord(time: moment, content: .hci(packet, direction)))
        }
        if let identity = dial.identity {
            let key = (0..<16).map { UInt8(truncatingIfNeeded: irk >> (8 * UInt128($0))) }
            examine(
                HCIPacket(
                    command: HCICommands.LEAddDeviceToResolvingList(
                        peerIdentityAddressType: identity.kind == .public ? .publicDevice : .randomDevice,
                        peerIdentityAddress: BDADDR(identity.value), peerIRK: key, localIRK: key)), .hostToController)
        }
        if let heard = dial.heard {
            let report = HCIEvents.LEAdvertisingReport.Report(
                eventType: dial.isConnectable ? 0 : 3, addressType: heard.kind == .public ? .publicDevice : .randomDevice,
                address: BDADDR(heard.value))
            examine(HCIPacket(event: HCIEvents.LEAdvertisingReport(reports: [report])), .controllerToHost)
        }
        for _ in 0..<2 {
            let accept = HCICommands.LEAddDeviceToFilterAcceptList(
                addressType: dial.dialled.kind == .public ? .publicDevice : .randomDevice, address: BDADDR(dial.dialled.value))
            examine(HCIPacket(command: accept), .hostToController)
            let connect = HCICommands.LECreateConnection(
                initiatorFilterPolicy: dial.usesList ? 1 : 0,
                peerAddressType: dial.dialled.kind == .public ? .publicDevice : .randomDevice, peerAddress: BDADDR(dial.dialled.value))
            examine(HCIPacket(command: connect), .hostToController)
            examine(HCIPacket(command: HCICommands.LECreateConnectionCancel()), .hostToController, after: 21)
            examine(
                HCIPacket(event: HCIEvents.LEConnectionComplete(status: .unknownConnectionIdentifier)), .controllerToHost)
        }
        let findings = examiner.finish().findings.filter {
            $0.rule.severity <= .symptom && $0.cause == nil && $0.rule.id != "command-unanswered"
        }
        #expect(findings.map(\.rule.id) == [dial.expected].compactMap(\.self))
    }
}
