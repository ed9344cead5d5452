package pcap_test

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
	"github.com/probe-forensics/probe-forensics/parsers/pcap"
)

// drawn is a frame that the property builds from its outermost header inward:
// the layers to serialise, and what a decoder must find in them.
type drawn struct {
	t      *rapid.T
	link   uint32
	stack  []gopacket.SerializableLayer
	want   answer
	more   bool // gopacket does not look behind the header: a fragment
	beyond bool // a fragment without ports

	mirrored bool // in a tunnel that gopacket does not know
}

func (d *drawn) push(l ...gopacket.SerializableLayer) { d.stack = append(d.stack, l...) }

func (d *drawn) u16(label string) uint16 { return rapid.Uint16().Draw(d.t, label) }
func (d *drawn) u32(label string) uint32 { return rapid.Uint32().Draw(d.t, label) }
func (d *drawn) some(label string) bool  { return rapid.Bool().Draw(d.t, label) }

func (d *drawn) bytes(label string, n int) []byte {
	return rapid.SliceOfN(rapid.Byte(), n, n).Draw(d.t, label)
}

// linkHeader draws the outermost header for a payload of the EtherType.
func (d *drawn) linkHeader(t layers.EthernetType) {
	links := []uint32{linkEthernet, linkEthernet, linkEthernet, linkSLL, linkSLL2, linkIPoIB, linkDSA, linkEDSA, linkDSABrcm,
		linkDSABrcmPrepend, linkJuniperEther}
	if t != layers.EthernetTypeARP {
		links = append(links, linkNull, linkLoop, linkRaw, linkIPv4)
	}
	d.link = rapid.SampledFrom(links).Draw(d.t, "link")
	switch d.link {
	case linkEthernet:
		d.ethernet(t)
		return
	case linkSLL, linkSLL2:
		addr := d.bytes("sender", 8)
		addr[6], addr[7] = 0, 0
		var h []byte
		if d.link == linkSLL {
			h = binary.BigEndian.AppendUint16(nil, rapid.Uint16Range(0, 4).Draw(d.t, "packet type"))
			h = append(h, 0, 1, 0, 6)
			h = append(h, addr...)
			h = binary.BigEndian.AppendUint16(h, uint16(t))
		} else {
			h = binary.BigEndian.AppendUint16(nil, uint16(t))
			h = append(h, 0, 0, 0, 0, 0, rapid.ByteRange(1, 9).Draw(d.t, "interface"), 0, 1, rapid.ByteRange(0, 4).Draw(d.t, "packet type"), 6)
			h = append(h, addr...)
		}
		d.want.EthSrc = event.MAC(addr)
		d.push(gopacket.Payload(h))
	case linkNull, linkLoop:
		family := uint32(2)
		if t == layers.EthernetTypeIPv6 {
			family = rapid.SampledFrom([]uint32{10, 24, 28, 30}).Draw(d.t, "family")
		}
		if d.link == linkLoop || d.some("big-endian") {
			d.push(gopacket.Payload(binary.BigEndian.AppendUint32(nil, family)))
		} else {
			d.push(gopacket.Payload(binary.LittleEndian.AppendUint32(nil, family)))
		}
		d.more = d.more || family == 10 // gopacket knows it as another one's
	case linkRaw:
	case linkIPv4:
		if t == layers.EthernetTypeIPv6 {
			d.link = linkIPv6
		}
	default:
		d.wrapped(t)
	}
}

