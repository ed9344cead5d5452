package probe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// An attempt counts as successful only where the log that covers it tells of no
// failure and the connection carries what the probe asks for.
func TestSuccessFromPackets(t *testing.T) {
	const at = t0 + event.Nanos(time.Minute)
	for _, tc := range []struct {
		name, handler string
		flow          func(*event.Flow)
		log, success  bool
		stray         string
	}{
		{"a handshake is what tcpSocket asks for", "tcp", answers, true, true, ""},
		{"with or without a log", "tcp", answers, false, true, ""},
		{"a handshake alone is none for HTTP", "http", answers, true, false, StrayGivenUp},
		{"nor a request without an answer", "http", requests, true, false, StrayNotLogged},
		{"200 is", "http", responds(200), true, true, ""},
		{"500 is not", "http", responds(500), true, false, StrayNotLogged},
		{"a redirect on the same host is decided elsewhere", "http", func(f *event.Flow) {
			responds(302)(f)
			f.Location = "/login"
		}, true, false, StrayRedirected},
		{"a redirect to another host is a success with a warning", "http", func(f *event.Flow) {
			responds(302)(f)
			f.Location = "https://sso.example.com/login"
		}, true, true, ""},
		{"a response without a status line", "http", func(f *event.Flow) {
			responds(0)(f)
		}, true, false, StrayUnclear},
		{"SERVING", "grpc", func(f *event.Flow) {
			responds(0)(f)
			f.App, f.Path, f.GRPCStatus = "grpc", "", "SERVING"
		}, false, true, ""},
		{"NOT_SERVING", "grpc", func(f *event.Flow) {
			responds(0)(f)
			f.App, f.Path, f.GRPCStatus = "grpc", "", "NOT_SERVING"
		}, true, false, StrayNotLogged},
		{"settings of HTTP/2 alone, the log silent", "grpc", func(f *event.Flow) {
			responds(0)(f)
			f.App, f.Path = "h2", ""
		}, true, true, ""},
		{"settings of HTTP/2 alone, no log", "grpc", func(f *event.Flow) {
			responds(0)(f)
			f.App, f.Path = "h2", ""
		}, false, false, StrayUnclear},
		{"TLS that ended in order, the log silent", "http", func(f *event.Flow) {
			responds(0)(f)
			f.App, f.Path = "tls", ""
		}, true, true, ""},
		{"TLS, no log", "http", func(f *event.Flow) {
			responds(0)(f)
			f.App, f.Path = "tls", ""
		}, false, false, StrayUnclear},
		{"a TLS alert", "http", func(f *event.Flow) {
			responds(0)(f)
			f.App, f.Path, f.TLSAlert = "tls", "", "fatal handshake_failure"
		}, true, false, StrayNotLogged},
		{"no answer", "tcp", nil, true, false, StrayNotLogged},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene().pod(0, event.ProbeSpec{Type: event.Readiness, Handler: tc.handler, Path: "/healthz", Period: 10 * time.Second})
			s.captured(t0, t0.Add(5*time.Minute), 8080).flow(0, at, tc.flow)
			if tc.log {
				s.sync(t0).sync(t0.Add(5 * time.Minute))
			}
			set, caps := s.join()
			w := set.worker(0, event.Readiness)
			require.NotNil(t, w)
			var good int
			for _, a := range w.Attempts {
				if a.Outcome == event.OutcomeSucceeded {
					good++
				}
			}
			assert.Equal(t, tc.success, good == 1, "%+v", w.Attempts)
			require.Len(t, caps.Conns, 1)
			assert.Equal(t, tc.stray, set.StrayWhy[caps.Conns[0]])
		})
	}
}

// The log's failure takes the connection: it is no success however well it went.
func TestLoggedFailureIsNoSuccess(t *testing.T) {
	s := newScene().pod(0, event.ProbeSpec{Type: event.Readiness, Handler: "http", Path: "/healthz", Period: 10 * time.Second})
	s.captured(t0, t0.Add(5*time.Minute), 8080).sync(t0).sync(t0.Add(5 * time.Minute))
	for i := range 3 {
		at := t0.Add(time.Duration(i+1) * 10 * time.Second)
		s.flow(0, at, responds(503))
		s.failed(0, event.Readiness, at.Add(3*time.Millisecond), "HTTP probe failed with statuscode: 503")
	}
	set, _ := s.join()
	w := set.worker(0, event.Readiness)
	require.Len(t, w.Attempts, 3)
	for _, a := range w.Attempts {
		assert.Equal(t, event.OutcomeFailed, a.Outcome)
		assert.NotNil(t, a.Conn)
	}
}

// Clients other than the kubelet are no attempts, whatever they get.
func TestOtherClients(t *testing.T) {
	s := newScene().pod(0, readiness(10*time.Second)).captured(t0, t0.Add(5*time.Minute), 8080)
	for i := range 6 {
		s.flow(0, t0.Add(time.Duration(i+1)*10*time.Second), answers)
	}
	s.flow(0, t0.Add(33*time.Second), answers)
	f := s.events[len(s.events)-1].Payload.(*event.Flow)
	f.Client = mustAddrPort("10.9.9.9:4444")
	set, caps := s.join()
	assert.Len(t, set.worker(0, event.Readiness).Attempts, 6)
	for _, c := range caps.Conns {
		if c.Client == f.Client {
			assert.Equal(t, StrayNotProber, set.StrayWhy[c])
		}
	}
}
