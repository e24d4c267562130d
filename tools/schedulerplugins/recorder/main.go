// The recorder tells what the Go plugins of kubernetes-sigs/scheduler-plugins decide: their own code within that of
// kube-scheduler, over objects in memory, one small cluster per case.
//
//	recorder < cases > recordings
//
// Both are JSON, one case per line: those of docs/conformance.md, with custom resources among the objects, `watcher` as
// the answer of a load watcher, and two more questions: `sort` (the order of pods in the queue) and `gang` (pods that wait
// for each other). `changes` are objects that change before one of several pods is decided about.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	_ "sigs.k8s.io/scheduler-plugins/apis/config/scheme"
	"sigs.k8s.io/scheduler-plugins/pkg/capacityscheduling"
	"sigs.k8s.io/scheduler-plugins/pkg/coscheduling"
	"sigs.k8s.io/scheduler-plugins/pkg/networkaware/networkoverhead"
	"sigs.k8s.io/scheduler-plugins/pkg/networkaware/topologicalsort"
	"sigs.k8s.io/scheduler-plugins/pkg/noderesources"
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
	"sigs.k8s.io/scheduler-plugins/pkg/podstate"
	"sigs.k8s.io/scheduler-plugins/pkg/preemptiontoleration"
	"sigs.k8s.io/scheduler-plugins/pkg/qos"
	"sigs.k8s.io/scheduler-plugins/pkg/sysched"
	"sigs.k8s.io/scheduler-plugins/pkg/trimaran/loadvariationriskbalancing"
	"sigs.k8s.io/scheduler-plugins/pkg/trimaran/lowriskovercommitment"
	"sigs.k8s.io/scheduler-plugins/pkg/trimaran/peaks"
	"sigs.k8s.io/scheduler-plugins/pkg/trimaran/targetloadpacking"
)

var registry = frameworkruntime.Registry{
	capacityscheduling.Name:         capacityscheduling.New,
	coscheduling.Name:               coscheduling.New,
	loadvariationriskbalancing.Name: loadvariationriskbalancing.New,
	lowriskovercommitment.Name:      lowriskovercommitment.New,
	networkoverhead.Name:            networkoverhead.New,
	noderesources.AllocatableName:   noderesources.NewAllocatable,
	noderesourcetopology.Name:       noderesourcetopology.New,
	peaks.Name:                      peaks.New,
	podstate.Name:                   podstate.New,
	preemptiontoleration.Name:       preemptiontoleration.New,
	qos.Name:                        qos.New,
	sysched.Name:                    sysched.New,
	targetloadpacking.Name:          targetloadpacking.New,
	topologicalsort.Name:            topologicalsort.New,
}

// The address that configurations of cases give for the load watcher.
const watcherAddress = "http://watcher"

// Plugins have handlers of their own; nothing says when they have seen all objects, but by then they have.
const handlersOfPlugins = 50 * time.Millisecond

type object = map[string]any

type testCase struct {
	Name     string            `json:"name"`
	Asks     string            `json:"asks,omitempty"`
	Config   json.RawMessage   `json:"config"`
	Objects  []json.RawMessage `json:"objects"`
	Pod      json.RawMessage   `json:"pod,omitempty"`
	Pods     []json.RawMessage `json:"pods,omitempty"`
	Changes  map[int]change    `json:"changes,omitempty"`
	Times    []int64           `json:"times,omitempty"`
	Watcher  json.RawMessage   `json:"watcher,omitempty"`
	Expected object            `json:"expected,omitempty"`
	Refused  string            `json:"refused,omitempty"`
}

// A change is what happens before the pod of this place is decided about: objects have become others, and time passes.
type change struct {
	Objects []json.RawMessage `json:"objects"`
	Seconds float64           `json:"seconds"`
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	output := json.NewEncoder(os.Stdout)
	os.Stdout, _ = os.Open(os.DevNull) // some plugins print
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<28)
	for input.Scan() {
		var c testCase
		if err := json.Unmarshal(input.Bytes(), &c); err != nil {
			fail(err)
		}
		c.record()
		if err := output.Encode(c); err != nil {
			fail(err)
		}
	}
	if err := input.Err(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}

