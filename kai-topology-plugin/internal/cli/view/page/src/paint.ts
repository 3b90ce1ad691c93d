// Draws the map on a canvas. What is outside the canvas is not drawn, and what is the same colour is drawn at once.

import { amount, gangOf, short, type Cluster } from "./cluster";
import { useColour, type Colours, type Palette } from "./colours";
import { headerHeight, type Box } from "./layout";

export interface View {
  /** A point of the layout is drawn at k times itself plus (x, y). */
  k: number;
  x: number;
  y: number;
}

export interface Scene {
  cluster: Cluster;
  root: Box;
  view: View;
  width: number;
  height: number;
  colours: Colours;
  palette: Palette;
  by: "gangs" | "use";
  /** The key of the gang that is chosen; everything else is drawn faintly. */
  gang?: string;
  /** The group of it whose pods alone are meant. */
  group?: string;
  node?: string;
  /** Paths of domains with a mark: the one that is chosen, and those nearest to what a gang needs. */
  domain?: string;
  nearest: Set<string>;
  /** The path of the box that the keyboard is on. */
  cursor?: string;
}

/** Where a box is: the path of its domain, or of the domain whose nodes lack a label. */
export function pathOf(box: Box): string {
  return box.data.domain.path ?? `${box.parent ? pathOf(box.parent) : ""}/${box.data.title}`;
}

// So many devices of a node are drawn one by one.
const mostSeats = 16;

class Batches {
  private readonly rects = new Map<string, number[]>();

  add(colour: string, x: number, y: number, w: number, h: number): void {
    const there = this.rects.get(colour);
    if (!there) {
      this.rects.set(colour, [x, y, w, h]);
      return;
    }
    // What continues the last one in its row makes it longer.
    const last = there.length - 4;
    if (there[last + 1] === y && there[last + 3] === h && Math.abs((there[last] as number) + (there[last + 2] as number) - x) < 0.01) {
      there[last + 2] = (there[last + 2] as number) + w;
    } else {
      there.push(x, y, w, h);
    }
  }

  fill(context: CanvasRenderingContext2D): void {
    for (const [colour, rects] of this.rects) {
      context.fillStyle = colour;
      for (let i = 0; i < rects.length; i += 4) {
        context.fillRect(rects[i] as number, rects[i + 1] as number, rects[i + 2] as number, rects[i + 3] as number);
      }
    }
  }
}

interface Text {
  text: string;
  x: number;
  y: number;
  size: number;
  colour: string;
  right?: boolean;
  bold?: boolean;
}

interface Rect {
  x: number;
  y: number;
  w: number;
  h: number;
}

class Painting {
  readonly domains = new Batches();
  readonly cells = new Batches();
  readonly faint = new Batches();
  readonly texts: Text[] = [];
  readonly hatched: Rect[] = [];
  readonly crossed: Rect[] = [];
  readonly outlined: { rect: Rect; colour: string; width: number; dash: number[] }[] = [];

  constructor(
    readonly scene: Scene,
    readonly context: CanvasRenderingContext2D,
  ) {}

  rect(box: Box): Rect {
    const { k, x, y } = this.scene.view;
    return { x: box.x0 * k + x, y: box.y0 * k + y, w: (box.x1 - box.x0) * k, h: (box.y1 - box.y0) * k };
  }

  /** Draws a box and what is in it. */
  visit(box: Box): void {
    const rect = this.rect(box);
    if (rect.x > this.scene.width || rect.y > this.scene.height || rect.x + rect.w < 0 || rect.y + rect.h < 0) return;
    if (box.data.node === undefined) this.domain(box, rect);
    else this.node(box, rect, box.data.node);
    for (const child of box.children ?? []) this.visit(child);
    this.marks(box, rect);
  }

  private marks(box: Box, rect: Rect): void {
    const { scene } = this;
    const path = pathOf(box);
    const mark = (colour: string, width: number, dash: number[] = []) => this.outlined.push({ rect, colour, width, dash });
    if (box.depth > 0 && this.kept(box)) mark(scene.colours.kept, 3, [2, 3]);
    if (scene.nearest.has(path)) mark(scene.colours.careful, 3, [7, 4]);
    if (box.depth > 0 && scene.domain === path) mark(scene.colours.chosen, 3);
    if (box.data.node !== undefined && scene.node === box.data.node) mark(scene.colours.chosen, 3);
    if (scene.cursor === path) mark(scene.colours.text, 2, [3, 3]);
  }

