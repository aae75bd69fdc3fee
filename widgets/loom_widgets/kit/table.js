// Tables of any length.

const ROW_PX = 28, SETTLED_MS = 60;

/**
 * A table of any length: only the visible rows are in the page.
 *   columns  [{key, name, kind: "text" | "ms" | "number" | "score" | "time" | "status", width, show(row) → node or text, sort: false}]
 *   rows     the rows, or
 *   model + table  the name of a table that the kernel stores (`self.tables.put(name, rows)`): its pages are requested
 *   given    {rows, total}: its first page, if the view already has it (100 rows, or all)
 *   key      the column or columns that identify a row: the active row stays the same one when the rows are reloaded or
 *            sorted; without it, the active position stays
 *   onOpen(row)    called on click, Enter or Space of a row, at once or when the row has been loaded
 *   height   in px (default 280); empty: the sentence when there is no row; label: the table's name for screen readers
 * `.rows(list)` replaces rows; `.reload()` requests the rows again; `.toEnd()` scrolls down, `.goTo(index)` to a row; `.chosen` is the active row.
 */
function table({ columns, rows = null, model = null, table: name = "", given = null, key = [], onOpen = null, height = 280, empty = "No rows yet.", label = "table" }) {
  let local = rows ?? [], total = local.length, sort = "", down = false, active = -1, firstRow = -1, asked = 0, frame = 0, settling = 0, wanted = [], later = 0, drawnAt = 0, near = -1, sought = null, known = false, opens = false;
  const pages = new Map(), fresh = new Set(), keys = [key].flat();
  const PAGE = 100;
  const body = h("tbody");
  const above = h("tr", { "aria-hidden": "true", class: "loom-space" }, h("td", { colspan: columns.length }));
  const below = h("tr", { "aria-hidden": "true", class: "loom-space" }, h("td", { colspan: columns.length }));
  const heads = columns.map((column) => {
    const head = h("th", { scope: "col", class: `loom-${column.kind ?? "text"}`, style: column.width ? { width: column.width } : {} });
    if (column.sort === false) return put(head, column.name ?? column.key);
    return put(head, h("button", { type: "button", class: "loom-sort", onclick: () => order(column.key) }, column.name ?? column.key));
  });
  const none = h("p", { class: "loom-empty" }, empty);
  const grid = h("table", {
    class: "loom-table", role: "grid", "aria-label": label, tabindex: 0, "aria-colcount": columns.length,
    style: { "min-width": `${columns.length * 7.5}em` },
  }, h("thead", null, h("tr", { "aria-rowindex": 1 }, heads)), body);
  const scroller = h("div", { class: "loom-scroll", style: { "max-height": `${height}px` } }, grid);
  const node = h("div", { class: "loom-tablebox" }, scroller, none);
  const rowIds = newId("row");

  const at = (index) => model ? pages.get(Math.floor(index / PAGE))?.[index % PAGE] : local[index];
  const cell = (column, row) => {
    if (column.show) return column.show(row);
    const value = row[column.key];
    if (column.kind === "ms") return formatMs(value);
    if (column.kind === "number") return formatNumber(value);
    if (column.kind === "score") return formatScore(value);
    if (column.kind === "time") return formatTime(value);
    if (column.kind === "status") return statusDot(String(value ?? "–"));
    return short(value ?? "–", 400);
  };
  const idOf = (row) => row && keys.length ? Object.fromEntries(keys.map((key) => [key, row[key] ?? null])) : null;
  const inSight = (index) => index * ROW_PX >= scroller.scrollTop && (index + 2) * ROW_PX <= scroller.scrollTop + scroller.clientHeight;
  // The active row has another position now, or (-1) no longer exists: then none is chosen, and arrows continue from there.
  const place = (index) => {
    const was = active, moves = index >= 0 && was >= 0 && inSight(was);
    active = index;
    if (index < 0) { if (was >= 0) near = was - 1; node.chosen = null; }
    draw(true);
    if (moves && !inSight(index)) scroller.scrollTop += (index - was) * ROW_PX;
  };
  const ask = async (page) => {
    if (fresh.has(page)) return;
    fresh.add(page);
    const mine = asked;
    const reply = await act(model, "page", { table: name, from: page * PAGE, count: PAGE, sort, down, find: sought, near: active });
    if (mine !== asked) return;
    if (!reply) return void fresh.delete(page);
    // Former rows stay visible until the rows that replace them have arrived.
    for (const number of pages.keys()) if (!fresh.has(number)) pages.delete(number);
    pages.set(page, reply.rows);
    known = true;
    total = reply.total;
    if (sought) { sought = null; place(reply.at ?? -1); } else if (active >= total) place(-1); else draw(true);
    if (opens && at(active)) open();
  };
  const draw = (again = false) => {
    none.hidden = total > 0;
    scroller.hidden = total === 0;
    const seen = Math.ceil((scroller.clientHeight || height) / ROW_PX);
    const first = Math.max(0, Math.min(Math.floor(scroller.scrollTop / ROW_PX) - 6, total - seen - 12));
    if (first === firstRow && !again) return;
    firstRow = first;
    drawnAt = performance.now();
    const last = Math.min(total, first + seen + 12);
    if (model) {
      // Pages that are only scrolled past are not requested.
      wanted = [];
      for (let page = Math.floor(first / PAGE); page <= Math.floor(Math.max(first, last - 1) / PAGE); page += 1) wanted.push(page);
      clearTimeout(settling);
      if (again) wanted.forEach(ask); else settling = setTimeout(() => wanted.forEach(ask), SETTLED_MS);
    }
    const made = [];
    for (let i = first; i < last; i += 1) {
      const row = at(i);
      made.push(h("tr", {
        id: `${rowIds}-${i}`, role: "row", "aria-rowindex": i + 2, "aria-selected": onOpen ? String(i === active) : null,
        class: `${i === active ? "loom-active" : ""} ${onOpen ? "loom-opens" : ""} ${i % 2 ? "loom-odd" : ""}`, "data-index": i,
      }, columns.map((column) => {
        const content = row ? cell(column, row) : "…";
        const title = typeof content === "string" && content.length > 12 ? content : null;  // the text may be cut off
        return h("td", { role: "gridcell", class: `loom-${column.kind ?? "text"}`, title }, content);
      })));
    }
    above.firstChild.style.height = `${first * ROW_PX}px`;
    below.firstChild.style.height = `${Math.max(0, total - last) * ROW_PX}px`;
    above.hidden = first === 0;
    below.hidden = last === total;
    body.replaceChildren(above, ...made, below);
    if (active >= 0) node.chosen = at(active) ?? node.chosen;
    if (active >= first && active < last) grid.setAttribute("aria-activedescendant", `${rowIds}-${active}`);
    else grid.removeAttribute("aria-activedescendant");
    grid.setAttribute("aria-rowcount", String(total + 1));
  };
  const order = (key) => {
    down = sort === key ? !down : false;
    sort = key;
    heads.forEach((head, i) => columns[i].key === key
      ? head.setAttribute("aria-sort", down ? "descending" : "ascending") : head.removeAttribute("aria-sort"));
    if (!model) return sorted(local[active]);
    if (!keys.length) { active = -1; node.chosen = null; }
    node.reload();
  };
  const sorted = (kept) => {
    if (sort) local = [...local].sort((a, b) => compare(a[sort], b[sort], down));
    const id = JSON.stringify(idOf(kept));
    place(kept ? local.findIndex((row) => row === kept || (keys.length && JSON.stringify(idOf(row)) === id)) : -1);
  };
  const open = () => {
    opens = !at(active);
    if (!opens) onOpen(at(active));
  };
  const choose = (index) => {
    opens = false;
    active = Math.max(0, Math.min(index, total - 1));
    node.chosen = sought = null;
    const top = active * ROW_PX, room = scroller.clientHeight - 2 * ROW_PX;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top > scroller.scrollTop + room) scroller.scrollTop = top - room;
    draw(true);
  };
  grid.addEventListener("keydown", (event) => {
    if (event.target !== grid) return;
    const seen = Math.max(1, Math.floor(scroller.clientHeight / ROW_PX) - 2);
    const from = active >= 0 ? active : near;
    const to = { ArrowDown: from + 1, ArrowUp: from - 1, PageDown: from + seen, PageUp: from - seen, Home: 0, End: total - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); event.stopPropagation(); choose(to); }
    else if ((event.key === "Enter" || event.key === " ") && onOpen && active >= 0) {
      event.preventDefault();
      event.stopPropagation();
      open();
    }
  });
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-index]");
    if (!row || event.target.closest("button,a,input,select")) return;
    choose(Number(row.dataset.index));
    if (onOpen) open();
  });
  scroller.addEventListener("scroll", () => {
    if (!frame) frame = requestAnimationFrame(() => {
      frame = 0;
      // Not all rows are drawn while scrolling: in a page as large as JupyterLab, the layout of new rows takes long.
      const flies = Math.abs(scroller.scrollTop / ROW_PX - firstRow) > 60 && performance.now() - drawnAt < 150;
      clearTimeout(later);
      if (flies) later = setTimeout(draw, SETTLED_MS); else draw();
    });
  });
  scroller.addEventListener("loom-shown", () => draw(true));
  node.rows = (list) => {
    const kept = local[active], index = active < list.length ? active : -1;
    local = list;
    total = list.length;
    if (keys.length || sort) sorted(kept); else place(index);
  };
  node.reload = () => {
    asked += 1;
    fresh.clear();
    sought = active >= 0 ? idOf(node.chosen) : null;
    if (!known) total ||= 1;
    draw(true);
  };
  node.goTo = async (index) => {
    const page = Math.floor(index / PAGE);
    const reply = model && await act(model, "page", { table: name, from: page * PAGE, count: PAGE, sort, down });
    if (reply) { pages.set(page, reply.rows); fresh.add(page); known = true; total = reply.total; sought = null; draw(true); }
    if (index < total) choose(index);
  };
  node.toEnd = () => { scroller.scrollTop = scroller.scrollHeight; draw(true); };
  node.chosen = null;
  if (given) { pages.set(0, given.rows); fresh.add(0); known = true; total = given.total; }
  if (model && !given) node.reload(); else draw(true);
  return node;
}

function compare(a, b, down) {
  const nothing = (value) => value === null || value === undefined || value === "" || Number.isNaN(value);
  if (nothing(a) || nothing(b)) return Number(nothing(a)) - Number(nothing(b));
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  return down ? -order : order;
}
