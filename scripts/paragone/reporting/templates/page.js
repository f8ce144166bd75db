// Behavior of the page: everything it shows comes with it; nothing is fetched.
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// What is large is packed: sections of runs, files.
async function unpack() {
  const bytes = Uint8Array.from(atob($("#packed").textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
let packed;
const contents = () => (packed ??= unpack());

const place = () => decodeURIComponent(location.hash.slice(1));

const dark = matchMedia("(prefers-color-scheme: dark)");
const darken = () => document.documentElement.classList.toggle("dark", dark.matches);
dark.addEventListener("change", darken);
darken();

// Tables: sorted, searched and paged by DataTables, each when it comes near. On narrow screens a row is a
// card, and its cells bear the names of their columns.
function nameCells(table) {
  const names = $$("th", table.tHead).map((cell) => cell.textContent);
  for (const row of table.tBodies[0].rows)
    [...row.cells].forEach((cell, at) => (cell.dataset.column = names[at]));
}
const watcher = new IntersectionObserver((entries) => {
  for (const { target } of entries.filter((one) => one.isIntersecting)) {
    watcher.unobserve(target);
    nameCells(target);
    const many = target.tBodies[0].rows.length > 12;
    new DataTable(target, { order: [], paging: many, info: many, pageLength: 12, lengthMenu: [12, 50, 200, { label: "All", value: -1 }], autoWidth: false });
  }
}, { rootMargin: "600px" });
for (const table of $$("table.data")) watcher.observe(table);

// Downloads, of what the page holds.
for (const button of $$("[data-file]")) button.addEventListener("click", async () => {
  const name = button.dataset.file, text = (await contents()).files[name];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: name.endsWith(".svg") ? "image/svg+xml" : "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // a browser may ask for a place first
});

// Sections of runs.
const dialog = $("#run");
async function go() {
  if (place().startsWith("run/")) {
    const body = (await contents()).runs[place().slice(4)];
    $("#run-body").innerHTML = body ?? `<h2 id="run-title">No such run here</h2>`;
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    return;
  }
  if (dialog.open) dialog.close();
  if (place()) document.getElementById(place())?.scrollIntoView();
}
let before = "";
addEventListener("hashchange", (event) => { before = new URL(event.oldURL).hash; go(); });
dialog.addEventListener("close", () => {
  if (place().startsWith("run/")) history.replaceState(null, "", before.startsWith("#run/") || !before ? "#top" : before);
});
go();
document.documentElement.dataset.ready = "true";
