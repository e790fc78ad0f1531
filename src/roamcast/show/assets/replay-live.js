// A running node: rows and its status come over a stream (show/replay/live.py), and the page follows them.

const WINDOW_US = 120e6; // the last two minutes can be seen
const MOST_LIVE_ROWS = 20000;
const REBUILT_MS = 400;
const RATES = [
  ["frames_in", "frames in"],
  ["frames_out", "frames out"],
  ["bytes_in", "bytes in"],
  ["bytes_out", "bytes out"],
  ["published", "published"],
  ["delivered", "delivered"],
];

class Live {
  constructor() {
    this.rows = [];
    this.lost = 0;
    this.status = null;
    this.before = null;
    this.begin = null; // microseconds of the node's clock at which this page was opened
    this.rebuilt = 0;
    this.looks = new Map(); // of kinds of frames, in the order in which they were seen first: they keep their colours
  }

  start() {
    const stream = new EventSource("events");
    const on = (name, deed) => stream.addEventListener(name, (event) => deed(JSON.parse(event.data)));
    on("status", (status) => this.takeStatus(status));
    on("rows", (batch) => this.takeRows(batch));
    on("gone", ({ error }) => this.tell(`${error}; waiting for it`));
    stream.onerror = () => this.tell("the server has ended; start `roamcast watch` again");
  }

  tell(text) {
    const place = document.getElementById("remarks");
    place.hidden = !text;
    place.textContent = text;
  }

  takeStatus(status) {
    this.tell("");
    this.begin ??= status.now_us;
    [this.before, this.status] = [this.status, status];
    this.now = [status.now_us, performance.now()];
    if (!this.player) this.open();
    else this.player.runs[0].live = this.shown();
    this.player.panel.update();
  }

  takeRows({ rows, lost }) {
    this.lost += lost;
    this.rows.push(...rows);
    const from = this.nowUs() - WINDOW_US;
    if (this.rows.length > MOST_LIVE_ROWS) this.rows.splice(0, this.rows.length - MOST_LIVE_ROWS);
    while (this.rows.length && this.rows[0][0] < from) this.rows.shift();
    const isTime = performance.now() - this.rebuilt > REBUILT_MS;
    if (this.player && isTime) this.player.replace(new Run(this.content(), 0));
    if (isTime) this.rebuilt = performance.now();
  }

  nowUs() {
    return this.now ? this.now[0] + (performance.now() - this.now[1]) * 1e3 : 0;
  }

  open() {
    this.player = begin([new Run(this.content(), 0)]);
    this.player.live = this;
    this.player.setSpeed(1);
    this.player.play();
  }

  // ---- the same tables as a log's

  content() {
    const own = this.status.node;
    const begin = this.begin - WINDOW_US;
    const others = new Set([...this.rows.map((row) => row[5]), ...this.status.neighbours.map((peer) => peer.node)]);
    const nodes = [own, ...[...others].filter((node) => node >= 0 && node !== own).sort((a, b) => a - b)];
    const lists = {
      nodes: indexed(nodes),
      events: new Map(),
      texts: new Map([["", 0]]),
      frames: new Map(),
      sent: new Map(),
    };
    const rows = this.table(lists, begin);
    const texts = {
      title: `node ${own}, ${this.status.protocol}`,
      log: "",
      is_unix: true,
      begin_us: begin,
      cut: "",
      params: {},
      from: Math.max(0, this.nowUs() - WINDOW_US - begin),
      to: this.nowUs() - begin,
      row_count: this.rows.length,
      metrics: [],
      chips: [],
      how: "graph",
      area: [-130, -130, 260, 260],
      is_bounded: false,
      ranges: [],
      is_estimated: false,
      range_note: "",
      streets: [],
      wall: null,
      roles: [],
      nodes,
      visible: nodes.length,
      events: [...lists.events.values()],
      texts: [...lists.texts.keys()],
      remarks: [],
      frames: [...lists.sent].map(([kind, count]) => ({ kind, count, ...this.lookOf(kind) })),
      live: this.shown(),
    };
    const none = { length: 0, event: [], node: [], t: [], status: [] };
    return { texts, tables: { rows, legs: star(nodes.length), copies: copiesOf(rows, lists), pairs: none } };
  }

  table(lists, begin) {
    const place = (map, key, make = (k) => k) => {
      if (!map.has(key)) map.set(key, make(map.size));
      return map.get(key);
    };
    const rows = { length: this.rows.length };
    for (const name of ["t", "node", "kind", "event", "frame", "peer", "bytes", "value", "text"]) {
      rows[name] = new Float64Array(this.rows.length);
    }
    this.rows.forEach(([t, node, kind, event, frame, peer, bytes, value, text], k) => {
      const about = event && place(lists.events, event, (n) => eventAbout(event, n, t - begin));
      if (kind === "publish") Object.assign(about, { is_published: true, t: t - begin, content: text });
      if (kind === "deliver") about.got = 1;
      if (kind === "send" || kind === "receive") lists.sent.set(text, (lists.sent.get(text) ?? 0) + 1);
      Object.entries({
        t: t - begin,
        node: lists.nodes.get(node),
        kind: RULES.kinds.indexOf(kind),
        event: about ? about.place + 1 : 0,
        frame: frame ? place(lists.frames, frame, (n) => n + 1) : 0,
        peer: peer >= 0 ? lists.nodes.get(peer) + 1 : 0,
        bytes,
        value,
        text: kind === "publish" ? 0 : place(lists.texts, text),
      }).forEach(([name, number]) => (rows[name][k] = number));
    });
    return rows;
  }

