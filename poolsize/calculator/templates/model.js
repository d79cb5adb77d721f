// The formula, and the traffic model of poolsize/traffic and poolsize/answer, for requests that arrive at random and
// usage times that do not grow. `constants` are those of the Python modules, whose docstrings explain each function.
// Times are in mean usage times and rates per mean usage time, unless a name has a unit. A matrix is a list of rows.

// poolsize/formula.py

function formula(cores, disks) {
  return cores * constants.CONNECTIONS_PER_CORE + disks;
}

// Linear algebra

function matrix(rows, columns, value) {
  return Array.from({ length: rows }, (_, row) => {
    const result = new Float64Array(columns);
    for (let column = 0; column < columns; column++) result[column] = value(row, column);
    return result;
  });
}

function identity(size) {
  return matrix(size, size, (row, column) => Number(row === column));
}

function scaled(rows, factor) {
  return matrix(rows.length, rows[0].length, (row, column) => rows[row][column] * factor);
}

function plus(left, right, factor = 1) {
  return left.map((row, place) => {
    const result = row.slice();
    subtract(result, right[place], -factor, 0);
    return result;
  });
}

function times(first, ...factors) {
  return factors.reduce(product, first);
}

function product(left, right) {
  const columns = right[0].length;
  return left.map((row) => {
    const result = new Float64Array(columns);
    for (let place = 0; place < row.length; place++) {
      const factor = row[place], other = right[place];
      if (factor !== 0) for (let column = 0; column < columns; column++) result[column] += factor * other[column];
    }
    return result;
  });
}

function rowTimes(row, rows) {
  return product([row], rows)[0];
}

function transposed(rows) {
  return matrix(rows[0].length, rows.length, (row, column) => rows[column][row]);
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}

function dot(left, right) {
  return left.reduce((total, value, place) => total + value * right[place], 0);
}

// The matrix X with coefficients X = sides, by elimination with the largest pivot.
function solved(coefficients, sides) {
  const size = coefficients.length;
  const rows = matrix(size, size + sides[0].length, (row, column) =>
    column < size ? coefficients[row][column] : sides[row][column - size]);
  for (let pivot = 0; pivot < size; pivot++) {
    let largest = pivot;
    for (let row = pivot + 1; row < size; row++) {
      if (Math.abs(rows[row][pivot]) > Math.abs(rows[largest][pivot])) largest = row;
    }
    [rows[pivot], rows[largest]] = [rows[largest], rows[pivot]];
    for (let row = pivot + 1; row < size; row++) {
      subtract(rows[row], rows[pivot], rows[row][pivot] / rows[pivot][pivot], pivot);
    }
  }
  for (let pivot = size - 1; pivot >= 0; pivot--) {
    const diagonal = rows[pivot][pivot];
    for (let column = size; column < rows[pivot].length; column++) rows[pivot][column] /= diagonal;
    for (let row = 0; row < pivot; row++) subtract(rows[row], rows[pivot], rows[row][pivot], size);
  }
  return rows.map((row) => row.slice(size));
}

function subtract(row, other, factor, from) {
  if (factor !== 0) for (let column = from; column < row.length; column++) row[column] -= factor * other[column];
}

function solvedForRow(coefficients, values) {
  return solved(coefficients, Array.from(values, (value) => [value])).map(([value]) => value);
}

function inverse(rows) {
  return solved(rows, identity(rows.length));
}

function halvings(rows, norm) {
  return Math.max(0, Math.ceil(Math.log2(Math.max(...rows.map((row) => sum(row.map(Math.abs)))) / norm)));
}

function exponential(rows) {
  const number = halvings(rows, constants.SMALL_NORM), small = scaled(rows, 2 ** -number), unit = identity(rows.length);
  let result = unit;
  for (let term = constants.TERMS; term > 0; term--) result = plus(unit, times(small, result), 1 / term);
  for (let doubling = 0; doubling < number; doubling++) result = times(result, result);
  return result;
}

