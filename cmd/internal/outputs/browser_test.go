package outputs

import (
	_ "embed"
	"errors"
	"flag"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/fixtures/browser"
)

var screenshots = flag.String("screenshots", "", "directory for pictures of the pages that were looked at")

//go:embed testdata/page.js
var pageChecks string

const (
	phone   = 390
	desktop = 1280
	paper   = 794 // A4 at 96 dots per inch
)

type sight struct {
	name string
	browser.View
}

// TestPagesInABrowser renders pages as people see them, on a desk and in the hand,
// light and dark and on paper, and checks what only a browser knows.
func TestPagesInABrowser(t *testing.T) {
	b := startBrowser(t)
	inputs := maps.Clone(committed)
	inputs["demo"] = demo
	for _, name := range []string{"02-sandbox-recreated", "18-mesh-redirect", "20-kubelet-stalled"} {
		if bundle := filepath.Join(lab, name, "bundle.tar.gz"); exists(bundle) {
			inputs[name] = bundle
		}
	}
	if gather := filepath.Join(public, "mustgather", "must-gather-metal.tar.xz"); exists(gather) {
		inputs["must-gather"] = gather
	}
	views := []sight{
		{"desktop", browser.View{Width: desktop, Height: 900}},
		{"desktop-dark", browser.View{Width: desktop, Height: 900, Dark: true}},
		{"phone", browser.View{Width: phone, Height: 844}},
		{"phone-dark", browser.View{Width: phone, Height: 844, Dark: true}},
		{"paper", browser.View{Width: paper, Height: 1123, Print: true}},
	}
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(reportOf(t, inputs[name]).dir, "report.html")
			looks := views
			if name == "must-gather" {
				looks = views[1:3] // a page of many incidents takes its time
			}
			look(t, b, name, path, looks)
		})
	}
	t.Run("hostile", func(t *testing.T) { look(t, b, "hostile", "../../../report/testdata/incidents/report.html", views) })
	dir := t.TempDir()
	t.Run("fleet", func(t *testing.T) {
		o := program("merge", reportOf(t, committed["mixed"]).dir, reportOf(t, demo).dir, "-o", dir, "-f", "html")
		require.Zero(t, o.code, o.stderr)
		look(t, b, "fleet", filepath.Join(dir, "fleet.html"), views)
	})
	t.Run("timeline", func(t *testing.T) {
		o := program("timeline", demo, "--pod", "*/*", "-f", "html")
		require.Zero(t, o.code, o.stderr)
		path := filepath.Join(dir, "timeline.html")
		require.NoError(t, os.WriteFile(path, []byte(o.stdout), 0o644))
		look(t, b, "timeline", path, views)
	})
}

// look opens a page and checks it in every view.
func look(t *testing.T, b *browser.Browser, name, path string, views []sight) {
	t.Helper()
	p := openPage(t, b, path)
	for _, v := range views {
		require.NoError(t, p.Look(v.View))
		if *screenshots != "" {
			picture(t, p, name+"-"+v.name)
		}
		for _, fault := range check(t, p, v.Print) {
			t.Errorf("%s: %s", v.name, fault)
		}
		require.NoError(t, p.Eval("document.querySelectorAll('details').forEach(d => d.open = false)", nil))
	}
	assert.Len(t, p.Requests(), 1, "the page alone is asked for: %s", strings.Join(p.Requests(), " "))
}

