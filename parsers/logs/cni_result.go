package logs

import (
	"bytes"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// podInterface is the name of the interface that carries a pod's own addresses.
const podInterface = "eth0"

// cniResult fills in the addresses and the MAC that a CNI result gives. Both
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
	ip.MAC = cniMAC(b)
}

// cniMAC finds the hardware address of the interface inside the pod: the one
// with a sandbox, or the only one.
func cniMAC(b []byte) event.MAC {
	_, list, ok := bytes.Cut(b, []byte(`"interfaces":[`))
	if !ok {
		return event.MAC{}
	}
	var mac event.MAC
	for n := 0; len(list) > 0 && n < 16; n++ {
		if list[0] == ',' {
			list = list[1:]
			continue
		}
		end := 0
		if list[0] == '{' {
			end = closingBracket(list)
		}
		if end <= 0 {
			break
		}
		item := list[:end]
		list = list[end:]
		v, ok := between(item, `"mac":"`, `"`)
		if !ok {
			continue
		}
		m, ok := macAddr(v)
		if !ok {
			continue
		}
		if sb, ok := between(item, `"sandbox":"`, `"`); ok && len(sb) > 0 {
			return m
		}
		mac = m
	}
	return mac
}

// viaInterface says by which name a result of an interface is told: addresses of
// a secondary network are not the pod's own.
func viaInterface(dev, via string) string {
	if dev != "" && dev != podInterface {
		return "cni-secondary"
	}
	return via
}

// macAddr reads "0a:58:0a:80:00:05".
func macAddr(b []byte) (m event.MAC, ok bool) {
	if len(b) != 17 {
		return m, false
	}
	for i := range m {
		v, ok := hexRune(b[3*i:], 2)
		if !ok || i < 5 && b[3*i+2] != ':' {
			return event.MAC{}, false
		}
		m[i] = byte(v)
	}
	return m, true
}
