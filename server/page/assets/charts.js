// Charts, drawn by Chart.js in the colours of the page's style.
import { at, element } from "/tables.js";
import { short, number } from "/words.js";

const kHistory = 600;  // points of what is only known since the page was opened
const style = () => getComputedStyle(document.documentElement);
const color = (name) => style().getPropertyValue(name).trim();
const made = {};

function options(xTitle, yTitle, legend) {
  const axis = (title) => ({
    title: { display: title !== "", text: title, color: color("--faint") },
    ticks: { color: color("--faint"), maxTicksLimit: 7, maxRotation: 0, callback: (value) => shortTick(value) },
    grid: { color: color("--line") },
  });
  return {
    animation: false, responsive: true, maintainAspectRatio: false, parsing: false, normalized: true,
    interaction: { mode: "nearest", axis: "x", intersect: false },
    elements: { point: { radius: 0, hitRadius: 8 }, line: { tension: 0 } },
    scales: { x: { type: "linear", ...axis(xTitle) }, y: axis(yTitle) },
    plugins: {
      legend: { display: legend, position: "bottom", labels: { color: color("--ink"), boxWidth: 14, boxHeight: 3 } },
      tooltip: { callbacks: { title: (items) => items.length ? short(items[0].parsed.x) : "",
        label: (item) => item.dataset.label + ": " + number(item.parsed.y) } },
    },
  };
}

function shortTick(value) {
  if (typeof value !== "number") return value;
  return Math.abs(value) >= 1000 ? short(Math.abs(value)).replace(/^/, value < 0 ? "-" : "") : String(+value.toPrecision(4));
}

/** The chart on the canvas of this id, made when it is first asked for. */
function chart(id, xTitle, yTitle, legend) {
  if (!made[id]) made[id] = new Chart(at(id), { type: "line", data: { datasets: [] }, options: options(xTitle, yTitle, legend) });
  return made[id];
}

/** Keeps which lines the reader has hidden. */
function replaceLines(one, datasets) {
  const hidden = new Set(one.data.datasets.filter((_, i) => !one.isDatasetVisible(i)).map((set) => set.label));
  one.data.datasets = datasets.map((set) => ({ ...set, hidden: hidden.has(set.label) }));
  one.update("none");
}

const points = (pairs) => pairs.map(([x, y]) => ({ x, y }));

/** runs: name -> {own, curves}; the run that the page is of comes first and is thick. */
export function drawCurves(runs, column) {
  const names = Object.keys(runs).filter((name) => runs[name].curves[column]);
  names.sort((a, b) => runs[b].own - runs[a].own || a.localeCompare(b));
  const one = chart("curves", "environment steps", "", true);
  replaceLines(one, names.map((name, i) => ({
    label: name, data: points(runs[name].curves[column]), borderColor: color("--c" + i % 9), backgroundColor: color("--c" + i % 9),
    borderWidth: runs[name].own ? 3 : 1.5, order: runs[name].own ? 0 : 1,
  })));
}

const kLosses = [["train/loss", "loss"], ["train/policy_gradient_loss", "policy loss"], ["train/value_loss", "value loss"],
  ["train/td_error", "TD error"], ["train/q_value", "Q value"], ["train/entropy_loss", "negative entropy"],
  ["train/approx_kl", "KL of an update"], ["train/explained_variance", "explained variance"], ["train/grad_norm", "gradient norm"]];

/** Small charts of the own run's losses, those that it has: what is always 0 is not of its algorithm. */
export function drawLosses(curves) {
  const known = (pairs) => pairs.length > 1 && pairs.some(([, value]) => value !== 0);
  const shown = kLosses.filter(([column]) => known(curves[column] ?? []));
  at("losses-card").hidden = shown.length === 0;
  for (const [column, title] of shown) {
    const id = "loss-" + column.slice(6);
    if (!at(id)) addSmall(id, title);
    const one = chart(id, "", "", false);
    replaceLines(one, [{ label: title, data: points(curves[column]), borderColor: color("--c0"), borderWidth: 1.5 }]);
  }
}

function addSmall(id, title) {
  const place = element("div");
  const canvas = element("canvas");
  canvas.id = id;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", title);
  const box = element("div", null, "chart");
  box.append(canvas);
  place.append(element("h3", title, "faint"), box);
  at("losses").append(place);
}

const speed = [];

export function forgetSpeed() {
  speed.length = 0;
}

export function drawSpeed(seconds, rate) {
  if (rate == null) return;
  speed.push({ x: seconds, y: rate });
  if (speed.length > kHistory) speed.shift();
  const one = chart("speed", "seconds of the run", "", false);
  one.options.scales.y.beginAtZero = true;
  const first = Math.floor(speed[0].x);
  one.options.scales.x.min = first;
  one.options.scales.x.max = Math.max(first + 30, Math.ceil(speed[speed.length - 1].x));
  replaceLines(one, [{ label: "steps/s", data: [...speed], borderColor: color("--c0"), borderWidth: 2 }]);
}

export function drawStaleness(actors) {
  const sums = new Map();
  for (const actor of actors)
    for (const { versions, trajectories } of actor.staleness) sums.set(versions, (sums.get(versions) ?? 0) + trajectories);
  const names = [...sums.keys()].sort((a, b) => parseInt(a) - parseInt(b));
  const total = [...sums.values()].reduce((a, b) => a + b, 0);
  if (!made.staleness) {
    const set = options("versions late", "% of trajectories", false);
    delete set.parsing;
    delete set.normalized;
    set.scales.x = { ...set.scales.x, type: "category", ticks: { color: color("--faint") } };
    set.scales.y.beginAtZero = true;
    set.plugins.tooltip.callbacks = { label: (item) => number(item.parsed.y) + " %" };
    made.staleness = new Chart(at("staleness"), { type: "bar", data: { labels: [], datasets: [] }, options: set });
  }
  made.staleness.data.labels = names;
  made.staleness.data.datasets = [{ label: "trajectories", data: names.map((name) => 100 * sums.get(name) / total),
    backgroundColor: color("--c0") }];
  made.staleness.update("none");
}

/** history: {error, naive} of pairs; drawn into the canvas of this id. */
export function drawStreamErrors(id, history) {
  replaceLines(chart(id, "seconds of the run", "", true), [
    { label: "error of the model", data: points(history.error), borderColor: color("--c0"), borderWidth: 2 },
    { label: "naive forecast", data: points(history.naive), borderColor: color("--c7"), borderWidth: 1.5 }]);
}

/** history: pairs of what was forecast for a time, with its band, and of what came. */
export function drawForecasts(id, history) {
  const band = history.low.length > 0 ? [
    { label: "band: low", data: points(history.low), borderColor: color("--c5"), borderWidth: 1, borderDash: [4, 3] },
    { label: "band: high", data: points(history.high), borderColor: color("--c5"), borderWidth: 1, borderDash: [4, 3], fill: "-1",
      backgroundColor: color("--c5") + "22" }] : [];
  replaceLines(chart(id, "seconds of the run", "", true), [
    { label: "value", data: points(history.value), borderColor: color("--c7"), borderWidth: 1.5 },
    { label: "forecast", data: points(history.forecast), borderColor: color("--c0"), borderWidth: 2 }, ...band]);
}

/** After the colours have changed, all charts are made anew by the next events. */
export function forgetCharts() {
  for (const id of Object.keys(made)) {
    made[id].destroy();
    delete made[id];
  }
}
