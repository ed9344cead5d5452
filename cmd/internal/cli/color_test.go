package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestColorAndCharacters runs the program as terminals and pipes of every kind
// do: colour on request alone where nobody looks, NO_COLOR above CLICOLOR_FORCE,
// the flag above both, and ASCII where the locale isn't UTF-8.
func TestColorAndCharacters(t *testing.T) {
	type env = map[string]string
	for name, c := range map[string]struct {
		env            env
		args           []string
		color, unicode bool
	}{
		"pipe":                 {env: env{}},
		"pipe, UTF-8":          {env: env{"LANG": "en_US.UTF-8"}, unicode: true},
		"another locale":       {env: env{"LANG": "en_US.UTF-8", "LC_ALL": "C"}},
		"forced":               {env: env{"CLICOLOR_FORCE": "1"}, color: true},
		"forced with 0":        {env: env{"CLICOLOR_FORCE": "0"}},
		"NO_COLOR wins":        {env: env{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}},
		"NO_COLOR, empty":      {env: env{"CLICOLOR_FORCE": "1", "NO_COLOR": ""}, color: true},
		"the flag wins":        {env: env{"NO_COLOR": "1"}, args: []string{"--color", "always"}, color: true},
		"the flag wins, never": {env: env{"CLICOLOR_FORCE": "1"}, args: []string{"--color", "never"}},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			args := append([]string{"analyze", "../../../fixtures/demo/bundle.tar.gz", "-o", t.TempDir(), "-f", "term"}, c.args...)
			require.Zero(t, Main(args, strings.NewReader(""), &stdout, &stderr, func(k string) string { return c.env[k] }), stderr.String())
			text := stdout.String()
			assert.Equal(t, c.color, strings.Contains(text, "\x1b["), "%q", text)
			assert.Equal(t, c.unicode, strings.Contains(text, "█"), "%q", text)
			assert.NotContains(t, stderr.String(), "\r", "progress is for terminals")
		})
	}
}
