// Rules that this page shares with `roamcast why` (show/replay/rules.py).
const RULES = JSON.parse(document.getElementById("rules").textContent);

// A run as show/replay/packed.py writes it: deflated JSON and columns of whole numbers, byte by byte.

async function unpacked(base64) {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const texts = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const tables = {};
  let place = 4 + length;
  for (const [name, { rows, columns }] of Object.entries(texts.tables)) {
    tables[name] = { length: rows };
    for (const [column, width, rises, signed] of columns) {
      tables[name][column] = columnOf(bytes.subarray(place, place + rows * width), rows, width, rises, signed);
      place += rows * width;
    }
  }
  return { texts, tables };
}

// Numbers can be longer than 32 bits, so they are put together by multiplication.
function columnOf(bytes, rows, width, rises, signed) {
  const values = new Float64Array(rows);
  for (let plane = 0, factor = 1; plane < width; plane++, factor *= 256) {
    for (let k = 0; k < rows; k++) values[k] += bytes[plane * rows + k] * factor;
  }
  for (let k = 0; signed && k < rows; k++) values[k] = values[k] % 2 ? -(values[k] + 1) / 2 : values[k] / 2;
  for (let k = 1; rises && k < rows; k++) values[k] += values[k - 1];
  return values;
}

// ---- looking things up

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

// The first place at which `values` is above `limit`; with `of`, values are looked up through these places.
function above(values, limit, of = null, low = 0, high = (of ?? values).length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((of ? values[of[middle]] : values[middle]) > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Places of rows, grouped by a key from 0 to n-1, each group in order: group k is items[start[k]] to items[start[k+1]-1].
class Groups {
  constructor(keys, n, wanted = null) {
    this.start = new Int32Array(n + 1);
    const taken = (k) => keys[k] >= 0 && keys[k] < n && (!wanted || wanted(k));
    for (let k = 0; k < keys.length; k++) if (taken(k)) this.start[keys[k] + 1] += 1;
    for (let k = 0; k < n; k++) this.start[k + 1] += this.start[k];
    const next = this.start.slice();
    this.items = new Int32Array(this.start[n]);
    for (let k = 0; k < keys.length; k++) if (taken(k)) this.items[next[keys[k]]++] = k;
  }

  of(key) {
    return this.items.subarray(this.start[key], this.start[key + 1]);
  }
}
