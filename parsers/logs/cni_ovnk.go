package logs

// ovnMessages and ovnFree are the lines of OVN-Kubernetes' node agent.
var (
	ovnMessages = messageTable{}
	ovnFree     = []freeMessage{}
)
