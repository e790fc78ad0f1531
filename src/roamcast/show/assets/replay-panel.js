// Beside the field: the run, a node or an event, at the time that is shown.

const MOST_LINES = 60;
const MOST_EVENTS = 300;
const EVENT_LINE = "Each with the time of its publication, and how many of the nodes that wanted it got it in the end.";
const COUNTED = [
  ["published", "events published"],
  ["delivered", "deliveries"],
  ["sent", "frames sent"],
  ["lost", "receptions lost"],
  ["collisions", "of these by collision"],
];

class Panel {
  constructor(runs, player) {
    Object.assign(this, { runs, player });
    this.content = document.getElementById("content");
    this.tabs = Object.fromEntries(
      ["run", "node", "event"].map((name) => [name, document.getElementById(`tab-${name}`)]),
    );
    this.filter = "";
    this.decisionsOnly = false;
    for (const [name, tab] of Object.entries(this.tabs)) tab.addEventListener("click", () => this.show(name));
    this.tab = "run";
  }

  show(tab) {
    this.tab = tab;
    this.content.scrollTop = 0;
    this.update(true);
  }

  // While the run plays, only what changes with time is made again.
  update(isNew = false) {
    for (const [name, tab] of Object.entries(this.tabs)) tab.setAttribute("aria-selected", String(name === this.tab));
    if (isNew) {
      const sections = this.runs.map((run) => this.section(run));
      const isEvent = this.tab === "event" && this.player.event !== null;
      const name = isEvent ? "compared" : this.tab === "run" ? "runsCompared" : "";
      if (this.runs.length > 1 && name) sections[0].prepend(element("div", { class: "compared", "data-now": name }));
      this.content.replaceChildren(...sections);
    }
    for (const run of this.runs) this.refresh(run);
  }

  // The marks below the field: those of the selected event, or of everything.
  key() {
    const isEvent = this.runs.some((run) => this.player.eventIn(run) !== null);
    const marks = keyMarks(this.runs, isEvent);
    const list = document.getElementById("key");
    const texts = marks.map(([, text]) => text).join();
    if (list.dataset.key === texts) return;
    list.dataset.key = texts;
    list.replaceChildren(...marks.map(marked));
  }

  section(run) {
    const title = this.runs.length > 1 ? element("p", { class: "kicker" }, `${run.number + 1} · ${shortTitle(this.runs, run)}`) : null;
    const make = { run: () => this.aboutRun(run), node: () => this.aboutNode(run), event: () => aboutEvent(this, run) }[
      this.tab
    ];
    return element("section", { "data-run": run.number }, title, make());
  }

  refresh(run) {
    const place = this.content.querySelector(`[data-run="${run.number}"]`);
    const t = this.player.t;
    for (const slot of place.querySelectorAll("[data-now]")) {
      const made = this.now[slot.dataset.now](this, run, t, slot);
      const key = typeof made === "string" ? made : made.key;
      if (slot.dataset.key === key) continue;
      slot.dataset.key = key;
      slot.replaceChildren(...(typeof made === "string" ? [made] : made.children()));
    }
  }

  // ---- the run

  aboutRun(run) {
    if (run.live) return aboutLive(run);
    const facts = run.metrics.map(([title, value, note]) => [
      element("dt", {}, title),
      element("dd", {}, element("b", {}, value), /^\d/.test(note) ? ` · ${note}` : ` ${note}`),
    ]);
    const params = Object.entries(run.params)
      .map(([name, value]) => `${name} = ${value}`)
      .join(", ");
    return [
      facts.length ? element("dl", { class: "facts" }, facts) : null,
      params ? element("p", { class: "soft small" }, params) : null,
      element("h2", {}, "So far"),
      countsTable(run),
      run.number ? null : [element("h2", {}, "What is drawn"), legend(this.runs)],
      element("h2", {}, `Events (${grouped(run.events.length)})`),
      this.searchField(),
      element("p", { class: "soft small" }, EVENT_LINE),
      element("div", { class: "list", "data-now": "events" }),
    ];
  }

  searchField() {
    const field = element("input", {
      type: "search",
      placeholder: "name or content, as 79:29",
      "aria-label": "find events",
      value: this.filter,
    });
    field.addEventListener("input", () => {
      this.filter = field.value.trim().toLowerCase();
      for (const run of this.runs) this.refresh(run);
    });
    return field;
  }