// The value at a place, on the line through the nearest known places, which ascend.
function interpolated(place, places, values) {
  const above = places.findIndex((known) => known > place);
  if (above === 0) return values[0];
  if (above < 0) return values[values.length - 1];
  const slope = (values[above] - values[above - 1]) / (places[above] - places[above - 1]);
  return slope * (place - places[above - 1]) + values[above - 1];
}

// The complementary error function: from 2 on by its continued fraction, below by the series of erf without signs
// (Abramowitz and Stegun 1964, 7.1.14 and 7.1.6).
function erfc(x) {
  if (x < 0) return 2 - erfc(-x);
  if (x >= 2) {
    let fraction = x;
    for (let term = 100; term > 0; term--) fraction = x + term / 2 / fraction;
    return Math.exp(-x * x) / Math.sqrt(Math.PI) / fraction;
  }
  let term = x, series = x;
  for (let number = 1; number < 60; number++) series += term *= (2 * x * x) / (2 * number + 1);
  return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * series;
}

// poolsize/traffic/usage_phases.py

function logNormal(quantile) {
  const normal = constants.NORMAL_QUANTILE_99;
  const variation = Math.exp((normal - Math.sqrt(normal ** 2 - 2 * Math.log(quantile))) ** 2) - 1;
  return { variation, third: variation > 1 ? thirdMoment(variation) : null };
}

function thirdMoment(variation) {
  const deviation = Math.sqrt(Math.log(1 + variation));
  const longer = (time) => {
    const place = Math.log(time) / deviation;
    return (erfc((place - deviation / 2) / Math.SQRT2) - time * erfc((place + deviation / 2) / Math.SQRT2)) / 2;
  };
  const remaining = crossing((time) => longer(time) - constants.LONGER, 0.1, Math.exp(3 * deviation ** 2));
  const longerInPhases = (third) => {
    const { first, rates } = mixed(variation, third);
    const shares = [first / rates[0], (1 - first) / rates[1]];
    return dot(shares, rates.map((rate) => Math.exp(-rate * remaining)));
  };
  const { first, rates } = sameShare(variation);
  const ofSameShare = 6 * (first / rates[0] ** 3 + (1 - first) / rates[1] ** 3);
  return crossing((third) => longerInPhases(third) - constants.LONGER, ofSameShare, (1 + variation) ** 3);
}

function crossing(falling, low, high) {
  while (high / low > 1 + 1e-6) {
    const middle = Math.sqrt(low * high);
    if (falling(middle) > 0) low = middle;
    else high = middle;
  }
  return high;
}

function usagePhases({ variation, third }) {
  if (variation === 1) return { first: 1, rates: [1, 1], onward: 0 };
  if (variation < 1) return { first: 1, rates: [2, 1 / variation], onward: 1 / (2 * variation) };
  return third === null ? sameShare(variation) : mixed(variation, third);
}

function mixed(variation, third) {
  const second = 1 + variation, product = (3 * second - 6) / (third - 1.5 * second ** 2);
  const half = (1 + (second * product) / 2) / 2, difference = Math.sqrt(half ** 2 - product);
  const fast = half + difference, slow = half - difference;
  return { first: (fast * (1 - slow)) / (fast - slow), rates: [fast, slow], onward: 0 };
}

function sameShare(variation) {
  const often = (1 + Math.sqrt((variation - 1) / (variation + 1))) / 2;
  return { first: often, rates: [2 * often, 2 * (1 - often)], onward: 0 };
}

function inFirst({ first, onward }, inUse) {
  const fewest = first < 1 || onward ? 0 : inUse;
  return Array.from({ length: inUse - fewest + 1 }, (_, more) => fewest + more);
}

function staying(phases, inUse) {
  const numbers = inFirst(phases, inUse), [first, second] = phases.rates;
  return matrix(numbers.length, numbers.length, (row, column) => {
    if (row === column) return -(numbers[row] * first + (inUse - numbers[row]) * second);
    return row === column + 1 ? numbers[row] * first * phases.onward : 0;
  });
}

