// A table: sorted, filtered, paged, and its rows in full.

export default {
  render: (given) => shown(given, (body, model, state) => {
    put(body, [hint([state.size, state.note].filter(Boolean).join(" · ")), frameTable(model, state.frame, { label: model.get("title") })]);
  }),
};