// wrapped draws the header of a link type that wraps another.
func (d *drawn) wrapped(t layers.EthernetType) {
	tag := binary.BigEndian.AppendUint32(nil, d.u32("tag"))
	switch d.link {
	case linkIPoIB:
		h := binary.BigEndian.AppendUint16(d.bytes("routing header", 40), uint16(t))
		d.push(gopacket.Payload(append(h, 0, 0)))
	case linkDSABrcmPrepend:
		d.push(gopacket.Payload(tag))
		d.ethernet(t)
	case linkJuniperEther:
		h := []byte{0x4d, 0x47, 0x43, 0}
		if d.some("extensions") {
			n := rapid.ByteMax(30).Draw(d.t, "extension bytes")
			h[3] |= 0x80
			h = append(append(h, 0, n), d.bytes("extension", int(n))...)
		}
		if t != layers.EthernetTypeARP && d.some("no link layer") {
			h[3] |= 0x02
			d.push(gopacket.Payload(append(h, tag...)))
			return
		}
		d.push(gopacket.Payload(h))
		d.ethernet(t)
	default:
		if d.link == linkEDSA {
			tag = append([]byte{0xda, 0xda, 0, 0}, tag...)
		}
		addrs := d.bytes("addresses", 12)
		d.want.EthDst, d.want.EthSrc = event.MAC(addrs), event.MAC(addrs[6:])
		if last := tag[len(tag)-4:]; d.link != linkDSABrcm && last[0]&0x20 != 0 {
			d.want.VLAN = binary.BigEndian.Uint16(last[2:]) & 0xfff
		}
		d.push(gopacket.Payload(binary.BigEndian.AppendUint16(append(addrs, tag...), uint16(t))))
	}
}

// ethernet draws an Ethernet header with up to two VLAN tags.
func (d *drawn) ethernet(t layers.EthernetType) {
	src, dst := d.bytes("source", 6), d.bytes("destination", 6)
	d.want.EthSrc, d.want.EthDst = event.MAC(src), event.MAC(dst)
	types := []layers.EthernetType{t}
	for range rapid.IntRange(0, 2).Draw(d.t, "tags") {
		outer := layers.EthernetTypeDot1Q
		if len(types) == 2 && d.some("provider bridge") {
			outer = layers.EthernetTypeQinQ
		}
		types = append([]layers.EthernetType{outer}, types...)
	}
	d.push(&layers.Ethernet{SrcMAC: src, DstMAC: dst, EthernetType: types[0]})
	for _, next := range types[1:] {
		d.want.VLAN = rapid.Uint16Range(0, 4095).Draw(d.t, "vlan")
		d.push(&layers.Dot1Q{VLANIdentifier: d.want.VLAN, Type: next, Priority: rapid.ByteRange(0, 7).Draw(d.t, "priority")})
	}
}

// addresses draws a pair of one family.
func (d *drawn) addresses(v6 bool) (src, dst net.IP) {
	n := 4
	if v6 {
		n = 16
	}
	src, dst = d.bytes("source address", n), d.bytes("destination address", n)
	if v6 { // not one that stands for IPv4
		src[0], dst[0] = 0xfd, 0xfd
	}
	a, _ := netip.AddrFromSlice(src)
	b, _ := netip.AddrFromSlice(dst)
	d.want.Src, d.want.Dst = a, b
	d.want.TTL = rapid.Byte().Draw(d.t, "ttl")
	return src, dst
}

// ipv4 draws a header with options, perhaps of a fragment.
func (d *drawn) ipv4(proto layers.IPProtocol, mayFragment bool) *layers.IPv4 {
	src, dst := d.addresses(false)
	d.want.IPID = d.u16("id")
	ip := &layers.IPv4{Version: 4, SrcIP: src, DstIP: dst, TTL: d.want.TTL, Id: d.want.IPID, Protocol: proto, TOS: rapid.Byte().Draw(d.t, "tos")}
	for range rapid.IntRange(0, 3).Draw(d.t, "options") {
		ip.Options = append(ip.Options, layers.IPv4Option{OptionType: 0x94, OptionLength: 4, OptionData: d.bytes("option", 2)})
	}
	if d.some("don't fragment") {
		ip.Flags |= layers.IPv4DontFragment
	}
	if mayFragment {
		switch rapid.IntRange(0, 5).Draw(d.t, "fragment") {
		case 0:
			ip.Flags |= layers.IPv4MoreFragments
			d.more = true
		case 1:
			ip.FragOffset = rapid.Uint16Range(1, 0x1fff).Draw(d.t, "offset")
			d.more, d.beyond = true, true
		}
	}
	d.push(ip)
	return ip
}