function ending(phases, inUse) {
  const before = inFirst(phases, inUse), after = inFirst(phases, inUse - 1), [first, second] = phases.rates;
  return matrix(before.length, after.length, (row, column) => {
    const leaving = before[row] - after[column];
    if (leaving === 1) return before[row] * first * (1 - phases.onward);
    return leaving === 0 ? (inUse - before[row]) * second : 0;
  });
}

function starting(phases, inUse) {
  const before = inFirst(phases, inUse), after = inFirst(phases, inUse + 1);
  return matrix(before.length, after.length, (row, column) => {
    const joining = after[column] - before[row];
    return joining === 1 ? phases.first : joining === 0 ? 1 - phases.first : 0;
  });
}

// poolsize/traffic/random_arrivals.py

function queueOf(rate, phases, poolSize) {
  const handingOver = times(ending(phases, poolSize), starting(phases, poolSize - 1));
  const stayingFull = staying(phases, poolSize), arriving = scaled(identity(stayingFull.length), rate);
  return { rate, phases, poolSize, handingOver, stayingFull, arriving, ended: handingOver.map(sum) };
}

function unlimited(queue) {
  const { rate, poolSize, stayingFull, arriving, handingOver, ended } = queue;
  const returning = firstPassages(arriving, plus(stayingFull, arriving, -1), handingOver);
  const [free, full] = levels(queue, returning);
  const ageing = plus(stayingFull, returning, rate), ages = scaled(ageing, -1);
  const first = full.map((weight) => weight * rate), served = solvedForRow(ages, ended);
  let time = constants.FIRST_TIME / poolSize / constants.STEPS, state = first;
  let power = exponential(scaled(ageing, time));
  const ageTimes = [0], longer = [dot(first, served)], total = free * rate + longer[0];
  for (let octave = 0; octave < constants.MOST_OCTAVES; octave++) {
    if (longer[longer.length - 1] <= constants.RAREST * longer[0]) break;
    const begun = ageTimes[ageTimes.length - 1];
    for (let step = 1; step <= constants.STEPS; step++) {
      state = rowTimes(state, power);
      ageTimes.push(begun + time * step);
      longer.push(dot(state, served));
    }
    if (octave > 0) [power, time] = [times(power, power), 2 * time];
  }
  const mean = dot(first, solvedForRow(ages, served)) / total;
  return { times: ageTimes, longer: longer.map((value) => Math.max(value, 0) / total), mean, timedOut: 0 };
}

function limited(queue, limit) {
  const { rate, poolSize, arriving, ended } = queue, steps = constants.STEPS;
  const octaves = Math.max(1, Math.ceil(Math.log2((limit * poolSize) / 2 / steps / constants.FINEST + 1)));
  const firstStep = limit / 2 / steps / (2 ** octaves - 1);
  const half = Array.from({ length: octaves * steps }, (_, step) => Math.floor(step / steps));
  const places = [...half, ...half.slice().reverse()], lengths = places.map((place) => firstStep * 2 ** place);
  const crossings = [crossed(queue, firstStep)], unit = identity(arriving.length), older = [];
  while (crossings.length < octaves) crossings.push(twice(crossings[crossings.length - 1]));
  let returning = unit;
  for (const place of places) {
    const { through, turned, home, again } = crossings[place];
    older.push(times(through, inverse(plus(unit, times(returning, again), -1))));
    returning = plus(turned, times(older[older.length - 1], returning, home));
  }
  const [free, full] = levels(queue, returning), states = [full.map((weight) => weight * rate)];
  for (const ageing of older.reverse()) states.push(rowTimes(states[states.length - 1], ageing));
  const served = integrals(states.map((state) => dot(state, ended)), lengths), left = sum(states[states.length - 1]);
  const longer = served.map((value) => served[served.length - 1] - value + left), total = free * rate + longer[0];
  const mean = integrals(longer, lengths)[lengths.length] / total;
  const ages = lengths.slice(0, -1).reduce((known, length) => [...known, known[known.length - 1] + length], [0]);
  return { times: [...ages, limit], longer: longer.map((value) => value / total), mean, timedOut: left / total };
}

