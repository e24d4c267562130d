package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
)

// outside answers what plugins ask besides the scheduler's own informers: the API of custom resources, and a load
// watcher.
type outside struct {
	watcher json.RawMessage
	lock    sync.Mutex
	items   map[resource][]json.RawMessage
	watches map[resource][]chan json.RawMessage
}

type resource struct{ groupVersion, plural string }

type description struct {
	kind       string
	namespaced bool
}

var custom = map[resource]description{
	{"scheduling.x-k8s.io/v1alpha1", "podgroups"}:                      {"PodGroup", true},
	{"scheduling.x-k8s.io/v1alpha1", "elasticquotas"}:                  {"ElasticQuota", true},
	{"topology.node.k8s.io/v1alpha2", "noderesourcetopologies"}:        {"NodeResourceTopology", false},
	{"appgroup.diktyo.x-k8s.io/v1alpha1", "appgroups"}:                 {"AppGroup", true},
	{"networktopology.diktyo.x-k8s.io/v1alpha1", "networktopologies"}:  {"NetworkTopology", true},
	{"security-profiles-operator.x-k8s.io/v1beta1", "seccompprofiles"}: {"SeccompProfile", true},
}

// newOutside also returns the objects that are none of its own.
func newOutside(objects []json.RawMessage, watcher json.RawMessage) (*outside, []json.RawMessage, error) {
	answer, others := &outside{
		watcher: watcher, items: map[resource][]json.RawMessage{}, watches: map[resource][]chan json.RawMessage{},
	}, []json.RawMessage{}
	for _, raw := range objects {
		one, _, err := identify(raw)
		if err != nil {
			return nil, nil, err
		}
		if one != nil {
			answer.items[*one] = append(answer.items[*one], raw)
		} else {
			others = append(others, raw)
		}
	}
	return answer, others, nil
}

// identify gives the custom resource of an object, nil if it is of another kind, and its name.
func identify(raw json.RawMessage) (*resource, string, error) {
	var head struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, "", err
	}
	for one, what := range custom {
		if one.groupVersion == head.APIVersion && what.kind == head.Kind {
			return &one, head.Metadata.Name, nil
		}
	}
	return nil, head.Metadata.Name, nil
}

// set replaces the object of this name, and tells those who watch; false if it is none of its own.
func (o *outside) set(raw json.RawMessage) bool {
	one, name, err := identify(raw)
	if err != nil || one == nil {
		return false
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	for i, item := range o.items[*one] {
		if _, known, _ := identify(item); known == name {
			o.items[*one][i] = raw
		}
	}
	for _, watch := range o.watches[*one] {
		watch <- raw
	}
	return true
}

func (o *outside) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	path := strings.Split(strings.Trim(request.URL.Path, "/"), "/")
	switch {
	case path[0] == "watcher":
		if len(o.watcher) == 0 {
			http.Error(writer, "no metrics", http.StatusInternalServerError)
			return
		}
		_, _ = writer.Write(o.watcher)
	case path[0] == "api" && len(path) == 1:
		say(writer, object{"kind": "APIVersions", "apiVersion": "v1", "versions": []string{"v1"}})
	case path[0] == "api" && len(path) == 2:
		say(writer, object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": []object{}})
	case path[0] == "apis" && len(path) == 1:
		say(writer, object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups("")})
	case path[0] == "apis" && len(path) == 2:
		found := groups(path[1])
		if len(found) == 0 {
			http.NotFound(writer, request)
			return
		}
		found[0]["kind"], found[0]["apiVersion"] = "APIGroup", "v1"
		say(writer, found[0])
	case path[0] == "apis" && len(path) == 3:
		say(writer, resources(path[1]+"/"+path[2]))
	case path[0] == "apis" && len(path) == 4:
		o.list(writer, request, resource{path[1] + "/" + path[2], path[3]})
	case path[0] == "apis" && len(path) == 5:
		o.get(writer, resource{path[1] + "/" + path[2], path[3]}, path[4])
	default:
		http.NotFound(writer, request)
	}
}

// get gives an object that is in no namespace.
func (o *outside) get(writer http.ResponseWriter, one resource, name string) {
	o.lock.Lock()
	defer o.lock.Unlock()
	for _, raw := range o.items[one] {
		if _, known, err := identify(raw); err == nil && known == name {
			say(writer, raw)
			return
		}
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(http.StatusNotFound)
	_ = json.NewEncoder(writer).Encode(object{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound,
	})
}

// list gives all objects of a kind, or says which change.
func (o *outside) list(writer http.ResponseWriter, request *http.Request, one resource) {
	query := request.URL.Query()
	if query.Get("sendInitialEvents") == "true" {
		http.Error(writer, "list first", http.StatusBadRequest)
		return
	}
	if query.Get("watch") != "" {
		o.watch(writer, request, one)
		return
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	items := o.items[one]
	if items == nil {
		items = []json.RawMessage{}
	}
	say(writer, object{
		"kind": custom[one].kind + "List", "apiVersion": one.groupVersion,
		"metadata": object{"resourceVersion": "1"}, "items": items,
	})
}

func (o *outside) watch(writer http.ResponseWriter, request *http.Request, one resource) {
	changes := make(chan json.RawMessage, 64)
	o.lock.Lock()
	o.watches[one] = append(o.watches[one], changes)
	o.lock.Unlock()
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(http.StatusOK)
	writer.(http.Flusher).Flush()
	for {
		select {
		case raw := <-changes:
			_ = json.NewEncoder(writer).Encode(object{"type": "MODIFIED", "object": raw})
			writer.(http.Flusher).Flush()
		case <-request.Context().Done():
			return
		}
	}
}

// groups lists the API groups, or the one of this name.
func groups(name string) []object {
	answer, known := []object{}, map[string]bool{}
	for one := range custom {
		group, version, _ := strings.Cut(one.groupVersion, "/")
		if known[group] || name != "" && group != name {
			continue
		}
		known[group] = true
		preferred := object{"groupVersion": one.groupVersion, "version": version}
		answer = append(answer, object{"name": group, "versions": []object{preferred}, "preferredVersion": preferred})
	}
	return answer
}

func resources(groupVersion string) object {
	found := []object{}
	for one, what := range custom {
		if one.groupVersion == groupVersion {
			found = append(found, object{
				"name": one.plural, "singularName": strings.ToLower(what.kind), "namespaced": what.namespaced,
				"kind": what.kind, "verbs": []string{"get", "list", "watch", "patch", "update", "create", "delete"},
			})
		}
	}
	return object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": groupVersion, "resources": found}
}

func say(writer http.ResponseWriter, answer any) {
	writer.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(writer).Encode(answer)
}
