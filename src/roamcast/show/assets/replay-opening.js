// A page opens where there is something to see: an event on its way, which many nodes have, and says so in a line.

const OPENED_AT = 2 / 3; // so many of the copies that there will be

// Of the events on the page, the one that most nodes had; one that some nodes got and others missed counts twice.
function openingEvent(run) {
  let best = null,
    most = 1;
  run.events.forEach((event, k) => {
    const copies = run.copiesOf.of(k).length;
    const pairs = [...run.pairsOf.of(k)];
    const isMixed = ["got", "missed"].every((status) => pairs.some((pair) => run.isStatus(pair, status)));
    const score = copies > 1 && event.is_published && event.t >= run.from ? copies * (isMixed ? 2 : 1) : 0;
    if (score > most) [best, most] = [k, score];
  });
  return best;
}

function beginWithEvent(player) {
  const run = player.runs[0];
  const event = openingEvent(run);
  if (event === null) return;
  const { name, t, publisher } = run.events[event];
  const copies = run.copiesOf.of(event);
  const at = run.copies.t[copies[Math.floor(OPENED_AT * (copies.length - 1))]];
  const usual = player.speed;
  player.isOpening = true;
  player.selectEvent(name);
  player.setSpeed(player.speedOf(run));
  player.seek(at);
  player.isOpening = false;
  const whole = () => {
    player.selectEvent(null);
    player.panel.show("run");
    player.setSpeed(usual);
    player.seek(player.from);
    player.play();
  };
  const act = (deed) => () => {
    player.opened();
    deed();
  };
  const box = document.getElementById("opening");
  box.replaceChildren(
    element(
      "p",
      {},
      element("b", {}, `You see event ${name}`),
      ` ${durationOf(Math.max(0, at - t))} after n${publisher} published it: ${player.runs.map((each) => havingIt(player, each)).join(", ")}.`,
    ),
    element("button", { type: "button", class: "small strong", click: act(() => player.follow()) }, "watch it spread"),
    element("button", { type: "button", class: "small", click: act(whole) }, "play the whole run"),
  );
  box.hidden = false;
}

// `64 of 100 nodes have it`; of two runs, with their names.
function havingIt(player, run) {
  const event = player.eventIn(run);
  const has = event === null ? 0 : [...run.copiesOf.of(event)].filter((k) => run.copies.t[k] <= player.t).length;
  const where = player.runs.length > 1 ? ` in ${shortTitle(player.runs, run)}` : "";
  return `${grouped(has)} of ${several(run.nodes.length, "nodes")} have it${where}`;
}
