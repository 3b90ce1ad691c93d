// The side of the map: what waits, or what is chosen.

import { amount, constraintsOf, counted, gangOf, keptText, key, stateOf, placementOf, ruleOf, sentenceOf, short, standsIn, topologyOf, withoutLabel, type Cluster } from "./cluster";
import { gangColour } from "./map";
import { nothing, type Choice } from "./choice";
import type { Domain, Gang, History, Pod, Reservation, Seat, SubGroup, Topology } from "./model";

interface Props {
  cluster: Cluster;
  topology: Topology;
  choice: Choice;
  dark: boolean;
  /** What was read of the events of the gang that is chosen, or why they could not be. */
  history?: History | string;
  choose(change: Partial<Choice>): void;
}

export function Panel(props: Props) {
  const { cluster, choice, choose } = props;
  const gang = choice.gang === undefined ? undefined : cluster.gangs.get(choice.gang);
  const chosen = choice.gang ?? choice.node ?? choice.domain;
  if (chosen === undefined) return <Start {...props} />;
  return (
    <>
      <button class="back" onClick={() => choose(nothing)}>← Overview</button>
      {choice.node !== undefined ? <NodeView {...props} name={choice.node} />
        : gang ? <GangView {...props} gang={gang} />
        : choice.gang !== undefined ? <p role="status">There is no gang {choice.gang} (any more).</p>
        : <DomainView {...props} path={choice.domain ?? ""} />}
    </>
  );
}

function Start(props: Props) {
  const { cluster, topology } = props;
  const { overview } = cluster;
  const waiting = overview.gangs.filter((gang) => gang.state !== "Runs");
  const running = overview.gangs.filter((gang) => gang.state === "Runs");
  const total = topology.cluster;
  return (
    <>
      <section>
        <h2>{topology.name ? `Topology ${topology.name}` : "Nodes"}</h2>
        <Amounts cluster={cluster} domain={total} />
        <p class="quiet">
          {counted(total.nodes, "node")}, {counted(overview.gangs.length, "gang")}, {counted(overview.pods.length, "pod")}
          {total.cordoned ? <span class="careful"> · {total.cordoned} cordoned</span> : null}
          {total.notReady ? <span class="bad"> · {total.notReady} not ready</span> : null}
        </p>
        {overview.notes.map((note) => <p class="note">{note}</p>)}
      </section>
      <section>
        <h2>Waiting <span class="count">{waiting.length}</span></h2>
        {waiting.length === 0 && <p class="quiet">Nothing waits.</p>}
        <ul class="cards">{waiting.slice(0, 200).map((gang) => <li><Card {...props} gang={gang} /></li>)}</ul>
        {waiting.length > 200 && <p class="quiet">and {waiting.length - 200} more: see the table of gangs</p>}
      </section>
      <Kept {...props} kept={overview.reservations} of="all" />
      <section>
        <h2>Running <span class="count">{running.length}</span></h2>
        <ul class="rows">
          {running.slice(0, 60).map((gang) => (
            <li><GangLink {...props} name={key(gang)} /> <span class="quiet">{counted(gang.scheduled, "pod")}</span></li>
          ))}
        </ul>
        {running.length > 60 && <p class="quiet">and {running.length - 60} more: see the table of gangs</p>}
      </section>
    </>
  );
}

function Card({ cluster, gang, choose }: Props & { gang: Gang }) {
  return (
    <button class="card" onClick={() => choose({ ...nothing, gang: key(gang), topology: topologyOf(cluster.overview, gang)?.name })}>
      <b>{key(gang)}</b> <Badge text={stateOf(cluster, gang)} />
      <span class="quiet">{counted(gang.pending + gang.gated, "pod")} without a node, {gang.scheduled} with one</span>
      <span>{sentenceOf(cluster, gang)}</span>
    </button>
  );
}

function Badge({ text }: { text: string }) {
  const kind = text === "Infeasible" || text === "Invalid" ? "bad" : text === "Runs" || text === "Fits" ? "good" : "careful";
  return <span class={`badge ${kind}`}>{text}</span>;
}

/** Used, free and out of service, as a bar with its numbers in words. */
function Amounts({ cluster, domain }: { cluster: Cluster; domain: Pick<Domain, "used" | "free" | "unavailable" | "total"> }) {
  const { resource } = cluster.overview;
  const said = (value: number) => amount(value, resource);
  const part = (value: number) => ({ width: `${domain.total ? (100 * value) / domain.total : 0}%` });
  return (
    <>
      <div class="bar" aria-hidden="true"><i class="used" style={part(domain.used)} /><i class="out" style={part(domain.unavailable)} /></div>
      <p>
        <b>{said(domain.used)}</b> of {said(domain.total)} {resource} used, {said(domain.free)} free
        {domain.unavailable ? `, ${said(domain.unavailable)} out of service` : ""}
      </p>
    </>
  );
}

