// Where everything is on the map of the cluster: racks as blocks, brokers as tiles or as cells, and arrows between them.
// Arrows would hide cells: those of racks lead from a list of racks to another one, below the blocks.
// Pure functions: from data and a width to numbers in pixels.
"use strict";

export const DETAILED = 60; // brokers up to which each one has a tile

const TILE = { least: 132, most: 260, height: 86, gap: 12, apart: 72, wished: 190 };
export const CELL = { size: 14, pitch: 18 };
const PAD = 12; // from the edge of a block
const HEAD = 44; // height of the name of a rack
const BETWEEN = { least: 64, wished: 120, most: 176 }; // room for arrows between blocks
const ROWS = 34; // between lines of blocks
const LANES = 76; // below a line of blocks, for arrows that would pass one of them
const MARGIN = 56; // for arrows within a block, at the right
const APART = 16; // between blocks of cells, which no arrows pass

const END = { width: 200, least: 24, most: 44, tall: 480, gap: 6, above: 62 }; // of the lists of racks

const NO_RACK = "";

// Brokers by the name of their rack, in order.
function racksOf(brokers) {
  const racks = new Map();
  for (const broker of brokers) {
    const name = broker.rack ?? NO_RACK;
    if (!racks.has(name)) racks.set(name, []);
    racks.get(name).push(broker);
  }
  return [...racks].sort(([a], [b]) => (a === NO_RACK) - (b === NO_RACK) || a.localeCompare(b, "en", { numeric: true }))
    .map(([name, members]) => ({ name, brokers: members.sort((a, b) => a.id - b.id) }));
}

// Returns { width, height, detailed, blocks: [{ rack, x, y, width, height, gap, floor, boxes: [{ broker, x, y, width, height }] }], ends }.
// `gap` is the room beside a block, and `floor` is where all of its line end. `ends` has the two lists of racks, as
// { rack, side, x, y, width, height }; empty with tiles, or if nothing `flows`.
export function layout(brokers, width, flows) {
  const racks = racksOf(brokers);
  const detailed = brokers.length <= DETAILED;
  const inner = Math.max(200, detailed ? width - MARGIN : width);
  const sizes = detailed ? tiles(racks, inner) : cells(racks, inner);
  const lanes = detailed && flows && racks.length > 2 ? LANES : 0;
  const [most, least, below] = detailed ? [BETWEEN.most, BETWEEN.least, lanes || ROWS] : [APART, APART, APART];
  const lines = inLines(sizes, inner, least);
  const blocks = [];
  let top = 0;
  for (const line of lines) {
    const used = line.reduce((sum, each) => sum + each.width, 0);
    const gap = Math.min(most, Math.max(least, (inner - used) / Math.max(1, line.length - 1)));
    const floor = top + Math.max(...line.map((each) => each.height));
    let left = 0;
    for (const block of line) {
      blocks.push({ rack: block.rack, x: left, y: top, width: block.width, height: block.height, gap, floor, boxes: block.place(left, top) });
      left += block.width + gap;
    }
    top = floor + below;
  }
  const ends = detailed || !flows ? [] : listed(racks, inner, top - below + END.above);
  const height = ends.length ? ends.at(-1).y + ends.at(-1).height : Math.max(0, top - below + (lines.at(-1)?.length > 2 ? lanes : 0));
  return { width, height, detailed, blocks, ends };
}

function listed(racks, width, top) {
  const height = Math.min(END.most, Math.max(END.least, END.tall / racks.length - END.gap));
  const at = { width: Math.min(END.width, width / 3), height };
  return ["source", "target"].flatMap((side, second) => racks.map((rack, place) => (
    { ...at, rack, side, x: second * (width - at.width), y: top + place * (height + END.gap) }
  )));
}

