// The field: nodes, frames, losses and deliveries at a time, on a canvas.

const SHOWN_S = 0.55; // how long a wave grows, and fades when its frame has ended, in seconds of the person who looks
const OUTCOME_S = 0.9; // how long losses and deliveries are seen
const MOST_FRAMES = 700;
const FEW = 12; // nodes whose names have room
const LABEL_PX = 8; // the grid on which names find room
const LETTER_PX = 7.6;
const colours = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of [
    "paper",
    "ink",
    "soft",
    "line",
    "ground",
    "street",
    "node",
    "idle",
    "blue",
    "green",
    "red",
    "sky",
    "orange",
    "pink",
  ]) {
    colours[name] = style.getPropertyValue(`--${name}`).trim();
  }
}

// What there is to see, in a line.
function extentOf(run) {
  const [, , wide, high] = run.area;
  const ground = run.how === "moves" || run.how === "measured" ? ` on ${areaOf(wide, high)}` : "";
  return `${several(run.visible, "nodes")}${ground}, ${several(run.row_count, "rows")}`;
}

// Beside another run of the same world, only what is different.
function shortTitle(runs, run) {
  return runs.every((each) => each.world === run.world) && run.protocol ? run.protocol : run.title;
}

class Stage {
  constructor(run, player) {
    this.run = run;
    this.player = player;
    this.canvas = element("canvas", { tabindex: "0", role: "img" });
    this.counts = element("span", { class: "counts" });
    this.heading =
      player.runs.length > 1
        ? element("strong", {}, `${run.number + 1} · ${shortTitle(player.runs, run)}`)
        : element("span", {}, extentOf(run));
    this.title = element("figcaption", {}, this.heading, this.counts);
    this.figure = element("figure", { class: "stage" }, this.title, this.canvas);
    this.pen = this.canvas.getContext("2d");
    this.zoom = 1;
    this.offset = [0, 0];
    this.spots = new Float32Array(2 * run.visible); // where nodes were drawn last, for clicks
    new Pointer(this);
  }

