// Colours that people with any colour vision tell apart: Paul Tol's schemes "muted" on light ground and "light" on dark.

const muted = ["#4477aa", "#cc6677", "#117733", "#ddaa33", "#882255", "#44aa99", "#999933", "#aa4499", "#332288", "#88ccee"];
const light = ["#77aadd", "#ee8866", "#44bb99", "#eedd88", "#ffaabb", "#99ddff", "#bbcc33", "#c49bdc", "#aaaa00", "#dddddd"];

export interface Colours {
  dark: boolean;
  ground: string;
  level: string[];
  cell: string;
  line: string;
  text: string;
  quiet: string;
  others: string;
  bad: string;
  careful: string;
  chosen: string;
  kept: string;
}

const onLight: Colours = {
  dark: false, ground: "#f4f6f9", level: ["#f4f6f9", "#e9edf3", "#dde4ed", "#d1dae6"], cell: "#ffffff", line: "#c3cdda", text: "#16202c",
  quiet: "#516073", others: "#8a94a3", bad: "#b3261e", careful: "#8a5a00", chosen: "#0b57d0",
  kept: "#7b2d8e",
};
const onDark: Colours = {
  dark: true, ground: "#11151b", level: ["#11151b", "#191f28", "#212a36", "#2a3544"], cell: "#0b0e12", line: "#3a4757", text: "#e8edf3",
  quiet: "#a3b1c2", others: "#7d8896", bad: "#ff8a80", careful: "#f2c14e", chosen: "#8ab4f8",
  kept: "#d5a6f0",
};

export function coloursFor(dark: boolean): Colours {
  return dark ? onDark : onLight;
}

/** Gives each gang a colour of its own for as long as the page is open: neighbours on the map get different ones. */
export class Palette {
  private readonly given = new Map<string, number>();

  colour(gang: string, dark: boolean): string {
    let at = this.given.get(gang);
    if (at === undefined) {
      at = this.given.size;
      this.given.set(gang, at);
    }
    const scheme = dark ? light : muted;
    return scheme[at % scheme.length] as string;
  }
}

/** A colour for how much is used, from nothing to all: lighter is emptier, so that it reads without hues. */
export function useColour(share: number, dark: boolean): string {
  const [from, to] = dark ? [[38, 50, 66], [253, 231, 120]] : [[226, 236, 246], [8, 48, 107]];
  const mixed = (from as number[]).map((part, i) => Math.round(part + ((to as number[])[i]! - part) * Math.min(1, Math.max(0, share))));
  return `rgb(${mixed.join(",")})`;
}
