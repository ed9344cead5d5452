// Command probe-forensics explains from kubelet journals, must-gathers and
// packet captures why Kubernetes probes failed. See package cli for the
// interface and docs/ for the manual.
package main

import (
	"os"

	"github.com/probe-forensics/probe-forensics/cmd/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv)) }
