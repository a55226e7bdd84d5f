import BBPackets
import BBTiming

/// Mutates frames with knowledge of their PDUs: fields at and beyond limits, contradicting counts, missing or extra octets, PDUs inserted
/// and removed.
struct Mutation {
    let target: FuzzTarget
    var random: RandomSource

    /// An input that differs in one to four places.
    mutating func changed(frames input: [UInt8], room: Int) -> [UInt8] {
        var frames = Frames(input)
        for _ in 0...below(4) { apply(to: &frames) }
        return frames.octets(room: room)
    }

    /// The mutation of an input without frames.
    mutating func changed(whole input: [UInt8], room: Int) -> [UInt8] {
        if target.isText, random.chance(0.9) {
            var text = TextMutation(random: RandomSource(seed: random.next()))
            return text.changed(input, room: room)
        }
        var octets = input
        for _ in 0...below(4) { disturb(&octets) }
        return Array(octets.prefix(room))
    }

    private mutating func apply(to frames: inout Frames) {
        guard !frames.list.isEmpty, !random.chance(0.2) else { return insert(into: &frames) }
        let index = below(frames.list.count)
        switch below(10) {
        case 0: frames.list.remove(at: index)
        case 1: frames.list.insert(frames.list[index], at: below(frames.list.count + 1))
        case 2: frames.list.swapAt(index, below(frames.list.count))
        case 3: frames.list[index].action = Frames.Action(rawValue: UInt8(truncatingIfNeeded: random.next()))
        case 4: if random.chance(0.2) { frames.settings = UInt8(truncatingIfNeeded: random.next()) }
        case 5, 6: disturb(&frames.list[index].packet)
        default: changeField(of: &frames.list[index])
        }
    }

    mutating func below(_ limit: Int) -> Int { limit > 0 ? Int(random.next() % UInt64(limit)) : 0 }

    // MARK: Whole PDUs

    private mutating func insert(into frames: inout Frames) {
        guard frames.list.count < Frames.most else { return }
        let action = Frames.Action(rawValue: UInt8(truncatingIfNeeded: random.next()))
        let packet = target.layer?(action).flatMap { Self.random($0, using: &random) } ?? random.octets(below(30))
        frames.list.insert(Frames.Frame(action: action, packet: packet), at: below(frames.list.count + 1))
    }

    /// A PDU of the layer with legal values, mostly referring to objects that may exist.
    static func random(_ layer: Layer, using random: inout RandomSource) -> [UInt8]? {
        let all = declarations[layer] ?? []
        guard let declaration = all.randomElement(using: &random) else { return nil }
        var pdu = declaration.random(using: &random)
        for index in pdu.fields.indices where pdu.fields[index].name.hasSuffix("Handle") && random.chance(0.8) {
            pdu.fields[index].value = .integer(Int128(random.next() % 3))
        }
        return try? pdu.bytes()
    }

    /// Declarations by layer; commands only if the controller knows them.
    private static let declarations: [Layer: [PDUDeclaration]] = {
        var table = Dictionary(grouping: PDUCatalog.all, by: \.layer)
        table[.hciCommands]?.removeAll { !knownCommands.contains(UInt16(truncatingIfNeeded: $0.code)) }
        return table
    }()

    // MARK: Octets

    private mutating func disturb(_ packet: inout [UInt8]) {
        guard !packet.isEmpty else {
            packet = random.octets(1 + below(8))
            return
        }
        let index = below(packet.count)
        switch below(7) {
        case 0: packet.removeLast(1 + below(packet.count))
        case 1: packet += random.octets(1 + below(40))
        case 2: packet[index] ^= 1 << UInt8(below(8))
        case 3: packet[index] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF][below(6)]
        case 4: packet[index] &+= random.chance(0.5) ? 1 : 255
        case 5: packet.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
        default: packet[index] = UInt8(truncatingIfNeeded: random.next())
        }
    }

    // MARK: Fields

    private mutating func changeField(of frame: inout Frames.Frame) {
        guard let layer = target.layer?(frame.action) else { return disturb(&frame.packet) }
        var pdu = DynamicPDU(layer: layer, bytes: frame.packet)
        guard let declaration = pdu.declaration, !pdu.fields.isEmpty else { return disturb(&frame.packet) }
        change(&pdu.fields, declaration.fields)
        // The length field is correct most of the time.
        if random.chance(0.9) { pdu.lengthInHeader = nil }
        if let bytes = try? pdu.bytes() { frame.packet = bytes }
    }

    private mutating func change(_ fields: inout [DynamicField], _ declarations: [FieldDeclaration]) {
        guard !fields.isEmpty else { return }
        let index = below(fields.count)
        let declaration = declarations.first { $0.name == fields[index].name }
        change(&fields[index].value, declaration)
    }

    private mutating func change(_ value: inout FieldValue, _ declaration: FieldDeclaration?) {
        switch value {
        case .integer: value = .integer(number(declaration))
        case .octets(var octets):
            disturb(&octets)
            value = .octets(octets)
        case .structure(var fields):
            change(&fields, declaration?.inner ?? [])
            value = .structure(fields)
        case .list(var elements):
            let index = below(elements.count)
            switch below(3) {
            case 0 where !elements.isEmpty: elements.remove(at: index)
            case 1 where !elements.isEmpty: elements.append(elements[index])
            default: if !elements.isEmpty { change(&elements[index], declaration) }
            }
            value = .list(elements)
        }
    }

    /// Limits, their neighbours, and random values.
    private mutating func number(_ declaration: FieldDeclaration?) -> Int128 {
        let width = max(1, declaration?.width ?? 8)
        var numbers: [Int128] = [0, 1, 2, Int128(1) << Int128(width - 1), Int128(1) << Int128(width) - 1]
        if let range = declaration?.range {
            numbers += [range.lowerBound - 1, range.lowerBound, range.upperBound, range.upperBound + 1].map { Int128($0) }
        }
        numbers += (declaration?.labels ?? []).map { Int128($0.value) }
        if random.chance(0.3) { return Int128(random.next()) & (Int128(1) << Int128(min(width, 64)) - 1) }
        return numbers[below(numbers.count)]
    }
}
