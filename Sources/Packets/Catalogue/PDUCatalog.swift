/// Every declared PDU and every named value, looked up by name or by code.
public enum PDUCatalog {
    static func label(_ type: String, _ value: Int) -> String { "\(value)" }
}
