// Times, names and rows as people read them. Sentences of decisions come from the log's own protocol.

const grouped = (number) => Math.round(number).toLocaleString("en-US");

function clockOf(run, t, digits = 3) {
  if (!run.is_unix) return `${(t / 1e6).toFixed(digits)} s`;
  const date = new Date((run.begin_us + t) / 1e3);
  return `${date.toISOString().slice(11, 19)}.${String(Math.floor(((run.begin_us + t) / 1e3) % 1000)).padStart(3, "0")} UTC`;
}

// Three digits; 999.6 ms are 1.00 s.
function durationOf(us) {
  if (us < 999.5) return `${us.toFixed(0)} µs`;
  if (us < 999.5e3) return `${threeDigits(us / 1e3)} ms`;
  return `${threeDigits(us / 1e6)} s`;
}

const threeDigits = (number) => (number < 99.95 ? number.toPrecision(3) : grouped(number));

// From a kilometre on in kilometres.
const kilometres = (metres) => Number((metres / 1e3).toPrecision(3)).toLocaleString("en-US");
const lengthOf = (metres) => (metres < 999.5 ? `${grouped(metres)} m` : `${kilometres(metres)} km`);
const areaOf = (wide, high) =>
  Math.max(wide, high) < 999.5
    ? `${grouped(wide)} × ${grouped(high)} m`
    : `${kilometres(wide)} × ${kilometres(high)} km`;

const several = (number, noun) =>
  `${grouped(number)} ${number === 1 ? noun.replace(/(entr)ies$/, "$1y").replace(/s$/, "") : noun}`;

const named = (run, node) => `n${run.nodes[node]}`;

function frameOf(run, row, article = "a frame") {
  const event = run.rows.event[row];
  return event ? `${article} with ${run.events[event - 1].name}` : article;
}

// What happened, without the node to which it happened.
function deedOf(run, row) {
  const { rows, texts } = run;
  const text = texts[rows.text[row]];
  const peer = rows.peer[row] ? named(run, rows.peer[row] - 1) : "";
  const event = rows.event[row] ? run.events[rows.event[row] - 1].name : "";
  const content = rows.event[row] ? run.events[rows.event[row] - 1].content : "";
  switch (RULES.kinds[rows.kind[row]]) {
    case "publish":
      return `published ${event}: ${content}`;
    case "subscribe":
      return `subscribed: ${text}`;
    case "unsubscribe":
      return `unsubscribed: ${text}`;
    case "send":
      return `sent ${frameOf(run, row, `a frame (${text})`)} to ${peer || "all in range"}, ${grouped(rows.bytes[row])} bytes`;
    case "repeat":
      return `repeated ${frameOf(run, row)} to ${peer || "all in range"}`;
    case "receive":
      return `received ${frameOf(run, row, `a frame (${text})`)} from ${peer}`;
    case "overhear":
      return `overheard ${frameOf(run, row)} from ${peer}: ${text}`;
    case "lose":
      return `lost ${frameOf(run, row)} ${RULES.at_sender.includes(text) ? "to" : "from"} ${peer || "all in range"}: ${RULES.losses[text] ?? text}`;
    case "deliver":
      return `delivered ${event} to the application`;
    case "acknowledge":
      return `acknowledged a frame of ${peer}`;
    case "state":
      return `has ${several(rows.value[row], "entries")} in its tables, ${several(rows.bytes[row], "bytes")}`;
    case "sleep":
      return "fell asleep";
    case "wake":
      return "woke up";
    case "crash":
      return "crashed";
    case "recover":
      return "is back";
    default:
      return text; // a decision
  }
}

// ---- elements

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "click") made.addEventListener("click", value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(9).filter((child) => child !== null && child !== undefined));
  return made;
}
