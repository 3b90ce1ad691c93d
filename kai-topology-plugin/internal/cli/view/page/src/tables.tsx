// Everything that the map draws, in tables.

import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { amount, constraintsOf, gangOf, keptText, key, ruleOf, stateOf, sentenceOf, short, withoutLabel, type Cluster } from "./cluster";
import type { Choice } from "./choice";
import type { Domain, Topology } from "./model";

interface Props {
  cluster: Cluster;
  topology: Topology;
  choice: Choice;
  choose(change: Partial<Choice>): void;
}

interface Column {
  head: string;
  number?: boolean;
}

interface Row {
  /** By what the row is sorted and found, column by column. */
  cells: (string | number)[];
  shown?: Record<number, ComponentChildren>;
  open?: Partial<Choice>;
}

const names = ["domains", "nodes", "gangs", "pods", "reservations"] as const;
const page = 100;

export function Tables(props: Props) {
  const { choice, choose } = props;
  const [columns, rows] = useMemo(() => tables[choice.table](props), [props.cluster, props.topology, choice.table]);
  return (
    <div class="tables">
      <nav aria-label="Tables">
        {names.map((name) => (
          <button aria-current={choice.table === name ? "true" : undefined} onClick={() => choose({ table: name })}>{name[0]!.toUpperCase() + name.slice(1)}</button>
        ))}
      </nav>
      <Sorted key={choice.table} columns={columns} rows={rows} name={choice.table} choose={choose} />
    </div>
  );
}

