package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLocate(t *testing.T) {
	const id = "52100ddcf09ae45b7af22c25ddbc5897a27cadca992e32106d4d4a9037897039"
	for path, want := range map[string]Place{
		"b.tgz!/mg/sha/host_service_logs/masters/kubelet_service.log":                                                      {Layout: "must-gather", Role: RoleHostLog},
		"b.tgz!/mg/sha/host_service_logs/w1/kubelet_service.log":                                                           {Layout: "must-gather", Role: RoleHostLog, Node: "w1"},
		"b.tgz!/mg/nodes/w1/w1_logs_kubelet.gz!/w1_logs_kubelet":                                                           {Layout: "must-gather", Role: RoleHostLog, Node: "w1"},
		"b.tgz!/audit_logs/kube-apiserver/m-0-audit-2026-12-02T04-58-06.029.log.gz!/m-0-audit-2026-12-02T04-58-06.029.log": {Layout: "must-gather", Role: RoleAudit, Node: "m-0"},
		"dir/namespaces/shop/pods/web-0/web/web/logs/previous.log":                                                         {Layout: "must-gather", Role: RoleContainerLog, Namespace: "shop", Pod: "web-0", Container: "web"},
		"dir/namespaces/shop/core/configmaps.yaml":                                                                         {Layout: "must-gather", Role: RoleIgnored, Namespace: "shop", Ignore: whySecret},
		"x.tar.gz!/kubelet/kubelet.log":                                                                                    {Layout: "eks", Role: RoleHostLog},
		"x.tar.gz!/n-1-2026-12-02_05_14_30/journald/k3s":                                                                   {Layout: "rancher", Role: RoleHostLog, Node: "n-1"},
		"x.tar.gz!/n-1-2026-12-02_05_14_30/systeminfo/uname":                                                               {Layout: "rancher", Role: RoleIgnored, Node: "n-1", Ignore: whyHost},
		"k.zip!/kw/pods/shop_web-0_42e5e42c-2952/redis/0.log":                                                              {Layout: "kind", Role: RoleContainerLog, Node: "kw", Namespace: "shop", Pod: "web-0", UID: "42e5e42c-2952", Container: "redis"},
		"k.zip!/kw/containers/web-0_shop_redis-" + id + ".log":                                                             {Layout: "kind", Role: RoleContainerCopy, Node: "kw", Namespace: "shop", Pod: "web-0", Container: "redis"},
		"h.zip!/kubeobjects/shop_pod_web-0":                                                                                {Layout: "aks-periscope", Role: RoleObjects, Namespace: "shop", Pod: "web-0"},
		"h.tgz!/sb/cluster-resources/pods/logs/shop/web-0/web-previous.log":                                                {Layout: "troubleshoot", Role: RoleContainerLog, Namespace: "shop", Pod: "web-0", Container: "web"},
		"h.tgz!/sos/sos_commands/logs/journalctl_--no-pager":                                                               {Layout: "sos", Role: RoleHostLog},
		"a/b/picture.png":  {Role: RoleIgnored, Ignore: "images"},
		"a/b/anything.log": {},
	} {
		assert.Equal(t, want, Locate(path), path)
	}
}

// TestEveryRuleIsReached guards against a rule that an earlier one hides.
func TestEveryRuleIsReached(t *testing.T) {
	fill := strings.NewReplacer("{node}", "n-1", "{ns}", "shop", "{pod}", "web-0", "{uid}", "u-1", "{container}", "web", "????????????????????????????????????????????????????????????????", strings.Repeat("a", 64),
		"20??-??-??_??_??_??", "2026-12-02_05_14_30", "/**", "/q/q", "*", "z")
	for _, c := range table {
		p := fill.Replace(c.pattern)
		got := Locate("in.tgz!/top/" + p)
		assert.Equal(t, c.layout, got.Layout, c.pattern)
		if c.ignore != "" {
			assert.Equal(t, c.ignore, got.Ignore, c.pattern)
		} else {
			assert.Equal(t, c.role, got.Role, c.pattern)
		}
	}
}

// TestRecordedLayouts walks bundles in the layouts of a dozen collectors: what is
// ignored there must be named, and never be a journal or a capture.
func TestRecordedLayouts(t *testing.T) {
	bundles, _ := filepath.Glob("../../../shared/corpus/layouts/*/bundle.*")
	if len(bundles) == 0 {
		t.Skip("no recordings beside the repository: ../../../shared/corpus/layouts")
	}
	for _, b := range bundles {
		_, err := os.Stat(b)
		require.NoError(t, err)
		got, res := walkAll(t, Options{}, b)
		assert.NotEmpty(t, got)
		assert.Empty(t, problemLines(res.Problems), b)
		for _, v := range got {
			p := Locate(v.path)
			if p.Ignore == "" {
				continue
			}
			assert.NotContains(t, v.path, ".pcap", b)
			assert.NotContains(t, v.data, `"Probe failed"`, v.path)
		}
	}
}

func BenchmarkLocate(b *testing.B) {
	b.ReportAllocs()
	for range b.N {
		Locate("bundle.tar.gz!/must-gather.local.1796187486029/registry-sha256-4c1f/namespaces/shop/apps/deployments.yaml")
	}
}
