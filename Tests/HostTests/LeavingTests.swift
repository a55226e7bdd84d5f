import BBBenchTesting
import BBHCI
import BBPackets
import BBTiming
import Testing

@testable import BBHost

@Suite struct LeavingTests {
    /// A host that leaves stops its link, advertising and scan, even if the caller is cancelled.
    @Test(arguments: [false, true])
    func nothingIsLeftOnTheAir(_ isCancelled: Bool) throws {
        try SimulatedHosts.run { hosts in
            let (central, peripheral) = try await hosts.link()
            _ = try await hosts.peripheral.advertise(AdvertisingSettings(data: AdvertisingData([.completeLocalName("again")])))
            _ = try await hosts.peripheral.scan()
            let leaving = hosts.loop.start { await hosts.peripheral.leave() }
            if isCancelled { leaving.cancel() }
            await leaving.ended()
            #expect(peripheral.disconnectReason == .connectionTerminatedByLocalHost)
            #expect(try await central.ended(within: .milliseconds(100)) == .remoteUserTerminatedConnection)
            await hosts.central.leave()
            #expect(hosts.base.simulation.isAtRest)
        }
    }

    /// A controller that never answers, stops answering or gives no credit does not block; HCI_Reset is the last command it gets.
    @Test(arguments: [(0, 1), (1, 1), (1, 0)])
    func aSilentControllerHoldsNobodyUp(_ answers: Int, _ credits: UInt8) throws {
        try World.run { world in
            let fake = FakeController(world)
            if answers > 0 { try await fake.host.start() }
            for opcode in [HCICommands.Reset.opcode, HCICommands.LERand.opcode] { fake.script[opcode] = { _ in [] } }
            if credits == 0 { fake.emit(HCIPacket(completeOpcode: CommandQueue.noCommand, returns: [], credits: 0)) }
            let asking = world.loop.start { _ = try await fake.host.send(HCICommands.LERand()) }
            try await world.loop.sleep(for: 10)
            asking.cancel()
            let began = world.loop.now
            await fake.host.leave()
            #expect(world.loop.now - began <= .seconds(1))
            #expect(fake.opcodes.last == HCICommands.Reset.opcode)
        }
    }
}
