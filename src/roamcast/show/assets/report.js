// Filters of the scorecard, and where one is. Without this script the page shows everything.
"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const form = document.querySelector("form.filters");
  if (form) {
    const rows = [...document.querySelectorAll(".scorecard tbody tr")].map((row) => ({
      row, paper: row.dataset.paper, verdict: row.dataset.verdict, text: row.textContent.toLowerCase(),
    }));
    const count = form.querySelector("output");
    const nothing = document.querySelector(".nothing");
    const show = () => {
      const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
      const paper = form.elements.paper.value;
      const verdicts = new Set([...form.querySelectorAll("input[name=verdict]:checked")].map((box) => box.value));
      let shown = 0;
      for (const { row, ...about } of rows) {
        const fits = (!paper || about.paper === paper) && (!verdicts.size || verdicts.has(about.verdict)) &&
          words.every((word) => about.text.includes(word));
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      }
      count.textContent = `${shown} of ${rows.length} claims`;
      nothing.hidden = shown > 0;
    };
    form.addEventListener("input", show);
    form.addEventListener("change", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(show));
    for (const link of document.querySelectorAll("a[data-paper]")) {
      link.addEventListener("click", () => {
        form.reset();
        form.elements.paper.value = link.dataset.paper;
        setTimeout(show);
      });
    }
    show();
  }
  // A link leads into a part also if that is folded.
  const unfold = (id) => {
    const target = document.getElementById(decodeURIComponent(id));
    for (let e = target && target.parentElement; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    return target;
  };
  const follow = () => {
    const target = location.hash.length > 1 && unfold(location.hash.slice(1));
    const part = target && target.matches(".inside") ? target.parentElement : target; // with its heading
    if (part) part.scrollIntoView();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a[href^='#']");
    if (link) unfold(link.hash.slice(1));
  });
  window.addEventListener("hashchange", follow);
  // Where one is: the last place of the contents that has been scrolled past the upper third of the window.
  const nav = document.querySelector("nav.contents");
  if (nav) {
    const folded = nav.querySelector("details");
    const narrow = matchMedia("(max-width: 71.99rem)");
    const fold = () => { folded.open = !narrow.matches; };
    narrow.addEventListener("change", fold);
    fold();
    const places = [...nav.querySelectorAll("a")].map((link) => {
      const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
      return { link, target: target && target.classList.contains("inside") ? target.parentElement : target };
    }).filter((place) => place.target);
    let now = null;
    const mark = () => {
      const line = innerHeight / 3;
      let found = places[0];
      for (const place of places) {
        if (place.target.checkVisibility() && place.target.getBoundingClientRect().top <= line) found = place;
      }
      const last = document.documentElement.scrollHeight - innerHeight - scrollY < 2;
      if (last) found = places.findLast((place) => place.target.checkVisibility()) || found;
      if (!found || found === now) return;
      now = found;
      for (const each of nav.querySelectorAll("[aria-current]")) each.removeAttribute("aria-current");
      for (const each of nav.querySelectorAll("li.here")) each.classList.remove("here");
      found.link.setAttribute("aria-current", "true");
      for (let e = found.link.parentElement; e !== nav; e = e.parentElement) {
        if (e.tagName !== "LI") continue;
        e.classList.add("here");
        e.querySelector("a").setAttribute("aria-current", "true");
      }
      nav.querySelector("span.here").textContent = found.link.textContent;
      const [box, at] = [nav.getBoundingClientRect(), found.link.getBoundingClientRect()];
      if (at.top < box.top) nav.scrollTop -= box.top - at.top + 40;
      if (at.bottom > box.bottom) nav.scrollTop += at.bottom - box.bottom + 40;
    };
    let waiting = false;
    const soon = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; mark(); });
    };
    window.addEventListener("scroll", soon, { passive: true });
    window.addEventListener("resize", soon);
    document.addEventListener("toggle", soon, true);
    nav.addEventListener("click", (event) => {
      if (narrow.matches && event.target.closest("a")) folded.open = false;
    });
    mark();
  }
  follow();
  // On paper nothing can be unfolded.
  const closed = () => [...document.querySelectorAll("details.printed:not([open]), details.part:not([open])")];
  let opened = [];
  window.addEventListener("beforeprint", () => { opened = closed(); for (const one of opened) one.open = true; });
  window.addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();
