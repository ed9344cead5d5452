package flow_test

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
	"github.com/probe-forensics/probe-forensics/parsers/flow"
)

var update = flag.Bool("update", false, "rewrite the expected events")

// zero is the time that the cases count from.
const zero = event.Nanos(1796187486e9)

// TestCases feeds each case of testdata to a tracker. A case is a file of
// packets, one a line:
//
//	TIME FROM > TO FLAGS key=value...
//	TIME arp request|reply SENDER TARGET key=value...
//	TIME icmp FROM type=3 code=1 quote=FROM>TO
//	TIME echo|reply|udp|rs|mld FROM > TO key=value...
//
// FLAGS are tcpdump's (S F R P . and - for none); c and s stand for a client and
// a server. The second file holds the events, in the order of their frames.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		ar, err := txtar.ParseFile(name)
		require.NoError(t, err)
		for i := 0; i+1 < len(ar.Files); i += 2 {
			in, want := ar.Files[i], &ar.Files[i+1]
			t.Run(filepath.Base(name)+"/"+in.Name, func(t *testing.T) {
				got := run(t, string(in.Data))
				if *update {
					want.Data = []byte(got)
					return
				}
				assert.Equal(t, string(want.Data), got)
			})
		}
		if *update {
			require.NoError(t, os.WriteFile(name, txtar.Format(ar), 0o644))
		}
	}
}

// collector is a sink that keeps everything.
type collector struct {
	events   []event.Event
	problems []event.Problem
}

func (c *collector) Emit(e event.Event)      { c.events = append(c.events, e) }
func (c *collector) Problem(p event.Problem) { c.problems = append(c.problems, p) }

func run(t *testing.T, packets string) string {
	t.Helper()
	info := &event.StreamInfo{ID: 1}
	var c collector
	tr := flow.New(info, &c, event.Stamp{Precision: time.Microsecond})
	eachPacket(t, tr, packets, tr.Add)
	tr.Close()
	return render(info, &c)
}

// eachPacket reads the lines of a case.
func eachPacket(t testing.TB, tr *flow.Tracker, packets string, visit func(*flow.Packet)) {
	t.Helper()
	n := int64(0)
	for _, line := range strings.Split(packets, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		n++
		p := packet(t, tr, line)
		p.Ref = event.Ref{Stream: 1, Packet: n}
		visit(&p)
	}
}

// packet reads a line of a case.
func packet(t testing.TB, tr *flow.Tracker, line string) flow.Packet {
	t.Helper()
	f := strings.Fields(strings.ReplaceAll(line, " > ", ">"))
	at, err := strconv.ParseFloat(f[0], 64)
	require.NoError(t, err, line)
	p := flow.Packet{At: zero + event.Nanos(at*1e9+0.5), TTL: 64}
	ends := f[1]
	switch f[1] {
	case "arp":
		p.Kind, p.ARPOpcode = flow.ARP, map[string]uint16{"request": 1, "reply": 2}[f[2]]
		p.Src, p.Dst = addr(t, f[3]), addr(t, f[4])
		p.SenderMAC, p.EthSrc = mac(p.Src), mac(p.Src)
		p.EthDst = event.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		if p.ARPOpcode == 2 {
			p.EthDst = mac(p.Dst)
		}
		f = f[5:]
	case "icmp":
		p.Kind, p.Src = flow.ICMPError, addr(t, f[2])
		p.EthSrc = mac(p.Src)
		f = f[3:]
	case "echo", "reply", "udp", "rs", "mld":
		p.Kind = map[string]flow.Kind{"echo": flow.ICMPEcho, "reply": flow.ICMPEchoReply, "udp": flow.UDP, "rs": flow.RouterSolicit, "mld": flow.Multicast}[f[1]]
		ends = f[2]
		f = f[3:]
	default:
		p.Kind = flow.TCP
		for _, c := range f[2] {
			p.Flags |= map[rune]uint8{'S': flow.SYN, 'F': flow.FIN, 'R': flow.RST, 'P': flow.PSH, '.': flow.ACK}[c]
		}
		p.Window = 500
		f = f[3:]
	}
	if from, to, ok := strings.Cut(ends, ">"); ok && p.Src == (netip.Addr{}) {
		a, b := endpoint(t, from), endpoint(t, to)
		p.Src, p.SrcPort, p.Dst, p.DstPort = a.Addr(), a.Port(), b.Addr(), b.Port()
		p.EthSrc, p.EthDst = mac(p.Src), mac(p.Dst)
	}
	for _, kv := range f {
		set(t, tr, &p, kv)
	}
	return p
}

