// Amounts of money. They are exact: integers of the smallest digit.

// parseAmount parses a price like "24.50": {units: 2450n, digits: 2}.
export function parseAmount(price) {
  const [whole, fraction = ""] = price.split(".");
  return { units: BigInt(whole + fraction), digits: fraction.length };
}

export function multiply({ units, digits }, quantity) {
  return { units: units * BigInt(quantity), digits };
}

// sum returns the sum of amounts, with the most digits of any of them.
export function sum(amounts) {
  const digits = Math.max(0, ...amounts.map((amount) => amount.digits));
  const units = amounts.reduce((total, amount) => total + amount.units * 10n ** BigInt(digits - amount.digits), 0n);
  return { units, digits };
}

// formatAmount formats an amount as the language formats numbers, or sums of the currency if that is not empty.
export function formatAmount({ units, digits }, language, currency = "") {
  const scale = 10n ** BigInt(digits);
  const whole = new Intl.NumberFormat(language).format(units / scale);
  const point = new Intl.NumberFormat(language).formatToParts(1.5).find((part) => part.type === "decimal").value;
  const number = digits === 0 ? whole : whole + point + String(units % scale).padStart(digits, "0");
  if (currency === "") {
    return number;
  }
  return new Intl.NumberFormat(language, { style: "currency", currency, maximumFractionDigits: 0, currencyDisplay: "narrowSymbol" })
    .formatToParts(1).map(({ type, value }) => (type === "integer" ? number : value)).join("");
}
