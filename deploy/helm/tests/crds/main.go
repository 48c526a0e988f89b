// Decodes manifests of other people's kinds into those people's own types, strictly: a field that
// isn't theirs, or has another type, is an error. Each kind must be known.
//
//	crds FILE...    exit code 1 if one is wrong
package main

import (
	"fmt"
	"os"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

// A new value for the manifest to be decoded into.
var kinds = map[string]func() any{
	"cert-manager.io/v1 Certificate":          func() any { return new(certmanager.Certificate) },
	"monitoring.coreos.com/v1 PrometheusRule": func() any { return new(monitoring.PrometheusRule) },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return new(monitoring.ServiceMonitor) },
}

func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var head struct{ APIVersion, Kind string }
	if err := yaml.Unmarshal(text, &head); err != nil {
		return err
	}
	of, known := kinds[head.APIVersion+" "+head.Kind]
	if !known {
		return fmt.Errorf("unknown kind %s %s", head.APIVersion, head.Kind)
	}
	return yaml.UnmarshalStrict(text, of())
}

func main() {
	failed := 0
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			fmt.Printf("%s: %v\n", path, err)
			failed = 1
		}
	}
	os.Exit(failed)
}
