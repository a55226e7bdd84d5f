/// A condition on a field of a PDU.
public indirect enum Predicate: Sendable, Hashable {
    /// Any value, if the field is present.
    case any
    case equals(Operand)
    case not(Predicate)
    case anyOf([Predicate])
    case allOf([Predicate])
    /// Inclusive limits.
    case range(low: Operand?, high: Operand?)
    /// The bits of a number under the mask.
    case masked(mask: Int, Predicate)
    /// A number without any bits other than these.
    case bits(of: Operand)
    /// A number inside octets, least significant octet first.
    case integer(at: Int, octets: Int, isSigned: Bool, Predicate)
    /// The number of octets, characters or elements.
    case length(Predicate)
    /// The octets or the text start with, end with, or contain the value.
    case starts(with: Operand)
    case ends(with: Operand)
    case contains(Operand)
    /// One element, or every element, of a list.
    case anyElement(Predicate)
    case everyElement(Predicate)
    /// Named parts of a record; other parts are ignored.
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
