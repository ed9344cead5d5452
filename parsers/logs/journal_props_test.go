package logs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

func TestUnquoteIsStrconv(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		q := strconv.Quote(s)
		assert.Equal(t, s, string(appendUnquoted(nil, []byte(q[1:len(q)-1]))))
		assert.Equal(t, len(q)-1, closingQuote([]byte(q+` next="x"`)))
	})
}

func TestJSONStringIsEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		b, err := json.Marshal(map[string]any{"k": s, "n": 12.5, "o": map[string]any{"}": []string{"]", s}}})
		require.NoError(t, err)
		f := newFlatJSON(b)
		seen := 0
		for {
			key, raw, ok := f.next()
			if !ok {
				break
			}
			seen++
			if string(key) == "k" {
				text, ok := jsonText(nil, raw)
				assert.True(t, ok)
				assert.Equal(t, s, string(text))
			}
		}
		assert.False(t, f.bad)
		assert.Equal(t, 3, seen)
	})
}

func TestLinesAreScanned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.StringMatching(`[a-z\r]{0,9}`)).Draw(t, "lines"), "\n")
		in := &Input{R: iotest.OneByteReader(strings.NewReader(text))}
		l := newLineReader(context.Background(), in)
		want := bufio.NewScanner(strings.NewReader(text))
		for want.Scan() {
			line, ok := l.next()
			require.True(t, ok)
			assert.Equal(t, want.Text(), string(line))
			assert.True(t, strings.HasPrefix(text[l.offset:], string(line)))
			assert.Equal(t, l.number, int64(1+strings.Count(text[:l.offset], "\n")))
		}
		_, ok := l.next()
		assert.False(t, ok)
		assert.EqualValues(t, len(text), l.consumed())
	})
}

func TestLongLineIsCut(t *testing.T) {
	text := "a\n" + strings.Repeat("x", 3*maxLine) + "\nb\n"
	l := newLineReader(context.Background(), &Input{R: strings.NewReader(text)})
	var got []int
	for {
		line, ok := l.next()
		if !ok {
			break
		}
		got = append(got, len(line))
		assert.Equal(t, len(line) == maxLine, l.long)
	}
	assert.Equal(t, []int{1, maxLine, 1}, got)
	assert.EqualValues(t, 3, l.number)
	assert.EqualValues(t, len(text), l.consumed())
}

func TestStampsAreTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(1e8, 7e9).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
		zone := time.FixedZone("", int(rapid.Int64Range(-56, 56).Draw(t, "quarters"))*900)
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999-0700", "2006-01-02 15:04:05.999999999Z07:00"} {
			st, rest, ok := isoStamp([]byte(at.In(zone).Format(layout) + " x"))
			require.True(t, ok)
			assert.Equal(t, " x", string(rest))
			assert.Equal(t, event.Known(event.FromTime(at), st.Precision), st)
		}
		// A reading without year and zone is completed by a stamp near it.
		local := at.In(zone)
		w := wall{month: int(local.Month()), day: local.Day(), hour: local.Hour(), min: local.Minute(), sec: local.Second(), nanos: local.Nanosecond()}
		near := at.Add(time.Duration(rapid.Int64Range(-400, 400).Draw(t, "lag")) * time.Second)
		got, offset, ok := w.resolveAgainst(event.FromTime(near), 0, false)
		require.True(t, ok)
		assert.Equal(t, event.FromTime(at), got)
		_, seconds := local.Zone()
		assert.Equal(t, time.Duration(seconds)*time.Second, offset)
	})
}

func TestBlocksAreValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[ -~]{0,12}`), 1, 6).Draw(t, "lines")
		var b bytes.Buffer
		b.WriteString("output=<\n")
		for _, l := range lines {
			b.WriteString("\t" + l + "\n")
		}
		b.WriteString(` > after="it"`)
		s := newSession(&Input{Info: &event.StreamInfo{}})
		ps := s.fields(b.Bytes())
		require.Len(t, ps, 2)
		assert.Equal(t, strings.Join(lines, "\n"), string(s.text(ps, "output")))
		assert.Equal(t, "it", string(s.text(ps, "after")))
	})
}

func TestContainerPaths(t *testing.T) {
	for path, want := range map[string]*containerPath{
		"b.tar!/x/namespaces/shop/pods/web-0/web/web/logs/current.log":                      {pod: event.PodRef{Namespace: "shop", Name: "web-0"}, container: "web"},
		"namespaces/shop/pods/web-0/web/web/logs/previous.insecure.log":                     {pod: event.PodRef{Namespace: "shop", Name: "web-0"}, container: "web", previous: true},
		"b/namespaces/shop/pods/web-0/web/web/logs/rotated/1.log.20260102-030405.gz!/1.log": {pod: event.PodRef{Namespace: "shop", Name: "web-0"}, container: "web", previous: true},
		"node/pods/shop_web-0_u-1/web/3.log":                                                {pod: event.PodRef{Namespace: "shop", Name: "web-0", UID: "u-1"}, container: "web"},
		"var/log/containers/web-0_shop_web-side-0123456789abcdef.log":                       {pod: event.PodRef{Namespace: "shop", Name: "web-0"}, container: "web-side"},
		"cluster-resources/pods/logs/shop/web-0/web-previous.log":                           {pod: event.PodRef{Namespace: "shop", Name: "web-0"}, container: "web", previous: true},
		"namespaces/shop/pods/web-0/web.log":                                                {pod: event.PodRef{Namespace: "shop", Name: "web-0"}, container: "web"},
		"namespaces/shop/pods/web-0/web-0.yaml":                                             nil,
		"host_service_logs/masters/kubelet_service.log":                                     nil,
		"current.log": nil,
		"":            nil,
	} {
		assert.Equal(t, want, containerOfPath(path), path)
	}
}
