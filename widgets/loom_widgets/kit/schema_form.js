// A form made from a schema, for panels that call tools.

/** The controls of the fields that `schema_forms.fields_of` describes: `.values()` returns texts and booleans by name. */
function schemaForm({ checkbox, field, h, select, short, textarea }, fields, label) {
  const controls = fields.map((item) => {
    const name = short(item.label, 200), hint = short(item.hint, 300);
    const control = item.kind === "flag" ? checkbox(name, { checked: item.value === true })
      : item.kind === "choice" ? select(name, [...(item.required ? [] : [["", "–"]]), ...item.choices.map((one) => [one, short(one)])], { hint })
        : item.kind === "json" ? textarea(name, { rows: 2, hint }) : field(name, { hint });
    if (item.kind !== "flag") control.value = item.kind === "choice" && item.required && !item.value ? item.choices[0] : item.value;
    return [item.name, control];
  });
  const node = h("div", { class: "loom-form", role: "group", "aria-label": label }, controls.map(([, control]) => control));
  node.values = () => Object.fromEntries(controls.map(([name, control]) => [name, control.value]));
  return node;
}
