package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// decide runs the cycle of one pod; it also returns the best nodes.
func decide(ctx context.Context, sched *scheduler.Scheduler, pod *v1.Pod) (object, []string) {
	plugins, ok := sched.Profiles[pod.Spec.SchedulerName]
	if !ok {
		return object{"error": fmt.Sprintf("profile not found for scheduler name %q", pod.Spec.SchedulerName)}, nil
	}
	for _, plugin := range plugins.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(ctx, pod); !status.IsSuccess() {
			return object{"preEnqueue": said(status.WithPlugin(plugin.Name()))}, nil
		}
	}
	nodes, err := look(sched, plugins)
	if err != nil {
		return object{"error": err.Error()}, nil
	}
	state, feasible, found := filter(ctx, plugins, pod, nodes)
	cycle := framework.NewCycleState()
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return object{"error": err.Error()}, nil
	}
	result, err := sched.SchedulePod(ctx, plugins, cycle, &framework.QueuedPodInfo{PodInfo: info})
	var fitError *framework.FitError
	if errors.As(err, &fitError) {
		if plugins.HasPostFilterPlugins() {
			found["preemption"] = postFilter(ctx, plugins, cycle, pod, fitError)
		}
		found["fitError"] = fitError.Error()
		return found, nil
	}
	if err != nil {
		return object{"error": err.Error()}, nil
	}
	if nominated := pod.Status.NominatedNodeName; nominated != "" && result.SuggestedHost == nominated && result.FeasibleNodes == 1 {
		found["nominatedNodeUsed"] = true
		feasible = slices.DeleteFunc(feasible, func(node fwk.NodeInfo) bool { return node.Node().Name != nominated })
	}
	scores, best, err := score(ctx, plugins, state, pod, feasible)
	if err != nil {
		return object{"error": err.Error()}, nil
	}
	found["scores"], found["bestNodes"] = scores, best
	return found, best
}

// inTurn decides about one pod after the other; each counts on its node for those after it.
func inTurn(ctx context.Context, sched *scheduler.Scheduler, pods []*v1.Pod) object {
	steps := []object{}
	for _, pod := range pods {
		found, best := decide(ctx, sched, pod)
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
		if err := place(ctx, sched, pod, best[0]); err != nil {
			return object{"error": err.Error()}
		}
	}
	return object{"sequence": steps}
}

// place assumes and reserves a pod on a node.
func place(ctx context.Context, sched *scheduler.Scheduler, pod *v1.Pod, node string) error {
	plugins := sched.Profiles[pod.Spec.SchedulerName]
	nodes, err := look(sched, plugins)
	if err != nil {
		return err
	}
	state, _, _ := filter(ctx, plugins, pod, nodes)
	assumed := pod.DeepCopy()
	assumed.Spec.NodeName = node
	if err := sched.Cache.AssumePod(klog.FromContext(ctx), assumed); err != nil {
		return err
	}
	return plugins.RunReservePluginsReserve(ctx, state, assumed, node).AsError()
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
	if len(nodes) == 0 {
		return state, feasible, found
	}
	limited, status, limiting := plugins.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		found["preFilter"] = object{"status": said(status)}
		return state, feasible, found
	}
	if !limited.AllNodes() {
		found["preFilter"] = object{"nodes": sets.List(limited.NodeNames)}
	}
	verdicts := object{}
	for _, node := range nodes {
		name := node.Node().Name
		if !limited.AllNodes() && !limited.NodeNames.Has(name) {
			reason := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(limiting))
			verdicts[name] = rejected(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason))
			continue
		}
		if status := plugins.RunFilterPluginsWithNominatedPods(ctx, state, pod, node); !status.IsSuccess() {
			verdicts[name] = rejected(status)
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
	var scored []fwk.NodePluginScores
	if !plugins.HasScorePlugins() {
		for _, node := range nodes {
			scored = append(scored, fwk.NodePluginScores{Name: node.Node().Name, TotalScore: 1})
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
	var highest int64
	for total := range byTotal {
		highest = max(highest, total)
	}
	best := byTotal[highest]
	slices.Sort(best)
	return scores, best, nil
}

// running are the plugins of each extension point, in order; those that score have a weight.
func running(plugins *config.Plugins) object {
	points := map[string]config.PluginSet{
		"preEnqueue": plugins.PreEnqueue, "queueSort": plugins.QueueSort, "preFilter": plugins.PreFilter,
		"filter": plugins.Filter, "postFilter": plugins.PostFilter, "preScore": plugins.PreScore, "score": plugins.Score,
		"reserve": plugins.Reserve, "permit": plugins.Permit, "preBind": plugins.PreBind, "bind": plugins.Bind,
		"postBind": plugins.PostBind,
	}
	answer := object{}
	for point, set := range points {
		var entries []object
		for _, plugin := range set.Enabled {
			entry := object{"name": plugin.Name}
			if point == "score" {
				entry["weight"] = plugin.Weight
			}
			entries = append(entries, entry)
		}
		if len(entries) > 0 {
			answer[point] = entries
		}
	}
	return answer
}

func said(status *fwk.Status) object {
	reasons := slices.Clone(status.Reasons())
	slices.Sort(reasons)
	answer := object{"code": status.Code().String(), "reasons": reasons}
	if status.Plugin() != "" {
		answer["plugin"] = status.Plugin()
	}
	return answer
}

func rejected(status *fwk.Status) object {
	answer := said(status)
	answer["fits"] = false
	return answer
}
