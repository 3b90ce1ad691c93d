// Package placement checks where pods stand against what a user asked for. It reads two things only: the user's own
// objects, and the labels of the nodes that pods are bound to. Beyond the API types it shares no code with the scheduler,
// the planner or the operators, so that a mistake of theirs cannot hide in it.
package placement
