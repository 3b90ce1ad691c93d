// What the failure of a node or a domain would do to gangs, and the nodes that have to stay empty: asked, since it takes a while.

import { counted, short } from "./cluster";
import { nothing, type Choice } from "./choice";
import type { Failure, Repairability } from "./model";

/** What was asked about failures, and how to ask. */
export interface Asking {
  told?: Repairability;
  busy: boolean;
  wrong?: string;
  ask(): void;
  close(): void;
}

const hostname = "kubernetes.io/hostname";
const most = 60;

export function Failures({ told, busy, wrong, ask, close, choose }: Asking & { choose(change: Partial<Choice>): void }) {
  if (!told) {
    return (
      <section class="failures">
        <h2>Failures and spares</h2>
        <button aria-disabled={busy} onClick={() => !busy && ask()}>{busy ? "Foretelling…" : "What would failures do?"}</button>
        {wrong && <p class="bad" role="alert">{wrong}</p>}
      </section>
    );
  }
  const levels = [...new Set(told.failures.map((failure) => failure.level))];
  const hard = told.failures.filter((failure) => failure.lost?.length || failure.mendedByMoving?.length);
  return (
    <section class="failures" aria-label="Failures and spares">
      <h2>Failures and spares</h2>
      <p class="quiet" role="status">Each node and domain failed on a copy of the cluster, as it was when this was asked. <button class="link" onClick={close}>Close</button></p>
      <table>
        <thead><tr><th scope="col">If one fails</th><th scope="col" class="number">of</th><th scope="col" class="number">lose gangs</th><th scope="col" class="number">move pods</th><th scope="col" class="number">spares</th></tr></thead>
        <tbody>
          {levels.map((level) => {
            const those = told.failures.filter((failure) => failure.level === level);
            const lose = those.filter((failure) => failure.lost?.length).length;
            const move = those.filter((failure) => !failure.lost?.length && failure.mendedByMoving?.length).length;
            const spares = Object.values(told.spares[level] ?? {}).reduce((sum, count) => sum + count, 0);
            return <tr><th scope="row">{short(level)}</th><td class="number">{those.length}</td><td class={lose ? "number bad" : "number"}>{lose}</td><td class={move ? "number careful" : "number"}>{move}</td><td class="number">{spares}</td></tr>;
          })}
        </tbody>
      </table>
      <h3>Spares</h3>
      <Spares told={told} levels={levels} choose={choose} />
      {hard.length > 0 && <h3>What is not mended in place</h3>}
      <ul class="plain">{hard.slice(0, most).map((failure) => <li><b>{short(failure.level)} {failure.domain}</b>: {outcome(failure)}</li>)}</ul>
      {hard.length > most && <p class="quiet">and {hard.length - most} more: kubectl packtree repairability has all</p>}
    </section>
  );
}

function Spares({ told, levels, choose }: { told: Repairability; levels: string[]; choose(change: Partial<Choice>): void }) {
  const nodes = told.spareNodes ?? [];
  if (!nodes.length) return <p class="quiet">No node has to stay empty.</p>;
  const around = levels.filter((level) => level !== hostname).map((level) =>
    Object.entries(told.spares[level] ?? {}).map(([domain, count]) => `${short(level)} ${domain} ${count}`).join(", "));
  return (
    <>
      <p>{counted(nodes.length, "node")} would have to stay empty so that the failure of any one node is mended as it would be now:</p>
      <ul class="plain">{nodes.slice(0, most).map((name) => <li><button class="link" onClick={() => choose({ ...nothing, node: name })}>{name}</button></li>)}</ul>
      {around.filter(Boolean).map((text) => <p class="quiet">{text}</p>)}
    </>
  );
}

function outcome({ lost, mendedByMoving }: Failure): string {
  const moves = (mendedByMoving ?? []).map(({ gang, subGroup, pods }) => `moves ${subGroup || "all"} of ${gang} (${counted(pods, "pod")} that would stay)`);
  return [...(lost ?? []).map((gang) => `loses ${gang}`), ...moves].join(", ");
}