  // ---- a node

  aboutNode(run) {
    const node = this.player.nodeIn(run);
    const chooser = this.nodeChooser(run, node);
    if (node === null)
      return [chooser, element("p", { class: "soft" }, "Click a node in the field, or type its number.")];
    const missed = [...run.pairsAt.of(node)].filter((k) => run.isStatus(k, "missed"));
    return [
      chooser,
      element("dl", { class: "facts", "data-now": "node" }),
      element("h2", {}, "Neighbours heard in the last 5 s"),
      element("div", { class: "chips", "data-now": "neighbours" }),
      element("h2", {}, "What it did, and why"),
      this.onlyDecisions(),
      element("ol", { class: "story", "data-now": "story" }),
      missed.length ? element("h2", {}, `Events it never got (${missed.length})`) : null,
      element(
        "ul",
        { class: "story" },
        missed
          .slice(0, MOST_LINES)
          .map((k) => element("li", {}, eventButton(this, run, run.pairs.event[k]), " ", reasonOf(run, k))),
      ),
    ];
  }

  nodeChooser(run, node) {
    const field = element("input", {
      type: "number",
      class: "node",
      "aria-label": "node",
      min: 0,
      placeholder: "node",
      value: node === null ? "" : run.nodes[node],
    });
    field.addEventListener("change", () =>
      this.player.selectNode(run.nodeIndex.has(Number(field.value)) ? Number(field.value) : null),
    );
    const clear =
      node === null
        ? null
        : element("button", { type: "button", class: "small", click: () => this.player.selectNode(null) }, "clear");
    return element("p", { class: "chooser" }, element("label", {}, "node ", field), clear);
  }

  onlyDecisions() {
    const box = element("input", { type: "checkbox", checked: this.decisionsOnly });
    box.addEventListener("change", () => {
      this.decisionsOnly = box.checked;
      for (const run of this.runs) this.refresh(run);
    });
    return element("label", { class: "small" }, box, " decisions only");
  }

  // ---- what changes with time; `key` decides whether it has changed

  now = {
    count: (panel, run, t, slot) => grouped(run.counts(t)[slot.dataset.count]),

    events: (panel, run) => ({ key: `of ${panel.filter}`, children: () => eventLines(panel, run) }),

    node(panel, run, t) {
      const node = panel.player.nodeIn(run);
      const place = run.how === "graph" || run.how === "ring" ? null : run.place(node, t);
      const tables = run.routingState(node, t),
        filters = run.subscriptions(node, t);
      const facts = [
        ["state", run.state(node, t)],
        ...(run.roles[node] ? [["role", run.roles[node]]] : []),
        ["place", place ? `x ${grouped(place[0])} m, y ${grouped(place[1])} m` : "not in the log"],
        ["tables", tables ? `${several(tables[0], "entries")}, ${several(tables[1], "bytes")}` : "not in the log"],
        ["subscriptions", filters.length ? filters.join("; ") : "none"],
      ];
      return {
        key: JSON.stringify(facts),
        children: () =>
          facts.map(([name, value]) => [element("dt", {}, name), element("dd", { "data-fact": name }, value)]).flat(),
      };
    },

    neighbours(panel, run, t) {
      const heard = run.neighbours(panel.player.nodeIn(run), t);
      const chip = ([other, frames]) =>
        element(
          "button",
          {
            type: "button",
            class: "chip",
            title: `${frames} frames`,
            click: () => panel.player.selectNode(run.nodes[other]),
          },
          named(run, other),
        );
      return { key: `heard ${heard.join()}`, children: () => (heard.length ? heard.map(chip) : ["none"]) };
    },

    story(panel, run, t) {
      const rows = run.byNode.of(panel.player.nodeIn(run));
      const lines = [];
      for (let k = above(run.rows.t, t, rows) - 1; k >= 0 && lines.length < MOST_LINES; k--) {
        const isDecision = RULES.decisions.includes(RULES.kinds[run.rows.kind[rows[k]]]);
        if (isDecision || !panel.decisionsOnly) lines.push(rows[k]);
      }
      return {
        key: `${lines[0]} ${lines.length} ${panel.decisionsOnly}`,
        children: () => (lines.length ? lines.map((row) => storyLine(panel, run, row)) : ["nothing yet"]),
      };
    },

    event: (panel, run, t) => standingNow(panel, run, t),
    compared: (panel, run, t) => comparedNow(panel, run, t),
    runsCompared: (panel, run, t) => runsComparedNow(panel, run, t),
    holders: (panel, run, t) => holdersNow(panel, run, t),
    ...LIVE_NOW,
  };
}

