"use strict";
(() => {
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const title = document.title;

  // --- explanations: unpacked when the first one is opened; what data say is escaped in them

  let articles = null;
  async function unpacked() {
    const packed = Uint8Array.from(atob(one("#articles").textContent), (character) => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  // --- the table

  const table = one("#table");
  const rows = all("tbody tr", table);
  const anchored = new Map(rows.map((row) => [row.dataset.anchor, row]));
  const heads = all("th[data-key]", table);
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const column = one("#column");
  const search = one("#search");
  const verdict = one("#verdict");
  const bars = all(".distribution button");
  const named = new Map(rows.map((row) => [row, one("th", row).textContent]));
  let sorted = { key: column ? "number" : null, isAscending: false };

  const numberOf = (text) => (text === "" || text === "null" ? NaN : Number(text));
  const keys = {
    name: (row) => named.get(row),
    place: (row) => Number(row.dataset.place),
    number: (row) => numberOf(JSON.parse(row.dataset.numbers)[column.value]),
    reviews: (row) => Number(row.dataset.reviews),
    changed: (row) => numberOf(row.dataset.changed),
  };

  function sort(key, isAscending) {
    sorted = { key, isAscending };
    const values = new Map(rows.map((row) => [row, keys[key](row)]));
    const sign = isAscending ? 1 : -1;
    const ordered = [...rows].sort((first, second) => {
      const [left, right] = [values.get(first), values.get(second)];
      if (key === "name") return sign * collator.compare(left, right);
      if (Number.isNaN(left) || Number.isNaN(right)) return Number.isNaN(left) - Number.isNaN(right); // the last, either way
      return sign * (left - right);
    });
    one("tbody", table).append(...ordered);
    for (const head of heads) {
      if (head.dataset.key === key) head.setAttribute("aria-sort", isAscending ? "ascending" : "descending");
      else head.removeAttribute("aria-sort");
    }
  }

  function filter() {
    const words = search.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    const chosen = verdict ? verdict.value : "";
    let count = 0;
    for (const row of rows) {
      const text = named.get(row).toLocaleLowerCase();
      row.hidden = !words.every((word) => text.includes(word)) || (chosen !== "" && row.dataset.place !== chosen);
      count += !row.hidden;
    }
    for (const bar of bars) bar.setAttribute("aria-pressed", String(chosen === bar.dataset.place));
    one("#status").textContent = `${count.toLocaleString("en")} of ${rows.length.toLocaleString("en")} restaurants`;
  }

  function chooseColumn() {
    all(".histogram").forEach((figure, place) => (figure.hidden = String(place) !== column.value));
    one('th[data-key="number"] button', table).textContent = column.selectedOptions[0].textContent;
    for (const row of rows) one("td.number", row).textContent = JSON.parse(row.dataset.numbers)[column.value];
    if (sorted.key === "number") sort("number", sorted.isAscending);
  }

  for (const head of heads) {
    const { key } = head.dataset;
    const isFirstAscending = !["number", "reviews"].includes(key);
    one("button", head).addEventListener("click", () => {
      sort(key, sorted.key === key ? !sorted.isAscending : isFirstAscending);
    });
  }
  for (const bar of bars) {
    bar.addEventListener("click", () => {
      verdict.value = verdict.value === bar.dataset.place ? "" : bar.dataset.place;
      filter();
    });
  }
  search.addEventListener("input", filter);
  verdict?.addEventListener("change", filter);
  column?.addEventListener("change", chooseColumn);

  // --- one restaurant, which the address names

  let scrolled = 0;
  let last = null;

  async function show() {
    const row = rowInAddress();
    const wasOpen = !one("#one").hidden;
    if (row === undefined) {
      one("#one").hidden = true;
      one("#all").hidden = false;
      document.title = title;
      if (wasOpen) {
        scrollTo(0, scrolled);
        last?.focus({ preventScroll: true });
      }
      return;
    }
    if (!wasOpen) scrolled = scrollY;
    last = one("a", row);
    articles ??= unpacked();
    const html = (await articles)[row.dataset.at];
    if (row !== rowInAddress()) return; // another one was opened meanwhile
    const article = one("#article");
    article.innerHTML = html;
    one("#all").hidden = true;
    one("#one").hidden = false;
    const heading = one("h1", article);
    document.title = `${heading.textContent} · ${title}`;
    const listed = all("tbody tr:not([hidden]) th a", table);
    const at = listed.indexOf(last);
    link("#previous", at < 0 ? undefined : listed[at - 1]);
    link("#next", at < 0 ? undefined : listed[at + 1]);
    scrollTo(0, 0);
    heading.focus({ preventScroll: true });
  }

  function rowInAddress() {
    try {
      return location.hash.startsWith("#/") ? anchored.get(decodeURIComponent(location.hash.slice(2))) : undefined;
    } catch {
      return undefined; // an address that was cut
    }
  }

  function link(selector, target) {
    const made = one(selector);
    made.hidden = target === undefined;
    if (target !== undefined) made.href = target.getAttribute("href");
  }

  addEventListener("hashchange", show);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !one("#one").hidden) location.hash = "";
  });

  filter();
  show();
})();
