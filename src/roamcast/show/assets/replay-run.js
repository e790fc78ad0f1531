// One run: its rows, and everything that follows from them at a time. Times are microseconds since the log's begin.

class Run {
  constructor({ texts, tables }, number) {
    Object.assign(this, texts); // title, nodes, events, texts, …
    this.number = number;
    this.rows = tables.rows;
    this.legs = tables.legs;
    this.links = tables.links ?? { length: 0 };
    this.copies = tables.copies;
    this.pairs = tables.pairs;
    this.kind = Object.fromEntries(RULES.kinds.map((name, code) => [name, code]));
    this.nodeIndex = new Map(texts.nodes.map((node, k) => [node, k]));
    this.eventIndex = new Map(texts.events.map((event, k) => [event.name, k]));
    this.frameIndex = new Map(texts.frames.map((entry, k) => [entry.kind, k]));
    this.group();
    this.transmit();
    this.absent(tables.absences ?? { length: 0 });
  }

  group() {
    const { rows, nodes, events } = this;
    this.byKind = new Groups(rows.kind, RULES.kinds.length, (k) => rows.t[k] >= this.from);
    this.byNode = new Groups(rows.node, nodes.length);
    this.byEvent = new Groups(rows.event, events.length + 1);
    this.legsOf = new Groups(this.legs.node, nodes.length);
    this.copiesOf = new Groups(this.copies.event, events.length);
    this.pairsOf = new Groups(this.pairs.event, events.length);
    this.pairsAt = new Groups(this.pairs.node, nodes.length);
    this.currentLeg = new Int32Array(nodes.length);
    const lost = this.byKind.of(this.kind.lose);
    this.collisions = lost.filter((row) => this.isCollision(row));
    this.subscribers = new Uint8Array(nodes.length);
    for (let k = 0; k < rows.length; k++) if (rows.kind[k] === this.kind.subscribe) this.subscribers[rows.node[k]] = 1;
    this.publishers = new Uint8Array(nodes.length);
    for (const event of events)
      if (this.nodeIndex.has(event.publisher)) this.publishers[this.nodeIndex.get(event.publisher)] = 1;
    this.relays = Uint8Array.from(nodes, (_, k) => RULES.relays.includes(this.roles[k]));
    this.marksPublishers = this.ifFew(this.publishers);
    this.marksSubscribers = this.ifFew(this.subscribers);
  }

  // A mark that most nodes would have says nothing, and is left out.
  ifFew(marks) {
    return 2 * sum(marks) <= this.visible ? marks : new Uint8Array(marks.length);
  }

  // Of an event: only its publisher.
  marksOf(event) {
    const marks = new Uint8Array(this.nodes.length);
    const publisher = this.nodeIndex.get(this.events[event].publisher);
    if (publisher !== undefined) marks[publisher] = 1;
    return marks;
  }

  // Frames on the air: from send rows, and where the sender has no log, from the rows of those that heard them.
  transmit() {
    const { rows, kind } = this;
    const sent = new Map();
    const heard = [];
    for (let k = 0; k < rows.length; k++) {
      if (!rows.frame[k] || rows.t[k] < this.from) continue;
      if (rows.kind[k] === kind.send) {
        sent.set(rows.frame[k], {
          t: rows.t[k],
          node: rows.node[k],
          row: k,
          to: rows.peer[k] - 1,
          text: rows.text[k],
          heard: [],
        });
      } else if (rows.kind[k] === kind.receive || rows.kind[k] === kind.overhear || rows.kind[k] === kind.lose)
        heard.push(k);
    }
    for (const k of heard) {
      const sender = rows.peer[k] - 1;
      let frame = sent.get(rows.frame[k]);
      if (!frame && sender >= 0 && rows.kind[k] === kind.receive) {
        frame = { t: rows.t[k] - rows.value[k], node: sender, row: k, to: -1, text: rows.text[k], heard: [] };
        sent.set(rows.frame[k], frame);
      }
      const isOwn = frame && frame.node === rows.node[k]; // given up by its sender
      if (frame && !isOwn) frame.heard.push(k);
    }
    this.frames_ = [...sent.values()].sort((a, b) => a.t - b.t || a.row - b.row);
    this.framesAt = Float64Array.from(this.frames_, (frame) => frame.t);
    for (const frame of this.frames_) {
      frame.airtime = rows.value[frame.row];
      frame.look = this.frames[this.frameIndex.get(this.texts[frame.text])] ?? RULES.looks[0];
      frame.heard = frame.heard.filter((k, place, all) => !place || rows.node[k] !== rows.node[all[place - 1]]);
    }
  }

  // When each node slept or was down: [from, until, state].
  absent({ node, from, until, state, length }) {
    this.absences = this.nodes.map(() => []);
    for (let k = 0; k < length; k++) this.absences[node[k]].push([from[k], until[k], RULES.states[state[k]]]);
  }

