// The controls above the table of the actors. What they choose stands in the address, so that a link can be sent.
import { element, setText } from "/screens/element.js";
import { stateName } from "./draw.js";
import { KINDS, LONGEST_SEARCH, SORTS, readQuery } from "./query.js";

const TYPING = 300; // ms without a key after which a search begins

export class Controls {
  #t;
  #chosen = readQuery(location.search);
  #changed;
  #kind;
  #state;
  #range;
  #trouble;
  #search;
  #sort;
  #typing = 0; // the timer

  // changed is called after each choice.
  constructor(t, changed) {
    this.#t = t;
    this.#changed = changed;
    const choice = (name, options) => element("select.input", { name, onchange: ({ target }) => this.#choose({ [name]: target.value }) },
      ...options.map(([value, text]) => option(value, text)));
    this.#kind = choice("kind", [["", t("controls.all_kinds")], ...KINDS.map((kind) => [kind, t(`kinds.${kind}`)])]);
    this.#state = choice("state", [["", t("controls.all_states")]]);
    this.#range = choice("range", [["", t("controls.all_ranges")]]);
    this.#sort = choice("sort", SORTS.map((sort) => [sort, t(`sort.${sort}`)]));
    this.#trouble = element("input", { type: "checkbox", name: "trouble", onchange: () => this.#choose({ trouble: this.#trouble.checked }) });
    this.#search = element("input.input", {
      type: "search", name: "search", maxLength: LONGEST_SEARCH, autocomplete: "off", spellcheck: false, placeholder: t("controls.search_hint"),
      oninput: () => {
        clearTimeout(this.#typing);
        this.#typing = setTimeout(() => this.#searchNow(), TYPING);
      },
    });
    const field = (title, input) => element("label.field", {}, element("span", {}, title), input);
    this.element = element("form.controls", {
      role: "search", "aria-label": t("controls"), onsubmit: (event) => {
        event.preventDefault();
        this.#searchNow();
      },
    },
    element("label.field.long", {}, element("span", {}, t("controls.search")), this.#search), field(t("controls.kind"), this.#kind), field(t("controls.state"), this.#state),
    field(t("controls.range"), this.#range), field(t("controls.sort"), this.#sort),
    element("label.check", {}, this.#trouble, element("span", {}, t("controls.trouble"))));
    this.showStates({});
    this.showRanges([]);
    this.#fill();
  }

  get chosen() {
    return this.#chosen;
  }

  // reread takes the choice from the address, which has changed.
  reread() {
    this.#chosen = readQuery(location.search);
    this.#fill();
  }

  // showStates says how many actors are in each state.
  showStates(counts) {
    const { state } = this.#chosen;
    const all = Object.values(counts).reduce((sum, n) => sum + n, 0);
    const known = state === "" || state in counts ? counts : { ...counts, [state]: 0 };
    const t = this.#t;
    setOptions(this.#state, [
      ["", t("controls.of", { what: t("controls.all_states"), n: t.number(all) })],
      ...Object.entries(known).map(([name, n]) => [name, t("controls.of", { what: stateName(t, name), n: t.number(n) })]).toSorted(([, a], [, b]) => a.localeCompare(b)),
    ]);
    this.#state.value = state;
  }

  // showRanges has a choice between several ranges: [{range_id, range}].
  showRanges(ranges) {
    const { range } = this.#chosen;
    const known = range === "" || ranges.some(({ range_id }) => range_id === range) ? ranges : [...ranges, { range_id: range, range: "" }];
    const named = known.map(({ range_id, range: name }) => [range_id, name || range_id]).toSorted(([, a], [, b]) => a.localeCompare(b));
    setOptions(this.#range, [["", this.#t("controls.all_ranges")], ...named]);
    this.#range.value = range;
    this.#range.parentElement.hidden = known.length < 2;
  }

  // nameOf returns the name of a range, "" if it is not known.
  nameOf(range) {
    const text = [...this.#range.options].find(({ value }) => value === range)?.textContent ?? "";
    return text === range ? "" : text;
  }

  #fill() {
    const { kind, state, range, trouble, search, sort } = this.#chosen;
    this.#kind.value = kind;
    this.#state.value = state;
    this.#range.value = range;
    this.#trouble.checked = trouble;
    this.#search.value = search;
    this.#sort.value = sort;
  }

  #choose(change) {
    // No actor of one kind has a state of another.
    this.#chosen = { ...this.#chosen, ...("kind" in change && { state: "" }), ...change };
    this.#changed();
  }

  #searchNow() {
    clearTimeout(this.#typing);
    if (this.#search.value.trim() !== this.#chosen.search) {
      this.#choose({ search: this.#search.value.trim() });
    }
  }
}

const option = (value, text) => element("option", { value }, text);

// setOptions makes a select offer these [value, text], and leaves those alone that it has.
function setOptions(select, options) {
  const present = new Map([...select.options].map((of) => [of.value, of]));
  const wanted = options.map(([value, text]) => {
    const found = present.get(value) ?? option(value, text);
    setText(found, text);
    return found;
  });
  if (wanted.length !== present.size || wanted.some((of, i) => select.options[i] !== of)) {
    const { value } = select;
    select.replaceChildren(...wanted);
    select.value = value;
  }
}
