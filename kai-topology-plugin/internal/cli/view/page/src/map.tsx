// The map: a canvas that is zoomed and moved with mouse, touch pad and keyboard. All that it shows is in the tables too.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { amount, counted, key, short, type Cluster } from "./cluster";
import { coloursFor, Palette } from "./colours";
import { boxAt, layout, placesOf, type Box } from "./layout";
import type { Topology } from "./model";
import { paint, pathOf, type View } from "./paint";
import { Bitmaps } from "./bitmaps";
import type { Choice } from "./choice";

const whole: View = { k: 1, x: 0, y: 0 };
const most = 60;
// So long after the last turn of the wheel the map is drawn sharply again, if that takes its time.
const rest = 120;
const palette = new Palette();

export function gangColour(gang: string, dark: boolean): string {
  return palette.colour(gang, dark);
}

interface Props {
  cluster: Cluster;
  topology: Topology;
  choice: Choice;
  dark: boolean;
  choose(change: Partial<Choice>): void;
}

export function Map(props: Props) {
  const { cluster, topology, choice, dark, choose } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [view, setView] = useState(whole);
  const [hovered, setHovered] = useState<{ box: Box; x: number; y: number }>();
  const [cursor, setCursor] = useState<string>();
  const bitmaps = useRef(new Bitmaps());
  const [settled, setSettled] = useState(0);
  const drag = useRef<{ x: number; y: number; moved: boolean } | undefined>(undefined);

  useLayoutEffect(() => {
    const element = canvas.current!.parentElement!;
    const measure = () => setSize({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  const root = useMemo(() => layout(placesOf(cluster, topology), size.width, size.height), [cluster, topology, size]);
  const boxes = useMemo(() => root.descendants(), [root]);
  const nearest = useMemo(() => nearestOf(cluster, choice), [cluster, choice]);

  const domain = choice.domain;
  // Before anybody sees it: whoever is quick and asks for all of it, sees all of it.
  useLayoutEffect(() => {
    const box = domain === undefined ? undefined : boxes.find((b) => pathOf(b) === domain);
    if (box) setView(fitted(box, size));
  }, [domain, size.width === 0]);

  useLayoutEffect(() => {
    const element = canvas.current!;
    const ratio = window.devicePixelRatio || 1;
    let sharp: ReturnType<typeof setTimeout> | undefined;
    const frame = requestAnimationFrame(() => {
      const wide = Math.round(size.width * ratio);
      const high = Math.round(size.height * ratio);
      if (element.width !== wide || element.height !== high) Object.assign(element, { width: wide, height: high });
      const context = element.getContext("2d", { alpha: false });
      if (!context || !size.width) return;
      const started = performance.now();
      const { gang, group, node, by } = choice;
      const colours = coloursFor(dark);
      const of = [topology.name, size.width, size.height, ratio, dark].join(" ");
      if (bitmaps.current.stretch(context, of, view, colours.ground)) {
        sharp = setTimeout(() => setSettled((times) => times + 1), rest);
      } else {
        paint(context, { cluster, root, view, ...size, colours, palette, by, gang, group, node, domain, nearest, cursor }, ratio);
        bitmaps.current.keep(element, of, view, performance.now() - started);
      }
      performance.measure("packtree:frame", { start: started });
    });
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(sharp);
    };
  }, [cluster, root, view, size, dark, choice, nearest, cursor, settled]);

  useEffect(() => {
    // Preact listens passively to wheels, and the page must not scroll.
    const element = canvas.current!;
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      bitmaps.current.hurry();
      const factor = Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0018));
      setView((v) => zoomed(v, factor, event.offsetX, event.offsetY, size));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [size]);

  const at = (event: MouseEvent) => boxAt(root, (event.offsetX - view.x) / view.k, (event.offsetY - view.y) / view.k);
  const pick = (box: Box | undefined) => {
    if (!box || box.depth === 0) choose({ node: undefined, gang: undefined, group: undefined, domain: undefined });
    else if (box.data.node !== undefined) choose({ node: box.data.node, gang: undefined, group: undefined });
    else choose({ domain: pathOf(box), node: undefined, gang: undefined, group: undefined });
  };
  const home = () => {
    setView(whole);
    choose({ domain: undefined });
  };

  const keys = (event: KeyboardEvent) => {
    const step = (to: Box | undefined) => {
      if (to) {
        setCursor(pathOf(to));
        setView((v) => shown(v, to, size));
      }
    };
    const current = boxes.find((b) => pathOf(b) === cursor);
    switch (event.key) {
      case "ArrowRight": case "ArrowLeft": case "ArrowUp": case "ArrowDown":
        step(current ? neighbour(boxes, current, event.key) : root.children?.[0]);
        break;
      case "PageDown": step(current?.children?.[0] ?? current); break;
      case "PageUp": step(current?.parent && current.parent.depth > 0 ? current.parent : current); break;
      case "Enter": pick(current); break;
      case "+": case "=": setView((v) => zoomed(v, 1.4, size.width / 2, size.height / 2, size)); break;
      case "-": setView((v) => zoomed(v, 1 / 1.4, size.width / 2, size.height / 2, size)); break;
      case "0": home(); break;
      default: return;
    }
    event.preventDefault();
  };

  const total = topology.cluster;
  const label = `Map of ${counted(total.nodes, "node")}${topology.name ? ` of topology ${topology.name}` : ""}: ` +
    `${amount(total.used, cluster.overview.resource)} of ${amount(total.total, cluster.overview.resource)} ${cluster.overview.resource} used. ` +
    "Arrow keys move, Page Down and Page Up go in and out, Enter chooses, plus and minus zoom, 0 shows all. The tables have everything that is drawn.";
  const current = boxes.find((b) => pathOf(b) === cursor);
  return (
    <div class="picture">
      <canvas
        ref={canvas} id="map" tabIndex={0} role="application" aria-label={label} onKeyDown={keys} onBlur={() => setCursor(undefined)}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          drag.current = { x: event.offsetX, y: event.offsetY, moved: false };
        }}
        onPointerMove={(event) => {
          const from = drag.current;
          if (!from) {
            const box = at(event);
            setHovered(box && box.depth > 0 ? { box, x: event.offsetX, y: event.offsetY } : undefined);
            return;
          }
          const [x, y] = [event.offsetX - from.x, event.offsetY - from.y];
          if (!from.moved && Math.hypot(x, y) < 4) return;
          drag.current = { x: event.offsetX, y: event.offsetY, moved: true };
          setHovered(undefined);
          bitmaps.current.hurry();
          setView((v) => bounded({ ...v, x: v.x + x, y: v.y + y }, size));
        }}
        onPointerUp={(event) => {
          if (drag.current && !drag.current.moved) pick(at(event));
          drag.current = undefined;
        }}
        onPointerLeave={() => setHovered(undefined)}
        onDblClick={home}
      />
      {hovered && <Tip cluster={cluster} {...hovered} size={size} />}
      <p class="unseen" aria-live="polite">{current ? describe(cluster, current) : ""}</p>
      {view !== whole && <button class="home" onClick={home}>Show all</button>}
    </div>
  );
}

