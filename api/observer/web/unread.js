// Why something could not be read from the gateway.

// whyUnread returns a sentence for the Refused of a read.
export function whyUnread(t, { status, code }) {
  if (code === "store_unavailable") {
    return t("timeline.no_store");
  }
  return status === 0 ? t("contact.none") : t("contact.status", { status });
}
