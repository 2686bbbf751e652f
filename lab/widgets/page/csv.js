// A table of two columns of numbers and a label, as text of a CSV file, for the race. Nothing here draws or sends.

import { generator, shuffled } from "./network.js";

const LEAST = 10, MOST = 2000, MANY = 10; // rows; classes
const told = (text) => JSON.stringify(text.length > 30 ? `${text.slice(0, 30)}…` : text);

// The cells of each line that is not empty, with its number; a cell in quotation marks may hold the separator.
function cells(text) {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/).map((line, i) => [i + 1, line]).filter(([, line]) => line.trim());
  const bare = (lines[0]?.[1] ?? "").replace(/"(?:[^"]|"")*"/g, ""); // what stands in quotation marks separates nothing
  const count = (sign) => bare.split(sign).length - 1;
  const sign = [";", "\t", ","].reduce((best, one) => (count(one) > count(best) ? one : best));
  const pattern = new RegExp(`("(?:[^"]|"")*"|[^${sign}]*)(${sign}|$)`, "g");
  const rows = lines.map(([row, line]) => {
    const cells = [...line.matchAll(pattern)].map(([, cell, end]) => [cell.trim().replace(/^"(.*)"$/, "$1").replaceAll('""', '"'), end]);
    return [row, cells.slice(0, cells.findIndex(([, end]) => !end) + 1).map(([cell]) => cell)];
  });
  return { rows, sign };
}

// {names, points [[x, y]], labels (words), numbers (labels as numbers, or null where one is a word), isNumeric (whether
// they are rather numbers than classes), left (rows beyond those that are taken, picked at random)}. Throws an Error of one line that
// names row and column where the file is none.
export function table(text) {
  const { rows, sign } = cells(text), isWhole = (cell) => /^[+-]?[1-9]\d{0,2}(,\d{3})+$/.test(cell);
  // between commas, "1,234" may be 1234, unless the comma of another number can be none of thousands
  const isFraction = (cell) => /^[+-]?\d*,\d+$/.test(cell) && !isWhole(cell);
  const isDecimal = sign !== "," || rows.some(([, cells]) => cells.slice(0, 2).some(isFraction));
  const isUnclear = (cell) => !isDecimal && isWhole(cell);
  const number = (cell) => (cell === "" || isUnclear(cell) ? NaN : Number(cell.replace(",", ".")));
  if (!rows.length) throw new Error("The file is empty; give two columns of numbers and a label.");
  for (const [row, cells] of rows)
    if (cells.length !== 3) throw new Error(`Row ${row} has ${cells.length === 1 ? "1 column" : `${cells.length} columns`}; give two numbers and a label.`);
  const head = rows[0][1].slice(0, 2).every((cell) => Number.isNaN(number(cell))) ? rows.shift()[1] : ["x", "y", "label"];
  for (const [row, cells] of rows) {
    const wrong = cells.slice(0, 2).findIndex((cell) => !Number.isFinite(number(cell)));
    const why = isUnclear(cells[wrong] ?? "") ? "may be a whole number or a fraction; write it without a comma" : "is no number";
    if (wrong >= 0) throw new Error(`Row ${row}, column ${wrong + 1}: ${told(cells[wrong])} ${why}.`);
    if (cells[2] === "") throw new Error(`Row ${row}, column 3: the label is missing.`);
  }
  if (rows.length < LEAST) throw new Error(`The file has ${rows.length} row${rows.length === 1 ? "" : "s"} of data; give ${LEAST} or more.`);
  const some = rows.length > MOST ? shuffled(rows, generator(0)).slice(0, MOST) : rows; // a table may be sorted by its labels
  const taken = some.map(([, cells]) => cells), labels = taken.map(([, , label]) => label), values = labels.map(number);
  const numbers = values.every(Number.isFinite) ? values : null, classes = new Set(labels).size;
  const isNumeric = numbers !== null && (classes > MANY || !numbers.every(Number.isInteger));
  if (classes < 2) throw new Error(`Column 3: every row has the label ${told(labels[0])}; give two or more.`);
  if (!isNumeric && classes > MANY) throw new Error(`Column 3 has ${classes} classes; give ${MANY} or fewer, or numbers.`);
  const points = taken.map((cells) => cells.slice(0, 2).map(number));
  const flat = [0, 1].find((side) => points.every((point) => point[side] === points[0][side]));
  if (flat !== undefined) throw new Error(`Column ${flat + 1}: every row has ${points[0][flat]}; give different numbers.`);
  return { names: head, points, labels, numbers, isNumeric, isChoice: numbers !== null && classes <= MANY, left: rows.length - taken.length };
}
