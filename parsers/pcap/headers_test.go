package pcap_test

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

// Headers of the tests: nodes 192.168.0.1 and .2, pods 10.0.0.1 and .2.
func nodeFrame(t layers.EthernetType) *layers.Ethernet {
	return &layers.Ethernet{SrcMAC: []byte{2, 0, 0, 0, 0, 0x11}, DstMAC: []byte{2, 0, 0, 0, 0, 0x12}, EthernetType: t}
}

func nodeIP(p layers.IPProtocol) *layers.IPv4 {
	return &layers.IPv4{Version: 4, TTL: 60, Id: 7, Protocol: p, SrcIP: []byte{192, 168, 0, 1}, DstIP: []byte{192, 168, 0, 2}}
}

func nodeIP6(p layers.IPProtocol) *layers.IPv6 {
	return &layers.IPv6{Version: 6, HopLimit: 60, NextHeader: p, SrcIP: netip.MustParseAddr("fd00::1").AsSlice(), DstIP: netip.MustParseAddr("fd00::2").AsSlice()}
}

func udpTo(port layers.UDPPort) *layers.UDP { return &layers.UDP{SrcPort: 40000, DstPort: port} }

func raw(b ...byte) gopacket.Payload { return b }

// TestTunnels finds the SYN of a pod inside each kind of tunnel, with the
// addresses of the tunnel's ends.
func TestTunnels(t *testing.T) {
	inner := gopacket.Payload(synFrame(7))        // an Ethernet frame
	innerIP := gopacket.Payload(synFrame(7)[14:]) // and its packet
	v4, v6 := layers.EthernetTypeIPv4, layers.EthernetTypeIPv6
	eth := nodeFrame(v4)
	for _, c := range []struct {
		name, tunnel string
		frame        []byte
		mac          bool // the pods' own addresses are inside
	}{
		{"vxlan", "vxlan", frameOf(eth, nodeIP(17), udpTo(4789), &layers.VXLAN{ValidIDFlag: true, VNI: 5}, inner), true},
		{"vxlan of flannel", "vxlan", frameOf(eth, nodeIP(17), udpTo(8472), raw(8, 0, 0, 0, 0, 0, 1, 0), inner), true},
		{"vxlan over ipv6", "vxlan", frameOf(nodeFrame(v6), nodeIP6(17), udpTo(4789), &layers.VXLAN{ValidIDFlag: true}, inner), true},
		{"geneve", "geneve", frameOf(eth, nodeIP(17), udpTo(6081), raw(0, 0, 0x65, 0x58, 0, 0, 5, 0), inner), true},
		{"geneve with options", "geneve", frameOf(eth, nodeIP(17), udpTo(6081), raw(2, 0, 0x65, 0x58, 0, 0, 5, 0, 1, 2, 0x80, 1, 9, 9, 9, 9), inner), true},
		{"geneve of packets", "geneve", frameOf(eth, nodeIP(17), udpTo(6081), raw(0, 0, 8, 0, 0, 0, 5, 0), innerIP), false},
		{"ipip", "ipip", frameOf(eth, nodeIP(4), innerIP), false},
		{"4in6", "4in6", frameOf(nodeFrame(v6), nodeIP6(4), innerIP), false},
		{"gre", "gre", frameOf(eth, nodeIP(47), &layers.GRE{Protocol: v4}, innerIP), false},
		{"gre with key, checksum and number", "gre", frameOf(eth, nodeIP(47), &layers.GRE{Protocol: v4, KeyPresent: true, Key: 9, ChecksumPresent: true, SeqPresent: true}, innerIP), false},
		{"gre of frames", "gre", frameOf(eth, nodeIP(47), raw(0, 0, 0x65, 0x58), inner), true},
		{"erspan", "erspan", frameOf(eth, nodeIP(47), raw(0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 5, 0, 0, 0, 0, 0, 0), inner), true},
		{"tunnel in a tunnel", "gre", frameOf(eth, nodeIP(47), &layers.GRE{Protocol: v4}, nodeIP(4), innerIP), false},
		{"in a vlan", "vxlan", frameOf(nodeFrame(layers.EthernetTypeDot1Q), &layers.Dot1Q{VLANIdentifier: 9, Type: v4}, nodeIP(17), udpTo(4789), &layers.VXLAN{ValidIDFlag: true}, inner), true},
	} {
		p := pcap.DecodeFrame(linkEthernet, c.frame)
		require.Equal(t, flow.TCP, p.Kind, c.name)
		assert.Equal(t, c.tunnel, p.Tunnel, c.name)
		from, to := "192.168.0.1", "192.168.0.2"
		if p.OuterSrc.Is6() {
			from, to = "fd00::1", "fd00::2"
		}
		assert.Equal(t, []string{from, to}, []string{p.OuterSrc.String(), p.OuterDst.String()}, c.name)
		assert.Equal(t, "10.0.0.1:7>10.0.0.2:8080", netip.AddrPortFrom(p.Src, p.SrcPort).String()+">"+netip.AddrPortFrom(p.Dst, p.DstPort).String(), c.name)
		assert.Equal(t, uint8(64), p.TTL, c.name)
		assert.Zero(t, p.VLAN, c.name)
		if c.mac {
			assert.Equal(t, event.MAC{2, 0, 0, 0, 0, 1}, p.EthSrc, c.name)
		} else { // those of the frame are the nodes', not the pods'
			assert.True(t, p.EthSrc.IsZero() && p.EthDst.IsZero(), c.name)
		}
	}
	six := frameOf(eth, nodeIP(41), nodeIP6(6), &layers.TCP{SrcPort: 7, DstPort: 8080, SYN: true})
	p := pcap.DecodeFrame(linkEthernet, six)
	assert.Equal(t, "6in4 fd00::1", p.Tunnel+" "+p.Src.String())
}

