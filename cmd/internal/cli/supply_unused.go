package cli

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// warnUnused tells which of the names that the user gave with --capture-point,
// --offset and --tz occur nowhere in the inputs: a misspelt one would change
// nothing, and nobody would notice.
func (rt *session) warnUnused(o *analyze.Options, infos []*event.StreamInfo, res *model.Result) {
	captures, clocks, nodes := map[string]bool{}, map[string]bool{"api": true}, map[string]bool{"": true}
	for _, s := range infos {
		nodes[s.Node], clocks[s.Path] = true, true
		if s.Capture != nil {
			captures[s.Path], captures[path.Base(s.Path)] = true, true
		}
	}
	pods := map[string]bool{"": true}
	for _, p := range res.Pods {
		nodes[p.Node], pods[p.Namespace+"/"+p.Pod] = true, true
	}
	for n := range nodes {
		clocks[n], clocks[n+"/api"] = true, true
	}
	for _, file := range slices.Sorted(maps.Keys(o.CapturePoints)) {
		_, pod, _ := capture.ParsePoint(o.CapturePoints[file])
		switch {
		case !captures[file]:
			rt.unused("--capture-point", file, "capture", captures)
		case !pods[pod]:
			rt.unused("--capture-point", pod, "pod", pods)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Offsets)) {
		if !clocks[name] {
			rt.unused("--offset", name, "node or stream", nodes)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Zones)) {
		if !nodes[name] {
			rt.unused("--tz", name, "node", nodes)
		}
	}
}

// maxNamed is how many names a warning suggests.
const maxNamed = 5

func (rt *session) unused(flag, name, kind string, known map[string]bool) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(known)), func(s string) bool { return s == "" })
	rt.log.Warn(flag+" changed nothing: no "+kind+" in the inputs has that name", "given", name,
		"known", strings.Join(names[:min(len(names), maxNamed)], " "))
}
