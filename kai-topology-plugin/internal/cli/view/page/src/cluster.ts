// What is asked of an overview again and again, found once.

import type { Domain, Gang, History, Node, Overview, Pod, Relation, Reservation, Seat, SubGroup, Topology, Waiting } from "./model";

export interface Cluster {
  overview: Overview;
  nodes: Map<string, Node>;
  gangs: Map<string, Gang>;
  waiting: Map<string, Waiting>;
  podsOnNode: Map<string, Pod[]>;
  podsOfGang: Map<string, Pod[]>;
  relationsOfGang: Map<string, Relation[]>;
  seatsOfGang: Map<string, Seat[]>;
  seatsOnNode: Map<string, Seat[]>;
  reservations: { ofGang: Map<string, Reservation[]>; onNode: Map<string, Reservation[]> };
  historyOfGang: Map<string, History>;
}

export function clusterOf(overview: Overview): Cluster {
  const cluster: Cluster = {
    overview,
    nodes: new Map(overview.nodes.map((node) => [node.name, node])),
    gangs: new Map(overview.gangs.map((gang) => [key(gang), gang])),
    waiting: new Map(overview.waiting.map((gang) => [key(gang), gang])),
    podsOnNode: new Map(),
    podsOfGang: new Map(),
    relationsOfGang: new Map(),
    seatsOfGang: new Map(),
    seatsOnNode: new Map(),
    reservations: { ofGang: new Map(), onNode: new Map() },
    historyOfGang: new Map((overview.histories ?? []).map((history) => [gangOf(history), history])),
  };
  for (const relation of overview.relations) append(cluster.relationsOfGang, gangOf(relation), relation);
  for (const seat of overview.seats ?? []) {
    append(cluster.seatsOfGang, gangOf(seat), seat);
    append(cluster.seatsOnNode, seat.node, seat);
  }
  for (const kept of overview.reservations ?? []) {
    append(cluster.reservations.ofGang, gangOf(kept), kept);
    for (const node of new Set(kept.nodes)) append(cluster.reservations.onNode, node, kept);
  }
  for (const pod of overview.pods) {
    if (pod.node) append(cluster.podsOnNode, pod.node, pod);
    if (pod.gang) append(cluster.podsOfGang, gangOf(pod), pod);
  }
  for (const pods of cluster.podsOnNode.values()) {
    pods.sort((a, b) => compare(gangOf(a), gangOf(b)) || compare(a.name, b.name));
  }
  return cluster;
}