  /** Whether room is kept there for a gang. */
  private kept({ data: { node } }: Box): boolean {
    return node !== undefined && this.scene.cluster.reservations.onNode.has(node);
  }

  private domain(box: Box, rect: Rect): void {
    const { colours, cluster, view } = this.scene;
    this.domains.add(colours.level[Math.min(box.depth, colours.level.length - 1)] as string, rect.x, rect.y, rect.w, rect.h);
    const first = box.children?.[0];
    const header = (first ? (first.y0 - box.y0) * view.k : rect.h) - 1;
    if (box.depth === 0 || header < headerHeight * 0.6 || rect.w < 26) return;
    const size = Math.min(13, Math.max(10, header * 0.7));
    const y = rect.y + Math.min(header, headerHeight * 1.4) / 2 + 1;
    const { domain, title } = box.data;
    const named = domain.level && domain.name && !title.startsWith(short(domain.level));
    const level = named ? `${short(domain.level as string)} ` : "";
    const left = Math.max(rect.x, 0) + 5;
    const right = Math.min(rect.x + rect.w, this.scene.width) - 5;
    const used = `${amount(domain.used, cluster.overview.resource)}/${amount(domain.total, cluster.overview.resource)}`;
    const room = right - left;
    const full = this.measure(level + title, size, true);
    const name = full + 4 < room ? level + title : title;
    this.texts.push({ text: this.fit(name, size, room, true), x: left, y, size, colour: colours.text, bold: true });
    const beside = room - this.measure(name, size, true) - 10;
    if (this.measure(used, size) < beside) {
      this.texts.push({ text: used, x: right, y, size, colour: colours.quiet, right: true });
    }
  }

  private measure(text: string, size: number, bold = false): number {
    return text.length * size * (bold ? 0.6 : 0.56);
  }

  private fit(text: string, size: number, room: number, bold = false): string {
    const most = Math.floor(room / (size * (bold ? 0.6 : 0.56)));
    return text.length <= most ? text : most < 2 ? "" : `${text.slice(0, most - 1)}…`;
  }

  private node(box: Box, rect: Rect, name: string): void {
    const { scene } = this;
    const seen = scene.cluster.nodes.get(name);
    this.cells.add(scene.colours.cell, rect.x, rect.y, rect.w, rect.h);
    let top = 0;
    if (rect.w > 54 && rect.h > 34) {
      top = 14;
      this.texts.push({ text: this.fit(name, 10.5, rect.w - 6), x: rect.x + 3, y: rect.y + 8, size: 10.5, colour: scene.colours.quiet });
    }
    const edge = Math.min(rect.w, rect.h) > 12 ? 1 : 0;
    const inner = { x: rect.x + edge, y: rect.y + edge + top, w: rect.w - 2 * edge, h: rect.h - 2 * edge - top };
    if (inner.w <= 0.5 || inner.h <= 0.5) return;
    const { used, total } = box.data.domain;
    if (scene.by === "use" && !scene.gang) {
      if (total > 0) this.cells.add(useColour(used / total, scene.colours.dark), inner.x, inner.y, inner.w, inner.h);
    } else {
      this.seats(inner, name, total);
    }
    if (seen?.notReady) this.crossed.push(rect);
    else if (seen?.cordoned) this.hatched.push(rect);
  }

