"use strict";
// the columns of sortable tables: a click sorts, another one reverses the order; "-" and other text come after numbers
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const heads = [...table.querySelectorAll("th")];
  const cell = (row, place) => row.cells[place].textContent;
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const isAscending = head.getAttribute("aria-sort") !== "ascending";
      const rows = [...table.tBodies[0].rows];
      const sign = isAscending ? 1 : -1;
      rows.sort((first, second) => {
        const [left, right] = [cell(first, place), cell(second, place)];
        const [low, high] = [left, right].map((text) => Number(text.replaceAll(",", "") || NaN));
        if (Number.isNaN(low) && Number.isNaN(high)) return sign * collator.compare(left, right);
        if (Number.isNaN(low) || Number.isNaN(high)) return Number.isNaN(low) - Number.isNaN(high);
        return sign * (low - high);
      });
      table.tBodies[0].append(...rows);
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", isAscending ? "ascending" : "descending");
    });
  });
}
