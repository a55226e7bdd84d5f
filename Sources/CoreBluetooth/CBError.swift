// swift-format-ignore-file: AlwaysUseLowerCamelCase

import BBHost
import BBPackets
import Foundation

public let CBErrorDomain = "CBErrorDomain"
public let CBATTErrorDomain = "CBATTErrorDomain"

/// An error of Core Bluetooth.
public struct CBError: _BridgedStoredNSError {
    public enum Code: Int, Sendable, _ErrorCodeProtocol {
        public typealias _ErrorType = CBError
        case unknown = 0
        case invalidParameters = 1
        case invalidHandle = 2
        case notConnected = 3
        case outOfSpace = 4
        case operationCancelled = 5
        case connectionTimeout = 6
        case peripheralDisconnected = 7
        case uuidNotAllowed = 8
        case alreadyAdvertising = 9
        case connectionFailed = 10
        case connectionLimitReached = 11
        case unknownDevice = 12
        case operationNotSupported = 13
        case peerRemovedPairingInformation = 14
        case encryptionTimedOut = 15
        case tooManyLEPairedDevices = 16
        case leGattExceededBackgroundNotificationLimit = 17
        case leGattNearBackgroundNotificationLimit = 18

        @available(*, deprecated, renamed: "unknownDevice")
        public static var unkownDevice: Code { .unknownDevice }

        /// True for an error of this domain and code, also for a plain `NSError`.
        public static func ~= (code: Code, error: any Error) -> Bool { error.isNSError(of: CBErrorDomain, code.rawValue) }
    }

    public let _nsError: NSError
    public init(_nsError error: NSError) { _nsError = error }
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        let description = [NSLocalizedDescriptionKey: code.text as Any]
        _nsError = NSError(domain: CBErrorDomain, code: code.rawValue, userInfo: description.merging(userInfo) { $1 })
    }

    public static var errorDomain: String { CBErrorDomain }
    public static var _nsErrorDomain: String { CBErrorDomain }
    /// A code without a name is `unknown`; `errorCode` has its number.
    public var code: Code { Code(rawValue: errorCode) ?? .unknown }

    public static var unknown: Code { .unknown }
    public static var invalidParameters: Code { .invalidParameters }
    public static var invalidHandle: Code { .invalidHandle }
    public static var notConnected: Code { .notConnected }
    public static var outOfSpace: Code { .outOfSpace }
    public static var operationCancelled: Code { .operationCancelled }
    public static var connectionTimeout: Code { .connectionTimeout }
    public static var peripheralDisconnected: Code { .peripheralDisconnected }
    public static var uuidNotAllowed: Code { .uuidNotAllowed }
    public static var alreadyAdvertising: Code { .alreadyAdvertising }
    public static var connectionFailed: Code { .connectionFailed }
    public static var connectionLimitReached: Code { .connectionLimitReached }
    public static var unknownDevice: Code { .unknownDevice }
    @available(*, deprecated, renamed: "unknownDevice")
    public static var unkownDevice: Code { .unknownDevice }
    public static var operationNotSupported: Code { .operationNotSupported }
    public static var peerRemovedPairingInformation: Code { .peerRemovedPairingInformation }
    public static var encryptionTimedOut: Code { .encryptionTimedOut }
    public static var tooManyLEPairedDevices: Code { .tooManyLEPairedDevices }
    public static var leGattExceededBackgroundNotificationLimit: Code { .leGattExceededBackgroundNotificationLimit }
    public static var leGattNearBackgroundNotificationLimit: Code { .leGattNearBackgroundNotificationLimit }
}

/// An error of the attribute protocol. Core Vol 3, Part F, 3.4.1.1.
public struct CBATTError: _BridgedStoredNSError {
    public enum Code: RawRepresentable, Hashable, Sendable, _ErrorCodeProtocol {
        public typealias _ErrorType = CBATTError
        case success
        case invalidHandle
        case readNotPermitted
        case writeNotPermitted
        case invalidPdu
        case insufficientAuthentication
        case requestNotSupported
        case invalidOffset
        case insufficientAuthorization
        case prepareQueueFull
        case attributeNotFound
        case attributeNotLong
        case insufficientEncryptionKeySize
        case invalidAttributeValueLength
        case unlikelyError
        case insufficientEncryption
        case unsupportedGroupType
        case insufficientResources
        /// A code without a name, such as 0x80 to 0x9F of applications.
        case other(Int)

