// Command probe-forensics-cloud is probe-forensics with object stores: inputs,
// lists and outputs may be s3, gs, azblob and file URLs. It is a program and a
// module of its own, so that the plain one stays small and opens no connection.
package main

import (
	"os"

	"github.com/probe-forensics/probe-forensics/cmd/internal/cli"
	"github.com/probe-forensics/probe-forensics/cmd/probe-forensics-cloud/objects"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv, objects.New(os.Getenv)))
}
