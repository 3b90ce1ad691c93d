// The time line of a recording: one moment of it is shown at a time.

import { useEffect, useState } from "preact/hooks";
import { counted } from "./cluster";
import type { Choice } from "./choice";
import type { Overview } from "./model";
import type { Source } from "./source";

/** The overview of the moment that is chosen, its place, and why it cannot be shown. What is no recording has one moment. */
export function useMoment(source: Source, first: Overview | undefined, chosen: string | undefined): [Overview | undefined, number, string?] {
  const [shown, setShown] = useState<{ place: number; overview?: Overview; wrong?: string }>({ place: 0 });
  const last = (first?.moments?.length ?? 1) - 1;
  const place = Math.min(last, Math.max(0, Number.parseInt(chosen ?? "0", 10) || 0));
  useEffect(() => {
    if (!place) return;
    let wanted = true;
    source.moment(place).then(
      (overview) => wanted && setShown({ place, overview }),
      (error: unknown) => wanted && setShown({ place, wrong: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      wanted = false;
    };
  }, [source, place]);
  if (!place) return [first, 0];
  // Until a moment has come, the one before stays.
  return [shown.overview ?? first, shown.overview ? shown.place : 0, shown.wrong];
}

// So long a moment is shown while a recording is played, at least.
const step = 500;

interface Props {
  moments: number[];
  /** The place of the moment that is shown, and what is shown of it. */
  at: number;
  shown: Overview | undefined;
  choose(change: Partial<Choice>): void;
}

export function TimeLine({ moments, at, shown, choose }: Props) {
  const [playing, setPlaying] = useState(false);
  const last = moments.length - 1;
  useEffect(() => {
    if (!playing) return;
    if (at >= last) {
      setPlaying(false);
      return;
    }
    const timer = setTimeout(() => choose({ moment: String(at + 1) }), step);
    return () => clearTimeout(timer);
  }, [playing, at, shown, last]);
  const said = `${lasting(moments[at] ?? 0)} of virtual time, moment ${at} of ${last}`;
  const waiting = shown?.gangs.filter((gang) => gang.state !== "Runs").length ?? 0;
  return (
    <section class="timeline" aria-label="Time line">
      <button
        onClick={() => {
          if (!playing && at >= last) choose({ moment: "0" });
          setPlaying(!playing);
        }}
      >
        {playing ? "Pause" : "Play"}
      </button>
      <input
        type="range" id="moment" aria-label="Moment" aria-valuetext={said} min={0} max={last} step={1} value={at}
        onInput={(event) => {
          setPlaying(false);
          choose({ moment: event.currentTarget.value });
        }}
      />
      <p>
        Simulated: {said}. {at === 0 ? "Before anything happens." : `${counted((shown?.gangs.length ?? 0) - waiting, "gang")} running, ${waiting} waiting.`}
      </p>
    </section>
  );
}

/** A time as people say it: the two largest units, down to seconds. */
function lasting(seconds: number): string {
  const units: [string, number][] = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = units.findIndex(([, size]) => seconds >= size);
  if (first < 0) return `${Number(seconds.toFixed(3))} s`;
  let left = seconds;
  const parts: string[] = [];
  for (const [unit, size] of units.slice(first, first + 2)) {
    const many = Math.floor(left / size);
    left -= many * size;
    if (many) parts.push(`${many} ${unit}`);
  }
  return parts.join(" ");
}