function crossed({ stayingFull, arriving, handingOver }, step) {
  const size = arriving.length, fluid = matrix(2 * size, 2 * size, (row, column) => {
    if (row < size) return column < size ? stayingFull[row][column] : -handingOver[row][column - size];
    return column < size ? arriving[row - size][column] : arriving[row - size][column - size];
  });
  const doublings = halvings(fluid, 1 / step), both = exponential(scaled(fluid, step / 2 ** doublings));
  const [up, down, back, forth] = [[0, 0], [0, 1], [1, 0], [1, 1]].map(([top, side]) =>
    both.slice(top * size, (top + 1) * size).map((row) => row.slice(side * size, (side + 1) * size)));
  const home = inverse(forth), turned = scaled(times(down, home), -1);
  let result = { through: plus(up, times(turned, back)), turned, home, again: times(home, back) };
  for (let doubling = 0; doubling < doublings; doubling++) result = twice(result);
  return result;
}

function twice({ through, turned, home, again }) {
  const unit = identity(through.length);
  const rising = times(through, inverse(plus(unit, times(turned, again), -1)));
  const falling = times(home, inverse(plus(unit, times(again, turned), -1)));
  return {
    through: times(rising, through),
    turned: plus(turned, times(rising, turned, home)),
    home: times(falling, home),
    again: plus(again, times(falling, again, through)),
  };
}

function integrals(values, steps) {
  const result = [0];
  steps.forEach((step, place) => result.push(result[place] + ((values[place + 1] + values[place]) / 2) * step));
  return result;
}

function firstPassages(up, local, down) {
  const unit = identity(local.length), negative = scaled(local, -1);
  let above = solved(negative, up), below = solved(negative, down), passages = below, climb = above;
  for (let iteration = 0; iteration < constants.MOST_ITERATIONS; iteration++) {
    const both = plus(plus(unit, times(above, below), -1), times(below, above), -1);
    [above, below] = [solved(both, times(above, above)), solved(both, times(below, below))];
    const more = times(climb, below);
    [passages, climb] = [plus(passages, more), times(climb, above)];
    if (Math.max(...more.map((row) => Math.max(...row))) < constants.CONVERGED) break;
  }
  return passages.map((row) => row.map((value) => value / sum(row)));
}

// The weight of all states with a free connection, and the weights of those with all in use and nobody waiting.
function levels({ rate, phases, poolSize, stayingFull, arriving }, returning) {
  let local = plus(plus(stayingFull, arriving, -1), returning, rate);
  const ratios = [];
  for (let fewer = poolSize - 1; fewer >= 0; fewer--) {
    const fewerInUse = ending(phases, fewer + 1);
    const balanced = balancedOf(local, fewerInUse), starts = scaled(starting(phases, fewer), rate);
    ratios.push(transposed(solved(scaled(transposed(balanced), -1), transposed(starts))));
    local = plus(staying(phases, fewer), times(ratios[ratios.length - 1], fewerInUse));
  }
  let level = Float64Array.of(1), free = 0;
  for (const ratio of ratios.reverse()) {
    free += sum(level);
    level = rowTimes(level, ratio);
  }
  return [free, level];
}

function balancedOf(local, ends) {
  return local.map((row, place) => {
    const balanced = row.slice();
    balanced[place] = 0;
    balanced[place] = -sum(balanced) - sum(ends[place]);
    return balanced;
  });
}

function quantile({ times: ages, longer, timedOut }, probability) {
  const beyond = 1 - probability;
  if (longer[0] <= beyond) return 0;
  if (timedOut > beyond) return ages[ages.length - 1];
  const least = (constants.RAREST / 100) * longer[0];
  const logarithms = longer.map((share) => -Math.log(Math.max(share, least)));
  return interpolated(-Math.log(beyond), logarithms, ages);
}

