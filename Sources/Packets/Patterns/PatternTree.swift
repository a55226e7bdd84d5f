/// The parts of a regular expression.
indirect enum PatternTree {
    case empty
    case set(ScalarSet)
    case check(LinearPattern.Assertion)
    case sequence([PatternTree])
    case choice([PatternTree])
    /// - Parameter most: nil for any number.
    case repetition(PatternTree, least: Int, most: Int?)

    /// A bound of sizes, beyond which they are not counted.
    private static let large = 1 << 20

    /// Number of instructions, at most `large`.
    var size: Int {
        let size: Int =
            switch self {
            case .empty: 0
            case .set, .check: 1
            case .sequence(let parts): parts.reduce(0) { min(Self.large, $0 + $1.size) }
            case .choice(let parts): parts.reduce(0) { min(Self.large, $0 + $1.size + 2) }
            case .repetition(let part, let least, let most): Self.size(of: part.size, least, most)
            }
        return min(Self.large, size)
    }

    private static func size(of part: Int, _ least: Int, _ most: Int?) -> Int {
        most.map { part * least + (part + 1) * ($0 - least) } ?? (part * (least + 1) + 2)
    }

    func emit(into program: inout [LinearPattern.Instruction]) {
        switch self {
        case .empty: break
        case .set(let set): program.append(.consume(set))
        case .check(let assertion): program.append(.check(assertion))
        case .sequence(let parts): for part in parts { part.emit(into: &program) }
        case .choice(let parts): Self.emit(choice: parts, into: &program)
        case .repetition(let part, let least, let most):
            for _ in 0..<least { part.emit(into: &program) }
            guard let most else { return Self.emit(anyNumberOf: part, into: &program) }
            var splits: [Int] = []
            for _ in least..<most {
                splits.append(program.count)
                program.append(.split(0))
                part.emit(into: &program)
            }
            for split in splits { program[split] = .split(program.count) }
        }
    }

    private static func emit(anyNumberOf part: PatternTree, into program: inout [LinearPattern.Instruction]) {
        let split = program.count
        program.append(.split(0))
        part.emit(into: &program)
        program.append(.jump(split))
        program[split] = .split(program.count)
    }

    private static func emit(choice parts: [PatternTree], into program: inout [LinearPattern.Instruction]) {
        var jumps: [Int] = []
        for part in parts.dropLast() {
            let split = program.count
            program.append(.split(0))
            part.emit(into: &program)
            jumps.append(program.count)
            program.append(.jump(0))
            program[split] = .split(program.count)
        }
        parts.last?.emit(into: &program)
        for jump in jumps { program[jump] = .jump(program.count) }
    }
}
