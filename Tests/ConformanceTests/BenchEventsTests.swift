import BBHCI
import BBPackets
import BBTiming
import BBTransport
import Testing

@testable import BBConformance

/// The bench enables the events that it knows, and accepts each version of an event.
struct BenchEventsTests {
    @Test func onlyDeclaredEventsAreAskedFor() {
        #expect(BenchEvents.le.isSuperset(of: [.leConnectionComplete, .leEnhancedConnectionComplete, .leEnhancedConnectionCompleteV2]))
        #expect(BenchEvents.page1.contains(.leMeta) && BenchEvents.page1.contains(.disconnectionComplete))
        let declared = PDUCatalog.all.reduce(into: UInt64(0)) { bits, declaration in
            if case .le(let bit) = declaration.maskPosition { bits |= 1 << UInt64(bit) }
        }
        #expect(BenchEvents.le.rawValue & ~declared == 0)
        #expect(BenchEvents.le.isDisjoint(with: [.leCISEstablishedV2]), "no case takes it for its [v1]")
    }

    enum Version: CaseIterable, Sendable { case plain, enhanced, enhancedV2 }

    /// A controller may report a connection in three events.
    @Test(arguments: Version.allCases) func casesTakeEveryConnectionComplete(_ version: Version) throws {
        let catalogue = try SuiteTests.catalogue()
        let cases = try RunPlan.select(catalogue.cases, ["gap-conn", "phy", "gatt/whole-session"])
        for testCase in cases where !Self.masking.contains(where: testCase.id.hasPrefix) {
            let result = try Trial.run(testCase.id, catalogue: catalogue) { direction, packet in
                direction == .toHost ? [Self.told(packet, as: version)] : [packet]
            }
            #expect(result.verdict == .pass, "\(testCase.id): \(result.message)")
        }
    }

    /// The cases of a host that has masked the other events.
    private static let masking = ["gap-conn/plain-event", "gap-conn/peer-clock-accuracy[masked=1"]

    private static func told(_ packet: HCIPacket, as version: Version) -> HCIPacket {
        guard let event = try? packet.event(as: HCIEvents.LEConnectionComplete.self) else { return packet }
        switch version {
        case .plain: return packet
        case .enhanced:
            return HCIPacket(
                event: HCIEvents.LEEnhancedConnectionComplete(
                    status: event.status, connectionHandle: event.connectionHandle, role: event.role,
                    peerAddressType: event.peerAddressType,
                    peerAddress: event.peerAddress, connectionInterval: event.connectionInterval,
                    peripheralLatency: event.peripheralLatency, supervisionTimeout: event.supervisionTimeout,
                    centralClockAccuracy: event.centralClockAccuracy))
        case .enhancedV2:
            return HCIPacket(
                event: HCIEvents.LEEnhancedConnectionCompleteV2(
                    status: event.status, connectionHandle: event.connectionHandle, role: event.role,
                    peerAddressType: event.peerAddressType,
                    peerAddress: event.peerAddress, connectionInterval: event.connectionInterval,
                    peripheralLatency: event.peripheralLatency, supervisionTimeout: event.supervisionTimeout,
                    centralClockAccuracy: event.centralClockAccuracy, advertisingHandle: 0xFF, syncHandle: 0xFFFF))
        }
    }
}
