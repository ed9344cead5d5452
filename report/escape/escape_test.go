package escape

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]Plain{
		"":                        "",
		"plain text":              "plain text",
		"dial tcp: \x1b[31mred":   `dial tcp: \x1b[31mred`,
		"a\nb\r\n\tc":             `a\nb\r\n\tc`,
		"user\u202egnp.exe":       `user\u202egnp.exe`,
		"zero\u200bwidth\ufeff":   `zero\u200bwidth\ufeff`,
		"not\xffutf8\xc3":         `not\xffutf8\xc3`,
		"no-break\u00a0space":     `no-break\u00a0space`,
		"tag \U000e0041":          `tag \U000e0041`,
		"filler\u3164":            `filler\u3164`,
		"Ünïcode 11月 ✓":           "Ünïcode 11月 ✓",
		"C1 \u009b31m":            `C1 \u009b31m`,
		"line\u2028separator\x7f": `line\u2028separator\x7f`,
	} {
		assert.Equal(t, want, Visible(in), "%q", in)
	}
	assert.Equal(t, Plain("a\nb    c\\r"), Lines("a\r\nb\tc\r"))
	assert.Equal(t, Plain("abcd..."), Cut("abcdefgh", 7))
	assert.Equal(t, Plain(`\u00dc`), ASCII(Visible("Ü")))
}

func TestText(t *testing.T) {
	for in, want := range map[string]MD{
		"pod shop/web-1 answered":          "pod shop/web-1 answered",
		"a|b *c* _d_ <e>":                  `a\|b \*c\* \_d\_ \<e\>`,
		"[link](javascript:x)":             `\[link\](javascript:x)`,
		"thanks @user":                     "thanks `@user`",
		"fixes #123.":                      "fixes `#123`.",
		`Get "http://10.0.0.1:8080/": EOF`: "Get \"`http://10.0.0.1:8080/`\": EOF",
		"# not a heading":                  `\# not a heading`,
		"1. not a list":                    `1\. not a list`,
		"> quote":                          `\> quote`,
		"- item":                           `\- item`,
		"~~ struck ~~":                     `\~\~ struck \~\~`,
		"$x$ math":                         "`$x$` math",
		"nice :smile: face":                "nice `:smile`: face",
		"at 05:46:43 UTC":                  "at 05:46:43 UTC",
		"``` fence":                        "\\`\\`\\` fence",
		"mail a@b.c|d":                     "mail `a@b.c`\\|`d`",
		"id 0603f37c8":                     "id `0603f37c8`",
		"new\nline":                        `new\\nline`,
	} {
		assert.Equal(t, want, Text(in), "%q", in)
	}
}

func TestCode(t *testing.T) {
	for in, want := range map[string]MD{
		"":          "",
		"a":         "`a`",
		"a`b":       "``a`b``",
		"`a`":       "`` `a` ``",
		"a|b":       "`a`\\|`b`",
		"a||":       "`a`\\|\\|",
		"@u #1 <b>": "`@u #1 <b>`",
		" x ":       "`  x  `",
	} {
		assert.Equal(t, want, Code(in), "%q", in)
	}
	assert.Equal(t, "````", Fence("a ``` b"))
	assert.Equal(t, "```", Fence("a"))
}

func TestLabel(t *testing.T) {
	for in, want := range map[string]Mermaid{
		"SYN frame 12":  "SYN frame 12",
		"1. first":      "1#46; first",
		"a;b:c":         "a#59;b#58;c",
		"x->>y":         "x#45;#62;#62;y",
		"`code` %% <b>": "#96;code#96; #37;#37; #60;b#62;",
		"end":           "#101;nd",
		"end of file":   "#101;nd of file",
		"":              "-",
		"web-7d9c":      "web-7d9c",
		"a\nb":          "a#92;nb",
	} {
		assert.Equal(t, want, Label(in, 40), "%q", in)
	}
}

// hostile draws strings rich in what must not get through.
var hostile = rapid.Custom(func(t *rapid.T) string {
	parts := rapid.SliceOfN(rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"|", "`", "``", "\\", "\n", "\x1b]0;x\a", "\u202e", "\u200b", "<script>", "]]>", "@a", "#1", " ", "http://x", "$", "~~", "\xff", "&amp;", "%%", "end", ";", ":"}),
	), 0, 12).Draw(t, "parts")
	return strings.Join(parts, "")
}).AsAny()

func draw(t *rapid.T) string { return hostile.Draw(t, "s").(string) }

func TestNothingInvisibleSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		for _, out := range []string{string(Visible(s)), string(Text(s)), string(Code(s)), string(Label(s, 1000)), string(Cut(s, 9))} {
			require.True(t, utf8.ValidString(out))
			for _, r := range out {
				require.True(t, unicode.IsPrint(r), "%q in %q", r, out)
			}
		}
	})
}

// TestCellsStayWhole checks that no text ends a table cell: a bar is always
// preceded by an odd number of backslashes.
func TestCellsStayWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		for _, m := range []MD{Text(s), Code(s)} {
			slashes := 0
			for i := range len(m) {
				switch {
				case m[i] == '\\':
					slashes++
					continue
				case m[i] == '|':
					require.Equal(t, 1, slashes%2, "%q gives %q", s, m)
				}
				slashes = 0
			}
		}
	})
}

func TestLabelsHaveNoSyntax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out := string(Label(draw(t), 1000))
		codes := strings.NewReplacer("#", "", ";", "").Replace(out)
		require.Equal(t, strings.Count(out, "#"), strings.Count(out, ";"), out)
		require.NotContains(t, codes, ":")
		require.NotContains(t, codes, "->")
		require.NotContains(t, codes, "`")
		require.NotContains(t, codes, "<")
		require.NotContains(t, codes, "%")
	})
}

func TestJSONKeepsItsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.ToValidUTF8(draw(t), "?")
		b, err := json.Marshal(s)
		require.NoError(t, err)
		safe := JSON(b)
		var back string
		require.NoError(t, json.Unmarshal(safe, &back))
		require.Equal(t, s, back)
		for _, r := range string(safe) {
			require.True(t, unicode.IsPrint(r))
		}
	})
}
