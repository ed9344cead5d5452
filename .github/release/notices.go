//go:build ignore

// Command notices prints the licences of all modules that a Go binary holds,
// from the module cache: most of them ask to go with every copy.
//
// usage: go run .github/release/notices.go BINARY
package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: notices BINARY")
		os.Exit(2)
	}
	text, err := notices(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
	_, _ = os.Stdout.Write(text)
}

func notices(binary string) ([]byte, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("This program holds the following works, each under the licence that follows its name.\n")
	if err := licences(&out, "Go "+strings.TrimPrefix(info.GoVersion, "go"), root); err != nil {
		return nil, err
	}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		dir, err := output("go", "list", "-m", "-f", "{{.Dir}}", dep.Path)
		if err != nil {
			return nil, err
		}
		if err := licences(&out, dep.Path+" "+dep.Version, dir); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// licences appends the licence and notice files at the top of a work's folder.
func licences(out *bytes.Buffer, name, dir string) error {
	var files []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, e := range entries {
		base := strings.ToUpper(e.Name())
		if !e.IsDir() && slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE"}, func(p string) bool { return strings.HasPrefix(base, p) }) {
			files = append(files, e.Name())
		}
	}
	if len(files) == 0 {
		return errors.New(name + ": no licence in " + dir)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s\n%s (%s)\n\n%s\n", strings.Repeat("-", 80), name, f, bytes.TrimSpace(text))
	}
	return nil
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	return strings.TrimSpace(string(out)), err
}