// TestNoTunnel has datagrams to the ports of tunnels that hold something else.
func TestNoTunnel(t *testing.T) {
	inner := gopacket.Payload(synFrame(7))
	for name, frame := range map[string][]byte{
		"vxlan without its flag":    frameOf(nodeFrame(layers.EthernetTypeIPv4), nodeIP(17), udpTo(4789), raw(0, 0, 0, 0, 0, 0, 1, 0), inner),
		"geneve of another version": frameOf(nodeFrame(layers.EthernetTypeIPv4), nodeIP(17), udpTo(6081), raw(0x40, 0, 0x65, 0x58, 0, 0, 5, 0), inner),
		"port of the mirror":        frameOf(nodeFrame(layers.EthernetTypeIPv4), nodeIP(17), udpTo(49152), raw(0x4e, 0x81, 0, 1), gopacket.Payload(make([]byte, 40))),
	} {
		p := pcap.DecodeFrame(linkEthernet, frame)
		assert.Equal(t, flow.UDP, p.Kind, name)
		assert.Empty(t, p.Tunnel, name)
		assert.Equal(t, "192.168.0.1", p.Src.String(), name)
	}
}

// TestNestingIsBounded wraps a packet in more tunnels than anybody would.
func TestNestingIsBounded(t *testing.T) {
	stack := []gopacket.SerializableLayer{nodeFrame(layers.EthernetTypeIPv4)}
	for range 100 {
		stack = append(stack, nodeIP(4))
	}
	p := pcap.DecodeFrame(linkEthernet, frameOf(append(stack, gopacket.Payload(synFrame(7)[14:]))...))
	assert.Equal(t, flow.Undecoded, p.Kind)
}

