//go:build ignore

// Command sbom prints the software bill of materials of a Go binary in the form
// of CycloneDX 1.5, from the module list that the linker left in it.
//
// usage: go run .github/release/sbom.go BINARY VERSION [FILE]
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
)

type component struct {
	Type    string `json:"type"`
	BOMRef  string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

func module(kind, path, version string) component {
	purl := "pkg:golang/" + path + "@" + version
	return component{Type: kind, BOMRef: purl, Name: path, Version: version, PURL: purl}
}

func main() {
	if len(os.Args) != 3 && len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY VERSION [FILE]")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(binary, version string, target []string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	components := []component{module("library", "std", info.GoVersion)}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		components = append(components, module("library", dep.Path, dep.Version))
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata":   map[string]any{"component": module("application", info.Main.Path, version)},
		"components": components,
	}, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if len(target) == 1 {
		return os.WriteFile(target[0], text, 0o644)
	}
	_, err = os.Stdout.Write(text)
	return err
}
