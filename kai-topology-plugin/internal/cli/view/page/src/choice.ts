// What is looked at. All of it is in the address behind #, so that a link shows the same.

export interface Choice {
  topology?: string;
  gang?: string;
  group?: string;
  node?: string;
  /** The path of a domain. */
  domain?: string;
  by: "gangs" | "use";
  page: "map" | "tables";
  table: "domains" | "nodes" | "gangs" | "pods" | "reservations";
}

/** What leads back to the start. */
export const nothing: Partial<Choice> = { gang: undefined, group: undefined, node: undefined, domain: undefined };

const texts = ["topology", "gang", "group", "node", "domain"] as const;

export function choiceOf(hash: string): Choice {
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  const choice: Choice = {
    by: asked.get("by") === "use" ? "use" : "gangs",
    page: asked.get("page") === "tables" ? "tables" : "map",
    table: (["nodes", "gangs", "pods", "reservations"] as const).find((table) => table === asked.get("table")) ?? "domains",
  };
  for (const name of texts) {
    const value = asked.get(name);
    if (value !== null) choice[name] = value;
  }
  return choice;
}

export function hashOf(choice: Choice): string {
  const said = new URLSearchParams();
  for (const name of texts) {
    const value = choice[name];
    if (value !== undefined) said.set(name, value);
  }
  if (choice.by !== "gangs") said.set("by", choice.by);
  if (choice.page !== "map") said.set("page", choice.page);
  if (choice.table !== "domains") said.set("table", choice.table);
  const text = said.toString();
  return text ? `#${text}` : "";
}
