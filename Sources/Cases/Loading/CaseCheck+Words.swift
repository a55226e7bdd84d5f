import BBPackets

extension CaseCheck {
    /// Reports words that a saved number is compared with: it never equals them, so inside `anyOf` and `not` the mistake would not show.
    /// Reports names that are neither a condition nor a part of the value.
    mutating func checkWords(_ predicate: Predicate, about shape: ValueShape, _ name: String, at position: Position) {
        switch (predicate, shape) {
        case (.equals(.literal(.text(let text))), .number) where CaseValue.text(text).asAddress == nil && BluetoothUUID(text) == nil:
            report(position, "\(name) is \(shape.words), which never equals '\(text)': write its number")
        case (.not(let inner), _), (.masked(_, let inner), _): checkWords(inner, about: shape, name, at: position)
        case (.anyOf(let all), _), (.allOf(let all), _): for inner in all { checkWords(inner, about: shape, name, at: position) }
        case (.anyElement(let inner), .list(let element)), (.everyElement(let inner), .list(let element)):
            checkWords(inner, about: element, name, at: position)
        case (.parts(let parts), .record(let shapes)):
            for part in parts {
                if let shape = shapes[part.name] { checkWords(part.predicate, about: shape, name + "." + part.name, at: part.position) }
            }
        case (.parts(let parts), .number), (.parts(let parts), .octets), (.parts(let parts), .address), (.parts(let parts), .uuid),
            (.parts(let parts), .list), (.parts(let parts), .plain):
            for part in parts {
                report(part.position, "\(name) is \(shape.words): " + SourceReader.unknownCondition(part.name))
            }
        default: break
        }
    }
}
