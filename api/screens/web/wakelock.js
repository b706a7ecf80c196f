// Keeps the device's display on while the screen is visible. Browsers have the wake lock under TLS alone, and some not at
// all: there the device's own settings decide.
export function keepAwake() {
  if (!navigator.wakeLock) {
    return;
  }
  const lock = () => {
    if (!document.hidden) {
      navigator.wakeLock.request("screen").catch(() => {}); // the browser may refuse, for example to save a battery
    }
  };
  document.addEventListener("visibilitychange", lock); // a hidden page loses it
  lock();
}
