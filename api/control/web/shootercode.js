// The QR code of the page on which a shooter sees the time of a session on a telephone: on the screen, and on paper.
import { Refusal } from "/screens/send.js";
import { element } from "/screens/element.js";
import { LaneErrorText, action, button } from "./actions.js";

const byId = (id) => document.getElementById(id);

// qrCode creates the image. The gateway draws it, with the address at which this browser reaches it.
function qrCode(t, sessionID) {
  return element("img.qr", { alt: t("code.qr"), src: `/control/sessions/${sessionID}/qr.svg?origin=${encodeURIComponent(location.origin)}` });
}

// printButton creates the button that prints the receipts of what(), a list of {session_id, lane, minutes, at}.
export function printButton(client, error, what, words = client.t("code.print")) {
  return action(client, { words, sign: "print" }, error, () => print(client, what()));
}

// print prints receipts, each on a page, and nothing else of the page: the style sheet hides the rest while the body has data-receipt.
async function print({ t, range }, sessions) {
  const codes = sessions.map(({ session_id: id }) => qrCode(t, id));
  await Promise.all(codes.map((code) => code.decode())).catch(() => {
    throw new Refusal("no_code", "");
  });
  byId("receipt").replaceChildren(...sessions.map(({ lane, minutes, at }, i) => element("article", {},
    element("h2", {}, range.info.name), element("p.receipt-lane", {}, lane), element("p", {}, [t("minutes", { n: minutes }), t.time(at)].join(" · ")),
    codes[i], element("p", {}, t("code.receipt")))));
  document.body.toggleAttribute("data-receipt", true);
  window.addEventListener("afterprint", () => {
    document.body.toggleAttribute("data-receipt", false);
    byId("receipt").replaceChildren();
  }, { once: true });
  window.print();
}

// ShooterCode is the part of a lane's panel that shows the code of its session, once somebody wants it.
export class ShooterCode {
  #client;
  #lane;
  #sessionID;
  #error;
  #opener;
  #place = element("div.qr-place", { hidden: true });

  // shown returns the lane that is shown, or undefined.
  constructor(client, shown) {
    this.#client = client;
    this.#error = new LaneErrorText(client, shown);
    const { t } = client;
    this.#opener = button({ words: t("code.show"), sign: "phone" }, () => this.#toggle());
    this.element = element("div.section.shooter-code", {}, this.#opener, this.#place, this.#error.element);
  }

  show(lane) {
    this.#lane = lane;
    this.element.hidden = lane.session === null;
    if (lane.session?.session_id !== this.#sessionID) {
      this.#sessionID = lane.session?.session_id;
      this.#close();
    }
  }

  #toggle() {
    if (!this.#place.hidden) {
      this.#close();
      return;
    }
    const { t } = this.#client;
    const code = qrCode(t, this.#sessionID);
    code.addEventListener("error", () => this.#error.show(t("error.no_code")));
    this.#place.replaceChildren(code, element("p", {}, t("code.explained")), printButton(this.#client, this.#error, () => {
      const { name, session } = this.#lane;
      return [{ session_id: session.session_id, lane: name, minutes: session.duration, at: session.created_at }];
    }));
    this.#error.show("");
    this.#place.hidden = false;
    this.#opener.setAttribute("aria-expanded", "true");
  }

  #close() {
    this.#error.show("");
    this.#place.hidden = true;
    this.#place.replaceChildren();
    this.#opener.setAttribute("aria-expanded", "false");
  }
}

// confirmSale tells of a sale: the code for who bought lies over the page once it is wanted, and goes at the next press elsewhere.
export function confirmSale(client, { session_id: id, customer_name: customer, duration: minutes, created_at: at }, lane) {
  const { t } = client;
  client.outcome.confirm(t("code.sold", { lane: lane.name, customer, minutes }), (error) => {
    const place = element("div.code-place", { popover: "auto" });
    place.addEventListener("beforetoggle", ({ newState }) => {
      const code = qrCode(t, id);
      code.addEventListener("error", () => {
        place.hidePopover();
        error.show(t("error.no_code"));
      });
      place.replaceChildren(...(newState === "open" ? [code, element("p", {}, t("code.scan"))] : []));
    });
    const show = button({ words: t("code.name"), sign: "phone", label: t("code.show") });
    show.popoverTargetElement = place;
    return [show, printButton(client, error, () => [{ session_id: id, lane: lane.name, minutes, at }]), place];
  });
}
