// The sizes of telephones, tablets and desks, as [width, height, touch], and the languages of the screens.
const TELEPHONES = [[320, 568], [360, 640], [375, 667], [390, 844], [412, 915], [568, 320], [667, 375], [844, 390], [915, 412]];
const TABLETS = [[768, 1024], [1024, 768], [820, 1180], [1180, 820]];
const DESKS = [[1280, 720], [1366, 768], [1440, 900], [1920, 1080]];

export const SIZES = [...[...TELEPHONES, ...TABLETS].map((size) => [...size, true]), ...DESKS.map((size) => [...size, false])];
export const LANGUAGES = ["en-GB", "de-DE"];

// EVERY is set by make soak, for all sizes, languages and numbers of lanes together: a test run takes some of them.
export const EVERY = process.env.EVERY_SIZE !== undefined;
