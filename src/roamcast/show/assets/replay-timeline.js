// The whole run below the field: publications, deliveries and losses over time, and where we are.

const LANES = [
  ["publish", "published", "ink"],
  ["deliver", "delivered", "green"],
  ["lose", "lost", "red"],
];
const LIVE_LANES = [
  ["send", "sent", "blue"],
  ["receive", "received", "ink"],
  ["deliver", "delivered", "green"],
];
const NAMES_PX = 74;

class Timeline {
  constructor(box, runs, player) {
    Object.assign(this, { box, runs, player });
    this.canvas = box.querySelector("canvas");
    this.pen = this.canvas.getContext("2d");
    this.still = document.createElement("canvas"); // everything except where we are
    this.watchPointer();
  }

  resize() {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.width = this.box.clientWidth;
    this.height = this.box.clientHeight;
    for (const canvas of [this.canvas, this.still]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(this.height * ratio);
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.ratio = ratio;
    this.drawStill();
  }

  x(t) {
    const { from, to } = this.player;
    return NAMES_PX + ((t - from) / (to - from)) * (this.width - NAMES_PX - 6);
  }

  t(x) {
    const { from, to } = this.player;
    return from + Math.max(0, Math.min(1, (x - NAMES_PX) / (this.width - NAMES_PX - 6))) * (to - from);
  }

  drawStill() {
    const pen = this.still.getContext("2d");
    pen.clearRect(0, 0, this.width, this.height);
    const lanes = this.runs.length * LANES.length;
    const axis = 15;
    const high = (this.height - axis) / lanes;
    pen.font = "11px system-ui, sans-serif";
    this.runs.forEach((run, r) => {
      (run.live ? LIVE_LANES : LANES).forEach(([kind, name, colour], lane) => {
        const low = (r * LANES.length + lane + 1) * high;
        pen.fillStyle = colours.soft;
        pen.textAlign = "right";
        pen.fillText(this.runs.length > 1 ? `${r + 1} ${name}` : name, NAMES_PX - 7, low - high / 2 + 4);
        this.drawLane(pen, run, kind, colours[colour], low, high - 3);
        pen.fillStyle = colours.line;
        pen.fillRect(NAMES_PX, low - 0.5, this.width - NAMES_PX - 6, r + 1 < this.runs.length && lane === 2 ? 2 : 0.6);
      });
      this.drawEvent(pen, run, r * LANES.length * high, high);
    });
    this.drawAxis(pen);
  }

  // How many rows fall on each pixel; the root, so that few are seen beside many.
  drawLane(pen, run, kind, colour, low, high) {
    const bins = new Float64Array(Math.ceil(this.width) + 1);
    for (const row of run.byKind.of(run.kind[kind])) bins[Math.round(this.x(run.rows.t[row]))] += 1;
    const most = Math.max(1, ...bins);
    pen.fillStyle = colour;
    bins.forEach((n, x) => {
      const tall = n ? Math.max(2, Math.sqrt(n / most) * high) : 0;
      if (tall) pen.fillRect(x - 0.5, low - tall, 1.4, tall);
    });
  }

  // From the publication of the selected event to its last copy.
  drawEvent(pen, run, top, high) {
    const event = this.player.eventIn(run);
    if (event === null) return;
    const copies = run.copiesOf.of(event);
    const begin = run.events[event].t;
    const end = copies.length ? run.copies.t[copies[copies.length - 1]] : begin;
    pen.fillStyle = colours.blue;
    pen.globalAlpha = 0.22;
    pen.fillRect(this.x(begin) - 1, top, Math.max(2, this.x(end) - this.x(begin)), 3 * high);
    pen.globalAlpha = 1;
    pen.fillRect(this.x(begin) - 1, top, 2, 3 * high);
  }

  drawAxis(pen) {
    const { from, to } = this.player;
    const about = (to - from) / Math.max(2, this.width / 130);
    const power = 10 ** Math.floor(Math.log10(about));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= about);
    pen.fillStyle = colours.soft;
    pen.textAlign = "center";
    const begin = this.runs[0].is_unix ? this.runs[0].begin_us : 0; // round times of the day
    for (let t = Math.ceil((begin + from) / step) * step - begin; t <= to; t += step) {
      const label = this.runs[0].is_unix
        ? clockOf(this.runs[0], t).slice(0, 8)
        : `${Number((t / 1e6).toPrecision(6))} s`;
      pen.fillRect(this.x(t) - 0.5, this.height - 15, 1, 4);
      const half = pen.measureText(label).width / 2;
      const x = Math.max(NAMES_PX + half, Math.min(this.width - half - 1, this.x(t)));
      pen.fillText(label, x, this.height - 1);
    }
  }

  draw(t) {
    const { pen } = this;
    pen.clearRect(0, 0, this.width, this.height);
    pen.drawImage(this.still, 0, 0, this.width, this.height);
    const x = this.x(t);
    pen.fillStyle = colours.ink;
    pen.globalAlpha = 0.06;
    pen.fillRect(NAMES_PX, 0, Math.max(0, x - NAMES_PX), this.height - 15);
    pen.globalAlpha = 1;
    pen.fillRect(x - 1, 0, 2, this.height - 13);
    pen.beginPath();
    pen.arc(x, 4, 5, 0, 2 * Math.PI);
    pen.fill();
  }

  watchPointer() {
    const { box, player } = this;
    const go = (event) => player.seek(this.t(event.clientX - box.getBoundingClientRect().left));
    box.addEventListener("pointerdown", (event) => {
      box.setPointerCapture(event.pointerId);
      go(event);
    });
    box.addEventListener("pointermove", (event) => event.buttons && go(event));
  }
}
