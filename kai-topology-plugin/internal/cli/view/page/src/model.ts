// The overview of `kubectl packtree tree -o json`, as far as the page shows it. Amounts are in the unit of their resource.

export interface Overview {
  resource: string;
  topologies: Topology[];
  waiting: Waiting[];
  relations: Relation[];
  seats?: Seat[];
  reservations?: Reservation[];
  gangs: Gang[];
  nodes: Node[];
  pods: Pod[];
  notes: string[];
  /** What events say of gangs, where events were read with all else. */
  histories?: History[];
}

/** What events say of a gang, in the order in which it happened. */
export interface History {
  namespace: string;
  gang: string;
  events: Happened[];
  /** How many earlier events are left out. */
  earlier?: number;
}

export interface Happened {
  kind: string;
  name: string;
  first?: string;
  last: string;
  count: number;
  warning?: boolean;
  reason: string;
  note?: string;
}

export interface Topology {
  name: string;
  levels: string[];
  /** The last level, if its domains are NUMA zones. */
  zoneLevel?: string;
  cluster: Domain;
}

export interface Domain {
  name?: string;
  level?: string;
  path?: string;
  nodes: number;
  used: number;
  free: number;
  unavailable: number;
  total: number;
  cordoned?: number;
  notReady?: number;
  otherPods?: number;
  unlabelled?: Domain;
  nodeNames?: string[];
  domains?: Domain[];
  /** The NUMA zones of a node that reports them. */
  zones?: Domain[];
}

export interface Waiting {
  namespace: string;
  name: string;
  pending: number;
  reason: string;
  message: string;
}

/** A relation of a gang, and how many of its items would have to go elsewhere, or to come, for it to hold. */
export interface Relation {
  namespace: string;
  gang: string;
  name: string;
  rule: string;
  required: boolean;
  lacks: number;
}

/** Room on a node that is held for the successor of a pod of a gang. */
export interface Seat {
  namespace: string;
  gang: string;
  subGroup?: string;
  node: string;
  until?: string;
}

/** Room on nodes that others have to leave to a gang that waits. */
export interface Reservation {
  namespace: string;
  gang: string;
  reason: "Overtaken" | "Preempting";
  /** A node is there once for each pod that will go there. */
  nodes?: string[];
  /** When the room is given back unless pods leave it before. */
  until?: string;
}

export interface Gang {
  namespace: string;
  name: string;
  state: "Runs" | "RunsPartly" | "Waits";
  scheduled: number;
  pending: number;
  gated: number;
  priority: number;
  subGroups: SubGroup[];
  /** What the scheduler says that it does about lost pods. */
  repair?: string;
  placement?: { domains: number; fewest: "Yes" | "NotProved" };
  decision?: Decision;
  behind?: string[];
  remedies?: Remedy[];
}

export interface SubGroup {
  name: string;
  depth: number;
  scheduled: number;
  minimum: number;
  topology?: string;
  required?: string;
  preferred?: string;
  domains?: Record<string, string[]>;
}

export interface Decision {
  verdict: string;
  message?: string;
  reasons?: Reason[];
}

export interface Reason {
  group: string;
  level?: string;
  domain?: string;
  fit: number;
  wanted: number;
  sentence: string;
}

export interface Remedy {
  change: string;
  fits: boolean;
}

export interface Node {
  name: string;
  cordoned?: boolean;
  notReady?: boolean;
  taints?: string[];
  resources: Record<string, { used: number; total: number }>;
}

export interface Pod {
  namespace: string;
  name: string;
  node?: string;
  gang?: string;
  subGroup?: string;
  amount: number;
  scheduler?: string;
  gated?: boolean;
  leaving?: boolean;
}
