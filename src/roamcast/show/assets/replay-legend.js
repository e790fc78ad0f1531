// What the marks mean: all of them in the panel, and in short, below the field, those that are seen now.

const MARKS = {
  node: [`<circle cx="12" cy="8" r="4.5" class="f-node"/>`, "node"],
  subscriber: [
    `<circle cx="12" cy="8" r="3.5" class="f-node"/><circle cx="12" cy="8" r="6.5" class="s-node"/>`,
    "subscribes",
  ],
  publisher: [`<rect x="7.5" y="3.5" width="9" height="9" class="f-node"/>`, "publishes"],
  asleep: [`<circle cx="12" cy="8" r="4.5" class="s-node"/>`, "asleep"],
  down: [`<path d="M8 4l8 8M8 12l8-8" class="s-soft"/>`, "down"],
  collision: [`<path d="M7 3l10 10M7 13l10-10M12 1v14M5 8h14" class="s-red"/>`, "lost by collision", "collision"],
  loss: [`<path d="M7 3l10 10M7 13l10-10" class="s-red"/>`, "lost otherwise", "other loss"],
  delivery: [`<circle cx="12" cy="8" r="6" class="s-green"/>`, "delivered"],
  has: [`<circle cx="12" cy="8" r="4.5" class="f-blue"/>`, "has it"],
  got: [
    `<circle cx="12" cy="8" r="3.5" class="f-green"/><circle cx="12" cy="8" r="6.5" class="s-green"/>`,
    "wanted it and got it",
    "got it",
  ],
  holds: [`<circle cx="12" cy="8" r="4.5" class="f-orange"/>`, "wants and has it, not yet delivered", "not yet delivered"],
  wants: [`<circle cx="12" cy="8" r="4.5" class="s-red"/>`, "wants it, has it not", "wants it"],
  other: [`<circle cx="12" cy="8" r="3.4" class="f-line"/>`, "has it not"],
  way: [`<path d="M2 8H22" class="s-blue"/>`, "its way"],
  wall: [`<path d="M12 1V15" class="s-red" stroke-dasharray="4 2"/>`, "wall: no frame passes"],
};

function symbol(draw) {
  const picture = `<svg viewBox="0 0 24 16" width="24" height="16" aria-hidden="true">${draw}</svg>`;
  return element("span", { class: "mark" }, new DOMParser().parseFromString(picture, "text/html").body.firstChild);
}

const marked = ([draw, text]) => element("li", {}, symbol(draw), text);

function frameMark({ kind, hue, dash }) {
  const line = `stroke="var(--${hue})" stroke-width="2" fill="none"`;
  return [
    `<path d="M1 8H16" ${line} stroke-dasharray="${dash.join(" ")}"/><path d="M14 2a8 8 0 0 1 0 12" ${line}/>`,
    `frame: ${kind}`,
    kind,
  ];
}

const nodeMarks = (run) => ["node", "subscriber", "publisher", ...absenceMarks(run)].map((name) => MARKS[name]);

// Only of what there is in this run.
function absenceMarks(run) {
  const states = new Set(run.absences.flat().map(([, , state]) => state));
  return ["asleep", "down"].filter((state) => states.has(state));
}

const outcomeMarks = ["collision", "loss", "delivery"].map((name) => MARKS[name]);
const eventMarks = ["has", "got", "holds", "wants", "other", "way"].map((name) => MARKS[name]);

function legend(run) {
  const wall = run.wall ? [MARKS.wall] : [];
  const groups = [
    ["nodes", nodeMarks(run)],
    ["frames", [...run.frames.map(frameMark), ...outcomeMarks, ...wall]],
    ["when an event is selected", eventMarks],
  ];
  return groups.map(([title, marks]) => [
    element("h3", {}, title),
    element("ul", { class: "legend" }, marks.map(marked)),
  ]);
}

// The line below the field.
function keyMarks(run, isEvent) {
  const marks = isEvent
    ? [...eventMarks.slice(0, 4), ...outcomeMarks.slice(0, 2)]
    : [...nodeMarks(run), ...run.frames.slice(0, 4).map(frameMark), ...outcomeMarks];
  return marks.map(([draw, text, short]) => [draw, short ?? text]);
}
