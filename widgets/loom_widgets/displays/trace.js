// A trace shown by a cell.

export default {
  render: (given) => shown(given, (body, model, state) => { put(body, [traceView(model, state.trace)]); }),
};
