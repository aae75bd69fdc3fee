// The WebSocket of an HTTP or AG-UI agent in the Test panel. Loaded when its part is opened.

export default ({ act, button, h, stop, textarea }, model, { form }) => {
  const open = button("Open a WebSocket", async () => {
    open.disabled = true;
    await act(model, "open_socket", form());
    show(false);
  });
  const close = button("Close it", () => stop(model, "socket"), { disabled: true });
  const message = textarea("Message", { rows: 2, placeholder: '{"prompt": "What is 2+2?"}', hint: "Sent unchanged. Press Ctrl+Enter to send." });
  const send = button("Send", async () => { if (message.value && await act(model, "send_socket", { text: message.value })) message.value = ""; message.control.focus(); }, { kind: "main", disabled: true });
  const show = (isOpen) => { open.disabled = isOpen; close.disabled = send.disabled = !isOpen; };
  message.control.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !send.disabled) { event.preventDefault(); send.click(); }
  });
  return { node: h("div", null, h("div", { class: "loom-row" }, open, close), h("div", { class: "loom-row" }, h("div", { class: "loom-wide" }, message)), h("div", { class: "loom-row" }, send)), show };
};
