"use strict";
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Requests: what the page holds once is put into the place where it was sent again.
  const own = new WeakMap();
  const messagesOf = (list) => {
    if (!own.has(list)) own.set(list, [...list.children]);
    return own.get(list);
  };
  const sentIn = (list) => {
    const chain = [];
    for (let at = list; at; at = document.getElementById(at.dataset.before)) chain.unshift(at);
    return chain.reduce((sent, at) => [...sent.slice(0, Number(at.dataset.keep)), ...messagesOf(at)], []);
  };
  const copied = (item) => {
    const whole = document.getElementById(item.dataset.same) || item;
    const copy = document.createElement("li");
    for (const child of whole.children) copy.append(child.cloneNode(true));
    return copy;
  };
  const complete = (list) => {
    const shown = sentIn(list).map((item) => (messagesOf(list).includes(item) && item.id ? item : copied(item)));
    list.replaceChildren(...shown);
    list.start = 1;
    list.parentElement.querySelector(":scope > .kept")?.remove();
  };
  const completeExtra = (list) => list.replaceChildren(...messagesOf(list).map((item) => (item.id ? item : copied(item))));
  document.addEventListener("toggle", ({ target }) => {
    if (!target.open || target.dataset.complete) return;
    if (target.matches(".exchange")) complete(target.querySelector(":scope > ol.messages"));
    else if (target.matches(".extra")) completeExtra(target.querySelector("ul.messages"));
    else return;
    target.dataset.complete = "yes";
  }, true);

  // Links into what is folded up.
  const reveal = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let at = target.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  // Paper shows every timeline that the filter leaves.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = all("details.run:not([open]):not([hidden])");
    for (const run of unfolded) run.open = true;
  });
  addEventListener("afterprint", () => {
    for (const run of unfolded) run.open = false;
  });

  const table = document.getElementById("runs");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const sections = new Map(all("details.run").map((run) => [run.dataset.run, run]));
  const texts = new Map(rows.map((row) => [row, `${row.textContent} ${row.dataset.words}`.toLowerCase()]));
  const words = document.getElementById("filter");
  const reason = document.getElementById("reason");
  const shown = document.getElementById("shown");

  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const row of rows) {
      const fits = wanted.every((word) => texts.get(row).includes(word)) && (!reason.value || row.dataset.reason === reason.value);
      row.hidden = sections.get(row.dataset.run).hidden = !fits;
      left += fits;
    }
    shown.textContent = shown.dataset.words.replace("{shown}", left).replace("{all}", rows.length);
    document.getElementById("nothing").hidden = left > 0;
  };
  words.addEventListener("input", filter);
  reason.addEventListener("change", filter);
  words.form.addEventListener("submit", (event) => event.preventDefault());
  filter();

  const collator = new Intl.Collator(document.documentElement.lang, { numeric: true });
  const sort = (button) => {
    const head = button.parentElement;
    const isNumber = button.dataset.kind === "number";
    const before = head.getAttribute("aria-sort");
    const descending = before ? before === "ascending" : isNumber;
    for (const each of all("th", table)) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const valueOf = (row) => {
      const cell = row.cells[head.cellIndex];
      return cell.dataset.value ?? cell.textContent;
    };
    const compare = (one, other) => {
      const [a, b] = [valueOf(one), valueOf(other)];
      if (!a || !b) return !a - !b; // what is not known comes last, whichever way
      return (isNumber ? a - b : collator.compare(a, b)) * (descending ? -1 : 1);
    };
    body.append(...rows.sort(compare));
  };
  for (const button of all("thead button", table)) button.addEventListener("click", () => sort(button));
})();