// ipv6 draws a header and a chain of extension headers before the transport.
func (d *drawn) ipv6(proto layers.IPProtocol, mayFragment bool) {
	src, dst := d.addresses(true)
	var chain []layers.IPProtocol
	if d.some("hop by hop") {
		chain = append(chain, layers.IPProtocolIPv6HopByHop)
	}
	for range rapid.IntRange(0, 2).Draw(d.t, "extensions") {
		chain = append(chain, rapid.SampledFrom([]layers.IPProtocol{layers.IPProtocolIPv6Destination, layers.IPProtocolIPv6Routing}).Draw(d.t, "extension"))
	}
	if mayFragment && rapid.IntRange(0, 3).Draw(d.t, "fragment") == 0 {
		chain = append(chain, layers.IPProtocolIPv6Fragment)
	}
	chain = append(chain, proto)
	d.push(&layers.IPv6{Version: 6, SrcIP: src, DstIP: dst, HopLimit: d.want.TTL, NextHeader: chain[0], FlowLabel: d.u32("flow") & 0xfffff})
	for i, kind := range chain[:len(chain)-1] {
		d.push(gopacket.Payload(d.extension(kind, chain[i+1])))
	}
}

// extension draws an extension header.
func (d *drawn) extension(kind, next layers.IPProtocol) []byte {
	if kind == layers.IPProtocolIPv6Fragment {
		d.more = true
		offset := uint16(0)
		if d.some("later fragment") {
			d.beyond = true
			offset = rapid.Uint16Range(1, 0x1fff).Draw(d.t, "offset")
		}
		h := binary.BigEndian.AppendUint16([]byte{byte(next), 0}, offset<<3|1)
		return binary.BigEndian.AppendUint32(h, d.u32("identification"))
	}
	n := rapid.IntRange(0, 3).Draw(d.t, "units")
	h := make([]byte, 8*(n+1))
	h[0], h[1] = byte(next), byte(n)
	if kind == layers.IPProtocolIPv6Routing {
		h[2] = 4 // a type that gopacket leaves alone
		d.more = true
		return h
	}
	h[2], h[3] = 1, byte(len(h)-4) // PadN over the rest
	return h
}

// transport draws what IP carries and returns its protocol number.
func (d *drawn) transport(v6 bool) (layers.IPProtocol, []gopacket.SerializableLayer) {
	payload := gopacket.Payload(d.bytes("payload", rapid.IntRange(0, 40).Draw(d.t, "length")))
	switch rapid.IntRange(0, 5).Draw(d.t, "transport") {
	case 0:
		d.want.Kind, d.want.SrcPort, d.want.DstPort = "udp", d.u16("source port"), rapid.Uint16Range(1024, 4000).Draw(d.t, "port")
		return layers.IPProtocolUDP, []gopacket.SerializableLayer{
			&layers.UDP{SrcPort: layers.UDPPort(d.want.SrcPort), DstPort: layers.UDPPort(d.want.DstPort)}, payload}
	case 1:
		d.want.Kind = "echo"
		if v6 {
			return layers.IPProtocolICMPv6, []gopacket.SerializableLayer{
				&layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeEchoRequest, 0)}, gopacket.Payload(d.bytes("echo", 4)), payload}
		}
		return layers.IPProtocolICMPv4, []gopacket.SerializableLayer{
			&layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0)}, payload}
	}
	w := &d.want
	w.Kind, w.SrcPort, w.DstPort, w.Seq, w.Ack, w.Window = "tcp", d.u16("source port"), d.u16("port"), d.u32("seq"), d.u32("ack"), d.u16("window")
	w.Flags = rapid.Byte().Draw(d.t, "flags")
	w.Length = len(payload)
	tcp := &layers.TCP{SrcPort: layers.TCPPort(w.SrcPort), DstPort: layers.TCPPort(w.DstPort), Seq: w.Seq, Ack: w.Ack, Window: w.Window,
		FIN: w.Flags&1 != 0, SYN: w.Flags&2 != 0, RST: w.Flags&4 != 0, PSH: w.Flags&8 != 0,
		ACK: w.Flags&16 != 0, URG: w.Flags&32 != 0, ECE: w.Flags&64 != 0, CWR: w.Flags&128 != 0}
	d.tcpOptions(tcp)
	return layers.IPProtocolTCP, []gopacket.SerializableLayer{tcp, payload}
}

