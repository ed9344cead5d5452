package report

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/probe-forensics/probe-forensics/report/escape"
	"github.com/probe-forensics/probe-forensics/report/view"
)

// Geometry of the ladder. It is as narrow as a phone, where it is read without
// scrolling.
const (
	ladderWidth  = 440.0
	ladderClient = 84.0
	ladderServer = 424.0
	ladderTop    = 62.0
	ladderStep   = 34.0
	ladderSteps  = 40
	ladderChars  = 47 // that fit on an arrow
	ladderName   = 26 // that fit above one side
)

// htmlLadder draws the packets of an attempt: time runs down, each arrow is a
// packet.
type htmlLadder struct {
	ID             string
	Title, About   string
	Refs           []string
	Said           string
	Client, Server string
	Heads          []htmlHead
	Width, Height  float64
	ClientX        float64
	ServerX        float64
	Bottom         float64
	Steps          []htmlArrow
	Table          htmlTable
	Left           int
	Silent         bool
}

// htmlHead is a line above a side of the ladder: its name, or its address.
type htmlHead struct {
	X, Y      float64
	Text      string
	Name, End bool
}

// heads sets the name of a side above its address, so that long names of pods
// don't meet in the middle.
func heads(side string, x float64, end bool) []htmlHead {
	name, address := side, ""
	if i := strings.LastIndexByte(side, ' '); i > 0 {
		name, address = side[:i], side[i+1:]
	}
	return []htmlHead{{x, 14, middle(name, ladderName), true, end}, {x, 30, middle(address, ladderName+4), false, end}}
}

// middle cuts a text in its middle: names of pods differ at both ends.
func middle(s string, n int) string {
	r := []rune(string(escape.Visible(s)))
	if len(r) <= n {
		return string(r)
	}
	head := (n - 3) / 2
	return string(r[:head]) + "..." + string(r[len(r)-(n-3-head):])
}

type htmlArrow struct {
	Y, LabelY float64
	LabelX    float64
	X1, X2    float64
	Head      string // path data
	Class     string
	Time      string
	Label     string
	Note      bool // a moment of the kubelet, not a packet
}

func ladderOf(c *view.Case, title string, e *view.Exchange) htmlLadder {
	l := htmlLadder{
		ID: "ladder-" + map[bool]string{true: "failed", false: "good"}[view.Failed(e.Attempt)], Title: title, Client: e.Client, Server: e.Server, Refs: refNames(c, e.Ref, e.Also), Width: ladderWidth, ClientX: ladderClient, ServerX: ladderServer, Silent: e.Silent(),
	}
	l.About = view.Instant(e.Attempt.Start)
	if e.Point != "" {
		l.About += ", captured at " + e.Point
	}
	if view.Failed(e.Attempt) {
		l.Said = view.Why(e.Attempt)
	}
	l.Table = columns("Packets", "Frame", "After", "From", "Packet", "Detail")
	y := ladderTop
	for i, s := range e.Steps {
		frame, note := "", s.Detail
		if s.Packet > 0 {
			frame = strconv.FormatInt(s.Packet, 10)
		}
		if s.Unanswered {
			note = joinNote(note, "no answer")
		}
		l.Table.add(frame, view.Duration(s.After), string(sideName(s.From)), s.Text, note)
		if i >= ladderSteps {
			l.Left++
			continue
		}
		l.Steps = append(l.Steps, arrowOf(s, y))
		y += ladderStep
	}
	l.Heads = append(heads(e.Client, 4, false), heads(e.Server, ladderWidth-4, true)...)
	l.Bottom = y - 10
	l.Height = y + 6
	return l
}

func joinNote(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

func arrowOf(s view.Step, y float64) htmlArrow {
	a := htmlArrow{Y: y, LabelX: ladderClient + 10, LabelY: y - 5, Time: view.Duration(s.After), Class: "packet"}
	frame := ""
	if s.Packet > 0 {
		frame = fmt.Sprintf("  #%d", s.Packet)
	}
	text := string(escape.Visible(s.Text))
	if room := ladderChars - len(frame); utf8.RuneCountInString(text) > room {
		text = string(escape.Cut(s.Text, room))
	}
	a.Label = text + frame
	const tip = 8.0
	left, right := ladderClient, ladderServer
	switch s.From {
	case view.Kubelet:
		a.Note, a.Class, a.X1, a.X2 = true, "kubelet", 8, ladderServer
	case view.Client:
		a.X1, a.X2 = left, right
		if s.Unanswered {
			a.X2 = round(left + (right-left)*0.72)
			a.Class = "lost"
			a.Head = fmt.Sprintf("M%.1f,%.1f l12,12 m0,-12 l-12,12", a.X2-6, y-6)
			break
		}
		a.Head = fmt.Sprintf("M%.1f,%.1f l-%.1f,-5 v10 Z", right, y, tip)
	case view.Network:
		a.X1, a.X2 = left+(right-left)*0.5, left
		a.Class = "refusal"
		a.Head = fmt.Sprintf("M%.1f,%.1f l%.1f,-5 v10 Z", left, y, tip)
	default:
		a.X1, a.X2 = right, left
		a.Head = fmt.Sprintf("M%.1f,%.1f l%.1f,-5 v10 Z", left, y, tip)
	}
	if s.Refusal {
		a.Class = "refusal"
	}
	return a
}
