"""Talking to an API server: transport, kubeconfig, reflectors, informers, events, leader election, extenders."""
