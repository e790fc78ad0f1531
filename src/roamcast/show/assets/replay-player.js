// The clock of the page, what is selected, and what a person can press.

const SPEEDS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 2, 5, 10, 30, 60, 300];
const STEPS = {
  row: [],
  publication: ["publish"],
  delivery: ["deliver"],
  loss: ["lose"],
  frame: ["send"],
  decision: RULES.decisions,
};
const PLAYED_S = 60; // a run is played in about this time, unless a person chooses another speed
const FOLLOWED_S = 8; // the same for the spread of an event
const KEYS = [
  ["space", "play, pause"],
  [", .", "step back, forward"],
  ["← →", "a hundredth of the run back, forward"],
  ["[ ]", "publication before, after"],
  ["- +", "slower, faster"],
  ["home end", "begin, end"],
  ["r", "ranges of all nodes"],
  ["l", "names of all nodes"],
  ["f", "frames, losses and deliveries"],
  ["w", "watch the selected event spread"],
  ["z Z", "closer, farther (also the wheel, or two fingers)"],
  ["0", "the whole field again"],
  ["esc", "select nothing"],
  ["?", "this help"],
];

class Player {
  constructor(runs) {
    this.runs = runs;
    this.from = Math.min(...runs.map((run) => run.from));
    this.to = Math.max(...runs.map((run) => run.to));
    this.t = this.from;
    this.playing = false;
    this.speed = nearestSpeed((this.to - this.from) / 1e6 / PLAYED_S);
    this.node = null;
    this.event = null;
    this.cursor = null; // the row that was stepped to
    this.shows = { ranges: false, labels: false, frames: true };
    this.longestUs = 0;
    for (const run of runs) for (const frame of run.frames_) this.longestUs = Math.max(this.longestUs, frame.airtime);
    this.drawMs = [];
    this.waitMs = [];
    this.redrawn = true;
  }

  start(stages, timeline, panel) {
    Object.assign(this, { stages, timeline, panel });
    this.last = performance.now();
    this.panelAt = 0;
    requestAnimationFrame((now) => this.frame(now));
  }

  // ---- the clock

  frame(now) {
    const waited = now - this.last;
    this.last = now;
    if (this.playing) {
      this.t = this.live ? this.end() : Math.min(this.to, this.t + waited * 1e3 * this.speed);
      if (this.t >= this.to && !this.live) this.pause();
      this.redrawn = true;
      remember(this.waitMs, waited);
    }
    // Inside another page it may be folded away, without any room to draw on.
    if (this.redrawn && innerWidth && innerHeight) {
      this.redrawn = false;
      const began = performance.now();
      this.paint();
      if (now - this.panelAt > 120 || !this.playing) this.describe(now);
      if (this.playing) remember(this.drawMs, performance.now() - began);
    }
    requestAnimationFrame((next) => this.frame(next));
  }

  // Of a running node: now, and the last minutes before it.
  end() {
    const run = this.runs[0];
    this.to = this.live.nowUs() - run.begin_us;
    this.from = Math.max(run.from, this.to - WINDOW_US);
    return this.to;
  }

  // A running node has new rows.
  replace(run) {
    const isNew = run.frames.length !== this.runs[0].frames.length;
    this.runs[0] = run;
    this.stages[0].run = run;
    this.stages[0].heading.textContent = extentOf(run);
    this.stages[0].spots = new Float32Array(2 * run.visible);
    this.end();
    if (isNew) this.panel.update(true); // its legend
    this.timeline.drawStill();
    this.redrawn = true;
  }

  redraw() {
    this.redrawn = true;
  }

  // At once, for those that cannot wait for the browser.
  frameNow() {
    this.redrawn = false;
    this.paint();
    this.describe(performance.now());
  }

  paint() {
    for (const stage of this.stages) stage.draw(this.t);
    this.timeline.draw(this.t);
  }

