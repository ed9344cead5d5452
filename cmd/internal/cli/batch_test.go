package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const batchDir = "../../../docs/batch/"

// manifestOf reads a manifest of docs/batch as plain values.
func manifestOf(t *testing.T, name string) any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(batchDir, name))
	require.NoError(t, err)
	var v any
	if strings.HasSuffix(name, ".json") {
		require.NoError(t, json.Unmarshal(text, &v), name)
	} else {
		require.NoError(t, yaml.Unmarshal(text, &v), name)
	}
	return v
}

// commandsIn finds the command lines of a manifest: lists of arguments, and the
// lines of scripts that begin with the program's name.
func commandsIn(v any) (out [][]string) {
	switch v := v.(type) {
	case map[string]any:
		for key, x := range v {
			if list, ok := x.([]any); ok && (key == "args" || key == "command") {
				var words []string
				for _, w := range list {
					words = append(words, w.(string))
				}
				if !strings.HasPrefix(words[0], "/") { // the path of the program itself
					out = append(out, words)
				}
				continue
			}
			out = append(out, commandsIn(x)...)
		}
	case []any:
		for _, x := range v {
			out = append(out, commandsIn(x)...)
		}
	case string:
		for line := range strings.Lines(v) {
			program, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			if rest != "" && (program == programName || program == programName+"-cloud") {
				out = append(out, commandFields(filled.ReplaceAllString(rest, "2")))
			}
		}
	}
	return out
}

// filled puts a number in the place of what an engine fills in.
var filled = regexp.MustCompile(`\$\{\{[^}]*\}\}|\{\{item\}\}|\{\{inputs\.parameters\.shard\}\}|\$\(\([^)]*\)\)`)

// TestBatchManifests parses every command in the manifests, and resolves its
// share in the environment that the engine sets.
func TestBatchManifests(t *testing.T) {
	verbs := map[string]int{}
	for name, env := range map[string]map[string]string{
		"kubernetes-job.yaml":           {kubernetesIndex: "2"},
		"kubernetes-merge.yaml":         {},
		"argo-workflow.yaml":            {},
		"aws-batch-job-definition.json": {awsIndex: "2", awsSize: "3"},
		"github-actions.yaml":           {},
		"gitlab-ci.yaml":                {},
	} {
		commands := commandsIn(manifestOf(t, name))
		assert.NotEmpty(t, commands, name)
		for _, words := range commands {
			for i, w := range words {
				w = filled.ReplaceAllString(w, "2")
				w = strings.NewReplacer("{{workflow.parameters.shards}}", "3", "$CI_NODE_TOTAL", "3").Replace(w)
				words[i] = w
			}
			grammar := &root{}
			parser, err := newParser(grammar, &session{env: func(string) string { return "" }})
			require.NoError(t, err)
			kctx, err := parser.Parse(words)
			if !assert.NoError(t, err, "%s: %q", name, words) {
				continue
			}
			verbs[kctx.Selected().Name]++
			if kctx.Selected().Name != "analyze" {
				continue
			}
			share, err := grammar.Analyze.resolve(func(key string) string { return env[key] })
			assert.NoError(t, err, "%s: %q", name, words)
			assert.Equal(t, shard{2, 3}, share, "%s: %q", name, words)
			assert.True(t, grammar.Analyze.wanted() && grammar.Analyze.SkipExisting, "%s: a share that is started again begins anew", name)
		}
	}
	assert.Equal(t, 5, verbs["analyze"], "%v", verbs)
	assert.GreaterOrEqual(t, verbs["merge"], 4, "%v", verbs)
	assert.GreaterOrEqual(t, verbs["compact"], 2, "%v", verbs)
}

// TestArgoWorkflow: every template, parameter and volume that is named is there.
func TestArgoWorkflow(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(batchDir, "argo-workflow.yaml"))
	require.NoError(t, err)
	type parameters struct {
		Parameters []struct{ Name, Value string }
	}
	type container struct {
		Image           string
		Command, Args   []string
		SecurityContext struct {
			AllowPrivilegeEscalation bool `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool `yaml:"readOnlyRootFilesystem"`
			Capabilities             struct{ Drop []string }
		} `yaml:"securityContext"`
		Resources    struct{ Requests map[string]string }
		VolumeMounts []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
	type task struct {
		Name, Template string
		Dependencies   []string
		WithSequence   struct{ Count string } `yaml:"withSequence"`
		Arguments      parameters
	}
	var w struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   struct {
			GenerateName string `yaml:"generateName"`
		}
		Spec struct {
			Entrypoint         string
			ServiceAccountName string `yaml:"serviceAccountName"`
			Arguments          parameters
			SecurityContext    struct {
				RunAsNonRoot   bool                  `yaml:"runAsNonRoot"`
				RunAsUser      int                   `yaml:"runAsUser"`
				SeccompProfile struct{ Type string } `yaml:"seccompProfile"`
			} `yaml:"securityContext"`
			Volumes []struct {
				Name     string
				EmptyDir struct {
					SizeLimit string `yaml:"sizeLimit"`
				} `yaml:"emptyDir"`
			}
			Templates []struct {
				Name          string
				Inputs        parameters
				RetryStrategy struct {
					Limit       string
					RetryPolicy string `yaml:"retryPolicy"`
				} `yaml:"retryStrategy"`
				DAG       struct{ Tasks []task }
				Container container
			}
		}
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(&w))
	assert.Equal(t, "argoproj.io/v1alpha1 Workflow", w.APIVersion+" "+w.Kind)
	assert.True(t, w.Spec.SecurityContext.RunAsNonRoot)

	var templates []string
	known := []string{"item"}
	for _, p := range w.Spec.Arguments.Parameters {
		known = append(known, "workflow.parameters."+p.Name)
	}
	for _, x := range w.Spec.Templates {
		templates = append(templates, x.Name)
		for _, p := range x.Inputs.Parameters {
			known = append(known, "inputs.parameters."+p.Name)
		}
		if x.Container.Image == "" {
			continue
		}
		assert.True(t, x.Container.SecurityContext.ReadOnlyRootFilesystem, x.Name)
		assert.Equal(t, w.Spec.Volumes[0].Name, x.Container.VolumeMounts[0].Name, x.Name)
	}
	assert.Contains(t, templates, w.Spec.Entrypoint)
	for _, x := range w.Spec.Templates {
		var before []string
		for _, task := range x.DAG.Tasks {
			assert.Contains(t, templates, task.Template)
			for _, d := range task.Dependencies {
				assert.True(t, slices.Contains(before, d), "%s depends on %s", task.Name, d)
			}
			before = append(before, task.Name)
		}
	}
	for _, m := range regexp.MustCompile(`\{\{([^}]*)\}\}`).FindAllStringSubmatch(string(text), -1) {
		assert.Contains(t, known, m[1])
	}
}
