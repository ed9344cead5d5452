package model

// Node is what the inputs say about the network of a node. Its addresses are
// shared by the node and its pods on the host network.
type Node struct {
	Name      string   `json:"name"`
	Addresses []string `json:"addresses"` // of its object, else as its pods name them (hostIP)
	PodCIDRs  []string `json:"pod_cidrs"` // the ranges from which it gives pods addresses
}