  // ---- from metres to the canvas

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.width = clientWidth;
    this.height = clientHeight;
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.fit();
  }

  fit() {
    const [x, y, wide, high] = this.run.area;
    const margin = 16; // room for the bar that shows a length
    this.scale = Math.min((this.width - 2 * margin) / wide, (this.height - 2 * margin) / high) * this.zoom;
    this.left = this.width / 2 - (x + wide / 2) * this.scale + this.offset[0];
    this.bottom = this.height / 2 + (y + high / 2) * this.scale + this.offset[1];
    this.dot = Math.max(
      2.6,
      Math.min(7, (0.16 * Math.sqrt((wide * high) / Math.max(1, this.run.visible)) * this.scale) / 2),
    );
  }

  x(metres) {
    return this.left + metres * this.scale;
  }

  y(metres) {
    return this.bottom - metres * this.scale;
  }

  // ---- drawing

  draw(t) {
    const { pen, run, player } = this;
    pen.clearRect(0, 0, this.width, this.height);
    this.locate(t);
    this.drawGround(t);
    const event = player.eventIn(run),
      node = player.nodeIn(run);
    const standing = event === null ? null : run.standing(event, t);
    if (player.shows.ranges) this.drawRanges();
    if (node !== null || run.live) this.drawNeighbourhood(node ?? 0, t); // a running node is the first one
    if (player.shows.frames) this.drawFrames(t, event);
    if (standing) this.drawTree(standing.tree);
    if (player.shows.frames) this.drawOutcomes(t, event); // below the nodes, which stay what they are
    this.drawNodes(t, standing, node, event);
    if (player.shows.labels || this.zoom > 2.5 || run.visible <= FEW) this.drawLabels(standing, node);
    else if (node !== null) this.drawLabel(node);
  }

  locate(t) {
    for (let k = 0; k < this.run.visible; k++) {
      const place = this.run.place(k, t);
      this.spots[2 * k] = place ? this.x(place[0]) : NaN;
      this.spots[2 * k + 1] = place ? this.y(place[1]) : NaN;
    }
  }

  drawGround(t) {
    const { pen, run } = this;
    const [x, y, wide, high] = run.area;
    pen.lineWidth = 1;
    if (run.is_bounded) {
      pen.fillStyle = colours.ground;
      pen.strokeStyle = colours.line;
      pen.beginPath();
      pen.roundRect(this.x(x), this.y(y + high), wide * this.scale, high * this.scale, 6);
      pen.fill();
      pen.stroke();
    }
    if (run.streets.length) this.drawStreets();
    if (run.links.length) this.drawLinks();
    if (run.wall && t >= run.wall[1] && t < run.wall[2]) this.drawWall(run.wall[0], y, high);
    this.drawScale(wide);
  }

  drawStreets() {
    const { pen } = this;
    pen.strokeStyle = colours.street;
    pen.lineWidth = Math.max(2, Math.min(9, 9 * this.scale));
    pen.lineCap = pen.lineJoin = "round";
    pen.beginPath();
    for (const line of this.run.streets) {
      pen.moveTo(this.x(line[0]), this.y(line[1]));
      for (let k = 2; k < line.length; k += 2) pen.lineTo(this.x(line[k]), this.y(line[k + 1]));
    }
    pen.stroke();
  }

  // Which nodes heard each other at all, where that is all that is known about places.
  drawLinks() {
    const { pen, run } = this;
    pen.strokeStyle = colours.line;
    pen.beginPath();
    for (let k = 0; k < run.links.length; k++) this.join(run.links.a[k], run.links.b[k]);
    pen.stroke();
  }

  drawWall(x, y, high) {
    const { pen } = this;
    pen.strokeStyle = colours.red;
    pen.lineWidth = 4;
    pen.setLineDash([10, 6]);
    pen.beginPath();
    pen.moveTo(this.x(x), this.y(y));
    pen.lineTo(this.x(x), this.y(y + high));
    pen.stroke();
    pen.setLineDash([]);
  }

  // A bar of a round length, so that distances can be read.
  drawScale(wide) {
    if (this.run.how === "graph" || this.run.how === "ring") return;
    const { pen } = this;
    const about = wide / 5 / this.zoom;
    const power = 10 ** Math.floor(Math.log10(about));
    const metres = [5, 2, 1].map((step) => step * power).find((step) => step <= about);
    const right = this.width - 12,
      low = this.height - 7;
    pen.fillStyle = pen.strokeStyle = colours.soft;
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(right - metres * this.scale, low);
    pen.lineTo(right, low);
    pen.stroke();
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.lineWidth = 3;
    pen.strokeStyle = colours.paper;
    pen.strokeText(lengthOf(metres), right - metres * this.scale - 6, low + 3);
    pen.fillText(lengthOf(metres), right - metres * this.scale - 6, low + 3);
  }

  drawRanges() {
    const { pen, run } = this;
    pen.strokeStyle = colours.node;
    pen.globalAlpha = 0.28;
    pen.lineWidth = 1;
    pen.setLineDash(run.is_estimated ? [3, 4] : []);
    for (let k = 0; k < run.visible && run.ranges.length; k++) this.circle(k, run.ranges[k] * this.scale, true);
    pen.setLineDash([]);
    pen.globalAlpha = 1;
  }

  circle(node, radius, isOutline) {
    const x = this.spots[2 * node],
      y = this.spots[2 * node + 1];
    if (Number.isNaN(x)) return;
    this.pen.beginPath();
    this.pen.arc(x, y, Math.max(0.5, radius), 0, 2 * Math.PI);
    if (isOutline) this.pen.stroke();
    else this.pen.fill();
  }

  // The range of the selected node, and lines to the nodes it heard lately.
  drawNeighbourhood(node, t) {
    const { pen, run } = this;
    pen.fillStyle = pen.strokeStyle = colours.blue;
    if (run.ranges.length) {
      pen.globalAlpha = 0.09;
      this.circle(node, run.ranges[node] * this.scale, false);
      pen.globalAlpha = 0.5;
      pen.setLineDash(run.is_estimated ? [3, 4] : []);
      this.circle(node, run.ranges[node] * this.scale, true);
      pen.setLineDash([]);
    }
    pen.globalAlpha = 0.35;
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const [other] of run.neighbours(node, t)) this.join(node, other);
    pen.stroke();
    pen.globalAlpha = 1;
  }

  join(a, b) {
    const { pen, spots } = this;
    if (a >= this.run.visible || b >= this.run.visible || Number.isNaN(spots[2 * a]) || Number.isNaN(spots[2 * b]))
      return;
    pen.moveTo(spots[2 * a], spots[2 * a + 1]);
    pen.lineTo(spots[2 * b], spots[2 * b + 1]);
  }

  // A frame is a wave that grows to its sender's range, stays there while it is on the air, and fades; lines lead to
  // the nodes that have received it.
  drawFrames(t, event) {
    const { pen, run, player } = this;
    const lasts = SHOWN_S * 1e6 * player.speed;
    const last = above(run.framesAt, t);
    const first = Math.max(above(run.framesAt, t - lasts - player.longestUs), last - MOST_FRAMES);
    for (let k = first; k < last; k++) {
      const frame = run.frames_[k];
      const over = Math.max(0, t - frame.t - frame.airtime) / lasts;
      if (over >= 1 || frame.node >= run.visible) continue;
      const isOther = event !== null && run.rows.event[frame.row] !== event + 1;
      this.drawFrame(frame, t, Math.min(1, (t - frame.t) / lasts), (1 - over) ** 2 * (isOther ? 0.18 : 1));
    }
    pen.globalAlpha = 1;
    pen.setLineDash([]);
  }

  drawFrame(frame, t, age, strength) {
    const { pen, run } = this;
    pen.strokeStyle = pen.fillStyle = colours[frame.look.hue];
    pen.setLineDash(frame.look.dash);
    pen.globalAlpha = 0.85 * strength;
    pen.lineWidth = 1.6;
    pen.beginPath();
    for (const row of frame.heard)
      if (run.rows.kind[row] === run.kind.receive && run.rows.t[row] <= t) this.join(frame.node, run.rows.node[row]);
    pen.stroke();
    if (frame.to >= 0 && frame.to < run.visible) return; // to one node: only its line
    const range = run.ranges.length ? run.ranges[frame.node] * this.scale : 9 * this.dot;
    const grown = range * (0.12 + 0.88 * (1 - (1 - age) ** 3));
    pen.globalAlpha = 0.75 * strength;
    pen.lineWidth = 2;
    this.circle(frame.node, grown, true);
    if (t >= frame.t + frame.airtime) return;
    pen.globalAlpha = 0.06 * strength; // on the air
    this.circle(frame.node, grown, false);
  }

  drawTree(tree) {
    const { pen } = this;
    pen.strokeStyle = colours.blue;
    pen.globalAlpha = 0.75;
    pen.lineWidth = 1.8;
    pen.beginPath();
    for (const [from, to] of tree) this.join(from, to);
    pen.stroke();
    pen.globalAlpha = 1;
  }

  drawNodes(t, standing, selected, event) {
    const { pen, run, spots, dot } = this;
    const isSquare = event === null ? run.marksPublishers : run.marksOf(event);
    for (let k = 0; k < run.visible; k++) {
      const x = spots[2 * k],
        y = spots[2 * k + 1];
      if (Number.isNaN(x)) continue;
      const state = run.absences[k].length ? run.state(k, t) : "up";
      if (state === "down") this.drawCross(x, y, dot, colours.soft, 1.6);
      else this.drawNode(k, x, y, state, standing, isSquare[k]);
    }
    if (selected === null || Number.isNaN(spots[2 * selected])) return;
    pen.strokeStyle = colours.ink;
    pen.lineWidth = 2.5;
    this.circle(selected, dot + 5, true);
  }

  // Filled: up. Hollow: asleep. A ring: it subscribes. A square: it publishes. A triangle: it relays for others. With an
  // event: which published it, has it, wants it, got it.
  drawNode(k, x, y, state, standing, isSquare) {
    const { pen, run, dot } = this;
    const role = standing ? standing.roles[k] : 0;
    const colour = [standing ? colours.idle : colours.node, colours.blue, colours.green, colours.red, colours.orange][
      role
    ];
    const size = role === 0 && standing ? 0.75 * dot : dot;
    pen.fillStyle = state === "asleep" ? colours.paper : colour;
    pen.strokeStyle = colour;
    pen.lineWidth = 1.5;
    pen.beginPath();
    if (isSquare) pen.rect(x - size, y - size, 2 * size, 2 * size);
    else if (run.relays[k]) this.triangle(x, y, 1.7 * size);
    else pen.arc(x, y, size, 0, 2 * Math.PI);
    if (role === 3) pen.fillStyle = colours.paper; // wants it: hollow
    pen.fill();
    pen.stroke();
    if (standing ? role === 2 : run.marksSubscribers[k]) {
      pen.beginPath();
      pen.arc(x, y, size + 3, 0, 2 * Math.PI);
      pen.stroke();
    }
  }

  triangle(x, y, size) {
    const { pen } = this;
    pen.moveTo(x, y - size);
    pen.lineTo(x + 0.87 * size, y + 0.5 * size);
    pen.lineTo(x - 0.87 * size, y + 0.5 * size);
    pen.closePath();
  }

  drawCross(x, y, size, colour, width) {
    const { pen } = this;
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    pen.moveTo(x - size, y - size);
    pen.lineTo(x + size, y + size);
    pen.moveTo(x - size, y + size);
    pen.lineTo(x + size, y - size);
    pen.stroke();
  }

  // Larger than a node with its ring, which lies over it.
  drawLoss(x, y, isCollision) {
    const { pen } = this;
    const size = this.dot + 4;
    this.drawCross(x, y, size, colours.red, 2.4);
    if (!isCollision) return;
    pen.beginPath();
    pen.moveTo(x, y - 1.4 * size);
    pen.lineTo(x, y + 1.4 * size);
    pen.moveTo(x - 1.4 * size, y);
    pen.lineTo(x + 1.4 * size, y);
    pen.stroke();
  }

  // Losses are crosses (stars, by collision) at the node that lost the frame, deliveries rings that grow.
  drawOutcomes(t, event) {
    const { pen, run, player, spots } = this;
    const lasts = Math.max(OUTCOME_S * 1e6 * player.speed, 1);
    for (const kind of [run.kind.lose, run.kind.deliver]) {
      const rows = run.byKind.of(kind);
      const last = above(run.rows.t, t, rows);
      const first = Math.max(above(run.rows.t, t - lasts, rows), last - MOST_FRAMES);
      for (let k = first; k < last; k++) {
        const row = rows[k],
          node = run.rows.node[row];
        const age = (t - run.rows.t[row]) / lasts;
        if (age >= 1 || node >= run.visible || Number.isNaN(spots[2 * node])) continue;
        pen.globalAlpha = (1 - age) * (event !== null && run.rows.event[row] !== event + 1 ? 0.2 : 1);
        if (kind === run.kind.lose)
          this.drawLoss(spots[2 * node], spots[2 * node + 1], run.isCollision(row));
        else {
          pen.strokeStyle = colours.green;
          pen.lineWidth = 3;
          this.circle(node, this.dot + 3 + 16 * (1 - (1 - age) ** 2), true);
        }
      }
    }
    pen.globalAlpha = 1;
  }

  // As many names as have room; those of the selected node and of the event's nodes first. Others appear when one goes
  // closer.
  drawLabels(standing, selected) {
    const nodes = [...Array(this.run.visible).keys()];
    const rank = (k) => (k === selected ? 0 : standing?.roles[k] ? 1 : 2);
    const taken = new Set();
    for (const node of nodes.sort((a, b) => rank(a) - rank(b) || a - b)) {
      const cells = this.labelCells(node);
      if (cells.some((cell) => taken.has(cell))) continue;
      for (const cell of cells) taken.add(cell);
      this.drawLabel(node);
    }
  }

  // The cells of a fine grid on which a name lies.
  labelCells(node) {
    const [x, y, wide] = this.labelAt(node);
    const [left, low] = [Math.floor(x / LABEL_PX), Math.floor(y / LABEL_PX)];
    return Array.from({ length: 2 * (Math.ceil(wide / LABEL_PX) + 1) }, (_, k) => `${left + (k >> 1)} ${low - (k % 2)}`);
  }

  // Where a name begins, its line, and its width; at the right edge it ends beside the node.
  labelAt(node) {
    const [x, y] = [this.spots[2 * node], this.spots[2 * node + 1]];
    const wide = LETTER_PX * named(this.run, node).length;
    const right = x + this.dot + 4;
    return [right + wide > this.width ? x - this.dot - 4 - wide : right, y - this.dot - 1, wide];
  }

  drawLabel(node) {
    const { pen } = this;
    pen.font = "600 11px system-ui, sans-serif";
    pen.textAlign = "left";
    pen.lineWidth = 3;
    pen.strokeStyle = colours.paper;
    pen.fillStyle = colours.ink;
    const [x, y] = this.labelAt(node);
    pen.strokeText(named(this.run, node), x, y);
    pen.fillText(named(this.run, node), x, y);
  }

  // ---- pointing

  nearest(x, y, within = 18) {
    let best = null,
      least = within * within;
    for (let k = 0; k < this.run.visible; k++) {
      const away = (this.spots[2 * k] - x) ** 2 + (this.spots[2 * k + 1] - y) ** 2;
      if (away < least) [best, least] = [k, away];
    }
    return best;
  }

  // What is below the point stays below it; 0 shows everything again.
  zoomBy(factor, x = this.width / 2, y = this.height / 2) {
    const zoom = Math.max(1, Math.min(CLOSEST, this.zoom * factor));
    const grown = zoom / this.zoom;
    const middle = [this.width / 2, this.height / 2];
    const offset = [x, y].map((at, k) => at - middle[k] - (at - middle[k] - this.offset[k]) * grown);
    this.player.look(zoom, zoom === 1 ? [0, 0] : offset);
  }

  moveBy(x, y) {
    if (this.zoom > 1) this.player.look(this.zoom, [this.offset[0] + x, this.offset[1] + y]);
  }

  // Fingers scroll the page, unless there is something to move here.
  look(zoom, offset) {
    Object.assign(this, { zoom, offset });
    this.canvas.style.touchAction = zoom > 1 ? "none" : "pan-y";
    this.fit();
  }
}
