// Decide on labels one by one. `verdicts` holds position → class (the given one: confirmed), or −1 for skipped. They are
// kept by file: another audit of the same images has another order. Each has a key of its own: whatever this page failed to
// read, or another window decided, is not overwritten.
const find = id => document.getElementById(id);
const store = `metamixup-audit/${data.key}/`;
const PAGE = 120;
const pictures = [];
const verdicts = {};
let shown = [], at = 0, shuffled;
function learn(k, verdict) { if (verdict === null) delete verdicts[k]; else verdicts[k] = Number(verdict); }
function stored(work) { try { work(); } catch { find("kept").textContent = "This browser keeps nothing: save labels.csv before you leave."; } }
const recall = () => stored(() => data.files.forEach((file, k) => learn(k, localStorage.getItem(store + file))));
const keep = k => stored(() => k in verdicts ? localStorage.setItem(store + data.files[k], verdicts[k]) : localStorage.removeItem(store + data.files[k]));
addEventListener("storage", ({ key, newValue }) => {
  const k = key?.startsWith(store) ? data.files.indexOf(key.slice(store.length)) : -1;
  if (k >= 0) { learn(k, newValue); show(); }
});

// A sheet is decoded when one of its thumbnails is drawn for the first time. All but the first stand at the page's end, and
// may not have been read to theirs while the page loads.
function sheet(number) {
  if (!pictures[number]) {
    const picture = pictures[number] = new Image();
    const decode = () => { picture.src = `data:image/jpeg;base64,${find(`sheet-${number}`).textContent}`; };
    if (number && document.readyState === "loading") addEventListener("DOMContentLoaded", decode); else decode();
  }
  return pictures[number];
}
function draw(canvas, item) {
  const picture = sheet(Math.floor(item / data.perSheet)), place = item % data.perSheet, tile = data.tile;
  const paint = () => {
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(picture, place % data.columns * tile, Math.floor(place / data.columns) * tile, tile, tile, 0, 0, canvas.width, canvas.height);
    canvas.dataset.drawn = item;
  };
  if (picture.complete && picture.naturalWidth) paint(); else picture.addEventListener("load", paint, { once: true });
}
const named = k => k < 0 ? "none of the classes" : data.classes[k];
function state(item) {
  const verdict = verdicts[item];
  return verdict === undefined ? "" : verdict < 0 ? "skipped" : verdict === data.given[item] ? "confirmed" : "relabelled";
}
// A fair sample goes by a hash of the names, which knows nothing of suspicion.
function hash(text) {
  let value = 2166136261;
  for (let k = 0; k < text.length; k++) value = Math.imul(value ^ text.charCodeAt(k), 16777619);
  value = Math.imul(value ^ value >>> 16, 2246822507);
  return (value ^ value >>> 13) >>> 0;
}
const atRandom = () => shuffled ||= data.files.map((file, k) => [hash(file), k]).sort((a, b) => a[0] - b[0]).map(pair => pair[1]);
// Its images up to the first that is undecided: those decided further on may have been chosen by suspicion.
function fair() {
  const end = atRandom().findIndex(k => !(k in verdicts));
  return new Set(end < 0 ? atRandom() : atRandom().slice(0, end));
}
function pairs() {
  const counts = new Map();
  data.files.forEach((_, k) => { const key = `${data.given[k]}>${data.likely[k]}`; if (data.wrong[k] >= 0.5) counts.set(key, (counts.get(key) || 0) + 1); });
  node("option", { value: "" }, "all images", find("pair"));
  node("option", { value: "random" }, "a fair sample, for --meta", find("pair"));
  [...counts].sort((a, b) => b[1] - a[1]).forEach(([key, count]) => {
    const [given, likely] = key.split(">").map(Number);
    node("option", { value: key }, `${named(given)} → ${named(likely)} (${count})`, find("pair"));
  });
}
function sift() {
  const pair = find("pair").value, open = find("open").checked, random = pair === "random";
  shown = [];
  for (let place = 0; place < data.files.length; place++) {
    const k = random ? atRandom()[place] : place;
    if ((!pair || random || pair === `${data.given[k]}>${data.likely[k]}`) && (!open || !(k in verdicts))) shown.push(k);
  }
  at = 0; show();
}
function show() {
  at = Math.max(0, Math.min(at, shown.length - 1));
  const item = shown[at], start = Math.floor(at / PAGE) * PAGE, box = find("sheet");
  box.replaceChildren();
  shown.slice(start, start + PAGE).forEach((k, place) => {
    const made = node("canvas", { width: data.tile, height: data.tile, role: "option", class: `thumb ${state(k)}`, title: data.files[k] }, null, box);
    if (start + place === at) made.classList.add("now-at");
    made.addEventListener("click", () => { at = start + place; show(); });
    draw(made, k);
  });
  find("count").textContent = `${shown.length.toLocaleString("en")} images`;
  find("page").textContent = shown.length ? `${start + 1} to ${Math.min(start + PAGE, shown.length)}` : "";
  const values = Object.values(verdicts).filter(v => v >= 0).length;
  find("done").textContent = `${values} labels decided, ${Object.keys(verdicts).length - values} skipped`;
  if (item === undefined) return;
  draw(find("large"), item);
  find("place").textContent = `${at + 1} of ${shown.length}${state(item) ? ", " + state(item) : ""}`;
  find("file").textContent = data.files[item];
  find("given").textContent = named(data.given[item]);
  find("likely").textContent = named(data.likely[item]);
  find("wrong").textContent = data.wrong[item].toFixed(3);
  find("why").textContent = `(${data.words[data.why[item]]}${data.notes[item] ? ": " + data.notes[item] : ""})`;
  find("relabel").value = state(item) === "relabelled" ? String(verdicts[item]) : "";
}
function decide(verdict) {
  if (!shown.length) return;
  const item = shown[at];
  learn(item, verdict); keep(item);
  if (verdict !== null) at += 1;
  show();
}
// A spreadsheet would run a text that begins like a formula.
const cell = text => { const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text; return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe; };
function table() {
  const sample = fair();
  const row = ([k, v]) => [data.files[k], data.classes[v], state(k), sample.has(Number(k)) ? "random" : "suspicion"];
  const lines = Object.entries(verdicts).filter(([, v]) => v >= 0).map(pair => row(pair).map(cell).join(","));
  return ["file,label,verdict,chosen", ...lines].join("\n") + "\n";
}
function save() {
  const link = node("a", { href: URL.createObjectURL(new Blob([table()], { type: "text/csv" })), download: "labels.csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
const actions = {
  c: () => decide(data.given[shown[at]]), s: () => decide(-1), u: () => decide(null),
  l: () => { if (data.likely[shown[at]] >= 0) decide(data.likely[shown[at]]); },
  r: () => find("relabel").focus(), ArrowRight: () => { at += 1; show(); }, ArrowLeft: () => { at -= 1; show(); },
};
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || ["SELECT", "INPUT"].includes(event.target.tagName) || !actions[event.key]) return;
  event.preventDefault(); actions[event.key]();
});
for (const [id, key] of [["confirm", "c"], ["accept", "l"], ["skip", "s"], ["undo", "u"]]) find(id).addEventListener("click", () => actions[key]());
find("relabel").addEventListener("change", event => { const chosenClass = event.target.value; event.target.blur(); if (chosenClass !== "") decide(Number(chosenClass)); });
find("pair").addEventListener("change", sift);
find("open").addEventListener("change", sift);
find("back").addEventListener("click", () => { at -= PAGE; show(); });
find("on").addEventListener("click", () => { at += PAGE; show(); });
find("save").addEventListener("click", save);
recall(); pairs(); sift();
setTheme(root.dataset.theme);
root.dataset.ready = "true";
