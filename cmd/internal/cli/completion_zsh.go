package cli

import (
	"io"
	"strings"
)

// writeZsh writes a zsh completion function on top of _arguments.
func writeZsh(w io.Writer, g wordGrammar) error {
	s := &scriptWriter{w: w}
	s.line("#compdef %s", programName)
	s.line("# zsh completion for %s", programName)
	s.line("_probe_forensics() {")
	s.line("    local curcontext=$curcontext state line")
	s.line("    typeset -A opt_args")
	s.line("    local -a global=(")
	for _, f := range g.global {
		s.line("        %s", zshFlag(f))
	}
	s.line("    )")
	s.line(`    _arguments -C "${global[@]}" '1:command:->verb' '*::argument:->rest' && return`)
	s.line("    case $state in")
	s.line("    verb)")
	s.line("        local -a verbs=(")
	for _, v := range g.verbs {
		s.line("            %s", zshQuote(v.name+":"+strings.ReplaceAll(v.help, ":", `\:`)))
	}
	s.line("        )")
	s.line("        _describe command verbs")
	s.line("        ;;")
	s.line("    rest)")
	s.line("        case $line[1] in")
	for _, v := range g.verbs {
		parts := []string{`"${global[@]}"`}
		for _, f := range v.flags {
			parts = append(parts, zshFlag(f))
		}
		if action := zshAction(v.args); action != "" {
			parts = append(parts, zshQuote("*:argument:"+action))
		}
		s.line("        %s)", v.name)
		s.line("            _arguments \\\n                %s", strings.Join(parts, " \\\n                "))
		s.line("            ;;")
	}
	s.line("        esac")
	s.line("        ;;")
	s.line("    esac")
	s.line("}")
	// Loaded by compinit, the file is the body of the function; sourced, it only
	// defines it.
	s.line(`if [ "$funcstack[1]" = "_probe_forensics" ] || [ "$funcstack[1]" = "_probe-forensics" ]; then`)
	s.line(`    _probe_forensics "$@"`)
	s.line("else")
	s.line("    compdef _probe_forensics %s", programName)
	s.line("fi")
	return s.err
}

// zshFlag is one specification of _arguments: '*--flag=[help]:value:action'.
func zshFlag(f wordFlag) string {
	help := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(f.help)
	value := ""
	if f.takesValue {
		value = ":" + f.long + ":" + zshAction(f.value)
	}
	if f.short == "" {
		return zshQuote("*--" + f.long + equals(f) + "[" + help + "]" + value)
	}
	// Braces expand outside quotes to one specification for each spelling.
	return zshQuote("*") + "{-" + f.short + ",--" + f.long + equals(f) + "}" + zshQuote("["+help+"]"+value)
}

func equals(f wordFlag) string {
	if f.takesValue {
		return "="
	}
	return ""
}

func zshAction(v wordValue) string {
	switch {
	case v.files:
		return "_files"
	case v.dirs:
		return "_files -/"
	case len(v.words) > 0:
		return "(" + strings.Join(v.words, " ") + ")"
	}
	return ""
}

func zshQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
