/// One row of the table of known dongles: whom it is about, what such a dongle does, and what to do.
public struct KnownDongle: Sendable, Equatable {
    public var id: String
    /// What it is, for people.
    public var name: String
    public var match: Match
    /// What it does otherwise than the specification, or than one expects.
    public var conduct: String
    /// The section of the specification that decides, or where the conduct is known from.
    public var source: String
    /// The switches of a virtual dongle that behave so, and the findings of a check-up that show it.
    public var quirks: [String]
    /// What the bench does about it, by name: those of `ControllerWorkarounds` and `USBWorkarounds`, with a value where one belongs to it.
    public var workarounds: [String]
    /// Commands that are not sent by themselves.
    public var avoided: [String]
    /// What the user can do.
    public var advice: String

    /// The numbers that a dongle of this row has; a list without entries says nothing about its number.
    public struct Match: Sendable, Equatable {
        public var usb: [USBPattern] = []
        public var release: [ClosedRange<UInt16>] = []
        public var company: [ClosedRange<UInt16>] = []
        public var hciVersion: [ClosedRange<UInt16>] = []
        public var hciRevision: [ClosedRange<UInt16>] = []
        public var lmpSubversion: [ClosedRange<UInt16>] = []
        public var firmware: [String] = []
        /// Only what fails the rules that genuine CSR firmware keeps.
        public var isClone = false

        /// Whether only numbers of USB decide, which are known before the first command.
        public var isOfUSB: Bool { !usb.isEmpty && !asksController }

        private var asksController: Bool {
            !company.isEmpty || !hciVersion.isEmpty || !hciRevision.isEmpty || !lmpSubversion.isEmpty || !firmware.isEmpty || isClone
        }

        /// Whether the dongle is meant. A number that the dongle does not have, such as that of USB behind a socket, is never the one.
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
