// The form: its fields, what is wrong with them, and the answer in words.

// option, unit: of the command line. most: the largest whole number; without it, any number above 0 is right.
const FIELDS = {
  rate: { example: "400", option: "--rate", unit: "/s" },
  usageMs: { example: "15", option: "--usage-time", unit: "ms" },
  usageP99Ms: { example: "60", option: "--usage-p99", unit: "ms", isOptional: true },
  instances: { example: "6", option: "--instances", most: constants.MOST_INSTANCES },
  processes: { example: "4", option: "--processes", most: constants.MOST_INSTANCES },
  threads: { example: "8", option: "--app-threads", most: constants.MOST_THREADS, isOptional: true },
  mostWaitMs: { example: "15", option: "--max-wait-p99", unit: "ms", isOptional: true },
  waitLimitMs: { example: "5000", option: "--wait-limit", unit: "ms", isOptional: true },
  cores: { example: "8", option: "--cores", most: constants.MOST_CORES },
  disks: { example: "1", option: "--disks", most: constants.MOST_DISKS, mayBeZero: true },
};
const TYPING_MS = 300;
const WHOLE = /^\d+$/, DECIMAL = /^(\d+\.?\d*|\.\d+)$/;

// A field's number, null for an optional one that is empty, or a sentence that says what is wrong.
function read(text, { example, most, mayBeZero, isOptional }) {
  if (text === "" && isOptional) return null;
  const value = (most ? WHOLE : DECIMAL).test(text) ? Number(text) : NaN;
  if ((value > 0 || (mayBeZero && value === 0)) && value <= (most ?? Number.MAX_VALUE)) return value;
  const right = most ? `a whole number from ${mayBeZero ? 0 : 1} to ${most.toLocaleString("en")}` : "a number above 0";
  return `Give ${right}, such as ${example}.`;
}

// Field -> a sentence that says why these numbers do not go together.
function contradictions({ rate, usageMs, usageP99Ms, instances, processes, mostWaitMs, waitLimitMs }) {
  const wrong = {}, inUse = (rate * usageMs) / 1000, mostTimes = Math.exp(constants.NORMAL_QUANTILE_99 ** 2 / 2);
  if (inUse > constants.MOST_IN_USE || inUse / instances / processes > constants.LARGEST_POOL / 2) {
    wrong.rate = `${inUse.toLocaleString("en")} connections would be in use at once. Is the rate right?`;
  }
  if (usageP99Ms !== null && !(usageMs <= usageP99Ms && usageP99Ms <= mostTimes * usageMs)) {
    const most = Math.floor(10 * mostTimes) / 10;
    wrong.usageP99Ms = `Give 1 to ${most} times the mean, which log-normal times have at most.`;
  }
  const mostWait = mostWaitMs ?? usageMs;
  if (waitLimitMs !== null && waitLimitMs <= mostWait) {
    wrong.waitLimitMs = `Give more than the highest p99 wait, ${milliseconds(mostWait)}.`;
  }
  return wrong;
}

// Numbers as poolsize/units.py writes them, and none below a thousandth

