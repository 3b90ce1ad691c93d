import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { clusterOf, key } from "./cluster";
import { choiceOf, hashOf, nothing, type Choice } from "./choice";
import { coloursFor, useColour } from "./colours";
import { Map as Picture } from "./map";
import { Panel } from "./panel";
import { Search } from "./search";
import { Tables } from "./tables";
import type { Overview } from "./model";
import type { Source } from "./source";

function useDark(): boolean {
  const asked = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
  const [dark, setDark] = useState(asked.matches);
  useEffect(() => {
    const changed = () => setDark(asked.matches);
    asked.addEventListener("change", changed);
    return () => asked.removeEventListener("change", changed);
  }, [asked]);
  return dark;
}

/** The choice, which is kept in the address. */
function useChoice(): [Choice, (change: Partial<Choice>) => void] {
  const [choice, setChoice] = useState(() => choiceOf(location.hash));
  useEffect(() => {
    const changed = () => setChoice(choiceOf(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  const choose = (change: Partial<Choice>) => {
    const next = { ...choiceOf(location.hash), ...change };
    const hash = hashOf(next);
    if (hash !== location.hash) {
      history.pushState(null, "", hash || location.pathname + location.search);
    }
    setChoice(next);
  };
  useEffect(() => {
    const changed = () => setChoice(choiceOf(location.hash));
    addEventListener("popstate", changed);
    return () => removeEventListener("popstate", changed);
  }, []);
  return [choice, choose];
}

// So long is waited until it is asked again what happened to a gang, and why it waits, however often the cluster changes.
const breaths = { history: 2000, explain: 500 };

/** What is said of something: asked when it is chosen, and again when the cluster has changed. Until more is known the last answer counts. */
function useAnswer<T>(of: string, changed: unknown, breath: number, ask: () => Promise<T>): T | undefined {
  const [told, setTold] = useState<{ of: string; at: number; said: T }>();
  const asked = useRef({ of: "", at: 0 });
  useEffect(() => {
    if (!of) return;
    const wait = asked.current.of === of ? Math.max(0, asked.current.at + breath - Date.now()) : 0;
    const timer = setTimeout(() => {
      const at = Date.now();
      asked.current = { of, at };
      // The cluster may change faster than answers come, and they are taken all the same: but none for a later one.
      ask().then((said) => setTold((last) => (last && last.of === of && last.at > at ? last : { of, at, said })), () => undefined);
    }, wait);
    return () => clearTimeout(timer);
  }, [of, changed]);
  return told && told.of === of ? told.said : undefined;
}

export function App({ source }: { source: Source }) {
  const [overview, setOverview] = useState<Overview>();
  const [state, setState] = useState({ text: "Reading…", live: false });
  const [choice, choose] = useChoice();
  const dark = useDark();

  useEffect(() => source.open(setOverview, (text, live) => setState({ text, live })), [source]);

  const chosen = overview?.gangs.find((gang) => key(gang) === choice.gang);
  const waits = chosen !== undefined && chosen.state !== "Runs";
  const [namespace = "", name = ""] = (choice.gang ?? "").split("/");
  const asking = (waits && choice.gang) || "";
  const said = useAnswer(asking, overview, breaths.explain, () => source.explain(namespace, name));

  const cluster = useMemo(() => {
    if (!overview) return undefined;
    const found = clusterOf(overview);
    const again = said && found.gangs.get(key(said));
    if (said && again) found.gangs.set(key(again), { ...again, decision: said.decision, behind: said.behind, remedies: said.remedies });
    return found;
  }, [overview, said]);

  const told = overview !== undefined && !overview.histories ? choice.gang : undefined;
  const history = useAnswer(told ?? "", overview, breaths.history, () =>
    source.history(namespace, name).catch((error: unknown) => (error instanceof Error ? error.message : String(error))),
  );

  const topologies = cluster?.overview.topologies ?? [];
  const topology = topologies.find(({ name }) => name === choice.topology) ?? topologies[0];
  const latest = useRef(choice);
  latest.current = choice;
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "/") document.getElementById("search")?.focus();
      else if (event.key === "Escape") choose(nothing);
      else if (event.key === "t") choose({ page: latest.current.page === "map" ? "tables" : "map" });
      else if (event.key === "c") choose({ by: latest.current.by === "gangs" ? "use" : "gangs" });
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);

  useEffect(() => {
    if (cluster) requestAnimationFrame(() => performance.mark("packtree:picture"));
  }, [cluster]);

  if (!cluster || !topology) return <main class="empty"><h1>Packtree</h1><p role="status">{state.text}</p></main>;
  const shared = { cluster, topology, choice, choose };
  return (
    <>
      <header>
        <h1>Packtree</h1>
        {topologies.length > 1 && (
          <label>Topology{" "}
            <select value={topology.name} onChange={(event) => choose({ topology: event.currentTarget.value, domain: undefined })}>
              {topologies.map(({ name }) => <option value={name}>{name}</option>)}
            </select>
          </label>
        )}
        <div role="group" aria-label="Show" class="switch">
          <button aria-pressed={choice.page === "map"} onClick={() => choose({ page: "map" })}>Map</button>
          <button aria-pressed={choice.page === "tables"} onClick={() => choose({ page: "tables" })}>Tables</button>
        </div>
        <div role="group" aria-label="Colour by" class="switch">
          <button aria-pressed={choice.by === "gangs"} onClick={() => choose({ by: "gangs" })}>Gangs</button>
          <button aria-pressed={choice.by === "use"} onClick={() => choose({ by: "use" })}>Use</button>
        </div>
        <Search {...shared} />
        <p class={state.live ? "state live" : "state"} role="status">{state.text}</p>
      </header>
      <main class={choice.page}>
        {choice.page === "map" ? <><Picture {...shared} dark={dark} /><Legend dark={dark} by={choice.by} kept={!!cluster.overview.reservations?.length} /></> : <Tables {...shared} />}
      </main>
      <aside aria-label="Details"><Panel {...shared} dark={dark} history={history} /></aside>
    </>
  );
}

function Legend({ dark, by, kept }: { dark: boolean; by: Choice["by"]; kept: boolean }) {
  const colours = coloursFor(dark);
  return (
    <ul class="legend" aria-label="Legend">
      {by === "gangs"
        ? <><li><i class="many" /> a colour for each gang</li><li><i style={{ background: colours.others }} /> other pods</li><li><i style={{ background: colours.level[1] }} /> free</li></>
        : <li><i class="wide" style={{ background: `linear-gradient(90deg, ${useColour(0, dark)}, ${useColour(1, dark)})` }} /> nothing to all used</li>}
      <li><i class="hatch" /> cordoned</li>
      <li><i class="cross" /> not ready</li>
      <li><i class="nearest" /> nearest domain</li>
      {kept && <li><i class="dotted" style={{ borderColor: colours.kept }} /> kept for a gang</li>}
      <li class="keys"><kbd>/</kbd> search <kbd>t</kbd> tables <kbd>c</kbd> colours <kbd>esc</kbd> back</li>
    </ul>
  );
}
