"use strict";
// Draws the frames that arrive over a WebSocket; `crates/framebuffer/src/message.rs` describes their format.
//
// A frame is drawn together with the frames of all other screens that have the same number. If a second
// frame of a screen arrives before these are complete, or no frame for some time, the waiting frames are
// drawn: the screens are not in step. A frame does not wait for screens without frames for some time.

const HEAD_BYTES = 40;
const TOGETHER_MS = 500;
const STILL_MS = 1000;
const RATE_MS = 1000;
const AGAIN_MS = 1000;

/** What was drawn, for people (below the screens) and for tests. */
const counts = { together: 0, apart: 0, missed: 0, between: 0, frames: {}, rates: {} };
window.screens_drawn = counts;

const screens = new Map(); // by number: { name, canvas, context, image, number, waiting, ... }
let late = null; // the timer of frames that wait
let socket = null;

const at = (id) => document.getElementById(id);
const say = (text, kind) => { at("state").textContent = text; at("state").className = kind; };
const long = (view, from) => view.getUint32(from, true) + view.getUint32(from + 4, true) * 2 ** 32;

function list(all) {
  at("screens").replaceChildren();
  screens.clear();
  counts.frames = {};
  for (const { id, name, width, height } of all) {
    const figure = at("screen").content.cloneNode(true).firstElementChild;
    const canvas = figure.querySelector("canvas");
    canvas.width = width;
    canvas.height = height;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `screen ${name}`);
    figure.querySelector("b").textContent = name;
    at("screens").append(figure);
    const context = canvas.getContext("2d", { alpha: false });
    screens.set(id, {
      name, context, image: context.createImageData(width, height), number: null, waiting: null, came: performance.now(),
      drawn: [], told: figure.querySelector(".number"), rate: figure.querySelector(".rate"),
    });
  }
  if (all.length === 0) say("connected; no screen has a geometry yet", "");
}

function frame(buffer) {
  const view = new DataView(buffer);
  const screen = screens.get(view.getUint32(4, true));
  if (!screen) return;
  if (screen.waiting) draw();
  screen.waiting = {
    number: long(view, 8), pixels: new Uint8ClampedArray(buffer, HEAD_BYTES), bytes: view.getUint32(32, true),
  };
  screen.came = performance.now();
  if (awake().every((one) => (one.waiting ?? one).number === screen.waiting.number)) draw();
  else if (late === null) late = setTimeout(draw, TOGETHER_MS);
}

/** The screens that do not stand still. */
function awake() {
  const since = performance.now() - STILL_MS;
  return [...screens.values()].filter((one) => one.came >= since);
}

function draw() {
  clearTimeout(late);
  late = null;
  const all = awake();
  const numbers = all.map((one) => (one.waiting ?? one).number ?? 0);
  const waiting = all.filter((one) => one.waiting);
  for (const one of screens.values()) if (one.waiting) paint(one);
  if (all.length === 0) return;
  counts.between = Math.max(...numbers) - Math.min(...numbers);
  if (counts.between > 0) counts.apart += 1;
  else if (waiting.length === all.length) counts.together += 1;
}

function paint(one) {
  const { number, pixels, bytes } = one.waiting;
  const target = new Uint32Array(one.image.data.buffer);
  if (bytes === 1) {
    for (let i = 0; i < target.length; i++) target[i] = 0xff000000 | (pixels[i] * 0x010101);
  } else {
    const source = new Uint32Array(pixels.buffer, HEAD_BYTES);
    for (let i = 0; i < target.length; i++) target[i] = source[i] | 0xff000000;
  }
  one.context.putImageData(one.image, 0, 0);
  if (one.number !== null && number > one.number) counts.missed += number - one.number - 1;
  one.number = number;
  one.waiting = null;
  one.drawn.push(performance.now());
  one.told.textContent = number ? `frame ${number}` : "no frame yet";
  counts.frames[one.name] = (counts.frames[one.name] ?? 0) + 1;
}

function tell() {
  const now = performance.now();
  for (const one of screens.values()) {
    while (one.drawn.length && one.drawn[0] < now - RATE_MS) one.drawn.shift();
    counts.rates[one.name] = one.drawn.length * 1000 / RATE_MS;
    one.rate.textContent = `${counts.rates[one.name].toFixed(0)} frames/s`;
  }
  for (const key of ["together", "apart", "between", "missed"]) at(key).textContent = counts[key];
  if (socket && socket.readyState === WebSocket.OPEN && screens.size > 0) {
    const still = screens.size - awake().length;
    const rest = still > 0 ? `; ${still} of ${screens.size} screens stand still` : "";
    if (still === screens.size) say("connected; nothing moves", "");
    else if (counts.between === 0) say(`in step${rest}`, "good");
    else say(`${counts.between} frame${counts.between > 1 ? "s" : ""} apart${rest}`, "bad");
  }
}

function connect() {
  socket = new WebSocket(`ws://${location.host}/stream`);
  socket.binaryType = "arraybuffer";
  socket.onmessage = ({ data }) => {
    if (typeof data === "string") { list(JSON.parse(data).screens); return; }
    frame(data);
    socket.send("+");
  };
  socket.onclose = () => {
    say("the connection is closed; trying again …", "bad");
    setTimeout(connect, AGAIN_MS);
  };
}

setInterval(tell, 250);
connect();
