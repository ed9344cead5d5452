package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// usage is what one process (and those it waited for) took.
type usage struct {
	cpu, wall time.Duration
	rss       int64 // peak resident bytes
	out       string
}

// measure runs a command to its end. Standard output is kept where it is short.
func measure(cmd *exec.Cmd) (usage, error) {
	var out, errs bytes.Buffer
	cmd.Stdout = &out
	if cmd.Stderr == nil {
		cmd.Stderr = &errs
	}
	start := time.Now()
	err := cmd.Run()
	u := usage{wall: time.Since(start)}
	if out.Len() < 1<<16 {
		u.out = out.String()
	}
	if cmd.ProcessState != nil {
		u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			u.rss = ru.Maxrss << 10 // Linux counts in KiB
		}
	}
	if err != nil {
		return u, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, lastLine(errs.String()))
	}
	return u, nil
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// shell runs a peer: its command line with $F for the file.
func shell(ctx context.Context, line, file string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", line)
	cmd.Env = append(os.Environ(), "F="+file, "LC_ALL=C")
	return cmd
}

// streamed runs the product on what the generator writes into a pipe, so that
// nothing is stored, and measures the product alone.
func streamed(ctx context.Context, gen string, genArgs []string, product *exec.Cmd) (usage, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return usage{}, err
	}
	writer := exec.CommandContext(ctx, gen, genArgs...)
	writer.Stdout, writer.Stderr = w, os.Stderr
	if err := writer.Start(); err != nil {
		return usage{}, err
	}
	w.Close()
	product.Stdin = r
	u, err := measure(product)
	r.Close()
	if werr := writer.Wait(); err == nil && werr != nil {
		err = fmt.Errorf("generator: %w", werr)
	}
	return u, err
}

// peers are the programs compared with and the Debian packages they come in.
var peers = []struct{ program, pkg string }{
	{"tcpdump", "tcpdump"}, {"tcptrace", "tcptrace"}, {"tshark", "tshark"}, {"rg", "ripgrep"}, {"grep", "grep"},
	{"jq", "jq"}, {"journalctl", "systemd"}, {journalRemote, "systemd-journal-remote"}, {"tar", "tar"}, {"zstd", "zstd"}, {"xz", "xz-utils"},
	{"sha256sum", "coreutils"},
}

// journalRemote turns the export format into binary journals.
const journalRemote = "/lib/systemd/systemd-journal-remote"

// install installs missing peers one by one, where that is possible; what stays
// missing is left out of the comparison.
func install(ctx context.Context) {
	if os.Geteuid() != 0 {
		return
	}
	updated := false
	for _, p := range peers {
		if has(p.program) {
			continue
		}
		if !updated {
			updated = true
			_ = exec.CommandContext(ctx, "apt-get", "update", "-qq").Run()
		}
		cmd := exec.CommandContext(ctx, "apt-get", "install", "-y", "-qq", "--no-install-recommends", p.pkg)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if err := cmd.Run(); err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s cannot be installed (%v): it is left out\n", p.pkg, err)
		}
	}
}

func has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