// TestPageWithTheKeyboard walks through a page with the keys that people have who
// can't use a mouse.
func TestPageWithTheKeyboard(t *testing.T) {
	b := startBrowser(t)
	p := openPage(t, b, filepath.Join(reportOf(t, committed["mixed"]).dir, "report.html"))
	var stops, marked int
	require.NoError(t, p.Eval(`[...document.querySelectorAll("a[href],summary,[tabindex='0']")].filter(e => e.checkVisibility() && e.getClientRects().length).length`, &stops))
	require.Greater(t, stops, 10)
	seen := map[string]bool{}
	opened := false
	for range stops {
		require.NoError(t, p.Press("Tab"))
		var at struct {
			Tag, Place string
			Outline    bool
		}
		require.NoError(t, p.Eval(`(() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
			return {Tag: e.tagName, Place: e.tagName + " " + Math.round(r.left + scrollX) + " " + Math.round(r.top + scrollY), Outline: s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2} })()`, &at))
		assert.True(t, at.Outline, "%s shows no focus", at.Place)
		if at.Outline {
			marked++
		}
		seen[at.Place] = true
		if at.Tag == "SUMMARY" && !opened {
			require.NoError(t, p.Press("Enter"))
			require.NoError(t, p.Eval("document.activeElement.parentElement.open", &opened))
			assert.True(t, opened, "Enter opens what is folded")
			require.NoError(t, p.Press("Enter"))
		}
	}
	assert.True(t, opened, "nothing folded was met")
	assert.Greater(t, len(seen), stops*9/10, "of %d stops", stops)

	// The larger drawing is a link away and back again.
	var before, larger, after float64
	width := "document.querySelector('figure svg').getBoundingClientRect().width"
	require.NoError(t, p.Eval(width, &before))
	require.NoError(t, p.Eval("location.hash = document.querySelector('a.larger').getAttribute('href'); "+width, &larger))
	assert.Greater(t, larger, 1.5*before)
	require.NoError(t, p.Eval("location.hash = document.querySelector('a.normal').getAttribute('href'); "+width, &after))
	assert.InDelta(t, before, after, 1)
}

// TestPagesOnPaper prints: folded parts that the verdict rests on are there.
func TestPagesOnPaper(t *testing.T) {
	b := startBrowser(t)
	p := openPage(t, b, filepath.Join(reportOf(t, demo).dir, "report.html"))
	pdf, err := p.PDF()
	require.NoError(t, err)
	assert.Equal(t, "%PDF-", string(pdf[:5]))
	assert.Greater(t, len(pdf), 20_000)
	if *screenshots != "" {
		require.NoError(t, os.WriteFile(filepath.Join(*screenshots, "demo.pdf"), pdf, 0o644))
	}
	require.NoError(t, p.Look(browser.View{Width: paper, Height: 1123, Print: true}))
	var printed bool
	require.NoError(t, p.Eval(`[...document.querySelectorAll("details.print")].length > 0 && [...document.querySelectorAll("details.print table")].every(t => t.checkVisibility({contentVisibilityAuto: true}) && t.getBoundingClientRect().height > 0)`, &printed))
	assert.True(t, printed, "folded facts are missing on paper")
}

// theBrowser is started by the first test that looks at a page and ended by
// TestMain.
var theBrowser = sync.OnceValues(func() (*browser.Browser, error) {
	return browser.Start(filepath.Join(scratch, "browser"))
})

// startBrowser returns the browser of all tests.
func startBrowser(t *testing.T) *browser.Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	b, err := theBrowser()
	if errors.Is(err, browser.ErrNone) {
		t.Skip(err)
	}
	require.NoError(t, err)
	browserRuns = true
	return b
}

var browserRuns bool

// endBrowser ends the browser, if there is one, so that its files can go.
func endBrowser() {
	if browserRuns {
		if b, err := theBrowser(); err == nil {
			_ = b.Close()
		}
	}
}

func openPage(t *testing.T, b *browser.Browser, path string) *browser.Page {
	t.Helper()
	abs, err := filepath.Abs(path)
	require.NoError(t, err)
	p, err := b.Open((&url.URL{Scheme: "file", Path: filepath.ToSlash(abs)}).String(), browser.View{Width: desktop, Height: 900})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// check runs the checks of a page.
func check(t *testing.T, p *browser.Page, printed bool) []string {
	t.Helper()
	media := "screen"
	if printed {
		media = "print"
	}
	var faults []string
	require.NoError(t, p.Eval(strings.ReplaceAll(pageChecks, "OPTIONS.media", `"`+media+`"`), &faults))
	return faults
}

func picture(t *testing.T, p *browser.Page, name string) {
	t.Helper()
	png, err := p.Screenshot(4000)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(*screenshots, name+".png"), png, 0o644))
}