function GangLink({ name, dark, choose, cluster }: Props & { name: string }) {
  const gang = cluster.gangs.get(name);
  if (!gang) return <span>{name}</span>;
  return (
    <button class="link" onClick={() => choose({ ...nothing, gang: name, topology: topologyOf(cluster.overview, gang)?.name })}>
      <i class="swatch" style={{ background: gangColour(name, dark) }} aria-hidden="true" />{name}
    </button>
  );
}

function NodeLink({ name, choose }: { name: string; choose: Props["choose"] }) {
  return <button class="link" onClick={() => choose({ ...nothing, node: name })}>{name}</button>;
}

function GangView(props: Props & { gang: Gang }) {
  const { cluster, gang, dark, choice } = props;
  const name = key(gang);
  const sentence = sentenceOf(cluster, gang);
  const pods = cluster.podsOfGang.get(name) ?? [];
  const nearest = gang.decision?.reasons?.filter((reason) => reason.domain) ?? [];
  return (
    <>
      <section>
        <h2><i class="swatch" style={{ background: gangColour(name, dark) }} aria-hidden="true" />Gang {name}</h2>
        <p>
          <Badge text={stateOf(cluster, gang)} />{" "}
          {counted(gang.scheduled, "pod")} on nodes, {gang.pending} without{gang.gated ? `, ${gang.gated} gated` : ""}
          {gang.priority ? `, priority ${gang.priority}` : ""}
        </p>
        {sentence && <p class="sentence">{sentence}</p>}
        {gang.repair && <p><span class="quiet">Repair:</span> {gang.repair}.</p>}
        {gang.placement && <p><span class="quiet">Placed</span> {placementOf(gang)}.</p>}
        {nearest.map((reason) => (
          <p class="careful">Nearest: {reason.level ? short(reason.level) : "cluster"} {reason.domain}, {reason.fit} of {reason.wanted} pods fit there.</p>
        ))}
        {!!gang.behind?.length && <p>It goes behind {gang.behind.join(", ")}.</p>}
      </section>
      {!!gang.remedies?.length && (
        <section>
          <h3>What would help</h3>
          <ul class="plain">
            {gang.remedies.map((remedy) => (
              <li><Tick holds={remedy.fits} yes="makes it fit:" no="is not enough:" /> {remedy.change}</li>
            ))}
          </ul>
        </section>
      )}
      <section><h3>Groups</h3><Groups {...props} /></section>
      <Relations {...props} name={name} />
      <Seats {...props} seats={cluster.seatsOfGang.get(name)} of="gang" />
      <Kept {...props} kept={cluster.reservations.ofGang.get(name)} of="gang" />
      <Events history={cluster.historyOfGang.get(name) ?? props.history} />
      <section>
        <h3>Pods{choice.group ? ` of ${choice.group}` : ""}</h3>
        <Pods {...props} pods={pods.filter((pod) => !choice.group || pod.subGroup === choice.group)} of="gang" />
      </section>
    </>
  );
}

function Relations({ cluster, name }: Props & { name: string }) {
  const relations = cluster.relationsOfGang.get(name);
  if (!relations) return null;
  return (
    <section>
      <h3>Relations</h3>
      <ul class="plain">
        {relations.map((relation) => (
          <li><Tick holds={!relation.lacks} yes="holds:" no="does not hold:" /> <b>{relation.name}</b> {ruleOf(relation)}</li>
        ))}
      </ul>
    </section>
  );
}

/** Room that others have to leave to gangs that wait: to one gang, in one place, or all of it. */
function Kept(props: Props & { kept: Reservation[] | undefined; of: "gang" | "place" | "all" }) {
  const { kept, of } = props;
  if (!kept?.length) return null;
  const Heading = of === "all" ? "h2" : "h3";
  return (
    <section class="kept">
      <Heading>{of === "gang" ? "Room that is kept for it" : of === "place" ? "Kept for" : <>Reservations <span class="count">{kept.length}</span></>}</Heading>
      <ul class="plain">
        {kept.slice(0, 60).map((one) => <li>{of !== "gang" && <><GangLink {...props} name={gangOf(one)} />: </>}{keptText(one)}</li>)}
      </ul>
      {kept.length > 60 && <p class="quiet">and {kept.length - 60} more: see the table of reservations</p>}
    </section>
  );
}

