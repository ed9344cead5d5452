package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestMeet(t *testing.T) {
	s := time.Second
	for _, c := range []struct {
		name  string
		spans []Span
		want  Span
		agree int
		only  bool
	}{
		{"none", nil, Span{}, 0, false},
		{"one", []Span{{-s, s}}, Span{-s, s}, 1, true},
		{"both sides", []Span{{-s, Open}, {-Open, s}, {-2 * s, Open}}, Span{-s, s}, 3, true},
		{"one side", []Span{{-s, Open}, {0, Open}}, Span{0, Open}, 2, true},
		{"outvoted", []Span{{0, s}, {s / 2, 2 * s}, {8 * s, 9 * s}}, Span{s / 2, s}, 2, true},
		{"two camps", []Span{{0, s}, {8 * s, 9 * s}}, Span{0, s}, 1, false},
		{"a point", []Span{{0, s}, {s, 2 * s}}, Span{s, s}, 2, true},
		{"empty span", []Span{{s, 0}, {0, s}}, Span{0, s}, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			met, agree, only := Meet(c.spans)
			assert.Equal(t, c.agree, agree)
			assert.Equal(t, c.only, only)
			assert.Equal(t, c.want, met)
		})
	}
}

// Where every span holds the true offset, so does what they have in common,
// whatever their order; a minority of wrong ones cannot move it out.
func TestMeetHoldsTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "offset"))
		width := func(name string) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, name))
		}
		n := rapid.IntRange(1, 30).Draw(t, "spans")
		wrong := rapid.IntRange(0, n-1).Draw(t, "wrong")
		var spans []Span
		for range n {
			s := Span{truth - width("before"), truth + width("after")}
			// An open end allows wrong offsets, too.
			if wrong == 0 && rapid.Bool().Draw(t, "open") {
				s.From = -Open
			} else if wrong == 0 && rapid.Bool().Draw(t, "open") {
				s.To = Open
			}
			spans = append(spans, s)
		}
		for range wrong {
			far := truth + 10*time.Second + width("far")
			spans = append(spans, Span{far, far + width("wrong")})
		}
		met, agree, only := Meet(rapid.Permutation(spans).Draw(t, "order"))
		assert.Equal(t, n, agree)
		assert.True(t, only)
		assert.True(t, met.Contains(truth), "%v is outside of %v", truth, met)
	})
}
