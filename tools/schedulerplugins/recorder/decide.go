package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Of two candidates that are equally good either is chosen, by chance: so often all were surely seen.
const choices = 48

// decide runs the cycle of one pod; it also returns the best nodes.
func decide(ctx context.Context, sched *scheduler.Scheduler, client *fake.Clientset, pod *v1.Pod) (object, []string) {
	plugins := sched.Profiles[pod.Spec.SchedulerName]
	nodes, err := look(sched, plugins)
	if err != nil {
		return object{"error": err.Error()}, nil
	}
	state, feasible, found := filter(ctx, plugins, pod, nodes)
	cycle := framework.NewCycleState()
	result, err := sched.SchedulePod(ctx, plugins, cycle, pod)
	var fitError *framework.FitError
	if errors.As(err, &fitError) {
		if plugins.HasPostFilterPlugins() {
			found["preemption"] = postFilter(ctx, client, plugins, cycle, pod, fitError)
		}
		found["fitError"] = fitError.Error()
		return found, nil
	}
	if err != nil {
		return object{"error": err.Error()}, nil
	}
	if nominated := pod.Status.NominatedNodeName; nominated != "" && result.SuggestedHost == nominated && result.FeasibleNodes == 1 {
		feasible = slices.DeleteFunc(feasible, func(node fwk.NodeInfo) bool { return node.Node().Name != nominated })
	}
	scores, best, err := score(ctx, plugins, state, pod, feasible)
	if err != nil {
		return object{"error": err.Error()}, nil
	}
	found["scores"], found["bestNodes"] = scores, best
	return found, best
}

// postFilter runs the PostFilter plugins until every equally good choice was seen, and completes the error's message.
// Victims are noted, not deleted.
func postFilter(
	ctx context.Context, client *fake.Clientset, plugins framework.Framework, state fwk.CycleState, pod *v1.Pod,
	fitError *framework.FitError,
) object {
	var victims []string
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		deleted := action.(clienttesting.DeleteAction)
		victims = append(victims, deleted.GetNamespace()+"/"+deleted.GetName())
		return true, nil, nil
	})
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
	seen := map[string][]string{}
	var answer object
	for range choices {
		victims = nil
		result, status := plugins.RunPostFilterPlugins(ctx, state, pod, fitError.Diagnosis.NodeToStatus)
		answer = object{"code": status.Code().String(), "message": status.Message()}
		fitError.Diagnosis.PostFilterMsg = status.Message()
		if !status.IsSuccess() || result == nil || result.NominatingInfo == nil {
			break
		}
		slices.Sort(victims)
		seen[result.NominatedNodeName] = victims
	}
	acceptable := []object{}
	for _, node := range sets.List(sets.KeySet(seen)) {
		acceptable = append(acceptable, object{"node": node, "victims": seen[node]})
	}
	answer["acceptable"] = acceptable
	return answer
}

// inTurn decides about one pod after the other; each counts on its node for those after it. `before` is called for each.
func inTurn(
	ctx context.Context, sched *scheduler.Scheduler, client *fake.Clientset, pods []*v1.Pod, before func(int) error,
) object {
	steps := []object{}
	for number, pod := range pods {
		if err := before(number); err != nil {
			return object{"error": err.Error()}
		}
		found, best := decide(ctx, sched, client, pod)
		if problem, failed := found["error"]; failed {
			return object{"error": problem}
		}
		step := object{"pod": pod.Namespace + "/" + pod.Name, "node": nil, "bestNodes": []string{}}
		if len(best) == 0 {
			step["fitError"] = found["fitError"]
			steps = append(steps, step)
			continue
		}
		totals := object{}
		for name, scores := range found["scores"].(object) {
			totals[name] = scores.(object)["total"]
		}
		step["node"], step["bestNodes"], step["totals"] = best[0], best, totals
		steps = append(steps, step)
		plugins := sched.Profiles[pod.Spec.SchedulerName]
		nodes, err := look(sched, plugins)
		if err != nil {
			return object{"error": err.Error()}
		}
		state, _, _ := filter(ctx, plugins, pod, nodes)
		if _, status, err := place(ctx, sched, state, pod, best[0]); err != nil || !status.IsSuccess() {
			return object{"error": fmt.Sprint(err, status)}
		}
	}
	return object{"sequence": steps}
}

