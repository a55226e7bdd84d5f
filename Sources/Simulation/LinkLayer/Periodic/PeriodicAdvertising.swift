import BBPackets
import BBTiming

/// Periodic advertising of a set, as the host has set it. Core Vol 4, Part E, 7.8.61 to 7.8.63.
struct PeriodicAdvertising {
    /// The host's range for the interval.
    var intervals: ClosedRange<Microseconds>
    var includesTxPower: Bool
    var data = AdvertisingData()
    /// The train runs, or starts with the set's advertising.
    var isEnabled = false
}

/// The content of a train's events.
struct PeriodicContent {
    var data: [UInt8]
    /// Radiated power in dBm, if the host wants it in the packets.
    var txPower: Int8?
    var phy: PHY

    /// Headers without data: AUX_SYNC_IND has no address, target or SyncInfo. Core Vol 6, Part B, 2.3.4, table 2.14.
    func header(_ update: PeriodicChannelMapUpdate?) -> ExtendedHeader {
        var header = ExtendedHeader()
        header.txPower = txPower
        header.acad = update?.octets ?? []
        return header
    }

    /// The data of AUX_SYNC_IND and of each AUX_CHAIN_IND.
    func pieces(_ update: PeriodicChannelMapUpdate?) -> [[UInt8]] {
        AuxiliaryChain.split(data, first: header(update), following: ExtendedHeader())
    }

    /// Time from one full packet of a chain to the next.
    var step: Microseconds { AuxiliaryChain.offset(over: AirPHY(phy).airTime(payload: ExtendedHeader.longestPayload)) }

    /// Duration of an event with room for a channel map update.
    var duration: Microseconds {
        let update = PeriodicChannelMapUpdate(channels: .all, instant: 0)
        let pieces = pieces(update)
        var last = pieces.count > 1 ? ExtendedHeader() : header(update)
        last.data = pieces.last ?? []
        return step * (pieces.count - 1) + AirPHY(phy).airTime(payload: last.pdu().payload.count)
    }

    /// The shortest interval of the range that holds an event, in steps of 1.25 ms; nil if none does.
    func interval(in range: ClosedRange<Microseconds>) -> Microseconds? {
        let steps = (duration + minimumAuxiliaryFrameSpace + 1_249) / 1_250 as Int
        let interval = max(range.lowerBound, 1_250 * steps)
        return interval <= range.upperBound ? interval : nil
    }
}

extension AdvertisingSet {
    /// Only sets that are neither connectable nor scannable, nor legacy, nor anonymous carry SyncInfo. Core Vol 6, Part B, 4.4.2.12.
    var maySendPeriodically: Bool { mode == .neither && !parameters.properties.legacy && !parameters.properties.anonymous }

    /// The content of the set's train; nil without periodic parameters.
    var periodicContent: PeriodicContent? {
        periodic.map {
            PeriodicContent(
                data: $0.data.bytes, txPower: $0.includesTxPower ? parameters.radiatedPower : nil, phy: parameters.secondaryPHY)
        }
    }
}
