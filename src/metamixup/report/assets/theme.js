"use strict";
// Light and dark, redrawing of canvases, and the epoch that all charts point at.
const root = document.documentElement;
const data = JSON.parse(document.getElementById("data").textContent);
const redraws = [];
const colour = name => getComputedStyle(root).getPropertyValue(name).trim();

// What is registered is drawn by the first setTheme, at the end of the page's own script.
function drawing(draw) { redraws.push(draw); }
function setTheme(theme) {
  root.dataset.theme = theme;
  const button = document.getElementById("theme");
  if (button) { button.setAttribute("aria-pressed", theme === "dark"); button.textContent = theme === "dark" ? "Light" : "Dark"; }
  redraws.forEach(draw => draw());
}
const system = matchMedia("(prefers-color-scheme: dark)");
let chosen = null;
document.getElementById("theme").addEventListener("click", () => { chosen = root.dataset.theme === "dark" ? "light" : "dark"; setTheme(chosen); });
system.addEventListener("change", () => { if (!chosen) setTheme(system.matches ? "dark" : "light"); });
// Paper is white: print in light colours whatever the screen shows.
let screenTheme = null;
addEventListener("beforeprint", () => { screenTheme = root.dataset.theme; document.querySelectorAll("details").forEach(d => { d.open = true; }); setTheme("light"); });
addEventListener("afterprint", () => setTheme(screenTheme || "light"));
let resizing = 0;
addEventListener("resize", () => { cancelAnimationFrame(resizing); resizing = requestAnimationFrame(() => redraws.forEach(draw => draw())); });

const cursor = { epoch: null, listeners: [], set(epoch) { this.epoch = epoch; this.listeners.forEach(listen => listen(epoch)); } };

function node(tag, attributes = {}, text = null, parent = null) {
  const svg = ["svg", "path", "line", "rect", "text", "g", "circle"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}
function short(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e5)) return value.toExponential(1);
  return String(Number(value.toPrecision(digits)));
}
function bytes(base64) {
  const text = atob(base64), out = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) out[k] = text.charCodeAt(k);
  return out;
}
