import BBPackets

/// The table of known dongles: built-in rows and rows of the user.
public struct KnownDongles: Sendable {
    /// Rows in file order, the user's last.
    public private(set) var rows: [KnownDongle]
    /// Addresses that many units share, with their origin.
    public private(set) var addresses: [SharedAddress]

    public struct SharedAddress: Sendable, Equatable {
        /// First and last address of the range.
        public var addresses: ClosedRange<UInt64>
        public var origin: String
    }

    /// The built-in table.
    public static let builtIn: KnownDongles = {
        var table = KnownDongles(rows: [], addresses: [])
        let text = String(decoding: PackageResources.KnownDongles_yaml, as: UTF8.self)
        // A test checks that the built-in table has no errors.
        try? table.add(text, file: "KnownDongles.yaml")
        return table
    }()

    /// Adds the rows of a file. A row with an existing id replaces the earlier row.
    ///
    /// - Throws: all errors with line and column; nothing is added then.
    public mutating func add(_ text: String, file: String) throws(TableErrors) {
        var reader = KnownDonglesReader(file: file)
        reader.read(text)
        guard reader.errors.isEmpty else { throw TableErrors(list: reader.errors) }
        for row in reader.rows {
            rows.removeAll { $0.id == row.id }
            rows.append(row)
        }
        addresses += reader.addresses
    }

    /// Rows that match a dongle.
    public func find(_ numbers: DongleNumbers) -> [KnownDongle] { rows.filter { $0.match.fits(numbers) } }

    /// Rows that depend on USB numbers only and so apply before the first command.
    public func find(vendor: UInt16, product: UInt16, release: UInt16?) -> [KnownDongle] {
        rows.filter { $0.match.isOfUSB && $0.match.fitsUSB(vendor: vendor, product: product, release: release) }
    }

    /// Origin of an address that many units share; nil for other addresses.
    public func origin(ofShared address: DeviceAddress) -> String? {
        addresses.first { $0.addresses.contains(address.value) }?.origin
    }
}

/// An error in a table of known dongles; lines and columns count from 1.
public struct TableError: Error, Sendable, Equatable, CustomStringConvertible {
    public var file: String
    public var line: Int
    public var column: Int
    public var text: String

    public var description: String { "\(file):\(line):\(column): \(text)" }
}

/// All errors of a table.
public struct TableErrors: Error, Sendable, CustomStringConvertible {
    public var list: [TableError]

    package init(list: [TableError]) { self.list = list }

    public var description: String { list.map(\.description).joined(separator: "\n") }
}
