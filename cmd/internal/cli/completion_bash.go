package cli

import (
	"io"
	"strings"
)

// writeBash writes a bash completion function: words after a flag that takes a
// value come from that flag, else flags and arguments of the verb.
func writeBash(w io.Writer, g wordGrammar) error {
	s := &scriptWriter{w: w}
	names := make([]string, len(g.verbs))
	for i, v := range g.verbs {
		names[i] = v.name
	}
	s.line("# bash completion for %s", programName)
	s.line("_probe_forensics() {")
	s.line(`    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb="" i`)
	s.line(`    # bash splits --flag=value at the equals sign.`)
	s.line(`    if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi`)
	s.line(`    for ((i = 1; i < COMP_CWORD; i++)); do`)
	s.line(`        case ${COMP_WORDS[i]} in %s) verb=${COMP_WORDS[i]}; break ;; esac`, strings.Join(names, "|"))
	s.line(`    done`)
	s.line(`    COMPREPLY=()`)
	s.line(`    case "$verb:$prev" in`)
	for _, f := range g.global {
		s.bashValue("*", f)
	}
	for _, v := range g.verbs {
		for _, f := range v.flags {
			s.bashValue(v.name, f)
		}
	}
	s.line(`    esac`)
	s.line(`    if [[ $cur == -* ]]; then`)
	s.line(`        local flags="%s"`, bashFlags(g.global))
	s.line(`        case $verb in`)
	for _, v := range g.verbs {
		if len(v.flags) > 0 {
			s.line(`        %s) flags+=" %s" ;;`, v.name, bashFlags(v.flags))
		}
	}
	s.line(`        esac`)
	s.line(`        COMPREPLY=($(compgen -W "$flags" -- "$cur"))`)
	s.line(`        return`)
	s.line(`    fi`)
	s.line(`    case $verb in`)
	s.line(`    "") COMPREPLY=($(compgen -W "%s" -- "$cur")) ;;`, strings.Join(names, " "))
	for _, v := range g.verbs {
		if reply := bashReply(v.args); reply != "" {
			s.line(`    %s) %s ;;`, v.name, reply)
		}
	}
	s.line(`    esac`)
	s.line("}")
	s.line("complete -F _probe_forensics %s", programName)
	return s.err
}

func (s *scriptWriter) bashValue(verb string, f wordFlag) {
	if !f.takesValue {
		return
	}
	pattern := verb + ":--" + f.long
	if f.short != "" {
		pattern += "|" + verb + ":-" + f.short
	}
	s.line(`    %s) %s return ;;`, pattern, strings.TrimPrefix(bashReply(f.value)+"; ", "; "))
}

func bashReply(v wordValue) string {
	switch {
	case v.files:
		return `compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur"))`
	case v.dirs:
		return `compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur"))`
	case len(v.words) > 0:
		return `COMPREPLY=($(compgen -W "` + strings.Join(v.words, " ") + `" -- "$cur"))`
	}
	return ""
}

func bashFlags(flags []wordFlag) string {
	var out []string
	for _, f := range flags {
		out = append(out, "--"+f.long)
	}
	return strings.Join(out, " ")
}