function nearestOf(cluster: Cluster, choice: Choice): Set<string> {
  const reasons = (choice.gang ? cluster.gangs.get(choice.gang)?.decision?.reasons : undefined) ?? [];
  return new Set(reasons.flatMap((reason) => (reason.domain ? [reason.domain] : [])));
}

interface Size {
  width: number;
  height: number;
}

function bounded(view: View, { width, height }: Size): View {
  const k = Math.min(most, Math.max(1, view.k));
  if (k === 1) return whole;
  return { k, x: Math.min(0, Math.max(width * (1 - k), view.x)), y: Math.min(0, Math.max(height * (1 - k), view.y)) };
}

function zoomed(view: View, factor: number, x: number, y: number, size: Size): View {
  const k = Math.min(most, Math.max(1, view.k * factor));
  const by = k / view.k;
  return bounded({ k, x: x - (x - view.x) * by, y: y - (y - view.y) * by }, size);
}

function fitted(box: Box, size: Size): View {
  const k = Math.min(most, 0.94 / Math.max((box.x1 - box.x0) / size.width, (box.y1 - box.y0) / size.height));
  const [x, y] = [size.width / 2 - (k * (box.x0 + box.x1)) / 2, size.height / 2 - (k * (box.y0 + box.y1)) / 2];
  return bounded({ k, x, y }, size);
}

/** Moves a view as little as it takes to have a box in it. */
function shown(view: View, box: Box, size: Size): View {
  const shift = (low: number, high: number, end: number) => (low < 0 ? -low : high > end ? end - high : 0);
  return bounded({
    k: view.k,
    x: view.x + shift(box.x0 * view.k + view.x, box.x1 * view.k + view.x, size.width),
    y: view.y + shift(box.y0 * view.k + view.y, box.y1 * view.k + view.y, size.height),
  }, size);
}

/** The nearest box of the same depth in a direction. */
function neighbour(boxes: Box[], from: Box, direction: string): Box | undefined {
  const [dx, dy] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[direction] as [number, number];
  const middle = (box: Box) => [(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2] as [number, number];
  const [fromX, fromY] = middle(from);
  let best: Box | undefined;
  let least = Infinity;
  for (const box of boxes) {
    if (box.depth !== from.depth || box === from) continue;
    const [x, y] = middle(box);
    const ahead = (x - fromX) * dx + (y - fromY) * dy;
    const aside = Math.abs((x - fromX) * dy) + Math.abs((y - fromY) * dx);
    if (ahead > 0.5 && ahead + 3 * aside < least) [best, least] = [box, ahead + 3 * aside];
  }
  return best ?? from;
}

function describe(cluster: Cluster, box: Box): string {
  const { domain, node, title } = box.data;
  const what = node === undefined ? `${domain.name && domain.level ? short(domain.level) : ""} ${title}, ${counted(domain.nodes, "node")}` : `node ${title}`;
  const resource = cluster.overview.resource;
  return `${what}: ${amount(domain.used, resource)} of ${amount(domain.total, resource)} ${resource} used`.trim();
}

function Tip({ cluster, box, x, y, size }: { cluster: Cluster; box: Box; x: number; y: number; size: Size }) {
  const node = box.data.node === undefined ? undefined : cluster.nodes.get(box.data.node);
  const pods = node ? (cluster.podsOnNode.get(node.name) ?? []) : [];
  const names = [...new Set(pods.map((pod) => (pod.gang ? key({ namespace: pod.namespace, name: pod.gang }) : "other pods")))];
  const side = { left: x > size.width - 300 ? "auto" : `${x + 14}px`, right: x > size.width - 300 ? `${size.width - x + 14}px` : "auto" };
  return (
    <div class="tip" aria-hidden="true" style={{ ...side, top: `${Math.min(y + 14, size.height - 90)}px` }}>
      <b>{describe(cluster, box)}</b>
      {node?.cordoned && <div class="careful">cordoned</div>}
      {node?.notReady && <div class="bad">not ready</div>}
      {names.slice(0, 5).map((name) => <div>{name}</div>)}
      {names.length > 5 && <div>and {names.length - 5} more</div>}
    </div>
  );
}
