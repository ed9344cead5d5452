package logs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// dump prints a tree on one line.
func dump(f field) string {
	if !f.ok() {
		return "nothing"
	}
	var b strings.Builder
	var walk func(i int32)
	walk = func(i int32) {
		n := f.t.nodes[i]
		if n.key != nil {
			fmt.Fprintf(&b, "%q:", n.key)
		}
		switch n.kind {
		case nodeNull:
			b.WriteString("null")
		case nodeScalar:
			fmt.Fprintf(&b, "%q", n.text)
		default:
			fmt.Fprintf(&b, "(%d", n.kind)
			for c := n.first; c != 0; c = f.t.nodes[c].next {
				b.WriteByte(' ')
				walk(c)
			}
			b.WriteByte(')')
		}
	}
	walk(f.i)
	return b.String()
}

// fullYAML reads src by the full parser alone.
func fullYAML(src []byte) (string, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(src, &doc); err != nil {
		return "", err
	}
	var t objectTree
	t.reset()
	root, err := yamlConverter{t: &t}.convert(&doc, nil, 0)
	return dump(field{&t, root}), err
}

// sameAsFull checks the fast reader against the full parser: where it takes a
// text it must find the same tree in it.
func sameAsFull(t assert.TestingT, src string) (fast bool) {
	var tree objectTree
	f, err := parseYAMLBlock([]byte(src), &tree)
	if err != nil {
		return false
	}
	want, err := fullYAML([]byte(src))
	if err != nil {
		return true // lenient: the fast reader checks less
	}
	assert.Equal(t, want, dump(f), "%s", src)
	return true
}

// Texts in the styles that Kubernetes prints must be read by the fast reader.
func TestYAMLBlockStyles(t *testing.T) {
	for name, src := range map[string]string{
		"nested":            "a:\n  b:\n    c: 1\n  d: x\ne: y\n",
		"indentless":        "a:\n- b: 1\n  c: 2\n- d\n-\n  e: 3\nf: 4\n",
		"lists in lists":    "a:\n- - 1\n  - 2\n- - 3\n",
		"empty":             "a: {}\nb: []\nc: \"\"\nd: ''\ne:\nf: null\ng: ~\n",
		"flow":              "a: {b: 1, \"c\": [x, 'y', {z: null}]}\n",
		"colons":            "f:metadata:\n  k:{\"type\":\"Ready\"}:\n    .: {}\nurl: http://a:80/b#c\n",
		"comments":          "a: 1 # one\n# two\nb: # three\n  c: 2\n",
		"folded plain":      "a: one two\n  three\n\n  four\nb: 1\n",
		"folded single":     "a: 'one\n  two''s\n\n  three '\nb: 1\n",
		"folded double":     "a: \"one \\\n  \\  two\\n\\x41\\u00e9\\U0001F600\n  three\"\nb: 1\n",
		"literal":           "a: |\n  one\n    two\n\n  three\n\nb: 1\n",
		"literal strip":     "a: |-\n  one\n\n\nb: 1\n",
		"literal keep":      "a: |+\n  one\n\n\nb: 1\n",
		"literal indented":  "a: |2\n    one\n  two\nb: 1\n",
		"literal in list":   "- |\n  one\n- |-\n  two\n",
		"literal empty":     "a: |\nb: 1\n",
		"dashes":            "a: -listen\n",
		"quoted keys":       "\"a\": 1\n'b c': 2\n",
		"crlf":              "a: 1\r\nb:\r\n- c\r\n- |\r\n  d\r\n  e\r\n",
		"no newline at end": "a:\n  b: c",
		"indented":          "  a: 1\n  b:\n  - c\n",
		"spaces after":      "a: 1  \nb:   \n  c: 2\n",
	} {
		t.Run(name, func(t *testing.T) {
			assert.True(t, sameAsFull(t, src), "left to the full parser")
		})
	}
}

// Any tree printed by the full parser's encoder is read the same.
func TestYAMLBlockRoundTrip(t *testing.T) {
	text := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9 :#'"\\{}\[\],&*!|>%@./-]{0,90}`),
		rapid.StringMatching(`([a-z :]{0,12}\n){0,4}[ a-z]{0,5}`),
		rapid.String(),
	)
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		scalar := rapid.Custom(func(t *rapid.T) any {
			if rapid.Bool().Draw(t, "int") {
				return rapid.Int().Draw(t, "n")
			}
			return text.Draw(t, "s")
		})
		if depth == 0 {
			return scalar
		}
		return rapid.OneOf(scalar,
			rapid.Map(rapid.SliceOfN(value(depth-1), 0, 4), func(l []any) any { return l }),
			rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-zA-Z./-][a-zA-Z0-9:./-]{0,20}|[ -~]{1,8}`), value(depth-1), 0, 4),
				func(m map[string]any) any { return m }))
	}
	rapid.Check(t, func(t *rapid.T) {
		v := map[string]any{"spec": value(4).Draw(t, "v")}
		b, err := yaml.Marshal(v)
		require.NoError(t, err)
		if strings.ContainsAny(string(b), "\u0085\u2028\u2029") {
			return // line breaks to YAML 1.1 only; text to us
		}
		sameAsFull(t, string(b))
	})
}

func FuzzYAMLBlock(f *testing.F) {
	f.Add("a:\n- b: |\n    c\n  d: \"e\\n\n    f\"\n- {g: [h]}\n")
	f.Fuzz(func(t *testing.T, src string) {
		var tree objectTree
		_, _ = parseYAML([]byte(src), &tree)
	})
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"a":[1,"b\u00e9",{"c":null,"managedFields":[{"d":"]"}]}]}`)
	f.Fuzz(func(t *testing.T, src string) {
		var tree objectTree
		_, _ = parseJSON([]byte(src), &tree)
	})
}