  // Texts change some times a second; more often nobody could read them.
  describe(now) {
    this.panelAt = now;
    this.panel.update();
    this.panel.key();
    const run = this.runs[0];
    const clock = clockOf(run, this.t);
    const [time, rest] = run.is_unix ? clock.split(/(?=\.)/) : [clock, ""];
    document.getElementById("clock").replaceChildren(time, element("span", {}, rest)); // for which phones have no room
    const slider = document.getElementById("timeline");
    slider.setAttribute("aria-valuenow", String(Math.round(this.t / 1e3) / 1e3));
    slider.setAttribute("aria-valuetext", clock);
    for (const stage of this.stages) {
      const { delivered, lost, collisions } = stage.run.counts(this.t);
      stage.counts.textContent = `${grouped(delivered)} delivered · ${grouped(lost)} lost, ${grouped(collisions)} by collision`;
    }
    this.caption();
  }

  // The row that was stepped to, or the last one of each run, in words.
  caption() {
    const last = (run) => {
      const rows = this.stepRows(run);
      const place = above(run.rows.t, this.t, rows) - 1;
      return { run, row: rows ? rows[place] : place };
    };
    const shown = this.cursor ? [this.cursor] : this.runs.map(last);
    const lines = shown.filter(({ run, row }) => row >= 0 && run.rows.t[row] >= run.from).map((each) => this.line(each));
    document.getElementById("caption").replaceChildren(...lines.map((text) => element("span", {}, text)));
  }

  line({ run, row }) {
    const which = this.runs.length > 1 ? `${run.number + 1} · ` : "";
    return `${which}${clockOf(run, run.rows.t[row], 4)} ${named(run, run.rows.node[row])} ${deedOf(run, row)}`;
  }

  // Both fields are looked at alike.
  look(zoom, offset) {
    for (const stage of this.stages) stage.look(zoom, offset);
    this.redraw();
  }

  // The line with which the page opened is no longer true.
  opened() {
    document.getElementById("opening").hidden = true;
  }

  play() {
    this.opened();
    this.cursor = null;
    if (this.t >= this.to) this.t = this.from;
    this.playing = true;
    this.pressed();
  }

  pause() {
    this.playing = false;
    this.redrawn = true;
    this.pressed();
    this.remember();
  }

  pressed() {
    const button = document.getElementById("play");
    button.classList.toggle("playing", this.playing);
    button.setAttribute("aria-label", this.playing ? "pause" : "play");
  }

  seek(t) {
    this.opened();
    this.cursor = null;
    this.t = Math.max(this.from, Math.min(this.to, t));
    this.redrawn = true;
    if (!this.playing) this.remember();
  }

  setSpeed(speed) {
    this.speed = speed;
    document.getElementById("speed").value = String(speed);
    this.redrawn = true;
  }

  faster(by) {
    const place = SPEEDS.indexOf(this.speed) + by;
    if (SPEEDS[place]) this.setSpeed(SPEEDS[place]);
  }

  // ---- stepping: to the next row of what is selected, and of the chosen kind

  // Places of rows, or null for all.
  stepRows(run) {
    const node = this.nodeIn(run),
      event = this.eventIn(run);
    const kinds = STEPS[document.getElementById("step").value].map((name) => run.kind[name]);
    if (node === null && event === null && !kinds.length) return null;
    const rows =
      event !== null
        ? run.byEvent.of(event + 1)
        : node !== null
          ? run.byNode.of(node)
          : kinds.length === 1
            ? run.byKind.of(kinds[0])
            : run.allRows();
    const isChosen = (row) =>
      (!kinds.length || kinds.includes(run.rows.kind[row])) &&
      (node === null || event === null || run.rows.node[row] === node);
    return run.cached(`${node} ${event} ${kinds}`, () => rows.filter(isChosen));
  }

  // Several rows can have one time: they follow each other run by run, in the order of the log.
  step(by) {
    this.pause();
    const passed = this.runs.map((run) => this.passed(run));
    const found = by > 0 ? this.firstOf(passed) : this.lastOf(this.before(passed));
    if (!found) return;
    this.seek(found.t);
    this.cursor = found;
  }

  // How many rows of the choice are behind: all up to the row that was stepped to, or up to this time.
  passed(run) {
    const rows = this.stepRows(run);
    const { cursor } = this;
    if (cursor?.run === run) return rows ? above(rows, cursor.row) : cursor.row + 1;
    const isLater = cursor && run.number > cursor.run.number;
    return above(run.rows.t, isLater ? this.t - 0.5 : this.t, rows);
  }

