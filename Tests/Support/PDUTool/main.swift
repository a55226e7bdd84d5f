import BBPackets
import Foundation

// `PDUTool page` prints the reference page, `PDUTool app` is an app of Core Bluetooth. Without arguments, answers each line of input with one line of JSON, so that other programs can compare
// their codecs with these.
//   list                          every PDU: layer, name, code
//   random LAYER SEED NAME        a PDU with random legal values
//   returns SEED NAME             random return parameters of a command
//   decode LAYER HEX              a complete PDU: an HCI packet without indicator, or opcode and parameters
//   decode-returns HEX NAME       return parameters of a command
//   baseband FUNCTION WORD...     access codes, packets and hops of BR/EDR; - is no octets
//   crypto FUNCTION HEX...        a function of the security toolbox; - is no octets
//   profile NAME WORD...          a BR/EDR profile whose peer is the other program
if CommandLine.arguments.dropFirst() == ["page"] {
    print(ReferencePage.html(), terminator: "")
} else if CommandLine.arguments.dropFirst() == ["app"] {
    App.run()
} else {
    let profiles = ProfileSessions()
    while let line = readLine() {
        let words = line.split(separator: " ").map(String.init)
        print(words.first == "profile" ? profiles.answer(Array(words.dropFirst())) : Answer.to(words))
        fflush(nil)
    }
}
