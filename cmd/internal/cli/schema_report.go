package cli

import (
	"encoding"
	"reflect"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// reportSchema describes report.json, from the types it is written from.
func reportSchema() map[string]any {
	s := typeSchema{defs: map[string]any{}}
	root := s.of(reflect.TypeFor[model.Result]())
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   programName + " report, schema " + model.SchemaVersion,
		"$ref":    root["$ref"], "$defs": s.defs,
	}
}

// typeSchema turns Go types into JSON Schema. Fields may be added in later
// versions, so objects stay open.
type typeSchema struct{ defs map[string]any }

func (s *typeSchema) of(t reflect.Type) map[string]any {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		// The only such type of the model is Time.
		return map[string]any{"type": "string", "description": "RFC 3339 in UTC with nanoseconds, empty when unknown"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.object(t)
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	default:
		return map[string]any{"type": "integer"}
	}
}

func (s *typeSchema) object(t reflect.Type) map[string]any {
	ref := map[string]any{"$ref": "#/$defs/" + t.Name()}
	if s.defs[t.Name()] != nil {
		return ref
	}
	properties, required := map[string]any{}, []string{}
	s.defs[t.Name()] = map[string]any{"type": "object", "properties": properties}
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "-" || name == "" {
			continue
		}
		properties[name] = s.of(t.Field(i).Type)
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	s.defs[t.Name()] = map[string]any{"type": "object", "properties": properties, "required": required}
	return ref
}
