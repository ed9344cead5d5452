// Package batch checks the manifests beside it against the types of the systems
// they are for, without a network. It is a module of its own, because nothing
// else needs those types. The commands in the manifests are parsed by the tests
// of the command line.
package batch

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// job decodes a Job; a field that the API does not have, or one of another type,
// is an error.
func job(t *testing.T, name string) *batchv1.Job {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	j := new(batchv1.Job)
	if err := yaml.UnmarshalStrict(text, j); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if j.APIVersion != "batch/v1" || j.Kind != "Job" {
		t.Fatalf("%s: %s %s is no Job", name, j.APIVersion, j.Kind)
	}
	return j
}

// unprivileged wants what a cluster with restricted pod security admits, and a
// root file system that stays as it is.
func unprivileged(t *testing.T, spec corev1.PodSpec) {
	t.Helper()
	p := spec.SecurityContext
	if p == nil || p.RunAsNonRoot == nil || !*p.RunAsNonRoot || p.SeccompProfile == nil || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod may run as root or without a seccomp profile: %+v", p)
	}
	if spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("restartPolicy %q: a pod failure policy needs Never", spec.RestartPolicy)
	}
	volumes := map[string]bool{}
	for _, v := range spec.Volumes {
		volumes[v.Name] = true
	}
	all := slices.Concat(spec.InitContainers, spec.Containers)
	if len(all) == 0 {
		t.Error("no container")
	}
	for _, c := range all {
		s := c.SecurityContext
		if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
			s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("%s: not as restricted as it can be: %+v", c.Name, s)
		}
		if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == "/tmp" && volumes[m.Name] }) {
			t.Errorf("%s: nothing to write to at /tmp", c.Name)
		}
	}
}

func TestKubernetesJob(t *testing.T) {
	j := job(t, "kubernetes-job.yaml")
	unprivileged(t, j.Spec.Template.Spec)
	if j.Spec.CompletionMode == nil || *j.Spec.CompletionMode != batchv1.IndexedCompletion {
		t.Error("not an Indexed Job")
	}
	if j.Spec.BackoffLimitPerIndex == nil {
		t.Error("one share that fails ends the others")
	}
	args := j.Spec.Template.Spec.Containers[0].Args
	i := slices.Index(args, "--shard-count")
	if i < 0 || i+1 == len(args) || j.Spec.Completions == nil || args[i+1] != strconv.Itoa(int(*j.Spec.Completions)) {
		t.Errorf("--shard-count is not the number of completions: %q", args)
	}
	for _, rule := range j.Spec.PodFailurePolicy.Rules {
		if x := rule.OnExitCodes; x != nil && x.ContainerName != nil && *x.ContainerName != j.Spec.Template.Spec.Containers[0].Name {
			t.Errorf("a rule for container %q, which is not there", *x.ContainerName)
		}
	}
}

func TestKubernetesMerge(t *testing.T) {
	unprivileged(t, job(t, "kubernetes-merge.yaml").Spec.Template.Spec)
}

// TestStrict: the decoder finds a wrong name and a wrong type.
func TestStrict(t *testing.T) {
	text, err := os.ReadFile("kubernetes-job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"completions: 3": "completion: 3", "parallelism: 3": "parallelism: three"} {
		if yaml.UnmarshalStrict(bytes.Replace(text, []byte(from), []byte(to), 1), new(batchv1.Job)) == nil {
			t.Errorf("%q was accepted", to)
		}
	}
}

// TestAWSBatch decodes the job definition into what the API takes. Its fields
// have the names of the JSON, but for the case of letters.
func TestAWSBatch(t *testing.T) {
	text, err := os.ReadFile("aws-batch-job-definition.json")
	if err != nil {
		t.Fatal(err)
	}
	d := new(batch.RegisterJobDefinitionInput)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(d); err != nil {
		t.Fatal(err)
	}
	c := d.ContainerProperties
	if d.Type != types.JobDefinitionTypeContainer || c.ReadonlyRootFilesystem == nil || !*c.ReadonlyRootFilesystem || c.User == nil || *c.User == "0" {
		t.Errorf("not as restricted as it can be: %+v", c)
	}
	for _, r := range c.ResourceRequirements {
		if !slices.Contains(r.Type.Values(), r.Type) {
			t.Errorf("%s is no resource", r.Type)
		}
	}
	for _, e := range d.RetryStrategy.EvaluateOnExit {
		if !slices.Contains(e.Action.Values(), e.Action) {
			t.Errorf("%s is no action", e.Action)
		}
	}
	for _, word := range c.Command {
		if name, ok := strings.CutPrefix(word, "Ref::"); ok && d.Parameters[name] == "" {
			t.Errorf("%s: no such parameter", word)
		}
	}
}
