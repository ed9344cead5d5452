package cli

import (
	"io"
	"strings"
)

// writeFish writes one complete command for each word.
func writeFish(w io.Writer, g wordGrammar) error {
	s := &scriptWriter{w: w}
	s.line("# fish completion for %s", programName)
	s.line("complete -c %s -f", programName)
	for _, f := range g.global {
		s.fishFlag("", f)
	}
	for _, v := range g.verbs {
		s.line("complete -c %s -n __fish_use_subcommand -a %s -d %s", programName, v.name, fishQuote(v.help))
	}
	for _, v := range g.verbs {
		condition := " -n " + fishQuote("__fish_seen_subcommand_from "+v.name)
		for _, f := range v.flags {
			s.fishFlag(condition, f)
		}
		if action := fishAction(v.args); action != "" {
			s.line("complete -c %s%s%s", programName, condition, action)
		}
	}
	return s.err
}

func (s *scriptWriter) fishFlag(condition string, f wordFlag) {
	spelling := " -l " + f.long
	if f.short != "" {
		spelling += " -s " + f.short
	}
	action := ""
	if f.takesValue {
		action = " -r" + fishAction(f.value)
	}
	s.line("complete -c %s%s%s%s -d %s", programName, condition, spelling, action, fishQuote(f.help))
}

func fishAction(v wordValue) string {
	switch {
	case v.files:
		return " -F"
	case v.dirs:
		return " -a '(__fish_complete_directories)'"
	case len(v.words) > 0:
		return " -a " + fishQuote(strings.Join(v.words, " "))
	}
	return ""
}

func fishQuote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}
