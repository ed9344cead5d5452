package logs

import (
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

var _ = registerState("docker-inspect",
	"docker or podman inspect of a kind node (inspect.json of kind export logs): the node's name and addresses.",
	(*objectStream).kindNode,
	[]string{`"NetworkSettings"`, `"Config"`})

// kindNode reads a container that is a node of a kind cluster; other containers
// say nothing that the runtime's log does not say better.
func (o *objectStream) kindNode(f field) bool {
	if !f.has("Config", "Labels", "io.x-k8s.kind.cluster") {
		return false
	}
	n := &event.NodeSeen{Name: orDefault(f.str("Config", "Hostname"), strings.TrimPrefix(f.str("Name"), "/"))}
	if _, tag, ok := strings.Cut(f.str("Config", "Image"), "kindest/node:"); ok {
		n.KubeletVersion, _, _ = strings.Cut(tag, "@")
	}
	for network := range f.each("NetworkSettings", "Networks") {
		for _, k := range []string{"IPAddress", "GlobalIPv6Address"} {
			if a, ok := network.addr(k); ok && !slices.Contains(n.Addresses, a) {
				n.Addresses = append(n.Addresses, a)
			}
		}
	}
	o.emit(event.Stamp{}, n.Name, n)
	return true
}
