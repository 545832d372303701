// Heat maps and the surface, on canvas: 100 x 100 class pairs stay fast.
// cividis, sampled: readable with any colour vision and in grey.
const CIVIDIS = [[0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115], [138, 134, 121], [165, 156, 116], [195, 179, 105], [225, 204, 85], [254, 232, 56]];
const BLUE = [0, 90, 160], ORANGE = [196, 78, 0];

function between(a, b, t) { return [0, 1, 2].map(k => Math.round(a[k] + (b[k] - a[k]) * t)); }
function hex(text) { const n = parseInt(text.slice(1), 16); return [n >> 16, n >> 8 & 255, n & 255]; }
function sequential(t) { const at = Math.min(.9999, Math.max(0, t)) * (CIVIDIS.length - 1), k = Math.floor(at); return between(CIVIDIS[k], CIVIDIS[k + 1], at - k); }
function diverging(t) { const middle = hex(colour("--middle")); return t < .5 ? between(BLUE, middle, t * 2) : between(middle, ORANGE, t * 2 - 1); }
function ramp(shade) { return Array.from({ length: 256 }, (_, k) => shade(k / 255)); }

function scaleBar(canvas, shade) {
  canvas.width = 256; canvas.height = 1;
  const context = canvas.getContext("2d"), image = context.createImageData(256, 1);
  ramp(shade).forEach((c, k) => image.data.set([...c, 255], 4 * k));
  context.putImageData(image, 0, 0);
}
// values: rows x columns in 0…1, NaN for nothing; drawn one pixel a cell and stretched without smoothing.
function heat(canvas, values, rows, columns, shade, height) {
  canvas.width = columns; canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows), colours = ramp(shade), none = hex(colour("--grid"));
  for (let k = 0; k < rows * columns; k++) {
    const c = Number.isNaN(values[k]) ? none : colours[Math.round(255 * Math.min(1, Math.max(0, values[k])))];
    image.data.set([c[0], c[1], c[2], 255], 4 * k);
  }
  context.putImageData(image, 0, 0);
  canvas.style.imageRendering = "pixelated";
  if (height) canvas.style.height = height + "px"; else canvas.style.aspectRatio = `${columns} / ${rows}`;
}
function cellAt(event, canvas, rows, columns) {
  const box = canvas.getBoundingClientRect();
  const clamp = (v, n) => Math.min(n - 1, Math.max(0, Math.floor(v)));
  return [clamp((event.clientY - box.top) / box.height * rows, rows), clamp((event.clientX - box.left) / box.width * columns, columns)];
}
function keyedCell(event, [row, column], rows, columns) {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
  if (!step) return null;
  event.preventDefault();
  return [Math.min(rows - 1, Math.max(0, row + step[0])), Math.min(columns - 1, Math.max(0, column + step[1]))];
}
// The surface over class pairs in isometric view, far cells first; turned by dragging or with the arrow keys.
function surface(canvas, table, pairs, shade, turn) {
  const [values, size] = pooled(table, pairs, Math.ceil(pairs / 40));
  const ratio = Math.min(2, devicePixelRatio || 1), width = canvas.clientWidth, height = Math.round(width * .78);
  canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = height + "px";
  const context = canvas.getContext("2d"), colours = ramp(shade), sin = Math.sin(turn), cos = Math.cos(turn), unit = width / 1.55, tilt = .5;
  context.scale(ratio, ratio); context.clearRect(0, 0, width, height);
  const at = (i, j, z) => { const u = j / size - .5, v = i / size - .5; return [width / 2 + (u * cos - v * sin) * unit, height * .64 + (u * sin + v * cos) * unit * tilt - z * height * .38, u * sin + v * cos]; };
  const corners = [[0, 0], [0, size], [size, size], [size, 0]];
  context.strokeStyle = colour("--line"); context.lineWidth = 1;
  for (const z of [0, .5, 1]) { context.beginPath(); corners.forEach(([i, j], k) => { const [x, y] = at(i, j, z); k ? context.lineTo(x, y) : context.moveTo(x, y); }); context.closePath(); context.stroke(); }
  const cells = [];
  for (let i = 0; i < size; i++) for (let j = 0; j < size; j++) { const z = values[i * size + j]; if (!Number.isNaN(z)) cells.push([at(i + .5, j + .5, 0)[2], i, j, z]); }
  cells.sort((a, b) => a[0] - b[0]);
  const side = (i, j, z, di, dj, c) => { const q = [at(i, j, 0), at(i + di, j + dj, 0), at(i + di, j + dj, z), at(i, j, z)]; polygon(context, q, c); };
  for (const [, i, j, z] of cells) {
    const c = colours[Math.round(255 * Math.min(1, Math.max(0, z)))];
    // Only the two walls that face the reader, in darker tones of the top.
    side(i + (cos > 0 ? .96 : .04), j + .04, z, 0, .92, c.map(v => v * .78)); side(i + .04, j + (sin > 0 ? .96 : .04), z, .92, 0, c.map(v => v * .62));
    polygon(context, [at(i + .04, j + .04, z), at(i + .04, j + .96, z), at(i + .96, j + .96, z), at(i + .96, j + .04, z)], c);
  }
  context.fillStyle = colour("--soft"); context.font = "11px system-ui, sans-serif"; context.textAlign = "center";
  // The axes' names stand at the two edges in front, wherever the surface is turned.
  const name = (text, i, j) => { const [x, y] = at(i, j, 0); context.fillText(text, x, y + 14); };
  name("class of xⱼ", cos > 0 ? size * 1.09 : -size * .09, size / 2); name("class of xᵢ", size / 2, sin > 0 ? size * 1.09 : -size * .09);
}
// Blocks of neighbouring pairs as their mean: a landscape of more than 40 x 40 columns shows nothing more, and is slow.
function pooled(table, pairs, block) {
  const size = Math.ceil(pairs / block), sums = new Float32Array(size * size), counts = new Float32Array(size * size);
  for (let i = 0; i < pairs; i++) for (let j = 0; j < pairs; j++) {
    const k = Math.floor(i / block) * size + Math.floor(j / block), v = table[i * pairs + j];
    if (!Number.isNaN(v)) { sums[k] += v; counts[k]++; }
  }
  return [sums.map((s, k) => counts[k] ? s / counts[k] : NaN), size];
}
function polygon(context, points, c) {
  context.fillStyle = `rgb(${c.map(Math.round).join(",")})`;
  context.beginPath(); points.forEach(([x, y], k) => k ? context.lineTo(x, y) : context.moveTo(x, y)); context.closePath(); context.fill();
}
// Names along a matrix, as long as there is room for them.
function axisNames(id, names) {
  if (names.length > 20) return;
  if (names.every(name => name.length < 4)) document.getElementById(`${id}-columns`).classList.add("short");
  for (const side of ["rows", "columns"]) names.forEach(name => node("span", { title: name }, name, document.getElementById(`${id}-${side}`)));
}
