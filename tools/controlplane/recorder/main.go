// The recorder tells what kube-scheduler decides: its own code, over objects in memory, one cycle per case.
//
//	recorder [-feature-gates=...] [-plugins] < cases > recordings
//
// Both are JSON, one case per line, as docs/conformance.md describes them; `expected` is filled in. A case that this
// scheduler does not take (a configuration that is refused, say) gets `refused` instead.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

type object = map[string]any

type testCase struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Config      json.RawMessage   `json:"config,omitempty"`
	Objects     []json.RawMessage `json:"objects"`
	Pod         json.RawMessage   `json:"pod,omitempty"`
	Pods        []json.RawMessage `json:"pods,omitempty"`
	Expected    object            `json:"expected,omitempty"`
	Refused     string            `json:"refused,omitempty"`
}

var withPlugins bool

func main() {
	gates := flag.String("feature-gates", "", "as kube-scheduler's flag")
	flag.BoolVar(&withPlugins, "plugins", false, "record which plugins run at each extension point, too")
	flag.Parse()
	if err := utilfeature.DefaultMutableFeatureGate.Set(*gates); err != nil {
		fail(err)
	}
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	input, output := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
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
	sched, err := c.start(ctx, pods)
	if err != nil {
		c.Refused = err.Error()
		return
	}
	if len(c.Pods) == 0 {
		c.Expected, _ = decide(ctx, sched, pods[0])
		if plugins, ok := sched.Profiles[pods[0].Spec.SchedulerName]; ok && withPlugins {
			c.Expected["plugins"] = running(plugins.ListPlugins())
		}
		return
	}
	c.Expected = inTurn(ctx, sched, pods)
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
		pod, ok := obj.(*v1.Pod)
		if !ok {
			return nil, fmt.Errorf("a %T to decide about", obj)
		}
		pods = append(pods, pod)
	}
	if len(pods) == 0 {
		return nil, errors.New("no pod to decide about")
	}
	return pods, nil
}

// start gives a scheduler that knows the objects of the case, but does not run.
func (c *testCase) start(ctx context.Context, pods []*v1.Pod) (*scheduler.Scheduler, error) {
	var objects []runtime.Object
	for _, raw := range c.Objects {
		obj, err := decode(raw)
		if err != nil {
			return nil, err
		}
		if pod, ok := obj.(*v1.Pod); ok && (pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed) {
			continue
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
	// One node after the other: which of several errors ends a cycle is not left to chance.
	options := []scheduler.Option{scheduler.WithParallelism(1)}
	if len(c.Config) > 0 && string(c.Config) != "null" {
		configured, err := loadConfig(c.Config)
		if err != nil {
			return nil, err
		}
		options = append(options, scheduler.WithProfiles(configured.Profiles...),
			scheduler.WithComponentConfigVersion(configured.TypeMeta.APIVersion),
			scheduler.WithPercentageOfNodesToScore(configured.PercentageOfNodesToScore))
	}
	factory := newInformerFactory(client)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	sched, err := scheduler.New(ctx, client, factory, nil, profile.NewRecorderFactory(broadcaster), options...)
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return sched, sched.WaitForHandlersSync(ctx)
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
		slices.SortFunc(items, func(a, b runtime.Object) int { return compareKeys(key(a), key(b)) })
		return true, found, meta.SetList(found, items)
	}
}

func key(obj runtime.Object) [2]string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		panic(err)
	}
	return [2]string{accessor.GetNamespace(), accessor.GetName()}
}

func compareKeys(a, b [2]string) int { return slices.Compare(a[:], b[:]) }

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
