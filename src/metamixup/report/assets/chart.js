// Line and bar charts as SVG: one cursor over all of them, moved by the mouse or by the arrow keys.
const margin = { left: 44, right: 10, top: 8, bottom: 30 };

function steps(low, high, count = 5) {
  const raw = (high - low || 1) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= raw);
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(Number((k * step).toPrecision(12)));
  return out;
}
function decades(low, high) {
  const out = [], many = Math.log10(high / low) > 4;
  for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high); p++)
    for (const m of many ? [1] : [1, 2, 5]) if (m * 10 ** p >= low * .999 && m * 10 ** p <= high * 1.001) out.push(Number((m * 10 ** p).toPrecision(6)));
  return out;
}
function frame(box, height, xTitle, yTitle, label) {
  box.querySelector("svg")?.remove();
  const width = Math.max(240, box.clientWidth);
  const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": label }, null, box);
  node("text", { x: (margin.left + width - margin.right) / 2, y: height - 2, "text-anchor": "middle" }, xTitle, svg);
  if (yTitle) node("text", { x: 11, y: (height - margin.bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 11 ${(height - margin.bottom) / 2})` }, yTitle, svg);
  return { svg, width, x0: margin.left, x1: width - margin.right, y0: height - margin.bottom, y1: margin.top };
}
function gridLines(area, xTicks, yTicks, x, y) {
  for (const t of yTicks) { node("line", { class: "grid", x1: area.x0, x2: area.x1, y1: y(t), y2: y(t) }, null, area.svg); node("text", { x: area.x0 - 6, y: y(t) + 3.5, "text-anchor": "end" }, short(t), area.svg); }
  for (const t of xTicks) node("text", { x: x(t), y: area.y0 + 15, "text-anchor": "middle" }, short(t), area.svg);
  node("line", { class: "axis", x1: area.x0, x2: area.x1, y1: area.y0, y2: area.y0 }, null, area.svg);
}
function path(xs, values, x, y) {
  // Long runs evaluate some epochs only: the line goes on over the others, since a lone value could not be seen.
  const told = values.map((v, k) => [v, xs[k]]).filter(([v]) => v !== null && !Number.isNaN(v));
  return told.map(([v, at], k) => `${k ? "L" : "M"}${x(at).toFixed(1)} ${y(v).toFixed(1)}`).join("");
}
function lineChart(box, spec, log) {
  const xs = data.epochs, all = spec.series.flatMap(s => s.values.filter(v => v !== null && (!log || v > 0)));
  if (!all.length) { box.textContent = "nothing recorded"; return; }
  const area = frame(box, 210, "epoch", spec.unit, `${spec.title} by epoch`);
  const high = Math.max(...all), low = log ? Math.max(Math.min(...all), high * 1e-6) : Math.min(0, ...all), top = high === low ? low + 1 : high;
  const x = e => area.x0 + (xs.length > 1 ? (e - xs[0]) / (xs[xs.length - 1] - xs[0]) : .5) * (area.x1 - area.x0);
  const scale = log ? v => Math.log(Math.max(v, low) / low) / Math.log(top / low) : v => (v - low) / (top - low);
  const y = v => area.y0 - scale(v) * (area.y0 - area.y1);
  gridLines(area, steps(xs[0], xs[xs.length - 1], 6).filter(Number.isInteger), log ? decades(low, top) : steps(low, top), x, y);
  spec.series.forEach((s, k) => {
    node("path", { class: "line", d: path(xs, s.values, x, y), style: `stroke:var(--s${k % 6})`, "stroke-dasharray": k > 5 ? "5 3" : "none" }, null, area.svg);
    const told = xs.map((_, at) => at).filter(at => s.values[at] !== null);
    if (told.length === 1) node("circle", { cx: x(xs[told[0]]), cy: y(s.values[told[0]]), r: 3, style: `fill:var(--s${k % 6})` }, null, area.svg);
  });
  const line = node("line", { class: "cursor", y1: area.y0, y2: area.y1, visibility: "hidden" }, null, area.svg);
  const dots = spec.series.map((s, k) => node("circle", { r: 3.2, style: `fill:var(--s${k % 6})`, visibility: "hidden" }, null, area.svg));
  area.svg.setAttribute("tabindex", "0");
  area.svg.addEventListener("pointermove", event => { const at = (event.offsetX - area.x0) / (area.x1 - area.x0); cursor.set(nearest(xs, xs[0] + at * (xs[xs.length - 1] - xs[0]))); });
  area.svg.addEventListener("pointerleave", () => cursor.set(null));
  area.svg.addEventListener("keydown", event => { const to = moved(event, xs); if (to !== null) cursor.set(to); });
  box.point = epoch => {
    const k = epoch === null ? -1 : xs.indexOf(epoch), shown = k >= 0 ? "visible" : "hidden";
    line.setAttribute("visibility", shown);
    if (k >= 0) { line.setAttribute("x1", x(epoch)); line.setAttribute("x2", x(epoch)); }
    dots.forEach((dot, s) => { const v = k >= 0 ? spec.series[s].values[k] : null; dot.setAttribute("visibility", v === null ? "hidden" : shown); if (v !== null && k >= 0) { dot.setAttribute("cx", x(epoch)); dot.setAttribute("cy", y(v)); } });
    legend(box.nextElementSibling, spec, k >= 0 ? k : xs.length - 1, k >= 0 ? `epoch ${epoch}` : "last epoch");
  };
  box.point(cursor.epoch);
}
function nearest(xs, value) { return xs.reduce((best, e) => Math.abs(e - value) < Math.abs(best - value) ? e : best, xs[0]); }
function moved(event, xs) {
  const k = cursor.epoch === null ? xs.length - 1 : xs.indexOf(cursor.epoch), far = Math.max(1, Math.round(xs.length / 10));
  const to = { ArrowLeft: k - 1, ArrowRight: k + 1, PageDown: k - far, PageUp: k + far, Home: 0, End: xs.length - 1 }[event.key];
  if (to === undefined) { if (event.key === "Escape") cursor.set(null); return null; }
  event.preventDefault();
  return xs[Math.min(xs.length - 1, Math.max(0, to))];
}
function legend(element, spec, k, when) {
  element.replaceChildren();
  spec.series.forEach((s, c) => { const item = node("span", {}, null, element); node("i", { style: `background:var(--s${c % 6})` }, null, item); item.append(`${s.name} `); node("b", {}, short(s.values[k], 4), item); });
  node("span", {}, when, element);
}
function bars(box, shares, height, xTitle, yTitle, label, reference = null) {
  const area = frame(box, height, xTitle, yTitle, label), top = Math.max(...shares, ...(reference || []), 1e-9);
  const x = v => area.x0 + v * (area.x1 - area.x0), y = v => area.y0 - v / top * (area.y0 - area.y1), w = 1 / shares.length;
  gridLines(area, [0, .25, .5, .75, 1], steps(0, top, 4), x, y);
  shares.forEach((v, k) => node("rect", { class: "bar", x: x(k * w) + .5, width: Math.max(.5, x(w) - x(0) - 1), y: y(v), height: Math.max(0, area.y0 - y(v)) }, null, area.svg));
  if (reference) node("path", { class: "reference", d: path(reference.map((_, k) => (k + .5) * w), reference, x, y) }, null, area.svg);
}
