// Draws what the page was given as JSON. Whatever is drawn stands in a table, too, but for the lines over time.
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.querySelector("main");
const colors = ["#2f6fdf", "#d9822b", "#3a9a5b", "#8b5fc7"];

document.getElementById("summary").textContent = data.summary;

const number = (value) => value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: 2 });

function add(parent, name, text) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function section(title, explanation) {
  const place = add(main, "section");
  add(place, "h2", title);
  add(place, "p", explanation);
  return place;
}

const width = () => Math.min(960, document.body.clientWidth - 32);

// lines has a line over time for each column of values.
function lines(place, names, columns, range) {
  const series = names.map((label, i) => ({ label, stroke: colors[i], width: 1.5, value: (_, v) => v === null ? "" : number(v) }));
  const chart = new uPlot({
    width: width(), height: 260, scales: { x: { time: false }, y: { range } },
    axes: [{ label: data.timeUnit }, {}], series: [{ label: data.timeUnit }, ...series],
  }, [data.series.at, ...columns], place);
  addEventListener("resize", () => chart.setSize({ width: width(), height: 260 }));
}

// bars has a group of bars for each row: its name, and a number for each of the names.
function bars(place, heading, names, rows) {
  if (rows.length === 0) {
    add(place, "p", "There is nothing to show.").className = "none";
    return;
  }
  const labels = rows.map((row) => row[0]);
  const group = 0.8 / names.length;
  const series = names.map((label, i) => ({
    label, stroke: colors[i], fill: colors[i], points: { show: false },
    paths: uPlot.paths.bars({ size: [group * 0.9], disp: { x0: { unit: 1, values: (u) => u.data[0].map((x) => x - 0.4 + group * i) },
      size: { unit: 1, values: (u) => u.data[0].map(() => group * 0.9) } } }),
    value: (_, v) => v === null || v === undefined ? "" : number(v),
  }));
  const chart = new uPlot({
    width: width(), height: 240, legend: { live: false },
    scales: { x: { time: false, range: [-0.6, rows.length - 0.4] }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [{ grid: { show: false }, splits: () => labels.map((_, i) => i), values: () => labels }, {}],
    series: [{}, ...series],
  }, [labels.map((_, i) => i), ...names.map((_, i) => rows.map((row) => row[i + 1]))], place);
  addEventListener("resize", () => chart.setSize({ width: width(), height: 240 }));
  table(place, [heading, ...names], rows);
}

function table(place, headings, rows) {
  const made = add(place, "table");
  const head = add(add(made, "thead"), "tr");
  for (const heading of headings) add(head, "th", heading);
  const body = add(made, "tbody");
  for (const row of rows) {
    const line = add(body, "tr");
    for (const value of row) add(line, "td", typeof value === "string" ? value : number(value));
  }
}

for (const of of data.comparisons ?? []) {
  const place = section(`${of.name} against ${of.base}`, "Means over the streams, and half of the 95 % confidence interval of the difference. A star says that zero is outside of that.");
  table(place, ["metric", "base", "value", "difference", "±", ""], of.rows);
}
if (data.series) drawRun();
if (data.metrics) table(section("Metrics", "Times are in seconds; shares are of all that nodes offered while they were not down."), ["metric", "value"], data.metrics);

function drawRun() {
  lines(section("Allocation", `The share of ${data.device} that pods had at each moment, and, as occupancy, of all that was offered up to then.`),
    ["allocation", "occupancy"], [data.series.allocation, data.series.occupancy], [0, 1]);
  lines(section("Gangs", "How many gangs waited and ran."), ["waiting", "running"], [data.series.waiting, data.series.running],
    (_, low, high) => [0, Math.max(1, high * 1.05)]);
  bars(section("Waiting time by gang size", `How long gangs waited until they started first, in ${data.timeUnit}; those that never started are left out.`),
    "pods", ["half of them, at most", "9 of 10, at most", "longest"], data.waits.map((w) => [w.size, w.half, w.most, w.longest]));
  for (const level of data.levels) {
    bars(section(`Domains of ${level.name}`, "The mean number of domains that gangs stood in last, and the fewest that could hold their pods if nobody stood there."),
      "pods", ["used", "fewest"], level.sizes.map((s) => [s.size, s.used, s.least]));
  }
  bars(section("Idle", `Shares of what the nodes offered of ${data.device} and nobody used, by why.`), "why", ["percent"], data.idle.map((i) => [i.why, i.percent]));
}