// Blocks of tiles. The tiles are as wide as fits; a rack has more columns when it has many brokers.
function tiles(racks, width) {
  const largest = Math.max(1, ...racks.map((each) => each.brokers.length));
  // Without racks, arrows need room between the columns of the only block.
  const gap = racks.length < 2 ? TILE.apart : TILE.gap;
  const columnsOf = (rack, rows) => Math.ceil(rack.brokers.length / rows);
  const widthOf = (rows) => {
    const columns = racks.reduce((sum, each) => sum + columnsOf(each, rows), 0);
    const between = Math.min(racks.length, 3) - 1;
    return (width - between * BETWEEN.wished - racks.length * 2 * PAD - (columns - racks.length) * gap) / columns;
  };
  let rows = racks.length < 2 ? 1 : 6;
  while (rows < largest && widthOf(rows) < (racks.length < 2 ? TILE.wished : TILE.least)) rows += 1;
  const each = Math.round(Math.min(TILE.most, Math.max(TILE.least, widthOf(rows))));
  return racks.map((rack) => block(rack, columnsOf(rack, rows), each, TILE.height, gap, TILE.gap));
}

// Blocks of cells, about as wide as they are high.
function cells(racks, width) {
  const fits = Math.max(1, Math.floor((width + APART) / (200 + APART)));
  const perLine = Math.min(racks.length, fits);
  const room = (width - (perLine - 1) * APART) / perLine - 2 * PAD;
  const most = Math.max(4, Math.floor(Math.min(room, 420) / CELL.pitch));
  return racks.map((rack) => {
    const columns = Math.min(most, Math.max(9, Math.ceil(Math.sqrt(rack.brokers.length * 1.6))));
    return block(rack, columns, CELL.size, CELL.size, CELL.pitch - CELL.size);
  });
}

function block(rack, columns, boxWidth, boxHeight, gap, below = gap) {
  const rows = Math.ceil(rack.brokers.length / columns);
  return {
    rack,
    width: 2 * PAD + columns * boxWidth + (columns - 1) * gap,
    height: HEAD + rows * boxHeight + (rows - 1) * below + PAD,
    place: (left, top) => rack.brokers.map((broker, place) => ({
      broker,
      x: left + PAD + (place % columns) * (boxWidth + gap),
      y: top + HEAD + Math.floor(place / columns) * (boxHeight + below),
      width: boxWidth,
      height: boxHeight,
    })),
  };
}

function inLines(blocks, width, apart) {
  const lines = [];
  let used = Infinity;
  for (const each of blocks) {
    if (used + apart + each.width > width + 1) {
      lines.push([]);
      used = -apart;
    }
    lines.at(-1).push(each);
    used += apart + each.width;
  }
  return lines;
}

const WIDEST = 14; // pixels of the largest arrow
const HEAD_LENGTH = 8;
const SIDE = 0.84; // part of a side that arrows may take

// Arrows for flows, the largest first: { flow, width, path, head, label: { x, y } }. `sources` and `targets` have the boxes of the
// ends. One that would pass a block of `blocks` takes a lane below it.
export function arrows(flows, sources, targets, most, blocks = []) {
  const known = flows.filter(({ source, target }) => sources.has(source) && targets.has(target));
  const drawn = known.filter(({ source, target }) => sources.get(source) !== targets.get(target)).slice(0, most);
  const largest = Math.max(1, ...drawn.map((each) => each.bytes));
  const ends = drawn.map((flow) => {
    const [from, to] = [sources.get(flow.source), targets.get(flow.target)];
    return { flow, from, to, sides: sidesOf(from, to), floor: laneOf(from, to, blocks), width: 1.5 + (WIDEST - 1.5) * (flow.bytes / largest) };
  });
  stack(ends);
  takeLanes(ends.filter((each) => each.floor !== null), blocks);
  return ends.map(({ flow, sides, width, y1, y2, from, to, lane }) => {
    const x1 = sides[0] === "right" ? from.x + from.width : from.x;
    const x2 = sides[1] === "right" ? to.x + to.width : to.x;
    const ways = [[x1, y1, sides[0]], [x2, y2, sides[1]]];
    return { flow, width, ...(lane ? detour(...ways, lane, width) : curve(...ways, width)) };
  });
}

