export default { render: (view) => panel(view, () => {}) };