function Sorted({ columns, rows, name, choose }: { columns: Column[]; rows: Row[]; name: string; choose: Props["choose"] }) {
  const [by, setBy] = useState<{ column: number; down: boolean }>();
  const [filter, setFilter] = useState("");
  const [most, setMost] = useState(page);
  const found = useMemo(() => {
    const wanted = filter.toLowerCase();
    const kept = wanted ? rows.filter((row) => row.cells.some((cell) => String(cell).toLowerCase().includes(wanted))) : [...rows];
    if (by) {
      const order = new Intl.Collator("en", { numeric: true }).compare;
      const compared = (a: string | number, b: string | number) => (typeof a === "number" && typeof b === "number" ? a - b : order(String(a), String(b)));
      kept.sort((a, b) => (by.down ? -1 : 1) * compared(a.cells[by.column] ?? "", b.cells[by.column] ?? ""));
    }
    return kept;
  }, [rows, by, filter]);
  const sort = (column: number) => setBy({ column, down: by?.column === column ? !by.down : columns[column]?.number ?? false });
  return (
    <>
      <label class="filter">Only rows with <input type="search" value={filter} onInput={(event) => setFilter(event.currentTarget.value)} /></label>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Table of ${name}`}>
        <table>
          <caption>{found.length.toLocaleString("en")} of {rows.length.toLocaleString("en")} {name}</caption>
          <thead>
            <tr>
              {columns.map(({ head, number }, i) => (
                <th scope="col" class={number ? "number" : undefined} aria-sort={by?.column === i ? (by.down ? "descending" : "ascending") : "none"}>
                  <button onClick={() => sort(i)}>{head}{by?.column === i ? <span aria-hidden="true">{by.down ? " ↓" : " ↑"}</span> : null}</button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {found.slice(0, most).map((row) => (
              <tr>
                {row.cells.map((cell, i) => {
                  const shown = row.shown?.[i] ?? cell;
                  if (i > 0) return <td class={columns[i]?.number ? "number" : undefined}>{shown}</td>;
                  return <th scope="row">{row.open ? <button class="link" onClick={() => choose({ page: "map", ...row.open })}>{shown}</button> : shown}</th>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
        {found.length > most && <button onClick={() => setMost(most + 5 * page)}>Show more</button>}
      </div>
    </>
  );
}

const nothing: Partial<Choice> = { gang: undefined, group: undefined, node: undefined, domain: undefined };

const tables: Record<Choice["table"], (props: Props) => [Column[], Row[]]> = {
  domains({ cluster, topology }) {
    const { resource } = cluster.overview;
    const rows: Row[] = [];
    const visit = (domain: Domain, path: string) => {
      const numbers = [domain.used, domain.free, domain.unavailable, domain.total];
      const cells = [path || "(all)", domain.level ? short(domain.level) : "", domain.nodes, ...numbers, domain.cordoned ?? 0, domain.notReady ?? 0];
      const shown = Object.fromEntries(numbers.map((value, i) => [i + 3, amount(value, resource)]));
      rows.push({ cells, shown, open: path ? { ...nothing, domain: path } : nothing });
      for (const below of domain.domains ?? []) if (below.domains || below.unlabelled) visit(below, below.path ?? "");
      if (domain.unlabelled) visit(domain.unlabelled, withoutLabel(domain));
    };
    visit(topology.cluster, "");
    const numbers = ["Nodes", "Used", "Free", "Out of service", "Total", "Cordoned", "Not ready"].map((head) => ({ head, number: true }));
    return [[{ head: "Domain" }, { head: "Level" }, ...numbers], rows];
  },

  nodes({ cluster }) {
    const { resource, nodes } = cluster.overview;
    const rows = nodes.map((node) => {
      const { used, total } = node.resources[resource] ?? { used: 0, total: 0 };
      const state = [node.cordoned ? "cordoned" : "", node.notReady ? "not ready" : ""].filter(Boolean).join(", ");
      const pods = cluster.podsOnNode.get(node.name) ?? [];
      const gangs = [...new Set(pods.map(gangOf))].filter(Boolean).join(", ");
      const cells = [node.name, used, total, pods.length, state, node.taints?.join(", ") ?? "", gangs];
      return { cells, shown: { 1: amount(used, resource), 2: amount(total, resource) }, open: { ...nothing, node: node.name } };
    });
    const heads = [{ head: "Node" }, { head: "Used", number: true }, { head: "Of", number: true }, { head: "Pods", number: true }];
    return [[...heads, { head: "State" }, { head: "Taints" }, { head: "Gangs" }], rows];
  },

  gangs({ cluster }) {
    const rows = cluster.overview.gangs.map((gang) => {
      const constraints = gang.subGroups.flatMap((group) => constraintsOf(group).map(({ text, holds }) => {
        const sign = holds === undefined ? "" : holds ? "✓ " : "✗ ";
        return `${sign}${group.name || "the gang"}: ${text}`;
      }));
      for (const relation of cluster.relationsOfGang.get(key(gang)) ?? []) {
        constraints.push(`${relation.lacks ? "✗" : "✓"} ${relation.name}: ${ruleOf(relation)}`);
      }
      const seats = cluster.seatsOfGang.get(key(gang))?.length ?? 0;
      const placed = gang.placement?.domains ? `${gang.placement.domains}, ${gang.placement.fewest === "Yes" ? "the fewest" : "fewest not proved"}` : "";
      const numbers = [gang.scheduled, gang.pending + gang.gated, seats, gang.priority];
      const cells = [key(gang), stateOf(cluster, gang), ...numbers, constraints.join("; "), placed, sentenceOf(cluster, gang)];
      return { cells, open: { ...nothing, gang: key(gang) } };
    });
    const numbers = ["On nodes", "Without", "Seats", "Priority"].map((head) => ({ head, number: true }));
    return [[{ head: "Gang" }, { head: "State" }, ...numbers, { head: "Constraints and relations" }, { head: "Preferred domains" }, { head: "Why it waits" }], rows];
  },

  reservations({ cluster }) {
    const rows = (cluster.overview.reservations ?? []).map((kept) => {
      const cells = [gangOf(kept), kept.reason, kept.nodes?.length ?? 0, keptText(kept)];
      return { cells, open: { ...nothing, gang: gangOf(kept) } };
    });
    const heads = ["Gang", "Reason"].map((head) => ({ head }));
    return [[...heads, { head: "Pods", number: true }, { head: "What is kept for it" }], rows];
  },

  pods({ cluster }) {
    const { resource, pods } = cluster.overview;
    const rows = pods.map((pod) => {
      const state = [pod.gated ? "gated" : !pod.node ? "waits" : "", pod.leaving ? "leaving" : ""].filter(Boolean).join(", ");
      const cells = [`${pod.namespace}/${pod.name}`, pod.node ?? "", gangOf(pod), pod.subGroup ?? "", pod.amount, state, pod.scheduler ?? ""];
      const open = pod.node ? { ...nothing, node: pod.node } : pod.gang ? { ...nothing, gang: gangOf(pod) } : undefined;
      return { cells, shown: { 4: amount(pod.amount, resource) }, open };
    });
    const heads = ["Pod", "Node", "Gang", "Group"].map((head) => ({ head }));
    return [[...heads, { head: short(resource), number: true }, { head: "State" }, { head: "Other scheduler" }], rows];
  },
};
