package rules

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

func TestContainerLogsByPath(t *testing.T) {
	read := func(path string) *event.StreamInfo { return &event.StreamInfo{Path: path, Records: 1} }
	in := NewInputs([]*event.StreamInfo{
		read("var/log/pods/shop_web-0_3f2c/app/0.log"),
		read("b.tar.gz!/namespaces/shop/pods/cart-0/redis/redis/logs/current.log"),
		read("cluster-resources/pods/logs/shop/menu-0/menu-previous.log"),
		{Path: "var/log/pods/shop_idle-0_3f2d/app/0.log"}, // nothing in it
	}, nil)
	for _, k := range []logOf{{"web-0", "app"}, {"cart-0", "redis"}, {"menu-0", "menu"}} {
		assert.True(t, in.containerLogOf(k.pod, k.container), "%v", k)
	}
	for _, k := range []logOf{{"web", "app"}, {"web-0", "redis"}, {"idle-0", "app"}, {"menu-0", "menu-previous"}} {
		assert.False(t, in.containerLogOf(k.pod, k.container), "%v", k)
	}
}

func TestVerbosityByNode(t *testing.T) {
	in := NewInputs([]*event.StreamInfo{{Node: "a", Verbosity: 4}, {Node: "b", Verbosity: 2}, {Verbosity: 1}}, nil)
	assert.Equal(t, 4, in.verboseAt("a"))
	assert.Equal(t, 2, in.verboseAt("b"))
	assert.Equal(t, 1, in.verboseAt("c"), "a log that names no node may be this one's")
}

func TestDamageOfTexts(t *testing.T) {
	streams := []*event.StreamInfo{{Path: "b.tar.gz!/a/kubelet.log", Node: "a"}, {Path: "b.tar.gz!/b/node.pcap", Node: "b", Capture: &event.CaptureInfo{}}}
	lost := func(path, code string) [2]bool {
		in := NewInputs(streams, []event.Problem{{Path: path, Code: code}})
		return [2]bool{in.textLost("a"), in.textLost("b")}
	}
	assert.Equal(t, [2]bool{true, false}, lost("b.tar.gz!/a/kubelet.log", "truncated"))
	assert.Equal(t, [2]bool{false, false}, lost("b.tar.gz!/b/node.pcap", "truncated"), "a capture tells of itself")
	assert.Equal(t, [2]bool{true, true}, lost("b.tar.gz", "corrupt"), "any file may be lost")
	assert.Equal(t, [2]bool{false, false}, lost("b.tar.gz!/a/kubelet.log", "unknown-line"))
}
