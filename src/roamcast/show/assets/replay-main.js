// Puts the page together. `window.replay` is for tests and for the curious; docs/how-to/watch-a-run.md describes it.

function press(player, key) {
  const hundredth = (player.to - player.from) / 100;
  const deeds = {
    " ": () => (player.playing ? player.pause() : player.play()),
    ",": () => player.step(-1),
    ".": () => player.step(1),
    ArrowLeft: () => player.seek(player.t - hundredth),
    ArrowRight: () => player.seek(player.t + hundredth),
    "[": () => publication(player, -1),
    "]": () => publication(player, 1),
    "-": () => player.faster(-1),
    "+": () => player.faster(1),
    "=": () => player.faster(1),
    Home: () => player.seek(player.from),
    End: () => player.seek(player.to),
    r: () => toggle(player, "ranges"),
    l: () => toggle(player, "labels"),
    f: () => toggle(player, "frames"),
    w: () => player.follow(),
    z: () => player.stages[0].zoomBy(1.5),
    Z: () => player.stages[0].zoomBy(1 / 1.5),
    0: () => player.stages[0].zoomBy(0),
    Escape: () => {
      player.selectNode(null);
      player.selectEvent(null);
      player.panel.show("run");
    },
    "?": () => document.getElementById("help").showModal(),
  };
  deeds[key]?.();
  return key in deeds;
}

function toggle(player, name) {
  player.shows[name] = !player.shows[name];
  document.querySelector(`[data-shows="${name}"]`).setAttribute("aria-pressed", String(player.shows[name]));
  player.redraw();
}

function publication(player, by) {
  const times = [
    ...new Set(player.runs.flatMap((run) => run.events.filter((event) => event.is_published).map((event) => event.t))),
  ].sort((a, b) => a - b);
  const place = above(times, player.t);
  const next = by > 0 ? times[place] : times[times[place - 1] === player.t ? place - 2 : place - 1];
  if (next !== undefined) player.seek(next);
}

function wire(player) {
  const by = (id) => document.getElementById(id);
  for (const speed of SPEEDS) by("speed").append(element("option", { value: speed }, `${speed}×`));
  for (const name of Object.keys(STEPS)) by("step").append(element("option", { value: name }, name));
  player.setSpeed(player.speed);
  by("speed").addEventListener("change", () => player.setSpeed(Number(by("speed").value)));
  by("step").addEventListener("change", () => player.redraw());
  by("play").addEventListener("click", () => press(player, " "));
  by("back").addEventListener("click", () => press(player, ","));
  by("forward").addEventListener("click", () => press(player, "."));
  for (const tool of by("tools").children) tool.addEventListener("click", () => press(player, tool.dataset.key));
  by("help-button").addEventListener("click", () => press(player, "?"));
  addEventListener("keydown", (event) => {
    const isTyping = event.target.matches("input, select, textarea") || by("help").open;
    const isButton = event.key === " " && event.target.matches("button");
    if (isTyping || isButton || event.ctrlKey || event.metaKey || event.altKey) return;
    if (press(player, event.key)) event.preventDefault();
  });
  by("help").append(...helpOf(player.runs));
}

function helpOf(runs) {
  const keys = ([names, text]) => [
    element(
      "dt",
      {},
      names.split(" ").map((key) => element("kbd", {}, key)),
    ),
    element("dd", {}, text),
  ];
  return [
    element(
      "form",
      { method: "dialog" },
      element("h2", { id: "help-title" }, "Keys and marks"),
      element("button", {}, "close"),
    ),
    element("dl", { class: "keys" }, KEYS.map(keys)),
    element("div", { class: "marks" }, legend(runs)),
  ];
}

