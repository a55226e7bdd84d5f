import Packets
import Timing

/// One end of a link: its events, its data, and the procedures of link layer control. Core Vol 6, Part B, 4.5 and 5.1.
///
/// Procedures return the status for HCI Command Status; their result comes to the delegate.
final class Connection {
    let parameters: ConnectionParameters
    let configuration: ControllerConfiguration
    let defaults: LinkDefaults
    unowned let radio: Radio
    weak var delegate: (any ConnectionDelegate)?
    /// The other end, where it is simulated on the same air.
    weak var peer: Connection?

    private(set) var interval: Microseconds
    private(set) var peripheralLatency: Int
    private(set) var supervisionTimeout: Microseconds
    private(set) var channelMap: ChannelMap
    private(set) var transmitPHY: PHY
    private(set) var receivePHY: PHY
    private(set) var dataLength = DataLength()
    private(set) var rssi: Int8 = 127
    /// Set by LE_Set_PHY's options: S2 (true), S8 (false), or the controller's choice.
    var codingPreference: Bool?
    var isEncrypted: Bool { false }

    /// Makes the link, which runs from then on. Both ends are made at the end of CONNECT_IND (or of AUX_CONNECT_RSP).
    init(
        _ parameters: ConnectionParameters, configuration: ControllerConfiguration, defaults: LinkDefaults, radio: Radio,
        delegate: any ConnectionDelegate
    ) {
        self.parameters = parameters
        self.configuration = configuration
        self.defaults = defaults
        self.radio = radio
        self.delegate = delegate
        interval = parameters.interval
        peripheralLatency = parameters.peripheralLatency
        supervisionTimeout = parameters.supervisionTimeout
        channelMap = parameters.channelMap
        transmitPHY = parameters.phy
        receivePHY = parameters.phy
        radio.air.attach(self)
    }

    var handle: ConnectionHandle { parameters.handle }
    var role: ConnectionParameters.Role { parameters.role }

    // MARK: Data

    /// Queues the data of one HCI ACL packet. - Parameter isStart: false where it continues an L2CAP PDU.
    func send(_ data: ArraySlice<UInt8>, isStart: Bool) {}

    // MARK: Procedures

    /// HCI Disconnect.
    func terminate(_ reason: ErrorCode) {}
    /// LE Connection Update; the central may also do it by itself, the peripheral asks by LL_CONNECTION_PARAM_REQ.
    func updateParameters(_ requested: RequestedParameters) -> ErrorCode { .success }
    /// The host's answer to `connection(_:requested:)`: parameters to accept, or the reason of the refusal.
    func replyToParameterRequest(_ accepted: RequestedParameters?, reason: ErrorCode) -> ErrorCode { .success }
    /// LE Set Host Channel Classification, central only.
    func updateChannelMap(_ map: ChannelMap) {}
    /// LE Set PHY; masks as in HCI, 0 for no preference.
    func updatePHY(tx: UInt8, rx: UInt8) -> ErrorCode { .success }
    /// LE Set Data Length.
    func setDataLength(txOctets: UInt16, txTime: UInt16) -> ErrorCode { .success }
    /// LE Read Remote Features.
    func readRemoteFeatures() -> ErrorCode { .success }
    /// Read Remote Version Information.
    func readRemoteVersion() -> ErrorCode { .success }
    /// Ends the link without a word on the air, as a reset does; the delegate hears nothing.
    func abandon() {}
}
