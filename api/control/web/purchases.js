// What a purchase is made of: names, quantities, prices and the total, as far as the products API has told them, and how it is settled.
import { formatAmount, multiply, parseAmount, sum } from "/screens/amount.js";
import { element } from "/screens/element.js";
import { action } from "./actions.js";
import { creditedOn } from "./rules.js";

// purchaseDetails returns the elements that describe a purchase of the gateway's list.
export function purchaseDetails(client, purchase) {
  const { t, range } = client;
  const amount = (of) => formatAmount(of, t.language, range.info?.currency);
  const priced = purchase.items.map((item) => ({ ...item, amount: item.price ? multiply(parseAmount(item.price), item.qty) : null }));
  const lines = priced.map(({ id, name, qty, amount: costs }) => element("li", {},
    element("span", {}, id === "time" ? t("minutes", { n: qty }) : t("purchases.item", { id: name || id, n: qty })), costs ? element("span.costs", {}, amount(costs)) : null));
  const total = priced.every(({ amount: known }) => known) ? element("p.purchase-total", {}, t("purchases.total"), element("strong", {}, amount(sum(priced.map((item) => item.amount))))) : null;
  return [
    element("ul.items", {}, ...lines), total,
    element("p", {}, t("purchases.reason", { reason: purchase.reason })),
    element("p.note", {}, explanation(client, purchase)),
    purchase.trace_id ? element("p.note", {}, t("purchases.trace", { trace: purchase.trace_id })) : null,
  ].filter(Boolean);
}

function explanation({ t, range }, purchase) {
  const on = creditedOn(range.lanes, purchase);
  if (!on) {
    return t("purchases.explained_over");
  }
  return on.lane_id === purchase.lane_id ? t("purchases.explained") : t("purchases.explained_elsewhere", { lane: range.lanes.get(purchase.lane_id)?.name ?? "" });
}

// settleButtons returns the buttons that settle it. Minutes can be added only while its session, or the one that goes on with it, is on a lane;
// other goods may have been paid all the same. settled is called once it is.
export function settleButtons(client, purchase, error, label, settled) {
  const { t } = client;
  const settle = (credit) => async () => {
    await client.request("POST", `/purchases/${purchase.purchase_id}/settle`, { session_id: purchase.session_id, credit });
    settled();
  };
  const button = (words, kind, act) => action(client, { words, label: label(words), kind }, error, act);
  const credit = purchase.minutes > 0 ? t("purchases.credit", { n: purchase.minutes }) : t("purchases.accept");
  const may = purchase.minutes === 0 || creditedOn(client.range.lanes, purchase);
  return [...(may ? [button(credit, "primary", settle(true))] : []), button(t("purchases.drop"), "", settle(false))];
}
