import BBPackets

// Common properties of the versions of an event.

protocol LEConnectionCompleteEvent {
    var status: ErrorCode { get }
    var connectionHandle: ConnectionHandle { get }
    var role: ConnectionRole { get }
    var peerAddressType: AddressType { get }
    var peerAddress: BDADDR { get }
    var localResolvablePrivateAddress: BDADDR { get }
    var peerResolvablePrivateAddress: BDADDR { get }
    var connectionInterval: UInt16 { get }
    var peripheralLatency: UInt16 { get }
    var supervisionTimeout: UInt16 { get }
}

extension HCIEvents.LEConnectionComplete: LEConnectionCompleteEvent {
    var localResolvablePrivateAddress: BDADDR { 0 }
    var peerResolvablePrivateAddress: BDADDR { 0 }
}
extension HCIEvents.LEEnhancedConnectionComplete: LEConnectionCompleteEvent {}
extension HCIEvents.LEEnhancedConnectionCompleteV2: LEConnectionCompleteEvent {}

protocol CISEstablishedEvent {
    var status: ErrorCode { get }
    var connectionHandle: ConnectionHandle { get }
}

extension HCIEvents.LECISEstablished: CISEstablishedEvent {}
extension HCIEvents.LECISEstablishedV2: CISEstablishedEvent {}

protocol EncryptionChangeEvent {
    var status: ErrorCode { get }
    var connectionHandle: ConnectionHandle { get }
    var encryptionEnabled: UInt8 { get }
}

extension HCIEvents.EncryptionChange: EncryptionChangeEvent {}
extension HCIEvents.EncryptionChangeV2: EncryptionChangeEvent {}
