// A run's page: wires the charts to the controls.
const find = id => document.getElementById(id);
const checked = name => document.querySelector(`input[name="${name}"]:checked`)?.value;
const onChoice = (name, act) => document.querySelectorAll(`input[name="${name}"]`).forEach(input => input.addEventListener("change", act));

function curves() {
  const boxes = [...document.querySelectorAll("[data-chart]")];
  const draw = () => boxes.forEach(box => lineChart(box, data.charts[Number(box.dataset.chart)], find("log").checked));
  drawing(draw);
  find("log").addEventListener("change", draw);
  cursor.listeners.push(epoch => boxes.forEach(box => box.point?.(epoch)));
}
// λ's distribution: a column an epoch, and the histogram of the epoch that the slider or the cursor points at.
function lambdas() {
  const slider = find("lambda-epoch"), map = find("lambda-map"), bins = data.lambda.bins, xs = data.lambda.epochs;
  const kind = () => data.lambda[checked("lambda-kind")];
  const draw = () => {
    const shares = kind(), values = new Float32Array(bins * xs.length), top = Math.max(...shares.map(s => s ? Math.max(...s) : 0), 1e-9);
    // The root keeps small shares visible beside the mass at 0 and 1; λ = 1 is at the top.
    shares.forEach((s, e) => { for (let b = 0; b < bins; b++) values[(bins - 1 - b) * xs.length + e] = s ? Math.sqrt(s[b] / top) : NaN; });
    heat(map, values, bins, xs.length, sequential, 200);
    scaleBar(find("lambda-scale"), sequential);
    find("lambda-top").textContent = `${short(100 * top)} % of an epoch's λ`;
    histogram();
  };
  const histogram = () => {
    const e = Number(slider.value), s = kind()[e];
    find("lambda-now").textContent = `epoch ${xs[e]} of ${xs[xs.length - 1]}`;
    find("lambda-line").style.left = `${100 * (e + .5) / xs.length}%`;
    if (s) bars(find("lambda-bars"), s.map(v => 100 * v), 200, "λ", "% of pairs", `histogram of λ at epoch ${xs[e]}`, Array(bins).fill(100 / bins)); else find("lambda-bars").textContent = "no such pairs in this epoch";
  };
  slider.addEventListener("input", histogram);
  onChoice("lambda-kind", draw);
  map.addEventListener("pointermove", event => { if (event.buttons || event.pointerType === "mouse") { slider.value = cellAt(event, map, 1, xs.length)[1]; histogram(); } });
  drawing(draw);
}
const MEASURES = {
  mixing: { shade: sequential, low: "0: no mixing", high: "1: half and half", text: "mean mixing 1 − |2λ − 1|", unit: "mixing" },
  mean: { shade: diverging, low: "λ = 0: all xⱼ", high: "λ = 1: all xᵢ", text: "mean λ", unit: "mean λ" },
};
function classPairs() {
  const { groups, names, frames } = data.pairs, cells = groups * groups, tables = {};
  for (const measure of Object.keys(MEASURES)) if (data.pairs[measure]) tables[measure] = bytes(data.pairs[measure]);
  const histograms = data.pairs.histogram ? bytes(data.pairs.histogram) : null, bins = data.pairs.bins;
  const slider = find("pair-epoch"), map = find("pair-map"), solid = find("pair-surface"), mark = find("pair-mark"), play = find("pair-play");
  let at = [0, Math.min(1, groups - 1)], turn = .6, playing = 0;
  const values = (measure, f) => Float32Array.from(tables[measure].subarray(f * cells, (f + 1) * cells), v => v === 255 ? NaN : v / 254);
  const when = ([from, to]) => from === to ? `epoch ${from}` : `epochs ${from}–${to}`;
  const draw = () => {
    const f = Number(slider.value), measure = checked("pair-measure"), { shade, low, high } = MEASURES[measure], now = values(measure, f);
    heat(map, now, groups, groups, shade); surface(solid, now, groups, shade, turn);
    scaleBar(find("pair-scale"), shade); find("pair-low").textContent = low; find("pair-high").textContent = high;
    find("pair-now").textContent = when(frames[f]); slider.setAttribute("aria-valuetext", when(frames[f]));
    select();
  };
  const select = () => {
    const [i, j] = at, f = Number(slider.value), measure = checked("pair-measure");
    Object.assign(mark.style, { top: `${100 * i / groups}%`, left: `${100 * j / groups}%`, width: `${100 / groups}%`, height: `${100 / groups}%` });
    const v = tables[measure][f * cells + i * groups + j], readout = find("pair-readout");
    readout.replaceChildren("xᵢ: ", node("b", {}, names[i]), ", xⱼ: ", node("b", {}, names[j]), ` – ${MEASURES[measure].text} `, node("b", {}, v === 255 ? "not seen" : short(v / 254)));
    course(i, j, measure, f);
  };
  const course = (i, j, measure, f) => {
    const box = find("pair-course"), xs = frames.map(([from, to]) => (from + to) / 2), area = frame(box, 170, "epoch", MEASURES[measure].unit, "course of the chosen class pair");
    const x = e => area.x0 + (xs.length > 1 ? (e - xs[0]) / (xs[xs.length - 1] - xs[0]) : .5) * (area.x1 - area.x0), y = v => area.y0 - v * (area.y0 - area.y1);
    gridLines(area, steps(xs[0], xs[xs.length - 1], 5).filter(Number.isInteger), [0, .25, .5, .75, 1], x, y);
    node("path", { class: "line", style: "stroke:var(--s0)", d: path(xs, xs.map((_, k) => { const v = tables[measure][k * cells + i * groups + j]; return v === 255 ? null : v / 254; }), x, y) }, null, area.svg);
    node("line", { class: "cursor", x1: x(xs[f]), x2: x(xs[f]), y1: area.y0, y2: area.y1 }, null, area.svg);
    if (!histograms) return;
    const own = histograms.subarray((f * cells + i * groups + j) * bins, (f * cells + i * groups + j + 1) * bins), total = own.reduce((a, b) => a + b, 0) || 1;
    bars(find("pair-bars"), Array.from(own, v => 100 * v / total), 150, "λ of this class pair", "%", "histogram of λ of the chosen class pair");
  };
  slider.addEventListener("input", draw);
  onChoice("pair-measure", draw);
  map.addEventListener("pointerdown", event => { at = cellAt(event, map, groups, groups); select(); });
  map.addEventListener("pointermove", event => { if (event.pointerType === "mouse") { at = cellAt(event, map, groups, groups); select(); } });
  map.addEventListener("keydown", event => { const to = keyedCell(event, at, groups, groups); if (to) { at = to; select(); } });
  solid.addEventListener("pointermove", event => { if (event.buttons) { turn += event.movementX * .01; draw(); } });
  solid.addEventListener("keydown", event => { const by = { ArrowLeft: -.12, ArrowRight: .12 }[event.key]; if (by) { event.preventDefault(); turn += by; draw(); } });
  play.addEventListener("click", () => {
    if (playing) { clearInterval(playing); playing = 0; play.textContent = "Play"; return; }
    play.textContent = "Stop"; if (Number(slider.value) >= frames.length - 1) slider.value = 0;
    playing = setInterval(() => { slider.value = Number(slider.value) + 1; draw(); if (Number(slider.value) >= frames.length - 1) play.click(); }, Math.max(60, Math.min(500, 6000 / frames.length)));
  });
  axisNames("pair-map", names);
  drawing(draw);
}
function calibration() {
  drawing(() => {
    const { accuracy, confidence, count } = data.calibration, box = find("calibration"), area = frame(box, 300, "confidence", "accuracy", "accuracy by confidence"), n = accuracy.length;
    const x = v => area.x0 + v * (area.x1 - area.x0), y = v => area.y0 - v * (area.y0 - area.y1), w = 1 / n, most = Math.max(...count, 1);
    gridLines(area, [0, .25, .5, .75, 1], [0, .25, .5, .75, 1], x, y);
    count.forEach((c, k) => { if (c) node("rect", { class: "faint", x: x(k * w) + 1, width: x(w) - x(0) - 2, y: y(.25 * c / most), height: area.y0 - y(.25 * c / most) }, null, area.svg); });
    node("line", { class: "reference", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }, null, area.svg);
    const seen = count.map((c, k) => k).filter(k => count[k]);
    node("path", { class: "line", style: "stroke:var(--s1)", d: path(seen.map(k => confidence[k]), seen.map(k => accuracy[k]), x, y) }, null, area.svg);
    seen.forEach(k => node("circle", { cx: x(confidence[k]), cy: y(accuracy[k]), r: 2.5 + 4 * Math.sqrt(count[k] / most), style: "fill:var(--s1)" }, null, area.svg));
  });
}
function confusion() {
  const { names, counts } = data.confusion, n = names.length, map = find("confusion"), mark = find("confusion-mark");
  const totals = Array.from({ length: n }, (_, i) => counts.slice(i * n, (i + 1) * n).reduce((a, b) => a + b, 0));
  let at = [0, 0];
  const select = () => {
    const [i, j] = at, c = counts[i * n + j];
    Object.assign(mark.style, { top: `${100 * i / n}%`, left: `${100 * j / n}%`, width: `${100 / n}%`, height: `${100 / n}%` });
    find("confusion-readout").replaceChildren("true ", node("b", {}, names[i]), ", predicted ", node("b", {}, names[j]), ": ", node("b", {}, String(c)), ` of ${totals[i]} (${short(100 * c / (totals[i] || 1))} %)`);
  };
  const draw = () => {
    const only = find("mistakes-only").checked, share = k => { const i = Math.floor(k / n); return only && i === k % n ? NaN : counts[k] / (totals[i] || 1); };
    const values = Float32Array.from(counts, (_, k) => share(k)), top = Math.max(...values.filter(v => !Number.isNaN(v)), 0);
    heat(map, values.map(v => Math.sqrt(v / (top || 1))), n, n, sequential);
    scaleBar(find("confusion-scale"), sequential); find("confusion-top").textContent = `${short(100 * top)} % of a class`;
    find("confusion-scale").parentElement.style.visibility = top ? "visible" : "hidden";
    select();
  };
  find("mistakes-only").checked = counts.some((c, k) => c && Math.floor(k / n) !== k % n);
  find("mistakes-only").addEventListener("change", draw);
  map.addEventListener("pointermove", event => { at = cellAt(event, map, n, n); select(); });
  map.addEventListener("pointerdown", event => { at = cellAt(event, map, n, n); select(); });
  map.addEventListener("keydown", event => { const to = keyedCell(event, at, n, n); if (to) { at = to; select(); } });
  axisNames("confusion", names);
  drawing(draw);
}
if (data.charts?.length) curves();
if (data.lambda) lambdas();
if (data.pairs) classPairs();
if (data.calibration) calibration();
if (data.confusion) confusion();
setTheme(root.dataset.theme);
root.dataset.ready = "true";
