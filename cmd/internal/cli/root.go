package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

const description = "Explains from kubelet journals, must-gathers and packet captures why Kubernetes probes failed."

const shortHelp = `probe-forensics explains from kubelet journals, must-gathers and packet
captures why Kubernetes probes failed. It works offline and changes nothing.

usage:   probe-forensics analyze INPUT... [flags]
example: probe-forensics analyze must-gather.tar.gz node-1.pcap

INPUT is a file, a directory, an archive, or - for standard input. Several
inputs are one case. The reports go to ./must-gather.tar.gz.probe-forensics,
the verdict to the terminal.

probe-forensics --help lists the other commands.
`

// root is the grammar of the command line. A verb is one field here and one
// file beside this one.
type root struct {
	globals

	Analyze    analyzeCmd    `cmd:"" help:"Explain why probes failed."`
	Inventory  inventoryCmd  `cmd:"" help:"Say what is in the inputs and which questions it can answer."`
	Timeline   timelineCmd   `cmd:"" help:"List what happened to a pod."`
	Verify     verifyCmd     `cmd:"" help:"Check the evidence of a report against its inputs."`
	Diff       diffCmd       `cmd:"" help:"Compare two reports: new, gone and changed causes."`
	Merge      mergeCmd      `cmd:"" help:"Sum up the reports of many cases."`
	Extract    extractCmd    `cmd:"" help:"Keep what bears on probes in one small file."`
	Compact    compactCmd    `cmd:"" help:"Bring the tables of many cases into one place, in few large files."`
	Explain    explainCmd    `cmd:"" help:"Describe a cause: how it shows, what resembles it, what to do."`
	Rules      rulesCmd      `cmd:"" help:"List the causes the tool can name."`
	Completion completionCmd `cmd:"" help:"Print the completion script of a shell."`
	Schema     schemaCmd     `cmd:"" help:"Print a JSON Schema of what the tool reads or writes."`
	Version    versionCmd    `cmd:"" help:"Print the versions of the tool and of its schemas."`
}

// globals are the flags every verb takes. None of them can change a result.
type globals struct {
	Help        helpFlag `short:"h" group:"global" help:"Show help."`
	Config      string   `group:"global" placeholder:"FILE" type:"path" help:"Read settings from FILE instead of ./.probe-forensics.yaml and the user's configuration."`
	Workers     int      `group:"global" placeholder:"N" help:"Read up to N inputs side by side (default: the processors available)."`
	MemoryLimit byteSize `group:"global" placeholder:"SIZE" help:"Keep memory below SIZE, for example 512MiB."`
	NoProgress  bool     `group:"global" help:"Show no progress line."`
	Color       string   `group:"global" enum:"auto,always,never" default:"auto" placeholder:"WHEN" help:"Colour results: auto, always or never."`
	LogLevel    string   `group:"global" enum:"debug,info,warn,error" default:"warn" placeholder:"LEVEL" help:"Log to standard error from this level: debug, info, warn or error."`
	LogFormat   string   `group:"global" enum:"text,json" default:"text" placeholder:"FORMAT" help:"Write log lines as text or json."`
}

// flagGroups order the help of a verb.
var flagGroups = []kong.Group{
	{Key: "output", Title: "Output:"},
	{Key: "fleet", Title: "Many bundles:"},
	{Key: "select", Title: "What to look at:"},
	{Key: "supply", Title: "What the inputs leave out:"},
	{Key: "exit", Title: "Exit code:"},
	{Key: "global", Title: "Global flags:"},
}

// BeforeResolve reads the configuration once the command line is known, because
// --config decides which file that is.
func (r *root) BeforeResolve(kctx *kong.Context, rt *session) error {
	settings, err := loadSettings(kctx, rt.env)
	if err != nil {
		return err
	}
	kctx.AddResolver(settings)
	return nil
}

// grammarVars fills the ${...} of help texts.
func grammarVars() kong.Vars {
	return formatVars().CloneWith(kong.Vars{
		"causes":   strings.Join(causeIDs(), " "),
		"families": strings.Join(families(), " "),
	})
}

// helpFlag prints the help of the selected verb and ends parsing.
type helpFlag bool

var errHelpShown = errors.New("help shown")

// BeforeReset runs before arguments are checked, so that --help works on an
// otherwise incomplete command line.
func (helpFlag) BeforeReset(kctx *kong.Context) error {
	if err := kctx.PrintUsage(false); err != nil {
		return err
	}
	return errHelpShown
}

// IgnoreDefault keeps kong from calling the hook for the unset flag.
func (helpFlag) IgnoreDefault() {}

// byteSize is a number of bytes written with a unit.
type byteSize int64

var byteUnits = []struct {
	suffix string
	size   float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1},
}

// UnmarshalText parses "512MiB", "2G" or a plain number of bytes.
func (b *byteSize) UnmarshalText(text []byte) error {
	number, unit := strings.TrimSpace(string(text)), 1.0
	for _, u := range byteUnits {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 || n*unit > 1<<62 {
		return fmt.Errorf("%q is no size: expected a number with a unit, for example 512MiB", text)
	}
	*b = byteSize(n * unit)
	return nil
}
