// How many texts were looked at, and those that stand out too little from what is behind them.
const parsed = (colour) => {
  const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
  return { r, g, b, a };
};
const over = (top, below) => ({
  r: top.r * top.a + below.r * (1 - top.a),
  g: top.g * top.a + below.g * (1 - top.a),
  b: top.b * top.a + below.b * (1 - top.a),
  a: 1,
});
const luminance = ({ r, g, b }) => {
  const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
};
const behind = (element) => {
  const layers = [];
  for (let e = element; e; e = e.parentElement) {
    const colour = parsed(getComputedStyle(e).backgroundColor);
    layers.push(colour);
    if (colour.a === 1) break;
  }
  return layers.reverse().reduce((below, top) => over(top, below), { r: 255, g: 255, b: 255, a: 1 });
};
let checked = 0;
const faint = [];
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
  if (!own || !e.checkVisibility() || ["SCRIPT", "STYLE", "OPTION"].includes(e.tagName)) continue;
  const style = getComputedStyle(e);
  const back = behind(e);
  const front = over(parsed(e instanceof SVGElement ? style.fill : style.color), back);
  const [hi, lo] = [luminance(front), luminance(back)].sort((a, b) => b - a);
  const ratio = (hi + 0.05) / (lo + 0.05);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  checked += 1;
  if (ratio < (large ? 3 : 4.5)) faint.push(`${ratio.toFixed(2)} ${e.tagName}.${e.className.baseVal ?? e.className}: ${e.textContent.slice(0, 40)}`);
}
return [checked, faint];
