// A plain extender, as one writes it in Go: net/http, encoding/json and the types of k8s.io/api. It does what the
// plugin of the benchmark does, and remembers the nodes that came in full for requests that name them.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"sync"

	v1 "k8s.io/api/core/v1"
	extender "k8s.io/kube-scheduler/extender/v1"
)

const gib = 1 << 30

var (
	lock     sync.RWMutex
	known    = map[string]*v1.Node{}
	remember = flag.Bool("remember", false, "keep nodes that come in full, for requests that name them")
)

func main() {
	address := flag.String("address", "127.0.0.1:8889", "where to listen")
	flag.Parse()
	http.HandleFunc("/filter", filter)
	http.HandleFunc("/prioritize", prioritize)
	log.Fatal(http.ListenAndServe(*address, nil))
}

func filter(w http.ResponseWriter, r *http.Request) {
	args, ok := read(w, r)
	if !ok {
		return
	}
	cpu := requestedCPU(args.Pod)
	avoid := args.Pod.Labels["avoid-zone"]
	result := extender.ExtenderFilterResult{
		FailedNodes:                extender.FailedNodesMap{},
		FailedAndUnresolvableNodes: extender.FailedNodesMap{},
	}
	var nodes []v1.Node
	names := []string{}
	for _, node := range nodesOf(args) {
		switch {
		case node.Labels["topology.kubernetes.io/zone"] == avoid:
			result.FailedAndUnresolvableNodes[node.Name] = "the zone is to be avoided"
		case node.Status.Allocatable.Cpu().MilliValue() < cpu:
			result.FailedNodes[node.Name] = "too little cpu"
		case args.Nodes != nil:
			nodes = append(nodes, *node)
		default:
			names = append(names, node.Name)
		}
	}
	if args.Nodes != nil {
		result.Nodes = &v1.NodeList{Items: nodes}
	} else {
		result.NodeNames = &names
	}
	write(w, result)
}

func prioritize(w http.ResponseWriter, r *http.Request) {
	args, ok := read(w, r)
	if !ok {
		return
	}
	result := extender.HostPriorityList{}
	for _, node := range nodesOf(args) {
		points := node.Status.Allocatable.Memory().Value() / (13 * gib)
		if node.Labels["node.kubernetes.io/instance-type"] == "m7.8xlarge" {
			points++
		}
		result = append(result, extender.HostPriority{Host: node.Name, Score: min(points, 10)})
	}
	write(w, result)
}

func read(w http.ResponseWriter, r *http.Request) (*extender.ExtenderArgs, bool) {
	var args extender.ExtenderArgs
	if err := json.NewDecoder(r.Body).Decode(&args); err != nil || args.Pod == nil {
		http.Error(w, "no arguments of an extender", http.StatusBadRequest)
		return nil, false
	}
	return &args, true
}

func nodesOf(args *extender.ExtenderArgs) []*v1.Node {
	var nodes []*v1.Node
	if args.Nodes != nil {
		for i := range args.Nodes.Items {
			nodes = append(nodes, &args.Nodes.Items[i])
		}
		if *remember {
			lock.Lock()
			defer lock.Unlock()
			for _, node := range nodes {
				known[node.Name] = node.DeepCopy()
			}
		}
		return nodes
	}
	lock.RLock()
	defer lock.RUnlock()
	for _, name := range *args.NodeNames {
		if node := known[name]; node != nil {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func requestedCPU(pod *v1.Pod) int64 {
	var total int64
	for _, container := range pod.Spec.Containers {
		total += container.Resources.Requests.Cpu().MilliValue()
	}
	return total
}

func write(w http.ResponseWriter, result any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(result); err != nil {
		log.Print(err)
	}
}
