// Package certificate checks answers to "may this gang run on these nodes?"
// against the question alone. It shares no code with the engine that gave the
// answer, and needs nothing but the standard library.
//
// The question is an Input. An answer "yes" is a node for each of some pods:
// Check lists what is wrong with it. An answer "no" comes with a Proof: Verify
// accepts it only if it is one.
//
// # What a placement is
//
// A placement gives some pending pods a node each. It is right if
//
//   - each pod's kind is not barred from its node, and the pods on a node ask for
//     no more than what is free there;
//   - for each group of which a pending pod has a node, the group is satisfied,
//     its pods and those of its descendants, running ones too, stand in one domain
//     of the level that it requires, and the placed ones stand in the domain where
//     the pods stand that it follows;
//   - for each relation, each placed pod of an item is in a domain of its level; a domain
//     that an item enters, or with pods as items each where one is placed, has no more items
//     then than it may have, and with Near is one of those. An item enters a domain in which
//     no pod of it ran;
//   - the root is satisfied.
//
// A leaf is satisfied by MinMember pods, running ones included; a parent by
// MinSubGroups satisfied children.
//
// # What a proof says
//
// A proof is about one group, the goal, at first the root. In each place of the
// proof every group has a region: the nodes that its pods may use. At first that
// is what its running members, the pods that it follows and its required level
// leave, for it and for the groups around it. The rules:
//
//   - deficit: pods that fit on no node of their leaf's region, even alone, get none.
//     If those left don't suffice, the goal cannot be satisfied.
//   - cut: every placement that satisfies the goal places pods of at least the
//     weight Need, and the nodes take pods of at most the weight Offer. Need is the
//     sum over the lightest pods and children that satisfy each group; pods are in
//     one leaf only, so sums are right. Offer is the sum over nodes of the heaviest
//     set of pods that fits on the node, or of an upper bound of it. If groups have
//     the weight, a domain takes a set of groups only if, for each measure of By,
//     what the groups need is no more than what the nodes of the domain offer.
//     That holds since none of the groups contains another, each stands whole in
//     one domain, and each that has pods placed is satisfied.
//   - branch: a group with pods placed stands in one domain of the level that it
//     requires, and so in one domain of each broader level. In each case its region
//     shrinks to the domain; without pods placed it shrinks to nothing.
//   - without: a group with pods placed is satisfied. If it cannot be, then it has
//     none, and does not count for its parent.
//
// Every rule ignores constraints at most, never adds one, but for those that the
// branches around it have split into cases.
//
// An Unfiltered proof takes no kind to be barred from any node. It is for gangs of so many
// kinds that nobody asked every filter about every node.
//
// # Figures
//
// A proof states what it counts, and a proof whose figures are not those that
// Verify finds is rejected, even if what it claims is true. So a certificate
// cannot be changed by hand and still pass.
//
// # Bounds
//
// Verify takes at most MaxSteps steps, whatever the proof, and says so if that
// is not enough. Sums stop at the end of int64, where an offer counts as
// unlimited.
package certificate
