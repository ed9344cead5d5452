// Package law checks the architecture: which package may import which, and that
// nothing but the command line touches the clock, the exit code or the standard
// streams.
package law

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/probe-forensics/probe-forensics/"

type goPackage struct {
	ImportPath, Dir           string
	GoFiles                   []string
	Imports                   []string
	TestImports, XTestImports []string
	Standard                  bool
}

// listPackages asks the go command for every package of the module.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports", module+"...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var packages []goPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		packages = append(packages, p)
	}
	require.NotEmpty(t, packages)
	return packages
}

// analysisOrder is the order of the stages: each may import those before it.
var analysisOrder = []string{"clock", "identity", "capture", "probe", "incident", "rules"}

// thirdParty says which module may be imported by which packages (a trailing /
// stands for a whole tree).
var thirdParty = map[string][]string{
	"github.com/alecthomas/kong":            {"cmd/"},
	"github.com/charmbracelet/lipgloss":     {"report/term"},
	"github.com/muesli/termenv":             {"report/term"},
	"github.com/charmbracelet/x/ansi":       {"report/term"},
	"github.com/google/gopacket":            {"parsers/pcap", "fixtures/"},
	"github.com/klauspost/compress":         {"parsers/source", "parsers/logs", "parsers/spill", "report/parquetout", "fixtures/", "cmd/"},
	"github.com/parquet-go/parquet-go":      {"report/parquetout", "cmd/"},
	"github.com/pierrec/lz4/v4":             {"parsers/source", "parsers/logs"},
	"github.com/ulikunitz/xz":               {"parsers/source", "parsers/logs", "fixtures/"},
	"go.yaml.in/yaml/v3":                    {"parsers/logs", "cmd/", "fixtures/"},
	"github.com/rogpeppe/go-internal":       {"fixtures/"},
	"pgregory.net/rapid":                    {"fixtures/"},
	"github.com/stretchr/testify":           {"fixtures/"},
	"golang.org/x/sys":                      {"cmd/"},
	"github.com/charmbracelet/x/term":       {"cmd/"},
	"github.com/mattn/go-runewidth":         {"report/term"},
	"github.com/santhosh-tekuri/jsonschema": {"fixtures/"},
}

// mayImport states the law for one import inside the module; "" is allowed,
// anything else the reason why not.
func mayImport(from, to string) string {
	within := func(p, tree string) bool { return p == tree || strings.HasPrefix(p, tree+"/") }
	switch {
	case within(from, "cmd"):
		return ""
	case within(to, "cmd"):
		return "only cmd imports cmd"
	case within(to, "fixtures") && !within(from, "fixtures"):
		return "only tests import fixtures"
	case to == "parsers/event" && from != "parsers/event":
		return ""
	case from == "parsers/event":
		return "parsers/event is a leaf"
	case from == "analyze/model":
		return "analyze/model imports parsers/event only"
	case from == "parsers":
		return inside(to, "parsers/source", "parsers/logs", "parsers/flow", "parsers/pcap", "parsers/spill")
	case from == "parsers/spill":
		return inside(to, "parsers/spill")
	case within(from, "parsers/source"):
		return inside(to, "parsers/source")
	case within(from, "parsers/flow"):
		return inside(to, "parsers/flow")
	case within(from, "parsers"):
		return inside(to, "parsers/source", "parsers/flow", "parsers/logs", "parsers/pcap")
	case within(from, "report"):
		return inside(to, "analyze/model", "report")
	case from == "analyze":
		return inside(to, "analyze")
	case within(from, "analyze"):
		return analysisMayImport(strings.TrimPrefix(from, "analyze/"), to)
	case within(from, "fixtures"):
		return ""
	}
	return "unknown package: add it to the law"
}

func inside(to string, trees ...string) string {
	for _, tree := range trees {
		if to == tree || strings.HasPrefix(to, tree+"/") {
			return ""
		}
	}
	return "allowed are " + strings.Join(append([]string{"parsers/event"}, trees...), ", ")
}

func analysisMayImport(stage, to string) string {
	stage, _, _ = strings.Cut(stage, "/")
	if to == "analyze/model" {
		return ""
	}
	target, isStage := strings.CutPrefix(to, "analyze/")
	target, _, _ = strings.Cut(target, "/")
	i, j := slices.Index(analysisOrder, stage), slices.Index(analysisOrder, target)
	switch {
	case !isStage:
		return "analysis imports analysis, analyze/model and parsers/event only"
	case i < 0 || j < 0:
		return "unknown stage: add it to the law"
	case j > i:
		return "stages import the ones before them only: " + strings.Join(analysisOrder, ", ")
	}
	return ""
}