func (d *drawn) tcpOptions(tcp *layers.TCP) {
	add := func(kind layers.TCPOptionKind, data []byte) {
		tcp.Options = append(tcp.Options, layers.TCPOption{OptionType: kind, OptionLength: uint8(len(data) + 2), OptionData: data})
	}
	order := rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(d.t, "option order")
	for _, o := range order[:rapid.IntRange(0, 5).Draw(d.t, "options")] {
		switch o {
		case 0:
			d.want.MSS = d.u16("mss")
			add(layers.TCPOptionKindMSS, binary.BigEndian.AppendUint16(nil, d.want.MSS))
		case 1:
			d.want.TSval, d.want.TSecr = d.u32("tsval"), d.u32("tsecr")
			add(layers.TCPOptionKindTimestamps, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, d.want.TSval), d.want.TSecr))
		case 2:
			add(layers.TCPOptionKindSACKPermitted, nil)
		case 3:
			add(layers.TCPOptionKindWindowScale, []byte{7})
		case 4:
			n := rapid.IntRange(1, 2).Draw(d.t, "nops")
			for range n {
				tcp.Options = append(tcp.Options, layers.TCPOption{OptionType: layers.TCPOptionKindNop, OptionLength: 1})
			}
		}
	}
}

// arp draws a message for IPv4.
func (d *drawn) arp() {
	w := &d.want
	w.Kind, w.Opcode = "arp", rapid.Uint16Range(1, 4).Draw(d.t, "opcode")
	sender, target := d.bytes("sender address", 6), d.bytes("target address", 6)
	src, dst := d.bytes("sender", 4), d.bytes("target", 4)
	w.Sender, w.Target = event.MAC(sender), event.MAC(target)
	w.Src, w.Dst = netip.AddrFrom4([4]byte(src)), netip.AddrFrom4([4]byte(dst))
	d.push(&layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4,
		Operation: w.Opcode, SourceHwAddress: sender, SourceProtAddress: src, DstHwAddress: target, DstProtAddress: dst})
}

