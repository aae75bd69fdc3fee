// A trace that a cell shows.

export default {
  render: (given) => shown(given, (body, model, state) => { put(body, [traceView(model, state.trace)]); }),
};