        /// The names of the codes from 0x00 on.
        private static let named: [Code] = [
            .success, .invalidHandle, .readNotPermitted, .writeNotPermitted, .invalidPdu, .insufficientAuthentication,
            .requestNotSupported, .invalidOffset, .insufficientAuthorization, .prepareQueueFull, .attributeNotFound,
            .attributeNotLong, .insufficientEncryptionKeySize, .invalidAttributeValueLength, .unlikelyError, .insufficientEncryption,
            .unsupportedGroupType, .insufficientResources,
        ]
        public init?(rawValue: Int) { self = Self.named.indices.contains(rawValue) ? Self.named[rawValue] : .other(rawValue) }
        public var rawValue: Int {
            switch self {
            case .success: 0x00
            case .invalidHandle: 0x01
            case .readNotPermitted: 0x02
            case .writeNotPermitted: 0x03
            case .invalidPdu: 0x04
            case .insufficientAuthentication: 0x05
            case .requestNotSupported: 0x06
            case .invalidOffset: 0x07
            case .insufficientAuthorization: 0x08
            case .prepareQueueFull: 0x09
            case .attributeNotFound: 0x0A
            case .attributeNotLong: 0x0B
            case .insufficientEncryptionKeySize: 0x0C
            case .invalidAttributeValueLength: 0x0D
            case .unlikelyError: 0x0E
            case .insufficientEncryption: 0x0F
            case .unsupportedGroupType: 0x10
            case .insufficientResources: 0x11
            case .other(let code): code
            }
        }
        public static func == (one: Code, other: Code) -> Bool { one.rawValue == other.rawValue }
        public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
        /// True for an error of this domain and code, also for a plain `NSError`.
        public static func ~= (code: Code, error: any Error) -> Bool { error.isNSError(of: CBATTErrorDomain, code.rawValue) }
    }

    public let _nsError: NSError
    public init(_nsError error: NSError) { _nsError = error }
    public init(_ code: Code, userInfo: [String: Any] = [:]) {
        let description = [NSLocalizedDescriptionKey: code.text as Any]
        _nsError = NSError(domain: CBATTErrorDomain, code: code.rawValue, userInfo: description.merging(userInfo) { $1 })
    }

    public static var errorDomain: String { CBATTErrorDomain }
    public static var _nsErrorDomain: String { CBATTErrorDomain }
    public var code: Code { Code(rawValue: errorCode) ?? .other(errorCode) }

    public static var success: Code { .success }
    public static var invalidHandle: Code { .invalidHandle }
    public static var readNotPermitted: Code { .readNotPermitted }
    public static var writeNotPermitted: Code { .writeNotPermitted }
    public static var invalidPdu: Code { .invalidPdu }
    public static var insufficientAuthentication: Code { .insufficientAuthentication }
    public static var requestNotSupported: Code { .requestNotSupported }
    public static var invalidOffset: Code { .invalidOffset }
    public static var insufficientAuthorization: Code { .insufficientAuthorization }
    public static var prepareQueueFull: Code { .prepareQueueFull }
    public static var attributeNotFound: Code { .attributeNotFound }
    public static var attributeNotLong: Code { .attributeNotLong }
    public static var insufficientEncryptionKeySize: Code { .insufficientEncryptionKeySize }
    public static var invalidAttributeValueLength: Code { .invalidAttributeValueLength }
    public static var unlikelyError: Code { .unlikelyError }
    public static var insufficientEncryption: Code { .insufficientEncryption }
    public static var unsupportedGroupType: Code { .unsupportedGroupType }
    public static var insufficientResources: Code { .insufficientResources }
}

extension Error {
    fileprivate func isNSError(of domain: String, _ code: Int) -> Bool {
        let error = self as NSError
        return error.domain == domain && error.code == code
    }
}

enum Failure {
    /// The error of the API for an error of the host.
    static func error(_ error: any Error) -> any Error {
        guard let error = error as? HostError, case .peer(let fault) = error else {
            return error is CBError || error is CBATTError ? error : CBError(.unknown)
        }
        switch fault {
        case .att(_, _, let code):
            return CBATTError(CBATTError.Code(rawValue: Int(code.rawValue)) ?? .unlikelyError)
        case .disconnected(let reason): return self.error(reason) ?? CBError(.peripheralDisconnected)
        case .timedOut: return CBError(.connectionTimeout)
        case .rejected(_, .pinOrKeyMissing): return CBError(.peerRemovedPairingInformation)
        case .pairingFailed, .pairingRefused: return CBATTError(.insufficientAuthentication)
        case .channel: return CBError(.unknown, userInfo: [NSLocalizedDescriptionKey: "\(error)"])
        default: return CBError(.unknown)
        }
    }

    /// The error of a disconnection; nil if this side has ended the link.
    static func error(_ reason: ErrorCode) -> (any Error)? {
        switch reason {
        case .connectionTerminatedByLocalHost: nil
        case .connectionTimeout, .lmpResponseTimeout: CBError(.connectionTimeout)
        case .connectionFailedToBeEstablished: CBError(.connectionFailed)
        case .pinOrKeyMissing: CBError(.peerRemovedPairingInformation)
        default: CBError(.peripheralDisconnected)
        }
    }
}
