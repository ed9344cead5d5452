package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// Where settings come from when a flag is not given, strongest first: the
// environment (PROBE_FORENSICS_FAIL_ON), the project's file, the user's file.
// --config names the only file to read.
const (
	envPrefix   = "PROBE_FORENSICS_"
	projectFile = ".probe-forensics.yaml"
	userFile    = "config.yaml" // under $XDG_CONFIG_HOME/probe-forensics
)

// settings resolves flags from the environment and from configuration files. A
// file holds long flag names without dashes as keys, and the same under the
// name of a verb where a value is meant for that verb alone.
type settings struct {
	env   func(string) string
	files []settingsFile
}

// settingsFile is one file: scope is "" or a verb.
type settingsFile struct {
	path   string
	values map[string]map[string]any
}

// Validate implements kong.Resolver; files are checked when they are loaded.
func (s *settings) Validate(*kong.Application) error { return nil }

// Resolve implements kong.Resolver.
func (s *settings) Resolve(kctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if !configurable(flag) {
		return nil, nil
	}
	if v := s.env(envName(flag.Name)); v != "" {
		return v, nil
	}
	verb := ""
	if selected := kctx.Selected(); selected != nil {
		verb = selected.Name
	}
	for _, file := range s.files {
		for _, scope := range []string{verb, ""} {
			if v, ok := file.values[scope][flag.Name]; ok {
				return v, nil
			}
		}
	}
	return nil, nil
}

// configurable flags may stand in a configuration.
func configurable(flag *kong.Flag) bool { return flag.Name != "help" && flag.Name != "config" }

// envName is the environment variable of a flag.
func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// loadSettings reads the configuration files that apply to the command line.
func loadSettings(kctx *kong.Context, env func(string) string) (*settings, error) {
	s := &settings{env: env}
	grammar := grammarOf(kctx.Model)
	if path := configPath(kctx, env); path != "" {
		file, err := readSettings(path, grammar)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, file)
		return s, nil
	}
	for _, path := range []string{projectFile, userSettings(env)} {
		if path == "" {
			continue
		}
		file, err := readSettings(path, grammar)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, file)
	}
	return s, nil
}

// configPath is the file named by --config or its variable.
func configPath(kctx *kong.Context, env func(string) string) string {
	for _, flag := range kctx.Model.Flags {
		if flag.Name == "config" {
			if path, ok := kctx.FlagValue(flag).(string); ok && path != "" {
				return path
			}
		}
	}
	return env(envName("config"))
}

// userSettings is the user's configuration file, "" when there is no home.
func userSettings(env func(string) string) string {
	dir := env("XDG_CONFIG_HOME")
	if dir == "" {
		home := env("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, programName, userFile)
}

// grammarOf lists the configurable flags: those of all verbs together under "",
// and under the name of a verb that has flags of its own, its own.
func grammarOf(app *kong.Application) map[string]map[string]*kong.Flag {
	scopes := map[string]map[string]*kong.Flag{"": {}}
	add := func(scope string, flags []*kong.Flag) {
		for _, flag := range flags {
			if !configurable(flag) {
				continue
			}
			scopes[""][flag.Name] = flag
			if scope != "" && scopes[scope] == nil {
				scopes[scope] = map[string]*kong.Flag{}
			}
			scopes[scope][flag.Name] = flag
		}
	}
	add("", app.Flags)
	for _, verb := range app.Children {
		add(verb.Name, verb.Flags)
	}
	return scopes
}

// readSettings parses a file strictly: an unknown key is an error that names
// its line, because a setting that is silently ignored misleads.
func readSettings(path string, grammar map[string]map[string]*kong.Flag) (settingsFile, error) {
	file := settingsFile{path: path, values: map[string]map[string]any{}}
	text, err := os.ReadFile(path)
	if err != nil {
		return file, usagef("configuration: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return file, usagef("%s: %w", path, err)
	}
	if len(doc.Content) == 0 {
		return file, nil
	}
	return file, file.read(doc.Content[0], "", grammar)
}

func (f *settingsFile) read(node *yaml.Node, scope string, grammar map[string]map[string]*kong.Flag) error {
	if node.Kind != yaml.MappingNode {
		return usagef("%s:%d: expected settings as \"name: value\"", f.path, node.Line)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if _, isFlag := grammar[scope][key.Value]; !isFlag {
			if _, isVerb := grammar[key.Value]; isVerb && scope == "" && key.Value != "" {
				if err := f.read(value, key.Value, grammar); err != nil {
					return err
				}
				continue
			}
			return unknownSetting(f.path, key, scope, grammar)
		}
		v, err := settingValue(value)
		if err != nil {
			return usagef("%s:%d: %s: %w", f.path, value.Line, key.Value, err)
		}
		if f.values[scope] == nil {
			f.values[scope] = map[string]any{}
		}
		f.values[scope][key.Value] = v
	}
	return nil
}

// settingValue turns a YAML value into what kong's mappers take: a scalar stays
// text, a list becomes a list of texts, a mapping a sorted list of "key=value".
func settingValue(node *yaml.Node) (any, error) {
	switch node.Kind {
	case yaml.ScalarNode:
		return node.Value, nil
	case yaml.SequenceNode:
		list := make([]any, 0, len(node.Content))
		for _, item := range node.Content {
			if item.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("line %d: expected a plain value in the list", item.Line)
			}
			list = append(list, item.Value)
		}
		return list, nil
	case yaml.MappingNode:
		pairs := make([]string, 0, len(node.Content)/2)
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i+1].Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("line %d: expected a plain value", node.Content[i+1].Line)
			}
			pairs = append(pairs, node.Content[i].Value+"="+node.Content[i+1].Value)
		}
		sort.Strings(pairs)
		list := make([]any, len(pairs))
		for i, p := range pairs {
			list[i] = p
		}
		return list, nil
	default:
		return nil, errors.New("expected a value, a list or a mapping")
	}
}

func unknownSetting(path string, key *yaml.Node, scope string, grammar map[string]map[string]*kong.Flag) error {
	known := make([]string, 0, len(grammar[scope]))
	for name := range grammar[scope] {
		known = append(known, name)
	}
	if scope == "" {
		for verb := range grammar {
			if verb != "" {
				known = append(known, verb)
			}
		}
	}
	slices.Sort(known)
	where := ""
	if scope != "" {
		where = " of " + scope
	}
	err := usagef("%s:%d: unknown setting %q%s", path, key.Line, key.Value, where)
	if near := nearest(key.Value, known); near != "" {
		return err.try("did you mean %q?", near)
	}
	return err.try("%s schema config prints what a configuration may hold", programName)
}
