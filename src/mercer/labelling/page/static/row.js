// Shows a row. Everything of the pool is set as text, and never as HTML.

import { picture } from "./server.js";

// Columns beyond these are folded away.
const MANY = 30;

function element(name, text, kind) {
  const found = document.createElement(name);
  if (text !== undefined) found.textContent = text;
  if (kind) found.className = kind;
  return found;
}

function entries(columns) {
  return columns.flatMap((column) => {
    const value = element("dd", column.kind === "gap" ? "missing" : column.text, column.kind);
    if (column.text.length > 200) {
      value.classList.add("long");
      value.tabIndex = 0; // long text is scrolled with the keyboard, too
    }
    return [element("dt", column.name), value];
  });
}

async function show(image, row, column) {
  try {
    image.src = await picture(row, column);
  } catch (error) {
    image.replaceWith(element("p", `${image.alt}: ${error.message}`, "quiet"));
  }
}

export function showRow(row) {
  const name = document.getElementById("row-name");
  name.textContent = `${row.id_name} ${row.id}`;
  const place = document.getElementById("pictures");
  for (const image of place.querySelectorAll("img")) {
    if (image.src.startsWith("blob:")) URL.revokeObjectURL(image.src);
  }
  place.replaceChildren();
  for (const one of row.pictures) {
    const image = element("img");
    image.alt = one.file ? `${one.name}: ${one.file}` : `The ${one.name} of row ${row.id}`;
    place.append(image);
    if (one.uri) {
      image.className = "pixels";
      image.src = one.uri;
    } else {
      show(image, row.id, one.name);
    }
  }
  document.getElementById("columns").replaceChildren(...entries(row.columns.slice(0, MANY)));
  const rest = row.columns.slice(MANY);
  const more = document.getElementById("more-columns");
  more.hidden = rest.length === 0;
  more.querySelector("summary").textContent = `${rest.length} more columns`;
  more.querySelector("dl").replaceChildren(...entries(rest));
}

export { element };