  // The same without the row on which we stand.
  before(passed) {
    const here = this.cursor ?? this.lastOf(passed);
    return passed.map((n, r) => (here && here.t === this.t && here.run === this.runs[r] && n ? n - 1 : n));
  }

  firstOf(passed) {
    const found = this.entries(passed).sort((a, b) => a.t - b.t || a.run.number - b.run.number);
    return found[0];
  }

  lastOf(passed) {
    const found = this.entries(passed.map((n) => n - 1)).sort((a, b) => b.t - a.t || b.run.number - a.run.number);
    return found[0];
  }

  entries(places) {
    return this.runs
      .map((run, r) => {
        const rows = this.stepRows(run);
        const row = rows ? rows[places[r]] : places[r];
        return { run, row, t: run.rows.t[row] };
      })
      .filter(({ t }) => t !== undefined && t >= this.from);
  }

  // ---- what is selected: by number and name, so that it means the same in both runs

  nodeIn(run) {
    const node = this.node === null ? undefined : run.nodeIndex.get(this.node);
    return node === undefined || node >= run.visible ? null : node;
  }

  eventIn(run) {
    return (this.event === null ? null : run.eventIndex.get(this.event)) ?? null;
  }

  selectNode(node) {
    this.node = node;
    this.selected("node", node);
  }

  // An event that is not on its way now is shown as it ended.
  selectEvent(event) {
    this.event = event;
    this.selected("event", event);
    const run = this.runs.find((each) => this.eventIn(each) !== null);
    if (run && this.t < run.events[this.eventIn(run)].t) this.seek(this.spreadOf(run)[1]);
  }

  selected(tab, value) {
    this.opened();
    if (value !== null) this.panel.tab = tab;
    this.panel.update(true);
    this.timeline.drawStill();
    this.redrawn = true;
    this.remember();
  }

  spreadOf(run) {
    const event = this.eventIn(run),
      copies = run.copiesOf.of(event);
    const begin = run.events[event].t;
    return [begin, copies.length ? Math.max(begin, run.copies.t[copies[copies.length - 1]]) : begin];
  }

  // At which the spread of the selected event takes some seconds.
  speedOf(run) {
    const [begin, end] = this.spreadOf(run);
    return nearestSpeed(Math.max(end - begin, 1e3) / 1e6 / FOLLOWED_S);
  }

  // Slowly, from just before its publication.
  follow() {
    const run = this.runs.find((each) => this.eventIn(each) !== null);
    if (!run) return;
    const [begin] = this.spreadOf(run);
    this.setSpeed(this.speedOf(run));
    this.seek(begin - 0.3e6 * this.speed);
    this.play();
  }

  // ---- the address keeps what is shown, so that it can be sent to somebody

  remember() {
    if (this.isOpening) return; // nobody has chosen anything yet
    const words = [`t=${(this.t / 1e6).toFixed(6)}`];
    if (this.event !== null) words.push(`event=${this.event}`);
    if (this.node !== null) words.push(`node=${this.node}`);
    try {
      history.replaceState(null, "", `#${words.join("&")}`);
    } catch {
      // a page inside another one has no address of its own
    }
  }

  // Other addresses are places on the page, as that of the link that skips to the panel.
  recall(hash) {
    const words = new URLSearchParams(hash.replace(/^#/, ""));
    const [node, t] = ["node", "t"].map((name) => Number(words.get(name) || NaN));
    if (this.runs.some((run) => run.eventIndex.has(words.get("event")))) this.selectEvent(words.get("event"));
    if (this.runs.some((run) => run.nodeIndex.has(node))) this.selectNode(node);
    if (Number.isFinite(t)) this.seek(Math.round(t * 1e6));
  }
}

function nearestSpeed(wanted) {
  return SPEEDS.reduce((best, speed) =>
    Math.abs(Math.log(speed / wanted)) < Math.abs(Math.log(best / wanted)) ? speed : best,
  );
}

function remember(list, value) {
  list.push(value);
  if (list.length > 1200) list.shift();
}
