// Streams: their numbers, their errors over time, and the latest forecasts of some devices.
import { drawForecasts, drawStreamErrors } from "/charts.js";
import { at, element } from "/tables.js";
import { count, number, percent } from "/words.js";

const kHistory = 600;
const histories = {};

export function forgetStreams() {
  for (const id of Object.keys(histories)) delete histories[id];
}

function push(list, x, y) {
  if (y == null) return;
  list.push([x, y]);
  if (list.length > kHistory) list.shift();
}

function place(id, title, parent) {
  if (at(id)) return;
  const canvas = element("canvas");
  canvas.id = id;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", title);
  const box = element("div", null, "chart");
  box.append(canvas);
  parent.append(element("h3", title, "faint"), box);
}

function sentence(stream) {
  const ways = [stream.broker, stream.listen].filter(Boolean).join(" and ");
  const link = stream.broker && !stream.up ? "not connected for " + number(stream.down_s) + " s" : "connected";
  return `${ways}: ${link}; ${count(stream.messages)} messages of ${count(stream.devices)} devices, ` +
    `${number(stream.messages_per_s)} a second; ${count(stream.learned)} pairs learned from; error ${number(stream.error)}, ` +
    `naive ${number(stream.baseline_error)}, skill ${percent(stream.skill)}`;
}

export function showStreams(status) {
  const streams = status.streams ?? [];
  at("streams-card").hidden = streams.length === 0;
  for (const stream of streams) showStream(stream, status.uptime_s);
}

function showStream(stream, seconds) {
  const id = "stream-" + stream.name;
  if (!at(id)) {
    const box = element("div", null, "stream");
    box.id = id;
    box.append(element("h3", stream.name), element("p", "", "faint"));
    at("streams").append(box);
  }
  const box = at(id);
  box.querySelector("p").textContent = sentence(stream);
  const history = histories[id] ??= { error: [], naive: [] };
  push(history.error, seconds, stream.error);
  push(history.naive, seconds, stream.baseline_error);
  if (history.error.length > 1) {
    place(id + "-error", "Error against the naive forecast", box);
    drawStreamErrors(id + "-error", history);
  }
  for (const [name, forecast] of Object.entries(stream.latest ?? {}).slice(0, 4)) showForecast(id, name, forecast, seconds, box);
}

function showForecast(id, name, forecast, seconds, box) {
  const key = id + "-" + name;
  const history = histories[key] ??= { value: [], forecast: [], low: [], high: [] };
  push(history.value, seconds, forecast.value);
  push(history.forecast, seconds + (forecast.ahead_s ?? 0), forecast.published);
  push(history.low, seconds + (forecast.ahead_s ?? 0), forecast.low);
  push(history.high, seconds + (forecast.ahead_s ?? 0), forecast.high);
  if (history.forecast.length < 2) return;
  place(key, "Latest forecast of " + name, box);
  drawForecasts(key, history);
}
