/// A row of the table of known dongles: matching numbers, behaviour and workarounds.
public struct KnownDongle: Sendable, Equatable {
    public var id: String
    /// Name for display.
    public var name: String
    public var match: Match
    /// Behaviour that violates the specification or is unexpected.
    public var conduct: String
    /// The relevant section of the specification, or the source of the information.
    public var source: String
    /// Switches of a virtual dongle with this behaviour, which are also the names of check-up findings.
    public var quirks: [String]
    /// Workarounds by name, from `ControllerWorkarounds` and `USBWorkarounds`, with a value if needed.
    public var workarounds: [String]
    /// Commands that the host does not send by itself.
    public var avoided: [String]
    /// Advice for the user.
    public var advice: String

    /// Numbers of a matching dongle; an empty list matches any number.
    public struct Match: Sendable, Equatable {
        public var usb: [USBPattern] = []
        public var release: [ClosedRange<UInt16>] = []
        public var company: [ClosedRange<UInt16>] = []
        public var hciVersion: [ClosedRange<UInt16>] = []
        public var hciRevision: [ClosedRange<UInt16>] = []
        public var lmpSubversion: [ClosedRange<UInt16>] = []
        public var firmware: [String] = []
        /// Matches only dongles identified as CSR clones.
        public var isClone = false

        /// True if only USB numbers decide, which are known before the first command.
        public var isOfUSB: Bool { !usb.isEmpty && !asksController }

        private var asksController: Bool {
            !company.isEmpty || !hciVersion.isEmpty || !hciRevision.isEmpty || !lmpSubversion.isEmpty || !firmware.isEmpty || isClone
        }

        /// True if the dongle matches. A number that the dongle does not have, such as the USB identifiers behind a socket, does not match
        /// a list.
        public func fits(_ numbers: DongleNumbers) -> Bool {
            guard fitsUSB(vendor: numbers.vendor, product: numbers.product, release: numbers.release) else { return false }
            let pairs = [
                (company, numbers.company), (hciVersion, UInt16(numbers.hciVersion)), (hciRevision, numbers.hciRevision),
                (lmpSubversion, numbers.lmpSubversion),
            ]
            guard pairs.allSatisfy({ $0.isEmpty || $0.contains(number: $1) }) else { return false }
            guard firmware.isEmpty || numbers.firmware.map(firmware.contains) == true else { return false }
            return !isClone || CSRClone.reason(numbers) != nil
        }

        func fitsUSB(vendor: UInt16?, product: UInt16?, release number: UInt16?) -> Bool {
            if !usb.isEmpty {
                guard let vendor, let product, usb.contains(where: { $0.fits(vendor, product) }) else { return false }
            }
            return release.isEmpty || number.map { release.contains(number: $0) } == true
        }
    }
}

/// `0a12:0001`, or `0a5c:*` for all products of a vendor.
public struct USBPattern: Sendable, Equatable {
    public var vendor: UInt16
    public var product: UInt16?

    func fits(_ vendor: UInt16, _ product: UInt16) -> Bool { self.vendor == vendor && (self.product ?? product) == product }
}

extension [ClosedRange<UInt16>] {
    fileprivate func contains(number: UInt16) -> Bool { contains { $0.contains(number) } }
}
