package main

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// A waiting pod that was let go or rejected has said so after this time.
const quiet = 5 * time.Millisecond

// sorted is the order in which pods leave the queue; they came at these times.
func sorted(sched *scheduler.Scheduler, pods []*v1.Pod, times []int64) object {
	var queued []*framework.QueuedPodInfo
	for i, pod := range pods {
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			return object{"error": err.Error()}
		}
		came := time.Unix(times[i], 0)
		queued = append(queued, &framework.QueuedPodInfo{PodInfo: info, Timestamp: came, InitialAttemptTimestamp: &came})
	}
	less := sched.Profiles[pods[0].Spec.SchedulerName].QueueSortFunc()
	sort.SliceStable(queued, func(i, j int) bool { return less(queued[i], queued[j]) })
	names := []string{}
	for _, one := range queued {
		names = append(names, one.Pod.Namespace+"/"+one.Pod.Name)
	}
	return object{"sorted": names}
}

// waiting are the pods that Permit holds back, by name.
type waiting struct {
	pod   *v1.Pod
	state fwk.CycleState
	done  chan *fwk.Status
}

// gang lets pods come one after the other. Each goes to the first node by name that takes it; what that means for it and
// for those that wait is recorded. A pod that is rejected while it waits gives its node back.
func gang(ctx context.Context, sched *scheduler.Scheduler, pods []*v1.Pod) object {
	plugins := sched.Profiles[pods[0].Spec.SchedulerName]
	held, steps := map[string]*waiting{}, []object{}
	for _, pod := range pods {
		nodes, err := look(sched, plugins)
		if err != nil {
			return object{"error": err.Error()}
		}
		step := object{"pod": pod.Namespace + "/" + pod.Name}
		state, feasible, found := filter(ctx, plugins, pod, nodes)
		switch {
		case found["preFilter"] != nil:
			step["preFilter"] = found["preFilter"].(object)["status"]
			_, status := plugins.RunPostFilterPlugins(ctx, state, pod, statuses(found))
			step["postFilter"] = said(status)
		case len(feasible) == 0:
			_, status := plugins.RunPostFilterPlugins(ctx, state, pod, statuses(found))
			step["postFilter"] = said(status)
		default:
			slices.SortFunc(feasible, func(a, b fwk.NodeInfo) int { return strings.Compare(a.Node().Name, b.Node().Name) })
			node := feasible[0].Node().Name
			assumed, status, err := place(ctx, sched, state, pod, node)
			if err != nil || !status.IsSuccess() {
				return object{"error": fmt.Sprint(err, status)}
			}
			status = plugins.RunPermitPlugins(ctx, state, assumed, node)
			step["node"], step["permit"] = node, said(status)
			switch {
			case status.Code() == fwk.Wait:
				step["permit"] = object{"code": status.Code().String()}
				one := &waiting{assumed, state, make(chan *fwk.Status, 1)}
				held[pod.Namespace+"/"+pod.Name] = one
				go func() { one.done <- plugins.WaitOnPermit(ctx, one.pod) }()
			case !status.IsSuccess():
				undo(ctx, sched, plugins, &waiting{assumed, state, nil})
			}
		}
		step["then"] = settle(ctx, sched, plugins, held)
		steps = append(steps, step)
	}
	return object{"steps": steps}
}

// settle says what became of pods that waited, until nothing happens any more.
func settle(ctx context.Context, sched *scheduler.Scheduler, plugins framework.Framework, held map[string]*waiting) object {
	answer := object{}
	for {
		time.Sleep(quiet)
		names := []string{}
		for name := range held {
			names = append(names, name)
		}
		slices.Sort(names)
		idle := true
		for _, name := range names {
			select {
			case status := <-held[name].done:
				idle = false
				answer[name] = said(status)
				if !status.IsSuccess() {
					undo(ctx, sched, plugins, held[name])
				}
				delete(held, name)
			default:
			}
		}
		if idle {
			return answer
		}
	}
}

func undo(ctx context.Context, sched *scheduler.Scheduler, plugins framework.Framework, one *waiting) {
	plugins.RunReservePluginsUnreserve(ctx, one.state, one.pod, one.pod.Spec.NodeName)
	if err := sched.Cache.ForgetPod(klog.FromContext(ctx), one.pod); err != nil {
		panic(err)
	}
}

func statuses(found object) *framework.NodeToStatus {
	return framework.NewDefaultNodeToStatus()
}
