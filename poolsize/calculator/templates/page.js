// The form: its fields, what is wrong with them, and the answer in words.

// option, unit: of the command line. most: the largest number. isWhole, mayBeZero, isOptional: false where not given.
const FIELDS = {
  rate: { name: "Requests per second", example: "400", option: "--rate", unit: "/s" },
  usageMs: { name: "Mean usage time", example: "15", option: "--usage-time", unit: "ms" },
  usageP99Ms: { name: "p99 usage time", example: "60", option: "--usage-p99", unit: "ms", isOptional: true },
  instances: { name: "Instances", example: "6", option: "--instances", isWhole: true, most: constants.MOST_INSTANCES },
  processes: { name: "Processes per instance", example: "4", option: "--processes", isWhole: true, most: constants.MOST_INSTANCES },
  threads: { name: "Threads per process", example: "8", option: "--app-threads", isWhole: true, most: constants.MOST_THREADS, isOptional: true },
  mostWaitMs: { name: "Highest p99 wait", example: "15", option: "--max-wait-p99", unit: "ms", isOptional: true },
  waitLimitMs: { name: "Wait limit", example: "5000", option: "--wait-limit", unit: "ms", isOptional: true },
  cores: { name: "Physical cores", example: "8", option: "--cores", isWhole: true, most: constants.MOST_CORES },
  disks: { name: "Disks", example: "1", option: "--disks", isWhole: true, most: constants.MOST_DISKS, mayBeZero: true },
};
const TYPING_MS = 300;
const DECIMAL = /^(\d+\.?\d*|\.\d+)$/;

// A field's number, null for an optional one that is empty, or a sentence that says what is wrong.
function read(text, { name, example, most = Infinity, isWhole, mayBeZero, isOptional }) {
  if (text === "" && isOptional) return null;
  const number = DECIMAL.test(text) ? Number(text) : NaN, kind = isWhole ? "a whole number" : "a number";
  const bounds = most === Infinity ? "above 0" : `from ${mayBeZero ? 0 : 1} to ${most.toLocaleString("en")}`;
  const isRight = (number > 0 || (mayBeZero && number === 0)) && number <= most && Number.isFinite(number)
    && (!isWhole || Number.isInteger(number));
  return isRight ? number : `${name}: give ${kind} ${bounds}, such as ${example}.`;
}

// Field -> a sentence that says why these numbers do not go together.
function contradictions({ rate, usageMs, usageP99Ms, instances, processes, mostWaitMs, waitLimitMs }) {
  const wrong = {}, inUse = (rate * usageMs) / 1000, mostTimes = Math.exp(constants.NORMAL_QUANTILE_99 ** 2 / 2);
  if (inUse > constants.MOST_IN_USE || inUse / instances / processes > constants.LARGEST_POOL / 2) {
    wrong.rate = `Requests per second: ${inUse.toLocaleString("en")} connections would be in use at once. Is it right?`;
  }
  if (usageP99Ms !== null && !(usageMs <= usageP99Ms && usageP99Ms <= mostTimes * usageMs)) {
    const most = Math.floor(10 * mostTimes) / 10;
    wrong.usageP99Ms = `p99 usage time: give 1 to ${most} times the mean, which log-normal times have at most.`;
  }
  const mostWait = mostWaitMs ?? usageMs;
  if (waitLimitMs !== null && waitLimitMs <= mostWait) {
    wrong.waitLimitMs = `Wait limit: give more than the highest p99 wait, ${milliseconds(mostWait)}.`;
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

function sentences(inputs, answer) {
  const { instances, cores, disks, threads } = inputs, { poolSize, sizes, pools, connections, databaseUses, inUse } = answer;
  const away = instances > 1 ? `With one of ${instances.toLocaleString("en")} instances away, ` : "";
  const waits = new Map(sizes.map(({ usual, oneAway }) => [usual.poolSize, (oneAway ?? usual).waitP99Ms]));
  const lines = [], cautions = [], isTooSlow = inUse >= databaseUses;
  if (answer.decides === "need") {
    const fewer = waits.has(poolSize - 1) ? ` With ${count(poolSize - 1, "connection")} it is ${milliseconds(waits.get(poolSize - 1))}.` : "";
    lines.push(`${away}${away ? "the" : "The"} p99 wait time is ${milliseconds(waits.get(poolSize))}. The limit is ${milliseconds(answer.limitMs)}.${fewer}`);
  } else if (answer.awayLoad < threads) {
    lines.push(`The ${count(threads, "thread")} of a process can't use more connections. Requests wait for a thread instead.`);
  } else {
    cautions.push(`${away}${away ? "requests" : "Requests"} use ${number(answer.awayLoad)} connections of a process on average, and it has ${count(threads, "thread")}: they wait without end. Add threads or processes.`);
  }
  lines.push(`The database can use ${count(databaseUses, "connection")} at once, for all processes together: ${cores} * 2 + ${disks} = ${databaseUses}. This is a place to start measuring.`);
  if (isTooSlow) {
    cautions.push(`By the formula the database is too small for this traffic: on average ${number(inUse)} connections are in use. No pool size helps. If your own code takes a part of the usage time, measure the database.`);
  } else if (answer.mostlyInUse !== null) {
    lines.push(`On average ${number(inUse)} of the ${connections.toLocaleString("en")} are in use; ${percent(constants.OFTEN)} of the time, at most ${answer.mostlyInUse.toLocaleString("en")}. More than the database can use: ${percent(answer.shareBeyond)} of the time.`);
  }
  const inEach = pools > 1 ? ` in each of ${count(pools, "process", "processes")}` : "";
  const together = inEach && `${connections.toLocaleString("en")} together`;
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
  fill("command", ["poolsize recommend", ...options.flatMap((option) => [" ", element("span", option, { class: "no-break" })])]);
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
