// Draws the report's specifications and lets a reader ask them: tips, legend, zoom, rows, CSV.
// The page is whole without it: answers, tables and pictures of networks are plain HTML.
(() => {
  "use strict";
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const figures = [...document.querySelectorAll("figure[data-chart]")];
  const tip = document.getElementById("tip");
  const spoken = document.getElementById("spoken");
  document.documentElement.classList.add("scripted");

  const base = {
    background: null,
    font: 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif',
    view: { stroke: null },
    axis: {
      labelColor: "var(--ink)", titleColor: "var(--ink)", domainColor: "var(--muted)",
      tickColor: "var(--muted)", gridColor: "var(--grid)", labelFontSize: 11, titleFontSize: 12,
      titleFontWeight: "normal", labelFontWeight: "normal", titlePadding: 7,
    },
    legend: { labelColor: "var(--ink)", titleColor: "var(--ink)", titleFontWeight: "normal" },
    text: { color: "var(--ink)" },
    path: {},
  };

  function config(width) {
    // Names of rows get up to two fifths of a narrow picture.
    const limit = Math.max(90, Math.min(280, 0.4 * width));
    return { ...base, axisY: { labelLimit: limit }, axisX: { tickCount: Math.max(3, Math.round(width / 70)) } };
  }

  class Panel {
    constructor(box, spec, figure) {
      this.box = box;
      this.spec = spec;
      this.figure = figure;
      this.at = -1;
      this.view = null;
    }

    draw() {
      if (this.view) return this.view;
      const spec = { ...this.spec, config: config(this.box.clientWidth || 400) };
      const logger = vega.logger(vega.Error);
      const compiled = vegaLite.compile(spec, { logger }).spec;
      this.view = new vega.View(vega.parse(compiled, null, { ast: true }), {
        expr: vegaInterpreter, renderer: "svg", logger, container: this.box, hover: true,
        tooltip: (_handler, event, item, value) => show(event, value),
      });
      this.view.addEventListener("click", (_event, item) => item && openRow(item.datum));
      this.view.signal("off", this.figure.off);
      this.view.run();
      this.box.classList.add("drawn");
      this.watch();
      return this.view;
    }

    set(name, value) {
      if (this.view) this.view.signal(name, value).run();
    }

    scale(which) {
      try { return this.view.scale(which); } catch { return null; }
    }

    // What a zoom shows of an axis: from and to are shares of its present length.
    span(which, from, to) {
      const scale = this.scale(which);
      if (!scale || !scale.invert) return null;
      const [start, end] = scale.range();
      const ends = [from, to].map((share) => scale.invert(start + share * (end - start)));
      return ends.sort((a, b) => a - b);
    }

    zoom(x, y) {
      const xd = x && this.span("x", ...x);
      const yd = y && this.span("y", ...y);
      if (xd) this.view.signal("xd", xd);
      if (yd) this.view.signal("yd", yd);
      this.view.run();
      this.box.classList.add("zoomed");
    }

    whole() {
      this.view.signal("xd", null).signal("yd", null).run();
      this.box.classList.remove("zoomed");
    }

    // A rectangle drawn with the mouse is what is shown next; touch scrolls the page as ever.
    watch() {
      const svg = this.box.querySelector("svg");
      if (!svg || !(this.span("x", 0, 1) || this.span("y", 0, 1))) return;
      let from = null;
      const frame = document.createElement("div");
      frame.className = "frame";
      const place = (event) => {
        const edge = svg.getBoundingClientRect();
        const [left, top] = this.view.origin();
        const clamp = (v, most) => Math.min(Math.max(v, 0), most);
        return [clamp(event.clientX - edge.left - left, this.view.width()),
          clamp(event.clientY - edge.top - top, this.view.height())];
      };
      svg.addEventListener("pointerdown", (event) => {
        if (event.pointerType === "mouse" && event.button === 0) from = place(event);
      });
      window.addEventListener("pointermove", (event) => {
        if (!from) return;
        const to = place(event);
        if (Math.hypot(to[0] - from[0], to[1] - from[1]) < 6) return;
        const [left, top] = this.view.origin();
        const inset = svg.getBoundingClientRect();
        const outer = this.box.getBoundingClientRect();
        frame.style.left = `${Math.min(from[0], to[0]) + left + inset.left - outer.left}px`;
        frame.style.top = `${Math.min(from[1], to[1]) + top + inset.top - outer.top}px`;
        frame.style.width = `${Math.abs(to[0] - from[0])}px`;
        frame.style.height = `${Math.abs(to[1] - from[1])}px`;
        this.box.append(frame);
        event.preventDefault();
      });
      window.addEventListener("pointerup", (event) => {
        if (!from) return;
        const to = place(event);
        const wide = Math.abs(to[0] - from[0]), high = Math.abs(to[1] - from[1]);
        const [width, height] = [this.view.width(), this.view.height()];
        const began = from;
        from = null;
        frame.remove();
        if (wide < 6 && high < 6) return;
        const x = [Math.min(began[0], to[0]) / width, Math.max(began[0], to[0]) / width];
        const y = [1 - Math.max(began[1], to[1]) / height, 1 - Math.min(began[1], to[1]) / height];
        this.zoom(wide >= 6 ? x : null, high >= 6 ? y : null);
      });
      svg.addEventListener("dblclick", () => this.whole());
    }

    // With the keyboard: from point to point, each told as pointing at it would.
    step(by) {
      this.draw();
      const off = new Set(this.figure.off);
      const marks = [];
      const gather = (item) => {
        if (item.tooltip && item.datum && !off.has(item.datum.variant)) marks.push(item);
        for (const each of item.items || []) gather(each);
      };
      gather(this.view.scenegraph().root);
      if (!marks.length) return;
      this.at = (this.at + by + marks.length) % marks.length;
      const item = marks[this.at];
      const bounds = item.bounds;
      const edge = this.box.querySelector("svg").getBoundingClientRect();
      const [left, top] = this.view.origin();
      show({ clientX: edge.left + left + (bounds.x1 + bounds.x2) / 2,
        clientY: edge.top + top + (bounds.y1 + bounds.y2) / 2 }, item.tooltip);
      spoken.textContent = tip.innerText.replace(/\n/g, ", ");
      this.chosen = item.datum;
    }
  }

  function show(event, value) {
    const told = value && typeof value === "object"
      ? Object.entries(value).filter(([, v]) => v !== null && v !== undefined && v !== "" && !["null", "undefined", "NaN"].includes(String(v)))
      : [];
    if (!told.length) { tip.hidden = true; return; }
    tip.replaceChildren(...told.flatMap(([name, text]) => {
      const [dt, dd] = [document.createElement("dt"), document.createElement("dd")];
      dt.textContent = name;
      dd.textContent = text;
      return [dt, dd];
    }));
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const right = event.clientX + 14 + width > document.documentElement.clientWidth;
    const left = right ? event.clientX - width - 14 : event.clientX + 14;
    const below = event.clientY + 14 + height > window.innerHeight;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, below ? event.clientY - height - 14 : event.clientY + 14)}px`;
  }

  // From a point to its row in the table of all points.
  function openRow(datum) {
    const row = datum && datum.point !== undefined && document.getElementById(`point-${datum.point}`);
    if (!row) return;
    for (let at = row; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    history.replaceState(null, "", `#point-${datum.point}`);
    document.querySelectorAll("tr.chosen").forEach((each) => each.classList.remove("chosen"));
    row.classList.add("chosen");
    row.scrollIntoView({ block: "center" });
    row.focus({ preventScroll: true });
    tip.hidden = true;
  }

  function setUp(element) {
    const name = element.dataset.chart;
    const figure = { element, off: [], panels: [] };
    element.querySelectorAll(".draw").forEach((box) => {
      const panel = new Panel(box, specs[name][Number(box.dataset.panel)], figure);
      figure.panels.push(panel);
      box.addEventListener("mouseleave", () => { tip.hidden = true; });
      box.addEventListener("blur", () => { tip.hidden = true; });
      box.addEventListener("keydown", (event) => keys(panel, event));
    });
    element.querySelectorAll("button.series").forEach((button) => {
      const label = button.dataset.series;
      button.addEventListener("click", () => {
        const off = button.getAttribute("aria-pressed") === "true";
        button.setAttribute("aria-pressed", String(!off));
        figure.off = [...element.querySelectorAll('button.series[aria-pressed="false"]')].map((b) => b.dataset.series);
        figure.panels.forEach((panel) => panel.set("off", figure.off));
      });
      const light = (value) => figure.panels.forEach((panel) => panel.set("lit", value));
      button.addEventListener("mouseenter", () => light(label));
      button.addEventListener("mouseleave", () => light(null));
    });
    element.querySelectorAll("button.zoom").forEach((button) => {
      button.addEventListener("click", () => figure.panels.forEach((panel) => zoomBy(panel, button.dataset.zoom)));
    });
    const csv = element.querySelector("button.csv");
    if (csv) csv.addEventListener("click", () => download(element, name));
    return figure;
  }

  function zoomBy(panel, how) {
    panel.draw();
    if (how === "whole") panel.whole();
    else panel.zoom(how === "in" ? [0, 0.6] : [0, 1.6], how === "in" ? [0, 0.6] : [0, 1.6]);
  }

  function keys(panel, event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (step) panel.step(step);
    else if (event.key === "Enter") openRow(panel.chosen);
    else if (event.key === "+") zoomBy(panel, "in");
    else if (event.key === "-") zoomBy(panel, "out");
    else if (event.key === "0" || event.key === "Escape") { zoomBy(panel, "whole"); tip.hidden = true; }
    else return;
    event.preventDefault();
  }

  // The table under the picture as CSV: what it shows is what it holds.
  function download(element, name) {
    const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);
    const rows = [...element.querySelectorAll(".data tr")];
    const lines = rows.map((row) => [...row.cells].map((cell) => quoted(cell.textContent.trim())).join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
    link.download = `${document.body.dataset.name}-${name}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const drawn = figures.map(setUp);
  const panels = drawn.flatMap((figure) => figure.panels);
  const byBox = new Map(panels.map((panel) => [panel.box, panel]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      byBox.get(entry.target).draw();
    }
  }, { rootMargin: "600px" });
  panels.forEach((panel) => seen.observe(panel.box));

  // On paper all pictures are there, at the width of the paper.
  const paper = window.matchMedia("print");
  const fit = () => panels.forEach((panel) => {
    panel.draw();
    const width = panel.box.clientWidth;
    if (width && Math.abs((panel.width || 0) - width) > 2) {
      panel.width = width;
      panel.view.signal("width", width).run();
    }
  });
  window.addEventListener("beforeprint", fit);
  paper.addEventListener("change", (event) => { if (event.matches) fit(); });
  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => panels.forEach((panel) => panel.view && panel.view.resize().run()), 120);
  });
  window.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // The rest while nothing else is to be done, so that search and print find all.
  const idle = window.requestIdleCallback || ((work) => setTimeout(work, 30));
  const rest = () => {
    const next = panels.find((panel) => !panel.view);
    if (!next) { document.documentElement.classList.add("all-drawn"); return; }
    next.draw();
    idle(rest);
  };
  idle(rest);
  const opened = () => {
    const at = location.hash.match(/^#point-(\d+)$/);
    if (at) openRow({ point: Number(at[1]) });
  };
  window.addEventListener("hashchange", opened);
  opened();
})();