// TestFragments reads the ports from the first fragment and leaves the others
// without: they belong to no connection.
func TestFragments(t *testing.T) {
	whole := frameOf(&layers.TCP{SrcPort: 7, DstPort: 8080, Seq: 1, ACK: true}, gopacket.Payload(make([]byte, 2000)))
	first, second := nodeIP(6), nodeIP(6)
	first.Flags, second.FragOffset = layers.IPv4MoreFragments, 100
	p := pcap.DecodeFrame(linkEthernet, frameOf(nodeFrame(layers.EthernetTypeIPv4), first, gopacket.Payload(whole[:800])))
	assert.Equal(t, flow.TCP, p.Kind)
	assert.Equal(t, uint16(8080), p.DstPort)
	assert.Equal(t, 780, p.Length) // what this fragment carries
	p = pcap.DecodeFrame(linkEthernet, frameOf(nodeFrame(layers.EthernetTypeIPv4), second, gopacket.Payload(whole[800:1600])))
	assert.Equal(t, flow.Fragment, p.Kind)
	assert.Zero(t, p.DstPort)

	fragment := func(offset uint16, more uint16, b []byte) flow.Packet {
		h := binary.BigEndian.AppendUint16([]byte{6, 0}, offset<<3|more)
		return pcap.DecodeFrame(linkEthernet, frameOf(nodeFrame(layers.EthernetTypeIPv6), nodeIP6(44), gopacket.Payload(append(append(h, 0, 0, 0, 1), b...))))
	}
	p = fragment(0, 1, whole[:800])
	assert.Equal(t, flow.TCP, p.Kind)
	assert.Equal(t, uint16(8080), p.DstPort)
	p = fragment(100, 0, whole[800:1600])
	assert.Equal(t, flow.Fragment, p.Kind)
}

// TestAnyDevice reads a connection as "-i any" records it: each packet on every
// interface that it passed. Copies are counted with the file, not with the
// connection, and the interfaces are kept in the order of the way.
func TestAnyDevice(t *testing.T) {
	o := binary.LittleEndian
	b := classicHead(o, 0xa1b2c3d4, 4, 65535, linkSLL2)
	sec, usec := uint32(1000), uint32(0)
	add := func(ifindex byte, kind byte, id uint16, tcp *layers.TCP, back bool) {
		ip := &layers.IPv4{Version: 4, TTL: 64, Id: id, Protocol: 6, SrcIP: []byte{10, 0, 0, 1}, DstIP: []byte{10, 0, 0, 2}}
		if back {
			ip.SrcIP, ip.DstIP = ip.DstIP, ip.SrcIP
		}
		h := raw(8, 0, 0, 0, 0, 0, 0, ifindex, 0, 1, kind, 6, 2, 0, 0, 0, 0, ifindex, 0, 0)
		data := frameOf(h, ip, tcp)
		b = classicRecord(o, b, sec, usec, len(data), data)
		usec += 3
	}
	const in, out = 0, 4
	syn := &layers.TCP{SrcPort: 7, DstPort: 8080, Seq: 1, SYN: true, Window: 1}
	synack := &layers.TCP{SrcPort: 8080, DstPort: 7, Seq: 9, Ack: 2, SYN: true, ACK: true, Window: 1}
	add(3, out, 100, syn, false)
	add(4, out, 100, syn, false) // the bridge hands it to the port
	sec++
	add(3, out, 101, syn, false) // sent again: another identification
	add(4, out, 101, syn, false)
	add(4, in, 0, synack, true) // the answer has none; the copies come at once
	add(3, in, 0, synack, true)

	info, c := parseBytes(t, "any.pcap", b)
	assert.Empty(t, c.problems)
	for name, want := range map[string]int64{"frames": 6, "tcp_syn": 4, "tcp_syn_repeated": 3, "tcp_syn_retransmitted": 1, "tcp_synack": 2, "duplicate_frames": 3, "tcp_flows": 1} {
		assert.Equal(t, want, info.Counts[name], name)
	}
	for _, e := range c.events {
		if f, ok := e.Payload.(*event.Flow); ok {
			assert.Equal(t, int32(2), f.SYNs)
			assert.Equal(t, int32(1), f.SYNACKs)
			assert.Equal(t, int32(3), f.Copies)
			assert.Equal(t, []string{"if3", "if4"}, f.SYNInterfaces)
			assert.Equal(t, []string{"if4", "if3"}, f.AnswerInterfaces)
		}
	}
	assert.Equal(t, []event.TargetCount{{Addr: netip.MustParseAddrPort("10.0.0.2:8080"), SYN: 4, SYNACK: 2}}, info.Capture.Targets)
}
