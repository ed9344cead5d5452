package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// cniResult fills in what a CNI result says about the pod's own interface. Both
// shapes occur: the specification's ({"interfaces":[…],"ips":[{"address":…}]})
// and containerd's ({"Interfaces":{"eth0":{"IPConfigs":[{"IP":…}],"Mac":…}}}).
func cniResult(b []byte, ip *event.PodIP) {
	for _, key := range [...]string{`"address":"`, `"IP":"`} {
		rest := b
		for len(ip.IPs) < 8 {
			var ok bool
			if _, rest, ok = bytes.Cut(rest, []byte(key)); !ok {
				break
			}
			v, tail, ok := cutByte(rest, '"')
			if !ok {
				break
			}
			rest = tail
			if a, ok := ipAddr(v); ok && !a.IsLoopback() {
				ip.IPs = append(ip.IPs, a)
			}
		}
		if len(ip.IPs) > 0 {
			break
		}
	}
}