// poolsize/traffic/pool_use.py. A traffic has a rate per ms, usageMs, usage (variation, third), limitMs, and threads,
// which may be null.

function poolUse(traffic, poolSize) {
  const load = traffic.rate * traffic.usageMs, most = Math.min(poolSize, traffic.threads ?? poolSize);
  if (traffic.limitMs === Infinity && !(load < most * constants.MOST_UTILISATION)) {
    return useOf(poolSize, [most / poolSize, 1, Infinity, Infinity, Infinity, 0]);
  }
  if (traffic.threads !== null && poolSize >= traffic.threads) {
    return useOf(poolSize, [Math.min(load, most) / poolSize, 0, 0, 0, 0, 0]);
  }
  const least = constants.LEAST_VARIATION, variation = traffic.usage.variation;
  if (variation < least) {
    const [near, far] = [least, 1].map((known) => {
      const { poolSize: _, ...figures } = poolUse({ ...traffic, usage: { variation: known, third: null } }, poolSize);
      return Object.values(figures);
    });
    return useOf(poolSize, beyondLine(far, near, (least - variation) / (1 - least)));
  }
  const [share, mean, p99, p999, timedOut] = figuresOf(traffic, load, poolSize);
  const waits = [mean, p99, p999].map((wait) => wait * traffic.usageMs);
  return useOf(poolSize, [(load * (1 - timedOut)) / poolSize, share, ...waits, timedOut]);
}

function useOf(poolSize, [utilisation, shareWaiting, waitMs, waitP99Ms, waitP999Ms, shareTimedOut]) {
  return { poolSize, utilisation, shareWaiting, waitMs, waitP99Ms, waitP999Ms, shareTimedOut };
}

// The figures of a third place, on the lines through those of a far and of a near place; at least 0.
function beyondLine(far, near, further) {
  return near.map((value, place) => Math.max(0, value + further * (value - far[place])));
}

function figuresOf(traffic, load, poolSize) {
  const small = constants.SMALL, larger = constants.LARGEST_EXACT;
  if (poolSize <= larger) return bySmaller(traffic, load, poolSize, poolSize);
  const step = 1 / Math.sqrt(small) - 1 / Math.sqrt(larger);
  const further = (1 / Math.sqrt(larger) - 1 / Math.sqrt(poolSize)) / step;
  return beyondLine(bySmaller(traffic, load, small, poolSize), bySmaller(traffic, load, larger, poolSize), further);
}

function bySmaller(traffic, load, connections, poolSize) {
  const most = constants.MOST_UTILISATION, moves = Math.sqrt(poolSize / connections);
  const ofSmaller = connections === poolSize ? load
    : Math.max(connections - (poolSize - load) / moves, connections * constants.LEAST_LOAD);
  const waits = exactWaits(traffic, ofSmaller, connections, moves);
  let likelier = 1, faster = moves;
  if (connections < poolSize && load < poolSize * most) {
    likelier = shareWaiting(load, poolSize) / shareWaiting(ofSmaller, connections);
    faster = (poolSize - load) / (connections - ofSmaller);
  }
  const ofPool = {
    times: waits.times.map((time) => time / faster),
    longer: waits.longer.map((share) => Math.min(1, share * likelier)),
    timedOut: Math.min(1, waits.timedOut * likelier),
  };
  const mean = (waits.mean / faster) * likelier;
  return [ofPool.longer[0], mean, quantile(ofPool, 0.99), quantile(ofPool, 0.999), ofPool.timedOut];
}

function exactWaits(traffic, load, connections, moves) {
  const queue = queueOf(load, usagePhases(traffic.usage), connections);
  const limit = (traffic.limitMs / traffic.usageMs) * moves;
  if (load < connections * constants.MOST_UTILISATION) {
    const waits = unlimited(queue);
    if (waits.times[waits.times.length - 1] <= limit) return waits;
  }
  return limited(queue, limit);
}

