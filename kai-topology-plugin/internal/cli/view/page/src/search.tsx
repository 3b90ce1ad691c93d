// Finds nodes, gangs, pods and domains by a part of their names.

import { useMemo, useRef, useState } from "preact/hooks";
import { gangOf, key, short, type Cluster } from "./cluster";
import type { Choice } from "./choice";
import type { Domain, Topology } from "./model";

interface Found {
  kind: string;
  name: string;
  open: Partial<Choice>;
}

const most = 12;
const nothing: Partial<Choice> = { gang: undefined, group: undefined, node: undefined, domain: undefined };

/** What contains a text, those that begin with it first, and of these what is broader first. */
export function findAll(cluster: Cluster, topology: Topology, text: string): Found[] {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const first: Found[] = [];
  const then: Found[] = [];
  const look = (kind: string, name: string, bare: string, open: Partial<Choice>) => {
    if (first.length >= most) return;
    if (bare.toLowerCase().startsWith(wanted)) first.push({ kind, name, open: { ...nothing, ...open } });
    else if (then.length < most && name.toLowerCase().includes(wanted)) then.push({ kind, name, open: { ...nothing, ...open } });
  };
  const { gangs, nodes, pods } = cluster.overview;
  for (const gang of gangs) look("gang", key(gang), gang.name, { gang: key(gang) });
  const visit = (domain: Domain) => {
    for (const below of domain.domains ?? []) {
      if (!below.domains) continue;
      look(short(below.level ?? ""), below.path ?? "", below.name ?? "", { domain: below.path });
      visit(below);
    }
  };
  visit(topology.cluster);
  for (const node of nodes) look("node", node.name, node.name, { node: node.name });
  for (const pod of pods) look("pod", `${pod.namespace}/${pod.name}`, pod.name, pod.node ? { node: pod.node } : { gang: gangOf(pod) || undefined });
  return [...first, ...then].slice(0, most);
}

export function Search({ cluster, topology, choose }: { cluster: Cluster; topology: Topology; choose(change: Partial<Choice>): void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const found = useMemo(() => findAll(cluster, topology, text), [cluster, topology, text]);
  const pick = (which: Found | undefined) => {
    if (!which) return;
    choose({ page: "map", ...which.open });
    setText("");
    input.current?.blur();
  };
  const keys = (event: KeyboardEvent) => {
    const last = Math.max(0, found.length - 1);
    if (event.key === "ArrowDown") setAt(Math.min(last, at + 1));
    else if (event.key === "ArrowUp") setAt(Math.max(0, at - 1));
    else if (event.key === "Enter") pick(found[Math.min(at, last)]);
    else if (event.key === "Escape") {
      setText("");
      input.current?.blur();
      event.stopPropagation();
    } else return;
    event.preventDefault();
  };
  return (
    <div class="search">
      <input
        id="search" ref={input} role="combobox" placeholder="Search  /" value={text} autocomplete="off"
        aria-label="Search gangs, domains, nodes and pods" aria-expanded={found.length > 0} aria-controls="found" aria-autocomplete="list"
        aria-activedescendant={found.length ? `found-${Math.min(at, found.length - 1)}` : undefined} onKeyDown={keys}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
      />
      <ul id="found" role="listbox" aria-label="Found" hidden={!found.length}>
        {found.map((which, i) => (
          <li id={`found-${i}`} role="option" aria-selected={i === at} onPointerDown={(event) => { event.preventDefault(); pick(which); }}>
            <span class="kind">{which.kind}</span> {which.name}
          </li>
        ))}
      </ul>
      {text && !found.length && <p class="none" role="status">Nothing is called so.</p>}
    </div>
  );
}
