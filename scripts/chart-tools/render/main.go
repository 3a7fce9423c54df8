// Command render prints what `helm template` prints, by Helm's own engine. It compiles in a fraction of Helm's time.
//
//	render [-f FILE]... [-set NAME=VALUE]... [-kube-version VERSION] [-notes] CHART
//
// The release is named corank, in namespace default. -notes prints the notes of `helm install` instead.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/strvals"
)

type list []string

func (l *list) String() string { return strings.Join(*l, ",") }
func (l *list) Set(value string) error {
	*l = append(*l, value)
	return nil
}

func main() {
	var files, sets list
	flag.Var(&files, "f", "file of values; later files win")
	flag.Var(&sets, "set", "one value; wins over files")
	version := flag.String("kube-version", "v1.34.0", "version of Kubernetes")
	notes := flag.Bool("notes", false, "print the notes")
	flag.Parse()
	if err := run(flag.Arg(0), files, sets, *version, *notes); err != nil {
		fmt.Fprintf(os.Stderr, "render: %v\n", err)
		os.Exit(1)
	}
}

func run(folder string, files, sets []string, version string, notes bool) error {
	// The loader warns of the symbolic links to the alerts and the dashboard.
	log.SetOutput(io.Discard)
	chart, err := loader.Load(folder)
	if err != nil {
		return err
	}
	values, err := merged(files, sets)
	if err != nil {
		return err
	}
	kube, err := chartutil.ParseKubeVersion(version)
	if err != nil {
		return err
	}
	if !chartutil.IsCompatibleRange(chart.Metadata.KubeVersion, kube.Version) {
		return fmt.Errorf("the chart needs Kubernetes %s, not %s", chart.Metadata.KubeVersion, kube.Version)
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *kube
	release := chartutil.ReleaseOptions{Name: "corank", Namespace: "default", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, release, capabilities)
	if err != nil {
		return err
	}
	rendered, err := engine.Render(chart, all)
	if err != nil {
		return err
	}
	var names []string
	for name, text := range rendered {
		isNotes := path.Base(name) == "NOTES.txt"
		if isNotes == notes && path.Ext(name) != ".tpl" && strings.TrimSpace(text) != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return errors.New("the chart rendered nothing")
	}
	slices.Sort(names)
	for _, name := range names {
		if notes {
			fmt.Print(rendered[name])
		} else {
			fmt.Printf("---\n# Source: %s\n%s\n", name, strings.TrimSpace(rendered[name]))
		}
	}
	return nil
}

func merged(files, sets []string) (map[string]any, error) {
	values := map[string]any{}
	for _, file := range files {
		read, err := chartutil.ReadValuesFile(file)
		if err != nil {
			return nil, err
		}
		values = chartutil.CoalesceTables(read.AsMap(), values)
	}
	for _, set := range sets {
		if err := strvals.ParseInto(set, values); err != nil {
			return nil, err
		}
	}
	return values, nil
}