// The top of the lanes that an arrow takes, because a block is between its ends; null without one.
function laneOf(from, to, blocks) {
  const [left, right] = from.x < to.x ? [from, to] : [to, from];
  const [upper, lower] = from.y < to.y ? [from, to] : [to, from];
  const isBetween = (block) => block.x > left.x + left.width && block.x + block.width < right.x && block.y < lower.y + lower.height && block.y + block.height > upper.y;
  return blocks.some(isBetween) ? blockOf(upper, blocks).floor : null;
}

const blockOf = (box, blocks) => blocks.find(({ x, y, width, height }) => box.x >= x && box.x < x + width && box.y >= y && box.y < y + height);

// Gives each arrow a lane, and a track beside the block at each of its ends: those of lower tiles are nearer to the block, and their
// lanes are deeper, so that few arrows cross.
function takeLanes(ends, blocks) {
  const tracks = new Map();
  const add = (end, key, box, side, y) => {
    const block = blockOf(box, blocks);
    const name = `${block.x},${block.y},${side}`;
    if (!tracks.has(name)) tracks.set(name, { block, side, list: [] });
    tracks.get(name).list.push({ end, key, y });
  };
  for (const end of ends) {
    end.lane = {};
    add(end, "x1", end.from, end.sides[0], end.y1);
    add(end, "x2", end.to, end.sides[1], end.y2);
  }
  for (const { block, side, list } of tracks.values()) {
    list.sort((a, b) => b.y - a.y);
    const out = side === "right" ? 1 : -1;
    const edge = side === "right" ? block.x + block.width : block.x;
    apart(list.map(({ end }) => end.width), 0.45 * block.gap).forEach((far, place) => { list[place].end.lane[list[place].key] = edge + out * far; });
  }
  for (const list of byLane(ends)) {
    list.sort((a, b) => a.y1 + a.y2 - b.y1 - b.y2);
    apart(list.map(({ width }) => width), LANES).forEach((deep, place) => Object.assign(list[place].lane, { y: list[place].floor + deep, place }));
  }
}

// The arrows that take lanes, below each line of blocks.
const byLane = (ends) => [...new Set(ends.map((end) => end.floor))].filter((floor) => floor !== null).map((floor) => ends.filter((end) => end.floor === floor));

const SPACE = 3; // between arrows in lanes

// The middles of strokes of these widths, one beside the other; nearer to each other if they need more than `room`.
function apart(widths, room) {
  let used = SPACE;
  const middles = widths.map((width) => {
    used += width + SPACE;
    return used - SPACE - width / 2;
  });
  return middles.map((each) => each * Math.min(1, room / used));
}

function sidesOf(from, to) {
  if (to.x >= from.x + from.width) return ["right", "left"];
  if (from.x >= to.x + to.width) return ["left", "right"];
  return ["right", "right"];
}

// Puts the arrows at a side of a box one below the other, in the order of their other ends, so that few of them cross.
function stack(ends) {
  const sides = new Map();
  const add = (box, side, end, key, other) => {
    const name = `${box.x},${box.y},${side}`;
    if (!sides.has(name)) sides.set(name, { box, list: [] });
    sides.get(name).list.push({ end, key, other: other.y });
  };
  for (const end of ends) {
    add(end.from, end.sides[0], end, "y1", end.to);
    add(end.to, end.sides[1], end, "y2", end.from);
  }
  const inLane = byLane(ends).map((list) => Math.max(0.2, (LANES - SPACE * (list.length + 1)) / list.reduce((sum, each) => sum + each.width, 0)));
  const narrow = Math.min(1, ...inLane, ...[...sides.values()].map(({ box, list }) => (SIDE * box.height) / list.reduce((sum, each) => sum + each.end.width, 0)));
  for (const end of ends) end.width = Math.max(1, end.width * narrow);
  for (const { box, list } of sides.values()) {
    list.sort((a, b) => a.other - b.other);
    const all = list.reduce((sum, each) => sum + each.end.width, 0);
    const space = Math.min(4, Math.max(0, (SIDE * box.height - all) / Math.max(1, list.length - 1)));
    let y = box.y + box.height / 2 - (all + space * (list.length - 1)) / 2;
    for (const { end, key } of list) {
      end[key] = y + end.width / 2;
      y += end.width + space;
    }
  }
}

