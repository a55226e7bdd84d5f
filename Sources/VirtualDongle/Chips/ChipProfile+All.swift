extension ChipProfile {
    /// All chips that a virtual dongle can emulate. A test checks that the table has no errors.
    public static let all: [ChipProfile] =
        ((try? ChipEntry.read()) ?? []).map { ChipProfile($0) } + BootModel.allCases.compactMap { waiting(for: $0) }

    /// A chip that needs firmware and is named like its model.
    private static func waiting(for model: BootModel) -> ChipProfile? {
        guard model != .intel else { return nil }
        let descriptors = model.descriptors(serialNumber: "")
        var chip = ChipProfile(
            name: model.rawValue, title: "\(model.rawValue), waits for its firmware", vendorID: descriptors.vendorID,
            productID: descriptors.productID, release: 0x0001)
        chip.boot = model
        return chip
    }
}
