import Packets

/// What an advertising set sends and to whom it answers. Core Vol 4, Part E, 7.8.53.
struct AdvertisingParameters: Equatable {
    /// Advertising_Event_Properties as the host writes them.
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
    /// The shortest time between the starts of two advertising events, without advDelay.
    var interval: Microseconds = .milliseconds(1280)
    /// What may be taken instead where an event needs it.
    var longestInterval: Microseconds = .milliseconds(1280)
    /// Bits 0 to 2 for channels 37 to 39.
    var channels: UInt8 = 7
    var own = OwnAddress()
    /// Whom directed advertising is for, and whom a private address is made for.
    var peer = DeviceAddress(value: 0)
    var filtersScanRequests = false
    var filtersConnectRequests = false
    /// dBm.
    var txPower: Int8 = 0
    /// The same at the antenna, as packets tell it.
    var radiatedPower: Int8 = 0
    var primaryPHY = PHY.le1M
    var secondaryPHY = PHY.le1M
    /// How many advertising events the auxiliary packets may leave out.
    var secondaryMaxSkip: UInt8 = 0
    var sid: UInt8 = 0
    var notifiesScanRequests = false
}

/// One advertising set: its parameters, its data, and how long it is to run.
struct AdvertisingSet {
    let handle: UInt8
    var parameters = AdvertisingParameters()
    var randomAddress: DeviceAddress?
    var advertisingData = AdvertisingData()
    var scanResponse = AdvertisingData()
    /// What tells this data from the last, 12 bits.
    var did: UInt16

    init(handle: UInt8, did: UInt16) {
        self.handle = handle
        self.did = did
    }

    var dataInfo: AdvertisingDataInfo { AdvertisingDataInfo(did: did, sid: parameters.sid) }

    /// The PDU type of a legacy advertising event. Core Vol 4, Part E, 7.8.53, table 7.2.
    var legacyType: AdvertisingPDUType {
        let properties = parameters.properties
        if properties.directed { return .advDirectInd }
        return properties.connectable ? .advInd : properties.scannable ? .advScanInd : .advNonconnInd
    }

    var mode: AdvertisingMode {
        parameters.properties.connectable ? .connectable : parameters.properties.scannable ? .scannable : .neither
    }
}

/// Advertising or scan response data, put together from the host's fragments. Core Vol 4, Part E, 7.8.54.
struct AdvertisingData: Equatable {
    private(set) var bytes: [UInt8] = []
    private var pending: [UInt8]?

    /// Whether the last fragment has come.
    var isComplete: Bool { pending == nil }

    mutating func replace(_ data: [UInt8]) {
        bytes = data
        pending = nil
    }

    mutating func first(_ fragment: [UInt8]) { pending = fragment }

    /// - Returns: false when nothing was begun.
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

    /// How much there is with the fragments so far.
    var count: Int { pending?.count ?? bytes.count }
}