const fixed = (number) => Math.round(number * 10) / 10;

// The head of an arrow that ends at this side of a box, and where its line ends.
function headAt(x, y, side, width) {
  const into = side === "right" ? 1 : -1;
  const [tip, half] = [x + into * 2, Math.max(4, width / 2 + 2.5)];
  const end = tip + into * HEAD_LENGTH;
  return { end, head: `M${fixed(tip)} ${fixed(y)}L${fixed(end)} ${fixed(y - half)}V${fixed(y + half)}Z` };
}

const BEND = 12; // radius of a bend

// Through a lane: along the block to it, below the blocks between, and to the target. The number is in the lane.
function detour([x1, y1], [x2, y2, to], lane, width) {
  const { end, head } = headAt(x2, y2, to, width);
  const points = [[x1, y1], [lane.x1, y1], [lane.x1, lane.y], [lane.x2, lane.y], [lane.x2, y2], [end, y2]];
  const back = Math.sign(lane.x1 - lane.x2);
  return { path: bent(points), head, label: { x: fixed(lane.x2 + back * (LABEL_WIDTH / 2 + 8 + (LABEL_WIDTH + 6) * (lane.place % 3))), y: fixed(lane.y) } };
}

// A line through the points with round bends.
function bent(points) {
  const far = ([ax, ay], [bx, by]) => Math.abs(ax - bx) + Math.abs(ay - by);
  const towards = ([ax, ay], [bx, by], length) => {
    const share = length / Math.max(1, far([ax, ay], [bx, by]));
    return `${fixed(ax + (bx - ax) * share)} ${fixed(ay + (by - ay) * share)}`;
  };
  const bends = points.slice(1, -1).map((at, place) => {
    const [before, after] = [points[place], points[place + 2]];
    const radius = Math.min(BEND, far(before, at) / 2, far(at, after) / 2);
    return `L${towards(at, before, radius)}Q${fixed(at[0])} ${fixed(at[1])} ${towards(at, after, radius)}`;
  });
  return `M${points[0].map(fixed).join(" ")}${bends.join("")}L${points.at(-1).map(fixed).join(" ")}`;
}

function curve([x1, y1, from], [x2, y2, to], width) {
  const [out, into] = [from === "right" ? 1 : -1, to === "right" ? 1 : -1];
  const loop = from === to;
  const bend = loop ? 34 + Math.min(10, Math.abs(y2 - y1) / 12) : Math.max(24, Math.abs(x2 - x1) * 0.42);
  const { end, head } = headAt(x2, y2, to, width);
  const [c1, c2] = [x1 + out * bend, end + into * bend];
  // Between two blocks, the number is near the target; within one, where the arrow is farthest out.
  const label = loop ? { x: (x1 + 3 * c1 + 3 * c2 + end) / 8, y: (y1 + y2) / 2 } : { x: end + into * 30, y: y2 };
  return {
    path: `M${fixed(x1)} ${fixed(y1)}C${fixed(c1)} ${fixed(y1)} ${fixed(c2)} ${fixed(y2)} ${fixed(end)} ${fixed(y2)}`,
    head,
    label: { x: fixed(label.x), y: fixed(label.y) },
  };
}

const [LABEL_WIDTH, LABEL_HEIGHT] = [58, 15];

// The first arrows whose numbers cover neither each other nor a box, `most` of them.
export function labelled(drawn, most, boxes) {
  const covers = ({ x, y }) => boxes.some((each) => x + LABEL_WIDTH / 2 > each.x && x - LABEL_WIDTH / 2 < each.x + each.width && y > each.y && y < each.y + each.height);
  const placed = [];
  for (const each of drawn) {
    if (placed.length === most) break;
    const { x, y } = each.label;
    if (!covers(each.label) && placed.every(({ label }) => Math.abs(label.x - x) > LABEL_WIDTH || Math.abs(label.y - y) > LABEL_HEIGHT)) placed.push(each);
  }
  return placed;
}
