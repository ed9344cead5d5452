package redact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report"
	"github.com/probe-forensics/probe-forensics/report/internal/sample"
	"github.com/probe-forensics/probe-forensics/report/redact"
)

// outputs renders every format of a result and returns the text of each file;
// of Parquet files all values.
func outputs(t *testing.T, res *model.Result) map[string]string {
	t.Helper()
	m := new(report.Memory)
	require.NoError(t, report.Render(t.Context(), res, m, report.Options{}, report.Formats()...))
	out := map[string]string{"stdout": m.Printed()}
	for _, f := range m.Written() {
		b := m.File(f.Name)
		if strings.HasSuffix(f.Name, ".parquet") {
			out[f.Name] = f.Name + "\n" + values(t, b)
		} else {
			out[f.Name] = string(b)
		}
	}
	return out
}

func values(t *testing.T, b []byte) string {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	var text strings.Builder
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 64)
		for {
			n, err := rows.ReadRows(buf)
			for _, r := range buf[:n] {
				for _, v := range r {
					fmt.Fprintln(&text, v.String())
				}
			}
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
		}
		require.NoError(t, rows.Close())
	}
	return text.String()
}

// secret is the sample case with more ways to write names and addresses.
func secret() *model.Result {
	res := sample.Result()
	res.Cluster = "0aa1c7a0-4f44-4c5b-9d4b-2f4b7bb2b9f1"
	res.Inputs[0].Streams[0].Path = "bundle.tar.gz!/registry-acme-corp-com-tools-sha256-4c1f0d0a1f5e/namespaces/shop/pods/frontend-7d9c6b5f4-x2k8p/web/web/logs/current.log"
	res.Incidents[0].Evidence[0].Excerpt = strings.Join([]string{
		`Pod "frontend-7d9c6b5f4-x2k8p_shop(0603f37c-86b0-462d-9fbb-57bbf6c154a2)" on ip-10-0-7-21.eu-west-1.compute.internal`,
		`IP 10.244.1.1.41005 > 10.244.1.12.8080: Flags [S], IP6 fd00:244:1::73.443 > fd00:244:1::1.41000, [fd00:244:1::73]:8080`,
		`Pulling image "redis:7.2" from registry.acme-corp.com:5000/team/cart:v2 and quay.acme.io/x/y@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`,
		`arp who-has 10.244.1.12 tell 10.244.1.1, 0a:58:0a:f4:01:0c and 0A-58-0A-F4-01-0D, solicited 33:33:ff:00:00:73 ff02::1:ff00:73`,
		`deployment frontend, claim frontend-data, svc cart.shop.svc.cluster.local, 10-244-1-12.shop.pod.cluster.local, took 05:46:43.123 at v1.34.4 core/pods.yaml:12`,
	}, "\n")
	return res
}

func TestNoOriginalGetsThrough(t *testing.T) {
	res := secret()
	redacted, m, err := redact.Apply(t.Context(), res)
	require.NoError(t, err)
	files := outputs(t, redacted)
	require.Greater(t, len(files), 15)
	originals := []string{
		"shop", "payments", "frontend", "x2k8p", "api-0", "worker-5c6d7f", "9qk2z", "node-a", "node-b", "cart-1", "acme", "redis:7.2", "team/cart", "compute.internal",
		"10.244.1.1", "10-244-1-12", "10-0-7-21", "192.168.7.11", "fd00:244", "0a:58:0a", "0A-58-0A", "ff00:73", "ff:00:00:73",
		"0603f37c-86b0", "0aa1c7a0-4f44", "bundle.tar.gz", "svc.cluster.local",
	}
	for _, p := range m.Pairs {
		if len(p.Original) > 4 {
			originals = append(originals, p.Original)
		}
	}
	for name, text := range files {
		for _, o := range originals {
			whole := regexp.MustCompile(regexp.QuoteMeta(o) + `\b`)
			if i := whole.FindStringIndex(text); i != nil {
				t.Errorf("%s holds %q: %q", name, o, text[max(0, i[0]-60):min(len(text), i[1]+60)])
			}
		}
	}
}