func TestImports(t *testing.T) {
	for _, p := range listPackages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		for _, imp := range p.Imports {
			to, own := strings.CutPrefix(imp, module)
			switch {
			case own:
				assert.Empty(t, mayImport(from, to), "%s imports %s", from, to)
			case strings.Contains(strings.SplitN(imp, "/", 2)[0], "."):
				assert.True(t, moduleAllowed(from, imp), "%s imports %s: not on the list of modules for it", from, imp)
			default:
				assert.True(t, stdAllowed(from, imp), "%s imports %s: only cmd may", from, imp)
			}
		}
	}
}

func moduleAllowed(from, imp string) bool {
	for mod, users := range thirdParty {
		if imp != mod && !strings.HasPrefix(imp, mod+"/") {
			continue
		}
		for _, user := range users {
			if from == strings.TrimSuffix(user, "/") || strings.HasSuffix(user, "/") && strings.HasPrefix(from, user) {
				return true
			}
		}
	}
	return false
}

// stdAllowed keeps the network and processes out of everything but cmd, and
// files out of analysis.
func stdAllowed(from, imp string) bool {
	if strings.HasPrefix(from, "cmd/") || strings.HasPrefix(from, "fixtures/") {
		return true
	}
	switch imp {
	case "net", "net/http", "os/exec", "os/signal", "flag", "log", "plugin", "unsafe", "C":
		return false
	case "os":
		return !strings.HasPrefix(from, "analyze") && from != "parsers/event"
	}
	return true
}

// TestNoClockNoExitNoPrinting looks for calls that only cmd may make.
func TestNoClockNoExitNoPrinting(t *testing.T) {
	forbidden := map[string][]string{
		"time": {"Now", "Since", "Until", "Sleep", "After", "Tick", "NewTimer", "NewTicker"},
		"os":   {"Exit", "Stdout", "Stderr", "Stdin", "Args", "Getenv", "LookupEnv", "Environ"},
		"fmt":  {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	}
	for _, p := range listPackages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(from, "cmd/") || strings.HasPrefix(from, "fixtures/") {
			continue
		}
		for _, name := range p.GoFiles {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if pkg, ok := n.X.(*ast.Ident); ok && slices.Contains(forbidden[pkg.Name], n.Sel.Name) {
						t.Errorf("%s: %s.%s: only cmd may", files.Position(n.Pos()), pkg.Name, n.Sel.Name)
					}
				case *ast.CallExpr:
					if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "println" || fn.Name == "print") {
						t.Errorf("%s: %s: only cmd may print", files.Position(n.Pos()), fn.Name)
					}
				}
				return true
			})
		}
	}
}

// TestPackageNames refuses the names under which anything can be put.
func TestPackageNames(t *testing.T) {
	for _, p := range listPackages(t) {
		for part := range strings.SplitSeq(strings.TrimPrefix(p.ImportPath, module), "/") {
			assert.NotContains(t, []string{"util", "utils", "common", "helpers", "misc", "types", "vars", "pkg"}, part, p.ImportPath)
		}
	}
}

// TestDependenciesAreExplained wants a line in docs/dependencies.md for every
// module that a package of this one imports, tests included.
func TestDependenciesAreExplained(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/dependencies.md")
	require.NoError(t, err)
	for _, p := range listPackages(t) {
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if strings.HasPrefix(imp, module) || !strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
				continue
			}
			explained := false
			for mod := imp; mod != "." && !explained; mod = path.Dir(mod) {
				explained = bytes.Contains(doc, []byte("`"+mod+"`"))
			}
			assert.True(t, explained, "%s imports %s, which docs/dependencies.md does not explain", p.ImportPath, imp)
		}
	}
}

// TestNothingIsSentAnywhere wants no package of the program, cmd included, to be
// able to open a connection or start a process. Only the benchmarks, a program
// of their own, and what makes fixtures run others.
func TestNothingIsSentAnywhere(t *testing.T) {
	for _, p := range listPackages(t) {
		from := strings.TrimPrefix(p.ImportPath, module)
		if from == "cmd/internal/bench" || strings.HasPrefix(from, "fixtures/") {
			continue
		}
		for _, imp := range p.Imports {
			assert.NotContains(t, []string{"net", "net/http", "net/rpc", "net/smtp", "crypto/tls", "os/exec", "plugin"}, imp, from)
		}
	}
}
