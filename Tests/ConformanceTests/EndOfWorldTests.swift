import BBTiming
import Testing

@testable import BBCases
@testable import BBConformance

struct EndOfWorldTests {
    /// Hosts, controllers, links and the air refer to each other and to the loop: after a case, nothing of them remains in memory.
    @Test(arguments: [
        "hci/local-loopback", "gap-adv/interval", "gap-conn/never-established", "gatt/notification-burst", "encryption/central-starts",
        "smp-sc/just-works",
        "smp-negative/initiator-invalid-key[key=off-curve-x]", "privacy/connects-to-identity",
    ])
    func nothingStaysOfACase(id: String) throws {
        #expect(try loop(after: id, in: World()) == nil)
    }

    @Test(arguments: ["gap-adv/interval", "gatt/notification-burst", "smp-sc/just-works"])
    func nothingStaysOfNeighbours(id: String) throws {
        var world = World()
        (world.neighbours.advertisers, world.neighbours.scanners, world.neighbours.links, world.neighbours.phones) = (2, 2, 2, 1)
        #expect(try loop(after: id, in: world) == nil)
    }

    /// The loop of a case if something still refers to it.
    private func loop(after id: String, in world: World) throws -> RunLoop? {
        let setup = BenchSetup(tester: .virtual, subject: .virtual, seed: 1)
        let plan = try RunPlan(catalogue: SuiteTests.catalogue(), setup: setup, filters: [id])
        let runner = Runner(plan, recorder: try Recorder(path: nil), surroundings: world)
        let testCase = try #require(plan.cases.first)
        weak var loop: RunLoop?
        do {
            let made = RunLoop()
            loop = made
            #expect(runner.run(testCase, on: made).verdict == .pass)
            made.end()
        }
        return loop
    }
}
