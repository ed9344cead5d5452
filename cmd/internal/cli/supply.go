package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones are named by people; the machine may not have them

	"github.com/probe-forensics/probe-forensics/analyze"
	"github.com/probe-forensics/probe-forensics/analyze/capture"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
)

// supplyFlags say what inputs leave out. Without them the tool infers it, and
// the report says so.
type supplyFlags struct {
	TZ           []string `name:"tz" sep:"none" group:"supply" placeholder:"[NODE=]ZONE" help:"Time zone of stamps without one, for all nodes or for one: UTC, Europe/Berlin, +02:00. Repeatable."`
	BaseYear     int      `group:"supply" placeholder:"YEAR" help:"Year of stamps without one."`
	Date         string   `group:"supply" placeholder:"YYYY-MM-DD" help:"Day of stamps that are a time of day only (packet text)."`
	Offset       []string `sep:"none" group:"supply" placeholder:"CLOCK=DURATION" help:"Add DURATION (-1.5s) to the times of a clock to get the kubelet's time. CLOCK is a node (for its captures), the path of a stream, api or NODE/api (for creation times and the audit log). Repeatable."`
	CapturePoint []string `sep:"none" group:"supply" placeholder:"FILE=PLACE" help:"Where a capture was taken: node-bridge, node-any, pod-veth, pod-netns or uplink, those of a pod with :NS/POD if known. Repeatable."`
	Threshold    []string `sep:"none" group:"supply" placeholder:"CAUSE.NAME=NUMBER" help:"Change a number that a cause is judged by; the page of the cause (explain) lists them. Repeatable."`
	Cluster      string   `group:"supply" placeholder:"ID" help:"Cluster id for the tables (default: the uid of namespace kube-system)."`
	Limit        []string `sep:"none" group:"supply" placeholder:"NAME=NUMBER" help:"Raise or lower a guard against hostile archives: depth, members, member-bytes, total-bytes, ratio. Repeatable."`
}

// apply checks the flags and fills the options.
func (f *supplyFlags) apply(o *analyze.Options) error {
	o.BaseYear, o.Date, o.Cluster = f.BaseYear, f.Date, f.Cluster
	if f.BaseYear != 0 && (f.BaseYear < 1970 || f.BaseYear > 2200) {
		return usagef("--base-year: %d is no plausible year", f.BaseYear)
	}
	if f.Date != "" {
		if _, err := time.Parse(time.DateOnly, f.Date); err != nil {
			return usagef("--date: %q is no day: expected YYYY-MM-DD", f.Date)
		}
	}
	for _, arg := range f.TZ {
		node, zone, found := strings.Cut(arg, "=")
		if !found {
			node, zone = "", arg
		}
		location, err := parseZone(zone)
		if err != nil {
			return usagef("--tz %s: %w", arg, err).try("--tz Europe/Berlin, --tz node-1=+02:00 or --tz UTC")
		}
		put(&o.Zones, node, location)
	}
	for _, arg := range f.Offset {
		i := strings.LastIndexByte(arg, '=') // a path may hold one as well
		d, err := time.ParseDuration(arg[i+1:])
		if err != nil || i <= 0 {
			return usagef("--offset %s: expected CLOCK=DURATION", arg).try("--offset node-1=-1.5s or --offset api=2s")
		}
		put(&o.Offsets, arg[:i], d)
	}
	for _, arg := range f.CapturePoint {
		file, place, _ := strings.Cut(arg, "=")
		if _, _, err := capture.ParsePoint(place); err != nil || file == "" {
			return usagef("--capture-point %s: expected FILE=PLACE", arg).
				try("--capture-point web.pcap=pod-netns:shop/web-0; places are node-bridge, node-any, pod-veth, pod-netns and uplink")
		}
		put(&o.CapturePoints, file, place)
	}
	return f.applyThresholds(o)
}

// put adds to a map that may not exist yet.
func put[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = make(map[string]V)
	}
	(*m)[key] = value
}

// parseZone reads a zone name or a fixed offset.
func parseZone(text string) (*time.Location, error) {
	for _, layout := range []string{"-07:00", "-0700", "-07"} {
		if t, err := time.Parse(layout, text); err == nil {
			_, seconds := t.Zone()
			return time.FixedZone(text, seconds), nil
		}
	}
	if text == "" || strings.EqualFold(text, "local") {
		return nil, fmt.Errorf("%q is no zone: it would depend on this machine", text)
	}
	location, err := time.LoadLocation(text)
	if err != nil {
		return nil, fmt.Errorf("%q is no zone this tool knows", text)
	}
	return location, nil
}

func (f *supplyFlags) applyThresholds(o *analyze.Options) error {
	for _, arg := range f.Threshold {
		key, text, _ := strings.Cut(arg, "=")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || !strings.Contains(key, ".") {
			return usagef("--threshold %s: expected CAUSE.NAME=NUMBER", arg)
		}
		if err := checkThreshold(key); err != nil {
			return err
		}
		put(&o.Thresholds, key, value)
	}
	return nil
}

// checkThreshold refuses keys that no rule reads.
func checkThreshold(key string) error {
	var known []string
	for _, r := range rules.Rules() {
		for _, t := range r.Thresholds {
			if r.Key(t) == key {
				return nil
			}
			known = append(known, r.Key(t))
		}
	}
	err := usagef("--threshold: %q is no threshold", key)
	if near := nearest(key, known); near != "" {
		return err.try("did you mean %q?", near)
	}
	return err.try("%s rules --json lists the thresholds", programName)
}
