package pcap

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

// Frames reads a capture and describes the frames that wanted names, in file
// order, each in one line of the shape tcpdump uses. It stops after the highest
// one. Damage ends it silently: Parse is there to report damage.
func Frames(ctx context.Context, r io.Reader, wanted map[int64]bool, visit func(frame int64, line string)) error {
	f, _, err := open(newWindow(r), &event.CaptureInfo{}, func(string, string, int64, int64) {})
	if err != nil {
		return err
	}
	last, left := int64(0), len(wanted)
	dec := decoder{interfaces: &nameBook{}}
	var rec Record
	for n := 0; left > 0; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.next(&rec); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("after packet %d: %w", last, err)
		}
		last = rec.Frame
		if wanted[rec.Frame] {
			visit(rec.Frame, describe(&rec, dec.decode(&rec)))
			left--
		}
	}
	return nil
}

// nameBook numbers interfaces where nobody tracks them.
type nameBook struct{ names map[string]uint16 }

// Interface implements interfaceNumbers.
func (b *nameBook) Interface(name string) uint16 {
	if b.names == nil {
		b.names = make(map[string]uint16)
	}
	if _, ok := b.names[name]; !ok {
		b.names[name] = uint16(len(b.names) + 1)
	}
	return b.names[name]
}

// describe prints one frame.
func describe(rec *Record, p *flow.Packet) string {
	var b strings.Builder
	if rec.At != 0 {
		b.WriteString(rec.At.Time().Format(time.RFC3339Nano))
		b.WriteByte(' ')
	}
	if rec.Interface != "" {
		fmt.Fprintf(&b, "%s ", rec.Interface)
	}
	if !p.EthSrc.IsZero() || !p.EthDst.IsZero() {
		fmt.Fprintf(&b, "%s > %s ", p.EthSrc, p.EthDst)
	}
	if p.Tunnel != "" {
		fmt.Fprintf(&b, "%s %s > %s: ", p.Tunnel, p.OuterSrc, p.OuterDst)
	}
	switch p.Kind {
	case flow.TCP:
		fmt.Fprintf(&b, "TCP %s > %s [%s] seq %d ack %d win %d length %d", addrPort(p.Src, p.SrcPort), addrPort(p.Dst, p.DstPort),
			tcpFlags(p.Flags), p.Seq, p.Ack, p.Window, p.Length)
	case flow.UDP:
		fmt.Fprintf(&b, "UDP %s > %s", addrPort(p.Src, p.SrcPort), addrPort(p.Dst, p.DstPort))
	case flow.ARP:
		if p.ARPOpcode == 2 {
			fmt.Fprintf(&b, "ARP reply %s is-at %s", p.Src, p.SenderMAC)
		} else {
			fmt.Fprintf(&b, "ARP who-has %s tell %s", p.Dst, p.Src)
		}
	case flow.Neighbour:
		if p.ARPOpcode == 2 {
			fmt.Fprintf(&b, "ND advertisement %s is-at %s", p.Src, p.SenderMAC)
		} else {
			fmt.Fprintf(&b, "ND who-has %s tell %s", p.Dst, p.Src)
		}
	case flow.ICMPError:
		fmt.Fprintf(&b, "ICMP %s > %s type %d code %d about %s > %s", p.Src, p.Dst, p.ICMPType, p.ICMPCode,
			addrPort(p.QuoteSrc, p.QuoteSport), addrPort(p.QuoteDst, p.QuoteDport))
	case flow.ICMPEcho, flow.ICMPEchoReply:
		fmt.Fprintf(&b, "ICMP %s > %s echo", p.Src, p.Dst)
	case flow.Undecoded:
		fmt.Fprintf(&b, "%s, %d bytes, not decoded", LinkTypeName(rec.Link), rec.Length)
	default:
		fmt.Fprintf(&b, "IP %s > %s, %d bytes", p.Src, p.Dst, rec.Length)
	}
	return b.String()
}

func tcpFlags(f uint8) string {
	s := ""
	for _, x := range []struct {
		bit  uint8
		name string
	}{{flow.SYN, "S"}, {flow.FIN, "F"}, {flow.RST, "R"}, {flow.PSH, "P"}, {flow.ACK, "."}} {
		if f&x.bit != 0 {
			s += x.name
		}
	}
	return s
}

func addrPort(a fmt.Stringer, port uint16) string { return fmt.Sprintf("%s.%d", a, port) }
