import Bluebench
import Lamp
import Testing

/// The lamp and its remote on one simulated air, in virtual time.
@Suite struct LampTests {
    /// Runs a test with a lamp and a connected remote.
    private func withLamp(loss: Double = 0, _ body: @escaping (Bench, Lamp, LampRemote) async throws -> Void) throws {
        let bench = Bench(seed: 7)
        defer { bench.close() }
        bench.setPacketErrorRate(loss)
        try bench.run {
            let lamp = Lamp(on: try await bench.simulated("Lamp"))
            let serving = bench.start { try await lamp.run() }
            try await body(bench, lamp, try await LampRemote.connect(with: try await bench.simulated("Phone")))
            serving.cancel()
        }
    }

    @Test(arguments: [0, 0.2]) func itIsSwitched(loss: Double) throws {
        try withLamp(loss: loss) { _, lamp, remote in
            let (before, after) = (try await remote.read(), try await remote.set(75))
            #expect(before == 0 && after == 75 && lamp.brightness == 75)
        }
    }

    @Test func itRefusesMoreThanAHundredPercent() throws {
        try withLamp { _, lamp, remote in
            let error = await #expect(throws: BluetoothError.self) { _ = try await remote.set(101) }
            guard case .att(.valueNotAllowed, _) = error?.reason else { throw Unexpected(error: error) }
            #expect(lamp.brightness == 0)
        }
    }

    /// Ten minutes of virtual time.
    @Test func itSwitchesItselfOff() throws {
        try withLamp { bench, lamp, remote in
            let changes = try await remote.changes()
            _ = try await remote.set(30)
            let began = bench.now
            #expect(try await changes.next(within: .seconds(700)) == [0])
            #expect(lamp.brightness == 0)
            #expect((590...601).contains((bench.now - began).components.seconds))
        }
    }

    @Test func itServesTheNextRemote() throws {
        try withLamp { bench, _, remote in
            let phone = remote.connection.host
            for percent in [UInt8(1), 2, 3] {
                for connection in phone.connections { try await connection.disconnect() }
                #expect(try await LampRemote.connect(with: phone).set(percent) == percent)
            }
        }
    }
}

struct Unexpected: Error {
    let error: BluetoothError?
}