func set(t testing.TB, tr *flow.Tracker, p *flow.Packet, kv string) {
	t.Helper()
	k, v, _ := strings.Cut(kv, "=")
	num := func() uint64 {
		n, err := strconv.ParseUint(v, 0, 64)
		require.NoError(t, err, kv)
		return n
	}
	switch k {
	case "seq":
		p.Seq = uint32(num())
	case "ack":
		p.Ack = uint32(num())
	case "len":
		p.Length = int(num())
	case "win":
		p.Window = uint16(num())
	case "ttl":
		p.TTL = uint8(num())
	case "id":
		p.IPID = uint16(num())
	case "ts":
		p.HasTS, p.TSval = true, uint32(num())
	case "mss":
		p.MSS = uint16(num())
	case "type":
		p.ICMPType = uint8(num())
	case "code":
		p.ICMPCode = uint8(num())
	case "vlan":
		p.VLAN = uint16(num())
	case "if":
		p.Interface = tr.Interface(v)
	case "dir":
		p.Dir = map[string]flow.Direction{"in": flow.DirIn, "out": flow.DirOut}[v]
	case "nomac":
		p.EthSrc, p.EthDst, p.Lacks = event.MAC{}, event.MAC{}, p.Lacks|flow.LacksMAC
	case "noseq":
		p.Lacks |= flow.LacksSeq
	case "rel":
		p.Lacks |= flow.RelativeSeq
	case "mac":
		p.EthSrc, p.SenderMAC = mac(addr(t, v)), mac(addr(t, v))
	case "to":
		p.EthDst = mac(addr(t, v))
	case "vxlan":
		from, to, _ := strings.Cut(v, ">")
		p.Tunnel, p.OuterSrc, p.OuterDst = "vxlan", addr(t, from), addr(t, to)
	case "quote":
		from, to, _ := strings.Cut(v, ">")
		a, b := endpoint(t, from), endpoint(t, to)
		p.QuoteProto, p.QuoteSrc, p.QuoteSport, p.QuoteDst, p.QuoteDport = 6, a.Addr(), a.Port(), b.Addr(), b.Port()
	case "data":
		s, err := strconv.Unquote(`"` + strings.ReplaceAll(v, "_", " ") + `"`)
		require.NoError(t, err, kv)
		p.Payload = []byte(s)
		p.Length = max(p.Length, len(s))
	default:
		t.Fatalf("unknown key %q", kv)
	}
}

func endpoint(t testing.TB, s string) netip.AddrPort {
	t.Helper()
	switch s {
	case "c":
		s = "10.0.0.1:40000"
	case "s":
		s = "10.0.0.9:8080"
	case "c6":
		s = "[fd00::1]:40000"
	case "s6":
		s = "[fd00::9]:8080"
	}
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.AddrPortFrom(a, 0)
	}
	a, err := netip.ParseAddrPort(s)
	require.NoError(t, err)
	return a
}

func addr(t testing.TB, s string) netip.Addr { return endpoint(t, s).Addr() }

// mac derives a hardware address from an IP address.
func mac(a netip.Addr) event.MAC {
	b := a.As16()
	return event.MAC{0x0a, 0x58, b[12], b[13], b[14], b[15]}
}

// render prints counters and events, zero fields left out.
func render(info *event.StreamInfo, c *collector) string {
	var b strings.Builder
	var counts []string
	for k, v := range info.Counts {
		if v != 0 {
			counts = append(counts, fmt.Sprintf("%s=%d", k, v))
		}
	}
	slices.Sort(counts)
	fmt.Fprintln(&b, strings.Join(counts, " "))
	for _, x := range info.Capture.Targets {
		fmt.Fprintf(&b, "target %v syn=%d synack=%d rst_from=%d rst_to=%d\n", x.Addr, x.SYN, x.SYNACK, x.RSTFrom, x.RSTTo)
	}
	for _, p := range c.problems {
		fmt.Fprintf(&b, "problem #%d %s: %s (%d)\n", p.Ref.Packet, p.Code, p.Message, p.Count)
	}
	events := slices.Clone(c.events)
	slices.SortStableFunc(events, func(a, b event.Event) int { return a.Ref.Compare(b.Ref) })
	for _, e := range events {
		fmt.Fprintf(&b, "#%d %s%s\n", e.Ref.Packet, e.Payload.Kind(), fields(e.Payload))
	}
	return b.String()
}

func since(at event.Nanos) string {
	return "+" + strconv.FormatFloat(at.Sub(zero).Seconds(), 'f', -1, 64)
}

func fields(p any) string {
	var b strings.Builder
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			continue
		}
		name := v.Type().Field(i).Name
		switch x := v.Field(i).Interface().(type) {
		case event.Mark:
			fmt.Fprintf(&b, " %s=#%d%s", name, x.Packet, since(x.At))
		case event.ICMPError:
			fmt.Fprintf(&b, " %s=#%d%s/%v/%d/%d", name, x.Packet, since(x.At), x.From, x.Type, x.Code)
		case []event.Nanos:
			for i, at := range x {
				fmt.Fprintf(&b, "%s%s", []string{" " + name + "=", ","}[min(i, 1)], since(at))
			}
		case string:
			fmt.Fprintf(&b, " %s=%q", name, x)
		default:
			fmt.Fprintf(&b, " %s=%v", name, x)
		}
	}
	return b.String()
}
