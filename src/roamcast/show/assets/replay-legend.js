// What the marks mean: all of them in the panel, and in short, below the field, those that are seen now.

const MARKS = {
  node: [`<circle cx="12" cy="8" r="4.5" class="f-node"/>`, "node"],
  subscriber: [
    `<circle cx="12" cy="8" r="3.5" class="f-node"/><circle cx="12" cy="8" r="6.5" class="s-node"/>`,
    "subscribes",
  ],
  publisher: [`<rect x="7.5" y="3.5" width="9" height="9" class="f-node"/>`, "publishes"],
  relay: [`<path d="M12 2l6 10H6z" class="f-node"/>`, "router, repeater"],
  asleep: [`<circle cx="12" cy="8" r="4.5" class="s-node"/>`, "asleep"],
  down: [`<path d="M8 4l8 8M8 12l8-8" class="s-soft"/>`, "down"],
  collision: [`<path d="M7 3l10 10M7 13l10-10M12 1v14M5 8h14" class="s-red"/>`, "lost by collision", "collision"],
  loss: [`<path d="M7 3l10 10M7 13l10-10" class="s-red"/>`, "lost otherwise", "other loss"],
  delivery: [`<circle cx="12" cy="8" r="6" class="s-green"/>`, "delivered"],
  source: [`<rect x="7.5" y="3.5" width="9" height="9" class="f-blue"/>`, "published it"],
  has: [`<circle cx="12" cy="8" r="4.5" class="f-blue"/>`, "has it"],
  got: [
    `<circle cx="12" cy="8" r="3.5" class="f-green"/><circle cx="12" cy="8" r="6.5" class="s-green"/>`,
    "wanted it and got it",
    "got it",
  ],
  holds: [`<circle cx="12" cy="8" r="4.5" class="f-orange"/>`, "wants and has it, not yet delivered", "not yet delivered"],
  wants: [`<circle cx="12" cy="8" r="4.5" class="s-red"/>`, "wants it, has it not", "wants it"],
  other: [`<circle cx="12" cy="8" r="3.4" class="f-idle"/>`, "has it not"],
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

// Only of what there is in these runs.
function nodeMarks(runs) {
  const states = new Set(runs.flatMap((run) => run.absences.flat().map(([, , state]) => state)));
  const isThere = {
    subscriber: runs.some((run) => sum(run.marksSubscribers)),
    publisher: runs.some((run) => sum(run.marksPublishers)),
    relay: runs.some((run) => sum(run.relays)),
    asleep: states.has("asleep"),
    down: states.has("down"),
  };
  return ["node", ...Object.keys(isThere).filter((name) => isThere[name])].map((name) => MARKS[name]);
}

// In place of marks that most nodes would have.
function nodesInWords(run) {
  const of = (marks) => (sum(marks) === run.visible ? "all" : `${sum(marks)} of ${run.visible}`);
  const parts = [
    sum(run.subscribers) && !sum(run.marksSubscribers) ? `${of(run.subscribers)} subscribe` : "",
    sum(run.publishers) && !sum(run.marksPublishers) ? `${of(run.publishers)} publish` : "",
  ].filter(Boolean);
  return inWords(parts.length ? `Of the nodes, ${parts.join(", and ")}: they have no marks.` : "");
}

const inWords = (text) => (text ? element("p", { class: "soft small" }, text) : null);

// A kind of frames looks alike in both runs.
function frameMarks(runs) {
  const kinds = new Map(runs.flatMap((run) => run.frames.map((look) => [look.kind, look])));
  return [...kinds.values()].map(frameMark);
}

const outcomeMarks = ["collision", "loss", "delivery"].map((name) => MARKS[name]);
const eventMarks = ["source", "has", "got", "wants", "holds", "other", "way"].map((name) => MARKS[name]);

function legend(runs) {
  const wall = runs.some((run) => run.wall) ? [MARKS.wall] : [];
  const groups = [
    ["nodes", nodeMarks(runs), nodesInWords(runs[0])],
    ["frames", [...frameMarks(runs), ...outcomeMarks, ...wall], inWords(runs[0].range_note)],
    ["when an event is selected", eventMarks],
  ];
  return groups.map(([title, marks, words]) => [
    element("h3", {}, title),
    element("ul", { class: "legend" }, marks.map(marked)),
    words,
  ]);
}

// The line below the field.
function keyMarks(runs, isEvent) {
  const marks = isEvent
    ? [...eventMarks.slice(0, 4), ...outcomeMarks.slice(0, 2)]
    : [...nodeMarks(runs), ...frameMarks(runs).slice(0, 4), ...outcomeMarks];
  return marks.map(([draw, text, short]) => [draw, short ?? text]);
}
