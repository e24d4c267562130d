package main

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// Of two candidates that are equally good either is chosen, by chance: so often both were surely seen.
const choices = 64

// postFilter runs the PostFilter plugins, and completes the message of the error.
func postFilter(
	ctx context.Context, plugins framework.Framework, state fwk.CycleState, pod *v1.Pod, fitError *framework.FitError,
) object {
	statuses := fitError.Diagnosis.NodeToStatus
	all, best := candidates(ctx, plugins, state, pod, statuses)
	result, status := plugins.RunPostFilterPlugins(ctx, state, pod, statuses)
	message := status.Message()
	if status.IsSuccess() && result != nil && len(best) > 0 {
		// It names the node that chance has chosen. The first one by name stands for those that are equally good.
		message = strings.Replace(message, "node "+result.NominatedNodeName+",", "node "+best[0].Name()+",", 1)
	}
	fitError.Diagnosis.PostFilterMsg = message
	answer := object{
		"code": status.Code().String(), "message": message,
		"nominatedNode": nil, "acceptable": []object{}, "candidates": []object{},
	}
	if status.IsSuccess() && result != nil && len(best) > 0 {
		answer["nominatedNode"] = best[0].Name()
		answer["acceptable"], answer["candidates"] = views(best), views(all)
	}
	return answer
}

// candidates are all nodes on which preemption would help, and those that are equally good in the end; by name.
func candidates(
	ctx context.Context, plugins framework.Framework, state fwk.CycleState, pod *v1.Pod, statuses *framework.NodeToStatus,
) (all, best []preemption.Candidate) {
	args := &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 100, MinCandidateNodesAbsolute: 100}
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	plugin, err := defaultpreemption.New(ctx, args, plugins, gates)
	if err != nil {
		panic(err)
	}
	evaluator := plugin.Evaluator
	nodes, err := statuses.NodesForStatusCode(plugins.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
	if err != nil || len(nodes) == 0 {
		return nil, nil
	}
	budgets, err := evaluator.PdbLister.List(labels.Everything())
	if err != nil {
		panic(err)
	}
	all, _, _ = evaluator.DryRunPreemption(ctx, state, pod, nodes, budgets, 0, int32(len(nodes)))
	byName := func(a, b preemption.Candidate) int { return strings.Compare(a.Name(), b.Name()) }
	slices.SortFunc(all, byName)
	chosen := evaluator.SelectCandidate(ctx, all)
	for _, candidate := range all {
		pair := []preemption.Candidate{chosen, candidate}
		for range choices {
			if evaluator.SelectCandidate(ctx, pair).Name() == candidate.Name() {
				best = append(best, candidate)
				break
			}
		}
	}
	return all, best
}

func views(candidates []preemption.Candidate) []object {
	answer := []object{}
	for _, candidate := range candidates {
		victims := []string{}
		for _, pod := range candidate.Victims().Pods {
			victims = append(victims, pod.Namespace+"/"+pod.Name)
		}
		answer = append(answer, object{
			"node": candidate.Name(), "victims": victims, "numPDBViolations": candidate.Victims().NumPDBViolations,
		})
	}
	return answer
}