// tunnel draws an overlay around what is drawn next and reports whether that is
// an Ethernet frame.
func (d *drawn) tunnel(t layers.EthernetType) (inner bool) {
	kind := rapid.SampledFrom([]string{"vxlan", "geneve", "gre", "ipip", "bcm-li"}).Draw(d.t, "tunnel")
	outer := func(proto layers.IPProtocol) {
		d.linkHeader(layers.EthernetTypeIPv4)
		d.ipv4(proto, false)
	}
	udp := func(port layers.UDPPort) {
		outer(layers.IPProtocolUDP)
		d.push(&layers.UDP{SrcPort: layers.UDPPort(d.u16("tunnel port")), DstPort: port})
	}
	vni := d.u32("vni") & 0xffffff
	switch kind {
	case "vxlan":
		udp(4789)
		d.push(&layers.VXLAN{ValidIDFlag: true, VNI: vni})
		inner = true
	case "geneve":
		udp(6081)
		inner = d.some("bridged")
		proto := t
		if inner {
			proto = 0x6558
		}
		h := binary.BigEndian.AppendUint16([]byte{1, 0}, uint16(proto))
		h = binary.BigEndian.AppendUint32(h, vni<<8)
		d.push(gopacket.Payload(append(h, 0x01, 0x02, 0x80, 0, 0, 0, 0, 0)[:12])) // one option without data
	case "gre":
		outer(layers.IPProtocolGRE)
		d.push(&layers.GRE{Protocol: t, KeyPresent: d.some("key"), Key: vni})
	case "bcm-li":
		udp(49152)
		inner = d.some("bridged")
		shim := uint32(2+vni&1)<<29 | 4<<25 | 3<<22 | vni>>2
		if inner {
			shim |= 7 << 25
		}
		d.push(gopacket.Payload(binary.BigEndian.AppendUint32(nil, shim)))
		d.mirrored = true
	case "ipip":
		if t == layers.EthernetTypeIPv6 {
			outer(layers.IPProtocolIPv6)
		} else {
			outer(layers.IPProtocolIPv4)
		}
	}
	d.want = answer{}
	return inner
}

// drawFrame draws a whole frame and serialises it.
func drawFrame(t *rapid.T) (d *drawn, frame []byte) {
	d = &drawn{t: t}
	kind := rapid.SampledFrom([]layers.EthernetType{layers.EthernetTypeIPv4, layers.EthernetTypeIPv4, layers.EthernetTypeIPv6,
		layers.EthernetTypeARP}).Draw(t, "network")
	if kind != layers.EthernetTypeARP && rapid.IntRange(0, 3).Draw(t, "in a tunnel") == 0 {
		if d.tunnel(kind) {
			d.ethernet(kind)
		}
	} else {
		d.linkHeader(kind)
	}
	if kind == layers.EthernetTypeARP {
		d.arp()
	} else {
		proto, rest := d.transport(kind == layers.EthernetTypeIPv6)
		if kind == layers.EthernetTypeIPv4 {
			d.ipv4(proto, true)
		} else {
			d.ipv6(proto, true)
		}
		d.push(rest...)
	}
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, d.stack...); err != nil {
		t.Fatal(err)
	}
	if d.beyond {
		d.want = answer{Kind: "-"}
	}
	return d, buf.Bytes()
}

// TestFramesAsBuilt builds frames with gopacket and decodes them by hand and with
// gopacket: both find what was built. Cut to any length, a frame is either read
// the same, or said to be cut.
func TestFramesAsBuilt(t *testing.T) {
	kinds, oracle := map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		d, frame := drawFrame(t)
		kinds[d.want.Kind]++
		p := pcap.DecodeFrame(d.link, frame)
		assert.Equal(t, d.want, ourAnswer(&p))
		if a, ok := theirAnswer(d.link, frame); ok && !d.more && !d.mirrored {
			oracle++
			assert.Equal(t, d.want, a, "gopacket")
		}
		snap := rapid.IntRange(0, len(frame)).Draw(t, "snaplen")
		p, cut := pcap.DecodeCut(d.link, frame[:snap], len(frame))
		if p.Kind == flow.Undecoded {
			assert.True(t, cut, "undecoded, but not said to be cut")
			assert.Less(t, snap, len(frame))
			return
		}
		got, want := ourAnswer(&p), d.want
		if want.Kind == "tcp" { // options may be cut off
			got.MSS, got.TSval, got.TSecr, want.MSS, want.TSval, want.TSecr = 0, 0, 0, 0, 0, 0
		}
		if p.Kind == flow.UDP && p.DstPort > 4000 {
			return // an overlay whose inner headers were cut is the datagram that carries it
		}
		assert.Equal(t, want, got, "cut to %d of %d bytes", snap, len(frame))
	})
	assert.Positive(t, oracle)
	t.Logf("%v, of which gopacket read %d", kinds, oracle)
}
