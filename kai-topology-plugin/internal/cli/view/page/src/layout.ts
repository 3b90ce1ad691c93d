// Where each domain and node is drawn: rectangles within rectangles, in the order of their names, as large as their devices are many.

import { hierarchy, treemap, type HierarchyRectangularNode } from "d3-hierarchy";
import { withoutTitle, type Cluster } from "./cluster";
import type { Domain, Topology } from "./model";

export interface Place {
  /** Of a node its name; a domain has none. */
  node?: string;
  domain: Domain;
  /** What is written on it. */
  title: string;
  children?: Place[];
  weight: number;
}

export type Box = HierarchyRectangularNode<Place>;

/** The places of a topology. Nodes that lack a label are a place of their own, where their labels end. */
export function placesOf(cluster: Cluster, topology: Topology): Place {
  return placeOf(cluster, topology.cluster, topology.name || "Nodes");
}

function placeOf(cluster: Cluster, domain: Domain, title: string): Place {
  const place: Place = { domain, title, weight: 0 };
  const children: Place[] = [];
  for (const below of domain.domains ?? []) {
    // The narrowest level may be the host under another label, and then it is the node.
    if (!below.domains && !below.unlabelled && cluster.nodes.has(below.name ?? "")) children.push(nodePlace(cluster, below));
    else children.push(placeOf(cluster, below, below.name ?? ""));
  }
  if (domain.unlabelled) children.push(unlabelledPlace(cluster, domain.unlabelled));
  place.children = children;
  return place;
}

function nodePlace(cluster: Cluster, domain: Domain): Place {
  const most = Math.max(domain.total, 1);
  return { node: domain.name, domain, title: domain.name ?? "", weight: cluster.overview.resource === "cpu" ? most : Math.max(most, 1) };
}

function unlabelledPlace(cluster: Cluster, without: Domain): Place {
  const children = (without.nodeNames ?? []).map((name) => {
    const stock = cluster.nodes.get(name)?.resources[cluster.overview.resource] ?? { used: 0, total: 0 };
    const free = stock.total - stock.used;
    return nodePlace(cluster, { name, level: "kubernetes.io/hostname", nodes: 1, used: stock.used, free, unavailable: 0, total: stock.total });
  });
  return { domain: without, title: withoutTitle(without), children, weight: 0 };
}

export const headerHeight = 17;

/** Lays places out in a rectangle, in pixels. */
export function layout(root: Place, width: number, height: number): Box {
  const tree = hierarchy(root, (place) => place.children).sum((place) => place.weight);
  const roomy = (box: Box) => box.y1 - box.y0 > 3.5 * headerHeight && box.x1 - box.x0 > 44;
  return treemap<Place>()
    .tile(strips)
    .size([width, height])
    .round(false)
    .paddingOuter((box) => (box.depth === 0 ? 0 : box.x1 - box.x0 > 90 ? 3 : 0.5))
    .paddingInner((box) => (box.children?.[0]?.data.node === undefined ? (box.depth < 2 ? 6 : 3) : box.x1 - box.x0 > 90 ? 1.5 : 0.6))
    .paddingTop((box) => (box.depth === 0 ? 0 : box.data.node === undefined && roomy(box) ? headerHeight : 0.5))(tree);
}

/** Fills a rectangle row by row, so that neighbours by name are neighbours on the map. All rows are of nodes, or all of domains. */
export function strips(parent: Box, x0: number, y0: number, x1: number, y1: number): void {
  const children = parent.children ?? [];
  const width = x1 - x0;
  const height = y1 - y0;
  const total = children.reduce((sum, child) => sum + (child.value ?? 0), 0);
  if (!children.length || total <= 0) return;
  const nodes = children[0]?.data.node !== undefined;
  const perRow = bestPerRow(children.length, width, height, nodes ? 1 : 1.5);
  const rows: Box[][] = [];
  const rowsLeft = () => Math.ceil(children.length / perRow) - rows.length;
  // Nodes fill row after row; domains are spread over the rows, so that none is much wider than the others.
  for (let at = 0; at < children.length; at += rows[rows.length - 1]?.length ?? 0) {
    rows.push(children.slice(at, at + (nodes ? perRow : Math.ceil((children.length - at) / rowsLeft()))));
  }
  const even = children.every((child) => child.value === children[0]?.value);
  let y = y0;
  for (const row of rows) {
    const sum = row.reduce((s, child) => s + (child.value ?? 0), 0);
    const rowHeight = even && nodes ? height / rows.length : (height * sum) / total;
    // Equal nodes get equal cells, also in a last row that is not full; domains fill theirs.
    const whole = even && nodes ? sum * (perRow / row.length) : sum;
    let x = x0;
    for (const child of row) {
      const wide = (width * (child.value ?? 0)) / whole;
      Object.assign(child, { x0: x, x1: x + wide, y0: y, y1: y + rowHeight });
      x += wide;
    }
    y += rowHeight;
  }
}

/** How many equal cells in a row come nearest to the aspect, width by height. */
export function bestPerRow(count: number, width: number, height: number, aspect: number): number {
  let best = 1;
  let least = Infinity;
  for (let perRow = 1; perRow <= count; perRow++) {
    const rows = Math.ceil(count / perRow);
    const ratio = width / perRow / (height / rows) / aspect;
    const empty = (rows * perRow - count) / count;
    const bad = Math.abs(Math.log(ratio)) + 2 * empty;
    if (bad < least) {
      least = bad;
      best = perRow;
    }
  }
  return best;
}

/** The narrowest box at a point. */
export function boxAt(root: Box, x: number, y: number): Box | undefined {
  if (x < root.x0 || x >= root.x1 || y < root.y0 || y >= root.y1) return undefined;
  for (const child of root.children ?? []) {
    const found = boxAt(child, x, y);
    if (found) return found;
  }
  return root;
}