function inUseProbabilities(rates, rate) {
  const logarithms = new Float64Array(rates.length + 1);
  rates.forEach((each, place) => (logarithms[place + 1] = logarithms[place] + Math.log(rate / each)));
  const largest = logarithms.reduce((most, value) => Math.max(most, value));
  const weights = logarithms.map((value) => Math.exp(value - largest));
  weights[rates.length] /= 1 - rate / rates[rates.length - 1];
  const total = sum(weights);
  return weights.map((weight) => weight / total);
}

function shareWaiting(load, connections) {
  return inUseProbabilities(Float64Array.from({ length: connections }, (_, fewer) => fewer + 1), load)[connections];
}

// poolsize/traffic/database_load.py

function inUseOfAll(rate, usageMs, connections) {
  const mean = (rate * usageMs) / 1000;
  const number = Math.min(connections, Math.ceil(mean + constants.FAR * Math.sqrt(mean) + constants.FAR));
  const rates = Float64Array.from({ length: number }, (_, fewer) => ((fewer + 1) * 1000) / usageMs);
  return rate < rates[number - 1] ? inUseProbabilities(rates, rate) : null;
}

// poolsize/answer/traffic_need.py

function smallestPool(traffic, mostWaitMs) {
  const keeps = (size) => size >= constants.LARGEST_POOL || poolUse(traffic, size).waitP99Ms <= mostWaitMs;
  let low = Math.min(Math.floor(traffic.rate * traffic.usageMs), constants.LARGEST_POOL - 1), high = low + 1, step = 1;
  while (!keeps(high)) [low, high, step] = [high, Math.min(high + step, constants.LARGEST_POOL), 2 * step];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (keeps(middle)) high = middle;
    else low = middle;
  }
  return high;
}

// poolsize/answer/from_traffic.py. Inputs that may be null: usageP99Ms, threads, mostWaitMs, waitLimitMs.

function calculate(inputs) {
  const { rate, usageMs, usageP99Ms, instances, processes, threads, mostWaitMs, waitLimitMs, cores, disks } = inputs;
  const usage = usageP99Ms === null ? { variation: 1, third: null } : logNormal(usageP99Ms / usageMs);
  const pools = instances * processes, ofProcess = rate / 1000 / pools, withOneAway = instances / (instances - 1);
  const traffic = { rate: ofProcess, usageMs, usage, limitMs: waitLimitMs ?? Infinity, threads };
  const away = { ...traffic, rate: ofProcess * withOneAway }, isAlone = instances === 1;
  const limitMs = mostWaitMs ?? usageMs;
  const wanted = smallestPool({ ...(isAlone ? traffic : away), limitMs: Infinity, threads: null }, limitMs);
  const poolSize = Math.min(wanted, threads ?? wanted), databaseUses = formula(cores, disks);
  const smallest = Math.max(1, poolSize - constants.NEIGHBOURS);
  const largest = Math.min(poolSize + constants.NEIGHBOURS, threads ?? Infinity);
  const sizes = Array.from({ length: largest - smallest + 1 }, (_, more) => ({
    usual: poolUse(traffic, smallest + more),
    oneAway: isAlone ? null : poolUse(away, smallest + more),
    twice: poolUse({ ...traffic, rate: 2 * ofProcess }, smallest + more),
  }));
  const inUse = inUseOfAll(rate, usageMs, poolSize * pools);
  return {
    poolSize,
    decides: wanted === poolSize ? "need" : "threads",
    pools,
    connections: poolSize * pools,
    databaseUses,
    limitMs,
    inUse: (rate * usageMs) / 1000,
    awayLoad: (isAlone ? traffic.rate : away.rate) * usageMs,
    mostlyInUse: inUse && quantileOf(inUse, constants.OFTEN),
    shareBeyond: inUse && sum(inUse.slice(databaseUses + 1)),
    sizes,
  };
}

function quantileOf(probabilities, share) {
  let total = 0;
  return probabilities.findIndex((probability) => (total += probability) >= share);
}
