package parsers_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/probe-forensics/probe-forensics/parsers"
	"github.com/probe-forensics/probe-forensics/parsers/event"
)

// A journal on standard input becomes events; what could not be read would be
// among the problems.
func ExampleOpen() {
	journal := `Dec 02 04:58:07.112301 node-a kubelet[917]: I1202 04:58:07.112233     917 prober.go:107] "Probe failed" probeType="Readiness" pod="shop/web-0" podUID="42e5e42c-2952-407c-aa27-b070f37b8b66" containerName="web" probeResult="failure" output="dial tcp 10.244.1.7:8080: connect: connection refused"
`
	c, err := parsers.Open(context.Background(), []string{"-"}, parsers.Options{Stdin: strings.NewReader(journal)})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for e, err := range c.Events() {
		if err != nil {
			log.Fatal(err)
		}
		if p, ok := e.Payload.(*event.ProbeResult); ok {
			fmt.Println(c.Infos()[e.Ref.Stream-1].Path+e.Ref.Place(), e.Node, p.Pod, p.Probe, p.Output)
		}
	}
	// Output:
	// stdin:1 node-a shop/web-0 readiness dial tcp 10.244.1.7:8080: connect: connection refused
}
