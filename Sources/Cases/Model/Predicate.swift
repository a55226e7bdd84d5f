/// What a field of a PDU must be like.
public indirect enum Predicate: Sendable, Hashable {
    /// Anything, as long as the field is there.
    case any
    case equals(Operand)
    case not(Predicate)
    case anyOf([Predicate])
    case allOf([Predicate])
    /// Inclusive limits.
    case range(low: Operand?, high: Operand?)
    /// The number's bits under the mask.
    case masked(mask: Int, Predicate)
    /// No other bits than these.
    case bits(of: Operand)
    /// A number inside octets, least significant octet first.
    case integer(at: Int, octets: Int, isSigned: Bool, Predicate)
    /// How many octets, characters or elements.
    case length(Predicate)
    /// The octets or the text begin with, end with, or have in them.
    case starts(with: Operand)
    case ends(with: Operand)
    case contains(Operand)
    /// One element, or every element, of a list.
    case anyElement(Predicate)
    case everyElement(Predicate)
    /// Parts of a record by name; others are ignored.
    case parts([FieldPredicate])
}

/// A predicate on one field.
public struct FieldPredicate: Sendable, Hashable {
    public var name: String
    public var predicate: Predicate
    public var position: Position

    package init(name: String, predicate: Predicate, position: Position) {
        self.name = name
        self.predicate = predicate
        self.position = position
    }
}
