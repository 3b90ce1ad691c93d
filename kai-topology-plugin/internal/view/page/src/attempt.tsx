// What if: manifests of a file are tried, and the page shows the cluster as it would be with them.

import { useEffect, useRef, useState } from "preact/hooks";
import { counted, key } from "./cluster";
import { nothing, type Choice } from "./choice";
import type { Attempt } from "./model";

// A file that is larger is refused by the server as well.
const largest = 8 << 20;

interface Trying {
  tryOut(file: File): Promise<Attempt>;
  took(file: string, said: Attempt): void;
}

/** The button for a file with manifests, which can also be dropped anywhere on the page. */
export function TryOut({ tryOut, took }: Trying) {
  const input = useRef<HTMLInputElement>(null);
  const [state, setState] = useState<{ busy?: string; wrong?: string }>({});
  const [over, setOver] = useState(false);
  const busy = useRef(false);
  const tryFile = async (file: File) => {
    if (busy.current) return;
    if (file.size > largest) {
      setState({ wrong: `${file.name} has more than ${largest >> 20} MiB` });
      return;
    }
    busy.current = true;
    setState({ busy: file.name });
    try {
      const said = await tryOut(file);
      setState({});
      took(file.name, said);
    } catch (error) {
      setState({ wrong: error instanceof Error ? error.message : String(error) });
    }
    busy.current = false;
  };
  const latest = useRef(tryFile);
  latest.current = tryFile;

  useEffect(() => {
    const files = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const drag = (event: DragEvent) => {
      if (!files(event)) return;
      event.preventDefault();
      setOver(event.type === "dragover");
    };
    const leave = (event: DragEvent) => {
      if (!event.relatedTarget) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (!files(event)) return;
      event.preventDefault();
      setOver(false);
      const file = event.dataTransfer?.files[0];
      if (file) void latest.current(file);
    };
    addEventListener("dragover", drag);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", drag);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, []);

  return (
    <>
      <button class="try" aria-disabled={!!state.busy} onClick={() => input.current?.click()}>What if…</button>
      <input
        ref={input} type="file" id="manifests" class="unseen" tabIndex={-1} aria-label="A file with manifests" accept=".yaml,.yml,.json"
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file) void tryFile(file);
          event.currentTarget.value = ""; // So that the same file can be chosen again.
        }}
      />
      {over && <p class="drop">Drop a file with manifests: what if they were applied?</p>}
      {(state.busy || state.wrong) && (
        <div class="tried" role={state.wrong ? "alert" : "status"}>
          {state.busy ? `Trying ${state.busy}…` : <><b>Not tried</b> <span class="lines">{state.wrong}</span> <button onClick={() => setState({})}>Close</button></>}
        </div>
      )}
    </>
  );
}

interface Shown {
  file: string;
  said: Attempt;
  choose(change: Partial<Choice>): void;
  back(): void;
}

/** Says what would become of manifests, above the cluster as it would be with them. */
export function Attempted({ file, said, choose, back }: Shown) {
  return (
    <section class="attempt" aria-label="What if">
      <div>
        <h2>What if <i>{file}</i> were applied?</h2>
        <button onClick={back}>Back to the cluster</button>
      </div>
      <div role="status"><ul class="plain">
        {said.podGroups.slice(0, 20).map((group) => (
          <li>
            <button class="link" onClick={() => choose({ ...nothing, gang: key(group) })}>{key(group)}</button>{" "}
            <b class={group.verdict === "Placed" ? "good" : "bad"}>{group.verdict}</b>,{" "}
            {counted(Object.keys(group.assignments).length, "pod")} given a node{group.message && `: ${group.message}`}
          </li>
        ))}
        {said.podGroups.length > 20 && <li class="quiet">and {said.podGroups.length - 20} more</li>}
      </ul></div>
      {said.decidedFirst.length > 0 && <p class="quiet">These gangs of the cluster wait and rank higher, so they were decided first: {said.decidedFirst.join(", ")}</p>}
      {said.notes.map((note) => <p class="note">{note}</p>)}
      <p class="quiet">Nothing was written. The map shows the cluster as it was read when the file was tried, with these pods on their nodes.</p>
    </section>
  );
}
