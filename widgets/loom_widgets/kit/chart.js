// Charts as small SVG.

const SIGNS = ["●", "■", "◆", "✚", "▲", "★"];

/** Charts as small SVG, each with its numbers as a table behind "Show as table". */
const chart = {
  /** `series: [{name, points: [[x, y], …]}]`; `x: {name, kind}`, `y: {name, kind}` with kind time, ms or number. */
  line: (options) => drawn("line", options),
  dots: (options) => drawn("dots", options),
  /** `bars: [{name, value}]`, `y: {name, kind}`. */
  bars: ({ bars, y = {}, ...rest }) => drawn("bars", { ...rest, y, series: [{ name: y.name ?? "value", points: bars.map((bar, i) => [i, bar.value]) }], names: bars.map((bar) => bar.name) }),
};

function shownAs(kind, value) { return kind === "ms" ? formatMs(value) : kind === "time" ? formatTime(value) : formatNumber(value); }

function ticks(low, high, count = 4) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((item) => item * power).find((item) => item >= raw);
  const result = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) result.push(at);
  return result;
}

function drawn(form, { title, series, x = {}, y = {}, names = null, height = 180, empty = "No data yet." }) {
  const good = series.map((item) => ({ ...item, points: item.points.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b)) }));
  const all = good.flatMap((item) => item.points);
  const figure = h("figure", { class: "loom-chart" }, title && h("figcaption", null, title));
  if (!all.length) return put(figure, h("p", { class: "loom-empty" }, empty));
  const H = height, L = 64, R = 12, T = 8, B = 30;
  let W = 640;
  const extent = (values) => values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);
  let [x0, x1] = extent(all.map(([a]) => a));
  if (form === "bars") [x0, x1] = [-0.5, names.length - 0.5];
  if (x0 === x1) { x0 -= 0.5; x1 += 0.5; }
  const y1 = Math.max(1e-9, extent(all.map(([, b]) => b))[1]) * 1.05, y0 = Math.min(0, extent(all.map(([, b]) => b))[0]);
  const px = (value) => L + ((value - x0) / (x1 - x0)) * (W - L - R);
  const py = (value) => H - B - ((value - y0) / (y1 - y0)) * (H - T - B);
  const said = good.map((item) => {
    const [low, high] = extent(item.points.map(([, b]) => b));
    return `${item.name}: ${item.points.length} values from ${shownAs(y.kind, low)} to ${shownAs(y.kind, high)}`;
  }).join("; ");
  const picture = (width) => {
    W = width;
    const svg = s("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${title ?? "chart"}. ${said}` });
    for (const tick of ticks(y0, y1)) {
      svg.append(s("line", { x1: L, x2: W - R, y1: py(tick), y2: py(tick), class: "loom-grid" }),
        s("text", { x: L - 6, y: py(tick) + 4, "text-anchor": "end" }, shownAs(y.kind, tick)));
    }
    if (names) names.slice(0, 24).forEach((name, i) => svg.append(s("text", { x: px(i), y: H - 10, "text-anchor": "middle" }, short(name, 16))));
    else [[x0, "start"], [x1, "end"]].forEach(([at, anchor]) => svg.append(s("text", { x: px(at), y: H - 10, "text-anchor": anchor }, shownAs(x.kind, at))));
    good.forEach((item, i) => {
      const colour = PALETTE[i % PALETTE.length];
      const points = item.points;
      if (form === "line") svg.append(s("polyline", { points: points.map(([a, b]) => `${px(a).toFixed(1)},${py(b).toFixed(1)}`).join(" "), fill: "none", stroke: colour, "stroke-width": 2 }));
      if (form === "bars") for (const [a, b] of points) svg.append(s("rect", { x: px(a - 0.35), width: Math.max(1, px(a + 0.35) - px(a - 0.35)), y: Math.min(py(b), py(0)), height: Math.abs(py(0) - py(b)), fill: colour }));
      else if (form === "dots" || points.length < 60) for (const [a, b] of points.slice(-2000)) svg.append(s("circle", { cx: px(a), cy: py(b), r: 3, fill: colour }));
    });
    return svg;
  };
  const legend = good.length > 1 && h("p", { class: "loom-legend" }, good.map((item, i) => h("span", null,
    h("span", { "aria-hidden": "true", style: { color: PALETTE[i % PALETTE.length] } }, SIGNS[i % SIGNS.length]), ` ${item.name}  `)));
  const rows = good.flatMap((item) => item.points.map(([a, b]) => ({ series: item.name, x: names ? names[a] : a, y: b })));
  const numbers = h("details", { class: "loom-numbers" }, h("summary", null, "Show as table"));
  numbers.addEventListener("toggle", () => {
    if (!numbers.open || numbers.childElementCount > 1) return;
    numbers.append(table({
      label: title ?? "the chart's numbers", rows,
      columns: [...(good.length > 1 ? [{ key: "series" }] : []), { key: "x", name: x.name ?? "x", kind: names ? "text" : x.kind ?? "number" }, { key: "y", name: y.name ?? "value", kind: y.kind ?? "number" }],
    }));
  });
  return put(figure, [fitted(picture), legend, numbers]);
}
