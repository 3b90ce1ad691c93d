#!/usr/bin/env python3
"""A decider for `kai-topology-plugin simulate --decider`: first fit by GPUs, within one domain where a gang requires one.

It reads a JSON line for each decision and answers with one. What it knows of the cluster it keeps itself."""
import json
import sys

GPU = "nvidia.com/gpu"


def gpus(pod):
    asked = [c.get("resources", {}) for c in pod["spec"]["containers"]]
    return sum(int((r.get("requests") or r.get("limits") or {}).get(GPU, 0)) for r in asked)


free, labels, down, levels = {}, {}, set(), {}  # by node, and levels by Topology
size, node_of = {}, {}  # by pod


def move(pod, node):
    """Takes a pod from the node that it had, if any, to another; "" is none."""
    for at, sign in ((node_of.pop(pod, ""), 1), (node, -1)):
        if at:
            free[at] += sign * size[pod]
    if node:
        node_of[pod] = node


def fit(pods, nodes):
    """Returns a node for each pod, or None."""
    left, found = {n: free[n] for n in nodes if n not in down}, {}
    for pod in pods:
        node = next((n for n in left if left[n] >= gpus(pod)), None)
        if node is None:
            return None
        left[node] -= gpus(pod)
        found[pod["metadata"]["name"]] = node
    return found


def domains(constraint):
    """Returns the nodes of each domain in which the gang may stand as a whole."""
    required = constraint.get("requiredTopologyLevel")
    if not required:
        return [list(free)]
    keys = levels[constraint["topology"]]
    keys = keys[: keys.index(required) + 1]
    found = {}
    for node in free:
        if all(key in labels[node] for key in keys):
            found.setdefault(tuple(labels[node][key] for key in keys), []).append(node)
    return found.values()


for line in sys.stdin:
    asked = json.loads(line)
    for node in asked.get("cluster", {}).get("nodes", []):
        name = node["metadata"]["name"]
        free[name] = int(node["status"]["allocatable"].get(GPU, 0))
        labels[name] = node["metadata"].get("labels", {})
    for topology in asked.get("cluster", {}).get("topologies", []):
        levels[topology["metadata"]["name"]] = [level["nodeLabel"] for level in topology["spec"]["levels"]]
    for pod in asked.get("cluster", {}).get("pods", []) + asked["gang"]["pods"]:
        size[f'{pod["metadata"]["namespace"]}/{pod["metadata"]["name"]}'] = gpus(pod)
    for pod in asked.get("cluster", {}).get("pods", []):
        move(f'{pod["metadata"]["namespace"]}/{pod["metadata"]["name"]}', pod["spec"]["nodeName"])
    for change in asked["changes"]:
        if "down" in change:
            (down.add if change["down"] else down.discard)(change["node"])
        else:
            move(change["pod"], change["node"])
    gang = asked["gang"]
    constraint = gang["podGroup"]["spec"].get("topologyConstraint") or {}
    answers = (fit(gang["pods"], nodes) for nodes in domains(constraint))
    found = next((answer for answer in answers if answer), None)
    print(json.dumps({"assignments": found} if found else {"refused": "no domain has room"}), flush=True)
