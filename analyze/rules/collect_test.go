package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAskedForIsDocumented reads the sources: whatever a rule's file asks for in
// a case is on the page of the cause. A reader who saw the page before the
// failure can then have collected it.
func TestAskedForIsDocumented(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	ids := observationNames(t)
	found := 0
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), f, nil, 0)
		require.NoError(t, err)
		var rule *Rule
		var asked []string
		ast.Inspect(file, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.KeyValueExpr:
				if k, ok := x.Key.(*ast.Ident); ok && k.Name == "ID" && rule == nil {
					if v, ok := x.Value.(*ast.BasicLit); ok {
						id, _ := strconv.Unquote(v.Value)
						rule = Lookup(id)
					}
				}
			case *ast.CallExpr:
				if s, ok := x.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Ask" {
					for _, a := range x.Args {
						if name, ok := a.(*ast.Ident); ok {
							asked = append(asked, ids[name.Name])
						}
					}
				}
			}
			return true
		})
		if rule == nil {
			continue
		}
		found++
		for _, id := range asked {
			assert.True(t, slices.Contains(rule.Collect, id), "%s asks for %q, which its page does not list", f, id)
		}
	}
	assert.Equal(t, causes-1, found, "one file a cause; %s has no literal id", Inconclusive)
}

// observationNames maps the constants of the observations to their ids.
func observationNames(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "missing.go", nil, 0)
	require.NoError(t, err)
	out := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
			if lit, ok := v.Values[0].(*ast.BasicLit); ok && strings.HasPrefix(v.Names[0].Name, "Miss") {
				out[v.Names[0].Name], _ = strconv.Unquote(lit.Value)
			}
		}
		return true
	})
	require.ElementsMatch(t, slices.Collect(maps.Keys(missingTable)), slices.Collect(maps.Values(out)))
	return out
}