// ---- parts

function countsTable(run) {
  const all = run.counts(Infinity);
  const head = ["", "now", "in all"].map((text) => element("th", { scope: "col" }, text));
  const line = ([name, text]) => [
    element("th", { scope: "row" }, text),
    element("td", { "data-now": "count", "data-count": name }),
    element("td", { class: "soft" }, grouped(all[name])),
  ];
  return element(
    "table",
    {},
    element("tr", {}, head),
    COUNTED.map((entry) => element("tr", {}, line(entry))),
  );
}

// Two runs beside each other: how they ended, and how far they are.
function runsComparedNow(panel, _, t) {
  const { runs } = panel;
  const titles = [...new Set(runs.flatMap((run) => run.metrics.map(([title]) => title)))];
  const metric = (run, title) => run.metrics.find(([name]) => name === title)?.[1] ?? "–";
  const counts = runs.map((run) => run.counts(t));
  const lines = [
    ...titles.map((title) => [title, ...runs.map((run) => metric(run, title))]),
    ...COUNTED.map(([name, text]) => [`${text}, now`, ...counts.map((count) => grouped(count[name]))]),
  ];
  return listed(lines, () => numbersTable(["", ...runs.map((run) => shortTitle(runs, run))], lines));
}

function eventLines(panel, run) {
  const isShown = (event) => `${event.name} ${event.content}`.toLowerCase().includes(panel.filter);
  const shown = run.events.map((_, k) => k).filter((k) => isShown(run.events[k]));
  const more = shown.length - MOST_EVENTS;
  const remark = more > 0 ? `and ${grouped(more)} more: search for them` : shown.length ? "" : "no such event";
  return [
    ...shown.slice(0, MOST_EVENTS).map((k) => eventLine(panel, run, k)),
    element("p", { class: "soft small" }, remark),
  ];
}

function storyLine(panel, run, row) {
  const kind = RULES.kinds[run.rows.kind[row]];
  const when = element(
    "button",
    { type: "button", class: "when", click: () => panel.player.seek(run.rows.t[row]) },
    clockOf(run, run.rows.t[row], 4).replace(" UTC", ""),
  );
  const event = run.rows.event[row] ? eventButton(panel, run, run.rows.event[row] - 1, "↗") : "";
  return element(
    "li",
    { "data-row": row, class: RULES.decisions.includes(kind) ? "decision" : kind },
    when,
    " ",
    deedOf(run, row),
    " ",
    event,
  );
}

function eventButton(panel, run, event, text = run.events[event].name) {
  const label = `event ${run.events[event].name}`;
  return element(
    "button",
    {
      type: "button",
      class: "link",
      title: label,
      "aria-label": label,
      click: () => panel.player.selectEvent(run.events[event].name),
    },
    text,
  );
}

function eventLine(panel, run, k) {
  const event = run.events[k];
  const share = event.interested < 0 ? grouped(event.got) : `${event.got} of ${event.interested}`;
  const line = element(
    "button",
    { type: "button", class: "event", click: () => panel.player.selectEvent(event.name) },
    element("b", {}, event.name),
    element("span", { class: "soft" }, clockOf(run, event.t, 2)),
    element("span", {}, share),
  );
  line.title = event.content;
  const full = event.interested > 0 ? (100 * event.got) / event.interested : 0;
  line.style.setProperty("--got", `${full}%`);
  return line;
}

function reasonOf(run, pair) {
  const cause = run.texts[run.pairs.cause[pair]];
  const summary = run.texts[run.pairs.summary[pair]];
  if (summary) return [element("span", { class: "cause" }, cause), " ", summary];
  const event = run.events[run.pairs.event[pair]].name;
  return element("code", {}, `roamcast why ${run.log} --event ${event} --node ${run.nodes[run.pairs.node[pair]]}`);
}
