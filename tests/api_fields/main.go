// Prints the field names of the kinds that Stowplan reads, with merge keys, in the format of src/stowplan/api/fields.txt:
//
//	go run . > ../../src/stowplan/api/fields.txt
//
// For another release of Kubernetes: go get k8s.io/api@v0.X.Y first.
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	resource "k8s.io/api/resource/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
)

var kinds = []struct {
	version string
	object  any
}{
	{"v1", core.Pod{}}, {"v1", core.Node{}}, {"v1", core.Namespace{}}, {"v1", core.Service{}},
	{"v1", core.ReplicationController{}}, {"v1", core.PersistentVolume{}}, {"v1", core.PersistentVolumeClaim{}},
	{"v1", core.LimitRange{}}, {"v1", core.ResourceQuota{}},
	{"apps/v1", apps.Deployment{}}, {"apps/v1", apps.ReplicaSet{}}, {"apps/v1", apps.StatefulSet{}}, {"apps/v1", apps.DaemonSet{}},
	{"batch/v1", batch.Job{}}, {"batch/v1", batch.CronJob{}},
	{"policy/v1", policy.PodDisruptionBudget{}}, {"scheduling.k8s.io/v1", scheduling.PriorityClass{}},
	{"autoscaling/v2", autoscaling.HorizontalPodAutoscaler{}},
	{"storage.k8s.io/v1", storage.StorageClass{}}, {"storage.k8s.io/v1", storage.CSINode{}}, {"storage.k8s.io/v1", storage.CSIDriver{}},
	{"storage.k8s.io/v1", storage.CSIStorageCapacity{}}, {"storage.k8s.io/v1", storage.VolumeAttachment{}},
	{"resource.k8s.io/v1", resource.ResourceClaim{}}, {"resource.k8s.io/v1", resource.ResourceClaimTemplate{}},
	{"resource.k8s.io/v1", resource.DeviceClass{}}, {"resource.k8s.io/v1", resource.ResourceSlice{}},
}

const header = `# Field names of the kinds that are read, from k8s.io/api v0.36.4. Generated:
#   cd tests/api_fields && go run . > ../../src/stowplan/api/fields.txt
# First the kinds: version, kind, type. Then the types: name and fields, each "name@mergeKey:type", with "*" before the
# type of the values of a map. The merge key is that of strategic merge patches; empty for a set of scalars.
`

var names = map[reflect.Type]string{}
var taken = map[string]bool{}
var lines = map[string]string{}

func isLeaf(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return true
	}
	_, custom := reflect.PointerTo(t).MethodByName("UnmarshalJSON")
	return custom
}

func visit(t reflect.Type) string {
	if name, ok := names[t]; ok {
		return name
	}
	name := t.Name()
	if taken[name] {
		parts := strings.Split(t.PkgPath(), "/")
		name = parts[len(parts)-2] + "." + name
	}
	taken[name] = true
	names[t] = name
	lines[name] = strings.Join(fields(t), " ")
	return name
}

func fields(t reflect.Type) []string {
	var out []string
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag := strings.Split(f.Tag.Get("json"), ",")
		if tag[0] == "-" {
			continue
		}
		if tag[0] == "" { // embedded
			if f.Anonymous && f.Type.Kind() == reflect.Struct {
				out = append(out, fields(f.Type)...)
			}
			continue
		}
		ft, isMap := f.Type, ""
		for ft.Kind() == reflect.Pointer || (ft.Kind() == reflect.Slice && ft.Elem().Kind() != reflect.Uint8) || ft.Kind() == reflect.Map {
			if ft.Kind() == reflect.Map {
				isMap = "*"
			}
			ft = ft.Elem()
		}
		entry := tag[0]
		if strings.Contains(f.Tag.Get("patchStrategy"), "merge") {
			entry += "@" + f.Tag.Get("patchMergeKey")
		}
		if !isLeaf(ft) {
			entry += ":" + isMap + visit(ft)
		}
		out = append(out, entry)
	}
	return out
}

func main() {
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	fmt.Fprint(w, header)
	for _, k := range kinds {
		t := reflect.TypeOf(k.object)
		name := visit(t)
		fmt.Fprintf(w, "%s %s %s\n", k.version, t.Name(), name)
	}
	fmt.Fprintln(w)
	var all []string
	for name := range lines {
		all = append(all, name)
	}
	sort.Strings(all)
	for _, name := range all {
		fmt.Fprintf(w, "%s %s\n", name, lines[name])
	}
}
