// Package certificate checks answers to "may this gang run on these nodes?" against the question alone. It shares no
// code with the engine that gave the answer, and needs nothing but the standard library.
//
// The question is an Input. The answer "yes" assigns nodes to pods: Check lists what is wrong with it. The answer "no"
// comes with a Proof: Verify accepts it only if it is one.
//
// # What a placement is
//
// A placement gives some pending pods a node each. It is right if
//
//   - each pod's kind may use its node, and the pods on a node request no more than what is free there;
//   - for each group with a placed pod: the group is satisfied; its pods and its descendants' pods, running pods
//     included, stand in one domain of its required level; and its placed pods stand in the domain of the pods that it
//     follows;
//   - for each relation: each placed pod of an item is in a domain of the level. A domain that an item enters (with
//     pods as items: that a pod enters) has no more items afterwards than allowed, and is near if the relation has
//     Near. An item enters a domain in which none of its pods ran;
//   - the root is satisfied.
//
// A leaf is satisfied by MinMember pods, running pods included; a parent by MinSubGroups satisfied children.
//
// # What a proof says
//
// A proof is about one group, the goal, at first the root. In each place of the proof every group has a region: the
// nodes that its pods may use. At first that is what its running members, the pods that it follows and its required
// level leave, for it and for the groups around it. The rules:
//
//   - deficit: pods that fit on no node of their leaf's region, even alone, get none. If the other pods do not suffice,
//     the goal cannot be satisfied.
//   - cut: every placement that satisfies the goal places pods of at least the weight Need, and the nodes take pods of
//     at most the weight Offer. Need is the sum over the lightest pods and children that satisfy each group; pods are
//     in one leaf only, so sums are right. Offer is the sum over nodes of the heaviest set of pods that fits on the
//     node, or of an upper bound of it. If groups have the weight, a domain takes a set of groups only if, for each
//     measure of By, the groups need no more than the nodes of the domain offer. That holds since no group contains
//     another, each stands whole in one domain, and each group with placed pods is satisfied.
//   - branch: a group with placed pods stands in one domain of its required level, and so in one domain of each broader
//     level. In each case its region shrinks to the domain; without placed pods it shrinks to nothing.
//   - without: a group with placed pods is satisfied. If it cannot be satisfied, it has none, and does not count for
//     its parent.
//
// A rule may ignore constraints. It never adds one, except the constraints that the branches around it have split into
// cases.
//
// An Unfiltered proof lets every kind use every node. It is for gangs with so many kinds that not every filter was
// evaluated on every node.
//
// # Figures
//
// A proof states its figures. Verify computes them again and rejects a proof with other figures, even if its claim is
// true: a certificate that was changed by hand does not pass.
//
// # Bounds
//
// Verify takes at most MaxSteps steps, whatever the proof, and says so if that is not enough. Sums stop at the end of
// int64, where an offer counts as unlimited.
package certificate
