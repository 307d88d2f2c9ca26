// The error against the number of labels, as an SVG that is drawn here.

const SPACE = "http://www.w3.org/2000/svg";
const SIZE = { width: 420, height: 240, left: 52, right: 12, top: 12, bottom: 36 };

function shape(name, attributes, text) {
  const found = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  if (text !== undefined) found.textContent = text;
  return found;
}

// A round step, so that there are from two to five ticks.
function stepOf(range) {
  const power = 10 ** Math.floor(Math.log10(range));
  return [0.2, 0.5, 1, 2].map((step) => step * power).find((step) => range / step <= 5);
}

function ticks(end) {
  const step = stepOf(end);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const found = [];
  for (let at = 0; at * step <= end * (1 + 1e-9); at += 1) {
    found.push({ value: at * step, text: (at * step).toFixed(digits) });
  }
  return found;
}

function path(points, x, y) {
  return points.map(([a, b], at) => `${at ? "L" : "M"}${x(a).toFixed(1)},${y(b).toFixed(1)}`).join("");
}

function axes(svg, x, y, ends, measure) {
  const bottom = SIZE.height - SIZE.bottom;
  for (const tick of ticks(ends.error)) {
    const at = y(tick.value);
    svg.append(shape("line", { class: "grid", x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: at, y2: at }));
    svg.append(shape("text", { x: SIZE.left - 6, y: at + 4, "text-anchor": "end" }, tick.text));
  }
  for (const tick of ticks(ends.labels)) {
    svg.append(shape("text", { x: x(tick.value), y: bottom + 16, "text-anchor": "middle" }, tick.text));
  }
  const middle = (SIZE.left + SIZE.width - SIZE.right) / 2;
  svg.append(shape("text", { x: middle, y: SIZE.height - 4, "text-anchor": "middle" }, "labels"));
  const turn = `rotate(-90 12 ${(SIZE.top + bottom) / 2})`;
  const where = { x: 12, y: (SIZE.top + bottom) / 2, "text-anchor": "middle", transform: turn };
  svg.append(shape("text", where, measure));
}

export function drawChart(place, curve, measure, target) {
  const drawn = curve.map((point) => [point.labels, point.error]);
  const uniform = curve
    .filter((point) => point.uniform_error !== null)
    .map((point) => [point.uniform_labels, point.uniform_error])
    .sort((a, b) => a[0] - b[0]);
  const all = [...drawn, ...uniform];
  const tops = curve.map((point) => point.error + point.deviation);
  const ends = {
    labels: Math.max(...all.map((point) => point[0])) * 1.05,
    error: Math.max(...all.map((point) => point[1]), ...tops, target ?? 0) * 1.05 || 1,
  };
  const wide = SIZE.width - SIZE.left - SIZE.right;
  const high = SIZE.height - SIZE.top - SIZE.bottom;
  const x = (labels) => SIZE.left + (wide * labels) / ends.labels;
  const y = (error) => SIZE.top + high * (1 - error / ends.error);
  const last = curve[curve.length - 1];
  const words = `${measure} ${last.error.toPrecision(3)} with ${last.labels} labels`;
  const box = `0 0 ${SIZE.width} ${SIZE.height}`;
  const svg = shape("svg", { viewBox: box, role: "img", "aria-label": words });
  axes(svg, x, y, ends, measure);
  const low = curve.map((point) => [point.labels, Math.max(0, point.error - point.deviation)]);
  const top = curve.map((point) => [point.labels, point.error + point.deviation]);
  svg.append(shape("path", { class: "band", d: `${path([...top, ...low.reverse()], x, y)}Z` }));
  if (target !== null) {
    const at = y(target);
    svg.append(shape("line", { class: "target", x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: at, y2: at }));
  }
  svg.append(shape("path", { class: "uniform", d: path(uniform, x, y) }));
  svg.append(shape("path", { class: "drawn", d: path(drawn, x, y) }));
  for (const [points, kind] of [[uniform, "uniform"], [drawn, "drawn"]]) {
    for (const [labels, error] of points) {
      const dot = shape("circle", { class: kind, cx: x(labels), cy: y(error), r: 3 });
      dot.append(shape("title", {}, `${Math.round(labels)} labels: ${error.toPrecision(3)}`));
      svg.append(dot);
    }
  }
  place.replaceChildren(svg);
}