func (c *testCase) record() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer func() {
		if problem := recover(); problem != nil {
			c.Expected, c.Refused = nil, fmt.Sprintf("panic: %v", problem)
		}
	}()
	pods, err := c.pods()
	if err != nil {
		c.Refused = err.Error()
		return
	}
	outside, others, err := newOutside(c.Objects, c.Watcher)
	if err != nil {
		c.Refused = err.Error()
		return
	}
	server := httptest.NewServer(outside)
	defer server.Close()
	defer server.CloseClientConnections()
	defer cancel()
	sched, client, err := c.start(ctx, pods, others, server.URL)
	if err != nil {
		c.Refused = err.Error()
		return
	}
	switch c.Asks {
	case "":
		if len(c.Pods) > 0 {
			c.Expected = inTurn(ctx, sched, client, pods, func(place int) error {
				return c.Changes[place].apply(ctx, client, outside)
			})
		} else {
			c.Expected, _ = decide(ctx, sched, client, pods[0])
		}
	case "sort":
		c.Expected = sorted(sched, pods, c.Times)
	case "gang":
		c.Expected = gang(ctx, sched, pods)
	default:
		c.Refused = "asks " + c.Asks
	}
}

// apply also waits: for whatever plugins do from time to time.
func (c change) apply(ctx context.Context, client *fake.Clientset, outside *outside) error {
	for _, raw := range c.Objects {
		if outside.set(raw) {
			continue
		}
		obj, err := decode(raw)
		if err != nil {
			return err
		}
		pod := obj.(*v1.Pod)
		if _, err := client.CoreV1().Pods(pod.Namespace).Update(ctx, pod, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	time.Sleep(time.Duration(c.Seconds * float64(time.Second)))
	return nil
}

// pods are those to decide about.
func (c *testCase) pods() ([]*v1.Pod, error) {
	var pods []*v1.Pod
	for _, raw := range append(slices.Clone(c.Pods), c.Pod) {
		if len(raw) == 0 {
			continue
		}
		obj, err := decode(raw)
		if err != nil {
			return nil, err
		}
		pods = append(pods, obj.(*v1.Pod))
	}
	return pods, nil
}

// start gives a scheduler that knows the objects of the case, but does not run.
func (c *testCase) start(
	ctx context.Context, pods []*v1.Pod, others []json.RawMessage, address string,
) (*scheduler.Scheduler, *fake.Clientset, error) {
	var objects []runtime.Object
	for _, raw := range others {
		obj, err := decode(raw)
		if err != nil {
			return nil, nil, err
		}
		objects = append(objects, obj)
	}
	for _, pod := range pods {
		pending := pod.DeepCopy()
		pending.Spec.NodeName = ""
		objects = append(objects, pending)
	}
	client := fake.NewSimpleClientset(objects...)
	client.PrependReactor("list", "*", inOrder(client.Tracker()))
	text := strings.ReplaceAll(string(c.Config), watcherAddress, address)
	configured, err := loadConfig([]byte(text))
	if err != nil {
		return nil, nil, err
	}
	factory := scheduler.NewInformerFactory(client, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	sched, err := scheduler.New(ctx, client, factory, nil, profile.NewRecorderFactory(broadcaster),
		// One node after the other: which of several errors ends a cycle is not left to chance.
		scheduler.WithParallelism(1),
		scheduler.WithKubeConfig(&rest.Config{Host: address}),
		scheduler.WithFrameworkOutOfTreeRegistry(registry),
		scheduler.WithProfiles(configured.Profiles...),
		scheduler.WithComponentConfigVersion(configured.TypeMeta.APIVersion),
		scheduler.WithPercentageOfNodesToScore(configured.PercentageOfNodesToScore))
	if err != nil {
		return nil, nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	err = sched.WaitForHandlersSync(ctx)
	time.Sleep(handlersOfPlugins)
	return sched, client, err
}

// inOrder lists objects by namespace and name, as an API server does; the fake client has no order.
func inOrder(tracker clienttesting.ObjectTracker) clienttesting.ReactionFunc {
	return func(action clienttesting.Action) (bool, runtime.Object, error) {
		list := action.(clienttesting.ListActionImpl)
		found, err := tracker.List(list.GetResource(), list.GetKind(), list.GetNamespace())
		if err != nil {
			return true, found, err
		}
		items, err := meta.ExtractList(found)
		if err != nil {
			return true, found, err
		}
		slices.SortFunc(items, func(a, b runtime.Object) int { return strings.Compare(key(a), key(b)) })
		return true, found, meta.SetList(found, items)
	}
}

func key(obj runtime.Object) string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	return accessor.GetNamespace() + "/" + accessor.GetName()
}

func decode(raw json.RawMessage) (runtime.Object, error) {
	obj, _, err := clientscheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	return obj, err
}

func loadConfig(raw json.RawMessage) (*config.KubeSchedulerConfiguration, error) {
	obj, _, err := scheme.Codecs.UniversalDecoder().Decode(raw, nil, nil)
	if err != nil {
		return nil, err
	}
	configured, ok := obj.(*config.KubeSchedulerConfiguration)
	if !ok {
		return nil, fmt.Errorf("no KubeSchedulerConfiguration, but %T", obj)
	}
	return configured, nil
}
