/// A notification on the screen of a simulated phone, as accessories read it through the Apple Notification Center Service (ANCS).
public struct CBPhoneNotification: Sendable, Hashable {
    public enum Category: UInt8, Sendable, Hashable, CaseIterable {
        case other, incomingCall, missedCall, voicemail, social, schedule, email, news, health, business, location, entertainment
    }

    public var category: Category
    public var appIdentifier: String
    public var title: String
    public var subtitle = ""
    public var message: String
    /// yyyyMMdd'T'HHmmSS.
    public var date: String
    public var isSilent = false
    public var isImportant = false
    /// Labels of the actions that an accessory may perform; nil for none.
    public var positiveAction: String?
    public var negativeAction: String?

    public init(
        _ category: Category, title: String, message: String, appIdentifier: String = "org.example.app", date: String = "20260101T000000"
    ) {
        self.category = category
        self.appIdentifier = appIdentifier
        self.title = title
        self.message = message
        self.date = date
    }

    /// The attribute with an identifier of ANCS; nil for unknown ones.
    func attribute(_ identifier: UInt8) -> String? {
        switch identifier {
        case 0: appIdentifier
        case 1: title
        case 2: subtitle
        case 3: message
        case 4: String(message.utf8.count)
        case 5: date
        case 6: positiveAction ?? ""
        case 7: negativeAction ?? ""
        default: nil
        }
    }

    /// EventFlags. The flag of a notification from before the subscription is 0x04.
    var flags: UInt8 {
        (isSilent ? 0x01 : 0) | (isImportant ? 0x02 : 0) | (positiveAction != nil ? 0x08 : 0) | (negativeAction != nil ? 0x10 : 0)
    }
}
