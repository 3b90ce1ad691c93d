// Package placement checks the placement of pods against what a user asked for. It reads two things only: the user's
// own objects, and the labels of the nodes to which pods are bound. Except for the API types it shares no code with the
// scheduler, the planner or the operators, so that it cannot repeat their mistakes.
package placement
