// A grid's page: rows are filtered by what is typed.
const filter = document.getElementById("filter"), controls = document.getElementById("controls");
function sift() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  document.querySelectorAll("section[data-task]").forEach(section => {
    let shown = 0;
    section.querySelectorAll("tbody tr").forEach(row => {
      const text = `${section.dataset.task} ${row.dataset.method}`.toLowerCase();
      row.hidden = !words.every(word => text.includes(word)) || (controls && !controls.checked && row.dataset.control !== "");
      shown += !row.hidden;
    });
    section.hidden = !shown;
  });
}
filter.addEventListener("input", sift);
controls?.addEventListener("change", sift);
setTheme(root.dataset.theme);
root.dataset.ready = "true";
