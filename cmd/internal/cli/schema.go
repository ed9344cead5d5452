package cli

import (
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/probe-forensics/probe-forensics/report"
)

type schemaCmd struct {
	Of string `arg:"" enum:"config,report" help:"config or report: the configuration file, or report.json."`
}

// Run prints the schema asked for.
func (c *schemaCmd) Run(rt *session, app *kong.Kong) error {
	if c.Of == "report" {
		return writeJSON(rt.stdout, report.Schema())
	}
	return writeJSON(rt.stdout, configSchema(app.Model))
}

// configSchema describes a configuration file, from the grammar itself so that
// the two cannot drift apart.
func configSchema(app *kong.Application) map[string]any {
	all := map[string]any{}
	scopes := grammarOf(app)
	for scope, flags := range scopes {
		if scope == "" {
			continue
		}
		own := map[string]any{}
		for name, flag := range flags {
			own[name] = flagSchema(flag)
		}
		all[scope] = map[string]any{
			"description": "settings for the verb " + scope + " alone", "type": "object",
			"additionalProperties": false, "properties": own,
		}
	}
	// After the verbs: a flag with the name of a verb wins, as it does when reading.
	for name, flag := range scopes[""] {
		all[name] = flagSchema(flag)
	}
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   programName + " configuration",
		"type":    "object", "additionalProperties": false, "properties": all,
	}
}

func flagSchema(flag *kong.Flag) map[string]any {
	scalar := map[string]any{"type": "string"}
	kind := flag.Target.Type()
	if flag.IsSlice() {
		kind = kind.Elem()
	}
	switch {
	case flag.Enum != "":
		scalar["enum"] = flag.EnumSlice()
	case kind == reflect.TypeFor[byteSize]():
		scalar["type"] = []string{"string", "integer"}
	case kind.Kind() == reflect.Bool:
		scalar["type"] = "boolean"
	case kind.Kind() == reflect.Int:
		scalar["type"] = "integer"
	case kind.Kind() == reflect.Float64:
		scalar["type"] = "number"
	}
	out := scalar
	if flag.IsSlice() {
		forms := []any{scalar, map[string]any{"type": "array", "items": scalar}}
		if strings.Contains(flag.PlaceHolder, "=") {
			forms = append(forms, map[string]any{"type": "object", "additionalProperties": map[string]any{"type": []string{"string", "number"}}})
		}
		out = map[string]any{"anyOf": forms}
	}
	out["description"] = flag.Help
	if flag.HasDefault && !slices.Contains([]string{"", "0"}, flag.Default) {
		out["default"] = flag.Default
	}
	return out
}