  /** The devices of a node: one by one if there are few, else as parts of the whole. */
  private seats(rect: Rect, node: string, total: number): void {
    const pods = this.scene.cluster.podsOnNode.get(node) ?? [];
    const seats = Number.isInteger(total) && total > 0 && total <= mostSeats ? total : 0;
    const columns = seats ? bestColumns(seats, rect.w, rect.h) : 1;
    const rows = seats ? Math.ceil(seats / columns) : 1;
    const w = rect.w / columns;
    const h = rect.h / rows;
    // Where gaps would be all that is seen, free seats are one rectangle, and so are those of a pod in a row.
    const gap = Math.min(w, h) > 5 ? 1 : 0;
    const free = this.scene.colours.level[1] as string;
    if (seats && !gap) {
      this.cells.add(free, rect.x, rect.y, rect.w, rect.h);
    } else if (seats) {
      for (let i = 0; i < seats; i++) {
        const x = rect.x + (i % columns) * w;
        this.cells.add(free, x, rect.y + Math.floor(i / columns) * h, w - gap, h - gap);
      }
    }
    let at = 0;
    for (const pod of pods) {
      if (pod.amount <= 0 || total <= 0) continue;
      const [batch, colour] = this.colourOf(gangOf(pod), pod.subGroup);
      if (!seats) {
        const wide = (rect.w * pod.amount) / total;
        batch.add(colour, rect.x + at, rect.y, Math.max(0.5, wide - (wide > 4 ? 0.7 : 0)), rect.h);
        at += wide;
        continue;
      }
      // Seats in one row that have no gap between them are one rectangle.
      const end = Math.min(seats, at + Math.ceil(pod.amount));
      while (at < end) {
        const column = at % columns;
        const many = gap ? 1 : Math.min(columns - column, end - at);
        batch.add(colour, rect.x + column * w, rect.y + Math.floor(at / columns) * h, many * w - gap, h - gap);
        at += many;
      }
    }
  }

  private colourOf(gang: string, group = ""): [Batches, string] {
    const { scene } = this;
    const colour = gang ? scene.palette.colour(gang, scene.colours.dark) : scene.colours.others;
    if (!scene.gang) return [this.cells, colour];
    const meant = scene.gang === gang && (!scene.group || scene.group === group);
    return [meant ? this.cells : this.faint, colour];
  }

  finish(): void {
    const { context, scene } = this;
    this.domains.fill(context);
    this.cells.fill(context);
    context.globalAlpha = 0.16;
    this.faint.fill(context);
    context.globalAlpha = 1;
    this.lines(this.hatched, scene.colours.careful, hatch);
    this.lines(this.crossed, scene.colours.bad, cross);
    context.textBaseline = "middle";
    for (const { text, x, y, size, colour, right, bold } of this.texts) {
      context.font = `${bold ? "600 " : ""}${size}px ui-sans-serif, system-ui, sans-serif`;
      context.fillStyle = colour;
      context.textAlign = right ? "right" : "left";
      context.fillText(text, x, y);
    }
    for (const { rect, colour, width, dash } of this.outlined) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.setLineDash(dash);
      context.strokeRect(rect.x - width / 2, rect.y - width / 2, rect.w + width, rect.h + width);
    }
    context.setLineDash([]);
  }

  private lines(rects: Rect[], colour: string, draw: (context: CanvasRenderingContext2D, rect: Rect) => void): void {
    const { context } = this;
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.beginPath();
    for (const rect of rects) {
      context.rect(rect.x + 0.75, rect.y + 0.75, Math.max(0, rect.w - 1.5), Math.max(0, rect.h - 1.5));
      draw(context, rect);
    }
    context.stroke();
  }
}

function hatch(context: CanvasRenderingContext2D, { x, y, w, h }: Rect): void {
  const step = Math.max(6, Math.min(w, h) / 3);
  for (let d = step; d < w + h; d += step) {
    context.moveTo(x + Math.min(d, w), y + Math.max(0, d - w));
    context.lineTo(x + Math.max(0, d - h), y + Math.min(d, h));
  }
}

function cross(context: CanvasRenderingContext2D, { x, y, w, h }: Rect): void {
  context.moveTo(x, y);
  context.lineTo(x + w, y + h);
  context.moveTo(x + w, y);
  context.lineTo(x, y + h);
}

function bestColumns(seats: number, width: number, height: number): number {
  let best = 1;
  let least = Infinity;
  for (let columns = 1; columns <= seats; columns++) {
    if (seats % columns) continue;
    const bad = Math.abs(Math.log(width / columns / (height / (seats / columns))));
    if (bad < least) [best, least] = [columns, bad];
  }
  return best;
}

export function paint(context: CanvasRenderingContext2D, scene: Scene, ratio: number): void {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = scene.colours.ground;
  context.fillRect(0, 0, scene.width, scene.height);
  const painting = new Painting(scene, context);
  painting.visit(scene.root);
  painting.finish();
}
