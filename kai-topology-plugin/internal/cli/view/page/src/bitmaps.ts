// What was drawn, to be stretched while somebody zooms or drags: drawing thousands of nodes anew would not keep up with a wheel.

import type { View } from "./paint";

interface Bitmap {
  canvas: HTMLCanvasElement;
  /** What it is of, whatever the view: topology, size, and so on. */
  of: string;
  view: View;
}

// What is drawn in so many milliseconds is drawn anew each time.
const quick = 12;
// A hurry lasts so many milliseconds.
const pause = 100;

export class Bitmaps {
  private last?: Bitmap;
  private whole?: Bitmap;
  private cost = 0;
  private hurried = -Infinity;

  /** Says that the view changes by somebody's hand, and will go on to. */
  hurry(): void {
    this.hurried = performance.now();
  }

  /** Keeps what was drawn in so many milliseconds. */
  keep(drawn: HTMLCanvasElement, of: string, view: View, cost: number): void {
    this.cost = cost;
    if (cost <= quick) return;
    const whole = view.k === 1;
    const before = whole ? this.whole : this.last;
    const canvas = before?.canvas ?? document.createElement("canvas");
    if (canvas.width !== drawn.width || canvas.height !== drawn.height) Object.assign(canvas, { width: drawn.width, height: drawn.height });
    canvas.getContext("2d", { alpha: false })?.drawImage(drawn, 0, 0);
    if (whole) [this.whole, this.last] = [{ canvas, of, view }, undefined];
    else this.last = { canvas, of, view };
  }

  /** Draws what is kept where it belongs in another view, the last picture over the whole; false if it is time to draw anew. */
  stretch(context: CanvasRenderingContext2D, of: string, view: View, ground: string): boolean {
    const kept = [this.whole, this.last].filter((bitmap) => bitmap?.of === of) as Bitmap[];
    if (!kept.length || this.cost <= quick || performance.now() - this.hurried > pause) return false;
    const { width, height } = context.canvas;
    const ratio = width / context.canvas.clientWidth;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = ground;
    context.fillRect(0, 0, width, height);
    for (const { canvas, view: { k, x, y } } of kept) {
      const by = view.k / k;
      context.drawImage(canvas, (view.x - x * by) * ratio, (view.y - y * by) * ratio, width * by, height * by);
    }
    return true;
  }
}
