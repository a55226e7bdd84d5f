import BBPackets

/// Vendor commands of this controller (OGF 0x3F).
extension CommandTable {
    /// Write_BD_ADDR: six octets, least significant octet first. The address persists over a reset; not allowed while any activity is
    /// running.
    static let writeAddress: UInt16 = 0xFC06

    mutating func addVendor() {
        addVendor(Self.writeAddress, "VS_Write_BD_ADDR") { (controller, parameters) throws(CommandRefusal) in
            guard parameters.count == 6, let address = DeviceAddress(octets: parameters, at: 0, kind: .public) else {
                throw .invalidParameters
            }
            try Check.that(controller.isIdle, else: .disallowed)
            controller.setAddress(address)
        }
    }
}
