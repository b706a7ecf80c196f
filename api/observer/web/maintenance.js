// The section by which an operator has the store backed up or verified, with what came of it.
import { element } from "/screens/element.js";
import { actionButton } from "./actionbutton.js";
import { erase, laneLink, redraw, table } from "./draw.js";
import { Refused, fetchJSON } from "./gateway.js";
import { moment } from "./times.js";
import { said } from "./why.js";

export class Maintenance {
  #t;
  #token;
  #backup = element("div", { role: "status" });
  #verify = element("div", { role: "status" });
  #buttons;

  // token() is the operator's.
  constructor(t, token) {
    this.#t = t;
    this.#token = token;
    const button = (name) => actionButton(t, name, () => `/observer/${name}`, token, {
      done: (job) => {
        this.#show(name, job);
        return t("action_asked", { time: t.seconds(job.began_at) });
      },
    });
    this.#buttons = [button("backup"), button("verify")];
    this.element = element("section", { hidden: true }, element("h2", {}, t("maintenance")), element("p", {}, t("maintenance.explained")),
      this.#buttons[0], this.#backup, this.#buttons[1], this.#verify);
  }

  // refresh shows the newest jobs as they are now. What the gateway does not answer stays as it was.
  async refresh() {
    const token = this.#token();
    try {
      const jobs = await fetchJSON("/observer/maintenance", token);
      if (this.#token() === token) {
        this.#show("backup", jobs.backup);
        this.#show("verify", jobs.verify);
      }
    } catch (refused) {
      if (!(refused instanceof Refused)) {
        throw refused;
      }
    }
  }

  clear() {
    this.element.hidden = true;
    this.#buttons.forEach((button) => button.erase());
    erase(this.#backup);
    erase(this.#verify);
  }

  #show(name, job) {
    redraw(name === "backup" ? this.#backup : this.#verify, job, () => [
      element("p", {}, this.#sentence(name, job)), ...(job.lanes?.length > 0 ? [this.#lanes(job.lanes)] : []),
    ]);
  }

  // sentence says what is known of a job.
  #sentence(name, job) {
    const t = this.#t;
    const { state, who, ranges } = job;
    const began = job.began_at && moment(t, job.began_at);
    if (state === "never") {
      return t(`${name}.never`);
    }
    if (state === "running") {
      return t(`${name}.running`, { began, who });
    }
    const ended = moment(t, job.ended_at);
    if (state === "failed") {
      return t(`${name}.failed`, { began, who, error: said(t, job.error) });
    }
    if (name === "backup") {
      return t("backup.succeeded", { ended, who, file: job.file, bytes: t.number(job.bytes), records: t.number(job.records) });
    }
    const figures = { ended, who, sessions: t.number(job.sessions), events: t.number(job.events), ranges: t.number(ranges), hours: t.number(job.hours) };
    return job.differences > 0 ? t("verify.differences", { ...figures, n: job.differences }) : t("verify.succeeded", figures);
  }

  #lanes(lanes) {
    const t = this.#t;
    return table(t("verify.lanes"), [
      { title: t("lane"), cell: (row) => laneLink({ ...row, name: row.name || row.lane_id }) },
      { title: t("verify.count"), cell: ({ differences }) => t.number(differences), number: true },
      { title: t("verify.first"), cell: ({ session_id, what }) => `${session_id}: ${said(t, what)}` },
    ], lanes, "");
  }
}
