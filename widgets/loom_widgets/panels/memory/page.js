// Small parts of the Memory panel's page.

const TIME = { key: "at", name: "when", kind: "time", width: "12em" };
const WORST = { problem: "bad", warning: "wait", note: "good" };
const NUM = { type: "number" }, MAIN = { kind: "main" };
const KINDS = [["semantic", "facts"], ["preferences", "preferences"], ["summary", "summaries"], ["episodic", "episodes"]];

/** The times of messages and extracted records: a lane for each speaker and for each strategy. */
function laneChart(lanes, label) {
  const L = 190, R = 14, ROW = 24, H = lanes.length * ROW + 26;
  const times = lanes.flatMap(([, marks]) => marks.map(([at]) => at));
  const first = times.reduce((a, b) => Math.min(a, b), Infinity), last = times.reduce((a, b) => Math.max(a, b), -Infinity);
  const picture = (W) => {
    const px = (at) => L + ((at - first) / Math.max(last - first, 1e-6)) * (W - L - R);
    const svg = s("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${label}: ${lanes.map(([name, marks]) => `${name} ${marks.length}`).join("; ")}` });
    lanes.forEach(([name, marks], i) => {
      const y = i * ROW + 13, colour = PALETTE[i % PALETTE.length];
      svg.append(s("text", { x: 0, y: y + 4 }, short(name, 30)), s("line", { x1: L, x2: W - R, y1: y, y2: y, class: "loom-grid" }));
      for (const [at, changed] of marks) svg.append(s("circle", { cx: px(at).toFixed(1), cy: y, r: 4.5, fill: changed ? "none" : colour, stroke: colour, "stroke-width": 1.5 }));
    });
    svg.append(s("text", { x: L, y: H - 4 }, formatTime(first)), s("text", { x: W - R, y: H - 4, "text-anchor": "end" }, formatTime(last)));
    return svg;
  };
  return h("figure", { class: "loom-chart" }, fitted(picture), hint("● written or extracted, ○ changed later. The table below shows the same data."));
}

function small(rows, columns, label, empty = "Nothing.") {
  return table({ rows, columns, label, empty, height: 200 });
}
const figure = (key) => ({ key, kind: "number", width: "7em" });
const words = (text) => h("pre", { tabindex: 0, style: { "max-height": "16em" } }, text);
const hint = (...children) => h("p", { class: "loom-hint" }, children);
const blank = (text) => h("p", { class: "loom-empty" }, text);
const p = (...children) => h("p", null, children);
/** The statement in a preference's JSON; other texts unchanged. */
const stated = (text) => { try { return JSON.parse(text).preference ?? text; } catch { return text; } };
const verdict = (good, yes, no) => statusDot(good ? yes : no, good ? "good" : "bad");
const TEXT = { key: "text", show: (item) => short(stated(item.text), 400) };
const head = (text) => h("h4", { style: { "margin-top": "12px" } }, text);
const certainty = (word) => statusDot(word, word === "stated" ? "good" : "wait");
const tab = (...children) => h("div", null, children);