// place assumes and reserves a pod on a node.
func place(
	ctx context.Context, sched *scheduler.Scheduler, state fwk.CycleState, pod *v1.Pod, node string,
) (*v1.Pod, *fwk.Status, error) {
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = node
	if err := sched.Cache.AssumePod(klog.FromContext(ctx), assumed); err != nil {
		return nil, nil, err
	}
	return assumed, sched.Profiles[pod.Spec.SchedulerName].RunReservePluginsReserve(ctx, state, assumed, node), nil
}

// look brings the scheduler's picture of the nodes up to date.
func look(sched *scheduler.Scheduler, plugins framework.Framework) ([]fwk.NodeInfo, error) {
	snapshot, ok := plugins.SnapshotSharedLister().(*cache.Snapshot)
	if !ok {
		return nil, fmt.Errorf("the snapshot is a %T", plugins.SnapshotSharedLister())
	}
	if err := sched.Cache.UpdateSnapshot(klog.Background(), snapshot); err != nil {
		return nil, err
	}
	return snapshot.NodeInfos().List()
}

// filter asks about every node, also where the cycle would stop early.
func filter(
	ctx context.Context, plugins framework.Framework, pod *v1.Pod, nodes []fwk.NodeInfo,
) (fwk.CycleState, []fwk.NodeInfo, object) {
	state, found := framework.NewCycleState(), object{}
	var feasible []fwk.NodeInfo
	limited, status, _ := plugins.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		found["preFilter"] = object{"status": said(status)}
		return state, feasible, found
	}
	verdicts := object{}
	for _, node := range nodes {
		name := node.Node().Name
		if !limited.AllNodes() && !limited.NodeNames.Has(name) {
			continue
		}
		if status := plugins.RunFilterPluginsWithNominatedPods(ctx, state, pod, node); !status.IsSuccess() {
			answer := said(status)
			answer["fits"] = false
			verdicts[name] = answer
			continue
		}
		verdicts[name] = object{"fits": true}
		feasible = append(feasible, node)
	}
	found["filter"] = verdicts
	return state, feasible, found
}

// score also names the best nodes, sorted. Nodes are alike where nothing scores.
func score(
	ctx context.Context, plugins framework.Framework, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo,
) (object, []string, error) {
	var scored []framework.NodePluginScores
	if !plugins.HasScorePlugins() {
		for _, node := range nodes {
			scored = append(scored, framework.NodePluginScores{Name: node.Node().Name, TotalScore: 1})
		}
	} else {
		if status := plugins.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
			return nil, nil, status.AsError()
		}
		var status *fwk.Status
		if scored, status = plugins.RunScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
			return nil, nil, status.AsError()
		}
	}
	weights := map[string]int64{}
	for _, plugin := range plugins.ListPlugins().Score.Enabled {
		weights[plugin.Name] = int64(plugin.Weight)
	}
	scores, byTotal := object{}, map[int64][]string{}
	for _, node := range scored {
		byPlugin := object{}
		for _, one := range node.Scores {
			byPlugin[one.Name] = object{"normalized": one.Score / weights[one.Name], "weighted": one.Score}
		}
		scores[node.Name] = object{"plugins": byPlugin, "total": node.TotalScore}
		byTotal[node.TotalScore] = append(byTotal[node.TotalScore], node.Name)
	}
	best := byTotal[slices.Max(append(slices.Collect(keys(byTotal)), 0))]
	slices.SortFunc(best, strings.Compare)
	return scores, best, nil
}

func keys(byTotal map[int64][]string) func(func(int64) bool) {
	return func(yield func(int64) bool) {
		for total := range byTotal {
			if !yield(total) {
				return
			}
		}
	}
}

func said(status *fwk.Status) object {
	if status == nil {
		status = fwk.NewStatus(fwk.Success)
	}
	reasons := append([]string{}, status.Reasons()...)
	slices.Sort(reasons)
	answer := object{"code": status.Code().String(), "reasons": reasons}
	if status.Plugin() != "" {
		answer["plugin"] = status.Plugin()
	}
	return answer
}
