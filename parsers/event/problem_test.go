package event_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// reporters are the functions through which parsers state a problem's code.
var reporters = []string{"problem", "problemIn", "group", "reject", "report", "limit", "fail"}

var kebab = regexp.MustCompile(`^[a-z]+(-[a-z]+)+$|^(corrupt|empty|encrypted|limit|truncated|unreadable)$`)

// TestProblemKinds holds the table of kinds and what parsers report to each
// other: no code without a row, no row without a code.
func TestProblemKinds(t *testing.T) {
	stated := map[string]string{} // code → where
	literals := map[string]bool{}
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || d.Name() == "problem.go" {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		require.NoError(t, err)
		literal := func(e ast.Expr) (string, bool) {
			l, ok := e.(*ast.BasicLit)
			if !ok || l.Kind != token.STRING {
				return "", false
			}
			text, err := strconv.Unquote(l.Value)
			return text, err == nil && kebab.MatchString(text)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if text, ok := literal(n); ok {
					literals[text] = true
				}
			case *ast.CallExpr:
				called, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || !slices.Contains(reporters, called.Sel.Name) {
					break
				}
				for _, arg := range n.Args {
					if text, ok := literal(arg); ok {
						stated[text] = files.Position(n.Pos()).String()
					}
				}
			}
			return true
		})
		return nil
	}))
	require.Greater(t, len(stated), 30, "the reporters were renamed: name them anew here")

	var last string
	for _, k := range event.ProblemKinds() {
		assert.Less(t, last, k.Code, "out of order")
		last = k.Code
		assert.True(t, literals[k.Code], "%s is reported by no parser", k.Code)
		for _, sentence := range []string{k.Means, k.Try} {
			assert.Regexp(t, `^[A-Z-].*\.$`, sentence, k.Code)
		}
		assert.Equal(t, k, event.Problem{Code: k.Code}.Kind())
		delete(stated, k.Code)
	}
	assert.Empty(t, stated, "codes without a row in the table of kinds")
}
