// Formats of numbers, durations, shares, money and times: the same strings as loomlib.presentation.formats gives, with a
// no-break space between a number and its unit, as loomlib.presentation.html inserts them.

const THOUSANDS = /\B(?=(\d{3})+(?!\d))/g, MISSING = "–";

const UNIT_SPACE = /(?<=\d) (?=(?:ms|s|min|h|B|kB|MB|GB|TB|%|points?)(?![\w%]))|(?<=\d min) (?=\d\d s\b)|(?<=\d h) (?=\d\d min\b)/g;

/** Joins numbers with their units by no-break spaces in one of Loom's own sentences: `318 ms`, `2 min 05 s`, `42 %`. */
function unbroken(text) { return typeof text === "string" ? text.replace(UNIT_SPACE, "\u00a0") : text; }

/** The value as a number, or the text shown in its place when it is missing or infinite. */
function numeric(value) {
  const result = value === null || value === undefined || value === "" ? NaN : Number(value);
  if (Number.isFinite(result)) return [result, null];
  return [result, Number.isNaN(result) ? MISSING : result > 0 ? "∞" : "−∞"];
}
function fixed(value, decimals) {
  const [whole, rest] = Math.abs(value).toFixed(decimals).split(".");
  const text = whole.replace(THOUSANDS, "\u202f") + (rest ? `.${rest}` : "");
  return value < 0 && /[1-9]/.test(text) ? `−${text}` : text;
}
function withoutZeros(text, least) {
  const [whole, rest = ""] = text.split(".");
  const kept = rest.replace(/0+$/, "").padEnd(least, "0");
  return kept ? `${whole}.${kept}` : whole;
}
function decimalsOf(size) {
  if (Number.isInteger(size)) return 0;
  if (size < 0.1) return size >= 0.01 ? 3 : size >= 0.001 ? 4 : 5;
  if (size < 1 && Number(size.toFixed(2)) < 1) return 2;
  return Number(size.toFixed(1)) < 100 ? 1 : 0;
}

/** A number with sensible digits: `0.042`, `6.1`, `318`, `12 345`, `4.2e−5`. */
function formatNumber(value, decimals = null) {
  const [result, special] = numeric(value), size = Math.abs(result);
  if (special !== null) return special;
  if (decimals !== null) return fixed(result, decimals);
  if (size && (size < 1e-4 || size >= 1e15)) {
    const [digits, exponent] = size.toExponential(1).split("e");
    return `${result < 0 ? "−" : ""}${digits.replace(".0", "")}e${String(Number(exponent)).replace("-", "−")}`;
  }
  const text = fixed(result, decimalsOf(size));
  return size && size < 0.1 ? withoutZeros(text, 2) : text;
}

/** A duration given in ms: `6.1 ms`, `318 ms`, `2.35 s`, `2 min 05 s`, `1 h 12 min`. */
function formatMs(value) {
  const [result, special] = numeric(value), size = Math.abs(result), s = result / 1000;
  if (special !== null) return special;
  if (size < 999.5) return `${formatNumber(result)}\u00a0ms`;
  if (Number((size / 1000).toFixed(1)) < 60) return `${fixed(s, Number.isInteger(s) ? 0 : Number(Math.abs(s).toFixed(2)) < 10 ? 2 : 1)}\u00a0s`;
  const whole = Number((size / 1000).toFixed(0)), sign = result < 0 ? "−" : "", two = (count) => String(count).padStart(2, "0");
  if (whole < 3600) return `${sign}${Math.floor(whole / 60)}\u00a0min\u00a0${two(whole % 60)}\u00a0s`;
  const minutes = Math.floor(size / 60000 + 0.5);
  return `${sign}${fixed(Math.floor(minutes / 60), 0)}\u00a0h\u00a0${two(minutes % 60)}\u00a0min`;
}

/** A share of 1 as a percentage: `0 %`, `<0.01 %`, `4.4 %`, `93.5 %`, `99.96 %`, `100 %`. */
function formatShare(value) {
  const [result, special] = numeric(value);
  if (special !== null) return special === MISSING ? special : `${special} %`;
  const percent = result * 100, size = Math.abs(percent), sign = percent < 0 ? "−" : "";
  const decimals = (size > 0 && size < 0.1) || (size > 99.9 && size < 100) ? 2 : 1, rounded = Number(size.toFixed(decimals));
  if (size >= 1e15) return `${formatNumber(percent)}\u00a0%`;
  if (size && !rounded) return `${sign ? ">" : "<"}${sign}0.01\u00a0%`;
  if (size < 100 && rounded >= 100) return `${sign ? "<" : ">"}${sign}99.99\u00a0%`;
  return `${withoutZeros(fixed(percent, decimals), 0)}\u00a0%`;
}

/** Dollars: two decimals, and below 10 cents two significant digits. */
function formatMoney(value) {
  const [result, special] = numeric(value), size = Math.abs(result), sign = result < 0 ? "−" : "";
  if (special !== null) return special;
  if (size && !Number(size.toFixed(6))) return `${sign ? ">" : "<"}${sign}$0.000001`;
  const decimals = !size || size >= 0.1 ? 2 : size < 1e-4 ? 6 : decimalsOf(size);
  return `${sign}$${withoutZeros(fixed(size, decimals), 2)}`;
}

/** A score: three decimals from −1 to 1. */
function formatScore(value) {
  const [result, special] = numeric(value);
  return formatNumber(value, special !== null || Math.abs(result) > 1 || (result && !Number(result.toFixed(3))) ? null : 3);
}

/** A count with its noun: `1 call`, `3 calls`. */
function plural(count, noun, nouns = `${noun}s`) { return `${formatNumber(count)} ${count === 1 ? noun : nouns}`; }

/** A moment (Unix seconds, or ISO 8601) in the reader's own time. */
function formatTime(value) {
  if (value === null || value === undefined || value === "") return MISSING;
  const date = typeof value === "number" ? new Date(value * 1000) : new Date(value);
  if (Number.isNaN(date.getTime())) return String(value);
  const two = (n) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `
    + `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
