// The live page: follows /api/events and hands what comes to tables and charts.
import { drawCurves, drawLosses, drawSpeed, drawStaleness, forgetCharts, forgetSpeed } from "/charts.js";
import { forgetStreams, showStreams } from "/streams.js";
import { at, element, showActors, showCheckpoints, showSettings, showShardReport, showShards, showTiles, showWaits } from "/tables.js";
import { duration } from "/words.js";

const kColumns = [["rollout/ep_rew_mean", "mean return of training"], ["eval/mean_reward", "evaluated return"],
  ["rollout/success_rate", "success rate"], ["rollout/ep_len_mean", "episode length"], ["train/loss", "loss"],
  ["train/accuracy", "accuracy"], ["train/policy_lag_avg", "staleness"], ["time/fps", "steps a second, overall"]];
const token = new URLSearchParams(location.hash.slice(1)).get("token");
const runs = {};
let config = "", status = null, before = null, checkpoints = [], column = "", chosen = false;

function setState(text, className) {
  at("state").textContent = text;
  at("state").className = "pill " + className;
}

/** Steps a second of each actor and of all, between two events. */
function ratesBetween(earlier, later) {
  const rates = { actors: {}, total: null };
  if (!earlier || later.pid !== earlier.pid || later.uptime_s <= earlier.uptime_s) return rates;
  const seconds = later.uptime_s - earlier.uptime_s;
  const known = new Map(earlier.actors.map((actor) => [actor.name, actor.steps]));
  for (const actor of later.actors)
    if (known.has(actor.name)) rates.actors[actor.name] = Math.max(0, actor.steps - known.get(actor.name)) / seconds;
  const steps = (report) => report.models.reduce((sum, model) => sum + (model.steps ?? 0), 0);
  rates.total = Math.max(0, steps(later) - steps(earlier)) / seconds;
  return rates;
}

function onStatus(event) {
  before = status;
  status = JSON.parse(event.data);
  if (status.shard !== undefined) return onShard();
  const rates = ratesBetween(before, status);
  if (before && before.pid !== status.pid) {  // times begin anew
    forgetSpeed();
    forgetStreams();
  }
  document.title = status.run + " – murmurate";
  at("run").textContent = status.run;
  at("where").textContent = `up ${duration(status.uptime_s)}, process ${status.pid}, ${status.directory}; listening on ` +
    status.listen.join(" and ");
  if (status.paused) setState("paused", "warn");
  else setState("live", "good");
  at("do-pause").textContent = status.paused ? "Go on learning" : "Pause learning";
  showTiles(status, rates);
  showWaits(status);
  showActors(status, rates);
  showSettings(status, config);
  showStreams(status);
  showCheckpoints(checkpoints);
  drawSpeed(status.uptime_s, rates.total);
  drawStaleness(status.actors);
}

/** A shard of a parameter server has a page, too: its models, who waits, and its log. */
function onShard() {
  document.title = `shard ${status.shard} of ${status.shards} – murmurate`;
  at("run").textContent = `shard ${status.shard} of ${status.shards}`;
  at("where").textContent = `up ${duration(status.uptime_s)}, process ${status.pid}, ${status.directory}; listening on ` +
    status.listen;
  document.body.classList.add("of-shard");
  setState("live", "good");
  showShardReport(status);
  const waiting = status.models.filter((model) => model.waits).map((model) => model.name + ": " + model.waits);
  showWaits({ models: status.models, actors: [], waiting }, "The shard waits for its first worker.");
}

function offerColumns() {
  const there = kColumns.filter(([name]) => Object.values(runs).some((run) => run.curves[name]));
  const select = at("column");
  if (select.options.length !== there.length) {
    select.replaceChildren(...there.map(([name, title]) => {
      const option = element("option", title);
      option.value = name;
      return option;
    }));
  }
  if (!chosen || !there.some(([name]) => name === column)) column = there[0]?.[0] ?? "";
  select.value = column;
}

function redraw() {
  offerColumns();
  drawCurves(runs, column);
  const own = Object.values(runs).find((run) => run.own);
  if (own) drawLosses(own.curves);
}

function onCurves(event) {
  for (const run of JSON.parse(event.data)) runs[run.name] = run;
  redraw();
}

function onLog(event) {
  const log = at("log");
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  log.textContent = JSON.parse(event.data).lines.join("\n");
  if (atEnd) log.scrollTop = log.scrollHeight;
}

async function steer(path, body) {
  at("answer").textContent = "…";
  const answer = await fetch(path, { method: "POST", body, headers: { "X-Murmurate-Token": token, "Content-Type": "text/plain" } })
    .then((response) => response.text(), (error) => String(error));
  at("answer").textContent = answer;
}

function offerControl(event) {
  if (!JSON.parse(event.data).control) return;
  at("control").hidden = false;
  if (token) return;
  at("answer").textContent = "To steer the run, open the address that the daemon printed, with its token.";
  for (const control of at("control").querySelectorAll("button, input")) control.disabled = true;
}

async function readConfig() {
  config = await fetch("/api/config").then((response) => response.text(), () => "");
  at("config-text").textContent = config;
}

function follow() {
  const events = new EventSource("/api/events");
  const on = (name, take) => events.addEventListener(name, take);
  on("page", offerControl);
  on("status", onStatus);
  on("curves", onCurves);
  on("log", onLog);
  on("checkpoints", (event) => {
    checkpoints = JSON.parse(event.data);
    showCheckpoints(checkpoints);
  });
  on("metrics", (event) => status?.shard === undefined && showShards(JSON.parse(event.data).metrics, status));
  events.onerror = () => {
    setState("no answer", "bad");
    if (events.readyState === EventSource.CLOSED) setTimeout(follow, 5000);
  };
}

at("column").addEventListener("change", (event) => {
  column = event.target.value;
  chosen = true;
  redraw();
});
at("do-checkpoint").addEventListener("click", () => steer("/api/checkpoint", ""));
at("do-pause").addEventListener("click", () => steer(status?.paused ? "/api/unpause" : "/api/pause", ""));
at("do-stop").addEventListener("click", () => confirm("Stop the run?") && steer("/api/stop", ""));
at("do-set").addEventListener("click", () => steer("/api/set", at("assignment").value.trim()));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  forgetCharts();
  redraw();
});
await readConfig();
follow();
