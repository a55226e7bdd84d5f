import BBPackets
import BBSimulation

/// The baseband's functions by name, for comparison with another implementation. Numbers are hexadecimal; the least significant bit is sent
/// first.
enum Baseband {
    private struct Refusal: Error {
        var text: String
    }

    static func answer(_ name: String, _ words: [String]) -> String {
        do {
            let given = Arguments(words: words)
            if name == "frame" { return try frame(given) }
            return JSON.object(try compute(name, given).map { ($0.0, JSON.string(String($0.1, radix: 16))) })
        } catch let refusal as Refusal {
            return JSON.object([("error", JSON.string(refusal.text))])
        } catch {
            return JSON.object([("error", JSON.string("\(error)"))])
        }
    }

    private struct Arguments {
        var words: [String]

        func word(_ index: Int) throws -> String {
            guard words.indices.contains(index) else { throw Refusal(text: "argument \(index) is missing") }
            return words[index]
        }

        func number<Number: FixedWidthInteger>(_ index: Int) throws -> Number {
            guard let value = Number(try word(index), radix: 16) else { throw Refusal(text: "argument \(index) is no number in range") }
            return value
        }

        func flag(_ index: Int) throws -> Bool { try word(index) == "1" }

        func type(_ index: Int) throws -> BREDRPacketType {
            guard let type = BREDRPacketType(rawValue: try word(index)) else { throw Refusal(text: "argument \(index) is no packet type") }
            return type
        }

        func octets(_ index: Int) throws -> [UInt8] {
            guard let octets = try word(index) == "-" ? [] : Hex.parse(word(index)) else {
                throw Refusal(text: "argument \(index) is no octets")
            }
            return octets
        }
    }

    private static func compute(_ name: String, _ given: Arguments) throws -> [(String, UInt128)] {
        switch name {
        case "access-code": [("value", AccessCode.of(lap: try given.number(0)))]
        case "type": try type(given)
        case "air-time": [("value", UInt128(try given.type(0).airTime(payload: try given.number(1))))]
        case "parity": [("value", UInt128(TwoThirdsCode.parity(try given.number(0))))]
        case "corrected":
            // All bits set indicate a block that cannot be decoded.
            [("value", UInt128(TwoThirdsCode.decode(try given.number(0)) ?? .max))]
        case "hop": [("value", UInt128(try hop(given)))]
        default: throw Refusal(text: "no function \(name)")
        }
    }

    private static func type(_ given: Arguments) throws -> [(String, UInt128)] {
        let type = try given.type(0)
        return [
            ("code", UInt128(type.code)), ("slots", UInt128(type.slots)), ("header", UInt128(type.payloadHeaderLength)),
            ("capacity", UInt128(type.capacity)),
        ]
    }

    /// Type, LT_ADDR, FLOW, ARQN, SEQN, UAP, clock, payload.
    private static func frame(_ given: Arguments) throws -> String {
        let type = try given.type(0)
        let header = BREDRHeader(
            ltAddr: try given.number(1), type: type.code, flow: try given.flag(2), arqn: try given.flag(3),
            seqn: try given.flag(4))
        let frame = BREDRFrame(type, header, payload: try given.octets(7), uap: try given.number(5), clock: try given.number(6))
        return JSON.object([
            ("header", JSON.string(String(frame.header, radix: 16))), ("payload", JSON.hex(frame.payload)),
            ("bits", "\(frame.payloadBits)"),
        ])
    }

    /// Returns a hop from its kind, the clock, the 28 bits of the address, and the arguments of the kind.
    private static func hop(_ given: Arguments) throws -> UInt8 {
        let (clock, address): (UInt32, UInt32) = (try given.number(1), try given.number(2))
        let kind = try given.word(0)
        let isResponse = clock & 2 != 0
        switch kind {
        case "basic": return HopSelection.basicChannel(clock: clock, address: address)
        case "adapted":
            guard let map = AdaptedChannelMap(try given.number(3)) else { throw Refusal(text: "no channel map") }
            return HopSelection.adaptedChannel(clock: clock, address: address, map: map)
        case "scan": return HopSelection.rfChannel(phase: PageHops.scanPhase(clock: clock), isResponse: false, address: address)
        case "page":
            let train = try given.flag(3) ? HopTrain.b : .a
            return HopSelection.rfChannel(phase: train.phase(clock: clock), isResponse: isResponse, address: address)
        case "peripheral-response":
            let phase = PageHops.peripheralResponsePhase(clock: try given.number(3), count: try given.number(4))
            return HopSelection.rfChannel(phase: phase, isResponse: isResponse, address: address)
        case "central-response":
            let phase = PageHops.centralResponsePhase(
                clock: try given.number(3), train: try given.flag(4) ? .b : .a, count: try given.number(5))
            return HopSelection.rfChannel(phase: phase, isResponse: isResponse, address: address)
        default: throw Refusal(text: "no hop \(kind)")
        }
    }
}
