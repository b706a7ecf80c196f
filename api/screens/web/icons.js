// Icons, so that colour is never the only sign. Each has a view box of 24 by 24 and the colour of the text beside it.

const SHAPES = {
  alert: "M12 3 1.8 20.5h20.4L12 3Zm-1 6.5h2v5.5h-2V9.5Zm0 7h2v2h-2v-2Z",
  bay: "M3 4h8v16H3V4Zm10 0h8v7h-8V4Zm0 9h8v7h-8v-7Z",
  bell: "M12 2a7 7 0 0 0-7 7v5l-2 3v1h18v-1l-2-3V9a7 7 0 0 0-7-7Zm-2.5 17a2.5 2.5 0 0 0 5 0h-5Z",
  cart: "M2 3h3l1 4h15l-2.5 8.5H8L5 5H2V3Zm7 14a2 2 0 1 1 0 4 2 2 0 0 1 0-4Zm8 0a2 2 0 1 1 0 4 2 2 0 0 1 0-4Z",
  check: "m9.5 18.5-6-6 2-2 4 4 9-9 2 2-11 11Z",
  close: "m6 4 6 6 6-6 2 2-6 6 6 6-2 2-6-6-6 6-2-2 6-6-6-6 2-2Z",
  erase: "M8 5h14v14H8l-6-7 6-7Zm3.200 3L9.700 9.500l2.500 2.500-2.500 2.500 1.500 1.500 2.500-2.500 2.500 2.500 1.500-1.500-2.500-2.500 2.500-2.500L16.200 8l-2.500 2.500L11.200 8Z",
  hit: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18Zm0 3a6 6 0 1 1 0 12 6 6 0 0 1 0-12Zm0 3.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5Z",
  hourglass: "M5 2h14v4.5L13.5 12l5.5 5.5V22H5v-4.5L10.500 12 5 6.500V2Zm3 3 4 4 4-4H8Z",
  leave: "M3 3h10v4h-2.500V5.500h-5v13h5V17H13v4H3V3Zm12 4 6.500 5-6.500 5v-3.500H8v-3h7V7Z",
  link: "M12 4c4 0 7.600 1.600 10.300 4.200l-2.100 2.200A11.700 11.700 0 0 0 12 7c-3.200 0-6.100 1.300-8.200 3.400L1.700 8.200A14.600 14.600 0 0 1 12 4Zm0 6c2.400 0 4.500 1 6.100 2.500L16 14.700A5.700 5.700 0 0 0 12 13c-1.600 0-3 .600-4 1.700l-2.100-2.200A8.700 8.700 0 0 1 12 10Zm0 6 2.400 2.400L12 21l-2.400-2.600L12 16Z",
  lock: "M12 2a5 5 0 0 0-5 5v3H5v12h14V10h-2V7a5 5 0 0 0-5-5Zm-2 8V7a2 2 0 0 1 4 0v3h-4Z",
  minus: "M4 10.500h16v3H4v-3Z",
  pause: "M6 4h4.500v16H6V4Zm7.500 0H18v16h-4.500V4Z",
  person: "M12 3a4.500 4.500 0 1 1 0 9 4.500 4.500 0 0 1 0-9Zm0 11c5 0 9 2.500 9 5.500V21H3v-1.500C3 16.500 7 14 12 14Z",
  play: "M6 3.500 20 12 6 20.500v-17Z",
  plus: "M10.500 4h3v6.500H20v3h-6.500V20h-3v-6.500H4v-3h6.500V4Z",
  search: "M10 3a7 7 0 1 1-4.200 12.600 7 7 0 0 1 4.200-12.600Zm0 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8Zm5.500 7.500 6 6-2 2-6-6 2-2Z",
  more: "M5 10a2 2 0 1 1 0 4 2 2 0 0 1 0-4Zm7 0a2 2 0 1 1 0 4 2 2 0 0 1 0-4Zm7 0a2 2 0 1 1 0 4 2 2 0 0 1 0-4Z",
  mute: "M3 9h4l6-5v16l-6-5H3V9Zm12.500 1.400 1.400-1.400L19 11.100 21.100 9l1.400 1.400-2.100 2.100 2.100 2.100-1.400 1.400L19 13.900 16.900 16l-1.400-1.400 2.100-2.100-2.100-2.100Z",
  sound: "M3 9h4l6-5v16l-6-5H3V9Zm12-1.500a5.500 5.500 0 0 1 0 9v-2.600a3.200 3.200 0 0 0 0-3.800V7.500Zm0-4a9 9 0 0 1 0 17v-2.200a7 7 0 0 0 0-12.600V3.500Z",
  stop: "M5 5h14v14H5V5Z",
  swap: "M8 3 2 8.500 8 14v-3.500h9v-4H8V3Zm8 7v3.500H7v4h9V21l6-5.500L16 10Z",
  unlink: "M3.400 2 22 20.600 20.600 22l-8-8c-1.700.100-3.300.800-4.500 2L6 13.800c1-.900 2.200-1.700 3.500-2.100L7 9.200a11.700 11.700 0 0 0-3.200 2.200L1.700 9.200c1-.900 2-1.700 3.100-2.300L2 4l1.400-2ZM12 4c4 0 7.600 1.600 10.300 4.200l-2.100 2.200A11.700 11.700 0 0 0 12 7h-1l-2.700-2.700C9.500 4.100 10.700 4 12 4Zm0 12 2.400 2.400L12 21l-2.400-2.600L12 16Z",
};

const SVG = "http://www.w3.org/2000/svg";

// icon creates an icon. It is hidden from screen readers: the text beside it says the same.
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", SHAPES[name]);
  svg.append(path);
  return svg;
}
