package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/analyze/rules"
)

// version is stamped by release builds (-ldflags "-X .../cli.version=v1.2.3").
var version string

// toolVersion is the version written into reports: the stamped one, else what
// the Go toolchain recorded, else "devel".
func toolVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

type versionCmd struct{}

// Run prints one "name value" pair a line, so that scripts can pick them.
func (*versionCmd) Run(rt *session) error {
	_, err := fmt.Fprintf(rt.stdout, "%s %s\nschema %s\nrules %s\ngo %s %s/%s\n", programName, toolVersion(),
		model.SchemaVersion, rules.RulesHash()[:16], runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
