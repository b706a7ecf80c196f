// The lane screen: what is on this one lane, and what its shooter can do about it.
import { eachTick } from "/screens/clock.js";
import { setText } from "/screens/element.js";
import { icon } from "/screens/icons.js";
import { Stream } from "/screens/stream.js";
import { loadTexts } from "/screens/texts.js";
import { Help } from "./help.js";
import { Lane } from "./lane.js";
import { Shop } from "./shop.js";
import { Stage } from "./stage.js";

const at = (id) => document.getElementById(id);
const base = location.pathname.replace(/\/$/, "");
const t = await loadTexts("/lane/assets/");
document.documentElement.lang = t.language;
document.title = t("title");

const lane = new Lane();
const help = new Help(t, base, lane, at("help"));
const shop = new Shop(t, base, lane);
const stage = new Stage(t, base, lane, at("main"), { said: at("said"), alarm: at("alarm"), shop });

function show() {
  setText(at("lane"), lane.name);
  setText(at("customer"), lane.session?.customer_name ?? "");
  document.title = lane.name || t("title");
  help.show();
  shop.show();
  stage.show();
}

const stream = new Stream(`${base}/stream`, {
  heard(name, data, sentAt) {
    if (data.lane) {
      lane.heard(data.lane, sentAt);
      show();
    }
  },
  earlier: (ms) => lane.earlier(ms),
  contact(lost) {
    at("contact").hidden = lost === null;
    at("contact").replaceChildren(...(lost === null ? [] : [icon("unlink"), t("contact", { time: t.time(lost) })]));
  },
  // The lane's key was changed: the page says so when it is loaded again.
  refused() {
    location.reload();
  },
});
stream.open();
eachTick((now) => stage.tick(now));