function introduce(runs) {
  if (runs[0].live) document.getElementById("title").textContent = runs[0].title;
  const chips = runs.length === 1 ? runs[0].chips : [];
  document.body.classList.toggle("two", runs.length > 1);
  document.getElementById("chips").append(...chips.map((text) => element("li", {}, text)));
  const isShared = (remark) => runs.every((run) => run.remarks.includes(remark));
  const worded = (run, remark) => (isShared(remark) ? remark : `${run.number + 1} · ${remark}`);
  const remarks = [...new Set(runs.flatMap((run) => run.remarks.map((remark) => worded(run, remark))))];
  const place = document.getElementById("remarks");
  place.textContent = remarks.join(" ");
  place.hidden = !remarks.length;
}

function expose(player) {
  const middle = (list, share) => [...list].sort((a, b) => a - b)[Math.floor(share * (list.length - 1))] ?? null;
  window.replay = {
    runs: player.runs,
    player,
    state: () => ({
      t: player.t,
      playing: player.playing,
      speed: player.speed,
      node: player.node,
      event: player.event,
      row: player.cursor?.row ?? null,
      counts: player.runs.map((run) => run.counts(player.t)),
    }),
    seek: (seconds) => {
      player.seek(Math.round(seconds * 1e6)); // as exact as the log
      player.frameNow();
    },
    position: (node, run = 0) => player.runs[run].place(player.runs[run].nodeIndex.get(node), player.t),
    spot: (node, run = 0) => [...player.stages[run].spots.slice(2 * player.runs[run].nodeIndex.get(node)).slice(0, 2)],
    times: () => ({
      frames: player.waitMs.length,
      draw_p50: middle(player.drawMs, 0.5),
      draw_p95: middle(player.drawMs, 0.95),
      draw_max: middle(player.drawMs, 1),
      wait_p50: middle(player.waitMs, 0.5),
      wait_p95: middle(player.waitMs, 0.95),
    }),
    forgetTimes: () => {
      player.drawMs.length = player.waitMs.length = 0;
    },
  };
}

function begin(runs) {
  readColours();
  const player = new Player(runs);
  const stages = runs.map((run) => new Stage(run, player));
  document.getElementById("stages").append(...stages.map((stage) => stage.figure));
  for (const stage of stages)
    stage.canvas.setAttribute(
      "aria-label",
      `${stage.run.visible} nodes of ${stage.run.title}; the panel says the same in words`,
    );
  const timeline = new Timeline(document.getElementById("timeline"), runs, player);
  document.getElementById("timeline").setAttribute("aria-valuemax", String(player.to / 1e6));
  const panel = new Panel(runs, player);
  Object.assign(player, { stages, timeline, panel });
  introduce(runs);
  wire(player);
  const fit = () => {
    for (const stage of stages) stage.resize();
    timeline.resize();
    // A canvas of a new size is empty: the browser would show it like that until the next frame.
    if (document.documentElement.dataset.ready && innerWidth && innerHeight) player.paint();
    player.redraw();
  };
  for (const stage of stages) new ResizeObserver(fit).observe(stage.canvas);
  new ResizeObserver(fit).observe(document.getElementById("timeline"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    readColours();
    fit();
    panel.update(true);
  });
  addEventListener("hashchange", () => player.recall(location.hash));
  fit();
  expose(player);
  panel.update(true);
  if (location.hash.length > 1) player.recall(location.hash);
  else if (!runs[0].live) beginWithEvent(player);
  player.start(stages, timeline, panel);
  if (innerWidth && innerHeight) player.frameNow(); // ready is a page that shows what it says
  document.documentElement.dataset.ready = "yes";
  return player;
}

if (document.getElementById("live")) new Live().start();
else
  Promise.all([...document.querySelectorAll("#data .run")].map((blob) => unpacked(blob.textContent)))
    .then((unpackedRuns) => begin(unpackedRuns.map((content, number) => new Run(content, number))))
    .catch((error) => {
      document
        .getElementById("stages")
        .append(element("p", { class: "alert" }, `This page cannot be shown: ${error.message}`));
      document.documentElement.dataset.ready = "no";
      throw error;
    });
