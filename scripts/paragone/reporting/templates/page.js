// Behavior of the page: everything it shows comes with it; nothing is fetched.
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

// What is large is packed: sections of runs, charts, files.
async function unpack() {
  const bytes = Uint8Array.from(atob($("#packed").textContent), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
let packed;
const contents = () => (packed ??= unpack());

// The address: #place&figure.scale=log&figure.baseline=...&figure.hidden=a|b
function address() {
  const [place, ...pairs] = location.hash.slice(1).split("&");
  return { place: decodeURIComponent(place), state: new URLSearchParams(pairs.join("&")) };
}
function setAddress(place, state) {
  const text = state.toString();
  history.replaceState(null, "", `#${encodeURIComponent(place)}${text && "&"}${text}`);
}

// Interactive figures.
const DEFAULTS = { scale: "linear", baseline: "", hidden: "" };
function stateOf(id) {
  const { state } = address();
  return Object.fromEntries(Object.keys(DEFAULTS).map((key) => [key, state.get(`${id}.${key}`) ?? DEFAULTS[key]]));
}
function remember(id, values) {
  const { state } = address();
  for (const [key, value] of Object.entries(values))
    value === DEFAULTS[key] ? state.delete(`${id}.${key}`) : state.set(`${id}.${key}`, value);
  setAddress(id, state);
}
function configured(spec, { scale, baseline, hidden }, width) {
  const found = structuredClone(spec);
  for (const param of found.params) {
    if (param.name === "baseline") param.value = baseline;
    if (param.name === "hidden") param.value = hidden ? hidden.split("|") : [];
  }
  found.columns = width < 760 ? 1 : 2;
  if (width < 760) found.config.legend.columns = 1;
  const each = Math.max(150, Math.min(380, width / found.columns - 120));
  for (const panel of found.concat) {
    const names = panel.encoding.y?.type === "nominal" && panel.encoding.y.axis;
    if (names && width < 760) names.labelLimit = 110;
    panel.width = names && width < 760 ? Math.max(120, width - 160) : each;
    for (const { encoding = {} } of [panel, ...panel.layer])
      for (const channel of Object.values(encoding).flat())
        if (["shown", "start"].includes(channel.field)) {
          if (channel.scale && scale === "log") channel.scale = { type: "log", nice: false, padding: 8 };
          if (channel.scale && baseline) channel.title = `${channel.title}, relative to ${baseline}`;
        }
  }
  return found;
}
// The libraries of the charts are read when the first chart is asked for.
let libraries;
function charts() {
  return (libraries ??= new Promise((done) => {
    const script = document.createElement("script");
    script.textContent = $("#charts").textContent;
    document.head.append(script);
    done();
  }));
}
async function draw(details) {
  const id = details.dataset.chart, values = stateOf(id), chart = $(".chart", details);
  const spec = (await contents()).charts[id];
  await charts();
  await vegaEmbed($(".plot", chart), configured(spec, values, chart.clientWidth), { actions: false, renderer: "svg", logLevel: 1 });
  chart.dataset.ready = JSON.stringify(values);
}
function setControls(details) {
  const { scale, baseline, hidden } = stateOf(details.dataset.chart), form = $("form", details);
  const gone = hidden.split("|");
  form.elements.scale.value = scale;
  form.elements.baseline.value = baseline;
  for (const box of $$("[name=series]", form)) box.checked = !gone.includes(box.value);
}
for (const details of $$("details.interactive")) {
  const form = $("form", details), id = details.dataset.chart;
  details.addEventListener("toggle", () => { if (details.open) { setControls(details); draw(details); } });
  form.addEventListener("change", () => {
    const hidden = $$("[name=series]", form).filter((box) => !box.checked).map((box) => box.value).join("|");
    remember(id, { scale: form.elements.scale.value, baseline: form.elements.baseline.value, hidden });
    draw(details);
  });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    remember(id, DEFAULTS);
    setControls(details);
    draw(details);
  });
}

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

// Each drawing is an image of its own: the names in one do not meet those of another.
const drawn = contents().then(({ files }) => {
  for (const image of $$("img[data-drawing]"))
    image.src = URL.createObjectURL(new Blob([files[image.dataset.drawing]], { type: "image/svg+xml" }));
});

// Downloads, of what the page holds.
for (const button of $$("[data-file]")) button.addEventListener("click", async () => {
  const name = button.dataset.file, text = (await contents()).files[name];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: name.endsWith(".svg") ? "image/svg+xml" : "text/csv" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // a browser may ask for a place first
});

// Sections of runs, and places whose address carries the state of a figure.
const dialog = $("#run");
async function go() {
  const { place } = address();
  if (place.startsWith("run/")) {
    const name = place.slice(4), body = (await contents()).runs[name];
    $("#run-body").innerHTML = body ?? `<h2 id="run-title">No such run here</h2>`;
    if (!dialog.open) dialog.showModal();
    dialog.scrollTop = 0;
    return;
  }
  if (dialog.open) dialog.close();
  const target = place && document.getElementById(place);
  if (!target) return;
  const details = target.matches("figure") && $("details.interactive", target);
  if (details && !details.open && JSON.stringify(stateOf(place)) !== JSON.stringify(DEFAULTS)) details.open = true;
  target.scrollIntoView();
}
let before = "";
addEventListener("hashchange", (event) => { before = new URL(event.oldURL).hash; go(); });
dialog.addEventListener("close", () => {
  if (address().place.startsWith("run/")) history.replaceState(null, "", before.startsWith("#run/") || !before ? "#top" : before);
});
go();
await drawn;
document.documentElement.dataset.ready = "true";
