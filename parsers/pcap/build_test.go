package pcap_test

import (
	"encoding/binary"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

// byteOrder is a byte order that can be appended in.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// ngOption is an option of a pcapng block.
type ngOption struct {
	code  uint16
	value []byte
}

// ngWriter builds a pcapng file block by block.
type ngWriter struct {
	byteOrder
	b []byte
}

func (w *ngWriter) u16s(b []byte, vs ...uint16) []byte {
	for _, v := range vs {
		b = w.AppendUint16(b, v)
	}
	return b
}

func (w *ngWriter) u32s(b []byte, vs ...uint32) []byte {
	for _, v := range vs {
		b = w.AppendUint32(b, v)
	}
	return b
}

func padded(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// block appends a block with its options.
func (w *ngWriter) block(kind uint32, body []byte, options ...ngOption) {
	body = padded(body)
	for _, o := range options {
		body = w.u16s(body, o.code, uint16(len(o.value)))
		body = padded(append(body, o.value...))
	}
	if len(options) > 0 {
		body = w.u32s(body, 0)
	}
	size := uint32(len(body) + 12)
	w.b = w.u32s(w.b, kind, size)
	w.b = append(w.b, body...)
	w.b = w.u32s(w.b, size)
}

func (w *ngWriter) section(options ...ngOption) {
	body := w.u32s(nil, 0x1a2b3c4d)
	body = w.u16s(body, 1, 0)
	w.block(0x0a0d0d0a, w.u32s(body, 0xffffffff, 0xffffffff), options...)
}

func (w *ngWriter) iface(link uint32, snaplen uint32, options ...ngOption) {
	w.block(1, w.u32s(w.u16s(nil, uint16(link), 0), snaplen), options...)
}

func (w *ngWriter) enhanced(iface uint32, ticks uint64, wire int, data []byte, options ...ngOption) {
	body := w.u32s(nil, iface, uint32(ticks>>32), uint32(ticks), uint32(len(data)), uint32(wire))
	w.block(6, append(body, data...), options...)
}

// obsolete is the packet block that enhanced ones replaced.
func (w *ngWriter) obsolete(iface uint16, ticks uint64, wire int, data []byte, options ...ngOption) {
	body := w.u16s(nil, iface, 0)
	body = w.u32s(body, uint32(ticks>>32), uint32(ticks), uint32(len(data)), uint32(wire))
	w.block(2, append(body, data...), options...)
}

func (w *ngWriter) simple(wire int, data []byte) {
	w.block(3, append(w.u32s(nil, uint32(wire)), data...))
}

func (w *ngWriter) statistics(iface uint32, received, dropped uint64) {
	w.block(5, w.u32s(nil, iface, 0, 0), ngOption{4, w.AppendUint64(nil, received)}, ngOption{5, w.AppendUint64(nil, dropped)})
}

// names is a name resolution block with one record.
func (w *ngWriter) names(ip [4]byte, name string) {
	v := append(append(ip[:], name...), 0)
	body := padded(append(w.u16s(nil, 1, uint16(len(v))), v...))
	w.block(4, w.u32s(body, 0))
}

// classicHead is the file header of libpcap's format.
func classicHead(o byteOrder, magic uint32, minor uint16, snaplen, network uint32) []byte {
	b := o.AppendUint32(nil, magic)
	b = o.AppendUint16(b, 2)
	b = o.AppendUint16(b, minor)
	for _, v := range []uint32{0, 0, snaplen, network} {
		b = o.AppendUint32(b, v)
	}
	return b
}

// classicRecord appends a record: extra bytes end its header in Kuznetzov's
// variant.
func classicRecord(o byteOrder, b []byte, sec, frac uint32, wire int, data []byte, extra ...byte) []byte {
	for _, v := range []uint32{sec, frac, uint32(len(data)), uint32(wire)} {
		b = o.AppendUint32(b, v)
	}
	return append(append(b, extra...), data...)
}

// synFrame is an Ethernet frame of 54 bytes with a SYN of the client's port.
func synFrame(port uint16) []byte {
	return frameOf(&layers.Ethernet{SrcMAC: []byte{2, 0, 0, 0, 0, 1}, DstMAC: []byte{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4},
		&layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolTCP, SrcIP: []byte{10, 0, 0, 1}, DstIP: []byte{10, 0, 0, 2}},
		&layers.TCP{SrcPort: layers.TCPPort(port), DstPort: 8080, Seq: 1000 + uint32(port), SYN: true, Window: 64240})[:54]
}

// frameOf serialises layers; lengths are filled in.
func frameOf(l ...gopacket.SerializableLayer) []byte {
	buf := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true}, l...); err != nil {
		panic(err)
	}
	return buf.Bytes()
}
