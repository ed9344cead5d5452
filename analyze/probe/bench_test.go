package probe

import (
	"fmt"
	"testing"
	"time"

	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// large is a node with pods whose two probes of one port fail again and again,
// and a capture of it all.
func large(pods, failures int) *scene {
	s := newScene()
	period := 10 * time.Second
	end := t0.Add(time.Duration(failures+2) * period)
	s.captured(t0, end, 8080).sync(t0)
	for n := range pods {
		s.pod(n, readiness(period), liveness(period))
		for i := range failures {
			kind := event.Readiness
			if i%2 == 1 {
				kind = event.Liveness
			}
			at := t0.Add(time.Duration(i)*period + time.Duration(n)*time.Millisecond)
			s.flow(n, at, refuses).failed(n, kind, at.Add(200*time.Microsecond), refused(n))
		}
		s.add(objectStream, end, &event.K8sEvent{ObjectKind: "Pod", Namespace: podRef(n).Namespace, Name: podRef(n).Name, UID: podRef(n).UID, Container: "web", Type: "Warning",
			Reason: "Unhealthy", Message: "Readiness probe failed: " + refused(n), Count: int64(failures), First: event.Known(t0, time.Second), Last: event.Known(end, time.Second)})
	}
	return s.sync(end)
}

// BenchmarkJoin rebuilds and joins the attempts of a large case: the time must
// grow as the case does.
func BenchmarkJoin(b *testing.B) {
	for _, pods := range []int{1250, 5000} {
		s := large(pods, 20)
		b.Run(fmt.Sprintf("pods=%d", pods), func(b *testing.B) {
			for b.Loop() {
				set, caps := s.join()
				set.Thresholds()
				set.Missing(caps)
			}
		})
	}
	// One worker with everything: what is quadratic per worker shows here.
	s := large(1, 40000)
	b.Run("pods=1", func(b *testing.B) {
		for b.Loop() {
			set, caps := s.join()
			set.Thresholds()
			set.Missing(caps)
		}
	})
}
