// Numbers as people read them.

export function count(value) {
  return value == null ? "–" : Math.round(value).toLocaleString("en-US");
}

/** 475.0, 9.231, 0.0042 */
export function number(value) {
  if (value == null || !isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 10000) return count(value);
  if (size >= 10) return value.toFixed(1);
  return size >= 0.01 ? value.toFixed(3) : value.toExponential(2);
}

/** 950, 152 k, 3.1 M */
export function short(value) {
  if (value == null) return "–";
  if (value >= 1e9) return (value / 1e9).toFixed(1) + " G";
  if (value >= 1e6) return (value / 1e6).toFixed(1) + " M";
  if (value >= 1e4) return (value / 1e3).toFixed(0) + " k";
  return String(Math.round(value));
}

export function percent(share) {
  return share == null ? "–" : (100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0) + " %";
}

export function duration(seconds) {
  if (seconds == null) return "–";
  if (seconds < 10) return seconds.toFixed(1) + " s";
  if (seconds < 60) return Math.round(seconds) + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min " + Math.floor(seconds % 60) + " s";
  if (seconds < 86400) return Math.floor(seconds / 3600) + " h " + Math.floor(seconds % 3600 / 60) + " min";
  return Math.floor(seconds / 86400) + " d " + Math.floor(seconds % 86400 / 3600) + " h";
}

export function bytes(value) {
  if (value == null) return "–";
  if (value < 1024) return value + " B";
  if (value < 1 << 20) return (value / 1024).toFixed(0) + " KiB";
  return (value / (1 << 20)).toFixed(1) + " MiB";
}
