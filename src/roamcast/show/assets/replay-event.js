// One event: how it spread, which nodes have it, which wanted it, and why some never got it.

const TREE_PX = { wide: 340, step: 5, high: 300 };

function aboutEvent(panel, run) {
  const event = panel.player.eventIn(run);
  if (event === null) {
    const isThere = panel.player.event === null;
    return [
      element("p", { class: "soft" }, isThere ? "Choose an event:" : `This run has no event ${panel.player.event}.`),
      panel.searchField(),
      element("p", { class: "soft small" }, EVENT_LINE),
      element("div", { class: "list", "data-now": "events" }),
    ];
  }
  const about = run.events[event];
  const pairs = [...run.pairsOf.of(event)];
  const missed = pairs.filter((k) => run.isStatus(k, "missed"));
  const got = pairs.filter((k) => run.isStatus(k, "got"));
  const whose = about.elsewhere ? ", of the nodes on this page" : "";
  return [
    element(
      "p",
      { class: "chooser" },
      element("strong", { class: "big" }, about.name),
      element("button", { type: "button", class: "small", click: () => panel.player.follow() }, "watch it spread"),
      element("button", { type: "button", class: "small", click: () => panel.player.selectEvent(null) }, "clear"),
    ),
    element("p", {}, sentence(about.about)),
    about.network ? element("p", { class: "soft" }, sentence(about.network)) : null,
    element("div", { class: "now", "data-now": "event" }),
    element("h2", {}, "Its way from node to node"),
    tree(panel, run, event),
    element("h2", {}, "Has it at this moment, first to last"),
    element("div", { class: "chips", "data-now": "holders" }),
    element("h2", {}, `Wanted it and never got it${whose} (${missed.length})`),
    missed.length
      ? element(
          "ul",
          { class: "story missed" },
          missed
            .slice(0, MOST_LINES)
            .map((k) =>
              element(
                "li",
                { "data-node": run.nodes[run.pairs.node[k]] },
                nodeButton(panel, run, run.pairs.node[k]),
                " ",
                reasonOf(run, k),
              ),
            ),
        )
      : element("p", { class: "soft" }, "no node"),
    missed.length > MOST_LINES ? element("p", { class: "soft small" }, `and ${missed.length - MOST_LINES} more`) : null,
    element("h2", {}, `Wanted it and got it${whose} (${got.length})`),
    element(
      "div",
      { class: "chips got" },
      got.map((k) => nodeButton(panel, run, run.pairs.node[k], "chip")),
    ),
  ];
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

function nodeButton(panel, run, node, look = "link") {
  return element(
    "button",
    { type: "button", class: look, click: () => panel.player.selectNode(run.nodes[node]) },
    named(run, node),
  );
}

// How many nodes have it, have delivered it, and want it and have not delivered it.
function standingCounts(run, event, t) {
  const counts = [0, 0, 0, 0, 0];
  for (const role of run.standing(event, t).roles) counts[role] += 1;
  return { has: counts[1] + counts[2] + counts[4], delivered: counts[2], wanting: counts[3] + counts[4] };
}

// Two runs beside each other.
function comparedNow(panel, _, t) {
  const { runs, player } = panel;
  const events = runs.map((run) => player.eventIn(run));
  const now = runs.map((run, k) => (events[k] === null ? null : standingCounts(run, events[k], t)));
  const end = runs.map((run, k) => (events[k] === null ? null : run.events[events[k]]));
  const cells = (of, list) => list.map((each) => (each === null ? "–" : of(each)));
  const lines = [
    ["have it now", ...cells((each) => grouped(each.has), now)],
    ["delivered it", ...cells((each) => grouped(each.delivered), now)],
    ["still want it", ...cells((each) => grouped(each.wanting), now)],
    ["got it in the end", ...cells((each) => `${each.got} of ${each.interested}`, end)],
  ];
  return listed(lines, () => numbersTable(["", ...runs.map((run) => shortTitle(runs, run))], lines));
}

function standingNow(panel, run, t) {
  const event = panel.player.eventIn(run);
  const { has, delivered, wanting } = standingCounts(run, event, t);
  const since = t - run.events[event].t;
  const when = since < 0 ? `in ${durationOf(-since)}` : `${durationOf(since)} ago`;
  const where = run.events[event].elsewhere ? "On this page, " : "";
  const text = `Published ${when}. ${where}${has} ${has === 1 ? "node has" : "nodes have"} it, ${delivered} delivered it, ${wanting} still want it.`;
  return { key: text, children: () => [element("p", { class: "standing" }, text)] };
}

// Which nodes have it now, in the order in which they got it.
function holdersNow(panel, run, t) {
  const event = panel.player.eventIn(run);
  const copies = [...run.copiesOf.of(event)].filter((k) => run.copies.t[k] <= t);
  const chip = (k) => {
    const button = nodeButton(panel, run, run.copies.node[k], "chip");
    button.title = `${durationOf(Math.max(0, run.copies.t[k] - run.events[event].t))} after the publication`;
    button.dataset.node = run.nodes[run.copies.node[k]];
    return button;
  };
  return { key: `holders ${copies.length}`, children: () => (copies.length ? copies.map(chip) : ["no node yet"]) };
}

// Copies from left (publication) to right (the last copy), each beside the one it came from.
function tree(panel, run, event) {
  const copies = [...run.copiesOf.of(event)];
  if (!copies.length) return element("p", { class: "soft" }, "no node had it in the rows of this page");
  const spots = treeSpots(run, event, copies);
  const high = Math.max(40, Math.min(TREE_PX.high, TREE_PX.step * spots.size + 20));
  const lines = [],
    dots = [];
  for (const [node, spot] of spots) {
    const y = 8 + spot.order * (high - 30);
    const parent = spots.get(spot.from);
    if (parent) {
      const py = 8 + parent.order * (high - 30);
      lines.push(
        `M${parent.x.toFixed(1)} ${py.toFixed(1)}C${((parent.x + spot.x) / 2).toFixed(1)} ${py.toFixed(1)} ${((parent.x + spot.x) / 2).toFixed(1)} ${y.toFixed(1)} ${spot.x.toFixed(1)} ${y.toFixed(1)}`,
      );
    }
    dots.push(
      `<circle cx="${spot.x.toFixed(1)}" cy="${y.toFixed(1)}" r="${spot.delivered ? 4 : 2.6}" class="${spot.delivered ? "f-green" : "f-blue"}" data-node="${node}"><title>${named(run, node)}, ${durationOf(spot.after)} after the publication</title></circle>`,
    );
  }
  const last = Math.max(...[...spots.values()].map((spot) => spot.after));
  const axis = `<text x="6" y="${high - 3}">0</text><text x="${TREE_PX.wide - 6}" y="${high - 3}" text-anchor="end">${durationOf(last)}</text>`;
  const label = `${spots.size} nodes had ${run.events[event].name}; the last one ${durationOf(last)} after the publication`;
  const text = `<svg viewBox="0 0 ${TREE_PX.wide} ${high}" class="tree" role="img" aria-label="${label}"><path d="${lines.join("")}"/>${dots.join("")}${axis}</svg>`;
  const picture = new DOMParser().parseFromString(text, "text/html").body.firstChild;
  picture.addEventListener(
    "click",
    (at) => at.target.dataset.node && panel.player.selectNode(run.nodes[Number(at.target.dataset.node)]),
  );
  return picture;
}

// x by time since the publication, y so that the branches of a node lie together.
function treeSpots(run, event, copies) {
  const begin = run.events[event].t;
  const last = Math.max(1, run.copies.t[copies[copies.length - 1]] - begin);
  const spots = new Map(),
    children = new Map(),
    roots = [];
  for (const k of copies) {
    const node = run.copies.node[k],
      from = run.copies.source[k] - 1;
    const after = Math.max(0, run.copies.t[k] - begin);
    spots.set(node, {
      after,
      from,
      x: 8 + (after / last) * (TREE_PX.wide - 16),
      delivered: run.copies.delivered[k] > 0,
      order: 0,
    });
    if (spots.has(from) && from !== node) children.set(from, [...(children.get(from) ?? []), node]);
    else roots.push(node);
  }
  let leaf = 0;
  const order = (node) => {
    const own = children.get(node) ?? [];
    own.forEach(order);
    const orders = own.map((child) => spots.get(child).order);
    spots.get(node).order = own.length ? (Math.min(...orders) + Math.max(...orders)) / 2 : leaf++;
  };
  roots.forEach(order);
  for (const spot of spots.values()) spot.order /= Math.max(1, leaf - 1);
  return spots;
}