func TestPseudonymsAreConsistent(t *testing.T) {
	res := secret()
	redacted, m, err := redact.Apply(t.Context(), res)
	require.NoError(t, err)
	to := map[string]string{}
	for _, p := range m.Pairs {
		assert.NotContains(t, to, p.Original)
		to[p.Original] = p.Pseudonym
	}
	text := redacted.Incidents[0].Evidence[0].Excerpt
	pod := redacted.Pods[1]
	assert.Equal(t, to["frontend-7d9c6b5f4-x2k8p"], pod.Pod)
	assert.Contains(t, text, pod.Pod+"_"+pod.Namespace+"("+pod.UID+")")
	assert.Contains(t, text, "> "+pod.IPIntervals[0].IP+".8080")
	assert.Contains(t, text, "["+pod.IPIntervals[1].IP+"]:8080")
	assert.Contains(t, text, pod.IPIntervals[0].MAC)
	assert.Contains(t, text, ", "+strings.ReplaceAll(pod.IPIntervals[0].IP, ".", "-")+".host-")
	assert.Contains(t, text, "05:46:43.123 at v1.34.4 core/pods.yaml:12", "times, versions and file names stay")
	assert.Contains(t, redacted.Incidents[0].Summary, pod.Namespace+"/"+pod.Pod)
	assert.Equal(t, res.Incidents[0].Window, redacted.Incidents[0].Window)
	for row, err := range redacted.Tables.Flows() {
		require.NoError(t, err)
		if row.ID == "flow-f-05" {
			assert.Equal(t, pod.IPIntervals[0].IP, row.Flow.Server.Addr().String())
		}
	}
	assert.Contains(t, m.Text("--pod shop/api-0"), to["shop"]+"/"+to["api-0"])
}

func TestTheOriginalIsUntouched(t *testing.T) {
	res := secret()
	before, err := json.Marshal(res)
	require.NoError(t, err)
	_, _, err = redact.Apply(t.Context(), res)
	require.NoError(t, err)
	after, err := json.Marshal(res)
	require.NoError(t, err)
	assert.Equal(t, string(before), string(after))
}

func TestRedactionIsDeterministic(t *testing.T) {
	a, ma, err := redact.Apply(t.Context(), secret())
	require.NoError(t, err)
	b, mb, err := redact.Apply(t.Context(), secret())
	require.NoError(t, err)
	assert.Equal(t, ma.Pairs, mb.Pairs)
	assert.Equal(t, outputs(t, a), outputs(t, b))
}

// TestSubnetsStay checks that two addresses share a /8, /16 and /24 exactly when
// their pseudonyms do, and that no two share a pseudonym.
func TestSubnetsStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []netip.Addr
		for range rapid.IntRange(2, 12).Draw(t, "n") {
			b := [4]byte{rapid.SampledFrom([]byte{10, 11, 172, 192}).Draw(t, "a"), rapid.SampledFrom([]byte{1, 168, 244}).Draw(t, "b"), rapid.SampledFrom([]byte{0, 1, 2}).Draw(t, "c"), rapid.Byte().Draw(t, "d")}
			list = append(list, netip.AddrFrom4(b))
		}
		res := &model.Result{Pods: []model.Pod{{}}}
		for _, a := range list {
			res.Pods[0].IPIntervals = append(res.Pods[0].IPIntervals, model.IPInterval{IP: a.String()})
		}
		redacted, _, err := redact.Apply(t.Context(), res)
		require.NoError(t, err)
		for i, a := range list {
			pa := netip.MustParseAddr(redacted.Pods[0].IPIntervals[i].IP)
			require.NotEqual(t, a, pa)
			for j, b := range list {
				pb := netip.MustParseAddr(redacted.Pods[0].IPIntervals[j].IP)
				for _, bits := range []int{8, 16, 24, 32} {
					require.Equal(t, netip.PrefixFrom(a, bits).Masked() == netip.PrefixFrom(b, bits).Masked(),
						netip.PrefixFrom(pa, bits).Masked() == netip.PrefixFrom(pb, bits).Masked(), "%s %s /%d: %s %s", a, b, bits, pa, pb)
				}
			}
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("frontend-7d9c6b5f4-x2k8p_shop 10.244.1.12.80 fd00::1 0a:58:0a:f4:01:0c ip-10-0-0-1", "api")
	f.Add("image=a.b/c:d :::: 1.2.3.4.5.6 ff02::1:ff00:1%eth0 ..", "shop")
	f.Fuzz(func(t *testing.T, text, name string) {
		res := sample.Result()
		res.Pods[0].Namespace = name
		res.Incidents[0].Evidence[0].Excerpt = text
		res.Tables = model.Tables{}
		redacted, m, err := redact.Apply(t.Context(), res)
		require.NoError(t, err)
		require.Equal(t, redacted.Incidents[0].Evidence[0].Excerpt, m.Text(text), "the same text gives the same redaction")
		for _, ip := range []string{"10.244.1.12", "fd00:244:1::73"} {
			require.NotContains(t, strings.Fields(redacted.Incidents[0].Evidence[0].Excerpt), ip)
		}
	})
}

func TestErrorsOfTablesAreReturned(t *testing.T) {
	res := sample.Result()
	res.Tables.Flows = func() iter.Seq2[*model.FlowRow, error] {
		return func(yield func(*model.FlowRow, error) bool) { yield(nil, errors.New("spill: short read")) }
	}
	_, _, err := redact.Apply(t.Context(), res)
	assert.ErrorContains(t, err, "spill: short read")
}
