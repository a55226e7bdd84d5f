import Packets

/// Commands of this controller's own. OGF 0x3F.
extension CommandTable {
    /// Write_BD_ADDR: six octets, least significant first. The address stays until it is written again; nothing may be under way.
    static let writeAddress: UInt16 = 0xFC06

    mutating func addVendor() {
        addVendor(Self.writeAddress, "VS_Write_BD_ADDR") { (controller, parameters) throws(CommandFailure) in
            guard parameters.count == 6, let address = DeviceAddress(octets: parameters, at: 0, kind: .public) else {
                throw .invalidParameters
            }
            try Check.that(controller.isIdle, else: .disallowed)
            controller.setAddress(address)
        }
    }
}
