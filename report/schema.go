package report

import (
	"encoding"
	"reflect"
	"strings"

	"github.com/probe-forensics/probe-forensics/analyze/model"
)

// Schema is the JSON Schema (draft 2020-12) of report.json. It is derived from
// the model, so the two can't drift apart; a copy is published as
// docs/schema/report.schema.json. Objects stay open: fields may be added in
// later versions, and readers have to ignore what they don't know.
func Schema() map[string]any {
	s := schemaBuilder{defs: map[string]any{}}
	root := s.object(reflect.TypeFor[model.Result]())
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "probe-forensics report.json, schema " + model.SchemaVersion,
		"$ref":    root["$ref"], "$defs": s.defs,
	}
}

// closed lists the fields with a fixed set of words.
var closed = map[string][]string{
	"Result.schema_version": {model.SchemaVersion},
	"Incident.scope":        {model.ScopePod, model.ScopeNode, model.ScopeCluster},
	"Incident.trigger":      {model.TriggerAttempts, model.TriggerNotProbed, model.TriggerState},
	"Cause.word":            {model.Confirmed, model.Probable, model.Possible, model.Inconclusive},
	"Evidence.role":         {model.RoleFor, model.RoleAgainst, model.RoleContext},
	"IPDisagreement.kind":   {model.DisagreeSources, model.DisagreeOwners},
	"IPInterval.state":      {"held", "disputed", "stale", "targeted"},
}

// described says what the names don't.
var described = map[string]string{
	"Result.bundle_id":          "sha256 of the single input, or of the sorted digests of several",
	"Result.cluster":            "cluster id of the tables, \"unknown\" when nothing names it",
	"Stream.counts":             "counters by name: lines, probe_failed, frames, tcp_syn and others; copies of -i any included",
	"Ref.packet":                "counts from 1, as Wireshark's frame.number",
	"Ref.line":                  "counts from 1",
	"Ref.offset":                "byte offset of the record in the decompressed stream",
	"Ref.stream":                "id of a stream of inputs[].streams[]",
	"Clock.offset_ms":           "add it to a time of source to get node time; zero where undetermined is set",
	"Clock.kind":                "whose clock: capture, journal (prefix of log lines), events (Event objects of the kubelet), api (creation times) or audit",
	"ClockStep.by_ms":           "how far the clock was set, forward positive",
	"Incident.fingerprint":      "equal for the same cause on the same owner, across bundles",
	"Incident.failed_attempts":  "sum over the subjects",
	"Incident.time_basis":       "what the times rest on beyond the records: recorded, year-inferred, zone-assumed, date-inferred, offset-applied, overridden",
	"Cause.id":                  "kebab-case id that never changes its meaning; inconclusive when no cause reaches 0.4",
	"Cause.confidence":          "0 to 1; for inconclusive that of the best candidate",
	"Evidence.excerpt":          "at most 512 bytes of the input as they are",
	"IPDisagreement.expected":   "a copy stayed behind the runtime for no longer than copies do: nothing is wrong",
	"IPDisagreement.to":         "empty where it lasted to the end of the data",
	"IPClaim.rank":              "trust in the best of its sources, 0 to 1",
	"IPInterval.primary_reason": "for a pod of both families: which source listed the address first",
	"Subject.pod":               "empty for a subject known from packets only, which has its target",
	"Window.recovered":          "empty when no recovery was seen",
}

type schemaBuilder struct{ defs map[string]any }

func (s *schemaBuilder) of(t reflect.Type) map[string]any {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		// The only such type of the model is Time.
		return map[string]any{"type": "string", "pattern": `^$|^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$`, "description": "RFC 3339, UTC, nanoseconds; empty when unknown"}
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
	case reflect.Float64:
		return map[string]any{"type": "number"}
	default:
		return map[string]any{"type": "integer"}
	}
}

func (s *schemaBuilder) object(t reflect.Type) map[string]any {
	ref := map[string]any{"$ref": "#/$defs/" + t.Name()}
	if s.defs[t.Name()] != nil {
		return ref
	}
	properties, required := map[string]any{}, []string{}
	s.defs[t.Name()] = properties // ends recursion
	for i := range t.NumField() {
		name, options, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "-" || name == "" {
			continue
		}
		field := s.of(t.Field(i).Type)
		key := t.Name() + "." + name
		if words := closed[key]; words != nil {
			field["enum"] = words
		}
		if text := described[key]; text != "" {
			field["description"] = text
		}
		if key == "Cause.confidence" {
			field["minimum"], field["maximum"] = 0, 1
		}
		properties[name] = field
		if !strings.Contains(options, "omitempty") {
			required = append(required, name)
		}
	}
	s.defs[t.Name()] = map[string]any{"type": "object", "properties": properties, "required": required}
	return ref
}
