package pcap_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

// Link types of the tests.
const (
	linkNull     = 0
	linkEthernet = 1
	linkRaw      = 101
	linkLoop     = 108
	linkSLL      = 113
	linkIPv4     = 228
	linkIPv6     = 229
	linkSLL2     = 276

	linkJuniperEther   = 178
	linkIPoIB          = 242
	linkDSABrcm        = 281
	linkDSABrcmPrepend = 282
	linkDSA            = 284
	linkEDSA           = 285
)

// answer is what two decoders must agree on: the innermost headers of a frame.
type answer struct {
	Kind             string // "tcp", "udp", "arp", "echo" or "-"
	EthSrc, EthDst   event.MAC
	VLAN             uint16
	Src, Dst         netip.Addr
	TTL              uint8
	IPID             uint16
	SrcPort, DstPort uint16
	Flags            uint8
	Seq, Ack         uint32
	Window, MSS      uint16
	TSval, TSecr     uint32
	Length           int
	Opcode           uint16
	Sender, Target   event.MAC
}

// ourAnswer is that of this package.
func ourAnswer(p *flow.Packet) answer {
	a := answer{Kind: "-"}
	switch p.Kind {
	case flow.TCP:
		a.Kind, a.SrcPort, a.DstPort = "tcp", p.SrcPort, p.DstPort
		a.Flags, a.Seq, a.Ack, a.Window, a.Length = p.Flags, p.Seq, p.Ack, p.Window, p.Length
		a.MSS, a.TSval, a.TSecr = p.MSS, p.TSval, p.TSecr
	case flow.UDP:
		a.Kind, a.SrcPort, a.DstPort = "udp", p.SrcPort, p.DstPort
	case flow.ARP:
		a.Kind, a.Opcode, a.Sender, a.Target = "arp", p.ARPOpcode, p.SenderMAC, p.TargetMAC
	case flow.ICMPEcho:
		a.Kind = "echo"
	default:
		return a
	}
	a.EthSrc, a.EthDst, a.VLAN = p.EthSrc, p.EthDst, p.VLAN
	a.Src, a.Dst, a.TTL, a.IPID = p.Src, p.Dst, p.TTL, p.IPID
	return a
}

// theirAnswer is gopacket's; ok is false where gopacket does not read the frame
// to its innermost header: fragments, headers that were cut, unknown ones.
func theirAnswer(link uint32, frame []byte) (a answer, ok bool) {
	first, rest := gopacketLink(link, frame)
	if first == nil {
		return a, false
	}
	layers.RegisterUDPPortLayerType(8472, layers.LayerTypeVXLAN) // Linux's port, before one was registered
	pkt := gopacket.NewPacket(rest, first, gopacket.DecodeOptions{NoCopy: true, Lazy: false})
	if link == linkSLL2 && frame[11] == 6 {
		a.EthSrc = event.MAC(frame[12:])
	}
	segment := 0 // bytes of the IP payload
	for _, l := range pkt.Layers() {
		switch l := l.(type) {
		case *layers.Ethernet:
			a.EthSrc, a.EthDst, a.VLAN = event.MAC(l.SrcMAC), event.MAC(l.DstMAC), 0
		case *layers.LinuxSLL:
			if l.AddrLen == 6 {
				a.EthSrc = event.MAC(l.Addr)
			}
		case *layers.Dot1Q:
			a.VLAN = l.VLANIdentifier
		case *layers.VXLAN, *layers.Geneve, *layers.GRE:
			a = answer{}
		case *layers.IPv4:
			if a.Src.IsValid() {
				a = answer{}
			}
			a.Src, a.Dst, a.TTL, a.IPID = addrOf(l.SrcIP), addrOf(l.DstIP), l.TTL, l.Id
			segment = int(l.Length) - 4*int(l.IHL)
		case *layers.IPv6:
			if a.Src.IsValid() {
				a = answer{}
			}
			a.Src, a.Dst, a.TTL = addrOf(l.SrcIP), addrOf(l.DstIP), l.HopLimit
			segment = int(l.Length)
		case *layers.IPv6HopByHop:
			segment -= len(l.Contents)
		case *layers.IPv6Destination:
			segment -= len(l.Contents)
		case *layers.IPv6Routing:
			segment -= len(l.Contents)
		case *layers.TCP:
			a.Kind, a.SrcPort, a.DstPort = "tcp", uint16(l.SrcPort), uint16(l.DstPort)
			a.Flags = l.Contents[13]
			a.Seq, a.Ack, a.Window = l.Seq, l.Ack, l.Window
			a.Length = segment - 4*int(l.DataOffset)
			for _, o := range l.Options {
				switch {
				case o.OptionType == layers.TCPOptionKindMSS && len(o.OptionData) == 2:
					a.MSS = binary.BigEndian.Uint16(o.OptionData)
				case o.OptionType == layers.TCPOptionKindTimestamps && len(o.OptionData) == 8:
					a.TSval, a.TSecr = binary.BigEndian.Uint32(o.OptionData), binary.BigEndian.Uint32(o.OptionData[4:])
				}
			}
		case *layers.UDP:
			a.Kind, a.SrcPort, a.DstPort = "udp", uint16(l.SrcPort), uint16(l.DstPort)
		case *layers.ARP:
			a.Kind, a.Opcode = "arp", l.Operation
			a.Sender, a.Target = event.MAC(l.SourceHwAddress), event.MAC(l.DstHwAddress)
			a.Src, a.Dst = addrOf(l.SourceProtAddress), addrOf(l.DstProtAddress)
		case *layers.ICMPv4:
			if l.TypeCode.Type() == layers.ICMPv4TypeEchoRequest {
				a.Kind = "echo"
			}
		case *layers.ICMPv6:
			if l.TypeCode.Type() == layers.ICMPv6TypeEchoRequest {
				a.Kind = "echo"
			}
		case *gopacket.Fragment:
			return answer{}, false
		}
	}
	// What gopacket takes for the protocol of a port may fail; the headers do not.
	failed := pkt.ErrorLayer() != nil && pkt.TransportLayer() == nil
	if a.Kind == "" {
		return answer{Kind: "-"}, !failed
	}
	return a, true
}

