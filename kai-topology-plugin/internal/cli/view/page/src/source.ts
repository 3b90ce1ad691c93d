// Where the page has its data from: the file itself, or the server that it came from.

import type { Gang, History, Overview } from "./model";

export interface Source {
  /** Calls back with what is seen, again and again if it is live, and with whether it still is. */
  open(seen: (overview: Overview) => void, state: (text: string, live: boolean) => void): void;
  /** Why a gang waits, and what would help; undefined if nobody can be asked. */
  explain(namespace: string, name: string): Promise<Gang | undefined>;
  /** What happened to a gang; undefined if nobody can be asked. What is in the way is an error. */
  history(namespace: string, name: string): Promise<History | undefined>;
}

export function source(): Source {
  const embedded = document.getElementById("overview")?.textContent ?? "";
  return embedded.trim() ? file(embedded) : server();
}

function file(text: string): Source {
  return {
    open(seen, state) {
      seen(JSON.parse(text) as Overview);
      state(document.getElementById("overview")?.dataset.taken ?? "", false);
    },
    async explain() {
      return undefined;
    },
    async history() {
      return undefined;
    },
  };
}

function server(): Source {
  return {
    open(seen, state) {
      const events = new EventSource("events");
      const read = async () => {
        const response = await fetch("overview");
        if (!response.ok) throw new Error((await response.text()).trim());
        seen((await response.json()) as Overview);
      };
      // One request at a time: what changes meanwhile is in the next.
      let reading = false;
      let again = false;
      const changed = async () => {
        if (reading) {
          again = true;
          return;
        }
        reading = true;
        try {
          do {
            again = false;
            await read();
            state("live", true);
          } while (again);
        } catch (error) {
          state(error instanceof Error ? error.message : String(error), false);
        }
        reading = false;
      };
      events.addEventListener("overview", () => void changed());
      events.addEventListener("error", () => state("The connection is lost: is kubectl packtree view still running?", false));
      events.addEventListener("trouble", (event) => state((event as MessageEvent<string>).data, false));
    },
    async explain(namespace, name) {
      const response = await fetch(`explain?${new URLSearchParams({ namespace, name })}`);
      return response.ok ? ((await response.json()) as Gang) : undefined;
    },
    async history(namespace, name) {
      const response = await fetch(`history?${new URLSearchParams({ namespace, name })}`);
      if (!response.ok) throw new Error((await response.text()).trim());
      return (await response.json()) as History;
    },
  };
}
