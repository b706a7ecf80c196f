// Prices as they are written: whole numbers of the smallest digit, never binary fractions.

// amountOf takes a price like "24.50" apart: {units: 2450n, digits: 2}.
export function amountOf(price) {
  const [whole, fraction = ""] = price.split(".");
  return { units: BigInt(whole + fraction), digits: fraction.length };
}

export function times({ units, digits }, quantity) {
  return { units: units * BigInt(quantity), digits };
}

// sum adds amounts up, with as many digits as the one that has most.
export function sum(amounts) {
  const digits = Math.max(0, ...amounts.map((amount) => amount.digits));
  const units = amounts.reduce((all, amount) => all + amount.units * 10n ** BigInt(digits - amount.digits), 0n);
  return { units, digits };
}

// written is an amount as the language writes numbers.
export function written({ units, digits }, language) {
  const one = 10n ** BigInt(digits);
  const whole = new Intl.NumberFormat(language).format(units / one);
  if (digits === 0) {
    return whole;
  }
  const point = new Intl.NumberFormat(language).formatToParts(1.5).find((part) => part.type === "decimal").value;
  return whole + point + String(units % one).padStart(digits, "0");
}
