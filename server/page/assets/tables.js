// Tables, lists and tiles. Text from the run is only ever set as text, never read as HTML.
import { bytes, count, duration, number, percent, short } from "/words.js";

export const at = (id) => document.getElementById(id);

export function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text != null) made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** rows: arrays of texts or elements, with an optional `note` that follows as a line of its own. */
function table(columns, rows) {
  const made = element("table", null, "stacks");
  const head = element("tr");
  for (const column of columns) head.append(element("th", column));
  const top = element("thead");
  top.append(head);
  const body = element("tbody");
  for (const row of rows) body.append(...rowElements(columns, row));
  made.append(top, body);
  return made;
}

function rowElements(columns, row) {
  const line = element("tr");
  row.cells.forEach((cell, i) => {
    const td = element("td");
    td.dataset.label = columns[i];
    td.append(cell);
    line.append(td);
  });
  if (!row.note) return [line];
  const note = element("td", row.note, "note");
  note.colSpan = columns.length;
  const below = element("tr");
  below.append(note);
  return [line, below];
}

export function showTiles(status, rates) {
  const model = status.models[0] ?? {};
  const streams = status.streams ?? [];
  const evaluated = model.evaluation?.mean_return;
  const live = status.actors.filter((actor) => actor.health === "live").length;
  const tiles = streams.length > 0
    ? streams.flatMap((s) => [[short(s.messages), "messages of " + s.name], [number(s.messages_per_s), "messages a second"],
        [percent(s.skill), "skill against the naive forecast"]])
    : [[number(model.mean_return), "mean return, 100 episodes"], [number(evaluated), "evaluated return"]];
  tiles.push([short(model.steps), streams.length > 0 ? "rows learned" : "environment steps"],
    [short(rates.total ?? model.steps_per_second), "steps a second"],
    [count(model.version), "version of the weights"], [number(model.staleness), "versions late, mean"],
    [String(live), live === 1 ? "actor" : "actors"], [percent(model.learner_wait), "learner waited"],
    [percent(model.actor_wait), "actors waited"]);
  at("tiles").replaceChildren(...tiles.map(([value, label]) => {
    const tile = element("div", null, "tile");
    tile.append(element("b", value), element("span", label));
    return tile;
  }));
}

/** `first`: the sentence while nothing has come yet. */
export function showWaits(status, first = "The learner waits for its first actor.") {
  const sentences = [...(status.waiting ?? []), ...(status.troubles ?? [])];
  if (status.paused) sentences.unshift("learning is paused by " + status.paused.by + " since " + status.paused.since);
  for (const refused of status.refused_actors ?? [])
    sentences.push("actor " + refused.name + " is refused: " + refused.reason);
  for (const model of status.models)
    if (model.checkpoint_trouble) sentences.push("no checkpoint of " + model.name + ": " + model.checkpoint_trouble);
  const list = at("waits");
  list.classList.toggle("none", sentences.length === 0);
  if (sentences.length === 0 && status.models.length === 0 && status.actors.length === 0) sentences.push(first);
  if (sentences.length === 0) sentences.push("Nothing waits for long.");
  list.replaceChildren(...sentences.map((sentence) => element("li", sentence)));
}

/** The middle of a bucket: "2-3" is 2.5. */
function middle(versions) {
  const ends = versions.replace("+", "").split("-").map(Number);
  return (ends[0] + ends[ends.length - 1]) / 2;
}

function meanLag(actor) {
  let weight = 0, sum = 0;
  for (const bucket of actor.staleness) {
    weight += bucket.trajectories;
    sum += bucket.trajectories * middle(bucket.versions);
  }
  return weight > 0 ? (sum / weight).toFixed(1) : "–";
}

const kHealth = { live: "good", stalled: "warn", gone: "bad" };

