extension CaseCheck {
    /// Reports `needs:` that do not fit the steps.
    mutating func checkAir(of testCase: TestCase, _ steps: [Step]) {
        let needs = testCase.needs?.names ?? []
        let usesAir = procedures.useAir(steps, vocabulary)
        if usesAir, !needs.contains("air") { report(testCase.position, "the case has air steps, so it must say `needs: air`") }
        if !usesAir, needs.contains("air") { report(testCase.position, "the case says `needs: air`, but no step is about the air") }
        if !testCase.world.concernsAccessoryAlone, testCase.needs?.canHold(without: ["air", "virtual"]) ?? true {
            report(testCase.position, "the case sets up the simulated world, so it must say `needs: virtual`")
        }
    }
}
