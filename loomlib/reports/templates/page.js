// Inflates plotly.js, then draws each figure in place, in the page's own colours, and again when these change.
(async () => {
  const library = document.getElementById("chart-library");
  const message = document.getElementById("no-charts");
  message.hidden = true;
  try {
    const bytes = Uint8Array.from(atob(library.textContent.trim()), (char) => char.charCodeAt(0));
    const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(inflated).text();
    document.head.append(script);  // runs at once; the page's policy allows it by its hash
    library.remove();
  } catch (error) {
    message.hidden = false;
    throw error;
  }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const figures = [];
  const theme = (data, layout, forPrint) => {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => (forPrint ? { ink: "#1f1f1f", soft: "#616161", line: "#e0e0e0" }[name] : style.getPropertyValue("--" + name).trim());
    const themed = {
      ...layout,
      autosize: true,
      margin: { l: 64, r: 16, b: 48, ...(layout.margin || {}), t: 16 },
      width: undefined,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { ...(layout.font || {}), family: style.getPropertyValue("--font").trim(), color: colour("ink") },
    };
    if (layout.height) themed.height = layout.height - Math.max(0, (layout.margin?.t ?? 100) - 16);
    if (innerWidth < 640) {
      // Below the drawing, where entries on several lines cover nothing.
      themed.legend = { ...(layout.legend || {}), orientation: "h", x: 0, y: 0, yref: "container", yanchor: "bottom" };
      themed.margin = { ...themed.margin, l: 48, b: 48 + 24 * Math.min(data.length, 5) };
      if (themed.height) themed.height += 60;
    }
    for (const key of Object.keys(layout)) {
      if (/^[xy]axis\d*$/.test(key)) {
        themed[key] = { automargin: true, ...layout[key], gridcolor: colour("line"), zerolinecolor: colour("line"), linecolor: colour("line"), tickcolor: colour("line") };
      }
    }
    return themed;
  };
  const draw = ({ node, data, layout, config }, forPrint = false) => {
    const themed = theme(data, layout, forPrint);
    if (themed.height) node.style.minHeight = `${themed.height}px`;
    Plotly.react(node, data, themed, { responsive: true, displayModeBar: false, ...config });
  };
  for (const node of document.querySelectorAll(".figure")) {
    const source = node.querySelector("script");
    const figure = { node, ...JSON.parse(source.textContent) };
    source.remove();
    figures.push(figure);
    draw(figure);
  }
  dark.addEventListener("change", () => figures.forEach((figure) => draw(figure)));
  addEventListener("beforeprint", () => figures.forEach((figure) => draw(figure, true)));
  addEventListener("afterprint", () => figures.forEach((figure) => draw(figure)));
})();