export function showActors(status, rates) {
  const columns = ["actor", "state", "here for", "agents", "steps", "steps/s", "versions late", "dropped", "refused", "waited"];
  const rows = status.actors.map((actor) => ({
    cells: [actor.name,
      element("span", actor.health === "live" ? "live" : actor.health + ", silent for " + duration(actor.silent_s),
        kHealth[actor.health]),
      duration(actor.here_s), count(actor.agents), count(actor.steps), count(rates.actors[actor.name]), meanLag(actor),
      count(actor.dropped_steps), count(actor.refused), percent(actor.wait)],
    note: actor.troubles.map((trouble) => trouble.reason).join("; "),
  }));
  const live = status.actors.filter((actor) => actor.health === "live").length;
  const hidden = status.left_out_actors ? ", " + count(status.left_out_actors) + " more are not shown" : "";
  at("actor-count").textContent = live + " live of " + status.actors.length + hidden;
  at("actors").replaceChildren(rows.length > 0 ? table(columns, rows) : element("p", "No actor has come yet.", "faint"));
}

export function showCheckpoints(list) {
  const now = Date.now() / 1000;
  const rows = list.map((one) => ({
    cells: [count(one.step) + (one.best ? " (best)" : one.name.startsWith("best") ? " (was best)" : one.latest ? " (latest)" : ""),
      duration(Math.max(0, now - one.written_s)) + " ago", bytes(one.bytes)],
  }));
  at("checkpoints").replaceChildren(
    rows.length > 0 ? table(["step", "written", "size"], rows) : element("p", "There is none yet.", "faint"));
}

/** The games' settings as they are, with the line of the configuration that moves them. */
export function showSettings(status, config) {
  const moves = linesOf(config, "settings");
  const names = [...new Set([...Object.keys(status.settings ?? {}), ...Object.keys(moves)])];
  const rows = names.map((name) => ({ cells: [name, number(status.settings?.[name]), moves[name] ?? ""] }));
  const model = linesOf(config, "algorithm");
  const optimizer = linesOf(config, "optimizer");
  for (const [key, lines] of [["name", model], ["entropy", model], ["clip", model], ["learning_rate", optimizer]])
    if (lines[key]) rows.push({ cells: [(lines === model ? "algorithm." : "optimizer.") + key, "", lines[key]] });
  at("settings").replaceChildren(
    rows.length > 0 ? table(["setting", "now", "as configured"], rows) : element("p", "There are none.", "faint"));
}

/** KEY -> text of the lines KEY = TEXT of a section. */
function linesOf(config, section) {
  const found = {};
  let inside = false;
  for (const line of config.split("\n")) {
    if (line.startsWith("[")) inside = line === "[" + section + "]";
    const equals = line.indexOf(" = ");
    if (inside && !line.startsWith("#") && equals > 0) found[line.slice(0, equals)] = line.slice(equals + 3);
  }
  return found;
}

/** What the learner exchanges with the shards of a parameter server. */
export function showShards(metrics, status) {
  const waits = (status?.waiting ?? []).filter((sentence) => sentence.includes("shard"));
  const rows = metrics.filter((metric) => metric.name.startsWith("parameters/") && metric.value != null)
    .map((metric) => ({ cells: [metric.of + ": " + metric.name.slice(11) + (metric.help ? " (" + metric.help + ")" : ""),
      number(metric.value) + (metric.unit ? " " + metric.unit : "")] }));
  at("shards-card").hidden = rows.length === 0 && waits.length === 0;
  const list = element("ul", null, "sentences");
  list.append(...waits.map((sentence) => element("li", sentence)));
  at("shards").replaceChildren(list, table(["exchanges", "value"], rows));
}

/** The models of a shard, for the shard's own page. */
export function showShardReport(status) {
  const columns = ["model", "workers", "version", "pushes a second", "pushes", "merged", "a worker waits for"];
  const rows = status.models.map((model) => ({
    cells: [model.name, count(model.workers), count(model.version), number(model.pushes_per_s), count(model.pushes),
      count(model.merged), model.waiting_s > 0 ? duration(model.waiting_s) : "–"],
  }));
  at("shards-card").hidden = false;
  at("shards").replaceChildren(rows.length > 0 ? table(columns, rows) : element("p", "No worker has come yet.", "faint"));
}
