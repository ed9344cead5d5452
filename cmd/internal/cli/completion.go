package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help says how the script is installed.
func (*completionCmd) Help() string {
	return `The script is complete in itself: it never runs the tool.

    bash:  source <(probe-forensics completion bash)
    zsh:   probe-forensics completion zsh > "${fpath[1]}/_probe-forensics"
    fish:  probe-forensics completion fish > ~/.config/fish/completions/probe-forensics.fish`
}

// Run writes the script.
func (c *completionCmd) Run(rt *session, app *kong.Kong) error {
	words := describeGrammar(app.Model)
	switch c.Shell {
	case "bash":
		return writeBash(rt.stdout, words)
	case "zsh":
		return writeZsh(rt.stdout, words)
	default:
		return writeFish(rt.stdout, words)
	}
}

// wordVerb and wordFlag are the grammar as far as completion needs it.
type wordVerb struct {
	name, help string
	flags      []wordFlag
	args       wordValue
}

type wordFlag struct {
	long, short, help string
	takesValue        bool
	value             wordValue
}

// wordValue says what may stand for a value: words, or a file, or a directory,
// or nothing that can be known.
type wordValue struct {
	words []string
	files bool
	dirs  bool
}

type wordGrammar struct {
	global []wordFlag
	verbs  []wordVerb
}

// describeGrammar reads kong's model. The tag complete:"files|dirs|words a b"
// says what a value may be where neither an enum nor a path type does.
func describeGrammar(app *kong.Application) wordGrammar {
	g := wordGrammar{global: flagWords(app.Flags)}
	for _, node := range app.Children {
		if node.Hidden {
			continue
		}
		v := wordVerb{name: node.Name, help: firstSentence(node.Help), flags: flagWords(node.Flags)}
		if len(node.Positional) > 0 {
			v.args = valueWords(node.Positional[len(node.Positional)-1])
		}
		g.verbs = append(g.verbs, v)
	}
	return g
}

func flagWords(flags []*kong.Flag) []wordFlag {
	var out []wordFlag
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		w := wordFlag{long: f.Name, help: firstSentence(f.Help), takesValue: !f.IsBool(), value: valueWords(f.Value)}
		if f.Short != 0 {
			w.short = string(f.Short)
		}
		out = append(out, w)
	}
	return out
}

func valueWords(v *kong.Value) wordValue {
	hint, words, _ := strings.Cut(v.Tag.Get("complete"), " ")
	switch {
	case v.Enum != "":
		return wordValue{words: v.EnumSlice()}
	case hint == "words":
		return wordValue{words: strings.Fields(words)}
	case hint == "dirs":
		return wordValue{dirs: true}
	case hint == "files", v.Tag.Type == "path", v.Tag.Type == "existingfile":
		return wordValue{files: true}
	}
	return wordValue{}
}

// firstSentence shortens a help text to what fits beside a word.
func firstSentence(help string) string {
	if i := strings.Index(help, ". "); i >= 0 {
		help = help[:i]
	}
	return strings.TrimSuffix(help, ".")
}

// scriptWriter writes lines and keeps the first error.
type scriptWriter struct {
	w   io.Writer
	err error
}

func (s *scriptWriter) line(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format+"\n", args...)
	}
}