// gopacketLink is the layer at which gopacket begins, and what is left of the
// frame there: it has no layer for the second cooked header.
func gopacketLink(link uint32, b []byte) (gopacket.Decoder, []byte) {
	switch link {
	case linkEthernet:
		return layers.LayerTypeEthernet, b
	case linkSLL:
		return layers.LayerTypeLinuxSLL, b
	case linkSLL2:
		if len(b) < 20 {
			return nil, nil
		}
		return layers.EthernetType(binary.BigEndian.Uint16(b)), b[20:]
	case linkNull, linkLoop:
		return layers.LayerTypeLoopback, b
	case linkRaw, linkIPv4, linkIPv6:
		if len(b) == 0 {
			return nil, nil
		}
		if b[0]>>4 == 6 {
			return layers.LayerTypeIPv6, b
		}
		return layers.LayerTypeIPv4, b
	}
	return nil, nil
}

func addrOf(b []byte) netip.Addr {
	a, _ := netip.AddrFromSlice(b)
	return a
}

// ourCaptures are the captures of the fixtures and, where they lie beside the
// repository, those of the recordings.
func ourCaptures(t testing.TB) []string {
	t.Helper()
	var paths []string
	for _, pattern := range ourPatterns {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		paths = append(paths, found...)
	}
	require.NotEmpty(t, paths)
	return paths
}

const netns = "../../../shared/corpus/netns"

var ourPatterns = []string{captures + "/*/*.pcap", lab + "/*/raw/*.pcap", netns + "/*.pcap"}

// TestAgreesWithGopacket decodes every frame of our captures twice, by hand and
// with gopacket.
func TestAgreesWithGopacket(t *testing.T) {
	total := 0
	for _, path := range ourCaptures(t) {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		compared, bad := 0, []string(nil)
		require.NoError(t, pcap.EachFrame(b, func(rec pcap.Record, p *flow.Packet) {
			want, ok := theirAnswer(rec.Link, rec.Data)
			if !ok {
				return
			}
			if want.Kind != "-" {
				compared++
			}
			if got := ourAnswer(p); got != want {
				bad = append(bad, fmt.Sprintf("#%d: %+v\n  gopacket: %+v", rec.Frame, got, want))
			}
		}))
		assert.Empty(t, bad, path+"\n"+strings.Join(bad[:min(len(bad), 5)], "\n"))
		assert.Positive(t, compared, path)
		total += compared
	}
	t.Logf("%d frames read alike", total)
}