  lookOf(kind) {
    if (!this.looks.has(kind)) this.looks.set(kind, RULES.looks[this.looks.size % RULES.looks.length]);
    return this.looks.get(kind);
  }

  // What the status shows: rates are those since the status before.
  shown() {
    const { status, before } = this;
    const passed = before ? status.up_s - before.up_s : status.up_s;
    const rate = ([name, text]) => [text, (status[name] - (before?.[name] ?? 0)) / (passed || 1), status[name]];
    return { status, lost: this.lost, rates: RATES.map(rate) };
  }
}

const indexed = (list) => new Map(list.map((value, k) => [value, k]));

function eventAbout(name, place, t) {
  const publisher = Number(name.split(":")[0]);
  const about = `published by n${publisher}`;
  return {
    name,
    place,
    publisher,
    t,
    is_published: false,
    content: "not in the log",
    interested: -1,
    got: 0,
    elsewhere: 0,
    about,
    network: "",
  };
}

// The node in the middle, and those that it hears around it, in order of their numbers.
function star(n) {
  const legs = { length: n };
  for (const name of ["node", "t", "end", "x", "y", "vx", "vy"]) legs[name] = new Float64Array(n);
  for (let k = 0; k < n; k++) {
    const angle = (2 * Math.PI * (k - 1)) / Math.max(1, n - 1);
    legs.node[k] = k;
    legs.end[k] = 1e15;
    legs.x[k] = k ? 1e5 * Math.sin(angle) : 0;
    legs.y[k] = k ? 1e5 * Math.cos(angle) : 0;
  }
  return legs;
}

// When this node had each event first, from which node, and when it delivered it.
function copiesOf(rows, lists) {
  const first = new Map();
  const code = indexed(RULES.kinds);
  for (let k = 0; k < rows.length; k++) {
    const event = rows.event[k] - 1;
    if (event < 0) continue;
    const isFirst =
      [code.get("publish"), code.get("receive"), code.get("deliver")].includes(rows.kind[k]) && !first.has(event);
    if (isFirst) first.set(event, { event, node: rows.node[k], t: rows.t[k], source: rows.peer[k], delivered: 0 });
    if (rows.kind[k] === code.get("deliver") && !first.get(event).delivered) first.get(event).delivered = rows.t[k] + 1;
  }
  const copies = [...first.values()].sort((a, b) => a.event - b.event);
  const columns = ["event", "node", "t", "source", "delivered"].map((name) => [name, copies.map((copy) => copy[name])]);
  return { length: copies.length, ...Object.fromEntries(columns) };
}

// ---- in the panel

function aboutLive(run) {
  const part = (title, name) => [element("h2", {}, title), element("div", { "data-now": name })];
  return [
    element("div", { "data-now": "headline" }),
    part("Rates", "rates"),
    part("Neighbours", "heard"),
    part("Dropped", "dropped"),
    part("Decisions", "decided"),
    element("h2", {}, "What is drawn"),
    legend([run]),
  ];
}

function numbersTable(heads, lines) {
  const head = element(
    "tr",
    {},
    heads.map((text) => element("th", { scope: "col" }, text)),
  );
  const cells = ([first, ...rest]) => [
    element("th", { scope: "row" }, first),
    rest.map((text) => element("td", {}, text)),
  ];
  return element(
    "table",
    {},
    head,
    lines.map((line) => element("tr", {}, cells(line))),
  );
}

const byCount = (counts) =>
  Object.entries(counts)
    .filter(([, n]) => n)
    .sort((a, b) => b[1] - a[1])
    .map(([name, n]) => [name, grouped(n)]);
const listed = (lines, table) => ({ key: JSON.stringify(lines), children: () => [lines.length ? table() : "none"] });

const LIVE_NOW = {
  headline(panel, run) {
    const { status, lost } = run.live;
    const lines = [
      ["up", `${grouped(status.up_s)} s`],
      ["tables", `${several(status.routing_entries, "entries")}, ${several(status.routing_bytes, "bytes")}`],
      ["queue", `${several(status.queue, "frames")}`],
      ["subscriptions", Object.values(status.subscriptions).join("; ") || "none"],
      ["security", status.secure ? `key ${status.sending_key}` : "INSECURE"],
      ["network", status.network ? "up" : "DOWN"],
      ...(lost ? [["not shown", `${several(lost, "rows")} came too fast for this page`]] : []),
    ];
    const facts = () =>
      lines.map(([name, value]) => [element("dt", {}, name), element("dd", { "data-fact": name }, value)]);
    return { key: JSON.stringify(lines), children: () => [element("dl", { class: "facts" }, facts())] };
  },
  rates(panel, run) {
    const lines = run.live.rates.map(([name, rate, count]) => [name, rate.toFixed(1), grouped(count)]);
    return listed(lines, () => numbersTable(["", "a second", "in all"], lines));
  },
  heard(panel, run) {
    const lines = run.live.status.neighbours.map((peer) => [
      `n${peer.node}`,
      peer.address,
      `${peer.silent_s.toFixed(1)} s`,
      grouped(peer.frames),
    ]);
    return listed(lines, () => numbersTable(["", "address", "silent", "frames"], lines));
  },
  dropped: (panel, run) =>
    listed(byCount(run.live.status.dropped), () => numbersTable(["why", "times"], byCount(run.live.status.dropped))),
  decided: (panel, run) =>
    listed(byCount(run.live.status.decisions), () =>
      numbersTable(["what", "times"], byCount(run.live.status.decisions)),
    ),
};
