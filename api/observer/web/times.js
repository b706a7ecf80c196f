// Times in the words of the texts t.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

// span formats a time in ms, by its two largest units.
export function span(t, ms) {
  const whole = (unit) => Math.floor(Math.max(0, ms) / unit);
  if (ms < MINUTE) {
    return t("span.s", { seconds: whole(SECOND) });
  }
  if (ms < HOUR) {
    return t("span.min", { minutes: whole(MINUTE), seconds: whole(SECOND) % 60 });
  }
  return ms < DAY ? t("span.h", { hours: whole(HOUR), minutes: whole(MINUTE) % 60 }) : t("span.d", { days: whole(DAY), hours: whole(HOUR) % 24 });
}

// moment formats a time of day, with the date if that is not today.
export function moment(t, stamp) {
  const at = new Date(stamp);
  return at.toDateString() === new Date().toDateString() ? t.seconds(at) : t.moment(at);
}

// toTheMillisecond formats a time of day.
export function toTheMillisecond(t, stamp) {
  return new Date(stamp).toLocaleTimeString(t.language, { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23" });
}

export const milliseconds = (t, ms) => t("ms", { ms: t.number(ms) });
