import BBPackets

/// Parameters of an advertising set. Core Vol 4, Part E, 7.8.53.
struct AdvertisingParameters: Equatable {
    /// Advertising_Event_Properties as the host sends them.
    struct Properties: Equatable {
        var connectable = true
        var scannable = true
        var directed = false
        var highDuty = false
        var legacy = true
        var anonymous = false
        var includeTxPower = false
    }

    var properties = Properties()
    /// Minimum advertising interval, without advDelay.
    var interval: Microseconds = .milliseconds(1280)
    /// Maximum advertising interval, for events that need more time.
    var longestInterval: Microseconds = .milliseconds(1280)
    /// Bits 0...2 for channels 37...39.
    var channels: UInt8 = 7
    var own = OwnAddress()
    /// Target of directed advertising, and the peer whose IRKs are used for private addresses.
    var peer = DeviceAddress(value: 0)
    var filtersScanRequests = false
    var filtersConnectRequests = false
    /// Transmit power in dBm.
    var txPower: Int8 = 0
    /// Radiated power at the antenna in dBm, as sent in packets.
    var radiatedPower: Int8 = 0
    var primaryPHY = PHY.le1M
    var secondaryPHY = PHY.le1M
    /// Maximum number of advertising events without auxiliary packets.
    var secondaryMaxSkip: UInt8 = 0
    var sid: UInt8 = 0
    var notifiesScanRequests = false
}

/// An advertising set: parameters, data and duration.
struct AdvertisingSet {
    let handle: UInt8
    var parameters = AdvertisingParameters()
    var randomAddress: DeviceAddress?
    var advertisingData = AdvertisingData()
    var scanResponse = AdvertisingData()
    /// Advertising DID, 12 bits; changes with the data.
    var did: UInt16
    /// Periodic advertising; nil until its parameters are set.
    var periodic: PeriodicAdvertising?

    init(handle: UInt8, did: UInt16) {
        self.handle = handle
        self.did = did
    }

    var dataInfo: AdvertisingDataInfo { AdvertisingDataInfo(did: did, sid: parameters.sid) }

    /// PDU type of a legacy advertising event. Core Vol 4, Part E, 7.8.53, table 7.2.
    var legacyType: AdvertisingPDUType {
        let properties = parameters.properties
        if properties.directed { return .advDirectInd }
        return properties.connectable ? .advInd : properties.scannable ? .advScanInd : .advNonconnInd
    }

    var mode: AdvertisingMode {
        parameters.properties.connectable ? .connectable : parameters.properties.scannable ? .scannable : .neither
    }
}

/// Advertising or scan response data, assembled from the host's fragments. Core Vol 4, Part E, 7.8.54.
struct AdvertisingData: Equatable {
    private(set) var bytes: [UInt8] = []
    private var pending: [UInt8]?

    /// True once the last fragment has been received.
    var isComplete: Bool { pending == nil }

    mutating func replace(_ data: [UInt8]) {
        bytes = data
        pending = nil
    }

    mutating func first(_ fragment: [UInt8]) { pending = fragment }

    /// - Returns: false if no first fragment was received before.
    mutating func append(_ fragment: [UInt8], isLast: Bool) -> Bool {
        guard var whole = pending else { return false }
        whole += fragment
        if isLast { replace(whole) } else { pending = whole }
        return true
    }

    mutating func discard() {
        bytes = []
        pending = nil
    }

    /// The data with the fragments received so far.
    var whole: [UInt8] { pending ?? bytes }

    /// Length including the fragments received so far.
    var count: Int { whole.count }
}
