package logs

import (
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// netCheck reads OpenShift's PodNetworkConnectivityCheck: TCP connects that a
// pod of the platform makes on its own, with their times and latencies. It is a
// witness of the network that has nothing to do with the kubelet.
func (o *objectStream) netCheck(f field) bool {
	check := event.NetCheck{
		Source:  f.str("spec", "sourcePod"),
		Target:  f.str("metadata", "name"),
		Address: f.str("spec", "targetEndpoint"),
	}
	kept := false
	for _, list := range []string{"failures", "successes"} {
		for e := range f.each("status", list) {
			c := check
			c.Success = e.isTrue("success")
			c.Message = e.cut(maxMessage, "message")
			c.Latency, _ = time.ParseDuration(e.str("latency"))
			o.emit(e.stamp("time"), "", &c)
			kept = true
		}
	}
	return kept
}
