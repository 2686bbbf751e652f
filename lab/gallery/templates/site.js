// What the gallery's pages do by themselves, from disk too: copy a line, sort a table, give an explorer the room it needs.

for (const button of document.querySelectorAll("[data-copy]"))
  button.addEventListener("click", async () => {
    const done = await copied(button.dataset.copy);
    button.parentElement.querySelector("[role=status]").textContent = done ? "Copied." : "Mark the line and copy it with your keyboard.";
  });

// A column's head sorts its table: numbers from the best down, names from a to z; pressed again, the other way round.
// What has no number stays last.
for (const table of document.querySelectorAll("table[data-sorted]")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => head.querySelector("button")?.addEventListener("click", () => {
    const value = (row) => row.cells[column].dataset.value, rows = [...body.rows];
    const numbers = rows.some((row) => value(row) !== "" && Number.isFinite(Number(value(row)))), rising = !numbers || /rank|cost/.test(head.textContent);
    const up = head.ariaSort ? head.ariaSort === "descending" : rising, turn = up ? 1 : -1;
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return (x === "") - (y === "") || turn * (numbers ? x - y : x.localeCompare(y));
    });
    body.append(...rows);
    document.getElementById("sorted").textContent = `Sorted by ${head.textContent}, ${up ? "ascending" : "descending"}; first: ${rows[0].cells[0].textContent}.`;
  }));
}

// An explorer says how high it is (address.js).
addEventListener("message", ({ source, data }) => {
  const frame = [...document.querySelectorAll(".alive iframe")].find(({ contentWindow }) => contentWindow === source);
  if (frame && Number.isFinite(data?.labHeight)) frame.style.height = `${Math.min(2400, Math.max(200, Math.ceil(data.labHeight)))}px`;
});
