package report

import (
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/analyze/model"
	"github.com/probe-forensics/probe-forensics/report/internal/sample"
)

// elements reads the elements of a page; it fails on markup that does not nest.
func elements(t *testing.T, text string) []xml.StartElement {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "<!doctype html>")))
	d.Strict = false
	d.AutoClose = xml.HTMLAutoClose
	d.Entity = xml.HTMLEntity
	var out []xml.StartElement
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return out
		}
		require.NoError(t, err)
		if s, ok := tok.(xml.StartElement); ok {
			out = append(out, s.Copy())
		}
	}
}

func TestPageIsSelfContainedAndInert(t *testing.T) {
	text := string(render(t, sample.Result(), Options{}, "html").File("report.html"))
	allowed := map[string]bool{"id": true, "class": true, "href": true, "lang": true, "name": true, "content": true, "charset": true, "http-equiv": true, "tabindex": true, "role": true,
		"aria-label": true, "aria-labelledby": true, "scope": true, "open": true, "viewBox": true, "x": true, "y": true, "x1": true, "y1": true, "x2": true, "y2": true, "dy": true,
		"width": true, "height": true, "rx": true, "d": true, "transform": true, "text-anchor": true}
	ids := map[string]bool{}
	var links []string
	for _, e := range elements(t, text) {
		for _, bad := range []string{"script", "img", "iframe", "object", "embed", "link", "form", "input", "base", "foreignObject", "use", "image"} {
			assert.NotEqual(t, bad, e.Name.Local)
		}
		for _, a := range e.Attr {
			assert.True(t, allowed[a.Name.Local], "attribute %s of %s", a.Name.Local, e.Name.Local)
			switch a.Name.Local {
			case "id":
				assert.False(t, ids[a.Value], "id %s stands twice", a.Value)
				ids[a.Value] = true
			case "href":
				links = append(links, a.Value)
			}
		}
	}
	for _, l := range links {
		target, local := strings.CutPrefix(l, "#")
		assert.True(t, local, "%s leads out of the page", l)
		assert.True(t, ids[target], "%s leads nowhere", l)
	}
	assert.NotContains(t, text, "url(")
	assert.NotContains(t, text, "@import")
	assert.NotContains(t, text, "ZgotmplZ", "html/template refused a value")
	for _, r := range text {
		require.True(t, r == '\n' || unicode.IsPrint(r), "%q", r)
	}
}

func TestDrawingsStayInside(t *testing.T) {
	text := string(render(t, sample.Result(), Options{}, "html").File("report.html"))
	number := regexp.MustCompile(`NaN|Inf|="-\d`)
	for _, svg := range strings.Split(text, "<svg")[1:] {
		svg, _, _ = strings.Cut(svg, "</svg>")
		assert.NotRegexp(t, number, svg)
		assert.Contains(t, svg, `role="img"`)
		assert.Contains(t, svg, "<title")
	}
	assert.Equal(t, 2+4, strings.Count(text, "<svg"), "lanes of two incidents, two ladders each")
}

func TestManyAttemptsAreDrawnInSlices(t *testing.T) {
	res := sample.Result()
	one := res.Tables.Attempts[5]
	res.Tables.Attempts = nil
	for i := range 5000 {
		a := one
		a.Start = one.Start.Add(time.Duration(i) * 8 * time.Millisecond)
		res.Tables.Attempts = append(res.Tables.Attempts, a)
	}
	text := string(render(t, res, Options{}, "html").File("report.html"))
	marks := strings.Count(text, `<path class="failed"`)
	assert.Greater(t, marks, 50)
	assert.LessOrEqual(t, marks, maxMarks+1)
}

func TestPageForNothing(t *testing.T) {
	for _, res := range []*model.Result{sample.Empty(), sample.Healthy(), {}} {
		text := string(render(t, res, Options{}, "html").File("report.html"))
		elements(t, text)
		assert.Contains(t, text, "What was checked")
	}
}
