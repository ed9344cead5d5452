package spill

import (
	"bytes"
	"fmt"
	"math"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// kinds are all kinds of payload: numbered without gaps from 1.
func kinds() []event.Kind {
	var ks []event.Kind
	for k := event.Kind(1); !strings.HasPrefix(k.String(), "kind("); k++ {
		ks = append(ks, k)
	}
	return ks
}

var words = rapid.OneOf(rapid.SampledFrom([]string{"", "shop", "web-0", "kubelet", "10.244.1.7", strings.Repeat("x", maxInterned+1)}), rapid.String())

// fill sets every field below v, whatever it is: a field that the codec does not
// carry comes back as zero and fails the comparison.
func fill(t *rapid.T, v reflect.Value, path string) {
	switch p := v.Addr().Interface().(type) {
	case *netip.Addr:
		*p = address(t, path)
		return
	case *netip.AddrPort:
		*p = netip.AddrPortFrom(address(t, path), rapid.Uint16().Draw(t, path))
		return
	case *netip.Prefix:
		if a := address(t, path).WithZone(""); a.IsValid() {
			*p = netip.PrefixFrom(a, rapid.IntRange(0, a.BitLen()).Draw(t, path))
		}
		return
	case *event.StreamID:
		*p = event.StreamID(rapid.Uint32().Draw(t, path))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(words.Draw(t, path))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, path))
	case reflect.Int, reflect.Int32, reflect.Int64:
		n := rapid.OneOf(rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1796187486029000000}), rapid.Int64()).Draw(t, path)
		v.SetInt(reflect.ValueOf(n).Convert(v.Type()).Int())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(reflect.ValueOf(rapid.Uint64().Draw(t, path)).Convert(v.Type()).Uint())
	case reflect.Struct:
		for i := range v.NumField() {
			require.True(t, v.Type().Field(i).IsExported(), "%s.%s: the codec cannot reach it", path, v.Type().Field(i).Name)
			fill(t, v.Field(i), path+"."+v.Type().Field(i).Name)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), path)
		}
	case reflect.Slice:
		if n := rapid.IntRange(-1, 3).Draw(t, path+" length"); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, v.Index(i), path+"[]")
			}
		}
	case reflect.Map:
		if n := rapid.IntRange(-1, 3).Draw(t, path+" size"); n >= 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				key, val := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(t, key, path+" key")
				fill(t, val, path+" value")
				v.SetMapIndex(key, val)
			}
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, path+" set") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), path)
		}
	default:
		t.Fatalf("%s: no generator for a %s", path, v.Type())
	}
}

func address(t *rapid.T, path string) netip.Addr {
	switch rapid.IntRange(0, 3).Draw(t, path+" family") {
	case 0:
		return netip.Addr{}
	case 1:
		return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, path)))
	case 2:
		return netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, path)))
	default:
		return netip.MustParseAddr("fe80::1%eth0")
	}
}

func drawEvent(t *rapid.T, k event.Kind) event.Event {
	p := newPayload(k)
	require.NotNil(t, p, "newPayload knows no %s", k)
	require.Equal(t, k, p.Kind())
	fill(t, reflect.ValueOf(p).Elem(), k.String())
	var e event.Event
	for i := range reflect.TypeOf(e).NumField() {
		if f := reflect.TypeOf(e).Field(i); f.Name != "Payload" {
			fill(t, reflect.ValueOf(&e).Elem().Field(i), "Event."+f.Name)
		}
	}
	e.Ref.Stream = 0 // belongs to the log, not to the event
	e.Payload = p
	return e
}

func TestEveryPayloadRoundTrips(t *testing.T) {
	for _, k := range kinds() {
		t.Run(k.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				store := NewStore(rapid.SampledFrom([]int64{0, 1 << 20}).Draw(t, "memory"), "")
				defer store.Close()
				log := store.NewLog()
				var want []event.Event
				for range rapid.IntRange(1, 4).Draw(t, "events") {
					e := drawEvent(t, k)
					want = append(want, e)
					require.NoError(t, log.Append(&e))
				}
				require.NoError(t, log.Seal())
				for range 2 { // a log can be read again
					i := 0
					for e, err := range log.All() {
						require.NoError(t, err)
						require.Equal(t, want[i], *e)
						i++
					}
					require.Len(t, want, i)
				}
			})
		})
	}
}

func TestStreamTableRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in, out event.StreamInfo
		fill(t, reflect.ValueOf(&in).Elem(), "StreamInfo")
		var pin, pout event.Problem
		fill(t, reflect.ValueOf(&pin).Elem(), "Problem")
		enc := coder{ids: map[string]uint64{}}
		enc.info(&in)
		enc.problem(&pin)
		dec := coder{dec: true, buf: enc.buf}
		dec.info(&out)
		dec.problem(&pout)
		require.NoError(t, dec.err)
		require.Empty(t, dec.buf)
		require.Equal(t, in, out)
		require.Equal(t, pin, pout)
	})
}

func TestBeyondTheBudgetEventsGoToOneFileWithoutName(t *testing.T) {
	dir := t.TempDir()
	store := NewStore(chunkSize*2, dir)
	logs := []*Log{store.NewLog(), store.NewLog()}
	const n = 20000
	for i := range n {
		for j, l := range logs {
			e := event.Event{Time: event.Known(event.Nanos(i)*1e9, time.Microsecond), Node: "node-a", Ref: event.Ref{Line: int64(i + 1)},
				Payload: &event.Notice{Code: "x", Message: fmt.Sprintf("message %d of log %d", i, j)}}
			require.NoError(t, l.Append(&e))
		}
	}
	for j, l := range logs {
		require.NoError(t, l.Seal())
		i := 0
		for e, err := range l.All() {
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("message %d of log %d", i, j), e.Payload.(*event.Notice).Message)
			require.EqualValues(t, i+1, e.Ref.Line)
			i++
		}
		assert.Equal(t, n, i)
	}
	assert.NotZero(t, store.Spilled())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
	require.NoError(t, store.Close())
}

func FuzzDecode(f *testing.F) {
	for _, k := range kinds() {
		enc := coder{ids: map[string]uint64{}}
		enc.event(&event.Event{Node: "n", Payload: newPayload(k)})
		f.Add(enc.buf)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dec := coder{dec: true, buf: data}
		var e event.Event
		for len(dec.buf) > 0 && dec.err == nil {
			dec.event(&e)
		}
		var info event.StreamInfo
		dec = coder{dec: true, buf: data}
		dec.info(&info)
	})
}

func FuzzReadFile(f *testing.F) {
	var b bytes.Buffer
	infos := []*event.StreamInfo{{ID: 1, Path: "a"}, {ID: 2, Path: "b", Capture: &event.CaptureInfo{}}}
	require.NoError(f, Write(&b, Table{Infos: infos}, func(yield func(*event.Event, error) bool) {
		for i := range event.StreamID(2) {
			if !yield(&event.Event{Ref: event.Ref{Stream: i + 1}, Payload: &event.Notice{Code: "x"}}, nil) {
				return
			}
		}
	}))
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		store := NewStore(1<<20, t.TempDir())
		defer store.Close()
		_, logs, _ := Read(bytes.NewReader(data), store)
		for _, l := range logs {
			for _, err := range l.All() {
				if err != nil {
					return
				}
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	b.ReportAllocs()
	l := NewStore(math.MaxInt64, "").NewLog()
	e := event.Event{Time: event.Known(1796187486029000000, 1000), Node: "node-a", PID: 100, Payload: &event.Flow{
		Client: netip.MustParseAddrPort("10.0.0.1:40000"), Server: netip.MustParseAddrPort("10.244.1.7:8080"), State: event.SF, History: "ShADadFf",
		SYN: event.Mark{At: 1796187486029000000, Packet: 7}, Method: "GET", Path: "/healthz", Status: 200}}
	for i := range b.N {
		e.Ref.Packet = int64(i)
		_ = l.Append(&e)
	}
	b.StopTimer()
	_ = l.Seal()
	n := 0
	for _, c := range l.chunks {
		n += c.size
	}
	b.ReportMetric(float64(n)/float64(b.N), "B/event")
}

func BenchmarkRead(b *testing.B) {
	b.ReportAllocs()
	l := NewStore(math.MaxInt64, "").NewLog()
	for i := range b.N {
		_ = l.Append(&event.Event{Ref: event.Ref{Line: int64(i)}, Node: "node-a", Payload: &event.ProbeResult{Pod: event.PodRef{Namespace: "shop", Name: "web-0"}, Output: "refused"}})
	}
	_ = l.Seal()
	b.ResetTimer()
	for _, err := range l.All() {
		if err != nil {
			b.Fatal(err)
		}
	}
}
