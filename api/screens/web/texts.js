// Texts of a screen: one file a language beside its page, texts.de.js and texts.en.js, each a flat list of key and
// sentence. {name} in a sentence is a value; of "key.one" and "key.other" the value {n} chooses.

const LANGUAGES = ["en", "de"]; // the first one is for browsers that want none of them

// loadTexts fetches the language that the browser asks for from the folder at base, and answers the function that speaks
// it: t(key, values). A key that is missing is shown as it is.
export async function loadTexts(base) {
  const { language, region } = wanted(navigator.languages ?? [navigator.language]);
  const { default: sentences } = await import(`${base}texts.${language}.js`);
  const plural = new Intl.PluralRules(language);

  const t = (key, values = {}) => {
    const sentence = sentences[key] ?? sentences[`${key}.${plural.select(values.n ?? 0)}`] ?? sentences[`${key}.other`] ?? key;
    return sentence.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  };
  t.language = language;
  t.has = (key) => key in sentences;
  // Times of day and dates as the reader's region writes them.
  t.time = formatter(region, { timeStyle: "short" });
  t.seconds = formatter(region, { timeStyle: "medium" });
  t.moment = formatter(region, { dateStyle: "short", timeStyle: "medium" });
  t.number = new Intl.NumberFormat(region, { maximumFractionDigits: 1 }).format;
  return t;
}

function wanted(tags) {
  const languageOf = (tag) => tag.split("-")[0].toLowerCase();
  const region = tags.find((tag) => LANGUAGES.includes(languageOf(tag))) ?? LANGUAGES[0];
  return { language: languageOf(region), region };
}

function formatter(language, style) {
  const format = new Intl.DateTimeFormat(language, style);
  return (when) => (when ? format.format(new Date(when)) : "");
}

// fillIn puts sentences into a page: data-text is an element's text, data-label its aria-label, data-hint its placeholder.
export function fillIn(root, t) {
  document.documentElement.lang = t.language;
  for (const [name, put] of [
    ["text", (element, sentence) => (element.textContent = sentence)],
    ["label", (element, sentence) => element.setAttribute("aria-label", sentence)],
    ["hint", (element, sentence) => (element.placeholder = sentence)],
  ]) {
    for (const element of root.querySelectorAll(`[data-${name}]`)) {
      put(element, t(element.dataset[name]));
    }
  }
}