  // ---- chosen rows; those of the last choice are cached

  allRows() {
    return (this.every ??= Int32Array.from(this.rows.t, (_, k) => k));
  }

  cached(choice, rows) {
    if (this.choice !== choice) [this.choice, this.chosen] = [choice, rows()];
    return this.chosen;
  }

  // ---- at a time

  state(node, t) {
    let state = "up";
    for (const [from, until, word] of this.absences[node]) if (from <= t && t < until && state !== "down") state = word;
    return state;
  }

  // Metres; null if there is no position. Legs follow each other, so the last one found is tried first.
  place(node, t) {
    const first = this.legsOf.start[node],
      last = this.legsOf.start[node + 1];
    if (first === last) return null;
    const { legs } = this,
      items = this.legsOf.items;
    let k = Math.min(Math.max(this.currentLeg[node], first), last - 1);
    if (legs.t[items[k]] > t || (k + 1 < last && legs.t[items[k + 1]] <= t)) {
      k = Math.max(first, above(legs.t, t, items, first, last) - 1);
    }
    this.currentLeg[node] = k;
    const leg = items[k];
    const took = Math.max(0, Math.min(t - legs.t[leg], legs.end[leg])) / 1e6;
    return [legs.x[leg] / 1e3 + (legs.vx[leg] / 1e4) * took, legs.y[leg] / 1e3 + (legs.vy[leg] / 1e4) * took];
  }

  rowsUntil(t) {
    return above(this.rows.t, t);
  }

  count(kind, t) {
    return above(this.rows.t, t, this.byKind.of(this.kind[kind]));
  }

  counts(t) {
    return {
      published: this.count("publish", t),
      delivered: this.count("deliver", t),
      sent: this.count("send", t),
      lost: this.count("lose", t),
      collisions: above(this.rows.t, t, this.collisions),
      rows: this.rowsUntil(t),
    };
  }

  // The last sample of a node's routing state: [entries, bytes], or null.
  routingState(node, t) {
    if (this.live && node === 0) return [this.live.status.routing_entries, this.live.status.routing_bytes];
    const rows = this.byNode.of(node);
    for (let k = above(this.rows.t, t, rows) - 1; k >= 0; k--) {
      if (this.rows.kind[rows[k]] === this.kind.state) return [this.rows.value[rows[k]], this.rows.bytes[rows[k]]];
    }
    return null;
  }

  // Nodes whose frames a node received in the last seconds: [node, frames], the one heard last first.
  neighbours(node, t) {
    const rows = this.byNode.of(node);
    const heard = new Map();
    for (let k = above(this.rows.t, t, rows) - 1; k >= 0 && this.rows.t[rows[k]] > t - RULES.lately_us; k--) {
      const row = rows[k];
      const isHeard = this.rows.kind[row] === this.kind.receive || this.rows.kind[row] === this.kind.overhear;
      if (isHeard && this.rows.peer[row])
        heard.set(this.rows.peer[row] - 1, (heard.get(this.rows.peer[row] - 1) ?? 0) + 1);
    }
    return [...heard];
  }

  subscriptions(node, t) {
    if (this.live && node === 0) return Object.values(this.live.status.subscriptions);
    const filters = new Map();
    for (const row of this.byNode.of(node)) {
      if (this.rows.t[row] > t) break;
      const kind = this.rows.kind[row];
      if (kind === this.kind.subscribe) filters.set(row, this.texts[this.rows.text[row]]);
      if (kind === this.kind.unsubscribe) {
        for (const [key, text] of filters)
          if (text === this.texts[this.rows.text[row]]) {
            filters.delete(key);
            break;
          }
      }
    }
    return [...filters.values()];
  }

  isCollision(row) {
    return this.texts[this.rows.text[row]] === RULES.collision;
  }

  isStatus(pair, name) {
    return RULES.statuses[this.pairs.status[pair]] === name;
  }

  // How an event stands at a time: by node 1 has it, 2 delivered it, 3 wants it and has it not, 4 has it and has not
  // delivered it yet; and its tree.
  standing(event, t) {
    const roles = new Uint8Array(this.nodes.length);
    const tree = [];
    for (const k of this.pairsOf.of(event)) if (this.isStatus(k, "missed") || this.isStatus(k, "got")) roles[this.pairs.node[k]] = 3;
    for (const k of this.copiesOf.of(event)) {
      if (this.copies.t[k] > t) break;
      const node = this.copies.node[k];
      roles[node] = this.copies.delivered[k] && this.copies.delivered[k] - 1 <= t ? 2 : roles[node] === 3 ? 4 : 1;
      if (this.copies.source[k]) tree.push([this.copies.source[k] - 1, node]);
    }
    return { roles, tree };
  }
}