function number(value) {
  if (value < 0.001) return value === 0 ? "0" : "< 0.001";
  return value >= 99.95 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

function milliseconds(value) {
  if (value === Infinity) return "endless";
  return value >= 10000 ? `${number(value / 1000)} s` : `${number(value)} ms`;
}

function percent(share) {
  return `${number(100 * share)} %`;
}

function count(quantity, noun, plural = `${noun}s`) {
  return `${quantity.toLocaleString("en")} ${quantity === 1 ? noun : plural}`;
}

// Why the pool has its size.
function reason({ instances, threads }, { poolSize, sizes, decides, awayLoad, limitMs }) {
  const away = instances > 1 ? `with one of ${instances.toLocaleString("en")} instances away, ` : "";
  const capitalized = (text) => text[0].toUpperCase() + text.slice(1);
  if (decides === "need") {
    const busiest = sizes.map(({ usual, oneAway }) => oneAway ?? usual);
    const waits = new Map(busiest.map((use) => [use.poolSize, milliseconds(use.waitP99Ms)]));
    const fewer = waits.get(poolSize - 1), withFewer = ` With ${count(poolSize - 1, "connection")} it is ${fewer}.`;
    const wait = `${away}the p99 wait time is ${waits.get(poolSize)}. The limit is ${milliseconds(limitMs)}.`;
    return capitalized(wait) + (fewer ? withFewer : "");
  }
  const many = count(threads, "thread");
  const threadsDecide = `The ${many} of a process can't use more connections. Requests wait for a thread instead.`;
  if (awayLoad < threads) return threadsDecide;
  const load = `${away}requests use ${number(awayLoad)} connections of a process on average, and it has ${many}`;
  return `${capitalized(load)}: they wait without end. Add threads or processes.`;
}

function sentences(inputs, answer) {
  const { cores, disks, threads } = inputs, { poolSize, pools, databaseUses, inUse } = answer;
  const connections = answer.connections.toLocaleString("en"), isTooSlow = inUse >= databaseUses;
  const lines = [], cautions = [], isOverloaded = answer.decides === "threads" && answer.awayLoad >= threads;
  (isOverloaded ? cautions : lines).push(reason(inputs, answer));
  lines.push(
    `The database can use ${count(databaseUses, "connection")} at once, for all processes together: ` +
      `${cores} * ${constants.CONNECTIONS_PER_CORE} + ${disks} = ${databaseUses}. This is a place to start measuring.`,
  );
  if (isTooSlow) {
    cautions.push(
      "By the formula the database is too small for this traffic: " +
        `on average ${number(inUse)} connections are in use. ` +
        "No pool size helps. If your own code, or a queue in the database, takes a part of the usage time, measure " +
        "the database.",
    );
  } else if (answer.mostlyInUse !== null) {
    lines.push(
      `On average ${number(inUse)} of the ${connections} are in use; ${percent(constants.OFTEN)} of the time, ` +
        `at most ${answer.mostlyInUse.toLocaleString("en")}. ` +
        `More than the database can use: ${percent(answer.shareBeyond)} of the time.`,
    );
  }
  const inEach = pools > 1 ? ` in each of ${count(pools, "process", "processes")}` : "";
  const together = inEach && `${connections} together`;
  const range = [isTooSlow && "If the database were fast enough", together].filter(Boolean).join(": ");
  return { size: count(poolSize, "connection") + inEach, range, lines, cautions };
}

function rows({ waitLimitMs }, { sizes }) {
  const all = [
    ["In use", (size) => percent(size.usual.utilisation)],
    ["Requests that wait", (size) => percent(size.usual.shareWaiting)],
    ["Mean wait", (size) => milliseconds(size.usual.waitMs)],
    ["p99 wait", (size) => milliseconds(size.usual.waitP99Ms)],
    ["p99.9 wait", (size) => milliseconds(size.usual.waitP999Ms)],
    sizes[0].oneAway && ["p99 wait, an instance away", (size) => milliseconds(size.oneAway.waitP99Ms)],
    ["p99 wait at twice the rate", (size) => milliseconds(size.twice.waitP99Ms)],
    waitLimitMs !== null && ["Timed out", (size) => percent(size.usual.shareTimedOut)],
    waitLimitMs !== null && ["Timed out at twice the rate", (size) => percent(size.twice.shareTimedOut)],
  ];
  return all.filter(Boolean).map(([title, cell]) => [title, ...sizes.map(cell)]);
}

// The document

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  Object.entries(attributes).forEach(([attribute, value]) => made.setAttribute(attribute, value));
  return made;
}

function fill(id, children) {
  document.getElementById(id).replaceChildren(...children);
}

function show(inputs, answer, options) {
  const { size, range, lines, cautions } = sentences(inputs, answer), chosen = answer.poolSize;
  document.getElementById("size").textContent = size;
  document.getElementById("range").textContent = range;
  fill("cautions", cautions.map((text) => element("p", text, { class: "careful" })));
  fill("lines", lines.map((text) => element("li", text)));
  const heads = answer.sizes.map(({ usual: { poolSize } }) =>
    element("th", `${poolSize === chosen ? "→ " : ""}${poolSize.toLocaleString("en")}`, { scope: "col" }));
  fill("heads", [element("th", "Pool size", { scope: "col" }), ...heads]);
  fill("rows", rows(inputs, answer).map(([title, ...cells]) => {
    const row = element("tr", "");
    row.append(element("th", title, { scope: "row" }), ...cells.map((text) => element("td", text)));
    return row;
  }));
  const spans = options.map((option) => element("span", option, { class: "no-break" }));
  fill("command", ["poolsize recommend", ...spans.flatMap((span) => [" ", span])]);
}

function update() {
  const texts = {}, inputs = {}, wrong = {};
  for (const [field, bounds] of Object.entries(FIELDS)) {
    texts[field] = document.getElementById(field).value.trim();
    const value = read(texts[field], bounds);
    if (typeof value === "string") wrong[field] = value;
    else inputs[field] = value;
  }
  const isRead = Object.keys(wrong).length === 0;
  if (isRead) Object.assign(wrong, contradictions(inputs));
  for (const field of Object.keys(FIELDS)) {
    document.getElementById(`${field}-error`).textContent = wrong[field] ?? "";
    document.getElementById(field).setAttribute("aria-invalid", String(field in wrong));
  }
  const isRight = Object.keys(wrong).length === 0;
  document.getElementById("answer").hidden = !isRight;
  if (!isRight) return;
  const given = Object.entries(FIELDS).filter(([field]) => inputs[field] !== null);
  show(inputs, calculate(inputs), given.map(([field, { option, unit = "" }]) => `${option} ${texts[field]}${unit}`));
}

let timer;
document.getElementById("form").addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(update, TYPING_MS);
});
update();
