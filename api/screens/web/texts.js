// Texts of a screen: texts.de.js and texts.en.js beside its page, each a flat list of keys and sentences. {name} in a sentence
// is a value; the value {n} chooses between "key.one" and "key.other".

const LANGUAGES = ["en", "de"]; // the first one is the default

// loadTexts fetches the browser's preferred language from the folder at base, and returns its function t(key, values), which
// returns a sentence. A missing key is returned as it is.
export async function loadTexts(base) {
  const { language, region } = preferred(navigator.languages ?? [navigator.language]);
  const { default: sentences } = await import(`${base}texts.${language}.js`);
  const plural = new Intl.PluralRules(language);

  const t = (key, values = {}) => {
    const sentence = sentences[key] ?? sentences[`${key}.${plural.select(values.n ?? 0)}`] ?? sentences[`${key}.other`] ?? key;
    return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  };
  t.language = language;
  t.has = (key) => key in sentences;
  // t.said returns a sentence of the gateway, which is English, in this language, if it has one of the form "said.<sentence>". In that {n} stands
  // for a number, and any other {name} for a text, which is said in this language likewise.
  const said = Object.keys(sentences).filter((key) => key.startsWith("said.")).map((key) => ({ key, form: formOf(key.slice("said.".length)) }));
  t.said = (text) => {
    for (const { key, form } of said) {
      const found = form.exec(text);
      if (found) {
        return t(key, Object.fromEntries(Object.entries(found.groups ?? {}).map(([name, value]) => [name, t.said(value)])));
      }
    }
    return text;
  };
  // Times of day and dates in the format of the user's region.
  t.time = formatter(region, { timeStyle: "short" });
  t.seconds = formatter(region, { timeStyle: "medium" });
  t.moment = formatter(region, { dateStyle: "short", timeStyle: "medium" });
  // The same by the clocks of a time zone, which a browser may not know: then by its own.
  t.timeIn = zoned(region, { timeStyle: "short" });
  t.dayTimeIn = zoned(region, { weekday: "short", hour: "2-digit", minute: "2-digit" });
  t.number = new Intl.NumberFormat(region, { maximumFractionDigits: 1 }).format;
  return t;
}

// formOf returns what matches a sentence with any values.
function formOf(sentence) {
  const parts = sentence.split(/\{(\w+)\}/); // every second one is the name of a value
  const pattern = parts.map((part, i) => (i % 2 === 0 ? part.replace(/[$()*+.?[\\\]^{|}]/g, "\\$&") : `(?<${part}>${part === "n" ? "\\d+" : ".+"})`));
  return new RegExp(`^${pattern.join("")}$`, "s");
}

function preferred(tags) {
  const languageOf = (tag) => tag.split("-")[0].toLowerCase();
  const region = tags.find((tag) => LANGUAGES.includes(languageOf(tag))) ?? LANGUAGES[0];
  return { language: languageOf(region), region };
}

function formatter(language, style) {
  const format = new Intl.DateTimeFormat(language, style);
  return (when) => (when ? format.format(new Date(when)) : "");
}

function zoned(language, style) {
  const formats = new Map(); // by zone
  const formatOf = (timeZone) => {
    try {
      return formatter(language, { ...style, timeZone });
    } catch {
      return formatter(language, style);
    }
  };
  return (when, zone) => {
    formats.has(zone) || formats.set(zone, formatOf(zone));
    return formats.get(zone)(when);
  };
}

// fillTexts sets the sentences of a page: data-text is an element's text, data-label its aria-label, data-hint its placeholder.
export function fillTexts(root, t) {
  document.documentElement.lang = t.language;
  for (const [name, set] of [
    ["text", (element, sentence) => (element.textContent = sentence)],
    ["label", (element, sentence) => element.setAttribute("aria-label", sentence)],
    ["hint", (element, sentence) => (element.placeholder = sentence)],
  ]) {
    for (const element of root.querySelectorAll(`[data-${name}]`)) {
      set(element, t(element.dataset[name]));
    }
  }
}
