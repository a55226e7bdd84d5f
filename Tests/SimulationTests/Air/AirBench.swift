import BBBenchTesting
import BBPackets
import BBTiming
import Testing

@testable import BBSimulation

/// An air for bare radios and link layers. Checks at the end of its test that nothing is left over.
final class AirBench {
    private let world: World
    private let location: SourceLocation
    var loop: RunLoop { world.loop }
    var air: Air { world.simulation.air }

    init(seed: UInt64 = 1, _ location: SourceLocation = #_sourceLocation) {
        world = World(seed: seed)
        self.location = location
    }

    func run(_ time: Microseconds = 100_000) throws {
        let loop = loop
        try loop.run { try await loop.sleep(for: time) }
    }

    /// Waits until links are idle on an undisturbed air, and checks that no procedure, instant, timeout, data or PDU is left.
    func rest(_ ends: [LinkEnd]) throws {
        for end in ends { end.backlog = 0 }
        air.propagation.setLoss(.init(), on: .init())
        let links = ends.compactMap(\.link)
        for _ in 0..<600 where !links.allSatisfy(\.isAtRest) { try run() }
        for link in links {
            #expect(link.isAtRest, "\(link.role) of a link that is \(link.isClosed ? "closed" : "open")", sourceLocation: location)
            if link.isClosed { #expect(link.radio.owner !== link, sourceLocation: location) }
        }
    }

    /// Ends a test with links: waits until they are idle, then removes them.
    func close(_ ends: [LinkEnd]) {
        air.observer = nil
        do { try rest(ends) } catch { Issue.record(error, sourceLocation: location) }
        for end in ends { end.link?.abandon() }
    }

    deinit {
        do { try world.close() } catch { Issue.record(error, sourceLocation: location) }
    }
}
