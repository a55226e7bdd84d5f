import BBPackets
import BBTiming
import Testing

@testable import BBCases
@testable import BBProducts

/// The lists for cases that follow from a maker's declarations.
struct DeclaredFactsTests {
    private static let properties = ["read": 0x02, "command": 0x04, "write": 0x08, "notify": 0x10, "indicate": 0x20]

    private static func facts(_ declares: DeviceDescription.Declares) -> [String: [CaseRecord]] {
        let service = DeviceDescription.Service(uuid: 0x1808, start: 1, end: 20)
        let rows: [(BluetoothUUID, UInt16, [String])] = [
            (0x2A18, 3, ["notify"]), (0x2A52, 6, ["write", "indicate"]), (0x2A51, 9, ["read"]), (0x2A00, 11, ["read", "write", "command"]),
        ]
        let all = rows.map { uuid, handle, names in
            var found = DeviceDescription.Characteristic(
                uuid: uuid, declaration: handle - 1, handle: handle, end: handle + 1,
                properties: names.reduce(0) { $0 | (properties[$1] ?? 0) })
            if names.contains("notify") || names.contains("indicate") {
                found.descriptors = [.init(uuid: .clientConfiguration, handle: handle + 1)]
            }
            return (service, found)
        }
        return Dictionary(uniqueKeysWithValues: DeclaredFacts(declares, all).lists).mapValues { list in
            list.compactMap { if case .record(let record) = $0 { record } else { nil } }
        }
    }

    /// The lists in which each entry of `protects:` appears, by what the characteristic offers and the entry says.
    @Test(
        arguments: [
            (.init(characteristic: 0x2A51), ["guardedReads"]), (.init(characteristic: 0x2A52), ["guardedSubscriptions"]),
            (.init(characteristic: 0x2A52, value: [1]), ["guardedSubscriptions", "guardedWrites"]),
            (.init(characteristic: 0x2A00, value: [1]), ["guardedCommands", "guardedReads", "guardedWrites"]),
            (.init(characteristic: 0x2A00, value: [1], access: [.read]), ["guardedReads"]),
            (.init(characteristic: 0x2A18, access: [.write]), []), (.init(characteristic: 0x2AFF), []),
        ] as [(DeviceDescription.Protected, [String])])
    func aProtectedValueIsGuardedByAccess(_ entry: DeviceDescription.Protected, _ names: [String]) {
        var declares = DeviceDescription.Declares()
        declares.protects = [entry]
        #expect(Self.facts(declares).filter { !$0.value.isEmpty }.keys.sorted() == names)
    }

    @Test func aSenderIsListedByItsPropertyWithItsStimulus() throws {
        var declares = DeviceDescription.Declares()
        declares.sends = [
            .init(characteristic: 0x2A18, within: .milliseconds(1_200)),
            .init(characteristic: 0x2A52, within: .seconds(1), stimulus: .init(characteristic: 0x2A52, value: [4, 1])),
            .init(characteristic: 0x2A52, within: .seconds(1), stimulus: .init(characteristic: 0x2AFF, value: [4])),
        ]
        declares.changes = .init(characteristic: 0x2A00, value: [6, 1], undo: [6, 0])
        let facts = Self.facts(declares)
        let sending = try #require(facts["sending"]?.first)
        #expect(sending["handle"] == .number(3) && sending["seconds"] == .number(2) && sending["stimuli"] == .number(0))
        let indications = try #require(facts["sendingIndications"])
        #expect(indications.count == 1 && indications[0]["stimulus"] == .number(6) && indications[0]["command"] == .octets([4, 1]))
        let changing = try #require(facts["changing"]?.first)
        #expect(changing["handle"] == .number(11) && changing["command"] == .octets([6, 1]) && changing["undo"] == .octets([6, 0]))
    }

    /// A control point may want its own subscription before it is written; what is judged is subscribed to by the case itself.
    @Test(
        arguments: [
            (0x2A18, .init(characteristic: 0x2A52, value: [1, 1]), 7), (0x2A52, .init(characteristic: 0x2A52, value: [4, 1]), 0),
            (0x2A18, .init(characteristic: 0x2A00, value: [1]), 0), (0x2A18, nil, 0),
        ] as [(BluetoothUUID, DeviceDescription.Stimulus?, Int)])
    func aStimulusIsListedWithItsSubscription(
        _ judged: BluetoothUUID, _ stimulus: DeviceDescription.Stimulus?, _ handle: Int
    ) throws {
        var declares = DeviceDescription.Declares()
        declares.sends = [.init(characteristic: judged, within: .seconds(1), stimulus: stimulus)]
        declares.changes = .init(characteristic: 0x2A52, value: [6, 1], undo: [6, 0])
        let facts = Self.facts(declares)
        let sender = try #require(facts[judged == 0x2A18 ? "sending" : "sendingIndications"]?.first)
        #expect(sender["stimulusConfigurations"] == .number(handle == 0 ? 0 : 1))
        if handle > 0 {
            #expect(sender["stimulusConfiguration"] == .number(handle) && sender["stimulusSubscription"] == .octets([2, 0]))
        }
        #expect(facts["changing"]?.first?["stimulusConfiguration"] == .number(7))
    }

    @Test func aChannelIsListedByWhatItDeclares() {
        var declares = DeviceDescription.Declares()
        declares.channels = [.init(psm: 0x85, echoes: true), .init(psm: 0x86, needs: .authentication), .init(psm: 0x87)]
        let facts = Self.facts(declares)
        #expect(facts["echoingChannels"]?.map { $0["psm"] } == [.number(0x85)])
        #expect(facts["guardedChannels"]?.map { [$0["psm"], $0["needs"]] } == [[.number(0x86), .text("authentication")]])
    }
}