/** Room that is held for successors of pods, of one gang or on one node. */
function Seats(props: Props & { seats: Seat[] | undefined; of: "gang" | "node" }) {
  const { seats, of } = props;
  if (!seats) return null;
  return (
    <section>
      <h3>Seats held for successors</h3>
      <table>
        <thead><tr><th scope="col">{of === "gang" ? "Node" : "Gang"}</th><th scope="col">Group</th><th scope="col">Until, at the latest</th></tr></thead>
        <tbody>
          {seats.slice(0, 300).map((seat) => (
            <tr>
              <th scope="row">{of === "gang" ? <NodeLink name={seat.node} choose={props.choose} /> : <GangLink {...props} name={gangOf(seat)} />}</th>
              <td>{seat.subGroup || "the gang"}</td>
              <td>{seat.until ?? "its pod is on its way out"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {seats.length > 300 && <p class="quiet">and {seats.length - 300} more</p>}
    </section>
  );
}

/** What happened to a gang, in the order in which it did. */
function Events({ history }: { history: History | string | undefined }) {
  if (history === undefined) return null;
  if (typeof history === "string") return <section><h3>History</h3><p class="careful">{history}</p></section>;
  return (
    <section>
      <h3>History</h3>
      {!history.events.length && <p class="quiet">There are no events of it. Clusters keep them for an hour, unless they are told otherwise.</p>}
      {!!history.earlier && <p class="quiet">{counted(history.earlier, "earlier event")} left out.</p>}
      <ol class="events">
        {history.events.map((event) => (
          <li>
            <time dateTime={event.last}>{timeOf(event.last)}</time>{" "}
            <b class={event.warning ? "careful" : ""}>{event.reason}</b>
            {event.warning && <span class="unseen"> (warning)</span>}{" "}
            <span class="quiet">{event.kind} {event.name}{event.count > 1 ? `, ${event.count} times` : ""}{event.first ? ` since ${timeOf(event.first)}` : ""}</span>
            {event.note && <div>{event.note}</div>}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** A moment as the cluster writes it, which is the same for everybody who looks. */
function timeOf(at: string): string {
  return at.replace("T", " ").replace(/(\.\d+)?Z$/, " UTC");
}

function Tick({ holds, yes, no }: { holds: boolean; yes: string; no: string }) {
  return <span class={holds ? "good" : "bad"}><span aria-hidden="true">{holds ? "✓" : "✗"}</span><span class="unseen">{holds ? yes : no}</span></span>;
}

function Groups({ cluster, gang, choice, choose }: Props & { gang: Gang }) {
  const levels = topologyOf(cluster.overview, gang)?.levels ?? [];
  const leaves = new Set((cluster.podsOfGang.get(key(gang)) ?? []).map((pod) => pod.subGroup));
  return (
    <ul class="groups">
      {gang.subGroups.map((group) => (
        <li class={`depth${Math.min(group.depth, 4)}`}>
          <div>
            {group.name && leaves.has(group.name)
              ? <button class="link" aria-pressed={choice.group === group.name} onClick={() => choose({ group: choice.group === group.name ? undefined : group.name })}>{group.name}</button>
              : <b>{group.name || "the gang"}</b>}{" "}
            <span class={group.scheduled < group.minimum ? "bad" : "quiet"}>{group.scheduled} of {group.minimum} needed</span>
          </div>
          <Constraints group={group} />
          {standsIn(group, levels) && <div class="quiet">in {standsIn(group, levels)}</div>}
        </li>
      ))}
    </ul>
  );
}

function Constraints({ group }: { group: SubGroup }) {
  return (
    <>
      {constraintsOf(group).map(({ text, holds }) => (
        <div>{holds === undefined ? <span class="quiet" aria-hidden="true">·</span> : <Tick holds={holds} yes="holds:" no="does not hold:" />} {text}</div>
      ))}
    </>
  );
}

function NodeView(props: Props & { name: string }) {
  const { cluster, name } = props;
  const node = cluster.nodes.get(name);
  if (!node) return <p role="status">There is no node {name} (any more).</p>;
  const resource = cluster.overview.resource;
  return (
    <>
      <section>
        <h2>Node {name}</h2>
        <p>
          {node.cordoned && <Badge text="Cordoned" />} {node.notReady && <span class="badge bad">Not ready</span>}
          {node.taints?.map((taint) => <span class="note">taint {taint} </span>)}
        </p>
        <table>
          <thead><tr><th scope="col">Resource</th><th scope="col" class="number">Used</th><th scope="col" class="number">Of</th></tr></thead>
          <tbody>
            {Object.entries(node.resources).sort(([a], [b]) => Number(b === resource) - Number(a === resource)).map(([of, stock]) => (
              <tr><th scope="row">{of}</th><td class="number">{amount(stock.used, of)}</td><td class="number">{amount(stock.total, of)}</td></tr>
            ))}
          </tbody>
        </table>
      </section>
      <Zones {...props} node={name} />
      <section><h3>Pods</h3><Pods {...props} pods={cluster.podsOnNode.get(name) ?? []} of="node" /></section>
      <Seats {...props} seats={cluster.seatsOnNode.get(name)} of="node" />
      <Kept {...props} kept={cluster.reservations.onNode.get(name)} of="place" />
    </>
  );
}

/** What is used of the NUMA zones of a node. */
function Zones({ cluster, topology, node }: Props & { node: string }) {
  const zones = zonesOf(topology.cluster, node);
  if (!zones?.length) return null;
  const resource = cluster.overview.resource;
  return (
    <section>
      <h3>NUMA zones</h3>
      <table>
        <thead><tr><th scope="col">{short(resource)} in</th><th scope="col" class="number">Used</th><th scope="col" class="number">Of</th></tr></thead>
        <tbody>
          {zones.map((zone) => (
            <tr><th scope="row">{zone.name}</th><td class="number">{amount(zone.used, resource)}</td><td class="number">{amount(zone.total, resource)}</td></tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function zonesOf(domain: Domain, node: string): Domain[] | undefined {
  if (domain.zones && domain.name === node) return domain.zones;
  for (const below of domain.domains ?? []) {
    const found = zonesOf(below, node);
    if (found) return found;
  }
  return undefined;
}

function Pods(props: Props & { pods: Pod[]; of: "node" | "gang" }) {
  const { cluster, pods, of, choose } = props;
  const resource = cluster.overview.resource;
  if (!pods.length) return <p class="quiet">None.</p>;
  return (
    <table>
      <thead><tr><th scope="col">Pod</th><th scope="col">{of === "node" ? "Gang" : "Node"}</th><th scope="col" class="number">{short(resource)}</th></tr></thead>
      <tbody>
        {pods.slice(0, 300).map((pod) => (
          <tr>
            <th scope="row">{of === "node" ? `${pod.namespace}/${pod.name}` : pod.name}{pod.leaving && <span class="careful"> leaving</span>}</th>
            <td>{of === "gang" ? (pod.node ? <NodeLink name={pod.node} choose={choose} /> : <span class="careful">{pod.gated ? "gated" : "waits"}</span>)
              : pod.gang ? <GangLink {...props} name={gangOf(pod)} /> : <span class="quiet">none ({pod.scheduler || "its scheduler is not known"})</span>}
            </td>
            <td class="number">{amount(pod.amount, resource)}</td>
          </tr>
        ))}
        {pods.length > 300 && <tr><td colSpan={3}>and {pods.length - 300} more: see the table of pods</td></tr>}
      </tbody>
    </table>
  );
}

function DomainView(props: Props & { path: string }) {
  const { cluster, topology, path } = props;
  const domain = find(topology.cluster, path);
  if (!domain) return <p role="status">Topology {topology.name} has no domain {path} (any more).</p>;
  const gangs = new Map<string, number>();
  let others = 0;
  for (const node of nodesOf(domain)) {
    for (const pod of cluster.podsOnNode.get(node) ?? []) {
      if (pod.gang) gangs.set(gangOf(pod), (gangs.get(gangOf(pod)) ?? 0) + pod.amount);
      else others++;
    }
  }
  return (
    <>
      <section>
        <h2>{domain.name ? `${short(domain.level ?? "")} ${path}` : `Without label ${domain.level}`}</h2>
        <Amounts cluster={cluster} domain={domain} />
        <p class="quiet">
          {counted(domain.nodes, "node")}
          {domain.cordoned ? <span class="careful"> · {domain.cordoned} cordoned</span> : null}
          {domain.notReady ? <span class="bad"> · {domain.notReady} not ready</span> : null}
        </p>
      </section>
      <section>
        <h3>Stands here</h3>
        <ul class="rows">
          {[...gangs].sort(([, a], [, b]) => b - a).slice(0, 200).map(([name, used]) => (
            <li><GangLink {...props} name={name} /> <span class="quiet">{amount(used, cluster.overview.resource)}</span></li>
          ))}
          {others > 0 && <li class="quiet">{counted(others, "pod")} without a gang</li>}
          {gangs.size + others === 0 && <li class="quiet">Nothing.</li>}
        </ul>
      </section>
    </>
  );
}

function find(domain: Domain, path: string): Domain | undefined {
  if (domain.path === path) return domain;
  if (domain.unlabelled && path === withoutLabel(domain)) return domain.unlabelled;
  for (const below of domain.domains ?? []) {
    const found = find(below, path);
    if (found) return found;
  }
  return undefined;
}

function nodesOf(domain: Domain): string[] {
  if (domain.nodeNames) return domain.nodeNames;
  const below = [...(domain.domains ?? []), ...(domain.unlabelled ? [domain.unlabelled] : [])];
  return below.length ? below.flatMap(nodesOf) : [domain.name ?? ""];
}
