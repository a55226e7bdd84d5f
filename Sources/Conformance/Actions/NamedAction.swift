import BBCases
import BBPackets

/// An action for `do:`. Each action has one file with its name, arguments and behaviour.
protocol NamedAction: SendableMetatype {
    static var name: String { get }
    /// The description in texts, which follows the name.
    static var about: String { get }
    static var arguments: [ActionArgument] { get }
    /// The names of the result's values.
    static var results: [String] { get }
    /// True if the bench's host at the step's side performs the action, instead of the plain HCI.
    static var needsHost: Bool { get }
    /// The commands that the action sends without a host.
    static var commands: [String] { get }
    /// True if the action changes the simulated air.
    static var isAboutAir: Bool { get }

    /// - Throws: `HostError` for the peer's behaviour, `StepFailure` for everything else.
    static func run(_ context: ActionContext) async throws -> CaseRecord
}

extension NamedAction {
    static var results: [String] { [] }
    static var needsHost: Bool { false }
    static var commands: [String] { [] }
    static var isAboutAir: Bool { false }
    static var shape: Vocabulary.ActionShape {
        .init(name: name, about: about, arguments: arguments, results: results, isAboutAir: isAboutAir)
    }
}

/// A fault of the subject that an action has found, as a sentence.
struct ActionFinding: Error, CustomStringConvertible {
    var text: String

    var description: String { text }
}

/// The list of all actions.
enum NamedActions {
    static let all: [any NamedAction.Type] = [
        FindCharacteristic.self, FindService.self, ReceiveAdvertising.self, ReceiveTrain.self, DecodeAdvertising.self,
        EncryptAdvertising.self,
        DecryptAdvertising.self, MakeAdvertisingField.self, LosePackets.self, SetPathLoss.self,
        Connect.self, ExchangeMTU.self, ReadCharacteristic.self, ReadHandle.self, WriteCharacteristic.self, SignedWrite.self,
        CheckSignature.self, SignData.self, Disconnect.self, Pair.self,
        PairWithDevice.self,
        PrepareForPairing.self, AnswerPairing.self, Meet.self, MeetDevice.self, ListenToDevice.self, DiscoverDevice.self, CheckValue.self,
        TimeAdvertising.self, WatchFastAdvertising.self, JudgeParameters.self, RefuseParameters.self,
        Advertise.self, SpoilMIC.self, Encrypt.self, LookAtSecurity.self, ForgetBonds.self,
        SendInstead.self, ComputeDatabaseHash.self, PowerCycleDevice.self, MakeOutOfBandData.self, DrawRandomNumbers.self,
        BeConnectable.self, OfferEcho.self, OfferEnhancedEcho.self,
        OpenEcho.self, OpenEnhancedEcho.self, CloseChannels.self, BeBusy.self, ReconfigureChannels.self, AskOverSignalling.self,
        TellFeatures.self, SendLMP.self,
        ConnectClassic.self, SecureClassic.self, PairClassic.self, PowerCycle.self, LookAtKeys.self, ClaimKeys.self,
        TakeNewIdentity.self, TakeFirstIdentity.self, TakeSecondAddress.self, TakePrivateAddress.self, RememberDatabase.self,
        JudgeServiceChange.self,
        ChangeServices.self, ChangeServicesBack.self,
        ReleaseChannels.self,
        LosePacket.self, OfferSerialEcho.self, OfferAttributes.self, OpenAttributes.self, OfferValue.self, AcceptBridging.self,
        BridgeOver.self, LookAtStream.self,
        MakeSDU.self, SendSDU.self, ReceiveSDU.self, SendFrame.self, NoteNumber.self, JoinOctets.self, SendUnknownCommands.self,
        AwaitCompletions.self,
        FillAdvertisingData.self, CompareWithStatement.self, NoteTime.self,
        CheckUSBDescriptors.self, HoldUSBInput.self, SelectUSBMode.self, SelectVoiceSetting.self, AddressUSBCommands.self,
        SendOnControlEndpoint.self, RemarkOpenTransfer.self, RemarkIgnoredRequest.self,
        CountUSBTransfers.self,
    ]

    static func named(_ name: String) -> (any NamedAction.Type)? { all.first { $0.name == name } }
}
