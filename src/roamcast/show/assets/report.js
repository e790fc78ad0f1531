// Filters of the scorecard. Without this script the page shows everything.
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
  // On paper nothing can be unfolded.
  const folded = () => [...document.querySelectorAll("details.printed:not([open])")];
  let opened = [];
  window.addEventListener("beforeprint", () => { opened = folded(); for (const one of opened) one.open = true; });
  window.addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();
