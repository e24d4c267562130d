"""Talking to an API server: transport, credentials, REST calls, informers, events, leader election, extenders.

What does not belong here: any decision about scheduling. Everything in this package takes callbacks or small
protocols, so that it neither knows the scheduler's state nor who listens.
"""
