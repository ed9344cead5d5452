package rules

func evalARPConflict(*Case) Verdict      { return Verdict{} }
func evalAppRedirect(*Case) Verdict      { return Verdict{} }
func evalCPUStarvation(*Case) Verdict    { return Verdict{} }
func evalClockJump(*Case) Verdict        { return Verdict{} }
func evalConnectionClosed(*Case) Verdict { return Verdict{} }
func evalEndpointLag(*Case) Verdict      { return Verdict{} }
func evalEphemeralPorts(*Case) Verdict   { return Verdict{} }
func evalGRPC(*Case) Verdict             { return Verdict{} }
func evalMTUBlackhole(*Case) Verdict     { return Verdict{} }
func evalMeshMTLS(*Case) Verdict         { return Verdict{} }
func evalMeshRewrite(*Case) Verdict      { return Verdict{} }
func evalMeshSNAT(*Case) Verdict         { return Verdict{} }
func evalMeshSidecar(*Case) Verdict      { return Verdict{} }
func evalOOMKill(*Case) Verdict          { return Verdict{} }
func evalPodIPEmpty(*Case) Verdict       { return Verdict{} }
func evalProtocolMismatch(*Case) Verdict { return Verdict{} }
func evalStaleStatusIP(*Case) Verdict    { return Verdict{} }
func evalStatusPatchLag(*Case) Verdict   { return Verdict{} }
func evalThresholdTooLow(*Case) Verdict  { return Verdict{} }