function append<V>(map: Map<string, V[]>, at: string, value: V): void {
  const there = map.get(at);
  if (there) there.push(value);
  else map.set(at, [value]);
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function key(object: { namespace: string; name: string }): string {
  return `${object.namespace}/${object.name}`;
}

/** The key of the gang that a pod, a relation, a seat or a history belongs to; empty if it belongs to none. */
export function gangOf({ namespace, gang }: Pick<Pod, "namespace" | "gang">): string {
  return gang ? `${namespace}/${gang}` : "";
}

/** What is kept for a gang. */
export function keptText(kept: Reservation): string {
  const until = kept.until ? `, until ${kept.until}` : "";
  const why = kept.reason === "Preempting" ? "which others leave for it" : `because other gangs have overtaken it${until}`;
  return `room for ${counted(kept.nodes?.length ?? 0, "pod")} on ${[...new Set(kept.nodes)].join(", ")}, ${why}`;
}

/** The last part of a label key: rack of topology/rack. */
export function short(level: string): string {
  const name = level.slice(level.lastIndexOf("/") + 1);
  return name === "hostname" ? "host" : name;
}

/** The topology that a gang is about: the one that its groups name, or the first. */
export function topologyOf(overview: Overview, gang: Gang): Topology | undefined {
  const named = gang.subGroups.find((group) => group.topology)?.topology;
  return overview.topologies.find((topology) => topology.name === named) ?? overview.topologies[0];
}

export interface Constraint {
  text: string;
  /** Whether it holds; undefined while nothing of the group stands anywhere. */
  holds?: boolean;
}

/** The constraints of a group, and whether they hold where it stands. */
export function constraintsOf(group: SubGroup): Constraint[] {
  const found: Constraint[] = [];
  if (group.required) {
    const domains = group.domains?.[group.required];
    const one = `in one ${short(group.required)}`;
    if (!group.scheduled || !domains) found.push({ text: `requires to be ${one}` });
    else if (domains.length === 1) found.push({ text: `${one}: ${domains[0]}`, holds: true });
    else found.push({ text: `required ${one}, is in ${domains.length}`, holds: false });
  }
  if (group.preferred) {
    const domains = group.domains?.[group.preferred];
    const one = `one ${short(group.preferred)}`;
    if (!group.scheduled || !domains) found.push({ text: `prefers ${one}` });
    else found.push({ text: `prefers ${one}, is in ${domains.length}`, holds: domains.length === 1 });
  }
  return found;
}

/** Where a group stands, in the broadest words that say it: the narrowest level with one domain, and how many of the next. */
export function standsIn(group: SubGroup, levels: string[]): string {
  let said = "";
  for (const level of levels) {
    const domains = group.domains?.[level] ?? [];
    if (domains.length === 1) {
      said = `${short(level)} ${domains[0]}`;
    } else if (domains.length > 1) {
      return said ? `${said}, ${domains.length} ${short(level)}s of it` : `${domains.length} ${short(level)}s`;
    }
  }
  return said;
}

/** Why a gang waits, in one sentence; empty if nobody has said. */
export function sentenceOf(cluster: Cluster, gang: Gang): string {
  const waits = cluster.waiting.get(key(gang));
  if (waits?.message) return waits.message;
  if (gang.decision?.message) return gang.decision.message;
  if (gang.behind?.length) return `it fits, but ${gang.behind.join(", ")} goes first`;
  if (gang.decision?.verdict === "Placed") return "it fits now and is about to get its nodes";
  return "";
}

/** How close together a gang was placed; empty if that is not known. */
export function placementOf(gang: Gang): string {
  if (!gang.placement) return "";
  const { domains, fewest } = gang.placement;
  const within = domains === 1 ? "in one domain of each level that it prefers" : `in ${domains} domains of the levels that it prefers`;
  return fewest === "Yes" ? `${within}, the fewest possible when it was placed` : `${within}; whether fewer were possible when it was placed is not proved`;
}

/** A relation in words. */
export function ruleOf(relation: Relation): string {
  const lacks = relation.lacks ? `: ${counted(relation.lacks, "item")} would have to go or to come` : "";
  return `${relation.rule}${relation.required ? "" : ", if that can be had"}${lacks}`;
}

/** How a gang is doing, in a word or two. */
export function stateOf(cluster: Cluster, gang: Gang): string {
  if (gang.state === "Runs") return "Runs";
  if (gang.state === "RunsPartly") return "Runs partly";
  if (gang.behind?.length) return "Behind others";
  const said = cluster.waiting.get(key(gang))?.reason || gang.decision?.verdict || "Waits";
  return said === "Placed" ? "Fits" : said;
}

const units = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

/** An amount for people: bytes in their units, everything else with at most one digit behind the point. */
export function amount(value: number, resource: string): string {
  let unit = 0;
  if (/memory|storage|hugepages/.test(resource)) {
    while (value >= 1024 && unit < units.length - 1) {
      value /= 1024;
      unit++;
    }
  }
  return `${Number(value.toFixed(1)).toLocaleString("en")}${units[unit]}`;
}

export function counted(count: number, what: string): string {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}

/** What the nodes are called that lack the label of the next level, and by which path they are known. */
export function withoutTitle(without: Domain): string {
  const level = without.level ?? "";
  return `no ${level.slice(level.lastIndexOf("/") + 1)} label`;
}

export function withoutLabel(parent: Domain): string {
  return `${parent.path ?? ""}/${parent.unlabelled ? withoutTitle(parent.unlabelled) : ""}`;
}
